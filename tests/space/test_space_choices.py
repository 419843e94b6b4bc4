"""Unordered choices beyond a hundred: one column of codes."""

import json
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo.space import _values
from skrobustbo.space._cube import Answers
from skrobustbo.space._values import distinct, key_of, same


def test_up_to_a_hundred_choices_have_a_column_each():
    assert Space({"c": Categorical(range(100))}).n_columns == 100
    assert len(Space({"c": Categorical(range(100))}).nominal) == 0


@pytest.mark.parametrize("k", [101, 1000, 10_007])
def test_codes_are_exact(k):
    choices = [f"c{i}" for i in range(k)]
    space = Space({"x": Real(0, 1), "c": Categorical(choices), "n": Integer(1, 9)})
    assert space.nominal.tolist() == [1]
    assert space.n_columns == 3
    table = space.dimensions["c"].table()
    assert table.shape == (k, 1)
    assert table.min() > 0
    assert table.max() == 1
    for i in {0, 1, k // 2, k - 2, k - 1}:
        x = space.encode({"x": 0.5, "c": choices[i], "n": 3})
        assert space.decode(x)["c"] == choices[i]
        np.testing.assert_array_equal(space.snap(x[None])[0], x)
    dimension = space.dimensions["c"]
    assert dimension.decode(table) == choices
    np.testing.assert_array_equal(dimension.snap(table), table)
    # Every choice is drawn, and anything is snapped to one.
    drawn = dimension.from_uniform((np.arange(k) + 0.5) / k)
    np.testing.assert_array_equal(drawn, table)
    outside = dimension.decode(np.array([[-1.0], [0.0], [2.0]]))
    assert outside == [choices[0], choices[0], choices[-1]]


def test_ordered_choices_are_an_axis_however_many():
    space = Space({"c": Categorical(range(1000), ordered=True)})
    assert len(space.nominal) == 0
    np.testing.assert_allclose(space.encode({"c": 999}), [1.0])


def test_a_branch_is_asked_for_its_codes():
    space = Space([{"c": Categorical(range(200))}, {"x": Real(0, 1)}])
    assert [branch.nominal.tolist() for branch in space.branches] == [[0], []]
    with pytest.raises(TypeError, match="ask one of its 'branches'"):
        space.nominal  # noqa: B018


def test_json():
    space = Space({"c": Categorical([(i, str(i)) for i in range(150)])})
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space


class Counted:
    """A value that counts its comparisons."""

    n = 0

    def __init__(self, i):
        self.i = i

    def __eq__(self, other):
        Counted.n += 1
        return self.i == other.i

    def __hash__(self):
        return hash(self.i)


def kinds(i):
    return [
        f"text{i}",
        (i, "a"),
        [i, "a"],
        {"a": i, "b": [i]},
        np.array([i, i + 1.5]),
        Ridge(alpha=i + 1),
        Counted(i),
        np.datetime64("2020-01-01") + i,
    ][i % 8]


def test_construction_and_encoding_compare_few_choices(monkeypatch):
    k, calls = 800, []
    monkeypatch.setattr(Counted, "n", 0)

    def counting(a, b, **how):
        calls.append(1)
        return same(a, b, **how)

    monkeypatch.setattr(_values, "same", counting)
    monkeypatch.setattr("skrobustbo.space._dimensions.same", counting)
    choices = [i if i % 8 == 7 else kinds(i) for i in range(k)]
    dimension = Categorical(choices)
    for i, choice in enumerate(choices):
        assert dimension.index(choice) == i
    assert len(calls) + Counted.n < 10 * k


def test_equal_values_have_equal_keys():
    alike = [
        (1, 1.0),
        ([1, 2.0], [1.0, 2]),
        ((1, [2]), (1.0, [2])),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}),
        ({1: "a"}, {1.0: "a"}),
        ({1, 2}, {1.0, 2}),
        (np.array([1, 2]), np.array([1.0, 2.0])),
        (Ridge(alpha=2), Ridge(alpha=2.0)),
    ]
    for a, b in alike:
        assert not same(a, b), (a, b)
        assert same(a, b, typed=False), (a, b)
        assert key_of(a) == key_of(b), (a, b)
    pairs = [
        (float("nan"), float("nan")),
        (np.float32(0.5), 0.5),
        (0.0, -0.0),
        ([1, 2.0], [np.int8(1), np.float64(2)]),
        ({"a": 1, "b": 2}, {"b": np.int64(2), "a": 1}),
        (np.array([1, 2]), np.array([1, 2], dtype=np.uint8)),
        (np.array([1, math.nan]), np.array([1, math.nan], dtype=np.float32)),
        (np.array([1, None], dtype=object), np.array([1, None], dtype=object)),
        (np.array(["a", "b"]), np.array(["a", "b"], dtype=object)),
        (Ridge(alpha=2), Ridge(alpha=2)),
        (np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00:00")),
        (Counted(3), Counted(3)),
        (dict, dict),
    ]
    for a, b in pairs:
        assert same(a, b), (a, b)
        assert key_of(a) == key_of(b), (a, b)
    for number, boolean in [(1, True), ({0}, {False}), ([1.0], [True])]:
        assert not same(number, boolean, typed=False)
    assert not same(np.array([1]), np.array([True]), typed=False)
    assert key_of(1) != key_of(True)
    assert key_of(Ridge(alpha=1)) != key_of(Ridge(alpha=2))


class Unhashable:
    __hash__ = None

    def __init__(self, i):
        self.i = i

    def __eq__(self, other):
        return self.i == other.i


def test_values_that_have_no_hash_are_told_apart():
    values = [Unhashable(0), Unhashable(1), Unhashable(0)]
    assert distinct(values) == values[:2]


@pytest.mark.parametrize("choices", [["a", "b", "a"], [None, 1, None], [2.0, 2, 2]])
def test_the_choice_named_twice_is_found(choices):
    with pytest.raises(ValueError, match=f"Got {choices[2]!r} twice"):
        Categorical(choices)


# Pools -------------------------------------------------------------------------------


def pool(n=300):
    return Space.from_points(
        [{"name": f"s{i}", "x": (7 * i % n) / n} for i in range(n)]
    )


def test_a_pool_of_many_names():
    space = pool()
    assert space.n_columns == 2
    assert space.nominal.tolist() == [0]
    X = space.enumerate()
    np.testing.assert_array_equal(space.snap(X), X)
    assert space.decode_many(X) == space.points


def test_points_of_a_pool_are_snapped_to_their_own_name():
    names = [f"s{i}" for i in range(200)]
    space = Space.from_points(
        [{"name": name, "x": float(x)} for name in names for x in range(3)]
    )
    X = space.enumerate()
    moved = X + np.array([0.0, 0.2])
    found = space.decode_many(moved)
    assert [p["name"] for p in found] == [p["name"] for p in space.points]
    X = space.enumerate()
    around = space.ball(0.6)(X[::50])
    assert (around[:, :, 0] == X[::50, None, 0]).all()


def test_a_pool_is_searched_in_blocks(monkeypatch):
    space = pool()
    X = space.from_uniform(np.random.default_rng(0).random((50, 1)))
    whole = space.snap(X)
    monkeypatch.setattr("skrobustbo.space._space._MOST_DISTANCES", 1000)
    np.testing.assert_array_equal(space.snap(X), whole)
    assert space.snap(X[:0]).shape == (0, 2)


def test_neighbours_in_a_large_pool_are_looked_up():
    space = Space.from_points(
        [{"x": x / 99, "y": y / 59} for x in range(100) for y in range(60)]
    )
    X = space.enumerate()
    x = space.encode({"x": 50 / 99, "y": 30 / 59})
    around = space.ball(0.02)(x[None])[0]
    near = X[(abs(X - x) <= 0.02 + 1e-9).all(axis=1)]
    assert {row.tobytes() for row in around} == {row.tobytes() for row in near}


# Numbers of points -------------------------------------------------------------------


def test_points_by_their_numbers():
    space = Space({"c": list("abc"), "n": Integer(1, 4), "k": ["constant"]})
    X = space.enumerate()
    assert len(X) == 12
    np.testing.assert_array_equal(space.at(space.indices[[3, 7]]), X[[3, 7]])
    some = space.within(lambda p: p["n"] % 2 == 0)
    assert len(some.indices) == 6
    np.testing.assert_array_equal(some.at(some.indices), some.enumerate())


def test_what_is_kept_of_a_constrained_point_does_not_grow_with_its_columns():
    space = SimpleNamespace(decode_many=lambda X: [{}] * len(X))
    answers = Answers([lambda p: True], space)
    answers(np.random.default_rng(0).random((3, 5000)))
    answers(np.zeros((2, 1)))
    assert len(answers._known) == 4
    assert {len(key) for key in answers._known} == {16}


READ = """
import pickle, sys
dimension = pickle.load(sys.stdin.buffer)
print(dimension.index("c150"), dimension.index(math.sqrt))
"""


@pytest.mark.process
def test_choices_are_found_in_another_process():
    """There, texts have other hashes, and functions other addresses."""
    dimension = Categorical([f"c{i}" for i in range(300)] + [math.sqrt])
    assert dimension.index("c150") == 150
    done = subprocess.run(
        [sys.executable, "-c", "import math" + READ],
        input=pickle.dumps(dimension),
        env={
            **os.environ,
            "PYTHONHASHSEED": "12345",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        check=True,
    )
    assert done.stdout.split() == [b"150", b"300"]
