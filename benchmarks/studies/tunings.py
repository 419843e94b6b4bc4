"""Methods on real tunings at the budgets that people run, beside random search and TPE.

    python benchmarks/studies/tunings.py --out tunings.csv --methods robust

Candidate 0 of every run is the untuned estimator. What a run has gained is a share of
the gap from it to the best value known: the best of all runs in the csv file, and of
what is noted with the tunings. Tunings whose gap is below two standard errors, those of
the differences over the folds, are left out. The tables have means over tunings of the
means over seeds, and differences with a bootstrap interval (95 %) over the tunings.
Runs that the csv file holds already are not made again.

The plan of a policy depends on the number of evaluations, so it has a run for each.
What the peers and random search have found after fewer is read off their longest run.

A policy's settings are written as in ``robust(endgame=0.5)``. One of them is the run's,
``n_initial_points``: a number, one for each number of evaluations, as in
``robust(n_initial_points={15: 4, 25: 6, 50: 8})``, or a rule, as in
``robust(n_initial_points=(2, 2, 0.34))``: 2 d + 2 for the d parameters of a branch, in
all at most .34 of the evaluations. Candidate 0 counts.

There are too few tunings to choose on one half and to report on the other. Runs for
choosing have other seeds, other splits, other rows and other made data instead.
"""

import argparse
import importlib.util
import json
import math
import time
from typing import NamedTuple

import numpy as np
import pandas as pd

import shared
from lines import Labelled, add_options, completed, show
from ordinary import LEVEL, interval
from real_tunings import NOTED, TUNINGS, Score
from skrobustbo import Optimizer, Real, Space, policies
from skrobustbo_benchmarks._args import CommandError, checked_names, positive_int
from skrobustbo_benchmarks._methods import Method
from skrobustbo_benchmarks._peers._base import Axes
from skrobustbo_benchmarks._peers._registry import check_installed
from skrobustbo_benchmarks._report import table
from skrobustbo_benchmarks._spelling import method_list, split_method

#: Evaluations after which the longest runs are shown.
MOMENTS = (5, 10, 15, 25, 50)
#: A gap counts from so many of its standard errors on.
CLEAR = 2
#: Tunings of at least so many parameters have tables of their own.
MANY = 6
#: Draw of a tuning and first seed, by what the runs are for.
ROLES = {"choosing": (1, 1000), "reporting": (0, 0)}


class Key(NamedTuple):
    """What tells one run from another."""

    role: str
    tuning: str
    n_iter: int
    method: str
    seed: int


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "values": str,  # JSON: the mean score of each evaluation
    "untuned": str,  # JSON: the score of each fold of candidate 0
    "top": str,  # JSON: the same of the best candidate
    "fit_seconds": float,  # of all evaluations
    "ask_seconds": float,  # of all that the method did
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add_options(parser, ROLES, "tuning")
    add = parser.add_argument
    add("--tunings", nargs="+", metavar="NAME", help="default: all")
    add(
        "--n-iter",
        nargs="+",
        type=positive_int,
        default=[15, 25, 50],
        metavar="N",
        help="evaluations (15 25 50)",
    )
    add(
        "--references",
        nargs="+",
        default=["random", "optuna-tpe"],
        metavar="NAME",
        help="what they are compared with (random optuna-tpe)",
    )
    return parser


def main(args):
    """Make the runs that are missing, and print or write the tables."""
    _, first = ROLES[args.role]
    tunings = checked_tunings(args.tunings or TUNINGS)
    n_iters = sorted(set(args.n_iter))
    references = checked_methods(args.references, n_iters)
    methods = checked_methods([*args.references, *args.methods], n_iters)
    if args.label is not None and len(methods) != len(references) + 1:
        raise CommandError("--label takes a single one of --methods.")
    labels = {methods[-1]: args.label} if args.label else {}
    made = Labelled(labels, result_of)
    keys = [
        made.named(Key(args.role, tuning, n_iter, method, seed))
        for seed in range(first, first + args.seeds)
        for tuning in tunings
        for method in methods
        for n_iter in (n_iters if plans(method) else n_iters[-1:])
    ]
    runs = completed(args.out, COLUMNS, keys, made, args.jobs)
    show(report(runs, keys, references), args.table)


def checked_tunings(tokens):
    """Return the tunings of these names, whose packages are there."""
    names = checked_names("tuning", tokens, TUNINGS)
    for name in names:
        package = TUNINGS[name].needs
        if package and importlib.util.find_spec(package) is None:
            raise CommandError(
                f"The tuning {name!r} needs {package}, which is not installed: pip "
                f"install {package}, or name the other tunings after --tunings."
            )
    return names


def checked_methods(tokens, n_iters):
    """Return the methods in words; CommandError for the first that cannot be made."""
    methods = method_list(tokens)
    known = [*BASELINES, *policies.available()]
    checked_names("method", [split_method(text)[0] for text in methods], known)
    for text in methods:
        try:
            for n_iter in n_iters:
                made_method(text, Space({"x": Real(0, 1)}), {"x": 0.5}, n_iter, 0)
        except (TypeError, ValueError) as error:
            raise CommandError(f"{text}: {error}") from error
    return methods


# Runs ---------------------------------------------------------------------------------


def result_of(key):
    """Return the result of a run, which depends on its key only, but for the times."""
    draw, _ = ROLES[key.role]
    tuning = TUNINGS[key.tuning]
    score, spent = Score(tuning, draw), {"fit_seconds": 0.0, "ask_seconds": 0.0}

    def timed(name, call, *given):
        start = time.perf_counter()
        result = call(*given)
        spent[name] += time.perf_counter() - start
        return result

    made = key.method, Space(tuning.space), tuning.untuned, key.n_iter, key.seed
    method = timed("ask_seconds", made_method, *made)
    folds = []
    for _ in range(key.n_iter):
        params = timed("ask_seconds", method.ask)
        folds.append(timed("fit_seconds", score, params))
        timed("ask_seconds", method.tell, params, float(np.mean(folds[-1])))
    values = np.mean(folds, axis=1)
    return {
        "values": json.dumps(values.tolist()),
        "untuned": json.dumps(folds[0]),
        "top": json.dumps(folds[values.argmax()]),
        **spent,
    }


def plans(method):
    """Return whether what a method does depends on the number of evaluations."""
    return split_method(method)[0] not in BASELINES


def made_method(text, space, untuned, n_iter, seed):
    """Return a new method, for one run that begins with the untuned estimator."""
    name, settings = split_method(text)
    if name not in BASELINES:
        return PolicyMethod(name, settings, space, untuned, n_iter, seed)
    if settings:
        raise CommandError(f"{name} takes no settings here. Got {text!r}.")
    return BASELINES[name](space, untuned, seed)


class PolicyMethod(Method):
    """The package's own optimizer: its own number of initial points, its own design."""

    def __init__(self, policy, settings, space, untuned, n_iter, seed):
        own = {name: of for name, of in settings.items() if name != "n_initial_points"}
        self._optimizer = Optimizer(
            space,
            policies.make_policy(policy, **own),
            n_initial_points=initial_points(
                settings.get("n_initial_points"), space, n_iter
            ),
            initial_params=[untuned],
            horizon=n_iter,
            random_state=seed,
        )

    def ask(self):
        """Return the optimizer's next point."""
        return self._optimizer.ask()

    def tell(self, params, value):
        """Tell the optimizer."""
        self._optimizer.tell(params, value)


def initial_points(setting, space, n_iter):
    """Return how many points a run has before the model takes over; None: its own.

    >>> initial_points({15: 4, 25: 6}, Space({"x": Real(0, 1)}), 25)
    6
    >>> initial_points((2, 2, 0.2), Space({"x": Real(0, 1)}), 15)
    3
    """
    if isinstance(setting, dict):
        if n_iter not in setting:
            raise ValueError(f"n_initial_points has no entry for {n_iter} evaluations.")
        return setting[n_iter]
    if not isinstance(setting, tuple):
        return setting
    if len(setting) != 3:
        raise ValueError(
            "A rule for n_initial_points has three numbers: for each parameter, for "
            f"each branch, and the largest share. Got {setting!r}."
        )
    slope, more, share = setting
    wanted = sum(slope * len(branch.dimensions) + more for branch in space.branches)
    return max(1, math.floor(min(wanted, share * n_iter)))


class RandomMethod(Method):
    """Independent points after the untuned estimator, all branches alike."""

    def __init__(self, space, untuned, seed):
        self._space, self._next = space, untuned
        self._rng = np.random.default_rng(seed)

    def ask(self):
        """Return the next point."""
        return self._next

    def tell(self, params, value):
        """Draw another point."""
        U = self._rng.random((1, self._space.n_uniform))
        self._next = self._space.decode_many(self._space.from_uniform(U))[0]


class OptunaMethod(Method):
    """A sampler of Optuna's with its defaults; the untuned estimator is enqueued.

    Trials are defined as they run: first the branch, if there are several, then its
    parameters, which have names of their own.
    """

    def __init__(self, name, space, untuned, seed):
        check_installed([name])
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        samplers = {
            "optuna-tpe": optuna.samplers.TPESampler,
            "optuna-gp": optuna.samplers.GPSampler,
        }
        self._study = optuna.create_study(
            direction="maximize", sampler=samplers[name](seed=seed)
        )
        self._axes = [Axes(branch) for branch in space.branches]
        branch = space.owner(untuned)
        numbers = self._axes[branch].to_numbers(untuned)
        first = {self._name(branch, name): number for name, number in numbers.items()}
        self._study.enqueue_trial({"branch": branch} | first)

    def _name(self, branch, name):
        return f"{branch} {name}"

    def ask(self):
        """Return the parameters of a new trial."""
        self._trial = trial = self._study.ask()
        branch, several = 0, range(len(self._axes))
        if len(several) > 1:
            branch = trial.suggest_categorical("branch", list(several))
        axes = self._axes[branch]
        numbers = {
            axis.name: _suggested(trial, self._name(branch, axis.name), axis)
            for axis in axes.varying
        }
        return axes.to_params(numbers)

    def tell(self, params, value):
        """Tell the trial."""
        self._study.tell(self._trial, value)


def _suggested(trial, name, axis):
    if axis.kind == "choice":
        return trial.suggest_categorical(name, axis.numbers)
    suggest = trial.suggest_float if axis.kind == "real" else trial.suggest_int
    return suggest(name, axis.low, axis.high, log=axis.log)


#: Methods that know nothing of the number of evaluations.
BASELINES = {
    "random": RandomMethod,
    "optuna-tpe": lambda *given: OptunaMethod("optuna-tpe", *given),
    "optuna-gp": lambda *given: OptunaMethod("optuna-gp", *given),
}


# The tables ---------------------------------------------------------------------------


def gaps(runs):
    """Return what there is to gain, a row for each tuning of runs of one role.

    Returns
    -------
    DataFrame
        The scores "untuned" and "best" known, the "gap" between them, its standard
        "error" over the folds, and whether it is "clear".
    """
    rows = {}
    for tuning, of in runs.groupby("tuning", sort=False):
        tops = [json.loads(text) for text in of["top"]]
        if noted := NOTED.get((tuning, of["role"].iloc[0])):
            tops.append(noted)
        best = np.array(max(tops, key=np.mean))
        untuned = np.array(json.loads(of["untuned"].iloc[0]))
        gain = best - untuned
        gap, error = gain.mean(), gain.std(ddof=1) / math.sqrt(len(gain))
        is_clear = gap > 0 and gap >= CLEAR * error
        rows[tuning] = (untuned.mean(), best.mean(), gap, error, is_clear)
    names = ["untuned", "best", "gap", "error", "clear"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


def gained(values, best, n):
    """Return the share of the gap that the first n evaluations have closed.

    >>> gained([1.0, 0.5, 2.0, 7.0], best=3.0, n=3)
    0.5
    """
    return float(np.clip((max(values[:n]) - values[0]) / (best - values[0]), 0, 1))


def shares_at(runs, gap, n, n_iter):
    """Return the shares after n evaluations, a row for each tuning, a column a method.

    Means over the seeds of which all methods have a run. Of a policy it is the run that
    was planned for `n_iter` evaluations, of others any that is as long.
    """
    rows = []
    for run in runs.itertuples():
        fits = run.n_iter == n_iter if plans(run.method) else run.n_iter >= n_iter
        if fits:
            best = gap.loc[run.tuning, "best"]
            share = gained(json.loads(run.values), best, n)
            rows.append((run.tuning, run.seed, run.method, share))
    found = pd.DataFrame(rows, columns=["tuning", "seed", "method", "share"])
    by_seed = found.pivot_table("share", ["tuning", "seed"], "method", sort=False)
    return by_seed.dropna().groupby(level="tuning", sort=False).mean()


def report(runs, keys, references):
    """Return the tables as markdown: of the runs with these keys.

    The best value known of a tuning is that of all runs of their role.
    """
    runs = runs[runs["role"] == keys[0].role]
    gap = gaps(runs)
    named = runs[list(Key._fields)].apply(tuple, axis=1)
    runs = runs[named.isin([tuple(key) for key in keys])]
    gap = gap[gap.index.isin(runs["tuning"])]
    sections = [tunings_section(runs, gap)]
    clear = gap.index[gap["clear"]]
    kept = runs[runs["tuning"].isin(clear)]
    if not len(kept):
        return "\n\n".join([*sections, "No tuning has a clear gap."])
    n_iters = sorted({key.n_iter for key in keys})
    methods = dict.fromkeys(key.method for key in keys)

    def at(n, n_iter):
        shares = shares_at(kept, gap, n, n_iter)
        return shares[[method for method in methods if method in shares]]

    by_n = {n: at(n, n) for n in n_iters}
    moments = [n for n in MOMENTS if n <= n_iters[-1]]
    curve = {n: at(n, n_iters[-1]) for n in moments}
    many = [name for name in clear if TUNINGS[name].n_parameters >= MANY]
    sections.append(shares_section(by_n, references, "all tunings"))
    of_many = {n: shares[shares.index.isin(many)] for n, shares in by_n.items()}
    sections.append(
        shares_section(of_many, references, f"tunings of {MANY} and more parameters")
    )
    sections.append(curve_section(curve, n_iters[-1]))
    sections.append(by_tuning_section(by_n[n_iters[-1]], n_iters[-1]))
    return "\n\n".join(section for section in sections if section)


def tunings_section(runs, gap):
    """Return the tunings, and which are left out."""
    n_evals = runs["values"].map(lambda text: len(json.loads(text)))
    seconds = runs["fit_seconds"].groupby(runs["tuning"]).sum()
    each = seconds / n_evals.groupby(runs["tuning"]).sum()
    rows = [
        (
            of.Index,
            str(TUNINGS[of.Index].n_parameters),
            *(f"{value:.4g}" for value in (of.untuned, of.best, of.gap, of.error)),
            f"{each[of.Index]:.2f}",
            "" if of.clear else "left out",
        )
        for of in gap.itertuples()
    ]
    header = ("tuning", "parameters", "untuned", "best known", "gap", "error")
    title = (
        "The untuned estimator, the best value known, the gap between the two and its "
        "standard error over the folds; seconds of an evaluation:"
    )
    return f"{title}\n\n{table((*header, 'seconds', ''), rows)}"


def shares_section(by_n, references, which):
    """Return the shares after each number of evaluations, and the differences."""
    by_n = {n: shares for n, shares in by_n.items() if len(shares)}
    if not by_n:
        return ""
    parts = {str(n): shares for n, shares in by_n.items()}
    if len(by_n) > 1:
        pooled = pd.concat(by_n.values()).groupby(level="tuning", sort=False)
        # A tuning that lacks some of the numbers would stand for the others alone.
        whole = pooled.size() == len(by_n)
        parts["pooled"] = pooled.mean()[whole]
    rows = []
    for n, shares in parts.items():
        for method in shares:
            cells = [
                difference(shares[method] - shares[reference])
                if method != reference and reference in shares
                else ""
                for reference in references
            ]
            mean = f"{shares[method].mean():.3f}"
            rows.append((n, method, str(len(shares)), mean, *cells))
    header = ("N", "method", "tunings", "share", *(f"minus {r}" for r in references))
    title = (
        f"Share of the gap closed, {which}: means, and differences ({LEVEL:.0%} "
        "bootstrap interval over the tunings):"
    )
    return f"{title}\n\n{table(header, rows, n_left=2)}"


def difference(apart):
    """Return the mean difference and its interval as text."""
    mean, low, high = interval(apart)
    return f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"


def curve_section(curve, n_iter):
    """Return the shares at each moment of the longest runs."""
    found = pd.DataFrame({n: shares.mean() for n, shares in curve.items()})
    rows = [(method, *(f"{v:.3f}" for v in of)) for method, *of in found.itertuples()]
    header = ("method", *(str(n) for n in curve))
    title = f"Share of the gap closed, by the evaluations made of {n_iter}:"
    return f"{title}\n\n{table(header, rows)}"


def by_tuning_section(shares, n_iter):
    """Return the shares of each tuning after the most evaluations."""
    rows = [(name, *(f"{v:.3f}" for v in of)) for name, *of in shares.itertuples()]
    title = f"Share of the gap closed after {n_iter} evaluations:"
    return f"{title}\n\n{table(('tuning', *shares), rows)}"


if __name__ == "__main__":
    shared.run(build_parser(), main)
