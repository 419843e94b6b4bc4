"""HE-GP-UCB, ExpectedUCB and discrete MLE, against numbers calculated by hand."""

import math
import warnings

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, Matern

import inside
import runs
from fake_models import FakeModels, FakePosterior, Told, argmax
from runs import MIXED, mixed_value, read_back
from skrobustbo import Candidate, Optimizer, Real, Space
from skrobustbo.kernels import AdditiveKernel
from skrobustbo.policies import GPUCB, HEGPUCB, MLEGPUCB, ExpectedUCB, Setup
from skrobustbo.policies._elimination import contradicted
from skrobustbo.surrogate import FactorCache, Models, View


class Labelled(FakePosterior):
    """Mean 0 and a deviation given by the label."""

    def __init__(self, candidate):
        super().__init__(candidate)
        self.sigma = float(candidate.label)


class LabelledModels(FakeModels):
    posterior = Labelled


def candidates(*sigmas):
    return [Candidate(RBF(), label=str(sigma)) for sigma in sigmas]


def start(policy):
    return policy.start(Setup(1), LabelledModels())


def step(policy, state, history, value, pending=()):
    """Run one suggest and learn; return the chosen candidate."""
    _, metadata = policy.suggest(state, LabelledModels(), argmax, list(pending))
    history.list.append(value)
    policy.learn(state, metadata, history)
    return metadata["candidate"]


def fixed(*sigmas, **settings):
    return HEGPUCB(candidates(*sigmas), normalize_y=False, **settings)


def xi_by_hand(noise, n, t, delta=0.1):
    return 2 * noise**2 * math.log(n * math.pi**2 * t**2 / (3 * delta))


# Elimination -------------------------------------------------------------------------


def test_most_optimistic_survivor_asks():
    policy = fixed(0.5, 0.75, 0.25)
    _, metadata = policy.suggest(start(policy), LabelledModels(), argmax, [])
    assert metadata["candidate"] == 1
    # Mean 0 and beta sigma = 2 * 0.75, in units of the objective.
    assert (metadata["mean"], metadata["width"], metadata["std"]) == (1.0, 6.0, 3.0)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("excess", "survives"), [(-1e-9, True), (1e-9, False)])
def test_elimination_at_the_threshold(sign, excess, survives):
    policy = fixed(0.5, 0.75, noise=0.3)
    state, history = start(policy), Told()
    # Width 6 and the noise term, around the mean 1; raw values are in the model's
    # units.
    allowed = 6.0 + math.sqrt(xi_by_hand(0.3, 2, 1))
    step(policy, state, history, 1.0 + sign * (allowed + excess))
    assert state.survivors == ([0, 1] if survives else [0])


def test_noise_term_is_a_number():
    # 2 * 0.3^2 ln(6 pi^2 2^2 / 0.3) = 0.18 ln 789.568 = 0.18 * 6.671486
    assert fixed(0.5, noise=0.3).xi(6, 2) == pytest.approx(1.200868, abs=1e-6)


def test_what_band_and_noise_allow_is_no_contradiction():
    # The error 6 over the unit 4: 1.5 = sqrt(1/4 * 1) + 4/4, exactly.
    query = {"query": 0, "mean": 1.0, "width": 4.0}
    assert not contradicted([query], np.array([7.0]), 4.0, 0.25)
    assert contradicted([query], np.array([7.0]), 4.0, 0.24)


def test_errors_add_up_with_their_signs():
    policy = fixed(0.5, 0.75, noise=0.3)
    state, history = start(policy), Told()
    step(policy, state, history, 7.0)  # error 6
    step(policy, state, history, -4.0)  # 6 - 5 = 1
    assert state.survivors == [0, 1]
    # Three queries: |1 + e| against 18 + sqrt(3 xi_3).
    allowed = 18.0 + math.sqrt(3 * xi_by_hand(0.3, 2, 3))
    step(policy, state, history, 1.0 + allowed - 1.0 + 1e-9)
    assert state.survivors == [0]


def test_only_the_model_that_asked_is_tested():
    policy = fixed(0.0, 0.75, noise=1e-3)
    state, history = start(policy), Told()
    step(policy, state, history, 5.0)  # far outside the band of the other
    assert state.survivors == [0, 1]


def test_eliminated_models_count_in_the_noise_term():
    policy = fixed(0.25, 0.5, 0.75, noise=0.3)
    state, history = start(policy), Told()
    step(policy, state, history, 100.0)
    assert state.survivors == [0, 1]
    # The second model has one query, of width 4, at t = 2.
    allowed = 4.0 + math.sqrt(xi_by_hand(0.3, 3, 2))
    step(policy, state, history, 1.0 + allowed - 1e-9)
    assert state.survivors == [0, 1]


def test_failures_count_as_queries_and_not_in_sums():
    policy = fixed(0.5, 0.75, noise=0.3)
    state, history = start(policy), Told()
    step(policy, state, history, math.nan)
    assert state.t == 1
    assert [query["query"] for query in state.queries] == [0]
    allowed = 6.0 + math.sqrt(xi_by_hand(0.3, 2, 2))  # one in the sum, t = 2
    step(policy, state, history, 1.0 + allowed + 1e-9)
    assert state.survivors == [0]


def test_sums_use_present_units():
    """Errors and widths are stored in units of the objective."""
    policy = HEGPUCB(candidates(0.5, 0.75), noise=0.3)
    state, history = start(policy), Told()
    history.list = [-10.0, 10.0]  # told before: scale about 8 with the next
    step(policy, state, history, 1.0 + 6.0)
    scale = np.std([-10, 10, 7])
    allowed = 6.0 / scale + math.sqrt(xi_by_hand(0.3, 2, 1))
    assert 6.0 / scale < allowed
    assert state.survivors == [0, 1]
    assert state.queries == [{"query": 2, "candidate": 1, "mean": 1.0, "width": 6.0}]
    step(policy, state, history, 1.0 + 40.0)
    scale = np.std(history.list)
    allowed = 12.0 / scale + math.sqrt(2 * xi_by_hand(0.3, 2, 2))
    assert state.survivors == ([0, 1] if 46 / scale <= allowed else [0]) == [0]


def test_the_last_model_stays_with_one_warning():
    policy = fixed(0.25, 0.5, noise=1e-3)
    state, history = start(policy), Told()
    step(policy, state, history, 100.0)
    with pytest.warns(UserWarning, match="All candidate models contradict"):
        step(policy, state, history, 100.0)
    assert state.survivors == [0]
    assert state.implausible
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert step(policy, state, history, 100.0) == 0


def test_a_model_eliminated_meanwhile_is_not_tested_again():
    policy = fixed(0.25, 0.5, noise=1e-3)
    state, history = start(policy), Told()
    _, metadata = policy.suggest(state, LabelledModels(), argmax, [])
    _, late = policy.suggest(state, LabelledModels(), argmax, [metadata])
    for told in (metadata, late):
        history.list.append(100.0)
        policy.learn(state, told, history)
    assert state.survivors == [0]


def test_widths_leave_pending_points_out():
    policy = HEGPUCB([RBF(0.3)], normalize_y=False)
    optimizer = Optimizer({"x": Real(0, 1)}, policy, n_initial_points=2)
    optimizer.tell([{"x": 0.0}, {"x": 1.0}], [0.0, 0.5])
    optimizer.ask(2)
    trial = inside.trials(optimizer)[-1]
    model = GaussianProcessRegressor(RBF(0.3), alpha=1e-4, optimizer=None)
    model.fit([[0.0], [1.0]], [0.0, 0.5])
    mean, std = model.predict(trial.x[None, :], return_std=True)
    assert trial.metadata["mean"] == pytest.approx(mean[0])
    assert trial.metadata["width"] == pytest.approx(2 * std[0])
    assert trial.std < std[0]


# Candidates of any form --------------------------------------------------------------


def test_default_candidates_halve_the_estimate():
    optimizer = Optimizer({"x": Real(0, 1)}, "he-gp-ucb", n_initial_points=4)
    for x in (0.1, 0.35, 0.6, 0.9):
        optimizer.tell({"x": x}, math.sin(6 * x))
    optimizer.ask()
    thetas = inside.state(optimizer).thetas
    assert thetas == [thetas[0] * 2.0**-i for i in range(5)]
    expected = Optimizer({"x": Real(0, 1)}, "gp-ucb", n_initial_points=4)
    for x in (0.1, 0.35, 0.6, 0.9):
        expected.tell({"x": x}, math.sin(6 * x))
    expected.ask()
    assert thetas[0] == inside.state(expected).theta


FORMS = {
    "period": [ExpSineSquared(1.0, p) for p in (0.2, 0.5, 1.0)],
    "decomposition": [
        AdditiveKernel(Matern(0.3, nu=2.5), groups)
        for groups in ([[0], [1]], [[0, 1]], [[1]])
    ],
    "mean": [
        Candidate(RBF(0.2)),
        Candidate(RBF(0.2), mean=lambda X: 3 * X[:, 0]),
        Candidate(RBF(0.2), mean=lambda X: -3 * X[:, 0]),
    ],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cls", [HEGPUCB, ExpectedUCB, MLEGPUCB])
def test_candidates_of_any_form(form, cls):
    space = {"x": Real(0, 1)} if form == "period" else dict.fromkeys("xy", Real(0, 1))
    policy = cls(candidates=FORMS[form], noise=0.05, beta=5.0)
    optimizer = Optimizer(space, policy, n_initial_points=3, random_state=0)
    runs.run(optimizer, 9, lambda params: sum(math.sin(6 * v) for v in params.values()))
    labels = optimizer.history_[-1]["alive"]
    assert 1 <= len(labels) == len(set(labels)) <= 3


def test_settings_of_candidates_survive_json():
    # A prior mean is code: it must be passed again.
    given = [RBF(0.3), Candidate(Matern(0.2, nu=1.5), norm_bound=2.0, label="rough")]
    given += FORMS["decomposition"][:1]
    space = dict.fromkeys("xy", Real(0, 1))
    optimizer = Optimizer(space, HEGPUCB(given), n_initial_points=2, random_state=0)
    runs.run(optimizer, 5, lambda params: params["x"])
    read = read_back(optimizer)
    assert read.ask() == optimizer.ask()
    assert read.policy.candidates[1].norm_bound == 2.0
    assert read.history_[-1]["alive"] == optimizer.history_[-1]["alive"]


def test_a_mean_far_from_the_data_is_eliminated():
    """The three differ only in their prior mean; the truth is -4 x."""
    wrong = [Candidate(RBF(0.3), mean=lambda X, a=a: a * X[:, 0]) for a in (8.0, 4.0)]
    true = Candidate(RBF(0.3), mean=lambda X: -4 * X[:, 0], label="true")
    policy = HEGPUCB([*wrong, true], normalize_y=False, noise=0.05)
    optimizer = Optimizer({"x": Real(0, 1)}, policy, n_initial_points=1, random_state=0)
    optimizer.tell({"x": 0.0}, 0.0)
    runs.run(optimizer, 12, lambda params: -4 * params["x"])
    assert optimizer.history_[-1]["alive"] == ["true"]


# Expectation and likelihood ----------------------------------------------------------


def test_log_marginal_likelihood_is_scikit_learn_s():
    rng = np.random.default_rng(0)
    X, z = rng.random((40, 2)), rng.standard_normal(40)
    for kernel in (RBF(0.4), Matern([0.2, 0.7], nu=1.5)):
        model = GaussianProcessRegressor(kernel, alpha=0.05**2, optimizer=None)
        expected = model.fit(X, z).log_marginal_likelihood_value_
        pending = Models(FactorCache(0.05), View(X, z, X_pending=rng.random((3, 2))))
        got = pending[Candidate(kernel)].log_marginal_likelihood
        assert got == pytest.approx(expected, rel=1e-8)


def test_prior_mean_enters_the_likelihood():
    X, z = np.array([[0.2], [0.7]]), np.array([1.0, 2.0])
    models = Models(FactorCache(0.1), View(X, (z - 5) / 2, shift=5.0, scale=2.0))
    shifted = models[Candidate(RBF(0.3), mean=lambda X: 4 * X[:, 0])]
    residual = (z - 4 * X[:, 0]) / 2
    K = RBF(0.3)(X) + 0.01 * np.eye(2)
    fit = residual @ np.linalg.solve(K, residual) + np.linalg.slogdet(2 * np.pi * K)[1]
    assert shifted.log_marginal_likelihood == pytest.approx(-fit / 2)


def two_values(cls, **settings):
    """Run one ask over two length scales after four values."""
    policy = cls(candidates=[RBF(0.1), RBF(0.8)], normalize_y=False, **settings)
    space = Space.from_points([{"x": x / 20} for x in range(21)])
    optimizer = Optimizer(space, policy, n_initial_points=4, random_state=0)
    for i in (0, 6, 13, 20):
        optimizer.tell({"x": i / 20}, math.sin(i / 10))
    return optimizer, optimizer.ask()["x"], inside.metadata(optimizer)


def two_models():
    X = np.array([[0.0], [0.3], [0.65], [1.0]])
    y = np.sin(2 * X[:, 0])
    return [
        GaussianProcessRegressor(kernel, alpha=1e-4, optimizer=None).fit(X, y)
        for kernel in (RBF(0.1), RBF(0.8))
    ]


def test_expected_bound_by_hand():
    models, grid = two_models(), np.arange(21)[:, None] / 20
    L = np.array([model.log_marginal_likelihood_value_ for model in models])
    P = np.exp(L) / np.exp(L).sum()
    predictions = [model.predict(grid, return_std=True) for model in models]
    value = sum(p * (m + 30 * s) for p, (m, s) in zip(P, predictions, strict=True))
    value[[0, 6, 13, 20]] = -np.inf
    _, x, metadata = two_values(ExpectedUCB, beta=30.0)
    best = int(np.argmax(value))
    assert x == pytest.approx(grid[best, 0])
    np.testing.assert_allclose(metadata["weights"], P)
    m, s = np.array(predictions)[:, :, best].T
    assert metadata["mean"] == pytest.approx(P @ m)
    second = P @ (s**2 + m**2) - (P @ m) ** 2
    assert metadata["std"] == pytest.approx(math.sqrt(second))
    assert metadata["label"] == "RBF(length_scale=0.8)"


def test_expectation_counts_its_queries():
    policy = ExpectedUCB(candidates(0.5, 0.75))
    state = start(policy)
    for told in (1, 2):
        policy.learn(state, {}, Told())
        assert state.t == told


def test_weights_do_not_underflow():
    policy = ExpectedUCB([RBF(0.001), RBF(0.5)], noise=1e-3)
    optimizer = Optimizer({"x": Real(0, 1)}, policy, n_initial_points=2, random_state=0)
    points = np.linspace(0, 1, 200)
    optimizer.tell([{"x": x} for x in points], np.sin(3 * points))
    optimizer.ask()
    assert inside.metadata(optimizer)["weights"] == pytest.approx([0, 1])


def test_likeliest_candidate_is_chosen():
    optimizer, _, metadata = two_values(MLEGPUCB)
    L = [model.log_marginal_likelihood_value_ for model in two_models()]
    assert metadata["chosen"] == int(np.argmax(L)) == 1
    optimizer.tell(optimizer.history_[-1]["params"], 0.0)
    optimizer.ask()
    assert optimizer.history_[-1]["alive"] == ["RBF(length_scale=0.8)"]


# Reductions and settings -------------------------------------------------------------


@pytest.mark.parametrize("space", [{"a": Real(-2, 3)}, MIXED])
@pytest.mark.parametrize("beta", [1.5, "self-normalised"])
@pytest.mark.parametrize("cls", [HEGPUCB, ExpectedUCB, MLEGPUCB])
# With a narrow band, the only model, which is always kept, may well be implausible.
@pytest.mark.filterwarnings("ignore:All candidate models")
def test_one_candidate_is_gp_ucb(space, beta, cls):
    def run(policy):
        optimizer = Optimizer(space, policy, n_initial_points=3, random_state=0)
        runs.run(optimizer, 20, mixed_value)
        return [(r["params"], r["model_mean"]) for r in optimizer.history_[3:]]

    kernel = Matern(length_scale=0.4, nu=2.5)
    delta = 0.2 if cls is HEGPUCB else 0.1  # the band gets half of it
    one = cls(candidates=[kernel], beta=beta, delta=delta)
    assert run(one) == run(GPUCB(kernel, beta=beta, delta=0.1))


def test_bayes_finite_knows_the_number_of_points():
    space = Space.from_points([{"x": x} for x in range(10)])
    policy = HEGPUCB([RBF(0.3)], beta="bayes-finite", delta=0.2, normalize_y=False)
    optimizer = Optimizer(space, policy, n_initial_points=1)
    optimizer.tell({"x": 0}, 0.0)
    optimizer.ask()
    metadata = inside.metadata(optimizer)
    # Half of delta for the band: 3 delta for 6 delta.
    beta = math.sqrt(2 * math.log(10 * math.pi**2 / (3 * 0.2)))
    assert metadata["width"] == pytest.approx(beta * metadata["std"])


@pytest.mark.parametrize("given", [[], [1.0], RBF(), "rbf", [RBF(), None]])
@pytest.mark.parametrize("cls", [HEGPUCB, ExpectedUCB, MLEGPUCB])
def test_settings_out_of_range(cls, given):
    with pytest.raises(ValueError, match=f"'candidates' of {cls.__name__} must be"):
        Optimizer({"x": Real(0, 1)}, cls(candidates=given))
