"""Models that continue from those fitted with less of the resource."""

import pickle
import warnings
from typing import ClassVar

import numpy as np
import pytest
from joblib import parallel_config
from numpy.random import RandomState
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.feature_selection import RFECV
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fake_estimators import Fake, search_of
from runs import assert_same
from skrobustbo import Integer, Real, Resource
from skrobustbo.evaluation import _warm
from skrobustbo.evaluation._warm import goes_on

X, y = load_iris(return_X_y=True)
AMOUNTS = [2, 6, 18]


class Ensemble(Fake):
    """An ensemble whose members are steps; each fit records its start and end.

    The score is wrong if its steps differ from the recorded ones.
    """

    fits: ClassVar[list] = []

    def __init__(
        self, a=0.0, n_estimators=18, warm_start=True, random_state=0, fail_from=2.0
    ):
        self.a = a
        self.n_estimators = n_estimators
        self.warm_start = warm_start
        self.random_state = random_state
        self.fail_from = fail_from

    def fit(self, X, y=None):
        n_before = getattr(self, "n_steps_", 0) if self.warm_start else 0
        Ensemble.fits.append((n_before, self.n_estimators))
        if self.a >= self.fail_from:
            raise ValueError("too large")
        rows = getattr(self, "rows_", X) if n_before else X
        assert np.array_equal(rows, X), "models of another fold"
        self.n_steps_, self.rows_ = self.n_estimators, X
        return super().fit(X, y)

    def score(self, X, y=None):
        assert self.n_steps_ == self.n_estimators
        noise = np.sin(1e4 * float(np.sum(X[:, 0])))
        return -((self.a - 0.3) ** 2) - 1 / self.n_steps_ + 0.01 * noise


def search(estimator=None, space=None, **settings):
    given = {"n_iter": 6, "resource": Resource("n_estimators", min=2), **settings}
    estimator = Ensemble() if estimator is None else estimator
    return search_of(estimator, space or {"a": Real(-1, 1)}, **given)


@pytest.fixture
def fits(monkeypatch):
    """Return the records of ensemble fits: members before and after."""
    monkeypatch.setattr(Ensemble, "fits", [])
    return lambda: Ensemble.fits


def test_promoted_candidates_go_on_and_all_else_is_the_same(fits):
    ours = search(Ensemble()).fit(X, y)
    went_on = [fit for fit in fits() if fit[0]]
    assert {(2, 6), (6, 18)} <= set(went_on) <= {(2, 6), (6, 18), (2, 18)}
    labels = list(ours.cv_results_["model_label"])
    assert len(went_on) == 3 * labels.count("promoted")
    assert fits()[-1] == (0, 18)  # the final one, on all rows
    assert_same(ours, search(Ensemble(warm_start=False)).fit(X, y))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(18, max_depth=2, random_state=0, warm_start=True),
        ExtraTreesClassifier(18, max_depth=2, random_state=0, warm_start=True),
        BaggingClassifier(None, 18, max_samples=0.1, random_state=0, warm_start=True),
        GradientBoostingClassifier(
            n_estimators=18, subsample=0.5, random_state=0, warm_start=True
        ),
        HistGradientBoostingClassifier(max_iter=18, random_state=0, warm_start=True),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_go_on_are_those_fitted_anew(model, monkeypatch):
    name = "max_iter" if hasattr(model, "max_iter") else "n_estimators"
    leaf = next(p for p in ("min_samples_leaf", "max_features") if hasattr(model, p))
    space = {leaf: Integer(1, 12) if leaf == "min_samples_leaf" else Real(0.3, 1)}
    settings = {"resource": name, "n_iter": 3, "return_train_score": True}
    settings["refit"] = False
    took = []
    monkeypatch.setattr(
        "skrobustbo.evaluation._folds.with_model",
        lambda *given: took.append(given) or _warm.with_model(*given),
    )
    ours = search(model, space, **settings).fit(X, y)
    assert took
    n_took = len(took)
    model.set_params(warm_start=False)
    expected = search(model, space, **settings).fit(X, y)
    assert len(took) == n_took
    assert_same(ours, expected)


def test_a_step_of_a_pipeline_goes_on(monkeypatch):
    forest = RandomForestClassifier(18, random_state=0, warm_start=True)
    space = {"randomforestclassifier__max_depth": Integer(1, 5)}
    settings = {"resource": "randomforestclassifier__n_estimators", "n_iter": 3}
    packs = []
    packed = _warm.packed
    monkeypatch.setattr(
        "skrobustbo.evaluation._folds.packed",
        lambda *given: packs.append(packed(*given)) or packs[-1],
    )
    ours = search(make_pipeline(StandardScaler(), forest), space, **settings).fit(X, y)
    assert packs
    assert all(packs)
    forest.set_params(warm_start=False)
    anew = search(make_pipeline(StandardScaler(), forest), space, **settings).fit(X, y)
    assert_same(ours, anew)


@pytest.mark.parametrize(
    ("model", "resource", "expected"),
    [
        (RandomForestClassifier(random_state=0), "n_estimators", False),
        (RandomForestClassifier(warm_start=True), "n_estimators", False),
        (
            RandomForestClassifier(random_state=np.int64(3), warm_start=True),
            "n_estimators",
            True,
        ),
        (IsolationForest(random_state=0, warm_start=True), "n_estimators", True),
        (
            GradientBoostingClassifier(
                random_state=0, warm_start=True, n_iter_no_change=3
            ),
            "n_estimators",
            False,
        ),
        (SGDClassifier(random_state=0, warm_start=True), "max_iter", False),
        (MLPClassifier(random_state=0, warm_start=True), "max_iter", False),
    ],
)
def test_only_what_ends_the_same_goes_on(model, resource, expected):
    assert goes_on(model, resource) is expected


@pytest.mark.parametrize(
    ("model", "resource"),
    [
        # Its own members would stay, and the inner forests are clones anyway.
        (
            BaggingClassifier(
                RandomForestClassifier(9, random_state=0, max_depth=3, warm_start=True),
                2,
                random_state=0,
                warm_start=True,
            ),
            "estimator__n_estimators",
        ),
        (
            make_pipeline(
                RandomTreesEmbedding(9, random_state=0, warm_start=True),
                SGDClassifier(random_state=0, warm_start=True, max_iter=5, tol=None),
            ),
            "randomtreesembedding__n_estimators",
        ),
        (
            make_pipeline(
                RFECV(
                    DecisionTreeClassifier(random_state=0, max_depth=4),
                    step=3,
                    cv=StratifiedKFold(3, shuffle=True, random_state=RandomState(0)),
                ),
                RandomForestClassifier(9, random_state=0, warm_start=True),
            ),
            "randomforestclassifier__n_estimators",
        ),
    ],
    ids=["outer ensemble", "later step", "random splits inside"],
)
def test_what_else_is_warm_or_random_does_not_matter(model, resource):
    rng = RandomState(0)
    data = rng.normal(size=(120, 6)), rng.randint(3, size=120)
    owner = resource.rpartition("__")[0]
    param = f"{owner}__max_depth"
    settings = {"resource": Resource(resource, min=1), "n_iter": 4}
    ours = search(clone(model), {param: Integer(1, 9)}, **settings).fit(*data)
    anew = clone(model).set_params(**{f"{owner}__warm_start": False})
    expected = search(anew, {param: Integer(1, 9)}, **settings).fit(*data)
    assert "promoted" in expected.cv_results_["model_label"]
    assert_same(ours, expected)


class Flat(Ensemble):
    """Names the parameters of its parts in its own way."""

    def __init__(self, a=0.0, part=Ensemble, part__n_estimators=18):
        self.a = a
        self.part = part
        self.part__n_estimators = part__n_estimators

    def get_params(self, deep=True):
        return {name: getattr(self, name) for name in ("a", "part", self._name)}

    def set_params(self, **params):
        vars(self).update(params)
        return self

    _name = "part__n_estimators"
    warm_start, random_state, fail_from = True, 0, 2.0
    n_estimators = property(lambda self: self.part__n_estimators)


def test_names_of_another_kind_are_no_trouble(fits):
    ours = search(Flat(), resource="part__n_estimators").fit(X, y)
    assert ours.n_resources_ == AMOUNTS
    assert not any(before for before, _ in fits())


class Unloadable(Ensemble):
    """Cannot be unpickled."""

    def __setstate__(self, state):
        raise RuntimeError("no load")


def test_models_that_cannot_be_read_back_are_fitted_anew(fits):
    ours = search(Unloadable()).fit(X, y)
    assert not any(before for before, _ in fits())
    assert_same(ours, search(Ensemble(warm_start=False)).fit(X, y))


def test_classes_stay_what_they_are(fits, monkeypatch):
    """As in a notebook, whose classes would be pickled by value."""
    monkeypatch.setattr(Ensemble, "__module__", "__main__")
    fit = Ensemble.fit
    search().fit(X, y)
    assert Ensemble.fit is fit
    assert Ensemble.fit.__globals__ is globals()


@pytest.mark.parametrize("early_stopping", [False, True])
def test_early_stopping_is_fitted_anew(early_stopping):
    model = HistGradientBoostingClassifier(
        max_iter=1, early_stopping=early_stopping, random_state=0, warm_start=True
    ).fit(X, y)
    assert goes_on(model, "max_iter") is not early_stopping


def test_models_that_are_too_large_are_forgotten(fits, monkeypatch):
    size = len(_warm.packed(Ensemble().fit(X[:100], y[:100]), "n_estimators"))
    searches, went_on = [], []
    for most in (100 * size, 4 * size, size // 2):
        monkeypatch.setattr(_warm, "_MOST", most)
        fits().clear()
        searches.append(search(n_iter=15).fit(X, y))
        went_on.append(sum(before > 0 for before, _ in fits()))
    assert went_on[0] > went_on[1] > went_on[2] == 0
    assert_same(searches[1], searches[0])
    assert_same(searches[2], searches[0])


def test_models_are_forgotten_oldest_first():
    models = _warm.WarmModels()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_warm, "_MOST", 10)
        for number in range(4):
            models.keep((number, 0), bytes(4))
    assert list(models._kept) == [(2, 0), (3, 0)]
    assert models._size == 8


@pytest.mark.parametrize("schedule", ["window", "free"])
def test_threads_and_windows(schedule):
    with parallel_config("threading", n_jobs=3):
        ours = search(schedule=schedule, batch_size=3).fit(X, y)
    if schedule == "window":
        assert_same(ours, search(schedule="window", batch_size=3).fit(X, y))


@pytest.mark.slow
def test_processes_and_time_limits(tmp_path):
    expected = search().fit(X, y)
    path = str(tmp_path / "checkpoint")
    assert_same(search(n_jobs=2, checkpoint=path).fit(X, y), expected)
    assert_same(search(fit_timeout=60.0).fit(X, y), expected)
    assert_same(search(checkpoint=path).fit(X, y), expected)


class Stop(Exception):
    """Ends a search from inside."""


@pytest.mark.parametrize("n", [4, 15, 25])
def test_a_search_that_was_cut_off_fits_anew_and_ends_the_same(n, fits, tmp_path):
    expected = search().fit(X, y)
    fits().clear()
    path = str(tmp_path / "checkpoint")
    fit = Ensemble.fit

    def stops(self, X, y=None):
        if len(fits()) == n:
            raise Stop
        return fit(self, X, y)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ensemble, "fit", stops)
        with pytest.raises(Stop):
            search(checkpoint=path, error_score="raise").fit(X, y)
    ours = search(checkpoint=path, error_score="raise").fit(X, y)
    assert_same(ours, expected)


def test_a_failed_fit_leaves_no_model(fits):
    with warnings.catch_warnings(action="ignore"):
        ours = search(Ensemble(fail_from=0.5), n_iter=8).fit(X, y)
    assert np.isnan(ours.cv_results_["resource_score"]).any()
    assert any(before for before, _ in fits())


def test_a_fitted_search_has_no_models():
    ours = search(
        RandomForestClassifier(18, random_state=0, warm_start=True),
        {"max_depth": Integer(1, 8)},
    ).fit(X, y)
    plain = search(
        RandomForestClassifier(18, random_state=0), {"max_depth": Integer(1, 8)}
    ).fit(X, y)
    size = len(pickle.dumps(plain))
    assert len(pickle.dumps(ours)) == pytest.approx(size, rel=0.01)


def test_rows_are_no_parameter():
    digits = load_digits(return_X_y=True)
    model = RandomForestClassifier(4, random_state=0, warm_start=True)
    space = {"max_depth": Integer(1, 5)}
    ours = search(model, space, resource=Resource("n_samples", min=500), n_iter=2)
    ours.fit(*digits)
    assert ours.best_estimator_.n_estimators == len(ours.best_estimator_.estimators_)


def test_the_honest_score_is_the_same():
    settings = {"honest_score": True, "n_iter": 4}
    space = {"max_depth": Integer(1, 5)}
    forest = RandomForestClassifier(18, random_state=0, warm_start=True)
    ours = search(forest, space, **settings).fit(X, y)
    forest.set_params(warm_start=False)
    expected = search(forest, space, **settings).fit(X, y)
    assert ours.honest_interval_ == expected.honest_interval_
