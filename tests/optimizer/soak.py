"""Thousands of steps with failures and restarts: exact, in constant time and memory.

    python tests/optimizer/soak.py [--policy NAME ...] [--steps N] [--seed S]

Without arguments: 5,000 steps of each of the policies that forget, 1,000 of "robust".

The objective jumps at random times, one evaluation in ten fails, and sometimes the
optimizer is written to JSON and read back. Both must continue with the same point, or
the run stops. For policies that forget, a step of the last fifth must cost no more than
one of the second fifth, up to noise; the log grows by a small record per step. With
"robust", steps become slower with more values, but memory stays bounded. Written for
the project's own code: pytest runs only a few steps of it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

# Many threads slow down small matrices; this must be set before NumPy is loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

from skrobustbo import Categorical, Integer, Optimizer, Real

KINDS = ["linear", "rbf", "poly"]
SPACE = {
    "x": Real(-1, 1),
    "C": Real(1e-3, 1e3, log=True),
    "n": Integer(1, 50),
    "kind": Categorical(KINDS),
}
#: Steps of each policy, and whether its cost must stay constant.
PLAN = {"et-gp-ucb": (5000, True), "sw-gp-ucb": (5000, True), "robust": (1000, False)}
#: Probability per step of a failure, a jump of the objective and a restart.
FAILURE, JUMP, RESTART = 0.1, 0.02, 0.01
#: Maximum ratio of median processor times of the last fifth and the second.
TIME = 1.75
#: With fewer steps, a fifth has too few resets for a median, and is not checked.
LONG = 2500
#: Maximum growth of memory per step, in bytes: for the log alone, and if all values are
#: used and matrices grow with them (500 MiB in 1,000 steps).
RECORD, FACTORS = 8192, 2**19
#: Additional memory that is loaded or cached on first use, in bytes.
LOADED = 2**23


class Jumping:
    """A bowl whose bottom jumps at random times; some evaluations fail."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.jump()

    def jump(self) -> None:
        """Move the optimum, and with it the values."""
        self.best = self.rng.uniform([-1, -3, 1, 0], [1, 3, 50, 3])
        self.height = self.rng.normal(scale=3.0)

    def __call__(self, params: dict) -> float:
        if self.rng.random() < JUMP:
            self.jump()
        if self.rng.random() < FAILURE:
            return float(self.rng.choice([math.nan, math.inf, -math.inf]))
        x, c, n, kind = self.best
        distance = (
            (params["x"] - x) ** 2
            + ((math.log10(params["C"]) - c) / 3) ** 2
            + ((params["n"] - n) / 50) ** 2
            + 0.3 * (params["kind"] != KINDS[int(kind)])
        )
        return float(self.height - distance + self.rng.normal(scale=0.05))


def resident() -> float:
    """Return the current memory in bytes (the peak, except on Linux)."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def read_back(optimizer: Optimizer) -> Optimizer:
    """Return the optimizer as a later process would read it."""
    return Optimizer.from_dict(json.loads(json.dumps(optimizer.to_dict())))


@dataclass
class Run:
    """Measurements of one run."""

    seconds: list[float] = field(default_factory=list)
    bytes: list[float] = field(default_factory=list)
    restarts: list[float] = field(default_factory=list)
    resets: int = 0
    failures: int = 0
    longest: int = 0
    optimizer: Optimizer | None = None

    def fifth(self, name: str, k: int) -> float:
        """Return the median of the k-th fifth, from 1."""
        values = getattr(self, name)
        n = len(values)
        return float(np.median(values[(k - 1) * n // 5 : k * n // 5]))

    def ratio(self, name: str) -> float:
        """Return the last fifth in units of the second."""
        return self.fifth(name, 5) / self.fifth(name, 2)


def soak(policy: str, steps: int, seed: int = 0) -> Run:
    """Return the figures of one run; AssertionError if a restart changes it."""
    rng = np.random.default_rng(seed)
    objective, run = Jumping(rng), Run()
    optimizer = Optimizer(SPACE, policy, random_state=seed)
    for step in range(steps):
        read = None
        if rng.random() < RESTART:
            start = time.process_time()
            read = read_back(optimizer)
            run.restarts.append(time.process_time() - start)
        start = time.process_time()
        params = optimizer.ask()
        asked = time.process_time() - start
        if read is not None:
            assert read.ask() == params, f"step {step}: another point after a restart"
            optimizer = read
        value = objective(params)
        run.failures += not math.isfinite(value)
        start = time.process_time()
        optimizer.tell(params, value)
        run.seconds.append(asked + time.process_time() - start)
        run.bytes.append(resident())
        if step % 50 == 0:
            run.longest = max(run.longest, len(optimizer.remembered_))
    check_log(optimizer, steps, run)
    return run


def check_log(optimizer: Optimizer, steps: int, run: Run) -> None:
    """Check that nothing was lost or told twice."""
    history = optimizer.history_
    assert len(history) == steps
    assert not any(record["pending"] for record in history)
    failed = sum(record["failed_reason"] is not None for record in history)
    assert failed == run.failures
    values = [r["value"] for r in history if math.isfinite(r["value"])]
    assert optimizer.best_value_ == max(values)
    run.resets = sum(record["reset"] for record in history)
    run.optimizer = optimizer


def grown(run: Run) -> float:
    """Return the bytes of memory per step from the second fifth to the last."""
    n = len(run.bytes)
    return (run.fifth("bytes", 5) - run.fifth("bytes", 2)) / (3 * n / 5)


def growth(run: Run, flat: bool) -> list[str]:
    """Return what grew more than allowed."""
    n = len(run.seconds)
    slow = flat and n >= LONG and run.ratio("seconds") > TIME
    allowed = LOADED / (3 * n / 5) + (RECORD if flat else FACTORS)
    large = grown(run) > allowed
    return ["TIME GROWS"] * slow + ["MEMORY GROWS"] * large


def report(policy: str, run: Run) -> str:
    """Return one paragraph of figures."""
    ratio = run.ratio("seconds")
    ms = ", ".join(f"{1e3 * run.fifth('seconds', k):.1f}" for k in range(1, 6))
    mb = ", ".join(f"{run.fifth('bytes', k) / 2**20:.0f}" for k in range(1, 6))
    last = run.restarts[-1] if run.restarts else math.nan
    return (
        f"{policy}: {len(run.seconds)} steps, {run.failures} failures, {run.resets} "
        f"resets, {len(run.restarts)} restarts (the last took {last:.2f} s), at most "
        f"{run.longest} values remembered\n"
        f"  median ms per step, by fifths: {ms}; last to second {ratio:.2f}\n"
        f"  median MiB, by fifths: {mb}; last to second {run.ratio('bytes'):.2f}; "
        f"{grown(run):.0f} bytes per step"
    )


def main() -> int:
    """Run the command line; return 1 if something grew too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", nargs="+", default=list(PLAN), metavar="NAME")
    parser.add_argument("--steps", type=int, help="instead of the policy's own number")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    bad = 0
    for policy in args.policy:
        planned, flat = PLAN.get(policy, (1000, False))
        run = soak(policy, args.steps or planned, args.seed)
        print(report(policy, run), flush=True)
        found = growth(run, flat)
        bad += len(found)
        print(f"  {' and '.join(found) or 'within bounds'}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
