"""Combinations of functions: blocks do not change the result."""

import tracemalloc

import numpy as np
import pytest

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo.acquisition import UnionMax, WorstCase

SPACES = {
    "offsets": Space({"x": Real(0, 1), "n": Integer(1, 10**6), "c": list("abc")}),
    "neighbours": Space({"n": Integer(1, 50), "c": Categorical(list("abc"))}),
}


class Waves:
    """A function of single points."""

    def __init__(self):
        self.most = 0

    def __call__(self, Z):
        self.most = max(self.most, len(Z))
        return np.sin(9 * Z).sum(axis=1)


@pytest.mark.parametrize("name", SPACES)
def test_worst_cases_in_blocks_are_the_same(name, monkeypatch):
    space = SPACES[name]
    X = space.from_uniform(np.random.default_rng(0).random((300, space.n_uniform)))
    acq = Waves()
    worst = WorstCase(acq, space.ball(0.1))
    values, whole = worst(X), acq.most
    assert whole == 300 * space.ball(0.1)(X).shape[1]
    expected = [np.sin(9 * around).sum(axis=1).min() for around in space.ball(0.1)(X)]
    np.testing.assert_allclose(values, expected)
    monkeypatch.setattr("skrobustbo.acquisition._functions._MOST", 10_000)
    acq.most = 0
    np.testing.assert_array_equal(worst(X), values)
    assert acq.most * space.n_columns <= 10_000
    assert worst(X[:0]).shape == (0,)


def test_worst_cases_of_many_points_take_little_memory(monkeypatch):
    space = Space({f"x{i}": Real(0, 1) for i in range(30)})
    X = space.from_uniform(np.random.default_rng(0).random((3000, 30)))
    worst = WorstCase(Waves(), space.ball(0.1))
    monkeypatch.setattr("skrobustbo.acquisition._functions._MOST", 2**18)
    tracemalloc.start()
    worst(X)
    assert tracemalloc.get_traced_memory()[1] < 20e6  # 61 MB are created in total
    tracemalloc.stop()


def test_largest_of_many_functions_takes_the_memory_of_two():
    Z = np.random.default_rng(0).random((20_000, 1))
    functions = [lambda Z, i=i: np.sin(i * Z[:, 0]) for i in range(100)]
    tracemalloc.start()
    values = UnionMax(functions)(Z)
    assert tracemalloc.get_traced_memory()[1] < 10 * Z.nbytes
    tracemalloc.stop()
    np.testing.assert_array_equal(values, np.max([f(Z) for f in functions], axis=0))


def test_a_value_that_is_no_number_stays_one():
    functions = [lambda Z: Z[:, 0], lambda Z: np.full(len(Z), np.nan)]
    assert np.isnan(UnionMax(functions)(np.ones((3, 1)))).all()
