"""Failures in a checkpoint are reported, and fitted again on request."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo.checkpoint import CheckpointError

X, y = np.zeros((30, 1)), np.arange(30) % 2


class Moody(BaseEstimator):
    """Fails where it is told to, or until it is corrected."""

    fits: list = []  # noqa: RUF012 - of all of them
    failing = staticmethod(lambda a: False)
    nan_scores = staticmethod(lambda a: False)

    def __init__(self, a=0.0):
        self.a = a

    def fit(self, X, y=None):
        Moody.fits.append(self.a)
        if Moody.failing(self.a):
            raise RuntimeError("not corrected yet")
        return self

    def score(self, X, y=None):
        return np.nan if Moody.nan_scores(self.a) else 1 - self.a**2


@pytest.fixture(autouse=True)
def corrected():
    Moody.fits = []
    Moody.failing = Moody.nan_scores = staticmethod(lambda a: False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.ckpt"


def make(path, n_iter=8, **settings):
    return RobustBayesSearchCV(
        Moody(),
        {"a": Real(-1, 1)},
        n_iter=n_iter,
        include_default=False,
        cv=3,
        random_state=0,
        refit=False,
        checkpoint=path,
        **settings,
    )


def quietly(search):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*(fits failed|non-finite)")
        return search.fit(X, y)


def test_the_same_error_over_and_over_is_from_the_file_and_says_so(path):
    Moody.failing = staticmethod(lambda a: True)
    with pytest.raises(ValueError, match=r"All 9 fits .* first 3 .*not corrected") as e:
        make(path).fit(X, y)
    assert "checkpoint" not in str(e.value)
    begun = Moody.fits.copy()
    Moody.failing = staticmethod(lambda a: False)
    with pytest.raises(
        ValueError, match=r"9 of them in the checkpoint '.*search.ckpt'"
    ):
        make(path).fit(X, y)
    assert begun == Moody.fits
    search = make(path, retry_failed=True).fit(X, y)
    assert search.n_iter_ == 8
    assert len(Moody.fits) == 9 + 24
    assert search.best_score_ > 0.9
    with pytest.warns(UserWarning, match="failed folds were fitted again"):
        again = make(path).fit(X, y)
    assert len(Moody.fits) == 9 + 24
    for key in ("params", "mean_test_score", "model_label"):
        np.testing.assert_array_equal(again.cv_results_[key], search.cv_results_[key])


@pytest.mark.parametrize("kind", ["failing", "nan_scores"])
def test_only_what_failed_is_fitted_again(kind, path):
    setattr(Moody, kind, staticmethod(lambda a: a > 0.2))
    first = quietly(make(path))
    failed = np.isnan(first.cv_results_["mean_test_score"])
    assert 0 < failed.sum() < 8
    setattr(Moody, kind, staticmethod(lambda a: False))

    Moody.fits = []
    read = quietly(make(path))
    assert not Moody.fits
    n = 3 * failed.sum()
    says = " ".join(read.report().split())
    assert f"24 folds of 8 candidates from the checkpoint, {n} of them failed" in says
    assert "retry_failed=True fits those of the checkpoint again" in says

    second = make(path, retry_failed=True).fit(X, y)
    assert sorted(set(Moody.fits)) == sorted(
        p["a"] for p in np.array(first.cv_results_["params"])[failed]
    )
    assert len(Moody.fits) == n
    assert second.cv_results_["params"] == first.cv_results_["params"]
    assert np.isfinite(second.cv_results_["mean_test_score"]).all()
    says = " ".join(second.report().split())
    n_read = 8 - failed.sum()
    assert f"{24 - n} folds of {n_read} candidates from the checkpoint" in says
    assert "of them failed" not in second.report()


def test_what_fails_again_is_kept_as_failed_and_more_candidates_follow(path):
    Moody.failing = staticmethod(lambda a: a > 0.2)
    first = quietly(make(path))
    second = quietly(make(path, n_iter=10, retry_failed=True))
    assert second.cv_results_["params"][:8] == first.cv_results_["params"]
    failed = np.isnan(second.cv_results_["mean_test_score"])
    assert [p["a"] > 0.2 for p in second.cv_results_["params"]] == failed.tolist()


def test_a_retry_that_is_interrupted_goes_on(path):
    Moody.failing = staticmethod(lambda a: a > 0.2)
    first = quietly(make(path))
    n_failed = 3 * np.isnan(first.cv_results_["mean_test_score"]).sum()
    Moody.fits = []

    def interrupted(a):
        if len(Moody.fits) == 4:
            raise KeyboardInterrupt
        return False

    Moody.failing = staticmethod(interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(path, retry_failed=True).fit(X, y)
    Moody.failing = staticmethod(lambda a: False)
    search = make(path, retry_failed=True).fit(X, y)
    assert len(Moody.fits) == n_failed + 1
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_without_a_checkpoint_nothing_is_said_of_one():
    assert "Read" not in make(None, retry_failed=True).fit(X, y).report()


def test_another_search_stays_another_one(path):
    make(path).fit(X, y)
    with pytest.raises(CheckpointError, match="belongs to another search"):
        make(path, retry_failed=True, batch_size=2).fit(X, y)
