"""Time and memory of a step over a great many unordered choices, as a markdown table.

    python benchmarks/studies/many_choices.py --choices 100 1000 5000 10000

Each search has a process of its own.
"""

import argparse
import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np

import shared
from skrobustbo import Categorical, Integer, Optimizer, Real, Space

#: Points told before the first step that counts, and steps that count.
N_TOLD, N_STEPS = 100, 5


def space_of(kind, k):
    """Return a space whose parameter `c` has `k` choices."""
    choices = [f"choice {i}" for i in range(k)]
    if kind == "alone":
        return Space({"c": Categorical(choices)})
    if kind == "beside":
        c, x, y = Categorical(choices), Real(0.0, 1.0), Real(1e-3, 1.0, log=True)
        return Space({"c": c, "x": x, "y": y, "n": Integer(1, 20)})
    x = np.random.default_rng(0).random(k).tolist()
    return Space.from_points(
        [{"c": c, "x": value} for c, value in zip(choices, x, strict=True)]
    )


def value(params):
    """Return a number that depends on the choice and on the other parameters."""
    choice = 7919 * int(params["c"].split()[1]) % 97
    return choice / 97 - (params.get("x", 0.3) - 0.3) ** 2 + 0.01 * params.get("n", 0)


def measured(kind, k, policy):
    """Return the CPU milliseconds of a step, and the megabytes of this process."""
    space, steps = space_of(kind, k), []
    optimizer = Optimizer(
        space, policy, n_initial_points=5, horizon=2 * N_TOLD, random_state=0
    )
    for _ in range(5):
        params = optimizer.ask()
        optimizer.tell(params, value(params))
    for params in space.sample(N_TOLD - 5, random_state=1):
        optimizer.tell(params, value(params))
    for _ in range(1 + N_STEPS):  # the first has all the points to catch up with
        start = time.process_time()
        params = optimizer.ask()
        optimizer.tell(params, value(params))
        steps.append(1e3 * (time.process_time() - start))
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return f"{np.mean(steps[1:]):.0f} | {peak:.0f}"


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kinds", nargs="+", default=["alone", "beside", "pool"])
    parser.add_argument("--choices", nargs="+", type=int, default=[10_000])
    parser.add_argument("--policies", nargs="+", default=["robust"])
    return parser


def main(args):
    """Print one line per kind of space, number of choices and policy."""
    print("| the parameter is | choices | policy | step, CPU ms | process MB |")
    print("|---|---:|---|---:|---:|")
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as pool:
        for kind, k, policy in product(args.kinds, args.choices, args.policies):
            line = pool.submit(measured, kind, k, policy).result()
            print(f"| {kind} | {k} | {policy} | {line} |", flush=True)


if __name__ == "__main__":
    shared.run(build_parser(), main)
