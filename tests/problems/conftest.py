"""No test of a problem downloads anything: without data on disk, it is skipped."""

import pytest

from skrobustbo import problems
from skrobustbo.datasets import _fetch


@pytest.fixture(autouse=True)
def no_downloads(monkeypatch):
    def refuse(file, timeout):
        raise OSError("tests of problems download nothing")

    monkeypatch.setattr(_fetch, "_download", refuse)


@pytest.fixture
def build():
    """`problems.get`, which skips the test where the data are not at hand."""

    def get(name, **settings):
        try:
            return problems.get(name, **settings)
        except FileNotFoundError as error:
            pytest.skip(f"no data (set SKROBUSTBO_DATA): {error}")

    return get
