"""The maximiser against brute force, and its guarantees otherwise."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import Matern

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo.acquisition import UCB, Maximizer, SpaceExhausted
from skrobustbo.surrogate import Candidate, FactorCache, Models, View

pytestmark = pytest.mark.usefixtures("one_blas")

#: The same examples in every run, however busy the machine is.
REPEATABLE = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
SEEDS = st.integers(0, 2**32 - 1)


def maximizer(space, seed=0, taken=(), **others):
    keys = {point.tobytes() for point in taken}

    def is_taken(x):
        return x.tobytes() in keys

    return Maximizer(space, is_taken, rng=np.random.default_rng(seed), **others)


def bound(space, seed, n=12, beta=1.0):
    """Return the UCB of a model of noise at random points of the space."""
    rng = np.random.default_rng(seed)
    X = space.from_uniform(rng.random((n, space.n_uniform)))
    kernel = Matern(np.exp(rng.uniform(-2, 1, space.n_columns)), nu=2.5)
    z = rng.standard_normal(n)
    return UCB(Models(FactorCache(0.05), View(X, z))[Candidate(kernel)], beta)


class Function:
    """An acquisition from a function of a column-wise point and its gradient."""

    def __init__(self, value, gradient=None):
        self.value, self.gradient = value, gradient
        self.asked, self.climbed = [], []

    def __call__(self, Z):
        self.asked.append(Z.copy())
        return self.value(Z)

    def with_gradient(self, Z):
        self.climbed.append(Z.copy())
        gradient = np.zeros_like(Z) if self.gradient is None else self.gradient(Z)
        return self.value(Z), gradient


def points_of(n, seed):
    rng = np.random.default_rng(seed)
    kinds = np.array(["a", "b", "c"])
    return [
        {"x": float(x), "n": int(10 * x), "kind": str(kind)}
        for x, kind in zip(rng.random(n), rng.choice(kinds, n), strict=True)
    ]


SMALL = {
    "integer": Space({"n": Integer(0, 40)}),
    "large integer": Space({"n": Integer(1, 3000, log=True)}),
    "grid": Space({"a": Integer(0, 20), "b": Integer(-5, 60), "c": ["x", "y"]}),
    "choices": Space({"a": list("pqrs"), "b": [True, False], "c": [1, 3, 9, 27]}),
    "constants": Space({"a": ["only"], "b": Integer(0, 7), "c": [None]}),
    "one point": Space({"a": ["only"]}),
    "points": Space.from_points(points_of(50, 0)),
    "many points": Space.from_points(points_of(5000, 1)),
    "many choices": Space({"a": Categorical(range(4500), ordered=True)}),
}
LARGE = {
    "real": Space({"x": Real(0, 1)}),
    "log": Space({"x": Real(1e-4, 10, log=True), "y": Real(-3, 5)}),
    "six": Space({f"x{i}": Real(0, 1) for i in range(6)}),
    "integers": Space({"a": Integer(0, 100), "b": Integer(1, 1000, log=True)}),
    "tables": Space({name: Integer(0, 12) for name in "abcde"}),
    "choices": Space({name: list("pqrstu") for name in "abcde"}),
    "mixed": Space(
        {
            "C": Real(1e-3, 1e3, log=True),
            "depth": Integer(1, 20),
            "n": Integer(10, 5000, log=True),
            "kind": ["rbf", "poly", "linear"],
            "flag": [True, False],
            "size": Categorical([16, 32, 64], ordered=True),
            "constant": ["only"],
        }
    ),
}


def feasible(space, x):
    return np.array_equal(space.snap(x[None, :])[0], x) and np.array_equal(
        space.encode(space.decode(x)), x
    )


# Spaces that are evaluated completely ------------------------------------------------


@given(
    name=st.sampled_from(list(SMALL)),
    seed=SEEDS,
    share=st.floats(0, 1),
    inner=st.booleans(),
)
@settings(REPEATABLE, max_examples=60)
def test_small_spaces_are_searched_exactly(name, seed, share, inner):
    space, rng = SMALL[name], np.random.default_rng(seed)
    points = space.enumerate()
    n_taken = min(int(share * len(points)), len(points) - 1)
    # The best ones, where it matters.
    acq = bound(space, seed)
    values = acq(points)
    best_first = np.argsort(-values, kind="stable")
    taken = best_first[:n_taken] if rng.random() < 0.5 else rng.permutation(n_taken)
    argmax = maximizer(space, seed, points[taken])
    x, value = argmax(acq, inner=inner)
    left = np.setdiff1d(np.arange(len(points)), [] if inner else taken)
    assert value == values[left].max()
    assert np.array_equal(x, points[left[np.argmax(values[left])]])
    assert feasible(space, x)


@pytest.mark.parametrize("name", SMALL)
def test_small_spaces_are_exhausted(name):
    space = SMALL[name]
    points = space.enumerate()
    acq = bound(space, 0)
    argmax = maximizer(space, taken=points)
    n = len(points)
    says = "The only point" if n == 1 else f"All {n} points"
    with pytest.raises(SpaceExhausted, match=says):
        argmax(acq)
    with pytest.raises(SpaceExhausted):
        argmax.random()
    assert argmax(acq, inner=True)[1] == acq(points).max()
    if len(points) > 1:
        last = len(points) // 2
        argmax = maximizer(space, taken=np.delete(points, last, axis=0))
        np.testing.assert_array_equal(argmax(acq)[0], points[last])
        np.testing.assert_array_equal(argmax.random(), points[last])


def test_a_finite_space_beyond_enumeration_is_exhausted():
    space = Space({name: Integer(0, 17) for name in "abc"})
    points = space.enumerate()
    acq = bound(space, 0)
    argmax = maximizer(space, taken=points[:-1])
    np.testing.assert_array_equal(argmax(acq)[0], points[-1])
    argmax = maximizer(space, taken=points)
    with pytest.raises(SpaceExhausted, match="widen the space"):
        argmax(acq)
    assert math.isfinite(argmax(acq, inner=True)[1])


# Spaces that are sampled -------------------------------------------------------------


@st.composite
def spaces(draw):
    number = st.integers(1, 3)
    dimensions = {}
    for i in range(draw(st.integers(0, 3))):
        log = draw(st.booleans())
        dimensions[f"real{i}"] = Real(1e-3 if log else -1.0, 10.0, log=log)
    for i in range(draw(number)):
        low = draw(st.integers(1, 5))
        high = low + draw(st.sampled_from([1, 3, 30, 62, 63, 64, 100, 10**6]))
        dimensions[f"int{i}"] = Integer(low, high, log=draw(st.booleans()))
    for i in range(draw(st.integers(0, 2))):
        choices = [f"choice{j}" for j in range(draw(st.integers(1, 7)))]
        dimensions[f"cat{i}"] = Categorical(choices, ordered=draw(st.booleans()))
    return Space(dimensions)


@given(
    space=st.one_of(spaces(), st.sampled_from(list((SMALL | LARGE).values()))),
    seed=SEEDS,
    n=st.integers(1, 25),
    n_taken=st.integers(0, 30),
    n_around=st.integers(0, 2),
    beta=st.sampled_from([0.0, 1.0, 5.0, -1.0]),
    inner=st.booleans(),
)
@settings(REPEATABLE, max_examples=100)
def test_result_is_feasible_and_no_worse_than_the_sample(
    space, seed, n, n_taken, n_around, beta, inner
):
    acq = bound(space, seed, n, beta)
    around = acq.posterior.X[:n_around] if n_around else None
    # The best sampled points are taken: the ones that the search would choose.
    sample = maximizer(space, seed, incumbents=around).sample
    values = acq(sample)
    taken = sample[np.argsort(-values)[:n_taken]]
    keys = {point.tobytes() for point in taken}
    free = np.array([point.tobytes() not in keys for point in sample])
    assume(free.any())

    x, value = maximizer(space, seed, taken, incumbents=around)(acq, inner=inner)
    assert feasible(space, x)
    assert value == pytest.approx(acq(x[None, :])[0], rel=1e-9, abs=1e-9)
    assert value >= (values.max() if inner else values[free].max())
    assert inner or x.tobytes() not in keys


@pytest.mark.parametrize("name", LARGE)
def test_equal_seeds_give_equal_results(name):
    space = LARGE[name]
    acq = bound(space, 0)
    around = acq.posterior.X[:1]
    first, again = (maximizer(space, 7, incumbents=around) for _ in range(2))
    other = maximizer(space, 8, incumbents=around)
    np.testing.assert_array_equal(first(acq)[0], again(acq)[0])
    np.testing.assert_array_equal(first.random(), again.random())
    assert not np.array_equal(first.sample, other.sample)


@pytest.mark.parametrize("name", LARGE)
def test_all_calls_see_one_sample(name):
    space = LARGE[name]
    acq, other = bound(space, 0), bound(space, 1)
    argmax = maximizer(space, incumbents=acq.posterior.X[:2])
    sample = argmax.sample.copy()
    x, value = argmax(acq)
    argmax(other, inner=True)
    argmax.random()
    # The value at a maximum depends only on the acquisition, whatever happened before.
    again, same = argmax(acq)
    np.testing.assert_array_equal(again, x)
    assert same == value
    assert argmax.sample is argmax.sample
    np.testing.assert_array_equal(argmax.sample, sample)


@pytest.mark.parametrize("name", LARGE)
def test_sample_is_feasible_and_spread_out(name):
    space = LARGE[name]
    around = space.from_uniform(np.full((1, space.n_uniform), 0.3))
    sample = maximizer(space, incumbents=around).sample
    assert sample.shape == (256 + 80, space.n_columns)
    assert all(feasible(space, x) for x in sample)
    for columns in space.groups:
        assert len(np.unique(sample[:100, columns], axis=0)) > 1
    near = np.abs(sample[100:] - around)
    assert near.mean() < np.abs(sample[:100] - around).mean()
    assert near.max() > 0


def test_incumbents_are_left_alone():
    space = LARGE["six"]
    around = space.from_uniform(np.random.default_rng(0).random((2, 6)))
    given = around.copy()
    maximizer(space, incumbents=around)(bound(space, 0))
    np.testing.assert_array_equal(around, given)


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("name", LARGE)
def test_a_constant_acquisition_is_maximised_anywhere(name, inner):
    space = LARGE[name]
    x, value = maximizer(space)(Function(lambda Z: np.full(len(Z), 2.0)), inner=inner)
    assert value == 2.0
    assert feasible(space, x)


def test_values_that_are_not_finite_do_not_win():
    space = LARGE["real"]
    value = lambda Z: np.where(Z[:, 0] < 0.7, -np.abs(Z[:, 0] - 0.2), np.nan)  # noqa: E731
    x, best = maximizer(space)(Function(value))
    assert abs(x[0] - 0.2) < 0.01
    assert best > -0.01


def test_only_feasible_points_are_scored_without_gradient():
    for space in (LARGE["mixed"], LARGE["integers"]):
        acq = Function(lambda Z: -np.square(Z - 0.37).sum(axis=1))
        maximizer(space)(acq)
        assert all(feasible(space, x) for Z in acq.asked[1:] for x in Z)


@pytest.mark.parametrize("name", LARGE)
def test_an_improved_point_that_is_taken_gives_way(name):
    space = LARGE[name]
    acq = bound(space, 3)
    first, best = maximizer(space)(acq)
    argmax = maximizer(space, taken=[first])
    second, value = argmax(acq)
    assert second.tobytes() != first.tobytes()
    assert value <= best + 1e-12
    np.testing.assert_array_equal(argmax(acq, inner=True)[0], first)


@pytest.mark.parametrize("seed", range(5))
def test_sweeps_step_around_what_is_taken(seed):
    space = LARGE["tables"]
    peak = space.snap(np.random.default_rng(seed).random((1, 5)))
    acq = Function(lambda Z: -np.abs(Z - peak).sum(axis=1))
    np.testing.assert_array_equal(maximizer(space, seed)(acq)[0], peak[0])
    x, _ = maximizer(space, seed, taken=peak)(acq)
    assert np.abs(x - peak).sum() == pytest.approx(1 / 12)


# Known maxima ------------------------------------------------------------------------


def smooth(Z, centres=((0.21, 0.64), (0.8, 0.2)), heights=(1.0, 0.8)):
    """Return a sum of bumps and its gradient."""
    value, gradient = np.zeros(len(Z)), np.zeros_like(Z)
    for centre, height in zip(centres, heights, strict=True):
        away = Z - centre
        bump = height * np.exp(-20 * (away**2).sum(axis=1))
        value += bump
        gradient -= 40 * away * bump[:, None]
    return value, gradient


def test_finds_the_maximum_of_a_smooth_function():
    acq = Function(lambda Z: smooth(Z)[0], lambda Z: smooth(Z)[1])
    axes = np.linspace(0.1, 0.3, 401), np.linspace(0.54, 0.74, 401)
    best = smooth(np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2))[0].max()
    space = LARGE["log"]
    values = [maximizer(space, seed)(acq)[1] for seed in range(20)]
    assert sum(value > best - 1e-3 for value in values) >= 19


def test_finds_a_maximum_in_a_corner():
    def value(Z):
        return Z @ np.arange(-2.0, 4.0)

    acq = Function(value, lambda Z: np.tile(np.arange(-2.0, 4.0), (len(Z), 1)))
    x, _ = maximizer(LARGE["six"])(acq)
    np.testing.assert_array_equal(x[[0, 1, 3, 4, 5]], [0, 0, 1, 1, 1])


def test_finds_the_maximum_of_a_mixed_function():
    # Each choice and each integer has its own peak.
    space = Space({"x": Real(0, 1), "n": Integer(1, 30), "kind": list("pqr")})
    target, height = np.array([0.15, 0.5, 0.85]), np.array([0.7, 1.0, 0.85])

    def parts(Z):
        kind = np.argmax(Z[:, 2:], axis=1)
        away = Z[:, 0] - target[kind] - 0.1 * Z[:, 1]
        bump = height[kind] * np.exp(-30 * away**2 - 8 * (Z[:, 1] - 0.62) ** 2)
        slope = np.zeros_like(Z)
        slope[:, 0] = -60 * away * bump
        return bump, slope

    acq = Function(lambda Z: parts(Z)[0], lambda Z: parts(Z)[1])
    n = (np.arange(30) / 29)[:, None]
    best = np.exp(-8 * (n - 0.62) ** 2).max()
    found = [maximizer(space, seed)(acq) for seed in range(20)]
    assert sum(value > best - 1e-3 for _, value in found) >= 19
    assert space.decode(found[0][0])["kind"] == "q"


@pytest.mark.parametrize("n_starts", [1, 4])
def test_starts_are_the_best_sampled_point_and_others(n_starts, monkeypatch):
    monkeypatch.setattr("skrobustbo.acquisition._maximizer._STARTS", n_starts)
    acq = Function(lambda Z: -np.abs(Z - 0.3).sum(axis=1))
    argmax = maximizer(LARGE["six"])
    argmax(acq)
    starts, best = acq.climbed[0], argmax.sample[np.argmax(acq(argmax.sample))]
    assert len(np.unique(starts, axis=0)) == n_starts
    np.testing.assert_array_equal(starts[0], best)
    # Roulette prefers high values: the other starts are not uniform.
    assert acq(starts).min() > np.median(acq(argmax.sample))


def test_climbs_from_the_incumbents():
    peak = np.full(6, 0.43)

    def parts(Z):  # flat except for a ball of radius 0.1
        away = Z - peak
        height = np.maximum(0, 1 - 100 * (away**2).sum(axis=1))
        return height**2, -400 * away * height[:, None]

    acq = Function(lambda Z: parts(Z)[0], lambda Z: parts(Z)[1])
    assert maximizer(LARGE["six"])(acq)[1] < 0.5  # a needle for the sample
    around = LARGE["six"].snap(peak[None, :] + 0.02)
    assert maximizer(LARGE["six"], incumbents=around)(acq)[1] > 1 - 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_finds_the_maximum_of_a_posterior_over_large_integers(seed, monkeypatch):
    monkeypatch.setattr("skrobustbo.acquisition._maximizer._STARTS", 8)
    space = LARGE["integers"]  # too large for that, but small enough here
    acq = bound(space, seed, n=20)
    values = acq(space.enumerate())
    _, value = maximizer(space, seed)(acq, inner=True)
    assert value > values.max() - 0.02 * values.std()


def test_random_draws_are_feasible_free_and_vary():
    for space in (SMALL["grid"], LARGE["mixed"]):
        argmax = maximizer(space)
        draws = [argmax.random() for _ in range(20)]
        assert all(feasible(space, x) for x in draws)
        assert len({x.tobytes() for x in draws}) > 10
        fewer = maximizer(space, taken=draws)
        keys = {x.tobytes() for x in draws}
        assert all(fewer.random().tobytes() not in keys for _ in range(20))


# Many unordered choices --------------------------------------------------------------

MANY = {
    "alone": Space({"c": Categorical([f"c{i}" for i in range(5000)])}),
    "beside": Space({"n": Integer(1, 7), "c": Categorical(list(map(str, range(999))))}),
    "two": Space({c: Categorical(list(map(str, range(200)))) for c in "ab"}),
    "one of a pool": Space.from_points([{"c": f"c{i}"} for i in range(5000)]),
}


def nominal_bound(space, seed, n=30):
    """Return the UCB of a model of noise at random points, and the points."""
    rng = np.random.default_rng(seed)
    X = space.from_uniform(rng.random((n, space.n_uniform)))
    X[n // 2 :, space.nominal] = X[: n - n // 2, space.nominal]  # choices repeat
    kernel = Matern(np.exp(rng.uniform(-1, 1, space.n_columns)), nu=2.5)
    models = Models(FactorCache(0.05, space.nominal), View(X, rng.standard_normal(n)))
    return UCB(models[Candidate(kernel)], rng.choice([0.0, 0.5, 2.0])), X


# With two parameters, sweeps may end at a point that neither alone improves.
@pytest.mark.parametrize("name", [name for name in MANY if name != "two"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("inner", [True, False])
def test_many_choices_are_searched_as_if_all_were_tried(name, seed, inner):
    space = MANY[name]
    acq, X = nominal_bound(space, seed)
    points = space.enumerate()
    values = acq(points)
    if not inner:
        keys = {x.tobytes() for x in X}
        values[[x.tobytes() in keys for x in points]] = -np.inf
    asked = Function(acq)
    x, value = maximizer(space, seed, X, seen=X)(asked, inner=inner)
    assert value == pytest.approx(values.max(), abs=1e-9)
    assert feasible(space, x)
    assert sum(map(len, asked.asked)) < 0.5 * len(points)


@pytest.mark.parametrize("name", MANY)
def test_the_last_of_many_choices_are_found(name):
    space, rng = MANY[name], np.random.default_rng(0)
    points = rng.permutation(space.enumerate())
    acq = Function(lambda Z: -Z.sum(axis=1))
    for n_left in (2, 1):
        taken = points[n_left:]
        x, _ = maximizer(space, n_left, taken, seen=taken)(acq)
        assert any(np.array_equal(x, point) for point in points[:n_left])
    with pytest.raises(SpaceExhausted):
        maximizer(space, taken=points, seen=points)(acq)


@pytest.mark.parametrize("seed", range(5))
def test_of_many_choices_feasible_ones_are_swept(seed):
    space = Space({"c": Categorical(list(range(9000))), "x": Real(0, 1)})
    space = space.within(lambda p: p["c"] % 29 == 3)
    X = space.from_uniform(np.random.default_rng(seed).random((2000, 2)))
    X = X[space.allows(X)]
    # New choices are better than those seen.
    acq = Function(lambda Z: -10.0 * np.isin(Z[:, 0], X[:5, 0]) - Z[:, 1])
    x, _ = maximizer(space, seed, X[:5], seen=X[:5], pool=X)(acq)
    assert space.allows(x[None])[0]
    assert x[0] not in X[:5, 0]


def test_few_of_many_points_are_listed_at_once(monkeypatch):
    space = Space({name: Categorical(range(90)) for name in "abc"})
    sizes, at = [], Space.at
    monkeypatch.setattr(
        Space, "at", lambda self, rows: sizes.append(len(rows)) or at(self, rows)
    )
    argmax = Maximizer(space, lambda x: len(sizes) < 3, rng=np.random.default_rng(0))
    assert feasible(space, argmax.random())
    assert max(sizes) < 10_000
