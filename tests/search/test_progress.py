"""The output of a running search in a terminal, in a pipe, and on resuming."""

import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fake_estimators import HERE, Fake, Noisy, search_of
from skrobustbo.evaluation import _progress
from skrobustbo.policies import RobustUCB

X, y = load_iris(return_X_y=True)
LINE = re.compile(
    r"(\d+) of (\d+) candidates, (no \w+ yet|best \w+ -?[\d.e-]+)"
    r"(, about [\d.]+ (?:s|min|h) left(?: \(max_time\))?"
    r"|, at most [\d.e-]+ to gain \(tol [\d.e-]+\))?$"
)
END = re.compile(r"(\d+) of (\d+) candidates, (best \w+ -?[\d.e-]+), [\d.]+ (s|min)$")

posix = pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")


@contextmanager
def read_from(reader, writer, texts):
    """Give the writer's end as a file, and read what is written meanwhile."""

    def read():
        try:
            while part := os.read(reader, 4096):
                texts.append(part.decode())
        except OSError:  # the terminal is closed
            pass

    thread = threading.Thread(target=read)
    thread.start()
    try:
        with open(writer, "w") as file:
            yield file
    finally:
        thread.join()
        os.close(reader)


def printed(fit, ends, monkeypatch):
    """Return what a fit prints into the second of two ends."""
    texts = []
    with read_from(*ends, texts) as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        fit()
    return "".join(texts)


@pytest.fixture
def in_terminal(monkeypatch):
    """Fit in a pseudo-terminal; return the lines printed, and the states of the last.

    Every state is shown, however soon it follows the previous one.
    """
    monkeypatch.setattr(_progress, "_TERMINAL", 0.0)
    monkeypatch.setenv("COLUMNS", "80")

    def run(fit):
        text = printed(fit, os.openpty(), monkeypatch)
        *lines, last = text.removesuffix("\r\n").split("\r\n")
        first, *states = last.split("\r")
        assert first == ""
        assert {len(state) for state in states} == {79}
        return lines, [state.rstrip() for state in states]

    return run


@pytest.fixture
def in_pipe(monkeypatch):
    """Fit with a pipe as the output; return the lines printed."""

    def run(fit):
        return printed(fit, os.pipe(), monkeypatch).splitlines()

    return run


def counts(states):
    """Return the numbers of candidates in states of the line, and check each state."""
    found = [LINE.match(state) for state in states[:-1]]
    assert all(found), states
    assert END.match(states[-1]), states[-1]
    return [int(state.split()[0]) for state in states]


@posix
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"schedule": "window", "batch_size": 2},
        {"schedule": "free", "batch_size": 2, "n_jobs": 2},
        {"racing": "confident", "cv": 5},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())) or "plain",
)
def test_a_terminal_shows_one_line_that_is_written_again(settings, in_terminal):
    ours = search_of(Noisy(), n_iter=7, verbose=1, **settings)
    lines, states = in_terminal(lambda: ours.fit(X, y))
    assert len(lines) == 1
    assert lines[0].startswith("Fitting ")
    n = counts(states)
    assert n == sorted(n)
    assert set(n) == set(range(8))
    assert states[0] == "0 of 7 candidates, no score yet"
    assert f"best score {ours.best_score_:.5g}" in states[-1]
    assert states[-2].endswith(" s left")


@posix
def test_the_line_changes_nothing_of_the_search(in_terminal):
    ours, quiet = (search_of(Noisy(), n_iter=7, verbose=v) for v in (1, 0))
    in_terminal(lambda: ours.fit(X, y))
    assert ours.cv_results_["params"] == quiet.fit(X, y).cv_results_["params"]


@posix
def test_the_line_says_when_max_time_ends_the_search(in_terminal):
    ours = search_of(Noisy(seconds=0.05), n_iter=500, max_time=3.0, verbose=1)
    _, states = in_terminal(lambda: ours.fit(X, y))
    counts(states)
    assert re.search(r"about [0-3] s left \(max_time\)$", states[-2])
    assert f"{ours.n_iter_} of 500" in states[-1]


@posix
def test_the_line_says_when_little_is_left_to_gain(in_terminal):
    policy = RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0)
    ours = search_of(Fake(), n_iter=40, tol=0.05, policy=policy, verbose=1)
    _, states = in_terminal(lambda: ours.fit(X, y))
    counts(states)
    assert ours.stop_reason_ == "tol"
    assert any(state.endswith(" to gain (tol 0.05)") for state in states)


@posix
def test_the_line_names_the_metric(in_terminal):
    for scoring, refit in (("accuracy", True), (["f1_macro", "accuracy"], "accuracy")):
        ours = search_of(Fake(), n_iter=3, verbose=1, scoring=scoring, refit=refit)
        _, states = in_terminal(lambda ours=ours: ours.fit(X, y))
        assert states[0] == "0 of 3 candidates, no accuracy yet"
        assert f"best accuracy {ours.best_score_:.5g}, " in states[-1]


@posix
def test_a_narrow_terminal_cuts_the_line(in_terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(_progress, "_TERMINAL", 0.0)
    text = printed(
        lambda: search_of(Fake(), n_iter=3, verbose=1).fit(X, y),
        os.openpty(),
        monkeypatch,
    )
    states = text.split("\r\n")[1].split("\r")[1:]
    assert {len(state) for state in states} == {29}


@posix
def test_the_line_is_closed_before_an_error(in_terminal):
    class Stop(BaseException):
        pass

    class Stopping(Fake):
        n = 0

        def fit(self, X, y=None):
            Stopping.n += 1
            if Stopping.n == 8:
                raise Stop
            return super().fit(X, y)

    def fit():
        with pytest.raises(Stop):
            search_of(Stopping(), n_iter=5, verbose=1).fit(X, y)

    _, states = in_terminal(fit)
    assert counts(states)[-1] == 2


def test_a_pipe_gets_lines_from_time_to_time(in_pipe, monkeypatch):
    ours = search_of(Noisy(), n_iter=6, verbose=1)
    first, last = in_pipe(lambda: ours.fit(X, y))
    assert first == "Fitting 3 folds for each of 6 candidates, totalling 18 fits"
    assert END.match(last)
    monkeypatch.setattr(_progress, "_ELSEWHERE", 0.0)
    _, *lines = in_pipe(lambda: ours.fit(X, y))
    assert set(counts(lines)) == set(range(7))


def test_other_levels_have_no_line(in_pipe, monkeypatch):
    monkeypatch.setattr(_progress, "_ELSEWHERE", 0.0)
    assert in_pipe(lambda: search_of(Fake(), n_iter=4).fit(X, y)) == []
    lines = in_pipe(lambda: search_of(Fake(), n_iter=4, verbose=2).fit(X, y))
    assert len(lines) == 1 + 4 * 3
    assert not any(map(END.match, lines))


def test_without_an_output_nothing_is_printed(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert search_of(Fake(), n_iter=3, verbose=1).fit(X, y).n_iter_ == 3


@pytest.mark.slow
@posix
def test_a_program_in_a_terminal_and_in_a_pipe():
    code = (
        "from fake_estimators import Noisy, search_of\n"
        "from sklearn.datasets import load_iris\n"
        "search_of(Noisy(seconds=0.05), n_iter=4, verbose=1)"
        ".fit(*load_iris(return_X_y=True))\n"
    )
    path = os.pathsep.join([HERE, *filter(None, sys.path)])
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": path}
    texts, (reader, writer) = [], os.openpty()
    with read_from(reader, writer, texts) as file:
        subprocess.run(command, stdout=file, env=environment, check=True)
    _, line, end = "".join(texts).split("\r\n")
    assert end == ""
    assert len(counts([state.rstrip() for state in line.split("\r")[1:]])) > 2
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
    assert len(done.stdout.decode().splitlines()) == 2


# At a resume --------------------------------------------------------------------------


def resumed(lines):
    """Return the only line about resuming."""
    (line,) = [line for line in lines if line.startswith("Resumed")]
    return line


@pytest.mark.filterwarnings("ignore:One or more of the test")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_resume_says_what_is_read_and_what_has_changed(in_pipe, tmp_path):
    path = str(tmp_path / "search.ckpt")
    settings = {"checkpoint": path, "verbose": 1}
    space = {"estimator": Noisy(fail_above=0.5), **settings}
    first = search_of(n_iter=6, **space)
    lines = in_pipe(lambda: first.fit(X, y))
    assert not any(line.startswith("Resumed") for line in lines)
    n_failed = int(np.isnan(first.cv_results_["mean_test_score"]).sum()) * 3
    assert 0 < n_failed < 18
    held = f"Resumed from the checkpoint {path!r}: 6 candidates, 18 folds, "
    held += f"{n_failed} of them failed"

    again = search_of(n_iter=8, max_time=600, pre_dispatch=1, **space)
    lines = in_pipe(lambda: again.fit(X, y))
    changed = [
        "max_time was None and is now 600",
        "n_iter was 6 and is now 8",
        "pre_dispatch was '2*n_jobs' and is now 1",
    ]
    assert resumed(lines) == "; ".join([held, *changed])
    report = " ".join(again.report().split())
    said = f"18 folds of 6 candidates from the checkpoint, {n_failed} of them failed"
    assert " ".join([said, *changed]) in report

    third = search_of(n_iter=8, max_time=600, pre_dispatch=1, **space)
    lines = in_pipe(lambda: third.fit(X, y))
    assert "8 candidates, 24 folds" in resumed(lines)
    assert " was " not in resumed(lines) + third.report()


@posix
def test_time_left_is_that_of_new_candidates(in_terminal, tmp_path):
    path = str(tmp_path / "search.ckpt")
    search_of(Noisy(seconds=0.02), n_iter=5, checkpoint=path).fit(X, y)
    ours = search_of(Noisy(), n_iter=7, checkpoint=path, verbose=1)
    ours.set_params(estimator=Noisy(seconds=0.02))
    _, states = in_terminal(lambda: ours.fit(X, y))
    n = counts(states)
    assert set(n) == {5, 6, 7}
    assert "left" not in states[0]
    assert states[0].startswith("5 of 7 candidates, best score ")


def test_functions_of_a_call_are_named_without_a_warning(in_pipe, tmp_path):
    settings = {"n_iter": 4, "checkpoint": str(tmp_path / "search.ckpt"), "verbose": 1}
    search_of(Fake(), **settings).fit(X, y)
    lines = in_pipe(lambda: search_of(Fake(), on_trial=print, **settings).fit(X, y))
    assert "on_trial was None and is now builtins.print" in resumed(lines)
