"""Axes of parameters: scales, ticks, short names."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo.displays._scales import (
    linear_ticks,
    log_ticks,
    number_label,
    scale_of,
    short_names,
    short_values,
    shortened,
    shortened_apart,
)


def scale(dimension):
    dimension = Space({"p": dimension}).dimensions["p"]
    return scale_of("p", "p", dimension)


@pytest.mark.parametrize(
    ("dimension", "kind"),
    [
        (Real(1, 2), "linear"),
        (Real(1, 2, log=True), "log"),
        (Integer(1, 1000, log=True), "log"),
        (scipy.stats.loguniform(1e-3, 1e2), "log"),
        (scipy.stats.uniform(1, 200), "linear"),
        (scipy.stats.norm(0, 1), "linear"),
        (scipy.stats.randint(1, 9), "linear"),
        ([0.01, 0.1, 1], "category"),
        (list(range(30)), "linear"),
        ([10.0**k for k in range(20)], "category"),
        (["a", "b"], "category"),
        ([True, False], "category"),
    ],
)
def test_kind(dimension, kind):
    assert scale(dimension).kind == kind


def test_numbers_of_a_table_of_points_lie_by_value():
    points = Space.from_points([{"u": u} for u in (1.0, 2.0, 10.0)])
    found = scale_of("u", "u", points.dimensions["u"])
    assert found.kind == "linear"
    np.testing.assert_allclose(found.positions([{"u": 2.0}, {"u": 10.0}]), [2.0, 10.0])


def test_booleans_are_not_numbers():
    found = scale_of("u", "u", Categorical([1, True]))
    assert found.position({"u": True}) == 1.0
    assert found.labels == ("1", "True")


def test_units_are_shares_of_the_axis():
    C = scale(Real(0.01, 100, log=True))
    low, middle, high = C.unit([0.01, 1.0, 100.0])
    assert middle == pytest.approx(0.5)
    assert low == pytest.approx(1 - high)
    assert low == pytest.approx(0.06 / 1.12)


numbers = st.floats(1e-9, 1e9)


@settings(deadline=None)  # the first call loads matplotlib
@given(numbers, numbers, st.integers(2, 9), st.booleans())
def test_ticks_lie_within_the_range_and_are_not_too_many(a, b, most, log):
    low, high = sorted((a, b))
    if high < low * 1.001:
        high = low * 1.001
    if log and high >= 10 * low:
        ticks = log_ticks(low, high, most)
    else:
        ticks = linear_ticks(low, high, most, False)
    assert 1 <= len(ticks) <= most
    assert ticks == sorted(set(ticks))
    assert ticks[0] >= low - 1e-6 * (low if log else high - low)
    assert ticks[-1] <= high * (1 + 1e-6)
    labels = [number_label(tick) for tick in ticks]
    assert len(set(labels)) == len(labels)


def test_ticks():
    assert linear_ticks(0, 10, 6, False) == [0, 2, 4, 6, 8, 10]
    assert log_ticks(1e-3, 1e3, 4) == pytest.approx([1e-3, 1e-1, 10, 1e3])
    assert scale(Real(0.2, 0.6, log=True)).ticks(6)[1] == [
        "0.2",
        "0.3",
        "0.4",
        "0.5",
        "0.6",
    ]
    assert scale(Integer(1, 3)).ticks(9)[0] == [1, 2, 3]
    assert scale(["a", "b", "c", "d"]).ticks(2) == ([0.0, 2.0], ["a", "c"])


@pytest.mark.parametrize(
    ("number", "label"),
    [
        (0, "0"),
        (0.1 + 0.2, "0.3"),
        (-2.0, "\N{MINUS SIGN}2"),
        (1000.0, "1000"),
        (1e-5, "$10^{-5}$"),
        (2e6, r"$2\times 10^{6}$"),
        (-2.5e6, r"$-2.5\times 10^{6}$"),
        (1.00001, "1.00001"),
    ],
)
def test_numbers(number, label):
    assert number_label(number) == label


def test_names_keep_what_tells_them_apart():
    names = ["a__num__imputer__strategy", "a__cat__imputer__strategy", "svc__C"]
    assert list(short_names(names).values()) == [
        "num__imputer\N{HORIZONTAL ELLIPSIS}ategy",
        "cat__imputer\N{HORIZONTAL ELLIPSIS}ategy",
        "C",
    ]
    assert short_names(["C", "svc__C"]) == {"C": "C", "svc__C": "svc__C"}


def test_texts_cut_short_stay_different():
    assert shortened("abcdefghij", 7) == "abcd\N{HORIZONTAL ELLIPSIS}ij"
    assert len(set(shortened_apart([f"parameter_{i}" for i in range(12)], 7))) == 12
    assert shortened_apart(["x" * 30, "x" * 31], 8)[1].endswith("#2")


@given(st.lists(st.text(max_size=40), min_size=1, max_size=8, unique=True))
def test_labels_of_categories_fit_on_one_line(values):
    labels = short_values(values)
    assert len(set(labels)) == len(labels)
    assert not any("\n" in label for label in labels)
    assert max(len(label.replace("\\$", "$")) for label in labels) <= 16 + len(" #8")


def test_estimators_are_named_by_their_class_where_that_is_enough():
    alone = [StandardScaler(), MinMaxScaler(feature_range=(0, 2)), "passthrough"]
    assert short_values(alone) == ["StandardScaler", "MinMaxScaler", "passthrough"]
    assert short_values([Ridge(alpha=1.5), Ridge()]) == ["Ridge(alpha=1.5)", "Ridge()"]
