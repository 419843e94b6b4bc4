"""Axes of parameters: scales, ticks, short names."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo.displays._scales import (
    linear_ticks,
    log_ticks,
    number_label,
    pooled,
    scale_of,
)
from skrobustbo.displays._text import broken, short_names, short_values


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
        "num__imputer__strategy",
        "cat__imputer__strategy",
        "C",
    ]
    assert short_names(["C", "svc__C"]) == {"C": "C", "svc__C": "svc__C"}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("HistGradientBoostingClassifier", ["HistGradient", "Boosting", "Classifier"]),
        ("learning_rate_init", ["learning_", "rate_init"]),
        ("num__imputer__strategy", ["num__", "imputer__", "strategy"]),
        ("most frequent value", ["most", "frequent", "value"]),
        ("Ridge(alpha=1.5)", ["Ridge(", "alpha=1.5)"]),
        ("abcdefghijklmnopqrstuvwx", ["abcdefghijkl", "mnopqrstuvwx"]),
        ("max_features", ["max_features"]),
    ],
)
def test_lines_end_between_words(text, lines):
    assert broken(text, 12).split("\n") == lines


@given(st.text(alphabet="abCD_ ($=", max_size=60), st.integers(2, 30))
def test_nothing_of_a_broken_text_is_left_out(text, most):
    lines = broken(text.replace("$", r"\$"), most).split("\n")
    assert "".join(lines).replace(" ", "") == text.replace("$", r"\$").replace(" ", "")
    assert len(lines) == 1 or max(map(len, lines)) <= most


@given(st.lists(st.text(max_size=40), min_size=1, max_size=8, unique=True))
def test_categories_are_whole_and_different(values):
    labels = short_values(values)
    assert len(set(labels)) == len(labels)
    assert not any("\n" in label for label in labels)
    for value, label in zip(values, labels, strict=True):
        text = " ".join(value.split()) or "(empty)"
        assert label.replace("\\$", "$").startswith(text)


def test_estimators_of_many_settings_are_numbered():
    many = [MLPClassifier(hidden_layer_sizes=tuple(range(9 * k))) for k in (3, 4)]
    assert short_values([*many, "x"]) == ["MLPClassifier #1", "MLPClassifier #2", "x"]


class TestPooled:
    """One axis for a parameter that branches define differently."""

    def pooled(self, *dimensions, tried=()):
        spaces = [Space({"p": dimension}) for dimension in dimensions]
        points = [{"p": value} for value in tried]
        return pooled("p", "p", [space.dimensions["p"] for space in spaces], points)

    def test_equal_definitions_are_as_they_are(self):
        C = Real(0.1, 10, log=True)
        assert self.pooled(C, C) == scale(C)

    def test_ranges_are_joined(self):
        found = self.pooled(Real(0.1, 1, log=True), Real(0.5, 30, log=True))
        assert (found.kind, found.low, found.high) == ("log", 0.1, 30.0)
        assert self.pooled(Integer(1, 5), Integer(0, 9)).whole

    def test_choices_are_joined(self):
        found = self.pooled(["a", "b"], ["c", "b"])
        assert found.labels == ("a", "b", "c")
        assert found.position({"p": "c"}) == 2

    def test_numbers_beside_choices_are_those_tried(self):
        found = self.pooled(["sqrt"], Real(0, 1), tried=[0.75, 0.25, "sqrt"])
        assert found.labels == ("sqrt", "0.25", "0.75")
        assert np.isnan(found.position({"p": 0.5}))


def test_estimators_are_named_by_their_class_where_that_is_enough():
    alone = [StandardScaler(), MinMaxScaler(feature_range=(0, 2)), "passthrough"]
    assert short_values(alone) == ["StandardScaler", "MinMaxScaler", "passthrough"]
    assert short_values([Ridge(alpha=1.5), Ridge()]) == ["Ridge(alpha=1.5)", "Ridge()"]
    assert short_values([1, 1.0, 2.0, True]) == ["1", "1.0", "2.0", "True"]
    assert short_values([1, 2.0]) == ["1", "2"]
