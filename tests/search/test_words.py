"""Numbers as the report writes them."""

import math

import pytest

from skrobustbo.model_selection._report import (
    clipped,
    count,
    duration,
    short,
    with_error,
)


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        (0.98123, 0.00341, "0.9812 ± 0.0034"),
        (0.98123, 0.0996, "0.981 ± 0.100"),
        (-53.9, 0.66, "-53.90 ± 0.66"),
        (-1234.5, 20.0, "-1234 ± 20"),
        (-123456.0, 2000.0, "-123456 ± 2000"),
        (-1.5e12, 2e10, "-1.5e+12 ± 2e+10"),
        (0.5, 0.0, "0.5"),
        (0.5, math.nan, "0.5"),
        (math.nan, 0.1, "nan"),
        (0.1, 1e-20, "0.1 ± 1e-20"),
    ],
)
def test_a_value_has_the_digits_that_its_error_allows(value, error, says):
    assert with_error(value, error) == says
    assert with_error(value, error, both=False) == says.split(" ±")[0]


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (0.0123, "12.3 ms"),
        (1.5, "1.5 s"),
        (119.0, "119 s"),
        (125.0, "2 min"),
        (7200.0, "2 h"),
        (9000.0, "2.5 h"),
    ],
)
def test_durations(seconds, says):
    assert duration(seconds) == says


def test_values_of_parameters_take_one_short_line():
    assert short(0.123456) == "0.1235"
    assert short(7) == "7"
    assert short("a\nb") == "'a\\nb'"
    assert len(short(list(range(1000)))) == 60
    assert clipped("abcdef", 5) == "ab..."
    assert clipped("abcde", 5) == "abcde"


def test_counts():
    assert [count(n, "fold") for n in (0, 1, 2)] == ["0 folds", "1 fold", "2 folds"]
