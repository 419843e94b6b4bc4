"""Changing objectives with models whose hyperparameters are estimated online."""

import json
import math

import numpy as np
import pytest

from skrobustbo import Optimizer, Real
from skrobustbo.policies import (
    BRGPUCB,
    ETGPUCB,
    RGPUCB,
    SWGPUCB,
    TVGPUCB,
    UITVBO,
    WGPUCB,
)
from skrobustbo.surrogate import GammaPrior

NOISE, STEPS = 0.1, 30
PRIOR = GammaPrior(3.0, 6.0)
COMMON = {
    "hyperparameters": "map",
    "prior": PRIOR,
    "noise": NOISE,
    "normalize_y": False,
}
POLICIES = [
    ETGPUCB(**COMMON),
    ETGPUCB(delta_b=None, n_up=9, **COMMON),
    RGPUCB(period=9, **COMMON),
    BRGPUCB(period=9, **COMMON),
    SWGPUCB(window=9, **COMMON),
    TVGPUCB(epsilon=0.05, **COMMON),
    UITVBO(variance=0.05, **COMMON),
]


def objective(params, t):
    shift = 3.0 if t > 18 else 0.0
    return 3 * math.sin(5 * params["x"]) + params["y"] - shift


def matern(A, B, theta):
    r = math.sqrt(5) * np.sqrt((((A[:, None] - B[None, :]) / theta) ** 2).sum(axis=2))
    return (1 + r + r**2 / 3) * np.exp(-r)


def log_posterior(policy, X, y, times, theta, variance):
    """Return the reference: densities and inverses, without the package."""
    K = variance * matern(X, X, np.asarray(theta))
    lags = np.abs(times[:, None] - times[None, :])
    if isinstance(policy, TVGPUCB):
        K = K * (1 - policy.epsilon) ** (lags / 2)
    elif isinstance(policy, UITVBO):
        K = K * (1 + policy.variance * np.minimum(times[:, None], times[None, :]))
    K = K + NOISE**2 * np.eye(len(y))
    _, log_det = np.linalg.slogdet(K)
    prior = sum(2 * math.log(value) - 6 * value for value in theta)
    return prior - 0.5 * (log_det + y @ np.linalg.solve(K, y))


def searched(policy):
    optimizer = Optimizer(
        {"x": Real(0, 1), "y": Real(0, 1)}, policy, n_initial_points=3, random_state=0
    )
    X, y = [], []
    for t in range(1, STEPS + 1):
        params = optimizer.ask()
        state = optimizer._branches[0].state
        yield np.array(X), np.array(y), optimizer, state
        X.append([params["x"], params["y"]])
        y.append(objective(params, t))
        optimizer.tell(params, y[-1])


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
def test_the_estimate_is_the_most_probable_given_what_is_remembered(policy):
    rng = np.random.default_rng(0)
    n_checked = 0
    for X, y, optimizer, state in searched(policy):
        if state is None or len(y) < 6 or len(y) % 4:
            continue
        oldest = policy.oldest(state, len(y))
        *theta, variance = optimizer.to_dict()["trials"][-1]["metadata"]["estimate"]
        times = 1.0 + np.arange(len(y))
        data = X[oldest:], y[oldest:], times[oldest:]
        found = log_posterior(policy, *data, theta, variance)
        # Nothing near it is more probable, by more than the fit's own precision.
        for _ in range(60):
            factor = np.exp(0.2 * rng.standard_normal(3))
            other = np.clip(np.append(theta, variance) * factor, 0.01, 20.0)
            assert log_posterior(policy, *data, other[:2], other[2]) < found + 0.02
        n_checked += 1
    assert n_checked >= 5


def test_variance_follows_the_values():
    estimates = []
    for _, y, optimizer, state in searched(ETGPUCB(delta_b=None, **COMMON)):
        if state is not None and len(y) > 20:
            trial = optimizer.to_dict()["trials"][-1]
            estimates.append(trial["metadata"]["estimate"][-1])
    assert min(estimates) > 2.0  # values have a variance of 4 about zero, not of 1


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
def test_a_state_from_a_file_goes_on_as_it_would_have(policy):
    *_, (_, _, optimizer, _) = searched(policy)
    again = Optimizer.from_dict(json.loads(json.dumps(optimizer.to_dict())))
    for t in range(STEPS + 1, STEPS + 5):
        params = optimizer.ask()
        assert again.ask() == params
        for each in (optimizer, again):
            each.tell(params, objective(params, t))


def test_weighted_values_have_no_such_setting():
    with pytest.raises(TypeError, match="hyperparameters"):
        WGPUCB(hyperparameters="map")


def test_a_typo_is_refused():
    with pytest.raises(ValueError, match="must be 'map' or None"):
        ETGPUCB(hyperparameters="mle").check()
