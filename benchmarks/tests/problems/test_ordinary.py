"""Families of ordinary problems."""

import pickle

import numpy as np
import pytest

from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._starts import starts
from skrobustbo_benchmarks.problems._ordinary import CHOOSING, FAMILIES, REPORTING

CASES = [(family, d) for family in FAMILIES for d in (2, 3, 5, 10)]


def made(family, d, seed=3):
    return problems.get("ordinary", family=family, d=d, seed=seed)


def values(problem, n=256):
    return np.array([problem.func(p) for p in starts(problem.space, n, 0)])


@pytest.mark.parametrize(("family", "d"), CASES)
def test_the_optimum_is_attained_and_never_exceeded(family, d):
    problem = made(family, d)
    assert problem.optimum == 0.0
    assert problem.func(problem.optimum_params) == pytest.approx(0.0, abs=1e-12)
    found = values(problem)
    assert np.isfinite(found).all()
    assert found.max() < 0
    assert len(np.unique(found)) > 5


@pytest.mark.parametrize("family", FAMILIES)
def test_values_fall_from_the_optimum_in_all_directions(family):
    problem, rng = made(family, 3), np.random.default_rng(0)
    best, step = problem.optimum_params, 1.0
    for direction in rng.standard_normal((20, 3)):
        moved = {
            name: best[name] + step * along
            for (name, along) in zip(best, direction, strict=True)
        }
        assert problem.func(moved) < 0


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_draws_a_problem(family):
    one, again, other = (made(family, 3, seed) for seed in (0, 0, 1))
    assert values(one).tolist() == values(again).tolist()
    assert values(one).tolist() == values(other.sample_function(0)).tolist()
    assert values(one).tolist() != values(other).tolist()
    assert one.optimum_params != other.optimum_params
    copy = pickle.loads(pickle.dumps(one))
    assert values(copy).tolist() == values(one).tolist()


def test_the_optimum_may_be_anywhere_within():
    points = np.array([made("sphere", 2, seed).func.best for seed in range(200)])
    assert np.abs(points).max() <= 4
    counts, _ = np.histogram(points, bins=4, range=(-4, 4))
    assert counts.min() > 75


def test_families_for_choosing_are_none_of_those_for_reporting():
    assert not set(CHOOSING) & set(REPORTING)
    formulas = [{f.formula for f in part.values()} for part in (CHOOSING, REPORTING)]
    assert not formulas[0] & formulas[1]
    kinds = [sorted(f.kind for f in part.values()) for part in (CHOOSING, REPORTING)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("family", ["ellipsoid", "cigar"])
def test_values_spread_over_six_decades(family):
    problem = made(family, 2)
    near = -np.array(
        [
            problem.func({"x1": best[0], "x2": best[1]})
            for angle in np.linspace(0, np.pi, 1000)
            for best in [
                problem.func.best + 0.01 * np.array([np.cos(angle), np.sin(angle)])
            ]
        ]
    )
    assert near.max() > 1e4 * near.min()


def test_rotated_families_are_not_separable():
    # Of a sum over the coordinates, what one adds does not depend on the other.
    def mixed_difference(family):
        func = made(family, 2).func
        a, b, c, d = (
            func({"x1": x, "x2": y}) for x in (-2.0, 3.0) for y in (-1.0, 2.5)
        )
        return abs(a - b - c + d) / abs(a + b + c + d)

    assert mixed_difference("powers") < 1e-12
    assert mixed_difference("sphere") < 1e-12
    for family in ("ellipsoid", "rosenbrock", "rastrigin", "sector", "ridge", "cigar"):
        assert mixed_difference(family) > 1e-3


@pytest.mark.parametrize("family", ["mixed-ellipsoid", "mixed-sums"])
def test_mixed_spaces(family):
    problem = made(family, 5)
    n_values = [
        getattr(dimension, "high", None)
        for dimension in problem.space.dimensions.values()
    ]
    assert n_values == [5.0, 15, 3, 5.0, 15]
    best = problem.optimum_params
    assert [type(x) for x in best.values()] == [float, int, int, float, int]
    assert problem.func.steps.tolist() == pytest.approx([0, 2 / 3, 10 / 3, 0, 2 / 3])


@pytest.mark.parametrize("family", ["steps", "terraces"])
def test_steps_are_flat(family):
    problem = made(family, 2)
    x = np.linspace(-5, 5, 2001)
    along = np.array([problem.func({"x1": a, "x2": 1.0}) for a in x])
    if family == "steps":  # the first coordinate shows by a ten-thousandth
        along = np.round(along, 1)
    assert (np.diff(along) == 0).mean() > 0.9


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"family": "spher"}, "did you mean 'sphere'"),
        ({"d": 1}, "'d' must be an integer >= 2. Got 1"),
        ({"seed": -1}, "'seed' must be an integer >= 0"),
    ],
)
def test_settings_out_of_range(settings, words):
    with pytest.raises(ValueError, match=words):
        problems.get("ordinary", **settings)
