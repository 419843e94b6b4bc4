"""Runs of benchmarks that nobody made: their traces, and files of them."""

import itertools

import numpy as np
import pandas as pd

from skrobustbo_benchmarks._record import TRACE, Table
from skrobustbo_benchmarks._reproduce._measures import CURVES, kept_steps


def all_rows(path):
    rows, is_clean = Table(path).read()
    assert is_clean
    return rows


def made_run(policy, seed, values, *, n_initial=1, cpu=None, **columns):
    """Return a run with the given noise-free values."""
    bests = np.fmax.accumulate(values)
    cpu = [0.0] * len(values) if cpu is None else cpu
    constant = {
        "problem": "toy",
        "n_iter": len(values),
        "n_evals": len(values),
        "optimum": 10.0,
        "stuck_below": 5.0,
        "model_label": "",
    } | columns
    columns = {
        "policy": policy,
        "seed": seed,
        "n_initial": n_initial,
        "step": range(1, len(values) + 1),
        "value": values,
        "observed": values,
        "best": bests,
        "cpu_seconds": cpu,
    }
    return pd.DataFrame(constant | columns)[list(TRACE)]


def write_table(path, runs):
    path.unlink(missing_ok=True)
    table = Table(path)
    table.open()
    for run in runs:
        table.append(run)


def finals(method, values, problem="toy", **columns):
    """Return runs of one seed each that start at 0 and end at the given values."""
    return [
        made_run(method, seed, [0.0, value], problem=problem, **columns)
        for seed, value in enumerate(values)
    ]


def two_problems():
    """Return ten runs of three methods on two problems, and one run on a third."""
    runs = []
    for problem in ("one", "two"):
        runs += finals("robust", np.linspace(8.8, 9.0, 10), problem)
        runs += finals("skopt", np.linspace(7.8, 8.0, 10), problem)
        runs += finals("random", np.linspace(4.8, 5.0, 10), problem)
    return [*runs, *finals("robust", [9.0], "three")]


def traces(*lists):
    return pd.concat(itertools.chain(*lists))


def made_case_run(case, method, seed, rng):
    """Return a line of a run of a paper's experiment."""
    n = len(kept_steps(case.n_iter - case.n_first))
    lengths = {"histogram": 24, "x": case.steps}
    found = {
        name: "|".join(f"{v:.3g}" for v in rng.random(lengths.get(name, n)) + 0.01)
        if name in CURVES
        else rng.random()
        for name in case.measures
    }
    return pd.DataFrame(
        [{**case.key(method, seed)._asdict(), "cpu_seconds": 1} | found]
    )
