"""Runs side by side, in processes of one BLAS thread, each taken in as it ends."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import pandas as pd

from skrobustbo_benchmarks._record import (
    RunKey,
    Table,
    format_rows,
    keys_of,
    note_failure,
)

#: Read by the BLAS and OpenMP libraries when they are loaded, hence set for a child:
#: small matrices lose time to threads, and timings vary.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


class RunFailedError(Exception):
    """A child process ended without its results; the message is what it said.

    Parameters
    ----------
    message : str
        What it said.
    made : DataFrame, optional
        The results of the runs that it had ended before.
    """

    def __init__(self, message: str, made: pd.DataFrame | None = None):
        super().__init__(message)
        self.made = made


class RunTimeoutError(RunFailedError, TimeoutError):
    """A child process was ended because it took too long."""


class Job(NamedTuple):
    """Runs that one process makes one after the other.

    Parameters
    ----------
    keys : tuple of RunKey
        The runs.
    table : Table
        Where they go.
    program : str
        The module that the process runs, with the name of a file to write and the keys
        as JSON for arguments (see `make_runs`).
    timeout : float or None
        Wall-clock seconds after which the process is ended.
    """

    keys: tuple[RunKey, ...]
    table: Table
    program: str
    timeout: float | None = None

    def __str__(self) -> str:
        """Return what is being run."""
        key = self.keys[0]
        n = len(self.keys)
        return str(key) if n == 1 else f"{key.problem} seed {key.seed}, {n} methods"


def say(text: str) -> None:
    """Tell the user how things go: standard output is for the report."""
    print(text, file=sys.stderr, flush=True)


def execute(jobs: Sequence[Job], n_jobs: int) -> int:
    """Do jobs, `n_jobs` at a time, and return how many failed.

    What each has made is appended to its table when it is over; the run at which it
    failed is noted beside the table. An interrupt lets nothing more begin and is no
    failure: what the jobs under way have made is kept, and their other runs are made
    by the next command.
    """
    pool, writing = ThreadPoolExecutor(n_jobs), Lock()
    n_failed = 0
    try:
        futures = {pool.submit(_do, job, writing): job for job in jobs}
        for i, future in enumerate(as_completed(futures), start=1):
            job = futures[future]
            where = f"[{i}/{len(jobs)}] {job}"
            try:
                rows = future.result()
            except RunFailedError as error:
                say(f"{where}: failed\n{error}")
                with writing:
                    _note(job, error)
                n_failed += 1
            else:
                say(f"{where}: {rows['cpu_seconds'].sum():.1f} s of CPU")
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return n_failed


def _do(job: Job, writing: Lock) -> pd.DataFrame:
    """Do a job, and write what it has made, even if it fails.

    It is written here, in a thread of the pool, where no interrupt comes between.
    """
    try:
        rows = run_in_child(job)
    except RunFailedError as error:
        if error.made is not None and len(error.made):
            with writing:
                job.table.append(error.made)
        raise
    with writing:
        job.table.append(rows)
    return rows


def _note(job: Job, error: RunFailedError) -> None:
    """Note the first run of a job that is missing as the one that failed."""
    made = set() if error.made is None else keys_of(error.made)
    lost = next((key for key in job.keys if key not in made), job.keys[-1])
    limit = math.nan if job.timeout is None else job.timeout
    note_failure(job.table, lost, error, limit)


def run_in_child(job: Job) -> pd.DataFrame:
    """Do a job in a new process with one BLAS thread; return what it has made.

    Raises
    ------
    RunFailedError
        If the process fails; RunTimeoutError if it was ended.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.csv"
        path.touch()
        error = _failure_of_child(job, path)
        text = path.read_text(encoding="utf-8")
        # A process that was killed may leave half a line.
        rows = job.table.complete(text[: text.rfind("\n") + 1])
    if error is not None:
        error.made = rows
        raise error
    return rows


def one_thread_environment() -> dict[str, str]:
    """Return this process's environment with one thread for every BLAS."""
    return os.environ | dict.fromkeys(THREAD_VARIABLES, "1")


def rerun_with_one_thread(words: Sequence[str]) -> int:
    """Run Python with one thread on a command line, and return its exit status.

    The libraries read the limit when they are loaded: too late for this process.
    """
    program = [sys.executable, *words]
    return subprocess.run(program, env=one_thread_environment()).returncode


def is_one_thread() -> bool:
    """Return whether this process's environment allows one thread only."""
    return all(os.environ.get(name) == "1" for name in THREAD_VARIABLES)


def _failure_of_child(job: Job, path: Path) -> RunFailedError | None:
    """Run the process of a job; return what became of it if it failed."""
    try:
        child = subprocess.run(
            [sys.executable, "-m", job.program, str(path), json.dumps(job.keys)],
            env=one_thread_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=job.timeout,
        )
    except subprocess.TimeoutExpired:
        return RunTimeoutError(f"not over after {job.timeout:g} seconds")
    if child.returncode != 0:
        return RunFailedError(child.stderr.strip() or f"status {child.returncode}")
    if child.stderr:
        say(child.stderr.rstrip())
    return None


def make_runs(words: Sequence[str], make_run: Callable[[RunKey], pd.DataFrame]) -> None:
    """Write the rows of runs to a file: what the program of a job does.

    Parameters
    ----------
    words : (str, str)
        The arguments of the program.
    make_run : callable
        Returns the rows of a run, with the columns of its table.
    """
    path, keys = words
    for key in map(RunKey._make, json.loads(keys)):
        text = format_rows(make_run(key))
        with Path(path).open("a", encoding="utf-8", newline="") as file:
            file.write(text)
