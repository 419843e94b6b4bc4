"""One BLAS thread around small linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes a millisecond; once is enough, as NumPy's and
    # SciPy's are loaded by the time that a factor is built.
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the body with one BLAS thread: a hand-over costs more than small matrices.

    It also makes results the same on any number of cores.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield
