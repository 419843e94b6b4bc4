"""Choices and sequences: which are ordered or equal, and their columns."""

import copy
import json
import math
import pickle
from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skrobustbo import Categorical, Integer, Real, Space


@dataclass
class Wrapped:
    value: object
    unseen: object = field(default_factory=object, compare=False)


def only(value):
    """Return the only dimension of a space."""
    return Space({"a": value}).dimensions["a"]


# Natural limits ---------------------------------------------------------------------


@pytest.mark.parametrize("cls", [Real, Integer])
@pytest.mark.parametrize("hard", [True, "low", "high", np.True_])
def test_a_hard_end_survives_all_copies(cls, hard):
    made = cls(1, 9, log=True, hard=hard)
    space = Space({"a": made})
    copies = [
        eval(repr(made)),
        clone(made, safe=False),
        pickle.loads(pickle.dumps(made)),
        Space.from_dict(space.to_dict()).dimensions["a"],
    ]
    assert all(copy == made and copy.hard == hard for copy in copies)
    assert made != cls(1, 9, log=True)


@pytest.mark.parametrize("cls", [Real, Integer])
def test_a_hard_end_changes_no_point(cls):
    one, other = (
        Space({"a": cls(1, 90, log=True, hard=hard)}) for hard in (True, 0 > 1)
    )
    assert one.sample(5, random_state=0) == other.sample(5, random_state=0)


@pytest.mark.parametrize("cls", [Real, Integer])
def test_without_hard_ends_texts_are_as_ever(cls):
    made = cls(1, 9)
    assert made == cls(1, 9, hard=False)
    assert repr(made) == f"{cls.__name__}(low={made.low}, high={made.high}, log=False)"
    written = {"type": cls.__name__, "low": 1, "high": 9, "log": False}
    assert made.to_dict() == written
    assert list(made.to_dict()) == list(written)
    old = {"dimensions": [["a", written]]}
    assert Space.from_dict(old).dimensions["a"] == made


@pytest.mark.parametrize("hard", [None, 1, 0, "both", "upper", ["low"], np.array([1])])
@pytest.mark.parametrize("cls", [Real, Integer])
def test_hard_is_one_of_four(cls, hard):
    with pytest.raises(ValueError, match=f"The 'hard' of {cls.__name__} must be True,"):
        cls(1, 9, hard=hard)


# Columns ---------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 4, 7, 20])
def test_unordered_categories_are_at_distance_one(k):
    rows = Space({"a": [f"c{i}" for i in range(k)]}).enumerate()
    np.testing.assert_allclose(pdist(rows), 1.0, rtol=1e-15)
    assert rows.shape[1] == (1 if k == 2 else k)


def test_ordered_choices_lie_evenly_on_one_axis():
    sizes = Categorical(["S", "M", "L", "XL", "XXL"], ordered=True)
    np.testing.assert_array_equal(sizes.table().ravel(), [0, 0.25, 0.5, 0.75, 1])
    assert sizes.n_columns == 1


def test_a_constant_has_no_column():
    space = Space({"a": ["x"], "b": Real(0, 1), "c": [3], "d": ["p", "q"]})
    assert space.n_columns == 2
    assert [space.columns(name).tolist() for name in "abcd"] == [[], [0], [], [1]]
    assert space.decode([0.25, 1.0]) == {"a": "x", "b": 0.25, "c": 3, "d": "q"}


def test_columns_follow_the_order_of_the_parameters():
    space = Space(
        {
            "C": Real(1e-3, 1e3, log=True),
            "kernel": ["rbf", "linear", "poly"],
            "shrinking": [True, False],
            "degree": Integer(1, 5),
            "estimator": Categorical([SVC(), None, "x", 3], ordered=True),
        }
    )
    assert space.names == ["C", "kernel", "shrinking", "degree", "estimator"]
    columns = [space.columns(name).tolist() for name in space.names]
    assert columns == [[0], [1, 2, 3], [4], [5], [6]]
    assert [group.tolist() for group in space.groups] == columns
    # Climbed and swept columns together are all columns.
    moved = [*space.climbed, *np.concatenate([c for c, _ in space.swept])]
    assert sorted(moved) == list(range(space.n_columns))
    assert space.size == math.inf


def test_a_space_of_constants_has_one_idle_column():
    space = Space({"a": ["x"], "b": [1]})
    assert space.n_columns == 1
    assert space.size == 1
    assert space.encode({"a": "x", "b": 1}).tolist() == [0.0]
    assert space.snap(np.array([[0.7], [0.1]])).tolist() == [[0.0], [0.0]]
    assert space.enumerate().tolist() == [[0.0]]
    assert space.decode([0.3]) == {"a": "x", "b": 1}
    assert space.sample(2, 0) == [{"a": "x", "b": 1}] * 2
    assert [group.tolist() for group in space.groups] == [[0]]


def test_many_constants_do_not_hinder_enumeration():
    constants = {f"constant{i}": [i] for i in range(100)}
    space = Space({**constants, "a": [1, 2, 3], "b": ["x", "y"]})
    assert space.enumerate().shape == (6, 2)


def test_large_integer_ranges_are_climbed_and_small_ones_swept():
    space = Space({"many": Integer(1, 1000), "few": Integer(1, 10)})
    assert space.climbed.tolist() == space.columns("many").tolist()
    [(columns, table)] = space.swept
    assert columns.tolist() == space.columns("few").tolist()
    np.testing.assert_allclose(table, np.linspace(0, 1, 10)[:, None], rtol=1e-15)


def test_an_infinite_space_is_not_listed():
    with pytest.raises(ValueError, match="finite space"):
        Space({"a": Real(0, 1)}).enumerate()


# Sequences -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [100, 1, 10],
        [10, 100, 1, 10, 1],
        [1.0, 100, np.int64(10)],
        np.array([100, 10, 1]),
        np.array([1, 10, 100], dtype=np.float32),
        pd.Series([10, 1, 100], index=[5, 6, 7]),
        pd.Index([10, 1, 100]),
        {1: 0, 100: 0, 10: 0}.keys(),
    ],
    ids=lambda values: type(values).__name__,
)
def test_numbers_are_ordered_by_rank(values):
    space = Space({"a": values})
    assert space.n_columns == 1
    assert space.size == 3
    assert [space.encode({"a": v}).item() for v in (1, 10, 100)] == [0.0, 0.5, 1.0]
    for params in space.decode_many(space.enumerate()):
        assert type(params["a"]) in (int, float)


def test_ranges_and_grids():
    assert only(range(10, 0, -3)).choices == (1, 4, 7, 10)
    assert only(range(10, 0, -3)).ordered
    assert only(np.linspace(1, 0, 5)).choices == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert only([3]).n_columns == 0


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None],
        ["1", "2", "3"],
        [1, 2, "auto"],
        [1, 2, None],
        [0.5, math.nan, 1.0],
        [0.5, math.inf, 1.0],
        [(1,), (2,), (3,)],
    ],
)
def test_other_sequences_are_unordered(values):
    dimension = only(values)
    assert not dimension.ordered
    assert dimension.n_columns == 3
    assert dimension.choices == tuple(values)


def test_booleans_are_unordered_and_keep_their_order():
    assert only([True, False]) == Categorical([True, False])
    assert only(np.array([True, False])) == Categorical([True, False])


def test_duplicates_are_dropped():
    assert only([3, 1, np.int64(3), np.int8(1), 2]).choices == (1, 2, 3)
    assert only(["b", "a", "b", np.str_("a")]).choices == ("b", "a")
    assert only([1, math.nan, 1, math.nan, None]).choices[0::2] == (1, None)
    assert only([SVC(), SVC(C=1.0), SVC(C=2.0)]).size == 2
    assert only([[1], [1], [True]]).size == 2
    assert only([None, None]).size == 1


def test_a_long_sequence_is_read_quickly():
    # Comparing all pairs of values would take minutes.
    names = [f"name{i}" for i in range(3000)]
    assert only(names * 2).choices == tuple(names)
    assert only(np.arange(200_000)).size == 200_000


# Sameness --------------------------------------------------------------------------


def test_true_and_one_are_different_values():
    space = Space({"a": [1, True, 0, False, "1"]})
    assert space.size == 5
    for value in (1, True, 0, False, "1"):
        found = space.decode(space.encode({"a": value}))["a"]
        assert found == value
        assert type(found) is type(value)
    assert Space({"a": [1]}) != Space({"a": [True]})
    for choices, other in [([1, 2], True), ([True, False], 1), ([True, False], 0.0)]:
        with pytest.raises(ValueError, match="outside the space"):
            Space({"a": choices}).encode({"a": other})


@pytest.mark.parametrize(
    "values",
    [
        [1, 1.0],
        [2, 0.5, 2.0, "sqrt"],
        [True, 1, 1.0, 0, False, 0.0],
        [(1,), (1.0,), [1], [1.0], [True]],
        [{"a": 1}, {"a": 1.0}, {1: "a"}, {1.0: "a"}, {True: "a"}],
        [SVC(C=1), SVC(C=1.0), SVC(C=2)],
        [np.array([1, 0]), np.array([1.0, 0.0]), np.array([True, False])],
        [math.nan, 1, 1.0],
        [Wrapped(1), Wrapped(1.0), Wrapped(True), Wrapped(Wrapped(1)), Wrapped],
        [deque([1]), deque([1.0]), deque([Wrapped(1)]), deque([Wrapped(1.0)])],
        [f"c{i}" for i in range(200)] + [7, 7.0],
    ],
)
def test_equal_values_of_different_types_are_different_choices(values):
    dimension = only(values)
    assert dimension == Categorical(values)
    assert not dimension.ordered
    assert dimension.decode(dimension.table()) == list(dimension.choices)
    for i, value in enumerate(values):
        assert dimension.index(copy.deepcopy(value)) == i
        assert dimension.has(value)


def test_equal_numbers_are_not_ordered_and_others_are():
    assert only([1, 2.5]) == Categorical([1, 2.5], ordered=True)
    assert only([2.0, 1]).choices == (1, 2.0)
    assert only([3, 1, 1.0]).choices == (3, 1, 1.0)


def test_numbers_match_by_type_and_then_by_value_where_that_is_clear():
    dimension = only([1, 1.0, 2, "a"])
    assert [dimension.index(v) for v in (1, 1.0, np.float32(1), 2.0)] == [0, 1, 1, 2]
    assert repr(dimension.own(2.0)) == "2"
    for unclear in (Size.small, IntEnum("Other", {"one": 1}).one):
        with pytest.raises(ValueError, match=r"expected 1 or 1\.0, which differ"):
            dimension.index(unclear)
    with pytest.raises(ValueError, match="expected one of"):
        dimension.index(True)


class Size(IntEnum):
    small = 1


@pytest.mark.parametrize(
    ("values", "given", "own"),
    [
        (Integer(1, 4), 1.0, "1"),
        (Integer(1, 4), np.float64(3), "3"),
        (Real(0.1, 2), 1, "1.0"),
        (Real(0.1, 2), np.float64(1.25), "1.25"),
        (Real(0.1, 2), 0.1 + 0.2, repr(0.1 + 0.2)),
        ([1, 2, 4], 2.0, "2"),
        ([1.0, 2.0], 2, "2.0"),
        (scipy.stats.randint(1, 9), 2.0, "2"),
        (scipy.stats.poisson(3), 2.0, "2"),
        (scipy.stats.uniform(0, 4), 2, "2.0"),
        (scipy.stats.loguniform(0.1, 4), 0.7, "0.7"),
    ],
)
def test_values_become_those_of_the_parameter(values, given, own):
    space = Space({"a": values})
    assert repr(space.own({"a": given})["a"]) == own
    assert space.has(space.own({"a": given}))
    assert space.has({"a": given}) == (repr(np.array(given).item()) == own)


def test_branches_that_differ_in_type_only_have_their_own_points():
    lists = Space([{"a": [1, 2]}, {"a": [1.0, 2]}])
    assert lists.size == 3
    ranges = Space([{"a": Integer(1, 9)}, {"a": Real(0.1, 1)}])
    assert [ranges.owner({"a": a}) for a in (1, 1.0, 3.0, 0.5)] == [0, 1, 0, 1]
    assert [repr(ranges.own({"a": a})["a"]) for a in (1, 1.0, 3.0)] == ["1", "1.0", "3"]
    turned = Space([{"a": Real(0.1, 1)}, {"a": Integer(1, 9)}])
    assert [turned.owner({"a": a}) for a in (1, 1.0)] == [1, 0]


def test_true_and_one_differ_inside_tuples_too():
    space = Space({"a": [(1,), (True,), [1], [True]]})
    for value in ((1,), (True,), [1], [True]):
        found = space.decode(space.encode({"a": value}))["a"]
        assert repr(found) == repr(value)
    with pytest.raises(ValueError, match="outside the space"):
        Space({"a": [(1,), (2,)]}).encode({"a": (True,)})


@pytest.mark.parametrize("three", [3, 3.0, np.int64(3), np.float32(3), np.array(3)])
@pytest.mark.parametrize(
    "values",
    [[1, 3, 9], [1, 3, "x"], Integer(1, 9), Real(1, 9), scipy.stats.randint(1, 9)],
)
def test_numbers_are_found_by_value_whatever_their_type(three, values):
    space = Space({"a": values})
    np.testing.assert_array_equal(space.encode({"a": three}), space.encode({"a": 3}))
    assert space.decode(space.encode({"a": three})) == {"a": 3}


def test_numpy_scalars_become_plain_in_containers_too():
    [choice] = only([(np.int64(10), [np.float64(0.5), np.bool_(True)])]).choices
    assert repr(choice) == "(10, [0.5, True])"


def test_dates_keep_their_precision():
    days = np.array(["2020-01-01", "2021-01-01"], dtype="M8[ns]")
    space = Space({"a": days})
    assert space.decode(space.encode({"a": days[1]}))["a"] == days[1]


def test_estimators_are_found_by_class_and_parameters():
    first = make_pipeline(StandardScaler(), SVC(C=2.0))
    space = Space({"a": [first, SVC(), LogisticRegression(), "passthrough"]})
    found = space.decode(space.encode({"a": clone(first)}))["a"]
    assert found is first
    np.testing.assert_array_equal(
        space.encode({"a": SVC()}), space.encode({"a": SVC(C=1.0)})
    )
    with pytest.raises(ValueError, match="outside the space"):
        space.encode({"a": SVC(C=3.0)})


@pytest.mark.parametrize(
    ("choices", "equal"),
    [
        ([{"a": 1}, {"a": 2}, None], {"a": 1.0}),
        ([[1, 2], [2, 1], None], [1, 2]),
        ([{1, 2}, {3}, None], {2, 1}),
        ([np.arange(3), np.arange(4), None], np.arange(3)),
        ([math.nan, 1.0, None], float("nan")),
    ],
)
def test_unhashable_and_odd_values_are_found(choices, equal):
    space = Space({"a": choices})
    found = space.decode(space.encode({"a": equal}))["a"]
    np.testing.assert_equal(found, choices[0])


def test_values_that_cannot_be_compared_are_found_by_identity():
    frames = [pd.DataFrame({"x": [i]}) for i in range(3)]
    space = Space({"a": frames})
    assert space.decode(space.encode({"a": frames[1]}))["a"] is frames[1]
    with pytest.raises(ValueError, match="outside the space"):
        space.encode({"a": frames[1].copy()})


# Equality --------------------------------------------------------------------------


def test_equal_spaces():
    def build():
        return Space(
            {
                "C": Real(1, 10, log=True),
                "estimator": [SVC(), SVC(C=2.0), None],
                "weights": [np.arange(2000), np.arange(3)],
                "law": scipy.stats.norm(np.float64(0), 1),
            }
        )

    assert build() == build()
    assert build() == pickle.loads(pickle.dumps(build()))
    assert hash(build().dimensions["estimator"]) == hash(
        build().dimensions["estimator"]
    )


def wide(i):
    """Return an array whose repr does not show its value at i."""
    array = np.zeros(5000)
    array[i] = 1.0
    return array


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": Real(0, 1)}, {"a": Real(0, 2)}),
        ({"a": Real(0, 1)}, {"b": Real(0, 1)}),
        ({"a": Real(1, 2)}, {"a": Real(1, 2, log=True)}),
        ({"a": Real(0, 1)}, {"a": Integer(0, 1)}),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}),
        ({"a": ["x", "y"]}, {"a": Categorical(["x", "y"], ordered=True)}),
        ({"a": [1, 2]}, {"a": [True, 2]}),
        ({"a": [wide(2000), 1]}, {"a": [wide(3000), 1]}),
        ({"a": scipy.stats.norm(0, 1)}, {"a": scipy.stats.norm(0, 2)}),
        ({"a": scipy.stats.norm(0, 1)}, {"a": scipy.stats.cauchy(0, 1)}),
        ({"a": [1, 2], "b": [3, 4]}, {"b": [3, 4], "a": [1, 2]}),
    ],
)
def test_unequal_spaces(one, other):
    assert Space(one) == Space(one)
    assert Space(one) != Space(other)
    assert Space(one) != one


# Laws ------------------------------------------------------------------------------


def test_the_shape_of_a_law_is_the_scale_of_distances():
    law = scipy.stats.expon()
    x = Space({"a": law}).encode({"a": law.median()}).item()
    assert x == pytest.approx(0.5, abs=1e-3)  # the upper tail is clipped at 0.999
    space = Space({"a": scipy.stats.loguniform(1e-2, 1e2)})
    for value, x in [(0.01, 0.0), (0.1, 0.25), (1.0, 0.5), (10.0, 0.75), (100.0, 1.0)]:
        assert space.encode({"a": value}).item() == pytest.approx(x, abs=1e-9)


def test_unbounded_laws_are_clipped_and_bounded_ends_kept():
    [low, high] = Space({"a": scipy.stats.norm(5, 2)}).decode_many(
        np.array([[0.0], [1.0]])
    )
    expected = scipy.stats.norm(5, 2).ppf([0.001, 0.999])
    np.testing.assert_allclose([low["a"], high["a"]], expected, rtol=1e-12)
    assert only(scipy.stats.expon(loc=-1)).low == -1
    assert only(scipy.stats.beta(2, 3)).low == 0
    assert only(scipy.stats.beta(2, 3)).high == 1


def test_randint_is_an_integer_without_its_upper_end():
    assert only(scipy.stats.randint(2, 7)) == Integer(2, 6)
    assert only(scipy.stats.randint(2, 7, loc=10)) == Integer(12, 16)
    assert only(scipy.stats.randint(0, 10**9)) == Integer(0, 10**9 - 1)
    constant = only(scipy.stats.randint(5, 6))
    assert constant.n_columns == 0
    assert constant.decode(np.zeros((1, 0))) == [5]


def test_values_of_almost_no_probability_keep_their_own_place():
    space = Space({"a": scipy.stats.binom(100, 0.01)})
    assert space.size == 101
    X = space.enumerate()
    assert (np.diff(X[:, 0]) > 1e-13).all()
    assert [params["a"] for params in space.decode_many(X)] == list(range(101))


def test_gaps_in_a_discrete_law_are_no_values():
    space = Space({"a": scipy.stats.rv_discrete(values=([1, 5, 9], [0.5, 0.2, 0.3]))()})
    assert [params["a"] for params in space.decode_many(space.enumerate())] == [1, 5, 9]
    with pytest.raises(ValueError, match="outside the space"):
        space.encode({"a": 4})


def test_laws_of_ones_own_work_but_are_not_written_as_json():
    class Tent(scipy.stats.rv_continuous):
        def _cdf(self, x):
            return np.where(x < 0.5, 2 * x**2, 1 - 2 * (1 - x) ** 2)

        def _ppf(self, q):
            return np.where(q < 0.5, np.sqrt(q / 2), 1 - np.sqrt((1 - q) / 2))

    space = Space({"a": Tent(a=0, b=1, name="tent")()})
    assert space.encode({"a": 0.25}).item() == pytest.approx(0.125, abs=1e-9)
    with pytest.raises(TypeError, match="tent"):
        space.to_dict()


@pytest.mark.parametrize(
    ("value", "choices"),
    [
        (("lbfgs", "saga"), ["lbfgs", "saga"]),
        (("only",), ["only"]),
        ((None, "l2"), [None, "l2"]),
        ((True, False), [True, False]),
    ],
)
def test_a_tuple_without_numbers_is_a_choice(value, choices):
    assert only(value) == Categorical(choices)


class Drawn:
    """Accepted by RandomizedSearchCV: an object that draws one value at a time."""

    def __init__(self, draw):
        self.draw = draw

    def rvs(self, random_state=None):
        return self.draw(random_state)


def test_discrete_laws_with_values_of_their_own():
    law = scipy.stats.rv_discrete(values=([8, -2, 1], [0.5, 0.3, 0.2]))
    assert only(law) == only(law())
    assert only(law).decode(only(law).table()) == [-2, 1, 8]
    places = only(law).from_uniform(np.linspace(0.001, 0.999, 1000))
    values, counts = np.unique(only(law).decode(places), return_counts=True)
    assert dict(zip(values, counts, strict=True)) == {-2: 300, 1: 200, 8: 500}
    floats = only(scipy.stats.rv_discrete(values=([0.1, 2.0], [0.5, 0.5])))
    assert repr(floats.decode(floats.table())) == "[0.1, 2.0]"
    moved = only(scipy.stats.rv_discrete(values=([0.1, 2.0], [0.5, 0.5]))(loc=1))
    assert moved.decode(moved.table()) == [1.1, 3.0]
    assert only(scipy.stats.rv_discrete(values=([1, 10**9], [0.5, 0.5]))).size == 2
    other = scipy.stats.rv_discrete(values=([8, -2, 1], [0.2, 0.3, 0.5]))
    assert only(other) != only(law)
    for each in (law, floats, moved):
        space = Space({"a": each})
        assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space


def test_histograms_are_ranges():
    law = scipy.stats.rv_histogram(([1, 3], [0.0, 1.0, 2.0]), density=False)
    space = Space({"a": law})
    assert space == Space({"a": law()})
    assert (only(law).low, only(law).high) == (0.0, 2.0)
    assert space.encode({"a": 1.0}).item() == pytest.approx(0.25, abs=1e-8)
    other = scipy.stats.rv_histogram(([3, 1], [0.0, 1.0, 2.0]), density=False)
    assert space != Space({"a": other})
    with pytest.raises(TypeError, match="rv_histogram"):
        space.to_dict()


@pytest.mark.skipif(not hasattr(scipy.stats, "Normal"), reason="scipy before 1.15")
def test_distribution_objects_of_newer_scipy():
    made = scipy.stats.make_distribution
    pairs = [
        (scipy.stats.Uniform(a=1, b=3), scipy.stats.uniform(1, 2)),
        (scipy.stats.Normal(mu=2, sigma=3), scipy.stats.norm(2, 3)),
        (made(scipy.stats.beta)(a=2, b=3), scipy.stats.beta(2, 3)),
    ]
    for new, old in pairs:
        for each in (new, copy.deepcopy(new)):
            assert only(each).low == pytest.approx(only(old).low)
            u = np.linspace(0, 1, 9)[:, None]
            np.testing.assert_allclose(only(each).decode(u), only(old).decode(u))
        assert only(new) == only(new) != only(scipy.stats.Uniform(a=1, b=4))
    for new, _ in pairs[:2]:  # local classes cannot be pickled
        assert pickle.loads(pickle.dumps(only(new))) == only(new)
    with pytest.raises(TypeError, match="write as JSON"):
        Space({"a": scipy.stats.Uniform(a=1, b=3)}).to_dict()
    with pytest.raises(ValueError, match="can be copied"):
        only(scipy.stats.exp(scipy.stats.Normal(mu=1, sigma=2)))
    with pytest.raises(ValueError, match="one number for each"):
        only(scipy.stats.Uniform(a=[0, 1], b=3))
    with pytest.raises(ValueError, match="Normal without its parameters; call it"):
        only(scipy.stats.Normal)


def test_whole_numbers_of_newer_scipy():
    if not hasattr(scipy.stats, "Binomial"):
        pytest.skip("scipy before 1.16")
    new, old = scipy.stats.Binomial(n=9, p=0.3), scipy.stats.binom(9, 0.3)
    assert only(new).decode(only(new).table()) == list(range(10))
    np.testing.assert_allclose(only(new).table(), only(old).table())


def test_what_can_only_be_drawn_from():
    floats = only(Drawn(lambda state: 10 ** state.uniform(-2, 2)))
    assert 0.01 <= floats.low < 0.011
    assert floats.encode(1.0).item() == pytest.approx(0.5, abs=0.05)
    assert floats == only(Drawn(lambda state: 10 ** state.uniform(-2, 2)))
    few = only(Drawn(lambda state: state.choice([0.5, 0.25, 0.25, 2.0])))
    assert few.decode(few.table()) == [0.25, 0.5, 2.0]
    whole = only(Drawn(lambda state: state.randint(1, 1001)))
    assert whole.decode(np.array([[0.0], [1.0]]))[0] in (1, 2)
    assert whole.contains(500)
    assert {type(v) for v in whole.decode(whole.table())} == {int}
    assert whole.encode(500).item() == pytest.approx(0.5, abs=0.05)
    words = only(Drawn(lambda state: [None, "a", 1, 1.0][state.randint(4)]))
    assert sorted(map(repr, words.choices)) == ["'a'", "1", "1.0", "None"]
    assert not words.ordered


def test_quantiles_alone_are_enough():
    class Cubes:
        def ppf(self, q):
            return q**3

    dimension = only(Cubes())
    assert dimension.encode(0.125).item() == pytest.approx(0.5, abs=0.01)


def test_distributions_of_other_packages_are_not_taken_for_those_of_scipy():
    class Normal:
        """As in torch, PyMC or PreliZ; scipy has one of this name, too."""

        dist, support = None, (-math.inf, math.inf)  # where scipy has a method

        def cdf(self, x):
            return scipy.stats.norm.cdf(x, 5, 2)

        def icdf(self, q):
            return scipy.stats.norm.ppf(q, 5, 2)

    assert only(Normal()).encode(5.0).item() == pytest.approx(0.5, abs=0.01)
    Normal.support = lambda self: (-math.inf, math.inf)
    assert only(Normal()).encode(5.0).item() == pytest.approx(0.5, abs=0.01)


def test_whole_numbers_that_are_drawn_as_floats_stay_whole():
    whole = only(Drawn(lambda state: float(state.randint(1, 1001))))
    found = whole.decode(np.linspace(0, 1, 33)[:, None])
    assert all(type(v) is float and v.is_integer() for v in found)
    assert whole.contains(500.0)
    far = only(Drawn(lambda state: 10.0 ** state.uniform(20, 30)))
    assert far.encode(1e25).item() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("law", "says"),
    [
        (Drawn(lambda state: np.random.default_rng().random()), "random_state alone"),
        (Drawn(lambda state: 1 / 0), "which raised ZeroDivisionError"),
        (Drawn(lambda state: state.uniform(size=3)), "of finite numbers"),
        (Drawn(lambda state: state.randint(0, 2**31 - 1)), "more than 100000 values"),
        (Drawn, "Drawn without its parameters; call it"),
    ],
)
def test_what_cannot_be_drawn_from(law, says):
    with pytest.raises(ValueError, match=f"^Parameter 'a': .*{says}"):
        only(law)


def test_estimators_are_not_written_as_json():
    with pytest.raises(TypeError, match="SVC"):
        Space({"a": [SVC(), None]}).to_dict()
