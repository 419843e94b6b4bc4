"""Searches ask the same points as before: see ``golden.py``."""

import pytest
from golden import hashed, stored, trace
from golden_cases import QUICK, cases

KNOWN = stored()


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in cases()
    ],
)
def test_trace_is_the_stored_one(name):
    if name not in KNOWN:
        pytest.skip("bits are compared on machines of hashes.json only")
    lines = trace(name)
    if lines is None:
        pytest.skip("its data are not at hand")
    assert hashed(lines) == KNOWN[name], (
        "another trace: 'python tests/golden/golden.py compare' shows where it parts"
    )


def test_a_trace_shows_the_last_bit():
    from golden_cases import text

    assert text({"x": 0.1}) != text({"x": 0.1 + 2**-56})
    assert text([1.0, {"x": (2.5,)}]) == text([1.0, {"x": [2.5]}])


def test_a_trace_is_the_same_twice():
    assert trace("failures") == trace("failures")
