"""What schedules find in equal time: workers simulated on a clock of their own.

    python benchmarks/studies/schedules.py --out schedules.csv

Eight workers, `batch_size=8`. A candidate's folds take equally long, but candidates
differ as 10 : 1. The clock stops when rounds have finished `--n-iter` candidates. A
schedule is asked for as many candidates as random ones are finished by then, so that
each knows its horizon. Runs that the csv file holds already are not made again.
"""

import argparse
import heapq
import math
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

import shared
from comparison import holm
from lines import completed
from skrobustbo import Optimizer
from skrobustbo.evaluation import Schedule
from skrobustbo.evaluation._folds import Fold
from skrobustbo.evaluation._plan import Batch, Plan, Running
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._args import positive_int, seed_list
from skrobustbo_benchmarks._report import table
from skrobustbo_benchmarks._reproduce._claims import p_below

N_WORKERS = 8
SCHEDULES = ("rounds", "window", "free")
PROBLEMS = ("branin", "hartmann6", "michalewicz5", "ackley5", "levy4", "rosenbrock4")


class Key(NamedTuple):
    """What tells one run from another."""

    problem: str
    n_splits: int
    seed: int
    n_iter: int
    schedule: str


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "n_told": int,  # candidates finished in time
    "used": float,  # share of the workers' time in fits, without the run's end
    "regret": float,
}


class Simulated:
    """A search whose folds take simulated time.

    Attributes
    ----------
    told : list of (float, float)
        For each candidate told, when that was and its value.
    fits : list of (int, float, float)
        For each fold its candidate, when it was started, and how long it took.
    """

    def __init__(self, key, policy, n_iter):
        self._problem = problems.get(key.problem)
        at_once = N_WORKERS if key.schedule == "rounds" else 1
        self._at_once, self._left = at_once, n_iter
        self._n_splits, self._now = key.n_splits, 0.0
        self.told, self.fits = [], []
        self._optimizer = Optimizer(
            self._problem.space, policy=policy, horizon=n_iter, random_state=key.seed
        )
        self._schedule = Schedule(
            n_in_flight=1 if key.schedule == "rounds" else N_WORKERS,
            in_order=key.schedule != "free",
        )

    def run(self, until=math.inf):
        """Simulate the workers until there is nothing to do, or it is time."""
        plan = Plan(self._schedule, self._n_splits, self._ask, self._tell)
        busy = []
        while plan.fill() and self._now <= until:
            while plan.waiting and len(busy) < N_WORKERS:
                fold = plan.waiting.popleft()
                seconds = self._seconds(fold)
                self.fits.append((fold.candidate, self._now, seconds))
                heapq.heappush(busy, (self._now + seconds, fold.key))
            self._now, key = heapq.heappop(busy)
            plan.take(key, {})
        return self

    @property
    def used(self):
        """Return the share of the workers' time in fits until the last one begins."""
        begun = {}
        for candidate, start, _ in self.fits:
            begun.setdefault(candidate, start)
        last = max(begun.values())
        spent = sum(min(s, max(0.0, last - start)) for _, start, s in self.fits)
        return spent / (N_WORKERS * last)

    def _seconds(self, fold):
        """Return how long a fold takes: 0.1 to 1 s, by the candidate's parameters."""
        share = crc32(repr(sorted(fold.params.items())).encode()) / 2**32
        return 0.1 * 10**share

    def _ask(self):
        """Return the next candidates with their folds; None if there are no more."""
        n = min(self._at_once, self._left)
        self._left -= n
        asked = [self._optimizer._propose() for _ in range(n)]
        return (
            Batch([Running(each, self._folds(each)) for each in asked]) if n else None
        )

    def _folds(self, trial):
        """Return the folds of a candidate."""
        return [Fold(trial.number, k, trial.params, {}) for k in range(self._n_splits)]

    def _tell(self, batch):
        """Tell the values, and note the time."""
        for candidate in batch.over:
            value = self._problem.func(candidate.trial.params)
            self._optimizer._record(candidate.trial, value)
            self.told.append((self._now, value))


def run_one(key):
    """Return what a schedule has found when rounds are over."""
    rounds = key._replace(schedule="rounds")
    run = Simulated(rounds, "robust", key.n_iter).run()
    until = run.told[-1][0]
    if key.schedule != "rounds":
        quick = Simulated(key, "random", 10 * key.n_iter).run(until)
        n_iter = sum(time <= until for time, _ in quick.told)
        run = Simulated(key, "robust", n_iter).run(until)
    values = [value for time, value in run.told if time <= until]
    optimum = problems.get(key.problem).optimum
    return {
        "n_told": len(values),
        "used": run.used,
        "regret": optimum - max(values),
    }


def report(runs):
    """Return the table of regrets, and of tests of a schedule against rounds."""
    keys = ["problem", "n_splits", "seed"]
    by = {name: group.set_index(keys) for name, group in runs.groupby("schedule")}
    others, lines = [name for name in SCHEDULES[1:] if name in by], []
    for (problem, n_splits), group in by["rounds"].groupby(keys[:2], sort=False):
        medians = [by[s].loc[group.index].regret.median() for s in SCHEDULES if s in by]
        more = [by[s].loc[group.index].n_told.median() for s in others]
        ps = [
            p_below(np.array(group.regret - by[s].loc[group.index].regret))
            for s in others
        ]
        lines.append(((problem, str(n_splits)), medians, more, ps))
    worse = iter(holm([p for *_, ps in lines for p in ps]))
    header = (
        "problem",
        "folds",
        *(f"regret, {s}" for s in SCHEDULES if s in by),
        *(f"candidates, {s}" for s in others),
        *(f"p worse, {s}" for s in others),
    )
    cells = [
        (
            *first,
            *(f"{value:.2g}" for value in medians),
            *(f"{n:.0f}" for n in more),
            *(f"{next(worse):.2g}" for _ in ps),
        )
        for first, medians, more, ps in lines
    ]
    return table(header, cells) + "\n\n" + used(runs)


def used(runs):
    """Return the table of the share of the workers' time in fits, without the end."""
    means = runs.groupby(["n_splits", "schedule"]).used.mean().unstack()
    means = means[[name for name in SCHEDULES if name in means]]
    lines = [
        (str(n), *(f"{share:.0%}" for share in line)) for n, *line in means.itertuples()
    ]
    return table(("folds", *means.columns), lines[::-1])


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--problems", nargs="+", default=list(PROBLEMS), metavar="NAME")
    add("--splits", nargs="+", type=positive_int, default=[5, 1], metavar="K")
    add("--seeds", type=seed_list, default="0-19", help="0-9 or 0,3,7 (0-19)")
    add("--n-iter", type=positive_int, default=48, metavar="N", help="(48)")
    add("--jobs", type=positive_int, default=1, metavar="N", help="runs at a time")
    return parser


def main(args):
    """Make the runs that are missing, and print the table."""
    keys = [
        Key(problem, n_splits, seed, args.n_iter, schedule)
        for seed in args.seeds
        for problem in args.problems
        for n_splits in args.splits
        for schedule in SCHEDULES
    ]
    print(report(completed(args.out, COLUMNS, keys, run_one, args.jobs)))


if __name__ == "__main__":
    shared.run(build_parser(), main)
