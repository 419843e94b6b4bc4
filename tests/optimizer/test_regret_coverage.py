"""How often the bound on what is left to gain holds, over 400 functions.

The optimum is known, the noise is that of the model, values are raw. A run fails if the
bound is below the true regret after any of its evaluations, because the theory covers
all of them at once. Each promise has a counterpart with wrong models: a bound that
nothing could break would also keep the promise.
"""

import functools
import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from skrobustbo import Integer, Optimizer, Real
from skrobustbo.optimizer import _gains
from skrobustbo.policies import GPUCB, HEGPUCB, IGPUCB, RobustUCB

pytestmark = pytest.mark.slow

RUNS, DELTA, NOISE = 400, 0.1, 0.1
#: At a failure rate of DELTA, more failed runs have probability below 0.001.
MOST_FAILURES = 60
N_POINTS, N_STEPS = 40, 8
LINE = {"i": Integer(0, N_POINTS - 1)}
SETTINGS = {"noise": NOISE, "normalize_y": False}
SHORT, MODEL, LONG = (Matern(length, nu=2.5) for length in (0.05, 0.15, 0.6))
NORM = 2.0


@functools.cache
def points():
    """Return the points of the line in the form that models see."""
    space = Optimizer(LINE).space
    return np.array([space.encode({"i": i}) for i in range(N_POINTS)])


@functools.cache
def root(length_scale):
    """Return a root of the covariance of a Matern-5/2 kernel on the line."""
    K = Matern(length_scale, nu=2.5)(points()) + 1e-8 * np.eye(N_POINTS)
    return np.linalg.cholesky(K)


def draw(kernel, rng):
    """Return a function drawn from the Gaussian process."""
    return root(kernel.length_scale) @ rng.standard_normal(N_POINTS)


def of_norm(kernel, rng):
    """Return a combination of kernels at eight points, of norm `NORM`."""
    Z = points()
    centres, weights = Z[rng.choice(N_POINTS, 8)], rng.standard_normal(8)
    norm = math.sqrt(weights @ kernel(centres) @ weights)
    return kernel(Z, centres) @ weights * NORM / norm


def fails(policy, f, rng, seed):
    """Return whether the bound was below the regret after any evaluation."""
    optimizer = Optimizer(LINE, policy, n_initial_points=3, random_state=seed)
    best = -math.inf
    for _ in range(N_STEPS):
        params = optimizer.ask()
        value = f[params["i"]]
        optimizer.tell(params, value + NOISE * rng.standard_normal())
        best = max(best, value)
        if optimizer.regret_bound(DELTA) < f.max() - best:
            return True
    return False


def count_failures(policy, function, kernel, runs=RUNS):
    """Return the number of functions on which the bound fails."""
    count = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        count += fails(policy, function(kernel, rng), rng, seed)
    return count


ONE = functools.partial(GPUCB, beta="bayes-finite", delta=DELTA, **SETTINGS)
SEVERAL = functools.partial(HEGPUCB, beta="bayes-finite", delta=DELTA, **SETTINGS)
NORMED = functools.partial(IGPUCB, beta="self-normalised", delta=DELTA, **SETTINGS)

RIGHT = {
    "one": (ONE(MODEL), draw, MODEL),
    "several": (SEVERAL([LONG, MODEL, SHORT]), draw, MODEL),
    "several, the shortest": (SEVERAL([LONG, MODEL, SHORT]), draw, SHORT),
    "norm": (NORMED(MODEL, norm_bound=NORM), of_norm, MODEL),
}
WRONG = {
    "one": (ONE(RBF(2.0)), draw, SHORT),
    "several": (SEVERAL([RBF(2.0), RBF(1.5)]), draw, SHORT),
    "norm": (NORMED(RBF(2.0), norm_bound=0.1), of_norm, SHORT),
}


@pytest.mark.parametrize(("policy", "function", "kernel"), RIGHT.values(), ids=RIGHT)
def test_the_bound_holds_as_often_as_it_says(policy, function, kernel):
    failures = count_failures(policy, function, kernel)
    print(failures, "of", RUNS)
    assert failures <= MOST_FAILURES


@pytest.mark.parametrize(("policy", "function", "kernel"), WRONG.values(), ids=WRONG)
@pytest.mark.filterwarnings("ignore:All candidate models contradict")
def test_the_bound_fails_often_with_a_grossly_wrong_model(policy, function, kernel):
    failures = count_failures(policy, function, kernel, runs=50)
    print(failures, "of 50")
    assert failures > 20


@pytest.mark.parametrize("case", ["one", "norm"])
def test_a_band_too_narrow_is_noticed(case, monkeypatch):
    """With the right model, but half a deviation instead of the theory's width."""
    for schedule in ("_bayes_beta", "self_normalised_beta"):
        monkeypatch.setattr(_gains, schedule, lambda *_: 0.5)
    assert count_failures(*RIGHT[case]) > MOST_FAILURES


# The default, which no theory covers --------------------------------------------------

GRID = np.linspace(0, 1, 201)
CHECKED = (6, 10, 15, 20)


def default_failures(seed, deltas):
    """Return the evaluations after which the default policy's bounds fail.

    The objective is drawn from a Matern-5/2 process with a length scale that the policy
    must estimate, between 0.1 and 0.5 of the range, without noise.
    """
    rng = np.random.default_rng(seed)
    K = Matern(rng.uniform(0.1, 0.5), nu=2.5)(GRID[:, None])
    root = np.linalg.cholesky(K + 1e-8 * np.eye(len(GRID)))
    f = root @ rng.standard_normal(len(GRID))
    policy = RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0)
    optimizer, found = Optimizer({"x": Real(0, 1)}, policy, random_state=seed), []
    for n in range(1, max(CHECKED) + 1):
        params = optimizer.ask()
        optimizer.tell(params, float(np.interp(params["x"], GRID, f)))
        if n in CHECKED:
            regret = f.max() - optimizer.best_value_
            found.append([optimizer.regret_bound(delta) < regret for delta in deltas])
    return found


def test_the_bound_of_the_default_holds_about_as_often_as_it_says():
    """The figures in docs/stopping.md, within three standard errors."""
    deltas = (0.1, 0.05)
    found = np.array([default_failures(seed, deltas) for seed in range(RUNS)])
    print("after", CHECKED, found.sum(axis=0).T, "after any", found.any(axis=1).sum(0))
    assert (found.sum(axis=0) <= 0.05 * RUNS).all()
    assert (np.abs(found.any(axis=1).sum(axis=0) - 24) <= 15).all()
