"""A search can read everything that it writes."""

import math
import os
import shutil
import tempfile
import time
import warnings
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris

from skrobustbo import Integer, Real, RobustBayesSearchCV, load_checkpoint
from skrobustbo._trials import SINGLE, FoldResult
from skrobustbo.checkpoint import Asked, CheckpointError, _store, open_journal
from skrobustbo.checkpoint._events import Malformed, Started
from skrobustbo.checkpoint._store import create
from skrobustbo.evaluation._checks import result_of
from skrobustbo.space import Space
from skrobustbo.watching import main

X, y = load_iris(return_X_y=True)
SPACE = {"a": Real(-1, 1), "n": Integer(1, 3)}


class Known(BaseEstimator):
    n_fits = n_scores = 0

    def __init__(self, a=0.0, n=1):
        self.a = a
        self.n = n

    def fit(self, X, y=None):
        Known.n_fits += 1
        return self

    def score(self, X, y=None):
        return -(self.a**2)


@pytest.fixture(autouse=True)
def fresh():
    Known.n_fits = Known.n_scores = 0


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.ckpt"


def make(path, **changes):
    given = {"n_iter": 4, "cv": 3, "random_state": 0, "refit": False, **changes}
    return RobustBayesSearchCV(Known(), SPACE, checkpoint=path, **given)


def readable(path, capsys, **changes):
    """Read a file in all ways; return what a repeated call finds."""
    load_checkpoint(path)
    assert main(["watch", str(path), "--once"]) in (0, 1)
    assert main(["watch", str(path), "--once", "--html", f"{path}.html"]) in (0, 1)
    capsys.readouterr()
    again = make(path, **changes).fit(X, y)
    assert load_checkpoint(path).status == "finished"
    return again


# Rows ---------------------------------------------------------------------------------

WHOLE = st.integers(-(10**310), 10**310)
NUMBERS = st.one_of(
    st.floats(),
    st.sampled_from([-0.0, 5e-324, -2e-310, 1e308, -1.7e308, math.nan, math.inf]),
    WHOLE,
    st.booleans(),
    st.floats(width=32).map(np.float32),
    st.floats(width=16).map(np.float16),
    st.floats().map(np.float64),
    st.floats(allow_nan=False).map(np.longdouble),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.booleans().map(np.bool_),
    st.sampled_from([Fraction(1, 3), Decimal("0.1"), np.array([0.5]), np.array(2)]),
)
#: Values that no search accepts.
ODD = st.sampled_from([None, "x", 1j, [], {}, Decimal("sNaN"), np.zeros(2), object()])
TEXTS = st.one_of(
    st.sampled_from(["", " ", "\n", "\x00", "\ud800", "a\x00b", "\x1b[2J", "\u202e"]),
    st.text(st.characters(exclude_categories=[]), max_size=5),
)
SCORES = st.one_of(
    ODD,
    NUMBERS.map(lambda number: {SINGLE: number}),
    st.dictionaries(st.sampled_from(["b", "a", "\x00", "\ud800", ""]), NUMBERS),
    st.dictionaries(TEXTS, NUMBERS | ODD, max_size=3),
)
SECONDS = st.floats(allow_infinity=False)
FOLDS = st.fixed_dictionaries(
    {
        "test_scores": SCORES,
        "n_test_samples": st.integers(0, 2**40),
        "fit_time": SECONDS,
        "score_time": SECONDS,
        "fit_error": st.none() | TEXTS,
    },
    optional={
        "train_scores": SCORES,
        "predictions": st.sampled_from(
            [
                *(np.zeros(50), np.zeros((50, 2), np.float32), np.zeros(50, np.uint8)),
                *(np.full(50, np.nan), np.zeros(3), np.zeros((50, 0)), None),
                *(np.array(["x"] * 50), np.full(50, 3, np.uint8), np.zeros((50, 1, 1))),
            ]
        ),
    },
)
PLAIN = {"n_test_samples": 50, "fit_time": 0.1, "score_time": 0.0, "fit_error": None}


class Source:
    """A source of candidates for a journal."""

    def __init__(self):
        self.space, self.n_asked = Space(SPACE), 0

    def next_round(self):
        self.n_asked += 1
        return [{"a": 0.5, "n": 2}] if self.n_asked == 1 else []

    def records(self, trials):
        said = {"label": "initial", "mean": math.nan, "std": 0.0}
        params = [self.space.params_to_json(trial) for trial in trials]
        return [Asked(0, each, None, said) for each in params]

    def read(self, asked):
        return self.space.params_from_json(asked.params)

    def resume(self, noted):
        return [self.read(record) for record in noted]


OUTLINE = {"estimator": "E", "policy": "P", "metric": "a",
           "branches": [{"a": None, "n": None}]}  # fmt: skip


def journal_of(path, metrics, n_splits):
    """Return the context of a journal, and the arguments of its `begin`."""
    splits = [(np.arange(100), np.arange(100, 150))] * n_splits

    def begin(journal):
        settings = {"seed": 0, "n_iter": np.int64(1), "drawn": False}
        parts = {"settings": {"honest_score": "True"}}
        journal.begin(lambda: parts, outline=lambda: OUTLINE, **settings)
        told = {"n_samples": np.int64(150), "metrics": metrics, "train": False}
        journal.open(lambda: splits, **told, n_classes=0)
        return journal

    return open_journal(path), begin


def equal(found, written):
    if isinstance(found, dict):
        same = set(found) == {str(name) for name in written}
        return same and all(equal(v, written[k]) for k, v in found.items())
    written = written.item() if isinstance(written, np.ndarray) else written
    found, number = float(found), float(written)
    assert found == number or (math.isnan(found) and math.isnan(number))
    assert math.copysign(1, found) == math.copysign(1, number) or math.isnan(number)
    return True


def let_through(raw):
    """Return what a search keeps of the result of a fold; None if it raises."""
    with warnings.catch_warnings():
        # Older versions of NumPy warn about arrays with one number, newer ones raise.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return result_of(raw, "a search")
        except ValueError:
            return None


@settings(max_examples=120, deadline=None)
@given(
    folds=st.lists(FOLDS, min_size=1, max_size=4),
    metrics=st.sampled_from([None, [], ["a", "b"]]),
    in_turn=st.booleans(),
)
def test_any_fold_is_read_as_it_was_written_or_lost_alone(folds, metrics, in_turn):
    """The first fold is valid and always kept."""
    plain = {"a": 1.0, "b": -0.0} if metrics is None or metrics else {SINGLE: 0.5}
    whole = {**PLAIN, "test_scores": plain}
    folds = [fold for fold in map(let_through, [whole, *folds]) if fold is not None]
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "search.ckpt"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            opened, begin = journal_of(path, metrics, len(folds))
            with opened as journal:
                begin(journal).next_round(Source())
                for split, fold in enumerate(folds):
                    journal.record((0, split), fold, in_turn=in_turn)
        caught = [w for w in caught if "could not be written" in str(w.message)]
        kept = load_checkpoint(path).n_folds
        opened, begin = journal_of(path, metrics, len(folds))
        with opened as journal:
            assert len(begin(journal).next_round(Source())) == 1
            done = {split: fold for (_, split), fold in journal.folds_of(0)}
            assert len(done) == kept
            assert len(caught) == (kept < len(folds))
            for split in set(range(len(folds))) - set(done):
                journal.record((0, split), FoldResult(**whole))
        assert load_checkpoint(path).n_folds == len(folds)
    finally:
        shutil.rmtree(folder)
    assert 0 in done
    for split, fold in done.items():
        assert equal(fold.test_scores, folds[split].test_scores)
        assert equal(fold.fit_time, folds[split].fit_time)
        assert fold.fit_error == folds[split].fit_error
        np.testing.assert_array_equal(fold.predictions, folds[split].predictions)


# Searches -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", [-3600, -1e9, 1e9, -1e12, 1e12])
@pytest.mark.parametrize(
    "settings", [{}, {"schedule": "free", "batch_size": 2}], ids=str
)
def test_a_clock_that_is_set(step, settings, path, monkeypatch, capsys):
    clock, shift = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: clock() + shift[0])
    fit = Known.fit

    def stepping(self, X, y=None):
        if Known.n_fits == 4:
            shift[0] = step
        return fit(self, X, y)

    with monkeypatch.context() as patch:
        patch.setattr(Known, "fit", stepping)
        first = make(path, **settings).fit(X, y)
    assert first.cv_results_["mean_fit_time"].min() >= 0
    n_fits = Known.n_fits
    again = readable(path, capsys, **settings)
    assert Known.n_fits == n_fits
    assert again.cv_results_["params"] == first.cv_results_["params"]


ORDERS = {
    "now and then": lambda n: ["err", "acc"] if n == 5 else ["acc", "err"],
    "each time": lambda n: ["acc", "err"][:: 1 if n % 2 else -1],
}


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.filterwarnings("ignore:.*only by its name")
def test_metrics_in_any_order(order, train, path, capsys):
    def scorer(estimator, X, y):
        Known.n_scores += 1
        score = estimator.score(X, y)
        return {
            m: score if m == "acc" else -score for m in ORDERS[order](Known.n_scores)
        }

    changes = {"scoring": scorer, "search_metric": "acc", "return_train_score": train}
    first = make(path, **changes).fit(X, y)
    n_fits = Known.n_fits
    again = readable(path, capsys, **changes)
    assert Known.n_fits == n_fits
    assert list(again.cv_results_) == list(first.cv_results_)
    in_memory = make(None, **changes).fit(X, y)
    for name in ("mean_test_acc", "mean_test_err"):
        np.testing.assert_array_equal(again.cv_results_[name], first.cv_results_[name])
        np.testing.assert_array_equal(
            in_memory.cv_results_[name], first.cv_results_[name]
        )


VALUES = [1e308, -1e308, 5e-324, -2e-310, 0.0, math.nan, np.float32(0.1), 10**300, True]


@pytest.mark.parametrize("values", [VALUES, *[[v] for v in VALUES]], ids=str)
@pytest.mark.filterwarnings("ignore")  # of scores that are not finite
def test_scores_of_any_size(values, path, capsys):
    def scorer(estimator, X, y):
        Known.n_scores += 1
        return values[Known.n_scores % len(values)]

    if values == [math.nan] * len(values):
        pytest.skip("nothing has a score")
    first = make(path, scoring=scorer).fit(X, y)
    again = readable(path, capsys, scoring=scorer)
    np.testing.assert_array_equal(
        again.cv_results_["mean_test_score"], first.cv_results_["mean_test_score"]
    )


BLANKS = ["", " ", "\n", "\n \n", "\x0b", "\u2028", "\x00", "\ud800", "a\x1b[2Jb"]


@pytest.mark.parametrize("text", BLANKS, ids=ascii)
@pytest.mark.filterwarnings("ignore")  # of fits that fail
def test_errors_without_a_text(text, path, capsys, monkeypatch):
    from skrobustbo.evaluation import _folds

    evaluate = _folds.fit_and_score

    def failing(parameters, **rest):
        result = evaluate(parameters=parameters, **rest)
        if parameters["n"] > 1:
            result |= {"fit_error": text, "test_scores": math.nan}
        return result

    monkeypatch.setattr(_folds, "fit_and_score", failing)
    search = make(path).fit(X, y)
    assert search.report().isprintable() or "\x1b" not in search.report()
    readable(path, capsys)
    causes = [t["failure"] for t in load_checkpoint(path).trials if t["failure"]]
    assert causes
    assert all(cause.isprintable() and cause for cause in causes)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_lost_fold_costs_no_other_and_is_fitted_again(path, capsys):
    """The name of a metric is longer than a row may be."""
    too_long = [True]

    def scorer(estimator, X, y):
        Known.n_scores += 1
        return {"a" * (5_000_000 if too_long[0] else 3): estimator.score(X, y)}

    first = make(path, scoring=scorer).fit(X, y)
    assert first.n_iter_ == 4
    assert load_checkpoint(path).n_folds == 0
    too_long[0], n_scores = False, Known.n_scores
    again = readable(path, capsys, scoring=scorer)
    assert Known.n_scores == 2 * n_scores
    assert again.cv_results_["params"] == first.cv_results_["params"]
    assert load_checkpoint(path).n_folds == 12
    readable(path, capsys, scoring=scorer)
    assert Known.n_scores == 2 * n_scores


def test_nothing_is_learned_of_a_fold_that_is_lost(path):
    started = Started(outline=OUTLINE, n_splits=1, n_samples=1)
    with closing(create(str(path), {"header": [started], "split": []})) as store:
        for lost in ({"a" * 5_000_000: 0.5}, {"a": object()}):
            with pytest.raises((TypeError, Malformed)):
                store.add("fold", [((0, 0), FoldResult(lost))])
        store.add("fold", [((0, 0), FoldResult({"b": 0.5}))])
        with pytest.raises(Malformed, match="metrics"):
            store.add("fold", [((0, 0), FoldResult({"a": 0.5}))])
        assert len(store.read("fold")) == 1


@pytest.mark.filterwarnings("ignore:.*only by its name")
def test_other_metrics_in_one_fold_do_not_spoil_the_file(path, capsys):
    def scorer(estimator, X, y):
        Known.n_scores += 1
        score = estimator.score(X, y)
        return {"b": score} if Known.n_scores == 8 else {"a": score}

    changes = {"scoring": scorer, "search_metric": "a"}
    unwritten = r"result of a fold could not be .* \(metrics\)"
    with (
        pytest.warns(UserWarning, match=unwritten),
        pytest.raises(ValueError, match="the same metrics"),
    ):
        make(path, **changes).fit(X, y)
    n_kept, n_scores = load_checkpoint(path).n_folds, Known.n_scores
    assert n_kept >= 7
    assert readable(path, capsys, **changes).n_iter_ == 4
    assert Known.n_scores == n_scores + 12 - n_kept


def test_what_cannot_be_a_candidate_ends_the_writing_only(path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        n_written = [0]

        def write_candidate(asked):
            n_written[0] += 1
            said = {**asked.said, "mean": "odd"} if n_written[0] > 2 else asked.said
            return write(replace(asked, said=said))

        write, *rest = _store._KINDS["candidate"]
        patch.setitem(_store._KINDS, "candidate", (write_candidate, *rest))
        with pytest.warns(
            UserWarning, match="A candidate could not be written"
        ) as said:
            first = make(path).fit(X, y)
    assert len(said) == 1
    assert first.n_iter_ == 4
    loaded = load_checkpoint(path)
    assert (loaded.status, len(loaded.trials)) == ("unfinished", 2)
    again = readable(path, capsys)
    assert again.cv_results_["params"] == first.cv_results_["params"]


@pytest.mark.parametrize("n", [np.int64(4), np.uint8(4)])
def test_settings_of_numpy(n, path, capsys):
    make(path, n_iter=n, random_state=n, batch_size=n).fit(X, y)
    readable(path, capsys, n_iter=n, random_state=n, batch_size=n)


def test_splits_that_repeat_rows_too_often(path):
    """Refused before the first fit, because the file could not be read."""
    rows = np.zeros(10**6, dtype=int)
    with pytest.raises(
        CheckpointError, match=r"cannot hold this search \(rows\): leave"
    ):
        make(path, cv=[(rows, [1, 2])]).fit(X, y)
    assert Known.n_fits == 0
    assert not os.path.exists(path)
    often = rows[: 90 * len(X)]
    make(path, cv=[(often, [1, 2])]).fit(X, y)
    n_fits = Known.n_fits
    make(path, cv=[(often, [1, 2])]).fit(X, y)
    assert Known.n_fits == n_fits
