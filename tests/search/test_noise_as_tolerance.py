"""``tol="noise"``: a search ends when more candidates would gain less than noise."""

import math
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning

from fake_estimators import Fake, Noisy, search_of
from runs import assert_same, source_of
from skrobustbo import Optimizer, Real
from skrobustbo.model_selection import _ends
from skrobustbo.model_selection._findings import prospects

X, y = load_iris(return_X_y=True)


class Wavy(Noisy):
    """A search takes some candidates to find its best region."""

    def score(self, X, y=None):
        return super().score(X, y) + 0.5 * math.cos(9 * self.a)


def search(estimator=None, **settings):
    given = {"n_iter": 40, "cv": 4, "tol": "noise", "refit": False, **settings}
    return search_of(estimator or Wavy(), **given)


@pytest.fixture(scope="module")
def ended():
    return search().fit(X, y)


def test_a_search_ends_when_more_candidates_would_gain_less_than_noise(ended):
    assert ended.stop_reason_ == "tol"
    assert 15 < ended.n_iter_ < 40
    gain, noise = prospects(ended.optimizer_, ended._notes.trials, None)
    assert gain <= noise
    scores = np.array([ended.cv_results_[f"split{k}_test_score"] for k in range(4)])
    rest = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True)
    # From the better half, which is most of them.
    assert 0.5 < noise / (math.sqrt(2 / 4) * rest.std()) < 2.0


def test_it_does_not_end_before(ended):
    """The same candidates without a tolerance: when the criterion is first met."""
    plain, met = search(tol=None), []
    source = source_of(plain, X=X, y=y)
    candidates = iter(search(tol=None).fit(X, y)._notes.trials)
    while len(source.trials) < ended.n_iter_:
        (asked,) = source.next_round()
        asked.folds = next(candidates).folds
        source.tell(asked)
        gain, noise = prospects(source.optimizer, source.trials, None)
        met.append(len(source.trials) >= 15 and gain <= noise)
    assert met == [False] * (ended.n_iter_ - 1) + [True]
    assert [t.params for t in source.trials] == ended.cv_results_["params"]


class Interrupted(Wavy):
    """The fit of a late candidate is interrupted once."""

    left = 0

    def fit(self, X, y=None):
        type(self).left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return super().fit(X, y)


@pytest.mark.parametrize("n_fits", [9, 4 * 14 + 1])
def test_an_interruption_does_not_move_the_end(n_fits, tmp_path, monkeypatch):
    plain = search(Interrupted()).fit(X, y)
    monkeypatch.setattr(Interrupted, "left", n_fits)
    path = tmp_path / "search.ckpt"
    with pytest.raises(KeyboardInterrupt):
        search(Interrupted(), checkpoint=path).fit(X, y)
    again = search(Interrupted(), checkpoint=path).fit(X, y)
    assert again.stop_reason_ == plain.stop_reason_ == "tol"
    assert_same(again, plain)


class Shifted(Fake):
    """Scores are those of the candidate plus an effect of the fold."""

    def score(self, X, y=None):
        return super().score(X, y) + 0.1 * np.sin(np.sum(X))


@pytest.mark.parametrize("estimator", [Fake(), Shifted()])
def test_what_all_candidates_share_is_no_noise(estimator):
    found = search(estimator, n_iter=18).fit(X, y)
    assert found.stop_reason_ == "n_iter"
    assert np.isnan(prospects(found.optimizer_, found._notes.trials, None)).all()
    assert "expected gain" not in found.report()


def test_a_single_fold_tells_no_noise():
    fold = [(np.arange(100), np.arange(100, 150))]
    assert search(n_iter=18, cv=fold).fit(X, y).stop_reason_ == "n_iter"


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_failed_candidates_tell_nothing():
    with pytest.warns(FitFailedWarning, match="too large"):
        found = search(Noisy(fail_above=0.6)).fit(X, y)
    whole = [t for t in found._notes.trials if math.isfinite(t.mean_score(None))]
    assert len(whole) < found.n_iter_
    both = (prospects(found.optimizer_, t, None) for t in (whole, found._notes.trials))
    assert next(both) == next(both)


class Flat(Noisy):
    def __init__(self, a=0.0, b=0.0, c=0.0):
        super().__init__(a)
        self.b, self.c = b, c


@pytest.mark.parametrize(
    ("space", "n"),
    [
        ({"a": Real(-1, 1)}, 15),
        ({"a": Real(-1, 1), "b": Real(-1, 1), "c": [0]}, 30),
        ([{"a": Real(-1, 1), "c": [0]}, {"a": Real(-1, 1), "b": Real(0, 1)}], 30),
    ],
)
def test_no_end_before_there_are_enough_candidates(space, n, monkeypatch):
    monkeypatch.setattr(Optimizer, "expected_gain", lambda *_, **__: 0.0)
    assert search(Flat(), space=space).fit(X, y).n_iter_ == n


def test_the_line_of_progress_says_when_the_end_is_near(monkeypatch):
    given = {"gain": 1.5}
    monkeypatch.setattr(_ends, "prospects", lambda *_: (given["gain"], 1.0))
    found = search(tol=None, n_iter=15).fit(X, y)
    facts = search(), found.optimizer_, found._notes.trials, None
    met, says = _ends.CRITERIA["tol"](*facts)
    assert (met, says) == (False, "20 more: expected gain 1.5 (noise 1)")
    given["gain"] = 2.5
    assert _ends.CRITERIA["tol"](*facts) == (False, "")
    given["gain"] = 1.0
    assert _ends.CRITERIA["tol"](*facts) == (True, "")
    given["gain"] = math.nan
    assert _ends.CRITERIA["tol"](*facts) == (False, "")


def test_a_model_that_fails_ends_nothing(monkeypatch):
    def fail(*_, **__):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(Optimizer, "expected_gain", fail)
    found = search(n_iter=18).fit(X, y)
    assert found.stop_reason_ == "n_iter"
    assert "expected gain" not in found.report()


@pytest.mark.parametrize("tol", [None, "noise"])
def test_the_report_says_both_numbers(tol, ended):
    found = ended if tol else search(tol=None, n_iter=18).fit(X, y)
    gain, noise = prospects(found.optimizer_, found._notes.trials, None)
    says = f"20 more candidates: expected gain {gain:.2g}; noise {noise:.2g}"
    assert says in re.sub(r"\s+", " ", found.report())


def test_a_policy_without_a_model_expects_nothing():
    found = search(tol=None, n_iter=18, policy="random").fit(X, y)
    assert "expected gain" not in found.report()
