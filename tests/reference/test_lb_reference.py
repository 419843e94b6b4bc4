"""LB- and LNB-GP-UCB against a second, slow implementation of the algorithm.

The reference does not use the package: kernels, posterior and loop are plain NumPy,
directly from the published statement with its inequalities corrected.
"""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import inside
from skrobustbo import Optimizer, Space
from skrobustbo.policies import LBGPUCB, LNBGPUCB

STEPS = 30


# The reference ---------------------------------------------------------------------


def covariance(A, B, theta, nu):
    r = np.sqrt(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)) / theta
    if nu == math.inf:
        return np.exp(-(r**2) / 2)
    s = math.sqrt(5) * r
    return (1 + s + s**2 / 3) * np.exp(-s)


def posterior(X, y, Z, theta, nu, noise):
    """Return mean and deviation at Z, and the information gain of X."""
    L = np.linalg.cholesky(covariance(X, X, theta, nu) + noise**2 * np.eye(len(X)))
    V = np.linalg.solve(L, covariance(X, Z, theta, nu))
    mean = V.T @ np.linalg.solve(L, y)
    gain = np.log(np.diag(L)).sum() - len(X) * math.log(noise)
    return mean, np.sqrt(1 - (V**2).sum(axis=0)), gain


def suspected_regret(theta, B, n, d, nu):
    if nu == math.inf:
        gamma = theta**-d * math.log(n) ** (d + 1)
    else:
        gamma = theta**-d * n ** (d / (2 * nu + d))
        gamma *= math.log(n) ** (2 * nu / (2 * nu + d))
    return math.sqrt(n) * (B * math.sqrt(gamma) + gamma)


def reference(Z, f, start, *, theta0, N0, nu, noise, beta, delta, g, b):
    """Return the queries, who chose them, and the survivors, as pairs of levels."""
    d = Z.shape[1]
    asked, chosen, told_at_choice = list(start), [], []
    U, A = [], []
    S, width = {}, {}

    def expand(t):
        lengths = [i for i in range(50) if math.exp(-i / d) >= 0.999999 / g(t)]
        norms = [j for j in range(50) if math.exp(j) <= 1.000001 * b(t)]
        for j in norms:
            for i in lengths:
                if (i, j) not in A:
                    A.append((i, j))
                    U.append((i, j))
                    S[i, j], width[i, j] = [], []

    def theta_and_norm(u):
        theta = theta0 * math.exp(-u[0] / d)
        return theta, (theta0 / theta) ** (d / 2) * N0 * math.exp(u[1])

    expand(1)
    for t in range(1, STEPS + 1):
        R = [suspected_regret(*theta_and_norm(u), len(S[u]) + 1, d, nu) for u in U]
        u = U[R.index(min(R))]
        theta, B = theta_and_norm(u)
        mean, sigma, gain = posterior(Z[asked], f[asked], Z, theta, nu, noise)
        width_of_band = beta
        if beta == "self-normalised":
            width_of_band = B + math.sqrt(2 * (gain + math.log(2 / delta)))
        ucb = mean + width_of_band * sigma
        ucb[asked] = -math.inf
        x = int(np.argmax(ucb))
        asked.append(x)
        chosen.append(u)
        told_at_choice.append(x)
        S[u].append(t)
        width[u].append(width_of_band * sigma[x])
        if all(S[v] for v in U):
            y = {v: [f[told_at_choice[tau - 1]] for tau in S[v]] for v in U}
            xi = 2 * noise**2 * math.log(len(A) * math.pi**2 * t**2 / (3 * delta))
            low, high = {}, {}
            for v in U:
                n = len(S[v])
                radius = math.sqrt(xi / n)
                low[v] = sum(y[v]) / n - radius
                high[v] = sum(y[v]) / n + radius + 2 / n * sum(width[v])
            U = [v for v in U if high[v] >= max(low.values())]
        expand(t)
    return asked, chosen, U


# Domains and functions -------------------------------------------------------------


def domain(d, seed):
    """Return an uneven grid: on an even one, several points may be equally good."""
    rng = np.random.default_rng(seed)
    axes = []
    for _ in range(d):
        inner = np.sort(rng.uniform(0.02, 0.98, 58 if d == 1 else 8))
        axes.append(np.concatenate([[0.0], inner, [1.0]]))
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)


def values(Z, seed):
    """Return a hill and a narrow peak, with a mean of about zero."""
    rng = np.random.default_rng([seed, 1])
    centre, peak = rng.uniform(0.1, 0.9, (2, Z.shape[1]))
    hill = np.exp(-((Z - centre) ** 2).sum(axis=1) / 0.3)
    spike = np.exp(-((Z - peak) ** 2).sum(axis=1) / 0.01)
    waves = np.sin(7 * Z + rng.uniform(0, 6)).sum(axis=1)
    return hill + 1.5 * spike + 0.3 * waves - 0.5


def both(d, seed, *, nu=2.5, beta=0.5, noise=0.05, b=None):
    """Return the reference's and the package's queries, choices and survivors."""
    Z, N0, delta, theta0 = domain(d, seed), 0.7, 0.2, 0.9
    f = values(Z, seed)
    rng = np.random.default_rng([seed, 2])
    start = [int(i) for i in rng.choice(len(Z), 4, replace=False)]
    g = lambda t: max(math.exp(1.5 / d), t**0.8)  # noqa: E731
    expected = reference(
        Z,
        f,
        start,
        theta0=theta0,
        N0=N0,
        nu=nu,
        noise=noise,
        beta=beta,
        delta=delta,
        g=g,
        b=(lambda t: 1.0) if b is None else b,
    )
    points = [{f"x{k}": float(v) for k, v in enumerate(row)} for row in Z]
    space = Space.from_points(points)
    np.testing.assert_array_equal([space.encode(point) for point in points], Z)
    settings = {
        "kernel": RBF() if nu == math.inf else Matern(nu=nu),
        "theta0": theta0,
        "growth": g,
        "norm_bound": N0,
        "noise": noise,
        "beta": beta,
        "delta": delta,
        "normalize_y": False,
    }
    policy = LBGPUCB(**settings)
    if b is not None:
        policy = LNBGPUCB(norm_growth=b, **settings)
    optimizer = Optimizer(
        space,
        policy,
        n_initial_points=len(start),
        initial_params=[points[i] for i in start],
        random_state=seed,
    )
    asked = []
    for _ in range(len(start) + STEPS):
        params = optimizer.ask()
        asked.append(points.index(params))
        optimizer.tell(params, f[asked[-1]])
    state = inside.state(optimizer)
    names = [tuple(u) for u in state.introduced]
    pending = [trial.metadata for trial in inside.trials(optimizer)[len(start) :]]
    chosen = [names[metadata["candidate"]] for metadata in pending]
    return expected, (asked, chosen, [names[i] for i in state.alive])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("nu", [2.5, math.inf])
def test_lb_gp_ucb_is_the_reference(d, nu, seed):
    expected, got = both(d, seed, nu=nu)
    assert got == expected


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 2])
def test_with_the_theoretical_band(d, seed):
    expected, got = both(d, seed, beta="self-normalised", noise=0.2)
    assert got == expected


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("beta", [0.5, "self-normalised"])
def test_lnb_gp_ucb_is_the_reference(beta, seed):
    expected, got = both(1, seed, beta=beta, b=lambda t: 1.0 + t / 5)
    assert got == expected
    assert {j for _, j in expected[1]} == {0, 1}


def test_the_comparison_sees_eliminations_and_newcomers():
    eliminated = 0
    for seed in (0, 1, 2):
        _, (_, chosen, alive) = both(1, seed)
        assert set(chosen[:10]) == {(0, 0), (1, 0)}
        assert set(chosen[10:]) > {(2, 0)}
        eliminated += len(set(chosen) - set(alive))
    assert eliminated >= 2
