"""Rows on candidates, folds, repeatability and progress."""

import contextlib
import io
import json
import random
from collections import Counter
from importlib.util import find_spec

import numpy as np
from joblib.externals.loky import get_reusable_executor
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from promises.tools import (
    CS,
    LINE,
    MIXED,
    TWELVE,
    Instant,
    NotApplicableError,
    X,
    fold_fits,
    require,
    y,
)
from searches import Choice, Floats, Ints, UnmetError

#: More than the twelve points of the space.
N_TOO_MANY = 25


def _tried(search):
    """Fit; return the parameters of every fit to a fold, in order."""
    return [params for params, *_ in fold_fits(search)]


def _seeded(peer, seed, global_seed):
    """Return what a search tries, given its seed and that of the global generators."""
    state, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        random.seed(global_seed)
        np.random.seed(global_seed)  # noqa: NPY002
        return _tried(peer.search(Instant(), MIXED, n_iter=9, random_state=seed))
    finally:
        random.setstate(state)
        np.random.set_state(numpys)  # noqa: NPY002


def repeatable(peer):
    """The same `random_state`, the same candidates."""
    require(_seeded(peer, 0, 1) == _seeded(peer, 0, 2), "they differ")


def random_state_matters(peer):
    """Another `random_state`, other candidates."""
    if not peer.has_seed:
        raise NotApplicableError("draws nothing at random")
    require(_seeded(peer, 0, 1) != _seeded(peer, 5, 1), "they are the same")


def independent_of_jobs(peer):
    """The same candidates for `n_jobs` 1 and 2."""
    try:
        alone, beside = (
            peer.search(LogisticRegression(), CS, n_jobs=n_jobs).fit(X, y)
            for n_jobs in (1, 2)
        )
    finally:
        # The workers would outlive the process of this probe by minutes.
        get_reusable_executor().shutdown(kill_workers=True)
    scores = [search.cv_results_["mean_test_score"] for search in (alone, beside)]
    require(np.allclose(*scores), "their scores differ")
    require(alone.best_params_ == beside.best_params_, "the best differ")


def keeps_to_budget(peer):
    """Evaluates exactly as many candidates as it is told."""
    require(peer.has_budget, "no parameter says how many")
    n = len(_tried(peer.search(Instant(), LINE, n_iter=7))) / 3
    require(n == 7, f"told 7, evaluates {n:g}")


def no_duplicates(peer):
    """Twelve points, a budget of 25: none is evaluated twice."""
    fits = _tried(peer.search(Instant(), TWELVE, n_iter=N_TOO_MANY))
    n_evaluated, n_points = len(fits) / 3, len(Counter(fits))
    told = f"{n_evaluated:g} evaluations of {n_points} points"
    require(n_evaluated == n_points, told)


def same_folds(peer):
    """All candidates see the same folds of an unseeded splitter."""
    search = peer.search(Instant(), LINE, cv=ShuffleSplit(3, test_size=0.3))
    folds = Counter(tuple(rows) for _, rows, _ in fold_fits(search))
    require(len(folds) == 3, f"3 folds asked for, {len(folds)} different ones used")


def splits_from_iterator(peer):
    """`cv` may be an iterator of splits."""
    search = peer.search(Instant(), LINE, cv=KFold(3).split(X))
    n_folds = len({tuple(rows) for _, rows, _ in fold_fits(search)})
    require(n_folds == 3, f"3 folds asked for, {n_folds} used")


def plain_values(peer):
    """`best_params_` are plain Python values that `json` writes."""
    search = peer.search(Instant(), MIXED).fit(X, y)
    json.dumps(search.best_params_)


def values_of_any_kind(peer):
    """Values of a choice may be of any kind: None, words, numbers, tuples together."""
    values = (None, "p", 2, 0.5, (3, 2), True)
    search = peer.search(Instant(), {"c": Choice(values)}, n_iter=6)
    expected = {(type(value), value) for value in values}
    handed = {(type(c), c) for _, _, c in _tried(search)}
    strange = [repr(c) for _, c in handed - expected]
    require(not strange, f"hands on {', '.join(strange)}")


def estimators_as_values(peer):
    """Estimators may be values of a parameter, and are cloned."""
    choices = (StandardScaler(), MinMaxScaler(), "passthrough")
    model = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    search = peer.search(model, {"scale": Choice(choices)}, n_iter=3).fit(X, y)
    require(np.isfinite(search.best_score_), "best_score_ is not finite")
    fitted = [c for c in choices if hasattr(c, "n_features_in_")]
    require(not fitted, "the given values are fitted")


def list_of_spaces(peer):
    """A list of spaces, with parameters of their own, in one search."""
    model = Pipeline([("model", Ridge())])
    spaces = [
        {"model": Choice((Ridge(),)), "model__alpha": Floats(0.1, 1.0)},
        {"model": Choice((Lasso(),)), "model__max_iter": Ints(500, 503)},
    ]
    search = peer.search(model, spaces, n_iter=8).fit(X, X[:, 0])
    kinds = {type(p["model"]).__name__ for p in search.cv_results_["params"]}
    require(kinds == {"Ridge", "Lasso"}, f"tries {', '.join(sorted(kinds))} only")


def quiet(peer):
    """Prints nothing by default."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        peer.search(Instant(), LINE).fit(X, y)
    require(not text.getvalue().strip(), f"prints {text.getvalue()[:60]!r}")


class _Counting:
    """A callback that counts the calls of its hooks."""

    def __init__(self):
        self.calls: Counter[str] = Counter()

    def setup(self, estimator, context):
        self.calls["setup"] += 1

    def on_fit_task_begin(self, estimator, context):
        self.calls["begin"] += 1

    def on_fit_task_end(self, estimator, context):
        self.calls["end"] += 1

    def teardown(self, estimator, context):
        self.calls["teardown"] += 1


def _with_callback(search, callback):
    try:
        import sklearn.callback  # noqa: F401 - is it there at all?
    except ImportError:
        raise NotApplicableError("scikit-learn has them from 1.9 on") from None
    require(hasattr(search, "set_callbacks"), "has no set_callbacks")
    return search.set_callbacks(callback)


def callbacks(peer):
    """Callbacks: every fit, refit included, is a task that begins and ends."""
    counting = _Counting()
    search = _with_callback(peer.search(Instant(), LINE), counting)
    n_fits = len(fold_fits(search)) + 1
    calls = counting.calls
    require(calls["setup"] == calls["teardown"] == 1, f"calls are {dict(calls)}")
    require(calls["begin"] == calls["end"], f"calls are {dict(calls)}")
    told = f"{calls['begin']} tasks for {n_fits} fits"
    require(calls["begin"] >= n_fits, told)


def progress_bar(peer):
    """Callbacks: scikit-learn's `ProgressBar` comes to its end."""
    try:
        from sklearn.callback import ProgressBar
    except ImportError:
        raise NotApplicableError("scikit-learn has it from 1.9 on") from None
    if find_spec("rich") is None:
        raise NotApplicableError("rich is not installed")
    search = _with_callback(peer.search(Instant(), LINE), ProgressBar())
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        search.fit(X, y)
    if "100%" not in text.getvalue():
        raise UnmetError("does not show 100%")
