"""A failure after the last fold costs only the result that it occurs in."""

import itertools
import json
import math
import warnings
from functools import cached_property

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import make_scorer
from sklearn.tree import DecisionTreeClassifier

from skrobustbo import Integer, RobustBayesSearchCV
from skrobustbo.model_selection import _findings, _report

X, y = make_classification(60, 5, flip_y=0.2, random_state=0)
SPACE = {"max_depth": Integer(1, 8)}
HONEST = ["honest_score_", "honest_interval_", "honest_optimism_"]


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError


ERRORS = [
    ValueError("on purpose"),
    TypeError("on purpose\nand more"),
    MemoryError(),
    RecursionError("on purpose"),
    StopIteration(),
    Unspeakable(),
    AssertionError(),
]


def failing(error):
    def fail(*args, **kwargs):
        raise error

    return fail


def make(path=None, **settings):
    given = {"n_iter": 6, "cv": 3, "random_state": 0, "honest_score": True, **settings}
    given.setdefault("include_default", False)
    tree = DecisionTreeClassifier(random_state=0)
    return RobustBayesSearchCV(tree, SPACE, checkpoint=path, **given)


def break_one(monkeypatch, where, error):
    owner, _, name = where.rpartition(".")
    owner = f"skrobustbo.{owner}" if owner else owner
    monkeypatch.setattr(f"{owner}.{name}", failing(error))


#: What may fail at the end of fit: where, and which attributes then are nan.
AFTER_THE_FOLDS = {
    "model_selection._search.honest": HONEST,
    "model_selection._honest._is_complete": HONEST,
    "model_selection._honest.fold_scores": HONEST,
    "model_selection._honest._units": HONEST,
    "model_selection._honest.bootstrapped": HONEST,
    "model_selection._honest.score_of_winner": HONEST,
    "model_selection._bootstrap.weighted": HONEST,
    "model_selection._bootstrap._widening": HONEST,
    "optimizer.Optimizer.predict": ["posterior_mean", "posterior_std"],
    "model_selection._search.shape_of": [],
}


def each_with_an_error(things):
    """Return pairs of what fails and how, with every error at least once."""
    return list(zip(things, itertools.cycle(ERRORS)))


@pytest.mark.parametrize(("where", "error"), each_with_an_error(AFTER_THE_FOLDS))
def test_what_fails_at_the_end_of_fit(where, error, monkeypatch):
    fine = make(policy="random").fit(X, y)
    break_one(monkeypatch, where, error)
    with pytest.warns(UserWarning, match=type(error).__name__) as caught:
        search = make(policy="random").fit(X, y)
    assert len(caught) == 1
    assert search.best_params_ == fine.best_params_
    assert search.best_score_ == fine.best_score_
    assert search.n_iter_ == 6
    np.testing.assert_array_equal(search.predict(X), fine.predict(X))
    for name in AFTER_THE_FOLDS[where]:
        found = search.cv_results_.get(name, vars(search).get(name))
        assert np.isnan(found).all()
    assert list(search.cv_results_) == list(fine.cv_results_)
    monkeypatch.undo()
    assert "Best" in search.report()


def test_no_less_is_computed_where_nothing_fails():
    search = make().fit(X, y)
    assert np.isfinite([search.honest_score_, *search.honest_interval_]).all()
    assert np.isfinite(search.cv_results_["posterior_mean"]).all()
    assert "could not" not in search.report() + search._repr_html_()


@pytest.mark.parametrize(
    "where",
    ["model_selection._search.honest", "model_selection._bootstrap.weighted"],
)
def test_a_checkpoint_goes_on_after_such_a_failure(where, tmp_path, monkeypatch):
    path = tmp_path / "search.ckpt"
    break_one(monkeypatch, where, ValueError("on purpose"))
    for n_iter in (6, 8):  # the failure repeats, and nothing is lost
        with pytest.warns(UserWarning, match="on purpose"):
            search = make(path, n_iter=n_iter).fit(X, y)
        assert search.n_iter_ == n_iter
    monkeypatch.undo()
    again = make(path, n_iter=8).fit(X, y)
    assert math.isfinite(again.honest_score_)
    assert again.best_score_ == search.best_score_


def test_a_failure_at_the_end_of_resume(monkeypatch):
    search = make().fit(X, y)
    break_one(monkeypatch, "model_selection._search.honest", ValueError("on purpose"))
    with pytest.warns(UserWarning, match="on purpose"):
        search.resume(X, y, n_iter=2)
    assert search.n_iter_ == 8
    assert math.isnan(search.honest_score_)


def test_ctrl_c_is_not_swallowed_and_costs_nothing(monkeypatch):
    search = make()
    break_one(monkeypatch, "model_selection._search.honest", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert search.n_iter_ == 6
    assert search.predict(X).shape == y.shape
    assert math.isnan(search.honest_score_)
    assert "no honest score could be computed" in search.report()
    for where in ("_report._best", "_html.svg_curve", "_search.missing_columns"):
        break_one(monkeypatch, f"model_selection.{where}", KeyboardInterrupt())
    monkeypatch.setitem(_report._SECTIONS, "Best", failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        search.report()
    with pytest.raises(KeyboardInterrupt):
        search._repr_html_()


def test_a_refit_that_fails_is_as_in_scikit_learn():
    class Once(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None, check_input=True):
            if len(X) == 60:
                raise RuntimeError("the refit")
            return super().fit(X, y, sample_weight, check_input)

    search = make().set_params(estimator=Once(random_state=0))
    with pytest.raises(RuntimeError, match="the refit"):
        search.fit(X, y)


@pytest.mark.parametrize("result", ["text", None, 1j, [1.0, 2.0], math.inf, "raises"])
def test_a_metric_that_only_knows_the_folds(result):
    """In bags, rows occur more than once."""

    def metric(y_true, rows):
        if len(set(rows)) == len(rows):
            return 0.5
        if result == "raises":
            raise ValueError("twice the same row")
        return result

    class Rows(DecisionTreeClassifier):
        def predict(self, X):
            return X[:, 0]

    search = make(scoring=make_scorer(metric), n_iter=2).set_params(estimator=Rows())
    says = "twice the same row" if result == "raises" else "no score for rows drawn"
    with pytest.warns(UserWarning, match=f"honest_score_.*{says}") as caught:
        search.fit(X, y)
    assert len(caught) == 1
    assert search.best_score_ == 0.5
    assert math.isnan(search.honest_score_)


# The report and its HTML --------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    return make().fit(X, y)


PROPERTIES = [
    name
    for name, value in vars(_findings.Findings).items()
    if isinstance(value, property | cached_property)
]


@pytest.mark.parametrize("section", _report._SECTIONS)
def test_a_section_that_fails_says_so(section, fitted, monkeypatch):
    whole = fitted.report(details=True).splitlines()
    monkeypatch.setitem(_report._SECTIONS, section, failing(KeyError("on purpose")))
    with pytest.warns(UserWarning, match=f"{section}.*KeyError.*on purpose") as caught:
        found = fitted.report(details=True)
    assert len(caught) == 1
    assert f"{section.ljust(12)}could not be written" in found
    assert whole[0] in found
    others = {line for line in whole if line[:12].strip() not in ("", section)}
    assert others <= set(found.splitlines())
    if section in _report._DETAILS:
        return
    with pytest.warns(UserWarning, match="KeyError") as caught:
        assert "could not be written" in fitted._repr_html_()
    assert len(caught) == 1


@pytest.mark.parametrize("entry", _report._ENTRIES)
def test_an_entry_of_the_data_that_fails_is_null(entry, fitted, monkeypatch):
    whole = json.loads(fitted.report(format="json"))
    monkeypatch.setitem(_report._ENTRIES, entry, failing(KeyError("on purpose")))
    with pytest.warns(UserWarning, match=f"{entry}.*KeyError.*on purpose"):
        found = json.loads(fitted.report(format="json"))
    assert found == {**whole, entry: None}


@pytest.mark.parametrize(("name", "error"), each_with_an_error(PROPERTIES))
def test_what_the_report_finds_may_fail(name, error, fitted, monkeypatch):
    bad = property(failing(error))
    monkeypatch.setattr(_findings.Findings, name, bad)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text, shown = fitted.report(details=True), fitted._repr_html_()
    assert text
    assert "<" in shown
    assert len(caught) in (0, 1, 2)  # neither needs it, the details do, or both
    assert all(type(error).__name__ in str(one.message) for one in caught)


@pytest.mark.parametrize(
    "where",
    ["_search.missing_columns", "_search.Findings", "_search.report"],
)
def test_a_report_that_fails_as_a_whole(where, fitted, monkeypatch):
    break_one(monkeypatch, f"model_selection.{where}", ValueError("on purpose"))
    with pytest.warns(UserWarning, match="the report.*on purpose") as caught:
        assert fitted.report() == "RobustBayesSearchCV: no report could be written"
    assert len(caught) == 1


@pytest.mark.parametrize(
    "where",
    [
        "model_selection._html.svg_curve",
        "model_selection._search.account",
        "model_selection._search.missing_columns",
        "_sklearn_compat.estimator_html_repr",
    ],
)
def test_html_that_fails(where, fitted, monkeypatch):
    break_one(monkeypatch, where, ValueError("on purpose"))
    with pytest.warns(UserWarning, match="on purpose") as caught:
        shown = fitted._repr_html_()
    assert len(caught) == 1
    assert "<" in shown


SPOILT = {
    "text": lambda table: {**table, "mean_test_score": ["x"] * 6},
    "objects": lambda table: {**table, "posterior_mean": [None] * 6},
    "short": lambda table: {**table, "split0_test_score": [0.5]},
    "no params": lambda table: {**table, "params": [{}] * 6},
    "empty": lambda table: {key: value[:0] for key, value in table.items()},
    "labels": lambda table: {**table, "model_label": 3},
    "times": lambda table: {**table, "mean_fit_time": "soon"},
    "none": lambda table: None,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SPOILT)
def test_a_table_that_somebody_has_spoilt(name):
    search = make().fit(X, y)
    search.cv_results_ = SPOILT[name](search.cv_results_)
    assert search.report()
    assert search._repr_html_()


# How far it is ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scoring", "verbose", "shown"),
    [("matthews_corrcoef", 1, True), ("matthews_corrcoef", 0, False), (None, 1, False)],
)
def test_a_metric_without_a_rule_shows_how_far_it_is(
    scoring, verbose, shown, monkeypatch, capsys
):
    monkeypatch.setattr("skrobustbo.evaluation._progress._ELSEWHERE", 0.0)
    make(scoring=scoring, verbose=verbose, n_iter=2).fit(X, y)
    printed = capsys.readouterr().out
    assert ("17 of 200 samples scored for the honest score" in printed) == shown
