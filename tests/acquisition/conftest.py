"""Small matrices run faster, and to the same bits, on one BLAS thread."""

import pytest

from skrobustbo._threads import one_blas_thread


@pytest.fixture(autouse=True, scope="module")
def _one_blas_thread():
    with one_blas_thread():
        yield
