"""Searches that are interrupted and resume from their checkpoint."""

import dataclasses
import datetime
import functools
import ipaddress
import json
import os
import sqlite3
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fake_estimators import Fake, search_of
from skrobustbo import Categorical, Integer, Real, Resource, RobustBayesSearchCV, Space
from skrobustbo.checkpoint import CheckpointError, describe, describe_data, open_journal
from skrobustbo.checkpoint._store import _digest

X, y = load_iris(return_X_y=True)


class Counted(Fake):
    """Scores a known function, counts its fits, interrupts one of them."""

    n_fits = 0
    stop_at = None
    error = KeyboardInterrupt

    def __init__(self, a=0.0, b=0, fail_above=2.0):
        self.a = a
        self.b = b
        self.fail_above = fail_above

    def fit(self, X, y=None, sample_weight=None):
        Counted.n_fits += 1
        if Counted.n_fits == Counted.stop_at:
            raise Counted.error("stopped")
        if self.a > self.fail_above:
            raise RuntimeError("too large")
        self.mean_ = float(np.asarray(X[:5]).mean()) if not sparse.issparse(X) else 0.0
        return super().fit(X, y)

    def score(self, X, y=None):
        return super().score(X, y) - self.b**2 + 0.001 * self.mean_


class Noted(Counted):
    """Scores with independent noise in each fold, so that races matter."""

    def score(self, X, y=None):
        seed = [int(1e6 * (self.a + 1)), int(1e3 * self.mean_)]
        return super().score(X, y) + 0.01 * np.random.default_rng(seed).normal()


SPACE = {"a": Real(-1, 1), "b": Integer(-2, 2)}


@pytest.fixture(autouse=True)
def fresh():
    Counted.n_fits, Counted.stop_at, Counted.error = 0, None, KeyboardInterrupt


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.ckpt"


def make(path=None, estimator=None, space=SPACE, **settings):
    given = {"n_iter": 10, "refit": False, **settings}
    estimator = Counted() if estimator is None else estimator
    return search_of(estimator, space, checkpoint=path, **given)


def quietly(search, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.fit(*args, **kwargs)


def assert_same_results(found, expected):
    found, expected = found.cv_results_, expected.cv_results_
    assert list(found) == list(expected)
    for key, values in expected.items():
        if "time" not in key:
            np.testing.assert_array_equal(found[key], values, err_msg=key)


def interrupted(search, stop_at, *data, error=KeyboardInterrupt, **params):
    Counted.n_fits, Counted.stop_at, Counted.error = 0, stop_at, error
    with pytest.raises(error, match="stopped"):
        quietly(search, *(data or (X, y)), **params)
    Counted.n_fits, Counted.stop_at = 0, None


# Resuming -----------------------------------------------------------------------------

CASES = {
    "plain": {},
    "batches": {"batch_size": 3},
    "train": {"return_train_score": True},
    "failing": {"estimator": Counted(fail_above=0.5)},
    "elimination": {"policy": "he-gp-ucb"},
    "balancing": {"policy": "lb-gp-ucb", "batch_size": 2},
    "chain": {"policy": "mcmc-gp-ucb", "n_iter": 7},
    "changing": {"policy": "et-gp-ucb"},
    "points": {
        "space": Space.from_points([{"a": i / 9, "b": i % 2} for i in range(8)])
    },
    "several": {
        "scoring": {"s": Counted.score, "n": lambda e, X, y: len(X)},
        "search_metric": "s",
    },
    "branches": {
        "space": [{"a": Real(0, 1)}, {"b": [1, 2, 3], "a": Real(0.2, 0.9)}],
        "batch_size": 2,
    },
    "window": {"schedule": "window", "batch_size": 3},
    "free": {"schedule": "free", "batch_size": 3},
    "races": {
        "estimator": Noted(),
        "racing": "confident",
        "schedule": "window",
        "batch_size": 2,
    },
    "given": {"initial_params": [{"a": 0.123}, {"a": 1, "b": 2}]},
}


@pytest.mark.filterwarnings("ignore:The checkpoint knows the function")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "stop_at", [8, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 17))]
)
def test_an_interrupted_search_ends_as_the_unbroken_one(case, stop_at, path):
    settings = CASES[case]
    expected = quietly(make(**settings), X, y)
    total = Counted.n_fits
    interrupted(make(path, **settings), stop_at)
    found = quietly(make(path, **settings), X, y)
    assert_same_results(found, expected)
    assert Counted.n_fits == total - (stop_at - 1)
    assert found.stop_reason_ == expected.stop_reason_
    Counted.n_fits = 0
    assert_same_results(quietly(make(path, **settings), X, y), expected)
    assert Counted.n_fits == 0


def test_an_error_of_the_estimator_keeps_what_is_done(path):
    search = make(path, error_score="raise")
    interrupted(search, 8, error=RuntimeError)
    search.fit(X, y)
    assert Counted.n_fits == 23


def test_times_are_those_of_the_fits(path):
    first = make(path).fit(X, y)
    second = make(path).fit(X, y)
    for key in ("mean_fit_time", "std_score_time"):
        np.testing.assert_array_equal(first.cv_results_[key], second.cv_results_[key])


def test_drawn_splits_and_seed_are_kept(path):
    def search():
        splitter = ShuffleSplit(3, random_state=np.random.RandomState(3))
        return make(path, cv=splitter, random_state=None)

    first = search()
    interrupted(first, 8)
    second = search().fit(X, y)
    assert_same_results(make(path, cv=first.cv, random_state=None).fit(X, y), second)
    assert Counted.n_fits == 23
    seed = np.random.RandomState(5)
    assert_same_results(search().set_params(random_state=seed).fit(X, y), second)
    with pytest.raises(CheckpointError, match=r"random_state was \d+ and is now 0"):
        search().set_params(random_state=0).fit(X, y)


def test_objects_as_choices(path):
    steps = Pipeline([("scale", StandardScaler()), ("model", GaussianNB())])
    space = {
        "scale": Categorical([StandardScaler(), "passthrough"]),
        "model": [GaussianNB(), LogisticRegression(max_iter=500)],
    }
    first = make(path, steps, space, n_iter=3, refit=True).fit(X, y)
    second = make(path, steps, space, n_iter=4, refit=True).fit(X, y)
    assert first.stop_reason_ == "n_iter"
    assert second.n_iter_ == 4
    assert second.score(X, y) > 0.9
    again = make(path, steps, space, n_iter=4, refit=True).fit(X, y)
    for one, other in zip(
        again.cv_results_["params"], second.cv_results_["params"], strict=True
    ):
        assert describe(one) == describe(other)
    assert b"\x80\x04" not in path.read_bytes()  # no pickle


@pytest.mark.parametrize("kind", ["masks", "numbers", "iterator"])
def test_splits_as_masks_numbers_and_an_iterator(kind, path):
    masks = [(np.arange(150) % 3 != k, np.arange(150) % 3 == k) for k in range(3)]
    numbers = [(np.flatnonzero(a), np.flatnonzero(b) - 150) for a, b in masks]

    def splits():
        return {"masks": masks, "numbers": numbers, "iterator": iter(numbers)}[kind]

    expected = make(cv=masks).fit(X, y)
    interrupted(make(path, cv=splits()), 8)
    assert_same_results(make(path, cv=splits()).fit(X, y), expected)
    assert Counted.n_fits == 23


def test_more_iterations_continue(path):
    first = make(path, n_iter=6).fit(X, y)
    interrupted(make(path, n_iter=11), 7)
    second = make(path, n_iter=11).fit(X, y)
    assert Counted.n_fits == 15 - 6
    assert second.cv_results_["params"][:6] == first.cv_results_["params"]
    assert second.n_iter_ == 11
    with pytest.raises(
        CheckpointError, match=r"'n_iter' .* at least 11.* Got 7 instead"
    ):
        make(path, n_iter=7).fit(X, y)


def test_jobs_and_refit_may_change(path):
    first = make(path).fit(X, y)
    changed = make(path, n_jobs=2, refit=True, verbose=0, pre_dispatch=1).fit(X, y)
    assert_same_results(changed, first)
    assert changed.best_estimator_.a == changed.best_params_["a"]


def test_a_hopeless_search_stays_hopeless(path):
    for _ in range(2):
        with pytest.raises(ValueError, match="All 9 fits"):
            quietly(make(path, Counted(fail_above=-2.0)), X, y)
    assert Counted.n_fits == 9


def test_callable_scoring_whose_failures_have_one_number(path):
    def search():
        estimator = Counted(fail_above=0.0)
        return make(path, estimator, scoring=both, search_metric="s")

    expected = quietly(search().set_params(checkpoint=None), X, y)
    interrupted(search(), 13)
    assert_same_results(quietly(search(), X, y), expected)


def both(estimator, X, y):
    return {"s": estimator.score(X, y), "n": len(X)}


def test_other_candidates_than_asked_here_are_used_as_they_are(path):
    first = make(path, n_iter=6).fit(X, y)
    with sqlite3.connect(path) as db:
        (body,) = db.execute("SELECT body FROM candidate WHERE number = 4").fetchone()
        changed = json.loads(body)
        changed["params"]["b"] = -1 if changed["params"]["b"] == 1 else 1
        replace_row(db, "candidate", 4, json.dumps(changed))
    db.close()
    says = "The candidates in the checkpoint are not those that would be asked here"
    with pytest.warns(UserWarning, match=says):
        second = make(path, n_iter=12).fit(X, y)
    assert second.cv_results_["params"][4] == changed["params"]
    for name in ("model_label", "model_mean", "mean_test_score"):
        np.testing.assert_array_equal(
            second.cv_results_[name][:6], first.cv_results_[name]
        )
    assert second.n_iter_ == len(second.optimizer_.history_) == 12
    assert np.isfinite(second.cv_results_["posterior_mean"]).all()


@pytest.mark.parametrize("which", [0, 5, -1])
def test_other_evaluations_with_a_resource_are_used_as_they_are(which, path):
    settings = {"resource": Resource("n_samples", min=7), "policy": "random"}
    first = make(path, n_iter=4, **settings).fit(X, y)
    number = range(first.n_iter_)[which]
    with sqlite3.connect(path) as db:
        query = "SELECT body FROM candidate WHERE number = ?"
        (body,) = db.execute(query, (number,)).fetchone()
        changed = json.loads(body)
        changed["params"]["a"] *= 0.5
        replace_row(db, "candidate", number, json.dumps(changed))
    db.close()
    with pytest.warns(UserWarning, match="not those that would be asked here"):
        second = make(path, n_iter=8, **settings).fit(X, y)
    assert second.cv_results_["params"][number] == changed["params"]
    for name in ("model_label", "model_mean", "n_resources", "resource_score"):
        np.testing.assert_array_equal(
            second.cv_results_[name][: first.n_iter_], first.cv_results_[name]
        )
    assert second.n_iter_ > first.n_iter_
    told = [record["resource_values"] for record in second.optimizer_.history_]
    n_told = sum(value is not None for values in told for value in values.values())
    assert n_told == second.n_iter_
    assert second.optimizer_._rungs.spent.sum() == pytest.approx(8, abs=1)


def replace_row(db, table, number, body):
    (file_number,) = db.execute("SELECT number FROM header").fetchone()
    row = (body, _digest(file_number, table, number, body), number)
    db.execute(f"UPDATE {table} SET body = ?, digest = ? WHERE number = ?", row)


# The lock -----------------------------------------------------------------------------


def test_one_search_at_a_time(path):
    class Inner(Counted):
        def fit(self, X, y=None):
            with pytest.raises(
                CheckpointError, match=rf"in use .*\(process {os.getpid()}"
            ):
                make(path).fit(X, y)
            return super().fit(X, y)

    make(path, Inner(), n_iter=2).fit(X, y)
    code = (
        "from skrobustbo.checkpoint import open_journal\n"
        f"with open_journal({str(path)!r}): pass\n"
    )
    with open_journal(path):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True
        )
    assert "is in use by another search" in done.stderr
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_of_one_file_share_a_lock(path):
    link = path.with_name("link")
    link.symlink_to(path)
    refused = pytest.raises(CheckpointError, match="in use")
    with open_journal(path), refused, open_journal(link):
        pass


ORPHAN = """
import os, sys, time
from skrobustbo.checkpoint import open_journal
with open_journal({path!r}):
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(60)
    time.sleep(0.2)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_lock_dies_with_its_holder_whatever_children_do(path):
    command = [sys.executable, "-c", ORPHAN.format(path=str(path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        try:
            assert parent.wait() == -9
            with open_journal(path):
                os.kill(child, 0)  # alive, and yet not blocking anyone
        finally:
            os.kill(child, 9)


# Callbacks ----------------------------------------------------------------------------


class Rounds:
    """Counts the rounds that end; asks to stop after some."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.ended = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, metadata=None):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.ended += context.task_name == "round"
        return context.task_name == "round" and self.ended == self.stop_after


@pytest.mark.skipif(
    not hasattr(RobustBayesSearchCV, "set_callbacks"), reason="before callbacks"
)
def test_a_search_that_a_callback_stopped_goes_on_without_it(path):
    stopped = make(path, batch_size=2).set_callbacks(Rounds(3)).fit(X, y)
    assert stopped.n_iter_ == 6
    heard = Rounds()
    whole = make(path, batch_size=2).set_callbacks(heard).fit(X, y)
    assert heard.ended == 5  # those of the first run too
    assert Counted.n_fits == 30
    assert_same_results(whole, make(batch_size=2).fit(X, y))


# What is compared ---------------------------------------------------------------------


def changed_data(path, data, other):
    quietly(make(path, n_iter=2), *data)
    quietly(make(path, n_iter=2), *data)
    assert Counted.n_fits == 6
    with pytest.raises(
        CheckpointError, match=r"because the data X was .* and is now"
    ) as error:
        quietly(make(path, n_iter=2), *other)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.asfortranarray,
        sparse.csr_matrix,
        sparse.coo_array,
        pd.DataFrame,
        lambda X: X.tolist(),
        lambda X: X.astype(object),
        lambda X: pd.DataFrame(X).astype({0: "category"}),
    ],
)
def test_other_data_are_refused(convert, path):
    other = X.copy()
    other[149, 3] += 1e-9
    changed_data(path, (convert(X), y), (convert(other), y))


def test_each_part_is_named(path):
    weights = np.ones(150)
    model = Pipeline([("scale", StandardScaler()), ("svc", SVC(C=1.0))])
    space = {"svc__gamma": Real(1e-3, 1.0, log=True)}

    def fit(data=(X, y), space=space, model=model, weights=weights, **settings):
        search = make(path, model, space, n_iter=2, **settings)
        search.fit(*data, svc__sample_weight=weights)

    fit()
    refused = [
        ("the data y was", {"data": (X, (y + 1) % 3)}),
        ("the data svc__sample_weight was", {"weights": 2 * weights}),
        (
            r"the estimator parameter svc__C was 1.0 and is now 10.0",
            {"model": Pipeline([("scale", StandardScaler()), ("svc", SVC(C=10.0))])},
        ),
        (
            r"the space of svc__gamma was Real\(low=0.001, .* and is now Real",
            {"space": {"svc__gamma": Real(1e-3, 2.0, log=True)}},
        ),
        (
            "the space was Space of svc__gamma and is now Space of svc__C",
            {"space": {"svc__C": Real(1e-3, 1.0)}},
        ),
        (
            "the space was Space of svc__gamma and is now 2 branches",
            {"space": [{"svc__gamma": Real(1e-3, 1.0)}, {"svc__C": Real(1e-3, 1.0)}]},
        ),
        ("cv was 3 and is now .*KFold", {"cv": KFold(3)}),
        ("the scoring was None and is now 'accuracy'", {"scoring": "accuracy"}),
        ("the scoring was None", {"scoring": make_scorer(accuracy_score)}),
        ("the setting batch_size was 1 and is now 2", {"batch_size": 2}),
        ("the setting policy was .*RobustUCB.*", {"policy": "gp-ucb"}),
        ("the setting include_default was False and", {"include_default": True}),
        ("the setting error_score was nan and is now 0", {"error_score": 0}),
        ("the setting return_train_score was", {"return_train_score": True}),
        ("the setting n_initial_points was None", {"n_initial_points": 1}),
        ("the setting random_state was 0 and is now 1", {"random_state": 1}),
    ]
    before = path.read_bytes()
    for message, changes in refused:
        with pytest.raises(
            CheckpointError, match=f"belongs to another search, because {message}"
        ):
            fit(**changes)
    assert path.read_bytes() == before
    fit()


def test_a_tolerance_may_come_later_where_the_policy_is_given(path):
    make(path, n_iter=2, policy="map-gp-ucb").fit(X, y)
    assert make(path, n_iter=3, policy="map-gp-ucb", tol=1e-9).fit(X, y).n_iter_ == 3


def test_another_estimator_is_named(path):
    make(path, SVC(), {"tol": Real(1e-4, 1e-3)}, n_iter=2).fit(X, y)
    other = make(path, LogisticRegression(), {"tol": Real(1e-4, 1e-3)}, n_iter=2)
    with pytest.raises(CheckpointError, match=r"the estimator was .*\.SVC and is now"):
        other.fit(X, y)


def test_groups_are_data(path):
    groups = np.arange(150) % 5
    make(path, cv=GroupKFold(3), n_iter=2).fit(X, y, groups=groups)
    with pytest.raises(CheckpointError, match="the data groups was"):
        make(path, cv=GroupKFold(3), n_iter=2).fit(X, y, groups=groups + 1)


def test_descriptions_are_the_same_in_another_process():
    values = (
        "[SVC(C=2), KFold(4), make_scorer(accuracy_score), {'a', 'b', 'c'}, np.mean, "
    )
    values += "partial(accuracy_score, normalize=False), np.random.RandomState(0), "
    values += (
        "RandomForestClassifier(max_depth=3, random_state=np.random.RandomState(1)),"
    )
    values += "pd.DataFrame({'a': ['x', None], 'b': [1, 2.5]}), object(), Ellipsis]"
    names = {
        "pd": pd,
        "np": np,
        "SVC": SVC,
        "KFold": KFold,
        "make_scorer": make_scorer,
        "accuracy_score": accuracy_score,
        "partial": functools.partial,
        "RandomForestClassifier": RandomForestClassifier,
    }
    here = [describe(value) for value in eval(values, names)]
    code = f"""
import numpy as np, pandas as pd
from functools import partial
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import KFold
from sklearn.svm import SVC
from skrobustbo.checkpoint import describe
print([describe(value) for value in {values}])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "PYTHONHASHSEED": "7",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
    )
    assert eval(done.stdout) == here
    assert not any("0x" in text for text in here)
    assert len(set(here)) == len(here)


def test_descriptions_tell_values_apart():
    pairs = [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ("1", 1),
        ([1], (1,)),
        ([1, 2], [2, 1]),
        (np.array([1]), np.array([1.0])),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (list(range(200)), list(range(1, 201))),
        ("a" * 400, "a" * 399 + "b"),
        (SVC(), SVC(C=2)),
        (KFold(3), KFold(4)),
        (np.mean, np.std),
        (SVC, GaussianNB),
        (np.array(["a", "b"], dtype=object), np.array(["ab", ""], dtype=object)),
        (pd.Series([1, 2], name="a"), pd.Series([1, 2], name="b")),
        (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[0, 0])),
        (sparse.csr_matrix(np.eye(2)), sparse.csr_matrix(2 * np.eye(2))),
    ]
    for a, b in pairs:
        assert describe(a) != describe(b), (a, b)
        assert describe(a) == describe(a)
    assert describe(np.float64(2)) == describe(2.0)
    big = np.arange(2**22).reshape(2, -1)[:, ::2]
    assert describe(big) == describe(big.copy())


def test_circles_end():
    inner = []
    inner.append(inner)
    assert "list" in describe(inner)


def test_functions_without_a_name_are_warned_of(path):
    with pytest.warns(UserWarning, match="only by its name"):
        make(path, scoring=lambda e, X, y: 1.0 - e.a**2, n_iter=2).fit(X, y)


def own_score(estimator, X, y):
    return 1.0 - estimator.a**2


def test_functions_of_ones_own_are_warned_of_and_those_of_packages_not(path, recwarn):
    assert describe(np.linalg.norm) == "numpy.linalg.norm"
    assert describe(len) == "builtins.len"
    assert describe(accuracy_score).endswith("accuracy_score")
    assert not recwarn.list
    with pytest.warns(UserWarning, match="own_score' only by its name.*another path"):
        make(path, scoring=own_score, n_iter=2).fit(X, y)


def test_the_parameter_is_checked():
    with pytest.raises(ValueError, match="'checkpoint' parameter"):
        make(3).fit(X, y)


# Objects that change in use -----------------------------------------------------------


@dataclasses.dataclass
class Notes:
    rounds: int = 3
    found: list = dataclasses.field(default_factory=list)


class Callback:
    """Records its calls, like callbacks of boosting libraries."""

    def __init__(self, rounds=3, names=("a", 1), inner=None, log=None, *, delta=0.0):
        self.rounds = rounds
        self.names = names
        self.inner = inner
        self._log = log
        self._delta = delta
        self.order = 10

    def __call__(self, value):
        self.best, self.calls = value, [*getattr(self, "calls", []), value]
        for noted in (self._log, getattr(self._log, "found", None)):
            if isinstance(noted, dict):
                noted[value] = value
            elif isinstance(noted, list):
                noted.append(value)
        if self.inner is not None:
            self.inner(value)


class Bare:
    """Has no attributes before it is used."""

    def __call__(self, value):
        self.calls = getattr(self, "calls", 0) + 1


class InSlots(Bare):
    __slots__ = ("__rounds", "calls")

    def __init__(self, rounds=3):
        self.__rounds = rounds

    def __repr__(self):
        return f"InSlots({getattr(self, 'calls', 0)})"


class Sized(Callback):
    def __len__(self):
        return len(getattr(self, "calls", ()))


@dataclasses.dataclass(slots=True)
class SlottedData:
    rounds: int = 3
    found: list = dataclasses.field(default_factory=list)

    def __call__(self, value):
        self.found.append(value)


def keep(store, value, rounds=3):
    store.append(value)


class Boosted(Fake):
    def fit(self, X, y=None, callbacks=(), weights=None):
        for callback in callbacks:
            callback(float(self.a))
        return self


@pytest.mark.parametrize(
    "make_one",
    [
        Callback,
        lambda **k: Callback(inner=Callback(**k)),
        lambda **k: Callback(log={}, **k),
        lambda **k: Callback(log=Notes(), **k),
        lambda **k: Callback(log=[], **k),
        lambda **k: Callback(**k).__call__,
        lambda **k: functools.partial(keep, [], **k),
        lambda **k: functools.partial(Callback(**k)),
        lambda **k: functools.partial(keep, Bare(), **k) if k else Bare(),
        InSlots,
        Sized,
        SlottedData,
    ],
    ids=[
        "plain",
        "inside",
        "dict",
        "dataclass",
        "list",
        "method",
        "partial",
        "called",
        "bare",
        "slots",
        "sized",
        "slotted dataclass",
    ],
)
@pytest.mark.filterwarnings("ignore:.*only by its name")  # fmt: skip
def test_a_callback_that_was_used_makes_no_other_search(make_one, path):
    def fit(callback):
        return search_of(Boosted(), n_iter=3, checkpoint=path, refit=False).fit(
            X, y, callbacks=[callback]
        )

    used = make_one()
    first = fit(used)
    used(1.0)
    for callback in (used, make_one()):
        assert fit(callback).cv_results_["params"] == first.cv_results_["params"]
    for other in (make_one(rounds=4), Notes(), print):
        with pytest.raises(CheckpointError, match="the data callbacks was"):
            fit(other)


@pytest.mark.parametrize("of_fit", [True, False])
@pytest.mark.parametrize("kind", [pd.Timedelta, pd.Timestamp, datetime.timedelta])
def test_times_are_told_apart_whatever_they_have_computed(kind, of_fit):
    one, two = kind(1), kind(2)
    text = describe_data([one], of_fit=of_fit)
    str(one)  # pandas caches some computed attributes
    assert text == describe_data([one], of_fit=of_fit)
    assert text != describe_data([two], of_fit=of_fit)


def test_settings_of_what_is_passed_to_fit_are_told_apart():
    values = [Callback(), Callback(rounds=4), Callback(names=("b", 1)),
              Callback(delta=0.1), Callback(inner=Callback()), Callback(inner=Notes()),
              Callback(inner=max), Callback(inner=min), Notes(), Notes(rounds=4),
              datetime.timedelta(1), datetime.timedelta(2), object(), InSlots(),
              InSlots(rounds=4), Bare(), Sized(rounds=4), ipaddress.ip_address(1),
              ipaddress.ip_address(2), Fraction(1, 2), Fraction(1, 3)]  # fmt: skip
    texts = [describe_data([value], of_fit=True) for value in values]
    assert len(set(texts)) == len(values)
    arrays = [np.zeros(3), [0.0] * 3, {"a": 0.0}, [np.zeros(3)], [[1.0, 2.0]]]
    for value in arrays:
        assert describe_data(value, of_fit=True) == describe_data(value)


@pytest.mark.filterwarnings("ignore")  # of deprecated names, which all versions know
def test_early_stopping_of_lightgbm_may_be_used_again(path):
    lightgbm = pytest.importorskip("lightgbm")
    callbacks = [
        lightgbm.early_stopping(3, verbose=False),
        lightgbm.record_evaluation({}),
    ]
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1)
    space = {"num_leaves": Integer(2, 31)}
    settings = {"n_iter": 3, "cv": 2, "random_state": 0, "checkpoint": path}
    for _ in range(2):
        search = RobustBayesSearchCV(model, space, **settings, refit=False)
        search.fit(X, y, eval_set=[(X, y)], callbacks=callbacks)
    other = [lightgbm.early_stopping(4, verbose=False), callbacks[1]]
    with pytest.raises(CheckpointError, match="the data callbacks was"):
        search.fit(X, y, eval_set=[(X, y)], callbacks=other)
