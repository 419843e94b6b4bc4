"""What is left to gain: a bound that holds, shrinks, and ends searches."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.gaussian_process.kernels import RBF, Matern

import inside
from fake_estimators import Fake, search_of
from runs import read_back, run, source_of
from skrobustbo import Integer, Optimizer, Real, RobustBayesSearchCV
from skrobustbo.optimizer import _gains
from skrobustbo.optimizer._gains import Band, regret_bound
from skrobustbo.policies import GPUCB, HEGPUCB, IGPUCB, RobustUCB, available
from tiers import mostly_slow

N_POINTS, NOISE = 60, 0.1
LINE = {"i": Integer(0, N_POINTS - 1)}
RAW = {"noise": NOISE, "normalize_y": False}
#: The variant of the default policy whose bound falls sooner.
FOR_BOUNDS = RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0)


def drawn(kernel, seed):
    """Return a function drawn from a model on points of a line, with its noise."""
    rng = np.random.default_rng(seed)
    space = Optimizer(LINE).space
    Z = np.array([space.encode({"i": i}) for i in range(N_POINTS)])
    K = kernel(Z) + 1e-8 * np.eye(N_POINTS)
    return np.linalg.cholesky(K) @ rng.standard_normal(N_POINTS), rng


def bounds(policy, f, rng, seed, checks):
    """Return bounds and true regrets after certain numbers of values."""
    optimizer = Optimizer(LINE, policy, n_initial_points=3, random_state=seed)
    found = []
    for n in range(1, max(checks) + 1):
        params = optimizer.ask()
        optimizer.tell(params, f[params["i"]] + NOISE * rng.standard_normal())
        if n in checks:
            asked = [record["params"]["i"] for record in optimizer.history_]
            regret = f.max() - f[asked].max()
            found.append((optimizer.regret_bound(), regret))
    return np.array(found)


MODEL = Matern(0.15, nu=2.5)
POLICIES = [
    GPUCB(MODEL, beta=2.0, **RAW),
    HEGPUCB([RBF(0.6), MODEL, RBF(0.3)], beta=4.0, **RAW),
]


@pytest.mark.parametrize("policy", POLICIES, ids=["one", "several"])
def test_the_bound_holds_and_shrinks_where_the_assumption_is_true(policy):
    runs = []
    for seed in range(25):
        f, rng = drawn(MODEL, seed)
        runs.append(bounds(policy, f, rng, seed, checks=(4, 10, 25)))
    bound, regret = np.moveaxis(np.array(runs), 2, 0)
    assert (bound >= regret).all(axis=1).mean() >= 0.95
    assert (regret[:, 0] > 0.05).mean() > 0.5  # there was something to bound
    medians = np.median(bound, axis=0)
    assert medians[0] > 2.5 * medians[2]
    assert medians[2] < 1.2


def test_the_bound_fails_where_the_assumption_is_false():
    """Otherwise, the test above would show nothing."""
    smooth = GPUCB(RBF(2.0), beta=2.0, **RAW)
    failed = []
    for seed in range(10):
        f, rng = drawn(Matern(0.05, nu=2.5), seed)
        bound, regret = bounds(smooth, f, rng, seed, checks=(6,))[0]
        failed.append(bound < regret)
    assert np.mean(failed) >= 0.2


def test_the_bound_for_norms_holds():
    """The objective is a combination of kernels, of norm 2."""
    policy = IGPUCB(MODEL, norm_bound=2.0, **RAW)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        space = Optimizer(LINE).space
        Z = np.array([space.encode({"i": i}) for i in range(N_POINTS)])
        weights = rng.standard_normal(8)
        centres = Z[rng.choice(N_POINTS, 8, replace=False)]
        norm = math.sqrt(weights @ MODEL(centres) @ weights)
        f = MODEL(Z, centres) @ weights * 2.0 / norm
        found = bounds(policy, f, rng, seed, checks=(5, 15, 30))
        assert (found[:, 0] >= found[:, 1]).all()


def told(policy="robust", n=25, scale=1.0, shift=0.0):
    optimizer = Optimizer({"x": Real(-1, 1)}, policy, random_state=0)
    run(optimizer, n, lambda params: shift - scale * (params["x"] - 0.3) ** 2)
    return optimizer


def test_it_is_in_units_of_the_objective():
    one, thousand = told(), told(scale=1000.0, shift=-5.0)
    np.testing.assert_allclose(
        thousand.regret_bound(), 1000 * one.regret_bound(), rtol=1e-3
    )


def test_more_confidence_is_a_larger_bound():
    optimizer = told(n=12)
    found = [optimizer.regret_bound(delta) for delta in (0.5, 0.05, 0.001)]
    assert sorted(found) == found
    assert found[0] < found[2]


def left_out(optimizer):
    """Return the root mean square of each model's leave-one-out errors."""
    models = inside.models(optimizer, pending=False)
    plausible = optimizer.policy.plausible(inside.state(optimizer), models)
    errors = [models[candidate].left_out_errors for candidate in plausible]
    return [math.sqrt(np.mean(error[models.measured] ** 2)) for error in errors]


def test_a_model_that_errs_more_than_it_expects_has_a_wider_band():
    smooth, ratios = GPUCB(RBF(2.0), beta=2.0, **RAW), []
    for seed in range(5):
        f, _ = drawn(Matern(0.05, nu=2.5), seed)
        optimizer = Optimizer(LINE, smooth, n_initial_points=3, random_state=seed)
        run(optimizer, 12, lambda params, f=f: f[params["i"]])
        (widening,) = left_out(optimizer)
        assert widening > 1.5
        bound, wide = (optimizer.regret_bound(calibrated=c) for c in (False, True))
        # The width of a band counts twice, the means not at all.
        (band,) = inside.branch_of(optimizer, 0).bands(12, 0.05)
        (wider,) = inside.branch_of(optimizer, 0).bands(12, 0.05, calibrated=True)
        assert wider.upper > band.upper
        assert wider.lower < band.lower
        assert wide == pytest.approx(wider.upper - wider.lower)
        ratios.append(wide / bound)
    assert min(ratios) > 1.2


def test_a_model_that_errs_less_keeps_its_band():
    optimizer = told(GPUCB(RBF(0.1), beta=2.0, noise=NOISE), n=20)
    assert max(left_out(optimizer)) < 1
    assert optimizer.regret_bound(calibrated=True) == optimizer.regret_bound()


def test_failures_are_no_errors_of_a_model(monkeypatch):
    optimizer, seen = told(GPUCB(RBF(0.1), beta=2.0, noise=NOISE), n=20), []
    monkeypatch.setattr(_gains, "_widening", lambda e: seen.append(len(e)) or 1)
    optimizer.tell({"x": 0.9}, np.nan)
    optimizer.regret_bound(calibrated=True)
    assert seen == [20]


def test_looking_changes_nothing_and_a_copy_says_the_same():
    calm, asked = told(n=12), told(n=12)
    bound = asked.regret_bound()
    again = read_back(asked)
    assert again.regret_bound() == asked.regret_bound() == bound
    assert asked.ask() == calm.ask()


def test_failures_do_not_enter_as_the_best():
    optimizer = told(n=15)
    optimizer.tell({"x": 0.9}, np.nan)
    assert 0 <= optimizer.regret_bound() < math.inf


def test_the_default_allows_for_half_the_estimate():
    optimizer = told()
    models = inside.models(optimizer, pending=False)
    long, short = RobustUCB().plausible(inside.state(optimizer), models)
    ratio = np.divide(long.kernel.length_scale, short.kernel.length_scale)
    np.testing.assert_allclose(ratio, 2.0)


@pytest.mark.parametrize("name", available())
def test_every_policy_has_a_bound_or_says_why_not(name):
    optimizer = told(name, n=2)
    if optimizer.policy.seeks_maximum:
        assert optimizer.regret_bound() == math.inf
        assert 0 <= told(name, n=9).regret_bound() < math.inf
    else:
        with pytest.raises(ValueError, match="maximum of a fixed objective"):
            optimizer.regret_bound()


def test_errors():
    with pytest.raises(ValueError, match="at least one finite value"):
        told(n=0).regret_bound()
    for delta in (0, 1, -0.5, math.nan):
        with pytest.raises(ValueError, match=r"'delta' of regret_bound.*between 0 and"):
            told(n=5).regret_bound(delta)


# The stop -----------------------------------------------------------------------------

X, y = load_iris(return_X_y=True)


def search(**settings):
    return search_of(Fake(), **{"n_iter": 40, "cv": 4, "refit": False, **settings})


def test_a_search_ends_when_little_is_left_to_gain():
    ours = search(tol=0.05, policy=FOR_BOUNDS).fit(X, y)
    assert ours.stop_reason_ == "tol"
    assert ours.n_iter_ == len(ours.cv_results_["params"]) < 40
    assert ours.optimizer_.regret_bound() <= 0.05
    assert ours.best_score_ > -0.05
    # Not before: the same optimizer, told the same values.
    again = source_of(search(policy=FOR_BOUNDS)).optimizer
    for params, score in zip(
        ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True
    ):
        if again.n_initial_points <= len(again.history_):
            assert again.regret_bound() > 0.05
        assert again.ask() == params
        again.tell(params, score)
    assert again.regret_bound() == ours.optimizer_.regret_bound()


class Plane(Fake):
    """Its score is a smooth function of two parameters, with a range of about 1."""

    def __init__(self, a=0.0, b=0.0, shape="bump"):
        self.a, self.b, self.shape = a, b, shape

    def score(self, X, y=None):
        squares = (self.a - 0.3) ** 2 + (self.b + 0.2) ** 2
        return np.exp(-squares / 1.28) if self.shape == "bump" else 1 - squares / 3.13


def smooth_search(shape, tol, seed):
    return RobustBayesSearchCV(
        Plane(shape=shape),
        {"a": Real(-1, 1), "b": Real(-1, 1)},
        n_iter=60,
        policy=FOR_BOUNDS,
        cv=2,
        tol=tol,
        random_state=seed,
    ).fit(X, y)


@pytest.mark.parametrize("seed", mostly_slow(0, 1, 2, 3, 4))
@pytest.mark.parametrize("shape", ["bump", "quadratic"])
def test_a_smooth_search_of_two_parameters_ends_before_sixty(shape, seed):
    """The figures in docs/stopping.md."""
    ours = smooth_search(shape, 0.1, seed)
    print(shape, seed, ours.n_iter_, 1.0 - ours.best_score_)
    assert ours.stop_reason_ == "tol"
    assert 10 < ours.n_iter_ < 60
    assert 1.0 - ours.best_score_ <= 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("tol", "at_least"), [(0.05, 8), (0.02, 6)])
def test_a_narrower_tolerance_ends_most_searches(tol, at_least):
    """The figures in docs/stopping.md."""
    pairs = [(shape, seed) for shape in ("bump", "quadratic") for seed in range(5)]
    searches = [smooth_search(shape, tol, seed) for shape, seed in pairs]
    for pair, ours in zip(pairs, searches, strict=True):
        print(tol, *pair, ours.n_iter_, ours.stop_reason_, 1.0 - ours.best_score_)
        assert 1.0 - ours.best_score_ <= 1e-3
    ended = [ours.n_iter_ < 60 for ours in searches]
    assert [ours.stop_reason_ == "tol" for ours in searches] == ended
    assert sum(ended) >= at_least


def asked(**settings):
    return search(n_iter=10, **settings).fit(X, y).cv_results_["params"]


@pytest.mark.parametrize("policy", [FOR_BOUNDS, RobustUCB(), "mle-gp-ucb"])
def test_a_tolerance_out_of_reach_changes_nothing(policy):
    ours = search(tol=1e-12, n_iter=10, policy=policy).fit(X, y)
    assert ours.stop_reason_ == "n_iter"
    assert ours.cv_results_["params"] == asked(policy=policy)


@pytest.mark.parametrize("name", ["robust", "Robust", " ROBUST"])
def test_the_default_is_known_by_any_spelling_of_its_name(name, tmp_path):
    settings = {"policy": name, "checkpoint": tmp_path / "search.ckpt"}
    ours = search(tol=1e-12, n_iter=2, **settings).fit(X, y)
    assert repr(ours.optimizer_.policy) == repr(RobustUCB())
    again = {**settings, "policy": RobustUCB(), "tol": None}
    assert search(n_iter=3, **again).fit(X, y).n_iter_ == 3


@pytest.mark.parametrize("tol", [-1, "small", math.nan])
def test_tolerances_that_are_none(tol):
    with pytest.raises(ValueError, match="The 'tol' parameter of RobustBayesSearchCV"):
        search(tol=tol).fit(X, y)


def test_policies_without_a_bound_refuse_a_tolerance():
    with pytest.raises(ValueError, match=r"'tol' of RobustBayesSearchCV must be None"):
        search(tol=0.1, policy="et-gp-ucb").fit(X, y)


# Several branches --------------------------------------------------------------------


def test_branches_share_the_probability_and_one_of_each_is_right():
    # Branch 0 has one model, branch 1 has two, the second of them pessimistic.
    found = regret_bound([[Band(5.0, 3.0)], [Band(6.0, 1.0), Band(4.5, -2.0)]])
    # 6 against 3 (branch 0 reached), 5 against its own 3, 4.5 against 3.
    assert found == 3.0
    assert regret_bound([[Band(2.0, 2.5)]]) == 0.0


def test_a_branched_optimizer_has_a_bound():
    space = [{"kind": ["a"], "x": Real(0, 1)}, {"kind": ["b"], "x": Real(0, 1)}]
    optimizer = Optimizer(space, random_state=0)
    assert optimizer.n_initial_points >= 4
    for _ in range(30):
        params = optimizer.ask()
        top = {"a": 0.0, "b": -0.5}[params["kind"]]
        optimizer.tell(params, top - (params["x"] - 0.3) ** 2)
        if len(optimizer.history_) == 4:
            assert optimizer.regret_bound() == math.inf
    assert 0.0 - optimizer.best_value_ <= optimizer.regret_bound() < math.inf


def failing(params):
    return np.nan if params["kind"] == "b" else -100.0 - (params["x"] - 0.3) ** 2


@pytest.mark.parametrize("name", available())
def test_a_branch_that_only_fails_does_not_prevent_a_bound(name):
    space = [{"kind": ["a"], "x": Real(0, 1)}, {"kind": ["b"], "x": Real(0, 1)}]
    optimizer = Optimizer(space, name, random_state=0)
    if not optimizer.policy.seeks_maximum:
        return
    run(optimizer, optimizer.n_initial_points, failing)
    assert optimizer.regret_bound() == math.inf
    run(optimizer, 8, failing)
    bound = optimizer.regret_bound()
    assert -100.0 - optimizer.best_value_ <= bound < 30.0


def test_what_has_failed_is_bounded_in_units_of_all_values():
    """More is left to gain in a branch of many parameters where all failed."""
    wide = {f"x{i}": Real(0, 1) for i in range(4)}
    bounds = []
    for scale in (1.0, 1e-6):
        optimizer = Optimizer([{"x": Real(0, 1)}, wide], random_state=0)
        for _ in range(24):
            params = optimizer.ask()
            value = -((params["x"] - 0.3) ** 2) if "x" in params else np.nan
            optimizer.tell(params, scale * value)
        assert inside.branch_of(optimizer, 1).bands(0, 0.05)[0].lower == -math.inf
        bounds.append(optimizer.regret_bound() / scale)
    np.testing.assert_allclose(*bounds, rtol=1e-3)


class Sometimes(Fake):
    """Its fits fail for one of two kinds."""

    def __init__(self, a=0.0, kind="good"):
        self.a, self.kind = a, kind

    def fit(self, X, y=None):
        if self.kind == "bad":
            raise ArithmeticError("no")
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_tolerance_beside_a_branch_that_only_fails():
    space = [{"kind": [kind], "a": Real(-1, 1)} for kind in ("good", "bad")]
    settings = {"n_iter": 40, "cv": 2, "tol": 0.05, "random_state": 0}
    ours = RobustBayesSearchCV(
        Sometimes(), space, policy=FOR_BOUNDS, refit=False, **settings
    )
    with pytest.warns(FitFailedWarning, match="ArithmeticError: no"):
        ours.fit(X, y)
    assert ours.stop_reason_ == "tol"
    assert ours.optimizer_.regret_bound() <= 0.05
