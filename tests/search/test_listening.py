"""The records of finished candidates for a listener, and the table of all."""

import builtins
import json
import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

from fake_estimators import Noisy, search_of
from skrobustbo import Real, RobustBayesSearchCV

X, y = load_iris(return_X_y=True)


def search(told=None, estimator=None, **settings):
    listener = None if told is None else told.append
    given = {"n_iter": 10, "refit": False, "cv": KFold(4), **settings}
    return search_of(estimator or Noisy(), on_trial=listener, **given)


def with_failures(ours):
    """Fit a search with some failing fits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ours.fit(X, y)


def kept(path, told, n_iter=6, **settings):
    return search(told, checkpoint=path, n_iter=n_iter, **settings)


class Extra(Noisy):
    def __init__(self, a=0.0, extra=None):
        super().__init__(a)
        self.extra = extra


def test_each_candidate_is_told_as_soon_as_it_is_finished():
    so_far = []

    class Watching(Noisy):
        def fit(self, X, y=None):
            so_far.append(len(told))
            return super().fit(X, y)

    told = []
    found = search(told, Watching()).fit(X, y)
    results = found.cv_results_
    assert so_far == [i // 4 for i in range(40)]
    assert [record["number"] for record in told] == list(range(10))
    assert [record["params"] for record in told] == results["params"]
    scores = [record["score"] for record in told]
    np.testing.assert_array_equal(scores, results["mean_test_score"])
    splits = np.array([results[f"split{k}_test_score"] for k in range(4)]).T
    assert [record["split_scores"] for record in told] == splits.tolist()
    assert {record["status"] for record in told} == {"complete"}
    assert {record["failure"] for record in told} == {None}
    for name in ("model_label", "model_mean", "model_std"):
        np.testing.assert_array_equal([r[name] for r in told], results[name])
    seconds = 4 * results["mean_fit_time"]
    assert [record["fit_time"] for record in told] == pytest.approx(seconds.tolist())


@pytest.mark.slow
def test_a_listener_changes_nothing_and_hears_the_same_of_several_jobs():
    alone, beside = [], []
    params = search().fit(X, y).cv_results_["params"]
    for n_jobs, told in ((1, alone), (2, beside)):
        settings = {"schedule": "window", "batch_size": 3, "n_jobs": n_jobs}
        search(told, **settings).fit(X, y)
    assert search([]).fit(X, y).cv_results_["params"] == params
    for record in (*alone, *beside):
        del record["fit_time"], record["score_time"]
    np.testing.assert_equal(alone, beside)


def test_failures_and_stopped_candidates_are_told_as_such():
    told = []
    with_failures(search(told, Noisy(fail_above=0.6), n_iter=16, racing="confident"))
    failed = [record for record in told if record["status"] == "failed"]
    assert failed
    assert all(record["params"]["a"] > 0.6 for record in failed)
    assert {record["failure"] for record in failed} == {"RuntimeError: too large"}
    stopped = [record for record in told if record["status"] == "stopped"]
    assert stopped
    assert all(len(record["split_scores"]) < 4 for record in stopped)
    assert all(math.isnan(record["score"]) for record in stopped)


def test_several_metrics_are_told_by_name():
    told = []
    RobustBayesSearchCV(
        LogisticRegression(max_iter=1000),
        {"C": Real(0.1, 1)},
        n_iter=3,
        scoring=["accuracy", "neg_log_loss"],
        refit="neg_log_loss",
        on_trial=told.append,
        random_state=0,
    ).fit(X, y)
    scores = told[-1]["split_scores"]
    assert list(scores) == ["accuracy", "neg_log_loss"]
    assert told[-1]["score"] == pytest.approx(np.mean(scores["neg_log_loss"]))


def test_what_a_listener_raises_does_not_end_the_search():
    def broken(record):
        raise ConnectionError("no server")

    ours = search(n_iter=3).set_params(on_trial=broken)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours.fit(X, y)
    said = [str(warning.message) for warning in caught]
    assert len(said) == 3
    assert "raised ConnectionError for candidate 2: no server" in said[2]
    assert ours.n_iter_ == 3


def test_after_a_resume_only_what_is_new_is_told(tmp_path):
    path, first, again, more = tmp_path / "search.ckpt", [], [], []
    kept(path, first).fit(X, y)
    kept(path, again).fit(X, y)
    kept(path, more, n_iter=9).fit(X, y)
    assert [record["number"] for record in first] == list(range(6))
    assert again == []
    assert [record["number"] for record in more] == [6, 7, 8]


def test_a_candidate_with_a_fold_in_the_file_is_told_once_it_is_finished(tmp_path):
    path, first, rest = tmp_path / "search.ckpt", [], []

    class Interrupted(Noisy):
        n_left = 10

        def fit(self, X, y=None):
            Interrupted.n_left -= 1
            if Interrupted.n_left == 0:
                raise KeyboardInterrupt
            return super().fit(X, y)

    with pytest.raises(KeyboardInterrupt):
        kept(path, first, estimator=Interrupted()).fit(X, y)
    kept(path, rest, estimator=Interrupted()).fit(X, y)
    assert [record["number"] for record in first] == [0, 1]
    assert [record["number"] for record in rest] == [2, 3, 4, 5]


def test_a_record_is_of_simple_types(tmp_path):
    told = []
    search(told, n_iter=3).fit(X, y)
    assert json.loads(json.dumps(told[0]))["params"] == told[0]["params"]


# The table ----------------------------------------------------------------------------


def test_the_table_has_a_line_for_each_candidate_in_the_order_asked():
    told = []
    settings = {"schedule": "free", "batch_size": 3, "n_jobs": 2}
    found = search(told, **settings).fit(X, y)
    table = found.trials_dataframe()
    assert list(table.index) == list(range(10))
    for record in told:
        line = table.loc[record["number"]]
        assert line["param_a"] == record["params"]["a"]
        assert line["score"] == record["score"]
        assert line["split3_test_score"] == record["split_scores"][3]
    assert pickle.loads(pickle.dumps(found)).trials_dataframe().equals(table)


def test_the_table_says_why_a_candidate_failed_and_what_did_not_run():
    ours = search([], Noisy(fail_above=0.6), n_iter=16, racing="confident")
    table = with_failures(ours).trials_dataframe()
    failed = table[table["status"] == "failed"]
    assert set(failed["failure"]) == {"RuntimeError: too large"}
    stopped = table[table["status"] == "stopped"]
    assert len(stopped)
    assert stopped["split3_test_score"].isna().all()
    assert stopped["failure"].isna().all()


def test_branches_have_their_parameters():
    space = [
        {"clf": [LogisticRegression(max_iter=1000)], "clf__C": Real(0.1, 1)},
        {"clf": [GaussianNB()], "clf__var_smoothing": Real(1e-9, 1e-3, log=True)},
    ]
    ours = RobustBayesSearchCV(
        Pipeline([("clf", GaussianNB())]), space, n_iter=8, random_state=0
    )
    table = ours.fit(X, y).trials_dataframe()
    assert set(table["branch"]) == {0, 1}
    assert table["param_clf__C"].notna().equals(table["branch"] == 0)


@pytest.mark.parametrize("choices", [["\ud800", "b"], [1, True, None, 2.0], [0.5, 3]])
def test_choices_stay_what_they_are_beside_a_branch_without_them(choices):
    space = [{"a": Real(0, 0.5), "extra": choices}, {"a": Real(0.5, 1)}]
    ours = RobustBayesSearchCV(
        Extra(), space, n_iter=14, cv=3, random_state=0, include_default=False
    )
    table = ours.fit(X, y).trials_dataframe()
    tried = [p["extra"] for p in ours.cv_results_["params"] if "extra" in p]
    shown = table["param_extra"][table["branch"] == 0]
    assert list(map(repr, shown)) == list(map(repr, tried))
    assert table["param_extra"][table["branch"] == 1].isna().all()


def test_it_needs_a_fitted_search_and_pandas(monkeypatch):
    with pytest.raises(NotFittedError):
        search().trials_dataframe()
    found = search(n_iter=3).fit(X, y)
    original = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match=r'pip install "\.\[pandas\]"'):
        found.trials_dataframe()


class Whole:
    """A listener that is also told about the beginning and the end."""

    def __init__(self):
        self.told = []

    def on_search_begin(self, search, identity):
        self.told.append(("begin", identity))

    def __call__(self, record):
        self.told.append(record["number"])

    def on_search_end(self, search, records):
        numbers = None if records is None else [r["number"] for r in records]
        self.told.append(("end", numbers))


def heard_by(listener):
    heard, listener.told = listener.told, []
    return heard


@pytest.mark.parametrize("kept_in", ["memory", "file"])
def test_a_listener_may_hear_of_the_beginning_and_the_end(kept_in, tmp_path):
    listener = Whole()
    path = tmp_path / "search.ckpt" if kept_in == "file" else None
    ours = search(n_iter=3, checkpoint=path).set_params(on_trial=listener).fit(X, y)
    first, *numbers, last = heard_by(listener)
    assert (numbers, last) == ([0, 1, 2], ("end", [0, 1, 2]))
    assert first[0] == "begin"
    ours.resume(X, y, n_iter=1)
    assert heard_by(listener) == [first, 3, ("end", [0, 1, 2, 3])]
    again = search(n_iter=4, checkpoint=path).set_params(on_trial=listener).fit(X, y)
    if path is None:
        assert heard_by(listener)[0] != first  # another search
    else:
        assert heard_by(listener) == [first, ("end", [0, 1, 2, 3])]
    again.set_params(n_iter=0)
    with pytest.raises(ValueError, match="n_iter"):
        again.fit(X, y)
    assert heard_by(listener) == []


def test_a_listener_hears_of_an_error():
    listener = Whole()
    broken = search(None, Noisy(fail_above=-1.0), error_score="raise")
    with pytest.raises(RuntimeError, match="too large"):
        broken.set_params(on_trial=listener).fit(X, y)
    assert [told[0] for told in listener.told] == ["begin", "end"]
    assert listener.told[-1] == ("end", None)


def test_a_listener_that_fails_at_the_beginning_and_the_end_ends_nothing():
    class Broken(Whole):
        def on_search_begin(self, search, identity):
            raise ConnectionError("no server")

        on_search_end = on_search_begin

    ours = search(n_iter=2).set_params(on_trial=Broken())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours.fit(X, y)
    said = [str(warning.message) for warning in caught]
    assert [text.split(": ")[0].split()[-3:] for text in said] == [
        ["at", "the", "beginning"],
        ["at", "the", "end"],
    ]
    assert ours.n_iter_ == 2
