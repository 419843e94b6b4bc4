"""TV-GP-UCB, UI-TVBO and W-GP-UCB against the formulas and as special cases."""

import dataclasses
import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, RationalQuadratic

import inside
from runs import CUBE, GRID, assert_modelled, read_back, run, run_over_time
from skrobustbo import Optimizer, Real
from skrobustbo.policies import GPUCB, TVGPUCB, UITVBO, WGPUCB, Setup, make_policy
from skrobustbo.surrogate import Candidate, FactorCache, Models, View

KERNEL = RBF(0.2)
NAMES = ["tv-gp-ucb", "ui-tvbo", "w-gp-ucb"]


def objective(params, t):
    phase = 0.1 * t
    return math.sin(1.3 * params["a"] + phase) + math.cos(params["b"] - phase)


def queries(policy, space=GRID, n=25):
    optimizer = Optimizer(space, policy, n_initial_points=3, random_state=0)
    return run_over_time(optimizer, n, objective)


def models(noise=0.1, n=9, n_pending=0):
    rng = np.random.default_rng(1)
    X, z = rng.random((n, 2)), rng.standard_normal(n)
    pending = rng.random((n_pending, 2))
    return Models(FactorCache(noise), View(X, z, X_pending=pending))


def by_hand(policy, view, prior_now):
    """Return mean and deviation at Z from explicit covariances; value i has time i."""
    state = policy.start(Setup(2), view)
    Z = np.random.default_rng(2).random((5, 2))
    return state, Z, *prior_now(view.X, view.z, Z)


def solved(K, k, prior, z, noise):
    K = K + np.diag(np.broadcast_to(noise, len(z)) ** 2)
    mu = k.T @ np.linalg.solve(K, z)
    variance = prior - np.einsum("ij,ij->j", k, np.linalg.solve(K, k))
    return mu, np.sqrt(variance)


def check_posterior(policy, view, prior_now):
    state, Z, mu, sigma = by_hand(policy, view, prior_now)
    posterior = policy.posterior(state, view)
    np.testing.assert_allclose(posterior.predict(Z), (mu, sigma), rtol=1e-9)
    assert posterior.told_deviation(Z[0]) == pytest.approx(sigma[0])


# The models ------------------------------------------------------------------------


def test_tv_lag_to_the_present_is_t_minus_i():
    def prior_now(X, z, Z):
        i, epsilon = np.arange(1, len(z) + 1), 0.2
        t = len(z) + 1
        K = KERNEL(X) * (1 - epsilon) ** (np.abs(i[:, None] - i) / 2)
        k = KERNEL(X, Z) * ((1 - epsilon) ** ((t - i) / 2))[:, None]
        return solved(K, k, 1.0, z, 0.1)

    check_posterior(TVGPUCB(KERNEL, epsilon=0.2), models(), prior_now)


def test_ui_prior_variance_grows():
    def prior_now(X, z, Z):
        i, v = np.arange(1, len(z) + 1), 0.3
        K = KERNEL(X) * (1 + v * np.minimum(i[:, None], i))
        k = KERNEL(X, Z) * (1 + v * i)[:, None]
        return solved(K, k, 1 + v * (len(z) + 1), z, 0.1)

    check_posterior(UITVBO(KERNEL, variance=0.3), models(), prior_now)


def test_w_noise_of_old_values_grows():
    def prior_now(X, z, Z):
        lag = np.arange(len(z))[::-1]  # 0 for the latest
        noise = 0.1 * 0.7 ** (-lag / 2)
        return solved(KERNEL(X), KERNEL(X, Z), 1.0, z, noise)

    check_posterior(WGPUCB(KERNEL, discount=0.7, noise=0.1), models(), prior_now)


def test_w_is_discounted_regression_where_the_kernel_is_linear():
    """As in D-LinUCB; its deviation, with squared weights, is never greater."""
    gamma, noise = 0.8, 0.1
    policy, view = WGPUCB(DotProduct(0.0), discount=gamma, noise=noise), models(noise)
    V, V2, b = (noise**2 * np.eye(2), noise**2 * np.eye(2), np.zeros(2))
    for x, z in zip(view.X, view.z, strict=True):
        V = gamma * V + np.outer(x, x) + (1 - gamma) * noise**2 * np.eye(2)
        V2 = gamma**2 * V2 + np.outer(x, x) + (1 - gamma**2) * noise**2 * np.eye(2)
        b = gamma * b + z * x
    Z = np.random.default_rng(2).random((5, 2))
    ZV = np.linalg.solve(V, Z.T)
    mu, sigma = policy.posterior(policy.start(Setup(2), view), view).predict(Z)
    np.testing.assert_allclose(mu, ZV.T @ b, rtol=1e-9)
    np.testing.assert_allclose(sigma**2, noise**2 * np.sum(Z.T * ZV, axis=0), rtol=1e-7)
    assert (np.sum(ZV * (V2 @ ZV), axis=0) < np.sum(Z.T * ZV, axis=0)).all()


def test_w_information_gain_counts_the_weights():
    policy, view = WGPUCB(KERNEL, discount=0.7, noise=0.1), models()
    state = policy.start(Setup(2), view)
    weights = 0.7 ** np.arange(9.0)[::-1]
    S = np.sqrt(weights / 0.1**2)
    M = np.eye(9) + S[:, None] * KERNEL(view.X) * S
    gain = policy.posterior(state, view).information_gain
    assert gain == pytest.approx(0.5 * np.linalg.slogdet(M)[1])


def test_pending_points_come_before_the_present():
    policy, view = TVGPUCB(KERNEL, epsilon=0.2), models(n_pending=2)
    posterior = policy.posterior(policy.start(Setup(2), view), view)
    np.testing.assert_array_equal(posterior.X[:, -1], np.arange(1, 12))
    assert posterior.now == 12


def test_w_leaves_out_what_tells_nothing():
    # 0.5^40 = 9e-13 < 1e-6 * 0.1^2 / 1e4: only rows of weight >= 1e-8 are kept.
    policy, view = WGPUCB(KERNEL, discount=0.5, noise=0.1), models(n=60)
    state = policy.start(Setup(2), view)
    posterior = policy.posterior(state, view)
    assert posterior.n_told == 1 + math.floor(math.log(1e-8) / math.log(0.5)) == 27
    Z = np.random.default_rng(0).random((20, 2))
    whole = view.weighted(Candidate(KERNEL), 0.5 ** np.arange(60.0)[::-1])
    difference = np.abs(np.array(posterior.predict(Z)) - whole.predict(Z)).max()
    assert difference < 1e-5


def test_default_discount_remembers_for_the_budget():
    # RBF 0.2, d = 1, T = 100: H = (5 ln(100)^2)^(1/4) * 10 / sqrt(4) = 16.05
    state = WGPUCB(RBF(0.2), budget=4.0).start(Setup(1), models())
    H = (5 * math.log(100) ** 2) ** 0.25 * 5
    assert state.rate == pytest.approx(math.exp(-1 / H))


# Special cases ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("still", "moving"),
    [
        (TVGPUCB(KERNEL, epsilon=0.0), TVGPUCB(KERNEL, epsilon=0.2)),
        (UITVBO(KERNEL, variance=0.0), UITVBO(KERNEL, variance=0.5)),
        (WGPUCB(KERNEL, discount=1.0), WGPUCB(KERNEL, discount=0.7)),
    ],
)
def test_without_forgetting_it_is_gp_ucb(still, moving):
    plain = queries(GPUCB(KERNEL, beta="log", repeats=True))
    assert queries(still) == plain
    assert queries(moving) != plain


@pytest.mark.parametrize(
    "still", [TVGPUCB(epsilon=0.0), UITVBO(variance=0.0), WGPUCB(discount=1.0)]
)
def test_without_forgetting_in_a_continuous_space(still):
    """With a fitted length scale; climbs agree up to rounding."""
    plain = queries(GPUCB(beta="log", repeats=True), CUBE, 14)
    for ours, theirs in zip(queries(still, CUBE, 14), plain, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)


# The rate of change by likelihood --------------------------------------------------


def drifting(epsilon, n=120, seed=0):
    """Return values of an objective that drifts like the model of TV-GP-UCB."""
    rng = np.random.default_rng(seed)
    X, i = rng.random((n, 2)), np.arange(n)
    K = KERNEL(X) * (1 - epsilon) ** (np.abs(i[:, None] - i) / 2)
    z = np.linalg.cholesky(K + 0.01 * np.eye(n)) @ rng.standard_normal(n)
    return Models(FactorCache(0.1), View(X, z))


@pytest.mark.parametrize("epsilon", [0.005, 0.1])
def test_likelihood_finds_the_rate(epsilon):
    policy, view = TVGPUCB(KERNEL, epsilon="mle", noise=0.1), drifting(epsilon)
    state = policy.start(Setup(2), view)
    assert state.rate == 0.03
    _, metadata = policy.suggest(state, view, lambda acq: (np.zeros(2), 0.0), [])
    assert epsilon / 3 < metadata["rate"] < epsilon * 3
    assert state.rate == 0.03  # changed by learn alone
    policy.learn(state, metadata, None)
    assert (state.rate, state.t) == (metadata["rate"], 1)

    def likelihood(rate):
        model = policy.current(dataclasses.replace(state, rate=rate), 2)
        return view.timed()[model].log_marginal_likelihood

    rates = np.geomspace(0.0041, 0.22, 60)
    assert likelihood(metadata["rate"]) > max(map(likelihood, rates)) - 0.01


def test_likelihood_search_moves_within_bounds():
    policy, view = TVGPUCB(KERNEL, epsilon="mle", noise=0.1), drifting(0.0)
    state = policy.start(Setup(2), view)
    for _ in range(4):
        before = state.rate
        _, metadata = policy.suggest(state, view, lambda acq: (np.zeros(2), 0.0), [])
        policy.learn(state, metadata, None)
        assert max(1e-4, before * math.exp(-2)) <= state.rate * 1.001
    assert state.rate < 2e-4


def test_likelihood_round_trips():
    def new():
        policy = TVGPUCB(epsilon="mle")
        return Optimizer(CUBE, policy, n_initial_points=3, random_state=0)

    whole = new()
    expected = run_over_time(whole, 12, objective)
    optimizer, asked = new(), []
    for t in range(12):
        asked.append(optimizer.ask())
        optimizer = read_back(optimizer)
        optimizer.tell(asked[-1], objective(asked[-1], t))
    assert asked == expected
    assert inside.state(optimizer) == inside.state(whole)
    assert inside.state(optimizer).rate != 0.03


# Whole runs ------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_recommend_speaks_of_now(name):
    """The first half favours one point, the second another; the present wins."""
    settings = {"tv-gp-ucb": {"epsilon": 0.3}, "ui-tvbo": {"variance": 1.0}}
    policy = make_policy(name, **settings.get(name, {"discount": 0.7}))
    policy.set_params(kernel=Matern(0.1, nu=2.5), noise=0.1)
    optimizer = Optimizer({"a": [0, 1, 2, 3]}, policy, random_state=0)
    for i in range(24):
        optimizer.tell({"a": i % 4}, float(i % 4 == (1 if i < 12 else 2)))
    optimizer.ask()
    assert optimizer.recommend() == {"a": 2}


@pytest.mark.parametrize("name", NAMES)
def test_points_are_asked_again(name):
    optimizer = Optimizer({"c": [1, 2, 3]}, name, random_state=0)
    run(optimizer, 10, lambda params: float(params["c"]))
    assert optimizer.recommend() == {"c": 3}
    assert not any(record["reset"] for record in optimizer.history_)


def test_labels_name_the_rate():
    optimizer = Optimizer(GRID, TVGPUCB(KERNEL), random_state=0)
    run_over_time(optimizer, 8, objective)
    label = "RBF(length_scale=0.2),epsilon=0.03"
    assert optimizer.history_[-1]["model_label"] == label
    assert optimizer.history_[-1]["alive"] == [label]


@pytest.mark.parametrize("beta", ["self-normalised", "bayes-finite", "igp", 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_other_widths(name, beta):
    optimizer = Optimizer(GRID, make_policy(name, beta=beta), random_state=0)
    run_over_time(optimizer, 9, objective)
    assert_modelled(optimizer.history_[optimizer.n_initial_points :])


@pytest.mark.parametrize(
    ("policy", "culprit"),
    [
        (TVGPUCB(epsilon=1.0), "epsilon"),
        (TVGPUCB(epsilon=-0.1), "epsilon"),
        (TVGPUCB(epsilon="map"), "epsilon"),
        (UITVBO(variance=-1.0), "variance"),
        (UITVBO(variance=math.inf), "variance"),
        (WGPUCB(discount=0.0), "discount"),
        (WGPUCB(discount=1.5), "discount"),
        (WGPUCB(budget=0.0), "budget"),
        (WGPUCB(RationalQuadratic()), "budget"),
        (TVGPUCB(c1=0.0), "c1"),
        (TVGPUCB(noise=-1.0), "noise"),
    ],
)
def test_settings_out_of_range(policy, culprit):
    with pytest.raises(ValueError, match=f"'{culprit}' of"):
        Optimizer({"x": Real(0, 1)}, policy)
