"""The honest score of the winner, against slow loops that do the same."""

import math
import warnings
from contextlib import suppress

import numpy as np
import pytest
from scipy.stats import kurtosis, norm
from scipy.stats import t as student
from sklearn import config_context
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification, make_regression
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    fbeta_score,
    get_scorer,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_squared_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import all_estimators

from fake_estimators import Fake
from skrobustbo import Categorical, Integer, Real, RobustBayesSearchCV, Space
from skrobustbo.model_selection._bootstrap import (
    FoldScores,
    Metric,
    effective,
    score_of_winner,
)
from skrobustbo.model_selection._honest import _scorer_like_own, corrected

X, y = make_classification(90, 6, n_informative=3, flip_y=0.2, random_state=0)
TREE = {"max_depth": Integer(1, 8), "min_samples_leaf": Integer(1, 20)}
Xr, yr = make_regression(80, 5, noise=30, random_state=0)
# Older versions of scikit-learn pass weights only to the fits, unless routed.
scores_are_weighted = hasattr(get_scorer("accuracy"), "_accept_sample_weight")


def make(estimator=None, space=None, **settings):
    """Return a search of few candidates, by default of trees."""
    given = {"n_iter": 8, "cv": 3, "random_state": 0, "honest_score": True, **settings}
    tree = DecisionTreeClassifier(random_state=0)
    return RobustBayesSearchCV(estimator or tree, space or TREE, **given)


# Against loops ------------------------------------------------------------------------


def slowly(search, X, y, score, response, weights, score_weights, groups):
    """Compute the result of the search with plain loops, from predictions of new fits.

    `score` takes true values, predictions and weights (None without) of rows.
    """
    y, rows = np.asarray(y), np.arange(len(y))
    tests = [rows[test] for _, test in search.cv.split(X, y, groups)]
    tested = np.unique(np.concatenate(tests))
    labels = rows if groups is None else np.asarray(groups)
    units = sorted(set(labels[tested]))
    candidates = [
        [predicted(search, X, y, params, fold, response, weights) for fold in tests]
        for params in search.cv_results_["params"]
    ]

    def mean(predictions, count):
        """Return the mean score for rows drawn `count` times."""
        total = share = 0.0
        for test, values in zip(tests, predictions, strict=True):
            drawn = [i for i, r in enumerate(test) for _ in range(count[labels[r]])]
            try:
                found = score(
                    y[test[drawn]],
                    values[drawn],
                    None if score_weights is None else score_weights[test[drawn]],
                )
            except ValueError:  # no row, or one class only
                continue
            if not math.isnan(found):
                total += len(drawn) / len(test) * found
                share += len(drawn) / len(test)
        return total / share if share else math.nan

    whole = [mean(one, dict.fromkeys(units, 1)) for one in candidates]
    stream = np.random.SeedSequence(search.optimizer_._seed, spawn_key=(2018,))
    rng, bags = np.random.default_rng(stream), []
    for _ in range(search.n_replicates):
        drawn = [units[i] for i in rng.integers(len(units), size=len(units))]
        count = {unit: drawn.count(unit) for unit in units}
        bags.append([mean(one, count) for one in candidates])
    whole, bags = np.array(whole), np.array(bags)
    bags = bags[np.isfinite(bags).all(axis=1)]
    noise = bags - bags.mean(axis=0)
    best, others = first(whole), [first(whole + errors) for errors in noise]
    luck = [errors[i] for errors, i in zip(noise, others, strict=True)]
    honest = whole[best] - math.sqrt(2) * np.mean(luck)
    most, own = spreads(whole, bags)
    shown = np.std(whole[others] - luck)
    wide = min(shown * most / own, math.hypot(shown, most)) / own
    everything = dict.fromkeys(units, 1)
    without = [
        mean(candidates[best], everything | {units[i]: 0})
        for i in rng.permutation(len(units))[: search.n_replicates]
    ]
    known = [one for one in without if math.isfinite(one)]
    n = len(units) * 2 / max(2, kurtosis(known, fisher=False) - 1)
    wide *= student.ppf(0.975, n - 1) / norm.ppf(0.975)
    return honest, honest + wide * np.quantile(noise[:, best], [0.025, 0.975])


def first(scores):
    """Return the best candidate, the first of equal ones."""
    return int(np.argmax(np.round(scores, 13)))


def spreads(whole, bags):
    """Return the largest spread of scores near the winner's, and the winner's."""
    best = int(np.argmax(np.round(whole, 13)))
    near = [
        np.std(one)
        for score, one in zip(whole, bags.T, strict=True)
        if whole[best] - score <= np.std(one - bags[:, best])
    ]
    return max(near), np.std(bags[:, best])


def predicted(search, X, y, params, test, response, weights):
    """Return a candidate's predictions for a fold; all other rows train it."""
    splits = list(search.cv.split(X, y, search.groups))
    train = next(a for a, b in splits if np.array_equal(np.arange(len(y))[b], test))
    model = search.estimator.__class__(**{**search.estimator.get_params(), **params})
    fit_weights = {} if weights is None else {"sample_weight": weights[train]}
    model.fit(X[train], y[train], **fit_weights)
    values = getattr(model, response)(X[test])
    two = response == "predict_proba" and values.shape[1] == 2
    return values[:, 1] if two else values


def compare(
    monkeypatch,
    search,
    X,
    y,
    score,
    response="predict",
    weights=None,
    groups=None,
    n=40,
):
    monkeypatch.setattr("skrobustbo.model_selection._bootstrap.N_REPLICATES", n)
    monkeypatch.setattr("skrobustbo.model_selection._bootstrap.N_SLOW", n)
    params = {} if groups is None else {"groups": groups}
    params |= {} if weights is None else {"sample_weight": weights}
    search.fit(X, y, **params)
    search.n_replicates, search.groups = n, groups
    score_weights = weights if scores_are_weighted else None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        mean, interval = slowly(
            search, X, y, score, response, weights, score_weights, groups
        )
    assert search.honest_score_ == pytest.approx(mean, rel=1e-5, abs=1e-6)
    assert search.honest_interval_ == pytest.approx(tuple(interval), rel=1e-5, abs=1e-6)
    assert interval[0] < search.honest_score_ < interval[1]


def accuracy(y, p, w):
    return accuracy_score(y, p, sample_weight=w) if len(y) else math.nan


def classes_known(y, p, w):
    return -log_loss(y, p, labels=[0, 1], sample_weight=w) if len(y) else math.nan


def area(y, p, w):
    return roc_auc_score(y, p, sample_weight=w) if len(set(y)) == 2 else math.nan


def r2(y, p, w):
    return r2_score(y, p, sample_weight=w) if len(y) > 1 else math.nan


CLASSIFIED = {
    "accuracy": (accuracy, "predict"),
    "neg_log_loss": (classes_known, "predict_proba"),
    "roc_auc": (area, "predict_proba"),
    "balanced_accuracy": (
        lambda y, p, w: balanced_accuracy_score(y, p, sample_weight=w),
        "predict",
    ),
    "f1": (lambda y, p, w: f1_score(y, p, sample_weight=w), "predict"),
    "neg_brier_score": (
        lambda y, p, w: -np.average((y - p) ** 2, weights=w),
        "predict_proba",
    ),
}


@pytest.mark.parametrize(
    "weighted", [False, pytest.param(True, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("scoring", CLASSIFIED)
def test_classifiers_by_loops(scoring, weighted, monkeypatch):
    score, response = CLASSIFIED[scoring]
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    cv = StratifiedKFold(3)
    search = make(scoring=scoring, cv=cv)
    # The slow one is called for each sample; a few samples are enough.
    n = 8 if scoring == "neg_brier_score" else 40
    compare(monkeypatch, search, X, y, score, response, weights, n=n)


REGRESSED = {
    "r2": r2,
    "neg_mean_squared_error": lambda y, p, w: (
        -mean_squared_error(y, p, sample_weight=w)
    ),
    "neg_mean_absolute_error": lambda y, p, w: (
        -mean_absolute_error(y, p, sample_weight=w)
    ),
    "neg_root_mean_squared_error": lambda y, p, w: (
        -root_mean_squared_error(y, p, sample_weight=w)
    ),
}


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("scoring", REGRESSED)
def test_regressors_by_loops(scoring, n_outputs, monkeypatch):
    answers = yr
    if n_outputs > 1:
        answers = np.stack([yr, np.cos(yr), yr + 40 * Xr[:, 0]], axis=1)
    tree = DecisionTreeRegressor(random_state=0)
    search = make(tree, scoring=scoring, cv=KFold(4))
    compare(monkeypatch, search, Xr, answers, REGRESSED[scoring])


def test_groups_are_drawn_together(monkeypatch):
    groups = np.random.default_rng(1).integers(12, size=len(y))
    search = make(scoring="accuracy", cv=GroupKFold(3))
    compare(monkeypatch, search, X, y, accuracy, groups=groups)
    alone = make(scoring="accuracy", cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert alone.honest_score_ == search.honest_score_


@pytest.mark.parametrize(
    "cv",
    [
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),  # tested twice
        ShuffleSplit(4, test_size=0.1, random_state=0),  # or never, or often
        pytest.param(LeaveOneOut(), marks=pytest.mark.slow),
    ],
)
def test_rows_that_are_tested_more_or_less_than_once(cv, monkeypatch):
    search = make(scoring="accuracy", cv=cv, n_iter=4)
    compare(monkeypatch, search, X[:40], y[:40], accuracy, n=20)


def test_folds_of_one_class_do_not_count(monkeypatch):
    rare = np.zeros(60, dtype=int)
    rare[::10] = 1  # two in each fold: bags without any are common
    space, cv = {"n_neighbors": Integer(1, 20)}, StratifiedKFold(3)
    search = make(KNeighborsClassifier(), space, scoring="roc_auc", cv=cv)
    compare(monkeypatch, search, X[:60], rare, area, "predict_proba")


def test_rules_are_scikit_learns_metrics():
    """With settings, weights, many labels and ties, as for each sample alone."""
    rng = np.random.default_rng(0)
    y, weights = rng.integers(3, size=30), rng.uniform(0.1, 2, 30)
    guesses = [
        np.where(rng.random(30) < 0.5, y, rng.integers(4, size=30)) for _ in "ab"
    ]
    draws = rng.integers(3, size=(5, 30))
    cases = [
        (f1_score, {"average": "macro"}, 1),
        (f1_score, {"average": "micro", "pos_label": None}, 1),
        (f1_score, {"average": "weighted"}, 1),
        (precision_score, {"average": "macro"}, 1),
        (recall_score, {"average": "weighted"}, -1),
        (balanced_accuracy_score, {}, 1),
    ]
    for function, settings, sign in cases:
        metric = Metric(function, sign, settings, {"sample_weight": weights})
        folds = FoldScores(metric, y, guesses, np.arange(30))
        assert folds.is_fast
        with np.errstate(invalid="ignore"):  # of labels that were not drawn
            found = folds.all(draws)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            slow = [[folds._score(i, drawn) for i in range(2)] for drawn in draws]
        np.testing.assert_allclose(found, slow, rtol=1e-12)
    odd = Metric(fbeta_score, 1, {"beta": 2, "average": "macro"}, {})
    assert not FoldScores(odd, y, guesses, np.arange(30)).is_fast
    other = Metric(f1_score, 1, {"average": None}, {})
    assert not FoldScores(other, y, guesses, np.arange(30)).is_fast


# The search itself --------------------------------------------------------------------


class Counted(DecisionTreeClassifier):
    n_fits = n_predicts = 0

    # With the parameters of the base class, for which scikit-learn has metadata.
    def fit(self, X, y, sample_weight=None, check_input=True):
        Counted.n_fits += 1
        return super().fit(X, y, sample_weight, check_input)

    def predict(self, X, check_input=True):
        Counted.n_predicts += 1
        return super().predict(X, check_input)


def timeless(results):
    return {k: np.ma.getdata(v).tolist() for k, v in results.items() if "time" not in k}


# The luck of the winner ---------------------------------------------------------------


def bags_of(*columns):
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def drawn(rng, rows, n=200):
    """Return the means of some candidates' rows, and those of bootstrap samples."""
    n_rows = np.shape(rows)[1]
    counts = rng.multinomial(n_rows, [1 / n_rows] * n_rows, size=n)
    return np.mean(rows, axis=1), counts @ np.transpose(rows) / n_rows


def test_a_single_candidate_is_not_lucky():
    bags = np.random.default_rng(0).normal(size=(100, 1))
    score, (low, high) = score_of_winner(np.array([0.3]), bags, 50)
    assert score == pytest.approx(0.3)
    ends = np.quantile(bags - bags.mean(), [0.025, 0.975])
    ends *= student.ppf(0.975, 49) / norm.ppf(0.975)
    assert (low, high) == pytest.approx(tuple(0.3 + ends))


def test_candidates_that_never_differ_are_not_lucky():
    bags = np.full((20, 4), 0.5)
    assert score_of_winner(bags[0], bags, 20) == (0.5, (0.5, 0.5))
    one = np.random.default_rng(0).random(200)
    equal = bags_of(*(one * (1 + k * 2.0**-52) for k in range(8)))
    score = score_of_winner(equal.mean(axis=0), equal, 50).score
    assert score == pytest.approx(one.mean(), rel=1e-14)


@pytest.mark.parametrize("gap", [0.0, 0.5, 1.0, 1.8, 3.5])
def test_of_two_candidates_the_better_one_is_shrunk(gap):
    """By the luck of choices with the observed gap, times the root of two."""
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 100_000))
    error = math.sqrt(2)
    whole = np.array([gap * error, 0.0])
    found = score_of_winner(whole, bags_of(one, other), 100_000).score
    luck = error * norm.pdf(gap)  # half of it in the bags that each of them wins
    expected = whole[0] - math.sqrt(2) * luck
    assert found == pytest.approx(expected, abs=0.02)


def test_candidates_with_equal_predictions_count_once():
    rng = np.random.default_rng(0)
    whole, bags = drawn(rng, rng.normal(size=(6, 100)))
    twice = np.r_[np.arange(6), 2, 3, 3]
    once = score_of_winner(whole, bags, 100)
    assert score_of_winner(whole[twice], bags[:, twice], 100) == (
        pytest.approx(once.score),
        pytest.approx(once.interval),
    )


def test_candidates_that_are_far_behind_do_not_count():
    rng = np.random.default_rng(0)
    whole, bags = drawn(rng, rng.normal(size=(8, 100)))
    behind = np.append(whole, -5.0), np.column_stack([bags, rng.normal(-5, 1, 200)])
    wild = np.append(whole, -5.0), np.column_stack([bags, rng.normal(-5, 0.1, 200)])
    once = score_of_winner(whole, bags, 100).score
    assert score_of_winner(*wild, 100).score == pytest.approx(once)
    assert score_of_winner(*behind, 100).score == pytest.approx(once)


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_the_unit_of_scores_does_not_matter(scale):
    bags = np.random.default_rng(0).normal(size=(100, 6)).cumsum(axis=1)
    of_all = bags.mean(axis=0)
    expected = score_of_winner(of_all, bags, 100)
    found = score_of_winner(scale * of_all, scale * bags, 100)
    assert found.score / scale == pytest.approx(expected.score)
    assert np.divide(found.interval, scale) == pytest.approx(expected.interval)


@pytest.mark.parametrize("undefined", [math.nan, math.inf, -math.inf])
def test_bags_that_are_undefined_do_not_count(undefined):
    bags = np.random.default_rng(0).normal(size=(101, 4))
    some = bags.copy()
    some[7, 2] = undefined
    found = score_of_winner(bags.mean(axis=0), some, 100)
    expected = score_of_winner(bags.mean(axis=0), np.delete(bags, 7, axis=0), 100)
    assert found == expected
    assert found.interval[0] < found.score < found.interval[1]
    some[:] = undefined
    none = score_of_winner(bags.mean(axis=0), some, 100)
    assert np.isnan([none.score, *none.interval]).all()


@pytest.mark.parametrize(("m", "left"), [(20, 0.3), (150, 0.15)])
def test_candidates_that_cannot_be_told_apart_share_a_correction(m, left):
    """All are equally good; the best is ahead by luck alone."""
    rng = np.random.default_rng(0)
    best, found, covered = [], [], []
    for _ in range(300 if m < 100 else 50):
        whole, bags = drawn(rng, rng.normal(size=(m, 100)))
        estimate = score_of_winner(whole, bags, 100)
        best.append(whole.max())
        found.append(estimate.score)
        covered.append(estimate.interval[0] <= 0 <= estimate.interval[1])
    assert abs(np.mean(found)) < left * np.mean(best)
    assert 0.92 < np.mean(covered) <= 1


def test_scores_that_differ_are_corrected_a_little_too_much():
    """True scores spread as much as their noise, so half of the lead is luck."""
    rng = np.random.default_rng(0)
    luck, found = [], []
    for _ in range(200):
        true = rng.normal(size=(20, 1)) / math.sqrt(200)
        whole, bags = drawn(rng, true + rng.normal(size=(20, 200)), n=1000)
        luck.append(whole.max() - true[np.argmax(whole), 0])
        found.append(whole.max() - score_of_winner(whole, bags, 200).score)
    # With v = 2, the factor is the root of 2, and that of 3 / 2 would do.
    too_much = math.sqrt(4 / 3)
    assert np.mean(found) == pytest.approx(too_much * np.mean(luck), rel=0.1)


def test_a_smooth_score_is_corrected():
    """A bowl whose top depends on the rows: a step is noise in its slope."""
    rng = np.random.default_rng(0)
    d, n_rows = 8, 100
    best, found = [], []
    for _ in range(100):
        places = rng.uniform(-2, 2, size=(200, d)) * rng.random((200, 1))
        slopes = rng.normal(size=(n_rows, d))
        bowl = -(places**2).sum(axis=1) / 2 / math.sqrt(n_rows)
        whole, bags = drawn(rng, bowl[:, None] + places @ slopes.T)
        truth = bowl[np.argmax(whole)]
        best.append(whole.max() - truth)
        found.append(score_of_winner(whole, bags, n_rows).score - truth)
    assert abs(np.mean(found)) < 0.3 * np.mean(best)


def test_luck_that_a_search_has_followed_is_corrected_in_part():
    """Each candidate is like the best before, and shares its luck: the truth is 0."""
    rng = np.random.default_rng(0)
    n_rows, n_first, n_more, step = 60, 5, 25, 0.5
    best_scores, found = [], []
    for _ in range(200):
        rows = list(rng.normal(size=(n_first, n_rows)))
        for _ in range(n_more):
            best = rows[int(np.argmax([one.mean() for one in rows]))]
            other = rng.normal(size=n_rows)
            rows.append(math.sqrt(1 - step**2) * best + step * other)
        of_all, bags = drawn(rng, rows)
        best_scores.append(of_all.max())
        found.append(score_of_winner(of_all, bags, n_rows).score)
    assert 0.5 < np.mean(found) / np.mean(best_scores) < 0.75


def test_of_a_few_rows_that_matter_the_spread_is_known_from_few():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=2000)
    mean = rows.mean()
    assert effective(2000, mean - rows / 2000) == pytest.approx(2000, rel=0.15)
    rare = np.where(np.arange(2000) < 40, rows, 0.01 * rows)  # 2 % have the variance
    known_from = effective(2000, rare.mean() - rare / 2000)
    assert 15 < known_from < 40
    assert effective(2000, np.full(2000, 0.3)) == 2000
    some = np.append(mean - rows / 2000, [math.nan, math.inf])
    assert effective(2000, some) == effective(2000, some[:-2])
    assert effective(2, np.array([0.0, 1.0])) == 2
    assert effective(500, np.eye(500)[0]) == pytest.approx(2, rel=0.01)
    bags = mean + rng.normal(size=(400, 1)) / math.sqrt(2000)
    few, many = (score_of_winner(bags[0], bags, n).interval for n in (10, 2000))
    factor = student.ppf(0.975, 9) / student.ppf(0.975, 1999)
    assert np.ptp(few) == pytest.approx(factor * np.ptp(many))


def test_the_interval_is_that_of_the_widest_near_the_winner():
    rng = np.random.default_rng(0)
    narrow, wide, far = rng.normal(size=(3, 500))
    bags = bags_of(0.1 * narrow, wide - 0.5, 9 * far - 60)
    whole = np.array([0.0, -0.5, -60.0])
    low, high = score_of_winner(whole, bags, 500).interval
    alone = score_of_winner(whole[:1], bags[:, :1], 500).interval
    assert high - low > 5 * (alone[1] - alone[0])
    without = score_of_winner(whole[::2], bags[:, ::2], 500).interval
    assert np.ptp(without) == pytest.approx(np.ptp(alone))


@pytest.mark.parametrize("width", [0.0, 1e-17, 1e-6])
def test_a_winner_whose_scores_hardly_spread_has_a_finite_interval(width):
    rng = np.random.default_rng(0)
    narrow, wide = rng.normal(size=(2, 500))
    bags = bags_of(width * narrow, 0.1 * wide - 0.05)
    score, (low, high) = score_of_winner(np.array([0.0, -0.05]), bags, 100)
    assert low <= score <= high
    assert high - low < 0.6


def test_the_interval_contains_the_score():
    bags = np.tile([-0.1, -0.11], (1000, 1))
    bags[:10] -= 1000.0
    score, (low, high) = score_of_winner(np.array([-0.1, -0.11]), bags, 100)
    assert low <= score <= high


@pytest.mark.parametrize("scale", [1e160, 1e300])
def test_huge_scores_have_an_interval(scale):
    bags = np.random.default_rng(0).normal(size=(100, 3)) * scale
    score, interval = score_of_winner(bags.mean(axis=0), bags, 100)
    assert np.isfinite([score, *interval]).all()


# Effects on a search ------------------------------------------------------------------


@pytest.mark.parametrize(
    "scoring", [None, "accuracy", ["accuracy", "f1"], make_scorer(accuracy_score)]
)
def test_the_search_is_the_same_and_nothing_is_done_twice(scoring):
    seen = []
    refit = "f1" if isinstance(scoring, list) else True
    for setting in (False, True, "folds"):
        Counted.n_fits = Counted.n_predicts = 0
        search = make(Counted(random_state=0), honest_score=setting, scoring=scoring)
        search.set_params(refit=refit, return_train_score=True).fit(X, y)
        seen.append(
            (
                str(timeless(search.cv_results_)),
                search.best_score_,
                Counted.n_fits,
                Counted.n_predicts,
                list(search.cv_results_),
            )
        )
        assert hasattr(search, "honest_score_") == bool(setting)
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][2] == 8 * 3 + 1


def test_an_optimism_is_not_that_of_an_earlier_fit():
    search = make(n_iter=4).fit(X, y)
    assert hasattr(search, "honest_optimism_")
    search.set_params(refit=lambda results: 0).fit(X, y)
    assert math.isfinite(search.honest_score_)
    assert not hasattr(search, "honest_optimism_")


def test_scores_and_their_interval():
    search = make().fit(X, y)
    low, high = search.honest_interval_
    assert low < search.honest_score_ < high
    assert type(search.honest_score_) is type(low) is float
    assert search.honest_optimism_ == search.best_score_ - search.honest_score_
    search.set_params(honest_score=False).fit(X, y)
    assert not [name for name in vars(search) if name.startswith("honest_score_")]
    assert not hasattr(search, "honest_interval_")
    assert not hasattr(search, "honest_optimism_")


def test_no_interval_goes_beyond_the_largest_score():
    clear, answers = make_classification(60, 6, class_sep=2, flip_y=0, random_state=0)
    search = make(scoring="roc_auc").fit(clear, answers)
    assert search.honest_interval_[1] == 1
    losses = make(scoring="neg_brier_score", n_iter=3).fit(clear, answers)
    assert losses.honest_interval_[1] <= 0
    both = make(scoring=["neg_log_loss", "roc_auc"], search_metric="neg_log_loss")
    assert both.set_params(refit="roc_auc").fit(clear, answers).honest_interval_[1] > 0


@pytest.mark.slow
def test_the_number_of_jobs_does_not_matter():
    one, two = (make(n_jobs=n, batch_size=2).fit(X, y) for n in (1, 2))
    assert one.honest_score_ == two.honest_score_
    assert one.honest_interval_ == two.honest_interval_


@pytest.mark.slow
def test_noise_has_an_honest_score_of_a_half():
    rng, found = np.random.default_rng(0), []
    space = {"max_depth": Integer(1, 8), "max_features": Real(0.1, 1)}
    for seed in range(12):
        noise, labels = rng.normal(size=(100, 8)), rng.permutation([0, 1] * 50)
        search = make(space=space, n_iter=20, policy="random", random_state=seed)
        search.fit(noise, labels)
        found.append((search.best_score_, search.honest_score_))
    best, honest = np.mean(found, axis=0)
    assert best > 0.56
    assert abs(honest - 0.5) < 0.03


@pytest.mark.parametrize(
    ("refit", "metric"), [("f1", "f1"), ("accuracy", "accuracy"), (False, "roc_auc")]
)
def test_of_several_metrics_it_is_that_of_refit(refit, metric):
    several = ["accuracy", "f1", "roc_auc"]
    search = make(scoring=several, refit=refit, search_metric="roc_auc", cv=3)
    alone = make(scoring=metric, policy="random", honest_score=True)
    search.set_params(policy="random").fit(X, y)
    alone.fit(X, y)
    assert search.honest_score_ == alone.honest_score_
    assert hasattr(search, "honest_optimism_") == bool(refit)


def test_with_a_callable_refit_it_is_of_the_highest_score():
    search = make(refit=lambda results: 0, policy="random").fit(X, y)
    assert search.honest_score_ == make(policy="random").fit(X, y).honest_score_
    assert not hasattr(search, "honest_optimism_")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize("error_score", [np.nan, 0.01])
def test_candidates_that_fail_are_left_out(error_score):
    space = {"criterion": Categorical(["gini", "entropy", "nonsense"])}
    space["max_depth"] = Integer(1, 8)
    search = make(space=space, policy="random", n_iter=12, error_score=error_score)
    search.fit(X, y)
    means = search.cv_results_["mean_test_score"]
    fine = np.isfinite(means) & ~np.isclose(means, error_score)
    assert 0 < fine.sum() < 12
    assert 0.5 < search.honest_score_ < 0.9
    search.set_params(honest_score="folds").fit(X, y)
    folds = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(3)])
    assert search.honest_score_ == pytest.approx(corrected(folds.T[fine]))


def test_kinds_of_predictions():
    names = np.array(["no", "yes"])[y]
    three = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 1)]
    pipe = make_pipeline(StandardScaler(), SVC())
    cases = [
        (DecisionTreeClassifier(), TREE, names, None),
        (DecisionTreeClassifier(), TREE, three, "neg_log_loss"),
        (DecisionTreeClassifier(), TREE, np.stack([y, 1 - y], axis=1), "accuracy"),
        (DecisionTreeRegressor(), TREE, y * 10, None),
        (pipe, {"svc__C": Real(0.1, 10)}, names, None),
        (pipe, {"svc__C": Real(0.1, 10)}, names, "roc_auc"),
        (pipe, {"svc": [SVC(), LogisticRegression()]}, names, None),
        (DecisionTreeClassifier(), TREE, three.tolist(), "f1_macro"),
    ]
    for estimator, space, answers, scoring in cases:
        search = make(estimator, space, scoring=scoring, n_iter=2).fit(X, answers)
        low, high = search.honest_interval_
        assert low <= search.honest_score_ <= high


def test_small_differences_are_kept():
    """Float32 if it does not change the score, otherwise float64."""
    sure = {"var_smoothing": Real(1e-12, 1e-9, log=True)}
    far = X * [1, 1, 1, 40, 40, 40] + y[:, None] * np.linspace(0, 50, 6)
    for data, answers in ((far, y), (far, 1 - y)):
        search = make(GaussianNB(), sure, scoring="neg_log_loss", n_iter=2)
        search.fit(data, answers)
        assert abs(search.honest_optimism_) < abs(search.best_score_) + 0.2
    large = yr + 1e9
    neighbours = {"n_neighbors": Integer(1, 9)}
    found = [
        make(KNeighborsRegressor(), neighbours, scoring="r2", n_iter=4).fit(Xr, each)
        for each in (yr, large)
    ]
    assert found[0].honest_score_ == pytest.approx(found[1].honest_score_, abs=1e-4)


def test_weights_are_routed_to_the_scorer():
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    plain = make(scoring="accuracy").fit(X, y, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight="heft")
        tree = DecisionTreeClassifier(random_state=0)
        tree.set_fit_request(sample_weight="heft")
        routed = make(tree, scoring=scorer).fit(X, y, heft=weights)
        several = make(tree, scoring={"a": scorer, "f1": "f1"}, refit="a")
        several.fit(X, y, heft=weights)
    assert routed.honest_score_ == several.honest_score_
    assert (routed.honest_score_ == plain.honest_score_) == scores_are_weighted


class Nearest(KNeighborsClassifier):
    """A user's class that does not change the score."""


NEAREST = {"n_neighbors": Integer(1, 20)}
STEPS = make_pipeline(StandardScaler(), KNeighborsClassifier())


@pytest.mark.parametrize(
    ("estimator", "space", "scoring"),
    [
        (KNeighborsClassifier(), NEAREST, "accuracy"),
        (Nearest(), NEAREST, "accuracy"),
        (
            RadiusNeighborsClassifier(outlier_label=0),
            {"radius": Real(1, 9)},
            "accuracy",
        ),
        (
            DummyClassifier(random_state=0),
            {"strategy": ["prior", "uniform"]},
            "accuracy",
        ),
        (DummyRegressor(), {"strategy": ["mean", "median"]}, "r2"),
        (STEPS, {"kneighborsclassifier__n_neighbors": Integer(1, 20)}, "accuracy"),
        (
            make_pipeline(StandardScaler(), STEPS),
            {"pipeline__kneighborsclassifier__n_neighbors": Integer(1, 20)},
            "accuracy",
        ),
        (
            STEPS,
            {"kneighborsclassifier": [KNeighborsClassifier(), SVC()]},
            "accuracy",
        ),
    ],
)
def test_scores_of_estimators_that_are_those_of_scikit_learns_mixins(
    estimator, space, scoring
):
    own, named, off = (
        make(estimator, space, n_iter=2, scoring=name, honest_score=on).fit(X, y)
        for name, on in ((None, True), (scoring, True), (None, False))
    )
    assert own.honest_score_ == named.honest_score_
    assert own.honest_interval_ == named.honest_interval_
    assert own.best_score_ == off.best_score_


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_every_score_that_is_taken_for_a_metric_is_one(kind):
    metric, mixin, answers = {
        "classifier": (accuracy_score, ClassifierMixin, y),
        "regressor": (r2_score, RegressorMixin, y + 1.0),
    }[kind]
    taken = set()
    for name, estimator_class in all_estimators(type_filter=kind):
        if getattr(estimator_class, "score", mixin.score) is mixin.score:
            continue
        with suppress(TypeError):  # of those that need other estimators
            estimator = estimator_class()
            scorer = _scorer_like_own(estimator, Space({"a": [1, 2]}))
            if scorer is not None:
                found = estimator.fit(X, answers)
                assert found.score(X, answers) == metric(answers, found.predict(X))
                taken.add(name)
    near = {"KNeighborsClassifier", "RadiusNeighborsClassifier"}
    assert taken - near == {f"Dummy{kind.title()}"}
    # In some versions of scikit-learn, their score is that of the mixin itself.
    for estimator_class in (KNeighborsClassifier, RadiusNeighborsClassifier):
        assert _scorer_like_own(estimator_class(), Space({"a": [1, 2]})) is not None


def test_catboost_scores_by_accuracy():
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(
        iterations=4, verbose=0, thread_count=1, allow_writing_files=False
    )
    three = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 1)]
    for answers in (y, three):
        own, named = (
            make(model, {"depth": Integer(1, 4)}, n_iter=2, scoring=scoring)
            for scoring in (None, "accuracy")
        )
        assert own.fit(X, answers).honest_score_ == named.fit(X, answers).honest_score_
        scores = own.set_params(honest_score=False).fit(X, answers).best_score_
        assert scores == named.best_score_


# Targets in a single column -----------------------------------------------------------


def in_a_frame(values):
    return pytest.importorskip("pandas").DataFrame({"target": values})


LINES = {"alpha": Real(1, 100)}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("shaped", [lambda y: y[:, None], in_a_frame])
@pytest.mark.parametrize(
    ("estimator", "space", "scoring"),
    [
        *[(None, None, name) for name in ("accuracy", "balanced_accuracy", "f1")],
        *[(None, None, name) for name in ("roc_auc", "neg_log_loss", None)],
        (None, None, "matthews_corrcoef"),
        (KNeighborsClassifier(), NEAREST, None),
        (Ridge(), LINES, "r2"),
        (Ridge(), LINES, "neg_root_mean_squared_error"),
        (Ridge(), LINES, "neg_median_absolute_error"),
    ],
)
def test_targets_in_one_column_change_nothing(estimator, space, scoring, shaped):
    settings = {"scoring": scoring, "policy": "random", "cv": GroupKFold(3)}
    flat, column = (make(estimator, space, n_iter=2, **settings) for _ in range(2))
    groups = np.repeat(np.arange(30), 3)
    flat.fit(X, y, groups=groups)
    column.fit(X, shaped(y), groups=groups)
    assert column.best_score_ == pytest.approx(flat.best_score_)
    assert column.honest_score_ == pytest.approx(flat.honest_score_)
    # As many bags as for a metric with a rule show that it was used.
    assert column.honest_interval_ == pytest.approx(flat.honest_interval_)


def test_predictions_in_one_column_change_nothing():
    alone = DecisionTreeClassifier(random_state=0)
    several = MultiOutputClassifier(alone)
    column, flat = (
        make(estimator, {name: Integer(1, 8)}, scoring="accuracy", policy="random")
        for estimator, name in ((several, "estimator__max_depth"), (alone, "max_depth"))
    )
    column.fit(X, y[:, None])
    flat.fit(X, y)
    assert column.honest_score_ == flat.honest_score_
    assert column.honest_interval_ == flat.honest_interval_


# Refusals -----------------------------------------------------------------------------


def own(estimator, X, y):
    return accuracy_score(y, estimator.predict(X))


@pytest.mark.parametrize(
    ("estimator", "space", "y", "scoring", "got"),
    [
        (Fake(), {"a": Real(0, 1)}, y, None, "the estimator's own score, Fake.score"),
        (Fake(), {"a": Real(0, 1)}, y, own, "the scoring <function own"),
        (None, None, y, {"own": own}, "the scoring {'own'"),
        (KMeans(), {"n_clusters": Integer(2, 5)}, None, None, "no y"),
        (
            MultiOutputClassifier(DecisionTreeClassifier()),
            {"estimator__max_depth": Integer(1, 5)},
            np.stack([y, y], axis=1),
            None,
            "own score, MultiOutputClassifier.score",
        ),
        (
            make_pipeline(StandardScaler(), SVC()),
            {"svc": [SVC(), Ridge()]},
            y,
            None,
            "own score, Pipeline.score",
        ),
    ],
)
def test_without_predictions_of_rows(estimator, space, y, scoring, got, monkeypatch):
    def fit_and_score(**settings):
        raise AssertionError

    monkeypatch.setattr("skrobustbo.evaluation._folds.fit_and_score", fit_and_score)
    settings = {"refit": "own"} if isinstance(scoring, dict) else {}
    search = make(estimator, space, scoring=scoring, **settings)
    with pytest.raises(ValueError, match=r"honest_score='folds'") as error:
        search.fit(X, y)
    assert got in str(error.value)


def walk_forward(masks=False, negative=False, backwards=False):
    """Return splits that train on the rows before those they test."""
    for start in (30, 50, 70):
        train, test = np.arange(start), np.arange(start, start + 20)
        if masks:
            yield np.isin(np.arange(90), train), np.isin(np.arange(90), test)
        else:
            order = slice(None, None, -1 if backwards else 1)
            yield train[order], (test - 90 * negative)[order]


class Panel(KFold):
    """A user's splitter."""

    def split(self, X, y=None, groups=None):
        return walk_forward()


IN_TIME = {
    "sklearn": TimeSeriesSplit(4),
    "gap": TimeSeriesSplit(3, gap=5, max_train_size=20, test_size=10),
    "predefined": PredefinedSplit(np.repeat([-1, 0], 45)),
    "iterable": list(walk_forward()),
    "generator": walk_forward,
    "lists": [(a.tolist(), b.tolist()) for a, b in walk_forward()],
    "masks": list(walk_forward(masks=True)),
    "negative": list(walk_forward(negative=True)),
    "backwards": list(walk_forward(backwards=True)),
    "newest first": [(89 - train, 89 - test) for train, test in walk_forward()],
    "custom": Panel(3),
}


@pytest.mark.parametrize("name", IN_TIME)
def test_splits_in_the_order_of_time(name, tmp_path):
    cv, path = IN_TIME[name], tmp_path / "search.ckpt"
    Counted.n_fits = 0
    search = make(Counted(), cv=cv() if callable(cv) else cv, checkpoint=path)
    with pytest.raises(ValueError, match=r"'honest_score'.*honest_score='folds'"):
        search.fit(X, y)
    assert Counted.n_fits == 0
    assert not path.exists()
    search.set_params(cv=cv() if callable(cv) else cv, honest_score="folds").fit(X, y)
    assert math.isnan(search.honest_score_) == (search.n_splits_ == 1)


@pytest.mark.parametrize(
    "cv",
    [
        KFold(3),
        PredefinedSplit(np.repeat([0, 1], 45)),
        [*walk_forward(), (np.arange(20, 90), np.arange(20))],
        [*walk_forward(), (np.arange(50, 90), np.arange(50))],
    ],
)
def test_other_splits_are_not_in_the_order_of_time(cv):
    assert math.isfinite(make(cv=cv, n_iter=2).fit(X, y).honest_score_)


def test_a_setting_that_is_none():
    with pytest.raises(ValueError, match=r"'honest_score'.*'folds'"):
        make(honest_score="rows").fit(X, y)


class Undecided(DecisionTreeClassifier):
    """Predicts labels that are not in y."""

    def predict(self, X):
        return np.full(len(X), "?", dtype=object)


def test_predictions_that_cannot_be_kept():
    search = make(Undecided(), scoring="accuracy", n_iter=3)
    with pytest.warns(UserWarning, match="honest_score='folds'"):
        search.fit(X, np.array(["a", "b"])[y])
    assert math.isnan(search.honest_score_)
    assert np.isnan(search.honest_interval_).all()


# From the scores of the folds ---------------------------------------------------------


def test_folds_by_loops():
    search = make(honest_score="folds", cv=4, random_state=2).fit(X, y)
    folds = [search.cv_results_[f"split{k}_test_score"] for k in range(4)]
    gaps = [max(fold) - fold[search.best_index_] for fold in folds]
    expected = search.best_score_ - sum(gaps) / 4
    assert search.honest_score_ == pytest.approx(expected, abs=1e-12)
    assert search.honest_optimism_ > 0
    assert np.isnan(search.honest_interval_).all()


def test_folds_need_no_predictions():
    def both(estimator, X, y):
        return {"own": own(estimator, X, y), "other": 0.0}

    search = make(honest_score="folds", scoring=both, refit="own").fit(X, y)
    assert 0.5 < search.honest_score_ <= search.best_score_
    space = {"n_clusters": Integer(2, 6)}
    clusters = make(KMeans(n_init=1, random_state=0), space, honest_score="folds")
    assert clusters.fit(X).honest_score_ <= clusters.best_score_
    single = make(honest_score="folds", cv=ShuffleSplit(1, random_state=0)).fit(X, y)
    assert math.isnan(single.honest_score_)
