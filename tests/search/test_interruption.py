"""Ctrl-C and SIGTERM: the first finishes the search, the second aborts it."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

import skrobustbo
from fake_estimators import Fake, search_of
from skrobustbo import RobustBayesSearchCV
from skrobustbo.evaluation import Stops
from skrobustbo.model_selection import _search
from skrobustbo.model_selection._source import prepared

X, y = load_iris(return_X_y=True)
HANDLERS = [signal.SIGINT, signal.SIGTERM]


class Signals(Fake):
    """Sends signals to its process in some of its fits, counted from 1."""

    n_fits = 0

    def __init__(self, a=0.0, at=(), number=signal.SIGINT, swallow=False):
        self.a = a
        self.at = at
        self.number = number
        self.swallow = swallow

    def fit(self, X, y=None):
        type(self).n_fits += 1
        if type(self).n_fits in self.at:
            try:
                os.kill(os.getpid(), self.number)
                time.sleep(0.01)  # the handler runs here at the latest
            except KeyboardInterrupt:
                if not self.swallow:
                    raise
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def handlers():
    """Count from zero, and check that handlers are unchanged afterwards."""
    Signals.n_fits = 0
    before = [signal.getsignal(number) for number in HANDLERS]
    yield
    assert [signal.getsignal(number) for number in HANDLERS] == before


def search(estimator, **settings):
    return search_of(estimator, **{"n_iter": 30, **settings})


@pytest.mark.parametrize("number", HANDLERS)
@pytest.mark.parametrize("batch_size", [1, 2])
@pytest.mark.parametrize("swallow", [False, True])
def test_the_first_signal_finishes_the_search(number, batch_size, swallow):
    estimator = Signals(at=(18,), number=number, swallow=swallow)
    ours = search(estimator, batch_size=batch_size)
    with pytest.warns(UserWarning, match="interrupted after [45] of 30 candidates"):
        ours.fit(X, y)
    assert ours.stop_reason_ == "interrupted"
    # The 18th fit is in the sixth candidate. The fold with the signal does not count,
    # whether it was interrupted or returned early.
    assert ours.n_iter_ == len(ours.cv_results_["params"]) == 5
    assert Signals.n_fits == 18 + 1  # the refit
    calm = search(Signals(), n_iter=5, n_initial_points=4, batch_size=batch_size)
    calm.fit(X, y)
    assert ours.cv_results_["params"][:4] == calm.cv_results_["params"][:4]
    best = np.argmax(ours.cv_results_["mean_test_score"])
    assert ours.best_estimator_.a == ours.cv_results_["params"][best]["a"]
    assert ours.predict(X).shape == y.shape


def test_the_second_signal_aborts(monkeypatch):
    """The tuner records the first one; the second comes before it returns."""
    ours = search(Signals())

    def slow_source(*args):
        made = prepared(*args)
        ask = made.optimizer._propose

        def asked(**how):
            if len(made.trials) == 4:
                os.kill(os.getpid(), signal.SIGINT)
                made.survived = True
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
            return ask(**how)

        made.optimizer._propose = asked
        ours.made = made
        return made

    monkeypatch.setattr(_search, "prepared", slow_source)
    with pytest.raises(KeyboardInterrupt):
        ours.fit(X, y)
    assert ours.made.survived
    assert not hasattr(ours, "cv_results_")


def test_a_signal_while_a_candidate_is_chosen_waits(monkeypatch):
    ours = search(Signals())

    def signalling(*args):
        made = prepared(*args)
        tell = made.optimizer._record

        def told(trial, value, std):
            if len(made.trials) == 4:
                os.kill(os.getpid(), signal.SIGTERM)
            tell(trial, value, std)

        made.optimizer._record = told
        return made

    monkeypatch.setattr(_search, "prepared", signalling)
    with pytest.warns(UserWarning, match="interrupted after 4 of 30"):
        ours.fit(X, y)
    assert ours.stop_reason_ == "interrupted"
    assert len([r for r in ours.optimizer_.history_ if not r["pending"]]) == 4
    assert Signals.n_fits == 4 * 3 + 1


def test_a_signal_during_the_refit_is_nobody_elses():
    with pytest.raises(KeyboardInterrupt):
        search(Signals(at=(10,)), n_iter=3).fit(X, y)
    assert Signals.n_fits == 10


def test_nothing_finished_yet():
    with pytest.raises(KeyboardInterrupt):
        search(Signals(at=(2,))).fit(X, y)


class Twice(Signals):
    """Ignores the first signal, and sends a second one."""

    def fit(self, X, y=None):
        super().fit(X, y)
        if type(self).n_fits in self.at:
            os.kill(os.getpid(), self.number)
            time.sleep(5)
        return self


@pytest.mark.parametrize(("kind", "at"), [(Signals, 1), (Signals, 2), (Twice, 9)])
def test_sigterm_ends_without_a_traceback_where_there_is_no_result(kind, at):
    """At the first fold, at the second, and if a second one aborts the search."""
    estimator = kind(at=(at,), number=signal.SIGTERM, swallow=kind is Twice)
    Twice.n_fits = 0
    with pytest.raises(SystemExit) as ended:
        search(estimator).fit(X, y)
    assert ended.value.code == 128 + signal.SIGTERM


class Raises(Signals):
    def fit(self, X, y=None):
        raise KeyboardInterrupt("by hand")


def test_an_interrupt_that_no_signal_brought_is_passed_on():
    with pytest.raises(KeyboardInterrupt, match="by hand"):
        search(Raises()).fit(X, y)


def test_handlers_come_back_after_an_error():
    class Fails(Signals):
        def fit(self, X, y=None):
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
            raise RuntimeError

    with pytest.raises(RuntimeError):  # and the fixture looks
        search(Fails(), error_score="raise").fit(X, y)


def test_who_ignores_signals_still_does():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        estimator = Signals(at=(5,), number=signal.SIGTERM)
        ours = search(estimator, n_iter=4, refit=False).fit(X, y)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ours.stop_reason_ == "n_iter"


# Inside another search ----------------------------------------------------------------


def test_inside_a_cross_validation_it_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(search(Signals(at=(14,))), X, y, cv=2)
    assert Signals.n_fits == 14


def test_inside_a_grid_search_it_is_passed_on():
    inner = search(Signals(at=(14,)))
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(inner, {"n_iter": [9, 10]}, cv=2).fit(X, y)
    assert Signals.n_fits == 14


def test_inside_another_search_it_finishes_the_outer_one():
    space = {"n_initial_points": [1, 2, 3, 4, 5]}
    inner = search(Signals(at=(40,)), n_iter=5, refit=True)
    outer = RobustBayesSearchCV(inner, space, n_iter=5, cv=2, refit=False)
    with pytest.warns(UserWarning, match="interrupted after 1 of 5 candidates"):
        outer.fit(X, y)
    assert Signals.n_fits == 40


def test_of_two_that_watch_each_gives_back_what_it_took():
    """As when a callback of one search runs another."""
    with Stops(interruptible=True).watched():
        outer = [signal.getsignal(number) for number in HANDLERS]
        with Stops(interruptible=True).watched():
            assert [signal.getsignal(number) for number in HANDLERS] != outer
        assert [signal.getsignal(number) for number in HANDLERS] == outer


def sleeps(connection):
    connection.send("I am here")
    time.sleep(600)


class Forks(Signals):
    """Starts processes in its fits, and ends them like a pool."""

    def fit(self, X, y=None):
        super().fit(X, y)
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        child = context.Process(target=sleeps, args=[theirs])
        child.start()
        ours.recv()
        child.terminate()
        child.join(timeout=300)
        type(self).exit_codes.append(child.exitcode)
        child.kill()
        return self


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_process_dies_of_what_it_is_sent():
    Forks.exit_codes = []
    ours = search(Forks(), n_iter=2, cv=2, refit=False).fit(X, y)
    assert Forks.exit_codes == [-signal.SIGTERM] * 4
    assert ours.stop_reason_ == "n_iter"


def test_outside_the_main_thread_nothing_is_handled():
    found = []

    class Looks(Signals):
        def fit(self, X, y=None):
            found.extend(signal.getsignal(number) for number in HANDLERS)
            return super().fit(X, y)

    before = [signal.getsignal(number) for number in HANDLERS]
    thread = threading.Thread(target=search(Looks(), n_iter=1).fit, args=(X, y))
    thread.start()
    thread.join()
    assert found
    assert all(found[i : i + 2] == before for i in range(0, len(found), 2))


# From a terminal ----------------------------------------------------------------------

SCRIPT = """
import sys, time, warnings
import numpy as np
from contextlib import contextmanager
from pathlib import Path
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from skrobustbo import Real, RobustBayesSearchCV

X, y = load_iris(return_X_y=True)
flag = Path(sys.argv[1])


class Slow(ClassifierMixin, BaseEstimator):
    def __init__(self, a=0.0):
        self.a = a
    def fit(self, X, y):
        time.sleep(0.05)
        self.classes_ = np.unique(y)
        if len(list(flag.parent.iterdir())) >= 12:
            flag.touch()
            time.sleep(600)
        (flag.parent / f"{self.a} {X[0]} {X[-1]}").touch()
        return self
    def predict(self, X):
        return np.full(len(X), self.classes_[0])
    def score(self, X, y):
        return -abs(self.a - 0.3)

if __name__ == "__main__":
    settings = dict(n_iter=50, cv=3, random_state=0, refit=False, SETTINGS)
    ours = RobustBayesSearchCV(Slow(), {"a": Real(-1, 1)}, **settings).fit(X, y)
    print(ours.stop_reason_, len(ours.cv_results_["params"]), flush=True)
"""


TIMED = "n_jobs=2, fit_timeout=300"


@pytest.mark.parametrize(
    ("number", "settings"),
    [
        (signal.SIGINT, "n_jobs=2"),
        pytest.param(signal.SIGTERM, TIMED, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, "n_jobs=1", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "n_jobs=1", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "n_jobs=2", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, TIMED, marks=pytest.mark.slow),
    ],
)
def test_a_signal_to_the_whole_group(number, settings, tmp_path):
    flag = tmp_path / "marks" / "hanging"
    flag.parent.mkdir()
    with started(SCRIPT.replace("SETTINGS", settings), flag) as process:
        wait_for(flag.exists)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=300)
        wait_for(lambda: not exists(process.pid))  # nobody of the group is left
    assert process.returncode == 0, err
    assert out.split() in (["interrupted", "3"], ["interrupted", "4"])
    assert "Traceback" not in err
    assert "search was interrupted" in err


@contextmanager
def started(script, flag):
    """Run a script in its own session, like a terminal."""
    path = flag.parents[1] / "script.py"
    path.write_text(script)
    process = subprocess.Popen(
        [sys.executable, path, flag],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(skrobustbo.__file__).parents[1])},
    )
    try:
        with process:
            yield process
    finally:
        if exists(process.pid):
            os.killpg(process.pid, signal.SIGKILL)


def exists(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(condition):
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
