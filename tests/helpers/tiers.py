"""Parameters of a test, of which those of a few are enough for each run."""

import pytest


def mostly_slow(first, *others):
    """Return values of which all but the first are slow."""
    return [first, *(pytest.param(value, marks=pytest.mark.slow) for value in others)]


def mostly_long(values, slow):
    """Return values of which all that are not in `slow` are long."""
    assert all(value in values for value in slow)
    return [
        pytest.param(
            value, marks=pytest.mark.slow if value in slow else pytest.mark.long
        )
        for value in values
    ]
