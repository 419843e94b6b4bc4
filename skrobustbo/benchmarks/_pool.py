"""Runs side by side, each taken in as it ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TypeVar

K = TypeVar("K")
R = TypeVar("R")


class RunFailedError(Exception):
    """A child process ended without its results; the message is what it said."""


class RunTimeoutError(RunFailedError, TimeoutError):
    """A child process was ended because it took too long."""


def say(text: str) -> None:
    """Tell the user how things go: standard output is for the report."""
    print(text, file=sys.stderr, flush=True)


def run_all(
    keys: Sequence[K],
    jobs: int,
    make_run: Callable[[K], R],
    describe: Callable[[K], str],
    keep: Callable[[R], str],
    lose: Callable[[K, RunFailedError], None] | None = None,
) -> int:
    """Make runs, `jobs` at a time, and return how many failed.

    Parameters
    ----------
    keys : sequence
        What tells the runs apart.
    jobs : int
        Runs at a time; `make_run` is called from as many threads.
    make_run : callable
        Returns the run of a key, or raises RunFailedError.
    describe : callable
        Names a key.
    keep : callable
        Takes in a finished run, in the calling thread, and says what came out.
    lose : callable, default=None
        Takes in the key and the error of a failed run, in the calling thread.
    """
    pool = ThreadPoolExecutor(jobs)
    n_failed = 0
    try:
        futures = {pool.submit(make_run, key): key for key in keys}
        for i, future in enumerate(as_completed(futures), start=1):
            key = futures[future]
            error = _collect(future, f"[{i}/{len(keys)}] {describe(key)}", keep)
            n_failed += error is not None
            if error is not None and lose is not None:
                lose(key, error)
    finally:
        # On an interrupt, what has not begun must not begin.
        pool.shutdown(wait=True, cancel_futures=True)
    return n_failed


def _collect(
    future: Future[R], where: str, keep: Callable[[R], str]
) -> RunFailedError | None:
    try:
        run = future.result()
    except RunFailedError as error:
        say(f"{where}: failed\n{error}")
        return error
    say(f"{where}: {keep(run)}")
    return None
