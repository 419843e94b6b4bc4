"""One thread per process: small matrices lose time to threads, and timings vary."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

#: Read by the BLAS and OpenMP libraries when they are loaded, hence set for a child.
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def one_thread_environment() -> dict[str, str]:
    """Return this process's environment with one thread for every BLAS."""
    return os.environ | dict.fromkeys(VARIABLES, "1")


def is_one_thread() -> bool:
    """Return whether this process's environment allows one thread only."""
    return all(os.environ.get(name) == "1" for name in VARIABLES)


def rerun_with_one_thread(argv: Sequence[str]) -> int:
    """Run a command line of the benchmarks in a child process; return its status.

    The libraries read the limit when they are loaded: too late for this process.
    """
    program = [sys.executable, "-m", "skrobustbo.benchmarks", *argv]
    return subprocess.run(program, env=one_thread_environment()).returncode
