"""Parameter values of tests, some of which run only in slower tiers."""

import pytest


def mostly_slow(first, *others):
    """Return values, marked as slow except for the first."""
    return [first, *(pytest.param(value, marks=pytest.mark.slow) for value in others)]


def mostly_long(values, slow):
    """Return values, marked as long unless they are in `slow`."""
    assert all(value in values for value in slow)
    return [
        pytest.param(
            value, marks=pytest.mark.slow if value in slow else pytest.mark.long
        )
        for value in values
    ]
