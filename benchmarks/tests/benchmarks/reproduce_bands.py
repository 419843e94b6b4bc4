"""The bands in which the quick experiments' numbers must lie, and how they are made.

``python benchmarks/tests/benchmarks/reproduce_bands.py`` runs the quick form of every
experiment, as it is and with the values of the objective changed in their last digits,
and widens the bands in ``reproduce_bands.json`` to hold what came out. Run it with the
newest and the oldest dependencies; begin with ``--afresh`` after a change that is meant
to alter results. The changed digits stand for other machines: a search passes the least
difference on, and some of its choices are close.
"""

import argparse
import dataclasses
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from skrobustbo_benchmarks._reproduce._runs import run_one
from skrobustbo_benchmarks._reproduce._spec import CASES

PATH = Path(__file__).with_suffix(".json")
#: What is compared; times are not.
METRICS = ("cumulative", "average", "simple", "theta", "gap", "resets")
#: Relative size of the changes, and how often they are made.
_SIZE, _REPEATS = 1e-9, 4


class Changed:
    """A function whose values differ in their last digits (picklable)."""

    def __init__(self, func, number):
        self.func, self.number = func, number

    def __call__(self, params, *t):
        value = self.func(params, *t)
        text = repr((sorted(params.items()), t, self.number))
        share = zlib.crc32(text.encode()) / 2**31 - 1
        return value * (1 + _SIZE * share)


def quick_means(case, number=0):
    """Return the means over seeds, by method and metric; `number` 0 changes nothing."""
    case = case.in_brief()
    if number:
        case = _changed(case, number)
    means = {}
    for method in case.methods:
        with threadpool_limits(limits=1):  # as the command's child processes have it
            runs = pd.concat(run_one(case, method, seed) for seed in range(case.seeds))
        means[method] = {
            metric: float(np.mean(runs[metric])) for metric in METRICS if metric in runs
        }
    return means


def _changed(case, number):
    class ChangedCase(type(case)):
        def make_problem(self, seed):
            problem = super().make_problem(seed)
            return dataclasses.replace(problem, func=Changed(problem.func, number))

    fields = {f.name: getattr(case, f.name) for f in dataclasses.fields(case)}
    return ChangedCase(**fields)


def read():
    """Return the bands: case, method, metric, lowest and highest."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def widened(bands, means):
    """Return one case's bands, wide enough for `means` too."""
    for method, metrics in means.items():
        held = bands.setdefault(method, {})
        for metric, value in metrics.items():
            low, high = held.get(metric, (value, value))
            held[metric] = [min(low, round(value, 5)), max(high, round(value, 5))]
    return bands


def main():
    """Widen the bands, or make them afresh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--afresh", action="store_true")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    bands = {} if args.afresh else read()
    for name in args.cases or CASES:
        for number in range(_REPEATS + 1):
            means = quick_means(CASES[name], number)
            bands[name] = widened(bands.get(name, {}), means)
        print(name, flush=True)
        PATH.write_text(json.dumps(bands, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
