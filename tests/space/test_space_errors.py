"""Every error names the invalid value and says in a sentence what to do."""

import collections
import math
import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.svm import SVC

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo.space._parse import dimension_from_dict
from skrobustbo.space._values import from_json


def assert_well_written(message):
    assert message[0].isupper(), message
    assert message[-1] in ".?", message
    for flaw in ("..", ".;", ";;", "  ", " .", " ;", " ,", "?.", "\n"):
        assert flaw not in message.replace("(...)", "()").replace(", ...", ""), message


def refusal(build):
    with pytest.raises(ValueError, match=r".") as caught:
        build()
    message = str(caught.value)
    assert_well_written(message)
    assert caught.value.__cause__ is None
    return message


# What stands for a parameter -------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ((1, 5), ["(1, 5)", "Real(1, 5)", "Integer(1, 5)", "[1, 5]"]),
        ((1, np.int64(5)), ["Real(1, 5)", "[1, 5]"]),
        ((1e-3, 1e3, "log-uniform"), ["Real(0.001, 1000.0, log=True) for a range"]),
        ((0, 9.5, "log-uniform"), ["Real(0, 9.5) for a range"]),
        ((9, 1, "log-uniform"), ["Real(low, high)"]),
        ((1, 9, "log-uniform", 2), ["Real(1, 9, log=True) or Integer(1, 9, log=True)"]),
        (
            (0.5, 9, "uniform"),
            ["Real(0.5, 9) for a range", "[0.5, 9, 'uniform']"],
        ),
        ((1, "a"), ["Real(low, high)", "[1, 'a']"]),
        ((None, 2.0), ["Real(low, high)", "[None, 2.0]"]),
        ((1, 2, 3), ["Real(low, high)", "[1, 2, 3]"]),
        ((), ["the tuple ()"]),
        ("rbf", ["'rbf'", "['rbf'] for a constant", "list of strings"]),
        (b"rbf", ["b'rbf'", "[b'rbf'] for a constant"]),
        (3, ["got 3", "[3] for a constant"]),
        (0.5, ["got 0.5", "[0.5] for a constant"]),
        (None, ["got None", "[None] for a constant"]),
        (True, ["got True", "[True] for a constant"]),
        (np.array(3), ["array(3)", "for a constant"]),
        (SVC(), ["SVC()", "[SVC()] for a constant"]),
        (Real, ["Real", "for a constant"]),
        ({1, 2}, ["the set {1, 2}", "definite order", "write a list"]),
        (frozenset({1}), ["the frozenset", "write a list"]),
        ({"x": 1}, ["the dict {'x': 1}", "write a list"]),
        (collections.UserDict(x=1), ["the UserDict", "write a list"]),
        ((i for i in [1, 2]), ["generator", "list(...)"]),
        (iter([1, 2]), ["list_iterator", "list(...)"]),
        ([], ["empty sequence", "add a value or drop"]),
        (np.array([]), ["empty sequence", "add a value or drop"]),
        (range(0), ["empty sequence"]),
        (np.ones((2, 3)), ["one-dimensional", "(2, 3)", "write a list"]),
        (pd.DataFrame({"x": [1]}), ["one-dimensional", "write a list"]),
        (scipy.stats.norm, ["norm", "without its parameters", "call it"]),
        (scipy.stats.norm([0, 1]), ["norm([0, 1])", "one number"]),
        (scipy.stats.norm(0, -1), ["norm(0, -1)", "check its parameters"]),
        (scipy.stats.uniform(0, 0), ["uniform(0, 0)", "check its parameters"]),
        (scipy.stats.randint(5, 5), ["randint(5, 5)", "check its parameters"]),
        (scipy.stats.randint(0, 2**50), ["2**40", "use Real"]),
        (scipy.stats.randint(0, 3, loc=0.5), ["loc=0.5", "whole numbers", "a list"]),
        (scipy.stats.poisson(3, loc=0.5), ["loc=0.5", "whole numbers", "a list"]),
        (scipy.stats.rv_discrete, ["rv_discrete without its parameters", "call it"]),
        (scipy.stats.dirichlet([1, 1]), ["finite numbers", "or a list"]),
        (scipy.stats.geom(1e-6), ["geom(1e-06)", "100000 values", "use Integer"]),
        (scipy.stats.gamma(0.001), ["gamma(0.001)", "does not invert", "use Real"]),
        (scipy.stats.uniform(1e9, 1e-9), ["uniform", "use Real"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_parameter(value, parts):
    message = refusal(lambda: Space({"fine": [1, 2], "svc__C": value}))
    assert message.startswith("Parameter 'svc__C': ")
    for part in parts:
        assert part in message, message


# The dict --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("param_space", "parts"),
    [
        ({}, ["empty dict", "add one"]),
        ([{}], ["empty dict", "add one"]),
        ([], ["got []", "write one"]),
        (3, ["got 3", "write one"]),
        (None, ["got None", "write one"]),
        ("abc", ["got 'abc'", "write one"]),
        ([3], ["got 3", "write one"]),
        (Real(0, 1), ["Real(low=0.0", "write one"]),
        ([{"a": [1]}, 3], ["got 3", "write one"]),
        ([{"a": [1]}, {}], ["empty dict", "add one"]),
        ([{"a": [1]}, Space([{"a": [1]}, {"b": [1]}])], ["several", "in one list"]),
        ({1: [1, 2]}, ["names", "got 1", "quotes"]),
        ({None: [1, 2]}, ["names", "got None", "quotes"]),
        ({"a": [1, 2], ("b",): [1]}, ["names", "got ('b',)", "quotes"]),
    ],
)
def test_what_is_no_space(param_space, parts):
    message = refusal(lambda: Space(param_space))
    for part in parts:
        assert part in message, message


def test_a_list_of_one_dict_is_that_dict():
    assert Space([{"a": [1, 2]}]) == Space({"a": [1, 2]})


# Dimensions ------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [Real, Integer])
@pytest.mark.parametrize(
    "bound",
    [math.nan, math.inf, -math.inf, "1", True, np.bool_(0), None, [1], 1j, 10**400],
    ids=repr,
)
def test_bounds_that_are_no_finite_numbers(cls, bound):
    for name, arguments in [("low", (bound, 2)), ("high", (1, bound))]:
        message = refusal(lambda arguments=arguments: cls(*arguments))
        assert message.startswith(
            f"The '{name}' of {cls.__name__} must be a finite number."
        )
        assert f"Got {bound!r}" in message or type(bound) is np.bool_


@pytest.mark.parametrize("cls", [Real, Integer])
@pytest.mark.parametrize("bounds", [(2, 1), (1, 1), (0, -5)])
@pytest.mark.parametrize("log", [False, True])
def test_bounds_out_of_order(cls, bounds, log):
    message = refusal(lambda: cls(*bounds, log=log))
    assert "'low' must be below 'high'" in message
    low = cls(-100, 100).low.__class__(bounds[0])
    assert message.startswith(f"{cls.__name__}({low!r}, ")
    assert f"[{low!r}] for a constant" in message


@pytest.mark.parametrize("cls", [Real, Integer])
@pytest.mark.parametrize("low", [0, -3])
def test_no_logarithm_of_what_is_not_positive(cls, low):
    message = refusal(lambda: cls(low, 5, log=True))
    assert "'low' must be positive" in message
    assert "drop log=True" in message


@pytest.mark.parametrize("bounds", [(0.5, 3), (0, 3.2), (0, 2**40 + 1), (-(2**41), 0)])
def test_integer_bounds_that_are_not_whole_or_too_large(bounds):
    message = refusal(lambda: Integer(*bounds))
    assert "whole number" in message
    assert "use Real" in message


@pytest.mark.parametrize(
    ("low", "high", "log"),
    [
        (1.0, 1.0 + 1e-15, False),
        (1e6, 1e6 + 1e-9, False),
        (0.0, 5e-324, False),
        (5e-324, 1e-323, False),
        (1.0, 1.0 + 1e-15, True),
        (1e300, 1e300 * (1 + 1e-15), True),
        (5e-324, 1e-320, True),
    ],
)
def test_ranges_too_narrow_for_floats(low, high, log):
    message = refusal(lambda: Real(low, high, log=log))
    assert message.startswith(f"Real({low!r}, {high!r}")
    assert "widen the range" in message


@pytest.mark.parametrize(
    "choices",
    [3, None, "abc", b"abc", {1, 2}, {"a": 1}, (i for i in [1]), np.array(3)],
    ids=lambda choices: type(choices).__name__,
)
def test_choices_that_are_no_list(choices):
    message = refusal(lambda: Categorical(choices))
    assert "'choices' of Categorical must be a list" in message
    assert f"Got {choices!r}" in message


def test_choices_must_not_be_empty():
    assert "at least one value" in refusal(lambda: Categorical([]))


@pytest.mark.parametrize(
    ("choices", "twice"),
    [
        ([1, 2, 1], "1"),
        ([1, 1.0, 1.0], "1.0"),
        (["a", np.str_("a")], "'a'"),
        ([None, None], "None"),
        ([[1], [1]], "[1]"),
        ([SVC(), SVC()], "SVC()"),
        ([math.nan, float("nan")], "nan"),
    ],
)
def test_choices_must_differ(choices, twice):
    message = refusal(lambda: Categorical(choices))
    assert f"Got {twice} twice" in message
    assert "drop one" in message


def test_choices_that_look_equal_but_are_not():
    assert Categorical([1, True, "1", (1,), (True,), [1], 0, False, None]).size == 9
    assert Categorical([1, 1.0, True, (1,), (1.0,), SVC(C=1), SVC(C=1.0)]).size == 7


# Encoding --------------------------------------------------------------------------

SPACE = Space(
    {
        "svc__C": Real(0.5, 10),
        "degree": Integer(1, 5),
        "kernel": ["rbf", "linear"],
        "law": scipy.stats.norm(0, 1),
        "count": scipy.stats.poisson(3),
        "constant": ["only"],
    }
)
PARAMS = SPACE.decode(np.zeros(SPACE.n_columns))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *[("svc__C", v, "a number in [0.5, 10.0]") for v in (0.4, 11, math.nan)],
        *[("svc__C", v, "a number in [0.5, 10.0]") for v in ("1", True, None, [1], 1j)],
        *[("svc__C", v, "a number in [0.5, 10.0]") for v in (math.inf, 10**400)],
        *[("degree", v, "a whole number in [1, 5]") for v in (0, 6, 2.5, math.nan)],
        *[("degree", v, "a whole number in [1, 5]") for v in ("1", True, None, [2])],
        *[("degree", v, "a whole number in [1, 5]") for v in (math.inf, -math.inf)],
        *[("kernel", v, "['rbf', 'linear']") for v in ("poly", None, 0, ["rbf"], {})],
        *[("law", v, "a number in [-3.09") for v in (4, math.nan, "0", True)],
        *[("count", v, "a number in [0.0, 10") for v in (-1, 20, math.nan, "3")],
        ("count", 2.5, "a whole number that poisson(3) can draw"),
        ("constant", "other", "['only']"),
    ],
)
def test_values_outside(name, value, expected):
    message = refusal(lambda: SPACE.encode({**PARAMS, name: value}))
    assert message.startswith(f"Parameter {name!r} is outside the space: expected ")
    assert expected in message
    assert f"got {value!r};" in message
    assert "widen the space" in message


def test_a_long_list_of_choices_is_not_printed_whole():
    space = Space({"a": [f"choice{i}" for i in range(1000)]})
    message = refusal(lambda: space.encode({"a": "other"}))
    assert "'choice0', 'choice1'" in message
    assert "..." in message
    assert len(message) < 600


@pytest.mark.parametrize(
    ("typo", "meant"), [("svc_C", "svc__C"), ("Kernel", "kernel"), ("degre", "degree")]
)
def test_unknown_parameters_come_with_a_suggestion(typo, meant):
    params = {**PARAMS, typo: 1}
    for call in (
        lambda: SPACE.encode(params),
        lambda: SPACE.columns(typo),
        lambda: SPACE.params_from_json(params),
    ):
        message = refusal(call)
        assert f"got {typo!r}; did you mean {meant!r}?" in message
        assert str(SPACE.names) in message


def test_missing_parameters_are_named():
    params = {name: PARAMS[name] for name in ("svc__C", "law", "count", "constant")}
    message = refusal(lambda: SPACE.encode(params))
    assert "got none for ['degree', 'kernel']" in message
    assert "give every parameter a value" in message


@pytest.mark.parametrize("x", [[], [0.5], [0.5] * 6, [[0.5] * 5], 0.5])
def test_encoded_points_of_the_wrong_shape(x):
    message = refusal(lambda: SPACE.decode(x))
    assert "(5,)" in message


# Reading back ----------------------------------------------------------------------


def test_unknown_kinds_are_not_read():
    refusal(lambda: dimension_from_dict({"type": "Rael", "low": 0, "high": 1}))
    for name in ("nonsense", "rv_continuous", "sem"):
        state = {"type": "frozen", "name": name, "args": [], "kwds": {}}
        assert name in refusal(lambda state=state: dimension_from_dict(state))
    refusal(lambda: from_json({"x": 1}))


@pytest.mark.parametrize("value", [SVC(), {"a": 1}, {1}, 1j, [SVC()], (math.sqrt,)])
def test_values_without_json_are_named(value):
    with pytest.raises(TypeError, match="write as JSON, got") as caught:
        Space({"a": [value, None]}).to_dict()
    assert_well_written(str(caught.value))
    culprit = value[0] if isinstance(value, list | tuple) else value
    assert re.escape(repr(culprit)) in re.escape(str(caught.value))
