"""What a callback and MLflow's autologging log about a search."""

import math
import os
import pickle
import re
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RandomizedSearchCV, ShuffleSplit

from fake_estimators import HERE, Fake, Noisy, search_of
from skrobustbo import Real, Resource, RobustBayesSearchCV
from skrobustbo.integrations.mlflow import MLflowCallback

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("sqlalchemy")  # for a local database

# Warnings of these packages are not ours.
pytestmark = pytest.mark.filterwarnings("ignore")

X, y = load_iris(return_X_y=True)
GUIDE = Path(__file__).parents[2] / "docs" / "integrations.md"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Create a database once, because this takes seconds."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/runs.db"


@pytest.fixture(autouse=True)
def store(database, tmp_path):
    """Give each test its own experiment; return its tracking URI and name."""
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(database)
    name = tmp_path.as_uri()
    mlflow.create_experiment(name, artifact_location=(tmp_path / "kept").as_uri())
    mlflow.set_experiment(name)
    yield database, name
    while mlflow.active_run() is not None:
        mlflow.end_run()
    mlflow.set_tracking_uri(before)


@pytest.fixture
def autolog():
    """Return a function that turns on autologging of a package until the test ends."""
    on = set()

    def turn_on(name, **settings):
        on.add(name)
        settings = {"log_models": False, "log_datasets": False, **settings}
        getattr(mlflow, name).autolog(**settings)

    yield turn_on
    for name in on:
        getattr(mlflow, name).autolog(disable=True, silent=True)


def runs():
    return mlflow.search_runs(output_format="list")


def parent_of(run):
    return run.data.tags.get("mlflow.parentRunId")


def family():
    """Return the only top-level run, and those below it by number."""
    (whole,) = [run for run in runs() if parent_of(run) is None]
    below = [run for run in runs() if run is not whole and parent_of(run) is not None]
    assert {parent_of(run) for run in below} <= {whole.info.run_id}
    numbers = [int(run.data.tags["skrobustbo.candidate"]) for run in below]
    assert len(set(numbers)) == len(numbers)
    return whole, dict(sorted(zip(numbers, below, strict=True)))


def logged(estimator=None, callback=None, **settings):
    """Return a search that logs to MLflow."""
    callback = MLflowCallback() if callback is None else callback
    given = {"n_iter": 6, **settings}
    return search_of(estimator or Noisy(), on_trial=callback, **given)


def check_family(search):
    """Check that the whole search is logged as in its results, and return the run."""
    whole, below = family()
    results = search.cv_results_
    assert list(below) == list(range(len(results["params"])))
    for number, run in below.items():
        assert run.data.params == {
            k: str(v) for k, v in results["params"][number].items()
        }
        for name in [name for name in results if re.search("(test_|_fit_time)", name)]:
            value = results[name][number]
            if "rank" in name or name == "std_fit_time":
                continue
            found = run.data.metrics.get(name, math.nan)
            np.testing.assert_allclose(found, value, rtol=1e-6, err_msg=name)
        assert run.info.status in ("FINISHED", "FAILED")
    assert whole.info.status == "FINISHED"
    assert whole.data.metrics["best_cv_score"] == pytest.approx(search.best_score_)
    assert whole.data.tags["stop_reason"] == search.stop_reason_
    best = below[int(whole.data.tags["best_candidate"])]
    assert best.data.params == {k: str(v) for k, v in search.best_params_.items()}
    for name, value in search.best_params_.items():
        told = whole.data.tags.get(f"best_{name}", whole.data.params[f"best_{name}"])
        assert told == str(value)
    return whole, below


# The callback -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"estimator": Noisy(fail_above=0.5), "n_iter": 8},
        {"estimator": Noisy(fail_above=0.5), "n_iter": 8, "error_score": -9.0},
        {"n_jobs": 2, "batch_size": 2, "schedule": "window"},
        {"racing": "confident", "n_iter": 12, "cv": 8},
        {"cv": ShuffleSplit(130, random_state=0), "n_iter": 2},
        {"scoring": {"a": "accuracy", "b": "accuracy"}, "refit": "b", "n_iter": 3},
        {"refit": False},
    ],
    ids=["plain", "failed", "number", "window", "race", "folds", "metrics", "no-refit"],
)
def test_there_is_a_run_for_the_search_and_one_for_each_candidate(settings):
    search = logged(**settings).fit(X, y)
    _, below = check_family(search)
    statuses = search.trials_dataframe()["status"]
    assert [run.data.tags["status"] for run in below.values()] == list(statuses)
    failed = [number for number, run in below.items() if run.info.status == "FAILED"]
    assert failed == list(statuses.index[statuses == "failed"])
    assert all("too large" in below[n].data.tags["failure"] for n in failed)


def test_names_that_mlflow_does_not_take_are_changed():
    search = logged(scoring={"F1 (%)": "accuracy"}, refit="F1 (%)", n_iter=2).fit(X, y)
    _, below = family()
    for number, run in below.items():
        expected = search.cv_results_["mean_test_F1 (%)"][number]
        assert run.data.metrics["mean_test_F1 ___"] == pytest.approx(expected)


def test_partial_evaluations_have_no_mean():
    space = {"C": Real(0.1, 10)}
    search = RobustBayesSearchCV(LogisticRegression(max_iter=90), space, n_iter=6)
    search.set_params(on_trial=MLflowCallback(), random_state=0)
    search.set_params(resource=Resource("n_samples", min=30))
    search.fit(X, y)
    _, below = check_family(search)
    assert {run.data.tags["status"] for run in below.values()} > {"partial"}


def test_the_names_are_those_of_autologging(autolog):
    autolog("sklearn", max_tuning_runs=None)
    theirs = RandomizedSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, n_iter=2)
    theirs.fit(X, y)
    (expected,) = [run for run in runs() if parent_of(run) is None]
    (some, _) = [run for run in runs() if parent_of(run) == _id(expected)]
    ours = RobustBayesSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, n_iter=2)
    ours.set_params(on_trial=MLflowCallback(run_name="ours")).fit(X, y)
    (whole,) = [run for run in runs() if run.info.run_name == "ours"]
    below = [run for run in runs() if parent_of(run) == _id(whole)]
    assert len(below) == 2
    wanted = {name for name in expected.data.params if name.startswith("best_")}
    assert wanted == {"best_C"} <= set(whole.data.params)
    # Our training scores come from the refit, like theirs.
    assert set(whole.data.metrics) == set(expected.data.metrics)
    missing = set(some.data.metrics) - set(below[0].data.metrics)
    assert {n for n in missing if not n.startswith(("rank", "std_"))} == set()
    assert whole.data.tags["estimator_name"] == "RobustBayesSearchCV"


def _id(run):
    return run.info.run_id


def test_without_a_checkpoint_resume_goes_on_with_the_run():
    search = logged().fit(X, y)
    assert search.resume(X, y, n_iter=3).n_iter_ == 9
    whole, _ = check_family(search)
    assert search.on_trial.run_id_ == _id(whole)
    search.fit(X, y)  # which is another search
    assert search.on_trial.run_id_ != _id(whole)
    assert len([run for run in runs() if parent_of(run) is None]) == 2


def test_a_longer_search_goes_on_with_the_run(tmp_path):
    path = tmp_path / "search.ckpt"
    first = logged(Fake(), checkpoint=path, n_iter=2).fit(X, y)
    before = family()[0].data.params
    longer = logged(Fake(), checkpoint=path, n_iter=9).fit(X, y)
    assert longer.best_params_ != first.best_params_
    whole, _ = check_family(longer)
    # MLflow lets no parameter change.
    assert whole.data.params == before == {"best_a": str(first.best_params_["a"])}
    again = logged(Fake(), checkpoint=path, n_iter=9).fit(X, y)
    assert _id(check_family(again)[0]) == _id(whole)


class Mended(Fake):
    """Fails until a certain folder exists."""

    def __init__(self, a=0.0, folder=""):
        super().__init__(a)
        self.folder = folder

    def fit(self, X, y=None):
        if self.a > 0.2 and not Path(self.folder).exists():
            raise RuntimeError("too large")
        return super().fit(X, y)


def test_what_is_fitted_again_is_logged_again(tmp_path):
    path, folder = tmp_path / "search.ckpt", tmp_path / "mended"
    search = logged(Mended(folder=str(folder)), checkpoint=path).fit(X, y)
    assert "failed" in set(search.trials_dataframe()["status"])
    folder.mkdir()
    search.set_params(retry_failed=True).fit(X, y)
    _, below = check_family(search)
    assert {run.data.tags["status"] for run in below.values()} == {"complete"}


@pytest.mark.parametrize("place", ["fold", "before", "created", "written"])
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_a_killed_search_goes_on_with_its_run(place, store, tmp_path):
    path = tmp_path / "search.ckpt"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *store, str(path), place],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([HERE, *sys.path])},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    whole, below = family()
    assert whole.info.status == "RUNNING"
    assert 0 < len(below) < 6
    search = logged(Fake(), checkpoint=path).fit(X, y)
    resumed, _ = check_family(search)
    assert _id(resumed) == _id(whole)
    assert mlflow.active_run() is None


KILLED = """
import os, signal, sys
import mlflow
from sklearn.datasets import load_iris
from fake_estimators import Fake, search_of
from skrobustbo.integrations.mlflow import MLflowCallback

uri, experiment, path, place = sys.argv[1:]
mlflow.set_tracking_uri(uri)
mlflow.set_experiment(experiment)
n = {"fold": 0, "before": 0, "created": 0, "written": 0}


def reached(here):
    n[here] += 1
    if here == place and n[here] == {"fold": 12}.get(here, 3):
        os.kill(os.getpid(), signal.SIGKILL)


def telling(cls, name, here):
    plain = getattr(cls, name)

    def told(self, *args, **kwargs):
        reached(here)
        return plain(self, *args, **kwargs)

    setattr(cls, name, told)


telling(Fake, "fit", "fold")
telling(MLflowCallback, "__call__", "before")
telling(mlflow.MlflowClient, "log_batch", "created")
telling(mlflow.MlflowClient, "set_terminated", "written")
X, y = load_iris(return_X_y=True)
search_of(Fake(), n_iter=6, on_trial=MLflowCallback(), checkpoint=path).fit(X, y)
"""


# Runs of the user ---------------------------------------------------------------------


def test_an_active_run_becomes_that_of_the_search():
    with mlflow.start_run(run_name="mine") as mine:
        search = logged().fit(X, y)
        assert _id(mlflow.active_run()) == _id(mine)
    whole, _ = check_family(search)
    assert _id(whole) == _id(mine)
    assert whole.info.run_name == "mine"


def test_two_searches_in_a_run_do_not_mix():
    with mlflow.start_run() as mine:
        first = logged(n_iter=3).fit(X, y)
        second = logged(n_iter=3, random_state=1).fit(X, y)
        assert _id(mlflow.active_run()) == _id(mine)
    ids = [search.on_trial.run_id_ for search in (first, second)]
    assert ids[0] == _id(mine) != ids[1]
    assert parent_of(mlflow.get_run(ids[1])) == ids[0]
    for search, run_id in zip((first, second), ids, strict=True):
        below = [run for run in runs() if parent_of(run) == run_id]
        told = {
            r.data.params["a"] for r in below if "skrobustbo.candidate" in r.data.tags
        }
        assert told == {str(params["a"]) for params in search.cv_results_["params"]}


def test_searches_in_threads_share_a_callback_and_do_not_mix():
    callback, both = MLflowCallback(), Barrier(2, timeout=60)

    class Together(Noisy):
        def fit(self, X, y=None):
            both.wait()
            return super().fit(X, y)

    def fit(seed):
        given = {"n_iter": 3, "random_state": seed, "refit": False}
        search = logged(Together(), callback, **given).fit(X, y)
        return sorted(str(params["a"]) for params in search.cv_results_["params"])

    with ThreadPoolExecutor(2) as pool:
        fitted = sorted(pool.map(fit, range(2)))
    wholes = [run for run in runs() if parent_of(run) is None]
    assert [run.info.status for run in wholes] == ["FINISHED"] * 2
    told = [
        sorted(r.data.params["a"] for r in runs() if parent_of(r) == _id(whole))
        for whole in wholes
    ]
    assert sorted(told) == fitted


def test_it_says_how_it_is_passed_if_a_function_calls_it():
    callback = MLflowCallback()
    with pytest.warns(UserWarning, match="pass it as on_trial itself"):
        search_of(Noisy(), on_trial=lambda told: callback(told), n_iter=3).fit(X, y)
    assert runs() == []


def test_a_run_in_another_run_is_found_again(tmp_path):
    path = tmp_path / "search.ckpt"
    logged(checkpoint=path, n_iter=3).fit(X, y)
    with mlflow.start_run(run_name="another") as another:
        search = logged(checkpoint=path).fit(X, y)
        assert _id(mlflow.active_run()) == _id(another)
    mlflow.delete_run(_id(another))
    check_family(search)


def test_an_error_ends_the_run():
    search = logged(Noisy(fail_above=-1.0), error_score="raise")
    with pytest.raises(RuntimeError, match="too large"):
        search.fit(X, y)
    whole, below = family()
    assert (whole.info.status, below) == ("FAILED", {})
    assert mlflow.active_run() is None


def test_a_refused_search_begins_no_run():
    with pytest.raises(ValueError, match="n_iter"):
        logged(n_iter=0).fit(X, y)
    with pytest.raises(ValueError, match="search_metric"):
        logged(search_metric="accuracy").fit(X, y)
    assert runs() == []


# Faults of the server -----------------------------------------------------------------


def warnings_of(search):
    """Fit a search and return the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    return [str(each.message) for each in caught if "MLflow" in str(each.message)]


def test_without_a_server_the_search_goes_on(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    mlflow.set_tracking_uri("http://127.0.0.1:9")
    search = logged()
    (message,) = warnings_of(search)
    assert message.startswith("MLflow failed to log the search (")
    assert search.n_iter_ == 6
    assert not hasattr(search.on_trial, "run_id_")


@pytest.mark.parametrize("name", ["create_run", "log_batch", "set_terminated"])
@pytest.mark.parametrize("n_good", [0, 1, 3])
def test_what_a_fault_left_out_is_logged_at_the_end(name, n_good, monkeypatch):
    plain, calls = getattr(mlflow.MlflowClient, name), []

    def fails(self, *args, **kwargs):
        calls.append(name)
        if len(calls) == n_good + 1:
            raise ConnectionError("the server is away")
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(mlflow.MlflowClient, name, fails)
    search = logged()
    (message,) = warnings_of(search)
    assert "ConnectionError: the server is away" in message
    check_family(search)


def test_a_server_that_stays_away_leaves_no_run_active(monkeypatch):
    def fails(self, *args, **kwargs):
        raise ConnectionError("the server is away")

    search = logged()
    monkeypatch.setattr(mlflow.MlflowClient, "log_batch", fails)
    monkeypatch.setattr(mlflow.MlflowClient, "set_terminated", fails)
    assert len(warnings_of(search)) == 1
    assert mlflow.active_run() is None


class Odd:
    """A value whose text is useless."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        if self.text is None:
            raise RuntimeError("no text")
        return self.text


@pytest.mark.parametrize("text", ["", "x" * 10_000, "a\0b\ud800", "'\"\n\t", None])
def test_any_value_is_logged(text):
    class Any(Fake):
        def __init__(self, a=0.0, odd=None):
            super().__init__(a)
            self.odd = odd

    space = {"a": Real(-1, 1), "odd": [Odd(text)]}
    search = RobustBayesSearchCV(Any(), space, n_iter=2, on_trial=MLflowCallback())
    assert warnings_of(search) == []
    _, below = family()
    assert [run.info.status for run in below.values()] == ["FINISHED"] * 2


# Autologging --------------------------------------------------------------------------


def estimator_of(name):
    """Return an estimator of a package, and a parameter of it."""
    pytest.importorskip(name)
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=3, verbose=-1), "learning_rate"
    if name == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=3), "learning_rate"
    return LogisticRegression(), "C"


@pytest.mark.parametrize("name", ["sklearn", "lightgbm", "xgboost"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_autologging_logs_the_best_model_only(name, n_jobs, autolog):
    estimator, parameter = estimator_of(name)
    autolog(name)
    search = RobustBayesSearchCV(
        estimator,
        {parameter: [0.3, 0.5, 0.9]},
        n_iter=3,
        cv=2,
        n_jobs=n_jobs,
        random_state=0,
    )
    with parallel_config(backend="threading"):
        search.fit(X, y)
    (run,) = runs()
    assert run.data.params[parameter] == str(search.best_params_[parameter])


@pytest.mark.parametrize("own", [False, True], ids=["of the user", "of the callback"])
def test_in_a_run_autologging_logs_the_best_parameters(own, autolog):
    autolog("sklearn")
    search = RobustBayesSearchCV(LogisticRegression(), {"C": [1e-6, 1.0]}, n_iter=2)
    if own:
        search.set_params(on_trial=MLflowCallback()).fit(X, y)
        whole, _ = check_family(search)
    else:
        with mlflow.start_run():
            search.fit(X, y)
        (whole,) = runs()
    assert whole.data.params["C"] == str(search.best_params_["C"])
    assert whole.data.metrics["training_score"] == search.score(X, y)


# The object ---------------------------------------------------------------------------


def test_it_is_cloned_and_pickled_with_its_settings_only():
    search = logged(callback=MLflowCallback(run_name="mine")).fit(X, y)
    whole, _ = family()
    assert whole.info.run_name == "mine"
    assert repr(search.on_trial) == "MLflowCallback(run_name='mine')"
    assert vars(clone(search).on_trial) == {"run_name": "mine"}
    again = pickle.loads(pickle.dumps(search))
    again.resume(X, y, n_iter=1)
    assert _id(check_family(again)[0]) == _id(whole)


def test_the_guide_shows_how(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = [
        block
        for block in re.findall(r"^```py\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
        if "MLflowCallback" in block
    ]
    names = {"search": logged(), "X": X, "y": y}
    exec(compile(block, str(GUIDE), "exec"), names)
    check_family(names["search"])
    assert Path("runs.db").exists()
