"""Checkpoints read without the call that wrote them, during and after it."""

import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from fake_estimators import Noisy, search_of
from skrobustbo import Categorical, Integer, Real, RobustBayesSearchCV, load_checkpoint
from skrobustbo.checkpoint import CheckpointError
from skrobustbo.checkpoint._events import Started
from skrobustbo.checkpoint._snapshot import snapshot
from skrobustbo.checkpoint._store import VERSION, FileStore, create

sys.path.insert(0, str(Path(__file__).parent))

from test_hostile import change, edited

X, y = load_iris(return_X_y=True)


class Known(ClassifierMixin, BaseEstimator):
    """Scores a known function of its parameters, without taking time."""

    kill_at = None
    n_fits = 0

    def __init__(self, a=0.0, n=1, b="x", fails=False):
        self.a = a
        self.n = n
        self.b = b
        self.fails = fails

    def fit(self, X, y=None):
        Known.n_fits += 1
        if Known.n_fits == Known.kill_at:
            os.kill(os.getpid(), 9)
        if self.fails and self.a > 0:
            raise RuntimeError("too large")
        self.classes_ = np.unique(y)
        self.offset_ = float(X.mean())
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y=None):
        return self.offset_ / 100 - self.a**2 + 0.01 * self.n


def two_metrics(estimator, X, y):
    score = estimator.score(X, y)
    return {"score": score, "worse": -score}


SPACE = {
    "a": Real(-1, 1),
    "n": Integer(1, 5),
    "b": Categorical(["x", 1.5, True, None, (1, 2)]),
}
STEPS = [
    {"clf": [GaussianNB()], "clf__var_smoothing": Real(1e-9, 1e-3, log=True)},
    {"clf": [KNeighborsClassifier()], "clf__n_neighbors": Integer(1, 9)},
]


def make(path, estimator=None, space=SPACE, **settings):
    given = {"n_iter": 8, "cv": 3, "random_state": 0, "refit": False, **settings}
    return RobustBayesSearchCV(estimator or Known(), space, checkpoint=path, **given)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.ckpt"


@pytest.fixture(autouse=True)
def fresh():
    Known.n_fits, Known.kill_at = 0, None


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "search.ckpt"
    make(path).fit(X, y)
    return path


@pytest.fixture
def written(original, tmp_path):
    return Path(shutil.copy(original, tmp_path / "search.ckpt"))


def same_table(loaded, search):
    pd.testing.assert_frame_equal(
        loaded.trials_dataframe(), search.trials_dataframe(), check_exact=True
    )


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


# Searches of all kinds ----------------------------------------------------------------

KINDS = {
    "plain": {},
    "several metrics": {
        "scoring": ["accuracy", "balanced_accuracy"],
        "search_metric": "balanced_accuracy",
    },
    "metrics of a callable": {"scoring": two_metrics, "search_metric": "worse"},
    "one named metric": {"scoring": ["accuracy"], "refit": "accuracy"},
    "failures": {"estimator": Known(fails=True), "return_train_score": True},
    "failures of several metrics": {
        "estimator": Known(fails=True),
        "scoring": two_metrics,
        "refit": "score",
    },
    "batches": {"batch_size": 3, "policy": "map-gp-ucb"},
    "predictions": {"honest_score": True, "scoring": "accuracy"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")  # of fits that fail, and own functions
def test_the_table_is_that_of_the_search(kind, path):
    search = make(path, **KINDS[kind]).fit(X, y)
    loaded = load_checkpoint(path)
    same_table(loaded, search)
    assert (loaded.status, loaded.stop_reason) == ("finished", "n_iter")
    assert (loaded.n_unfinished, loaded.n_folds) == (0, 24)
    assert loaded.metrics == list(search._notes.trials[0].metrics)
    assert loaded.metric == search._notes.metric
    best = max(loaded.trials, key=lambda t: np.nan_to_num(t["score"], nan=-np.inf))
    assert loaded.best == best


def test_it_says_what_the_search_was(written):
    loaded = load_checkpoint(written)
    assert loaded.path == str(written)
    assert (loaded.estimator, loaded.policy) == ("Known", "robust")
    assert (loaded.n_iter, loaded.n_splits, loaded.n_samples) == (8, 3, 150)
    assert loaded.random_state == 0
    assert loaded.space == [{"a": None, "n": None, "b": ["x", 1.5, True, None, (1, 2)]}]
    assert loaded.settings["space"]["a"].startswith("Real(low=-1.0, high=1.0")
    assert loaded.settings["cv"] == {"": "3"}
    assert loaded.versions["numpy"] == np.__version__
    assert 0 < loaded.running_time < 600
    assert "trials=" not in repr(loaded)
    np.testing.assert_equal(load_checkpoint(str(written)).trials, loaded.trials)


def test_a_search_without_a_finished_candidate_has_an_empty_table(path):
    class Interrupted(GaussianNB):
        def fit(self, X, y=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(path, Interrupted(), {"var_smoothing": Real(1e-9, 1)}).fit(X, y)
    loaded = load_checkpoint(path)
    assert (loaded.best, loaded.n_unfinished) == (None, 1)
    table = loaded.trials_dataframe()
    assert len(table) == 0
    assert table.index.name == "number"
    assert {"status", "score"} <= set(table.columns)


def test_branches_and_objects(path):
    pipeline = Pipeline([("clf", GaussianNB())])
    search = make(path, pipeline, STEPS).fit(X, y)
    loaded = load_checkpoint(path)
    expected = search.trials_dataframe()
    expected["param_clf"] = expected["param_clf"].map(
        lambda value: {
            "GaussianNB": loaded.space[0]["clf"][0],
            "KNeighborsClassifier": loaded.space[1]["clf"][0],
        }[type(value).__name__]
    )
    pd.testing.assert_frame_equal(loaded.trials_dataframe(), expected)
    assert loaded.space[0]["clf"][0].startswith("sklearn.naive_bayes.GaussianNB(")
    assert {trial["branch"] for trial in loaded.trials} == {0, 1}


@pytest.mark.parametrize("schedule", ["rounds", "window"])
@pytest.mark.filterwarnings("ignore")  # of fits that fail
def test_races(schedule, path):
    settings = {"racing": "confident", "schedule": schedule, "cv": KFold(4)}
    estimator = Noisy(fail_above=0.6)
    search = search_of(estimator, n_iter=16, refit=False, checkpoint=path, **settings)
    search.fit(X, y)
    loaded = load_checkpoint(path)
    same_table(loaded, search)
    statuses = {trial["status"] for trial in loaded.trials}
    assert statuses == {"complete", "failed", "stopped"}
    assert loaded.n_unfinished == 0


@pytest.mark.parametrize("schedule", ["rounds", "window"])
@pytest.mark.filterwarnings("ignore")  # of fits that fail
def test_a_race_that_raised(schedule, path):
    """A stopped candidate is distinguished from a running one."""
    told = []

    def spoil(trial):
        told.append(trial)
        if len(told) == 9:
            raise KeyboardInterrupt

    settings = {"racing": True, "schedule": schedule, "batch_size": 3, "cv": KFold(4)}
    settings |= {"n_iter": 16, "refit": False, "checkpoint": path}
    with pytest.raises(KeyboardInterrupt):
        search_of(Noisy(fail_above=0.6), on_trial=spoil, **settings).fit(X, y)
    loaded = load_checkpoint(path)
    known = {trial["number"]: trial for trial in loaded.trials}
    assert known.keys() >= {trial["number"] for trial in told}
    for trial in told:
        assert known[trial["number"]]["status"] == trial["status"]
    assert {"stopped", "failed"} & {trial["status"] for trial in told}
    n_over = len(loaded.trials)
    search = search_of(Noisy(fail_above=0.6), **settings).fit(X, y)
    loaded = load_checkpoint(path)
    same_table(loaded, search)
    assert (len(loaded.trials), loaded.n_unfinished) == (16, 0)
    assert n_over < 16
    change(path, "over", 0, lambda body: '{"candidate": 99}')
    refused(path, "is damaged .what is over")
    change(path, "over", 0, lambda body: '{"candidate": "0"}')
    refused(path, "is damaged .candidate of a candidate that is over")


def test_a_search_that_was_stopped(path):
    def stop(trial):
        if trial["number"] == 4:
            os.kill(os.getpid(), 2)

    with pytest.warns(UserWarning, match="interrupted"):
        search = make(path, on_trial=stop).fit(X, y)
    loaded = load_checkpoint(path)
    same_table(loaded, search)
    assert (loaded.status, loaded.stop_reason) == ("finished", "interrupted")


# While it runs ------------------------------------------------------------------------


def test_a_search_reads_its_own_checkpoint(path):
    """It keeps its locks: SQLite would lose them with any descriptor that is closed."""
    seen = []
    code = (
        "import sqlite3, sys\n"
        "try: sqlite3.connect(sys.argv[1], timeout=0).execute('SELECT * FROM fold')\n"
        "except sqlite3.OperationalError as error: print(error)\n"
    )

    def look(trial):
        loaded = load_checkpoint(path)
        seen.append((loaded.status, len(loaded.trials), loaded.n_folds))
        with pytest.raises(CheckpointError, match="in use"):
            make(path).fit(X, y)
        if trial["number"] == 7:
            command = [sys.executable, "-c", code, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            assert "locked" in done.stdout
            seen.append("locked")

    make(path, on_trial=look).fit(X, y)
    counted = [("running", n, 3 * n) for n in range(1, 9)]
    assert seen == [*counted, "locked"]


RUN = """
import sys
sys.path[:0] = {folders!r}
import test_loading as t
t.Known.kill_at = 16
t.make({path!r}, n_iter=20).fit(t.X, t.y)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
def test_a_killed_search(path):
    here = Path(__file__)
    folders = [str(here.parent), str(here.parents[1] / "helpers")]
    code = RUN.format(folders=folders, path=str(path))
    environment = {**os.environ, "PYTHONPATH": str(here.parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=environment)
    assert done.returncode == -9
    before = contents(path.parent)
    assert len(before["search.ckpt-wal"]) > 1000
    loaded = load_checkpoint(path)
    assert contents(path.parent) == before
    assert (loaded.status, loaded.stop_reason) == ("unfinished", None)
    assert (len(loaded.trials), loaded.n_unfinished, loaded.n_folds) == (5, 1, 15)
    assert loaded.running_time == 0
    search = make(path, n_iter=20).fit(X, y)
    loaded = load_checkpoint(path)
    same_table(loaded, search)
    assert (loaded.status, loaded.n_iter) == ("finished", 20)


def test_a_search_that_raised(path):
    def spoil(trial):
        if trial["number"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(path, on_trial=spoil).fit(X, y)
    loaded = load_checkpoint(path)
    assert (loaded.status, loaded.stop_reason) == ("unfinished", "error")
    assert len(loaded.trials) == 4


def test_calls_are_counted_when_they_do_something(written):
    before = written.read_bytes()
    make(written).fit(X, y)
    assert written.read_bytes() == before
    make(written, n_iter=10).fit(X, y)
    loaded = load_checkpoint(written)
    assert (loaded.n_iter, len(loaded.trials), loaded.status) == (10, 10, "finished")
    with closing(sqlite3.connect(written)) as db:
        runs = [json.loads(body) for (body,) in db.execute("SELECT body FROM run")]
    assert {run["number"] for run in runs} == {0, 1}


WRITER = """
import sys
import time
from skrobustbo._trials import FoldResult
from skrobustbo.checkpoint._store import FileStore
store = FileStore(sys.argv[1])
store._db.execute("PRAGMA wal_autocheckpoint = 5")  # the log begins again all the time
for i in range(10**9):
    result = FoldResult({"": 0.5}, fit_error="x" * (i % 9000))
    store.add("fold", [((i, 0), result)])
    time.sleep(0.005)  # on a busy machine, readers must get their turn
    if i == 50:
        print("begun", flush=True)
"""


def test_copies_are_whole_while_the_log_begins_again(path):
    outline = {"estimator": "E", "policy": "P", "metric": None}
    outline["branches"] = [{"a": None}]
    started = Started(outline=outline, n_splits=1, n_samples=1)
    create(str(path), {"header": [started], "split": []}).close()
    command = [sys.executable, "-c", WRITER, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    writer = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    try:
        writer.stdout.readline()
        counts = []
        for _ in range(15):
            with snapshot(str(path)) as copy, closing(FileStore(copy)) as store:
                rows = store.read("fold")
            assert [number for (number, _), _ in rows] == list(range(len(rows)))
            counts.append(len(rows))
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()
    assert counts == sorted(counts)
    assert counts[0] > 50
    assert counts[-1] > counts[0]


def test_a_copy_is_taken_again_where_the_log_began_again(written, monkeypatch):
    """Parts copied before and after a restart of the log do not belong together."""
    from skrobustbo.checkpoint import _snapshot

    n_copied, copy_all = [], shutil.copyfileobj
    source = FileStore(str(written))
    n_folds = len(source.read("fold"))
    source.add("fold", [((99, 0), None)])

    def slowly(file, target):
        copy_all(file, target)
        n_copied.append(target)
        if len(n_copied) == 1:
            source._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            source.add("fold", [((100, 0), None)])

    monkeypatch.setattr(_snapshot.shutil, "copyfileobj", slowly)
    with (
        closing(source),
        snapshot(str(written)) as copy,
        closing(FileStore(copy)) as store,
    ):
        folds = store.read("fold")
    assert len(n_copied) == 4
    assert folds[n_folds:] == [((99, 0), None), ((100, 0), None)]


# What is refused ----------------------------------------------------------------------


def refused(path, match):
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(CheckpointError, match=match) as error:
        load_checkpoint(path)
    assert "\n" not in str(error.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_what_is_no_checkpoint(path, tmp_path):
    refused(path, "no checkpoint at .*check the path")
    refused(tmp_path / "no" / "search.ckpt", "no checkpoint at")
    path.touch()
    refused(path, "no checkpoint at")
    refused(tmp_path, "is not a file")
    path.write_text("number,score\n" * 99)
    refused(path, "is not a checkpoint")
    for wrong in (3, None, b"search.ckpt"):
        with pytest.raises(TypeError, match="'path' of load_checkpoint must be a str"):
            load_checkpoint(wrong)
    for wrong in ("", "a\0b"):
        with pytest.raises(CheckpointError, match="is not the name of a file"):
            load_checkpoint(wrong)


def test_other_versions(written):
    for version in (3, VERSION + 1):
        with closing(sqlite3.connect(written)) as db:
            db.execute(f"PRAGMA user_version = {version}")
        refused(written, f"has format {version}, and this version reads")


def test_files_of_others_beside(written):
    Path(f"{written}-wal").write_text("a diary\n" * 99)
    refused(written, "is not ours")


def outlined(**changes):
    def edit(body):
        header = json.loads(body)
        return json.dumps({**header, "outline": {**header["outline"], **changes}})

    return edit


DEEP = json.loads("[" * 900 + "]" * 900)
BAD_OUTLINES = [
    {"estimator": 3},
    {"policy": None},
    {"metric": ["a"]},
    {"branches": []},
    {"branches": [{}]},
    {"branches": [3]},
    {"branches": [{"a": 3, "n": None, "b": None}]},
    {"branches": [{"a": None}]},
    {"branches": [{"a": None, "n": None, "b": ["x"]}]},
    {"branches": [{"a": None, "n": None, "b": [{"$class": "os.system"}] * 5}]},
    {"branches": [{"a": None, "n": None, "b": [{"$float": "x"}] * 5}]},
    {"branches": [{"a": None, "n": None, "b": [DEEP] * 5}]},
    {"more": 1},
]


@pytest.mark.parametrize("changes", BAD_OUTLINES, ids=lambda c: str(c)[:60])
def test_outlines_are_checked(changes, written):
    change(written, "header", 0, outlined(**changes))
    refused(written, "is damaged")


SAID = {"label": "initial", "mean": 0.5, "std": 0.5}
BAD_CANDIDATES = [
    {"params": {"a": 0.5, "n": 1}},
    {"params": {"a": 0.5, "n": 1, "b": 5}},
    {"params": {"a": 0.5, "n": 1, "b": -1}},
    {"params": {"a": 0.5, "n": 1, "b": True}},
    {"params": {"a": "0.5", "n": 1, "b": 1}},
    {"params": {"a": {"$tuple": []}, "n": 1, "b": 1}},
    {"params": {"a": True, "n": 1, "b": 1}},
    {"params": [1, 2]},
    {"params": None},
    {"said": {**SAID, "label": 3}},
    {"said": {**SAID, "mean": "0"}},
    {"said": {**SAID, "extra": 1}},
    {"said": [1]},
    {"said": {}},
    {"extra": 1},
    {"round": 77},
]


@pytest.mark.parametrize("changes", BAD_CANDIDATES, ids=str)
def test_candidates_are_checked(changes, written):
    change(written, "candidate", 7, edited(**changes))
    refused(written, "is damaged")


BAD_RUNS = [
    {"started": -1},
    {"started": 1e300},
    {"started": True},
    {"ended": "now"},
    {"ended": None},
    {"number": -1},
    {"number": 2},
    {"n_iter": None},
    {"machine": 3},
    {"reason": 3},
    {"more": 1},
]


@pytest.mark.parametrize("changes", BAD_RUNS, ids=str)
def test_runs_are_checked(changes, written):
    change(written, "run", 1, edited(**changes))
    refused(written, "is damaged .*run")
    with pytest.raises(CheckpointError, match="is damaged"):
        make(written).fit(X, y)


def test_folds_and_rows_are_checked(written):
    change(written, "fold", 2, edited(test_scores="high"))
    refused(written, "is damaged")
    with closing(sqlite3.connect(written)) as db:
        db.execute("DELETE FROM candidate WHERE number = 3")
        db.commit()
    refused(written, "is damaged .*candidates are missing")


def test_huge_counts_cost_nothing(written):
    change(written, "header", 0, edited(n_splits=2**52, horizon=2**52))
    loaded = load_checkpoint(written)
    assert (len(loaded.trials), loaded.n_unfinished) == (0, 8)


def test_a_search_on_another_machine(written):
    """Its process cannot be checked from here."""
    change(written, "run", 1, edited(machine="", ended=None, reason=None))
    assert load_checkpoint(written).status is None
    change(written, "run", 1, edited(ended=1e9, reason="tol"))
    assert load_checkpoint(written).status == "finished"


def test_many_choices_are_shown_by_their_index(path, monkeypatch):
    from skrobustbo.model_selection import _outline

    monkeypatch.setattr(_outline, "_LONGEST", 4)
    search = make(path).fit(X, y)
    loaded = load_checkpoint(path)
    assert loaded.space[0]["b"] == []
    choices = SPACE["b"].choices
    shown = [choices[trial["params"]["b"]] for trial in loaded.trials]
    assert shown == [trial["b"] for trial in search.cv_results_["params"]]


def test_choices_tell_no_more_than_the_description(path):
    secret = ["mueller", "meier"] * 20
    choices = [secret, secret[:1], clone(Known()), "y" * 999, b"raw", 2j]
    space = {"a": Real(-1, 1), "b": Categorical(choices)}
    make(path, space=space, n_iter=4, n_initial_points=4).fit(X, y)
    data = path.read_bytes()
    assert b"mueller" not in data
    assert b"y" * 400 not in data
    found = load_checkpoint(path).space[0]["b"]
    assert all(isinstance(text, str) for text in found)
    assert math.isfinite(load_checkpoint(path).best["score"])
