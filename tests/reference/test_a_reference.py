"""A-GP-UCB against a second, slow implementation of the paper's algorithm.

The reference does not use the package: kernel, posterior, matching and loop are plain
NumPy, directly from the published statement with its misprints corrected.
"""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import inside
from skrobustbo import Optimizer, Space
from skrobustbo.policies import AGPUCB

STEPS, NOISE, DELTA, B0, THETA0 = 30, 0.1, 0.2, 0.8, 0.9


# The reference ---------------------------------------------------------------------


def posterior(x, y, Z, theta):
    """Return mean and deviation at Z, and the information gain of x, by inverses."""
    k = lambda a, b: np.exp(-((a[:, None] - b[None, :]) ** 2) / (2 * theta**2))  # noqa: E731
    K = k(x, x)
    inverse = np.linalg.inv(K + NOISE**2 * np.eye(len(x)))
    mean = k(Z, x) @ inverse @ y
    variance = 1 - ((k(Z, x) @ inverse) * k(Z, x)).sum(axis=1)
    _, log_det = np.linalg.slogdet(np.eye(len(x)) + K / NOISE**2)
    return mean, np.sqrt(variance), log_det / 2


def band(B, gain):
    return B + 4 * NOISE * math.sqrt(gain + 1 + math.log(1 / DELTA))


def shares(h, weight):
    """Return g and b of h in one dimension, by the paper's formula."""
    root = math.sqrt((1 + weight) ** 2 + 4 * weight * (h - 1))
    eps = (-(1 + weight) + root) / (2 * weight)
    return 1 + eps, 1 + weight * eps


def crossing(estimate, p, h, ceiling, precision):
    """Return the first h of a geometric bracket at which the estimate reaches p."""
    if estimate(h) >= p:
        return h
    while True:
        if h >= ceiling:
            return h
        above = min(1.5 * h, ceiling)
        if estimate(above) >= p:
            break
        h = above
    while above / h > 1 + precision:
        middle = math.sqrt(h * above)
        if estimate(middle) >= p:
            above = middle
        else:
            h = middle
    return above


def reference(Z, f, start, *, weight=0.5, g=None, b=None, matching=None, p=None):
    """Return the queries, and h at each."""
    asked, widths, grown, h = list(start), [], [], 1.0
    for t in range(STEPS):
        x, y = Z[asked], f[asked]
        ceiling = max(h, (t + 1) ** 0.9)
        if matching == "regret-bound":
            g_before, _ = shares(h, weight)
            _, _, gain = posterior(x, y, Z, THETA0 / g_before)

            def bound(h, t=t, gain=gain, g_before=g_before):
                g_h, b_h = shares(h, weight)
                grown_gain = g_h / g_before * gain
                beta = band(b_h * g_h * B0, grown_gain)
                C1 = 8 / math.log(1 + NOISE**-2)
                return math.sqrt(C1 * t * beta**2 * grown_gain)

            h = crossing(bound, p(t), h, ceiling, 1e-9)
            g_t, b_t = shares(h, weight)
        elif matching == "one-step":

            def ahead(h, x=x, y=y):
                g_h, b_h = shares(h, weight)
                mean, sigma, gain = posterior(x, y, Z, THETA0 / g_h)
                beta = band(b_h * g_h * B0, gain)
                return sum(widths) + 2 * beta * sigma[np.argmax(mean + beta * sigma)]

            h = crossing(ahead, p(t), h, ceiling, 1e-2)
            g_t, b_t = shares(h, weight)
        else:
            g_t, b_t = g(t), b(t)
        mean, sigma, gain = posterior(x, y, Z, THETA0 / g_t)
        beta = band(b_t * g_t * B0, gain)
        ucb = mean + beta * sigma
        ucb[asked] = -math.inf
        best = int(np.argmax(ucb))
        asked.append(best)
        widths.append(2 * beta * sigma[best])
        grown.append(h)
    return asked, grown


# The comparison --------------------------------------------------------------------


def problem(seed):
    """An uneven grid, a hill and a needle on it, and three initial points."""
    rng = np.random.default_rng(seed)
    Z = np.concatenate([[0.0], np.sort(rng.uniform(0.01, 0.99, 78)), [1.0]])
    hill, needle = rng.uniform(0.1, 0.9, 2)
    f = np.exp(-((Z - hill) ** 2) / 0.1) + 1.5 * np.exp(-((Z - needle) ** 2) / 0.002)
    return Z, f - 0.5, [int(i) for i in rng.choice(80, 3, replace=False)]


def package(Z, f, start, **settings):
    space = Space.from_points([{"x": float(x)} for x in Z])
    policy = AGPUCB(
        RBF(),
        theta0=THETA0,
        norm_bound=B0,
        noise=NOISE,
        delta=DELTA,
        balance=0.5,
        normalize_y=False,
        **settings,
    )
    optimizer = Optimizer(space, policy, n_initial_points=len(start), random_state=0)
    optimizer.tell([{"x": float(Z[i])} for i in start], [float(f[i]) for i in start])
    asked = list(start)
    for _ in range(STEPS):
        x = optimizer.ask()["x"]
        asked.append(int(np.flatnonzero(x == Z)[0]))
        optimizer.tell({"x": x}, float(f[asked[-1]]))
    pending = [t.metadata for t in inside.trials(optimizer) if t.metadata]
    return asked, [metadata["h"] for metadata in pending]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_given_growth(seed):
    g = lambda t: (1 + t) ** 0.4  # noqa: E731
    b = lambda t: 1 + math.log(1 + t)  # noqa: E731
    setting = problem(seed)
    expected, _ = reference(*setting, g=g, b=b)
    assert package(*setting, matching=None, growth=g, norm_growth=b)[0] == expected


# References that let the class grow sometimes within 30 steps.
RATES = {
    "regret-bound": lambda t: 6 * t**0.9,
    "one-step": lambda t: 1.5 * t**0.9,
}


@pytest.mark.parametrize("matching", RATES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_matched_growth(matching, seed):
    setting, p = problem(seed), RATES[matching]
    expected, grown = reference(*setting, matching=matching, p=p)
    asked, growth = package(*setting, matching=matching, reference=p)
    assert asked == expected
    assert growth == pytest.approx(grown, rel=1e-6)
    assert len(set(grown)) > 2  # it does grow
