"""Space.from_points: exactly the given points and nothing else."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from skrobustbo import Space
from skrobustbo.space._values import same

POOL = [
    {"material": "PLA", "width": 0.4, "layers": 3, "fan": True},
    {"material": "PLA", "width": 0.8, "layers": 5, "fan": False},
    {"material": "ABS", "width": 0.4, "layers": 3, "fan": True},
    {"material": "PET", "width": 1.2, "layers": 7, "fan": True},
]

number = st.floats(allow_nan=False, allow_infinity=False) | st.integers(
    -(10**20), 10**20
)
near = st.integers(0, 5).map(lambda k: 1.0 + k * 2**-52) | st.just(-1e10)
anything = st.sampled_from(["a", "b", None, True, 1, 0, (1,), [2], math.nan, math.inf])


@st.composite
def pools(draw):
    columns = draw(st.lists(st.sampled_from([number, near, anything]), min_size=1))
    point = st.fixed_dictionaries({f"p{i}": c for i, c in enumerate(columns[:4])})
    return draw(st.lists(point, min_size=1, max_size=12))


@given(pool=pools(), data=st.data())
@settings(max_examples=200, deadline=None)
def test_points_come_back_exactly(pool, data):
    space = Space.from_points(pool)
    X = space.enumerate()
    assert X.shape == (space.size, space.n_columns)
    assert ((X >= 0) & (X <= 1)).all()
    assert len({x.tobytes() for x in X}) == space.size
    assert space.snap(X).tobytes() == X.tobytes()
    for x, params in zip(X, space.decode_many(X), strict=True):
        assert space.encode(params).tobytes() == x.tobytes()
        assert any(same(params, point) for point in pool)
    for point in pool:
        assert same(space.decode(space.encode(point)), point)
    U = np.array(data.draw(st.lists(st.floats(0, 1), min_size=1)))[:, None]
    drawn = space.from_uniform(U)
    assert space.snap(drawn).tobytes() == drawn.tobytes()
    raw = np.resize(U, (len(U), space.n_columns))
    snapped = space.snap(raw)
    assert {x.tobytes() for x in snapped} <= {x.tobytes() for x in X}
    assert same(space.decode_many(raw), space.decode_many(snapped))


@given(pool=pools())
@settings(max_examples=100, deadline=None)
def test_json_round_trip_of_points(pool):
    space = Space.from_points(pool)
    read = Space.from_dict(json.loads(json.dumps(space.to_dict(), allow_nan=False)))
    assert read == space
    assert read.enumerate().tobytes() == space.enumerate().tobytes()
    for params in space.decode_many(space.enumerate()):
        text = json.dumps(space.params_to_json(params), allow_nan=False)
        assert same(read.params_from_json(json.loads(text)), params)


def test_points_are_decoded_to_the_very_params():
    space = Space.from_points(POOL)
    assert space.decode_many(space.enumerate()) == POOL
    for point in POOL:
        assert space.decode(space.encode(point)) == point
    assert space.names == list(POOL[0])
    assert space.size == 4
    assert repr(space).startswith("Space.from_points(<4 points")


def test_decoded_params_may_be_changed_without_harm():
    space = Space.from_points(POOL)
    space.decode(space.encode(POOL[0]))["width"] = 99
    assert space.decode(space.encode(POOL[0])) == POOL[0]


def test_numbers_are_placed_by_value_and_the_rest_unordered():
    space = Space.from_points(
        [{"a": v, "b": b} for v, b in zip([4, 0, 1], "xyz", strict=True)]
    )
    assert space.columns("a").tolist() == [0]
    assert space.columns("b").tolist() == [1, 2, 3]
    assert space.enumerate()[:, 0].tolist() == [1.0, 0.0, 0.25]
    np.testing.assert_allclose(space.enumerate()[:, 1:], np.eye(3) * math.sqrt(0.5))


def test_repeated_points_count_once():
    again = [{**point, "layers": np.int64(point["layers"])} for point in POOL]
    space = Space.from_points(POOL + again + POOL)
    assert space.size == 4
    assert space == Space.from_points(POOL)


def test_points_that_differ_in_type_only_are_different():
    points = [{"m": 1}, {"m": 1.0}, {"m": True}, {"m": 3}]
    space = Space.from_points(points)
    assert [repr(p) for p in space.points] == [repr(p) for p in points]
    for point in points:
        assert repr(space.decode(space.encode(point))) == repr(point)
    assert space.own({"m": 3.0}) == {"m": 3}


def test_order_of_keys_within_a_point_does_not_matter():
    turned = [dict(reversed(point.items())) for point in POOL]
    space = Space.from_points([POOL[0], *turned[1:]])
    assert space == Space.from_points(POOL)
    assert space.encode(turned[2]).tolist() == space.encode(POOL[2]).tolist()
    # The order of the columns is that of the first point.
    assert Space.from_points(turned) != space


@pytest.mark.parametrize(
    "values",
    [
        [-1e10, 1.0, 1.0 + 1e-10],
        [-1e308, 1e308, 0.0],
        [0.0, 5e-324, 1.0],
        [0.0, 5e-324],
        [2**60, 2**60 + 1, 0],
        [1e-300, 2e-300, 1e300],
    ],
)
def test_close_values_stay_apart(values):
    space = Space.from_points([{"a": value} for value in values])
    assert space.size == len(values)
    x = space.enumerate()[:, 0]
    assert (np.argsort(x) == np.argsort(values)).all()
    assert (x.min(), x.max()) == (0.0, 1.0)
    for value in values:
        assert space.decode(space.encode({"a": value})) == {"a": value}


@pytest.mark.parametrize(
    "values", [[1, math.nan], [1, math.inf], [1, 10**400], [1, True]]
)
def test_numbers_without_a_place_are_unordered(values):
    space = Space.from_points([{"a": value} for value in [*values, "x"]])
    assert space.size == 3
    assert space.n_columns == 3


def test_one_point_and_constant_columns():
    space = Space.from_points([{"a": 1, "b": "x"}])
    assert (space.size, space.n_columns) == (1, 1)
    assert space.decode([0.9]) == {"a": 1, "b": "x"}
    space = Space.from_points([{"a": 1, "b": 2}, {"a": 1, "b": 3}])
    assert space.n_columns == 1
    assert space.columns("a").tolist() == []


def test_numpy_and_pandas_values_become_plain():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "y"]})
    space = Space.from_points(frame.to_dict("records"))
    assert space == Space.from_points(
        [{"a": np.int64(a), "b": np.float64(b), "c": c} for a, b, c in frame.values]
    )
    for params in space.decode_many(space.enumerate()):
        assert [type(value) for value in params.values()] == [int, float, str]
    assert Space.from_points(iter([{"a": 1}, {"a": 2}])).size == 2


def test_samples_are_points():
    space = Space.from_points(POOL)
    sample = space.sample(16, 0)
    assert sample == space.sample(16, 0)
    assert [sum(p == point for p in sample) for point in POOL] == [4, 4, 4, 4]


def test_the_maximiser_sees_one_table():
    space = Space.from_points(POOL)
    assert len(space.climbed) == 0
    [(columns, table)] = space.swept
    assert columns.tolist() == list(range(space.n_columns))
    assert table.tobytes() == space.enumerate().tobytes()
    space.enumerate()[:] = 7  # a copy
    assert space.decode_many(table) == POOL


def test_objects_may_be_values():
    space = Space.from_points([{"a": SVC(), "b": 1}, {"a": SVC(C=2), "b": 1}])
    assert space.decode(space.encode({"a": SVC(C=2.0), "b": 1}))["a"].C == 2
    assert pickle.loads(pickle.dumps(space)) == space
    with pytest.raises(TypeError, match="SVC"):
        space.to_dict()


# Errors ----------------------------------------------------------------------------


def refusal(build):
    with pytest.raises(ValueError, match=r"^[A-Z].*[.?]$") as caught:
        build()
    assert ".." not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("points", "parts"),
    [
        ([], ["at least one point", "list of params dicts"]),
        ([{}], ["at least one parameter"]),
        (3, ["got 3", "write a list"]),
        ({"a": 1}, ["got {'a': 1}", "write a list"]),
        (["a"], ["got 'a'"]),
        (pd.DataFrame({"width": [1, 2]}), ["'width'", "to_dict('records')"]),
        ([{1: 2}], ["names", "got 1", "quotes"]),
        ([{"a": 1}, {"b": 1}], ["['a']", "{'b': 1}", "the same ones"]),
        ([{"a": 1}, {"a": 1, "b": 1}], ["['a']", "{'a': 1, 'b': 1}"]),
    ],
)
def test_what_is_no_pool(points, parts):
    message = refusal(lambda: Space.from_points(points))
    for part in parts:
        assert part in message, message


def test_values_not_in_the_pool_are_refused():
    space = Space.from_points(POOL)
    message = refusal(lambda: space.encode({**POOL[0], "width": 0.5}))
    assert "'width'" in message
    assert "got 0.5" in message
    # Each value occurs, but not together.
    message = refusal(lambda: space.encode({**POOL[0], "width": 1.2}))
    assert "4 points" in message
    assert "'width': 1.2" in message
    assert "add it" in message
    assert "did you mean 'width'" in refusal(
        lambda: space.encode({**POOL[0], "wdth": 1})
    )
    assert "['fan']" in refusal(
        lambda: space.encode({k: v for k, v in POOL[0].items() if k != "fan"})
    )
