"""Properties of every space: encode and decode are exact inverses."""

import json
import math
import pickle
from enum import IntEnum

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo.space._values import plain, same

LARGEST = 2**40


class Size(IntEnum):
    """A type with numeric values."""

    one = 1


JSONABLE = [
    *(None, True, False, 0, 1, 2, -3, 0.5, 1e-300, 10**30, "a", "b", "", "1", "é"),
    *(0.0, -0.0, 1.0, 2.0, -3.0, 1e30, (1.0,), [1.0], np.float64(2), np.uint8(2)),
    *((), (1,), (True,), (1, 2.5), [1], [], [None, ("x", [2])]),
    *(math.nan, math.inf, -math.inf),
    *(np.int64(7), np.float32(0.1), np.bool_(True), np.str_("s"), (np.int8(4), "t")),
]
OBJECTS = [
    *(SVC(), SVC(C=2.0), Ridge(), Ridge, math.sqrt, b"bytes", 1j),
    *({"a": 1}, {"a": True}, {3, 4}, frozenset({5}), np.arange(3), np.arange(4)),
    *({"a": 1.0}, {1: "a"}, {1.0: "a"}, {3.0, 4}, np.arange(3.0), np.arange(2) > 0),
    *(SVC(C=2), Ridge(alpha=1), 1 + 0j, Size.one),
]


def built(build, *args, **kwargs):
    """Return the dimension; a range too narrow for floats is rejected."""
    try:
        return build(*args, **kwargs)
    except ValueError as error:
        assume("too few floats" not in str(error))
        raise


def finite(**kwargs):
    return st.floats(allow_nan=False, allow_infinity=False, **kwargs)


@st.composite
def reals(draw, log=None):
    log = draw(st.booleans()) if log is None else log
    least = 5e-324 if log else None
    low = draw(finite(min_value=least) | st.floats(1e-8, 1e8))
    if draw(st.booleans()):
        high = draw(finite(min_value=least))
    else:  # narrow
        high = low + max(abs(low), 1e-320) * 10.0 ** -draw(st.integers(0, 15))
    assume(low != high and math.isfinite(high))
    return built(Real, *sorted((low, high)), log=log)


@st.composite
def integers(draw, log=None):
    log = draw(st.booleans()) if log is None else log
    least = 1 if log else -LARGEST
    low = draw(st.integers(least, LARGEST - 1) | st.integers(1, 100))
    width = draw(st.integers(1, LARGEST - low) | st.integers(1, min(99, LARGEST - low)))
    return Integer(low, low + width, log=log)


def distinct(values):
    kept = []
    for value in values:
        if not any(same(value, other) for other in kept):
            kept.append(value)
    return kept


def values_of(pool, max_size=8):
    return st.lists(st.sampled_from(pool), min_size=1, max_size=max_size)


def categories(pool):
    lists = values_of(pool).map(distinct)
    return st.builds(Categorical, lists, ordered=st.booleans())


def sequences(pool):
    numbers = st.lists(finite() | st.integers(-(10**20), 10**20), min_size=1)
    arrays = st.lists(finite(), min_size=1).map(np.array)
    ranges = st.sampled_from([range(5), range(-3, 40, 7), range(9, 0, -2), range(1)])
    return st.one_of(values_of(pool), numbers, arrays, ranges)


@st.composite
def laws(draw):
    def number(low, high):
        return draw(st.floats(low, high))

    law = draw(st.sampled_from(LAWS))
    return law(number, lambda low, high: draw(st.integers(low, high)))


LAWS = [
    lambda real, whole: scipy.stats.loguniform(10 ** real(-300, 0), 10 ** real(1, 300)),
    lambda real, whole: scipy.stats.uniform(real(-1e3, 1e3), 10 ** real(-3, 300)),
    lambda real, whole: scipy.stats.uniform(1e6, 10 ** real(-3, 0)),
    lambda real, whole: scipy.stats.beta(real(0.3, 30), real(0.3, 30)),
    lambda real, whole: scipy.stats.gamma(real(0.2, 50), scale=10 ** real(-5, 5)),
    lambda real, whole: scipy.stats.norm(real(-100, 100), 10 ** real(-3, 3)),
    lambda real, whole: scipy.stats.expon(real(-10, 10), np.float64(real(1e-3, 1e3))),
    lambda real, whole: scipy.stats.triang(real(0, 1), loc=real(-10, 10), scale=2),
    lambda real, whole: scipy.stats.truncnorm(real(-9, -1), real(1, 9), loc=3),
    lambda real, whole: scipy.stats.t(real(1, 30)),
    lambda real, whole: scipy.stats.randint(whole(-9, 9), whole(10, 10**9)),
    lambda real, whole: scipy.stats.randint(4, 5, loc=whole(-9, 9)),
    lambda real, whole: scipy.stats.poisson(real(1e-6, 500), loc=whole(-9, 9)),
    lambda real, whole: scipy.stats.binom(whole(1, 300), real(1e-6, 0.9999)),
    lambda real, whole: scipy.stats.geom(real(0.01, 0.9999)),
]


def spaces(pool):
    one = st.one_of(reals(), integers(), categories(pool), sequences(pool), laws())
    names = st.sampled_from(["C", "gamma", "svc__C", "a b", ""])
    return st.dictionaries(names, one, min_size=1, max_size=4).map(Space)


def units(n):
    return st.lists(st.floats(0, 1), min_size=n, max_size=n).map(np.array)


def uniforms(space, draw, n=4):
    flat = draw(units(n * max(space.n_columns, space.n_uniform)))
    return flat.reshape(n, -1)


def identical(a, b):
    """Return whether two params dicts have the same names, values and types."""
    return list(a) == list(b) and all(
        type(a[key]) is type(b[key]) and same(a[key], b[key]) for key in a
    )


def assert_plain(value):
    assert not isinstance(value, np.generic), value
    if isinstance(value, list | tuple):
        for item in value:
            assert_plain(item)


@given(space=spaces(JSONABLE + OBJECTS), data=st.data())
@settings(max_examples=300, deadline=None)
def test_encode_and_decode_are_inverse(space, data):
    raw = uniforms(space, data.draw)[:, : space.n_columns]
    X = space.snap(raw)
    assert X.shape == raw.shape
    assert ((X >= 0) & (X <= 1)).all()
    assert space.snap(X).tobytes() == X.tobytes()
    for x, untouched, params in zip(X, raw, space.decode_many(X), strict=True):
        assert identical(space.decode(x), params)
        assert identical(space.decode(untouched), params)
        encoded = space.encode(params)
        assert encoded.shape == (space.n_columns,)
        assert encoded.tobytes() == x.tobytes()
        assert identical(space.decode(encoded), params)
        for value in params.values():
            assert_plain(value)


@given(values=values_of(JSONABLE + OBJECTS, max_size=30))
@settings(max_examples=300, deadline=None)
def test_every_value_of_a_list_is_a_choice_with_its_type(values):
    dimension = Space({"a": values}).dimensions["a"]
    for value in values:
        (found,) = dimension.decode(dimension.encode(value)[None, :])
        assert same(found, value)
        assert type(found) is type(plain(value))
        assert repr(found) == repr(plain(value)) or found == 0
    n = len({key(value) for value in values})
    assert dimension.size == n
    reached = dimension.decode(dimension.from_uniform((np.arange(n) + 0.5) / n))
    assert len({key(value) for value in reached}) == n


def key(value):
    """Return a key that distinguishes values of a list, including types."""
    return repr(plain(value)).replace("-0.0", "0.0")


@given(space=spaces(JSONABLE + OBJECTS), data=st.data())
@settings(max_examples=150, deadline=None)
def test_from_uniform_gives_snapped_points(space, data):
    U = uniforms(space, data.draw)[:, : space.n_uniform]
    X = space.from_uniform(U)
    assert X.shape == (len(U), space.n_columns)
    assert space.snap(X).tobytes() == X.tobytes()
    for u, x in zip(U, X, strict=True):
        assert space.from_uniform(u[None, :]).tobytes() == x.tobytes()
        assert space.encode(space.decode(x)).tobytes() == x.tobytes()


@given(space=spaces(JSONABLE), data=st.data())
@settings(max_examples=150, deadline=None)
def test_json_round_trip(space, data):
    X = space.snap(uniforms(space, data.draw)[:, : space.n_columns])
    read = Space.from_dict(json.loads(json.dumps(space.to_dict(), allow_nan=False)))
    assert read == space
    assert read.names == space.names
    for x, params in zip(X, space.decode_many(X), strict=True):
        assert identical(read.decode(x), params)
        assert read.encode(params).tobytes() == x.tobytes()
        text = json.dumps(space.params_to_json(params), allow_nan=False)
        assert identical(space.params_from_json(json.loads(text)), params)
        assert identical(read.params_from_json(json.loads(text)), params)


@given(space=spaces(JSONABLE + OBJECTS), data=st.data())
@settings(max_examples=50, deadline=None)
def test_pickle_round_trip(space, data):
    assert space == space
    X = space.snap(uniforms(space, data.draw)[:, : space.n_columns])
    text = [space.params_to_json(params) for params in space.decode_many(X)]
    read = pickle.loads(pickle.dumps(space))
    for x, written in zip(X, text, strict=True):
        assert read.params_to_json(read.decode(x)) == written


small_integers = st.builds(
    lambda low, width, log: Integer(low, low + width, log=log),
    *(st.integers(1, 1000), st.integers(1, 30), st.booleans()),
)
small_laws = st.sampled_from(
    [
        scipy.stats.binom(20, 0.3),
        scipy.stats.poisson(4, loc=-2),
        scipy.stats.geom(0.4),
        scipy.stats.randint(-3, 4),
        scipy.stats.bernoulli(0.2),
        scipy.stats.rv_discrete(values=([-2, 1, 8], [0.2, 0.3, 0.5]))(),
    ]
)
small = st.one_of(small_integers, categories(JSONABLE), values_of(JSONABLE), small_laws)
small_spaces = st.lists(small, min_size=1, max_size=3).map(
    lambda dimensions: Space({f"p{i}": d for i, d in enumerate(dimensions)})
)


@given(space=small_spaces, data=st.data())
@settings(max_examples=150, deadline=None)
def test_enumerate_lists_every_point_once(space, data):
    assume(space.size <= 3000)
    X = space.enumerate()
    assert X.shape == (space.size, space.n_columns)
    assert len({x.tobytes() for x in X}) == space.size
    assert space.snap(X).tobytes() == X.tobytes()
    params = space.decode_many(X)
    for i in data.draw(st.lists(st.integers(0, len(X) - 1), max_size=5)):
        assert space.encode(params[i]).tobytes() == X[i].tobytes()


@given(space=small_spaces, data=st.data())
@settings(max_examples=150, deadline=None)
def test_snap_gives_a_nearest_point(space, data):
    assume(space.size <= 3000)
    raw = uniforms(space, data.draw)[:, : space.n_columns]
    X = space.enumerate()
    for x, snapped in zip(raw, space.snap(raw), strict=True):
        distances = np.linalg.norm(X - x, axis=1)
        assert np.linalg.norm(snapped - x) <= distances.min() + 1e-12


@given(dimension=reals())
@settings(max_examples=200, deadline=None)
def test_ends_of_a_real_come_back_exactly(dimension):
    low, high = dimension.decode(np.array([[0.0], [1.0]]))
    assert (low, high) == (dimension.low, dimension.high)
    assert dimension.encode(dimension.low) == 0.0
    assert dimension.encode(dimension.high) == 1.0


@given(dimension=integers())
@settings(max_examples=200, deadline=None)
def test_ends_of_an_integer_come_back_exactly(dimension):
    assert dimension.decode(np.array([[0.0], [1.0]])) == [dimension.low, dimension.high]
    assert dimension.encode(dimension.low) == 0.0
    assert dimension.encode(dimension.high) == 1.0


@given(dimension=integers(), data=st.data())
@settings(max_examples=200, deadline=None)
def test_every_integer_of_the_range_is_feasible(dimension, data):
    value = data.draw(st.integers(dimension.low, dimension.high))
    x = dimension.encode(value)
    assert dimension.decode(x[None, :]) == [value]
    assert dimension.snap(x[None, :]).tobytes() == x.tobytes()
    if value < dimension.high:
        assert dimension.encode(value + 1) > x
    if value > dimension.low:
        assert dimension.encode(value - 1) < x


@given(dimension=reals() | integers() | laws(), u=units(20))
@settings(max_examples=200, deadline=None)
def test_ranges_are_increasing(dimension, u):
    dimension = Space({"x": dimension}).dimensions["x"]
    rows = dimension.snap(np.sort(u)[:, None][:, : dimension.n_columns])
    values = np.array(dimension.decode(rows))
    assert (np.diff(values) >= 0).all()
    if dimension.n_columns:
        assert ((np.diff(values) > 0) == (np.diff(rows[:, 0]) > 0)).all()


@given(law=laws())
@settings(max_examples=100, deadline=None)
def test_ends_of_a_law_come_back_exactly(law):
    dimension = Space({"x": law}).dimensions["x"]
    assume(dimension.n_columns == 1)
    low, high = dimension.decode(np.array([[0.0], [1.0]]))
    assert dimension.encode(low) == 0.0
    assert dimension.encode(high) == 1.0
    support = law.support()
    if math.isfinite(support[0]) and law.dist.name != "binom":
        assert low == support[0]
    if math.isfinite(support[1]) and law.dist.name != "binom":
        assert high == support[1]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 15, 16, 17, 64])
def test_one_row_and_many_agree_bit_for_bit(n):
    # Vectorised logarithms may differ from scalar ones in the last digit.
    space = Space(
        {
            "a": Real(1e-5, 3.0, log=True),
            "b": Integer(1, 997, log=True),
            "c": Integer(3, 40, log=True),
            "d": scipy.stats.norm(0, 1),
            "e": scipy.stats.loguniform(1e-3, 1e3),
        }
    )
    U = np.random.RandomState(n).uniform(size=(n, space.n_uniform))
    X = space.from_uniform(U)
    assert [space.decode(x) for x in X] == space.decode_many(X)
    single = [space.from_uniform(u[None, :])[0] for u in U]
    assert np.array(single).tobytes() == X.tobytes()
    assert space.snap(np.asfortranarray(X)).tobytes("C") == X.tobytes()
    table = space.dimensions["c"].table()
    singles = np.array([space.dimensions["c"].encode(v) for v in range(3, 41)])
    assert table.tobytes() == singles.tobytes()
