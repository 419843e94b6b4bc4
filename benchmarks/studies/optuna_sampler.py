"""The Optuna sampler beside Optuna's own: how good, and at what cost.

    python benchmarks/studies/optuna_sampler.py --seeds 20 --n-trials 50

All samplers have their default settings, but for the seed. A study asks and tells one
trial after the other. CPU time is that of asking and telling, in one thread.
"""

import argparse
import importlib.util
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import shared
from skrobustbo import Integer, Real
from skrobustbo.integrations.optuna import RobustSampler
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._args import CommandError, check_can_write, positive_int
from skrobustbo_benchmarks._pool import say
from skrobustbo_benchmarks._report import table

SAMPLERS = (
    "RobustSampler",
    "RobustSampler with horizon",
    "GPSampler",
    "TPESampler",
    "RandomSampler",
)
#: Trials of the run that loads what is loaded on first use.
N_WARM = 14
HEADER = ("problem", "sampler", "regret, median", "worst", "CPU ms per trial")


class Run(NamedTuple):
    """One row of the csv file."""

    problem: str
    sampler: str
    seed: int
    n_trials: int
    regret: float
    cpu_ms: float


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--problems",
        nargs="+",
        default=["branin", "levy4", "hartmann6", "berkenkamp", "michalewicz5"],
    )
    parser.add_argument(
        "--samplers", nargs="+", choices=SAMPLERS, default=list(SAMPLERS)
    )
    for name, default, what in (
        ("--seeds", 5, "studies of each kind"),
        ("--n-trials", 50, "trials of a study"),
    ):
        parser.add_argument(name, type=positive_int, default=default, help=what)
    parser.add_argument("--out", type=Path, metavar="CSV", help="file to write")
    return parser


def main(args):
    """Run the studies, write the csv file and print one line per kind."""
    if importlib.util.find_spec("optuna") is None:
        raise CommandError('Optuna is not installed; run pip install "optuna>=4.5".')
    samplers = [name for name in args.samplers if is_installed(name)]
    if args.out is not None:
        check_can_write(args.out)
    runs = list(
        measure(args.problems, samplers, seeds=args.seeds, n_trials=args.n_trials)
    )
    if args.out is not None:
        pd.DataFrame(runs).to_csv(args.out, index=False)
    print(markdown(runs))


def is_installed(name):
    """Tell whether what a sampler needs beside Optuna is installed."""
    return name != "GPSampler" or importlib.util.find_spec("torch") is not None


def measure(names, samplers, *, seeds, n_trials):
    """Yield a run for each problem, seed and sampler, after a short one of each."""
    for name in names:
        problem = problems.get(name)
        for sampler in samplers:
            run(problem, name, sampler, seed=0, n_trials=min(N_WARM, n_trials))
        for seed in range(seeds):
            for sampler in samplers:
                yield run(problem, name, sampler, seed=seed, n_trials=n_trials)
            say(f"{name}, seed {seed}")


def run(problem, name, sampler, *, seed, n_trials):
    """Return one study of a problem."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {
        key: distribution(dimension)
        for key, dimension in problem.space.dimensions.items()
    }
    spent = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is experimental
        study = optuna.create_study(
            direction="maximize", sampler=sampler_of(sampler, seed, n_trials)
        )
        for _ in range(n_trials):
            start = time.process_time()
            trial = study.ask(distributions)
            spent += time.process_time() - start
            value = problem.func(trial.params)
            start = time.process_time()
            study.tell(trial, value)
            spent += time.process_time() - start
    regret = problem.optimum - study.best_value
    return Run(name, sampler, seed, n_trials, regret, 1e3 * spent / n_trials)


def sampler_of(name, seed, n_trials):
    """Return a sampler by its name."""
    import optuna

    if name == "RobustSampler":
        return RobustSampler(seed=seed)
    if name == "RobustSampler with horizon":
        return RobustSampler(seed=seed, horizon=n_trials)
    return getattr(optuna.samplers, name)(seed=seed)


def distribution(dimension):
    """Return Optuna's distribution of a range."""
    from optuna.distributions import FloatDistribution, IntDistribution

    kinds = {Real: FloatDistribution, Integer: IntDistribution}
    if type(dimension) not in kinds:
        raise CommandError(f"Expected a problem of ranges, got one with {dimension!r}.")
    kind = kinds[type(dimension)]
    return kind(dimension.low, dimension.high, log=dimension.log)


def two_digits(number):
    """Return a number to two digits, 100 rather than 1e+02."""
    return format(float(format(number, ".2g")), "g")


def markdown(runs):
    """Return one table line per problem and sampler, in the order of the runs."""
    rows = []
    kinds = pd.DataFrame(runs).groupby(["problem", "sampler"], sort=False)
    for (problem, sampler), own in kinds:
        numbers = (own["regret"].median(), own["regret"].max(), own["cpu_ms"].median())
        rows.append((problem, sampler, *map(two_digits, numbers)))
    return table(HEADER, rows, n_left=2)


if __name__ == "__main__":
    shared.run(build_parser(), main)
