"""ET-GP-UCB against a slow program that shares no code with the package."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skrobustbo import Optimizer
from skrobustbo.policies import ETGPUCB

SIDE, THETA, NOISE, DELTA_B, STEPS = 9, 0.2, 0.1, 0.1, 36
AXIS = np.linspace(0.0, 1.0, SIDE)
POINTS = np.array([(a, b) for a in AXIS for b in AXIS])


def kernel(A, B):
    distance2 = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-distance2 / (2 * THETA**2))


def surfaces(seed):
    """Return values at each step: a drifting sample with one abrupt change."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(kernel(POINTS, POINTS) + 1e-9 * np.eye(len(POINTS)))
    f, epsilon, out = root @ rng.standard_normal(len(POINTS)), 0.005, []
    for t in range(STEPS + 1):
        if t == 15:
            f = f - 4.0
        fresh = root @ rng.standard_normal(len(POINTS))
        f = math.sqrt(1 - epsilon) * f + math.sqrt(epsilon) * fresh
        out.append(f + NOISE * rng.standard_normal(len(POINTS)))
    return out


def predict(data, Z):
    X, y = POINTS[[i for i, _ in data]], np.array([y for _, y in data])
    inverse = np.linalg.inv(kernel(X, X) + NOISE**2 * np.eye(len(X)))
    k = kernel(Z, X)
    return k @ inverse @ y, np.sqrt(1 - np.diag(k @ inverse @ k.T))


def reference(first, values, n_low=1, n_up=math.inf):
    """Run Algorithm 1; return the queries, and which of them reset."""
    data, t_block, queries, resets = [(first, values[0][first])], 1, [], []
    for t in range(1, STEPS + 1):
        mu, sigma = predict(data, POINTS)
        i = int(np.argmax(mu + math.sqrt(max(0.0, 0.8 * math.log(4 * t))) * sigma))
        y = values[t][i]
        pi_t = math.pi**2 * t_block**2 / 6
        rho = 2 * math.log(2 * pi_t / DELTA_B)
        w_bar = math.sqrt(2 * NOISE**2 * math.log(2 * pi_t / DELTA_B))
        event = abs(y - mu[i]) > math.sqrt(rho) * sigma[i] + w_bar
        if (event and n_low <= t_block <= n_up) or t_block == n_up:
            data, t_block = [(i, y)], 1
            resets.append(t)
        else:
            data, t_block = [*data, (i, y)], t_block + 1
        queries.append(i)
    return queries, resets


@pytest.mark.parametrize("window", [{}, {"n_low": 4, "n_up": 11}])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_same_queries_and_resets(seed, window):
    values = surfaces(seed)
    policy = ETGPUCB(
        RBF(THETA), delta_b=DELTA_B, noise=NOISE, normalize_y=False, **window
    )
    space = {"a": AXIS.tolist(), "b": AXIS.tolist()}
    optimizer = Optimizer(space, policy, n_initial_points=1, random_state=seed)
    asked = []
    for t in range(STEPS + 1):
        params = optimizer.ask()
        i = SIDE * round(params["a"] * (SIDE - 1)) + round(params["b"] * (SIDE - 1))
        asked.append(i)
        optimizer.tell(params, values[t][i])
    queries, resets = reference(asked[0], values, **window)
    assert asked[1:] == queries
    found = [t for t, record in enumerate(optimizer.history_) if record["reset"]]
    assert found == resets
    assert any(t >= 15 for t in resets)
