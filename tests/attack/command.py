"""Run thousands of cases, and report those that fail.

A failing case prints the command that runs it again.
"""

from __future__ import annotations

import argparse
import collections
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

# Many threads slow down small matrices; this must be set before NumPy is loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

ROOT = Path(__file__).parents[2]
# Code shared by tests: pytest finds it by its settings, the programs find it here.
sys.path.append(str(ROOT / "tests" / "helpers"))
#: Seconds until a case counts as endless, and memory limit of a process in bytes.
LIMIT, MEMORY = 300, 6 * 2**30

#: Seconds, and what took them.
Step = tuple[float, str]
Check = Callable[[str], list[Step]]


class Endless(BaseException):
    """A case that does not end; the attacked code must not catch it."""


@dataclass
class Outcome:
    """The outcome of one case."""

    case: str
    failure: str | None = None
    slowest: list[Step] = field(default_factory=list)
    peak: float = 0.0


def outcome(check: Check, case: str) -> Outcome:
    """Return the outcome of a case; a warning counts as a failure."""
    found = Outcome(case)
    try:
        with _limited(), strict():
            found.slowest = sorted(check(case), reverse=True)[:3]
    except (Exception, Endless) as error:
        found.failure = _line(error)
    found.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return found


def _line(error: BaseException) -> str:
    """Return in one line what went wrong, where in the package and where here."""
    said = " ".join(str(error).split())[:300]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "skrobustbo/" in f.filename][-1:]
    here = [f for f in frames if "attack/" in f.filename][-1:]
    places = ", ".join(f"{Path(f.filename).name}:{f.lineno}" for f in ours + here)
    return f"{type(error).__name__}: {said} ({places})"


@contextmanager
def strict() -> Iterator[None]:
    """Turn warnings into errors, except one that tells users about their models."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings(
            "ignore", "All candidate models contradict", UserWarning
        )
        yield


@contextmanager
def _limited() -> Iterator[None]:
    def give_up(*_: Any) -> None:
        raise Endless(f"not over after {LIMIT} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _outcomes(check: Check, cases: list[str], jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(partial(outcome, check), cases)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _limit_memory) as pool:
        yield from pool.map(partial(outcome, check), cases)


def main(
    program: str, doc: str, check: Check, cases: Callable[[int, int], list[str]]
) -> int:
    """Run the command line; return 1 if a case failed.

    Parameters
    ----------
    program, doc : str
        The file and its docstring.
    check : callable
        Takes a case, raises an error for problems, returns times by name.
    cases : callable
        Takes a number and a first seed, returns that many cases.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--n", type=int, default=200, help="cases (200)")
    parser.add_argument("--seed", type=int, default=0, help="of the first case (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--case", nargs="+", help="these cases instead")
    args = parser.parse_args()
    chosen = args.case or cases(args.n, args.seed)
    path, start, found = Path(program).resolve().relative_to(ROOT), time.time(), []
    for one in _outcomes(check, chosen, args.jobs):
        found.append(one)
        if one.failure:
            print(f"python {path} --case {one.case}  # {one.failure}", flush=True)
    print(report(found, time.time() - start))
    return int(any(one.failure for one in found))


def report(found: list[Outcome], seconds: float) -> str:
    """Return the figures of a run."""
    failed = [one for one in found if one.failure]
    steps = [(*step, one.case) for one in found for step in one.slowest]
    lines = [
        f"{len(found)} cases in {seconds:.0f} s, {len(failed)} failed; "
        f"a process took {max(one.peak for one in found):.0f} MiB at most"
    ]
    lines += [f"  {s:.2f} s  {what}  ({c})" for s, what, c in sorted(steps)[:-9:-1]]
    kinds = collections.Counter(
        (one.failure or "").split(":")[0] + " at " + (one.failure or "").split("(")[-1]
        for one in failed
    )
    lines += [f"  {n} x {kind}" for kind, n in kinds.most_common()]
    return "\n".join(lines)
