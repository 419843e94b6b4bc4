"""Classifiers that only pretend to learn, and searches for their parameters.

Worker processes import them by name. Tests that start processes in other ways pass
`HERE` as part of their path.
"""

import math
import os
import signal
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from skrobustbo import Real, RobustBayesSearchCV

HERE = str(Path(__file__).parent)
FAKE_SPACE = {"a": Real(-1, 1)}


class Fake(ClassifierMixin, BaseEstimator):
    """Fits at once and is best at a = 0.3, for any data."""

    def __init__(self, a=0.0):
        self.a = a

    def fit(self, X, y=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y=None):
        return -((self.a - 0.3) ** 2)


class Noisy(Fake):
    """Scores with an effect of the fold, and independent noise in each fold.

    The noise is a function of the candidate and the rows, so all runs are equal.
    """

    def __init__(self, a=0.0, seconds=0.0, fail_above=math.inf):
        self.a = a
        self.seconds = seconds
        self.fail_above = fail_above

    def fit(self, X, y=None):
        time.sleep(self.seconds)
        if self.a > self.fail_above:
            raise RuntimeError("too large")
        return super().fit(X, y)

    def score(self, X, y=None):
        rows = float(np.asarray(X).sum())
        fold = np.random.default_rng(int(1e3 * rows)).normal()
        own = np.random.default_rng([int(1e6 * (self.a + 1)), int(1e3 * rows)])
        return super().score(X, y) + 0.1 * fold + 0.03 * own.normal()


class Marked(Fake):
    """Leaves a mark for each fit; sleeps, kills its process or fails if told to.

    A mark is a line in the file of its parameter: process, number of rows, time.
    """

    def __init__(
        self,
        a=0.0,
        seconds=0.0,
        marks=None,
        kill_above=math.inf,
        fail_above=math.inf,
    ):
        self.a = a
        self.seconds = seconds
        self.marks = marks
        self.kill_above = kill_above
        self.fail_above = fail_above

    def fit(self, X, y=None):
        if self.marks is not None:
            with (Path(self.marks) / f"{self.a:.12f}").open("a") as file:
                file.write(f"{os.getpid()} {len(X)} {time.monotonic()}\n")
        time.sleep(self.seconds)
        if self.a > self.kill_above:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.a > self.fail_above:
            raise RuntimeError("too large")
        return super().fit(X, y)


def strike_once(folder):
    """Kill this process, once per folder."""
    flag = Path(folder) / "struck"
    if not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def hang():
    """Never return, holding the interpreter lock."""
    import re

    re.match(r"(a+)+b", "a" * 60)


def marks_of(folder):
    """Return the marks of each parameter, as lists of words."""
    return {
        path.name: [line.split() for line in path.read_text().splitlines()]
        for path in folder.iterdir()
    }


def processes_of(folder):
    """Return the processes that left marks."""
    return {int(pid) for lines in marks_of(folder).values() for pid, *_ in lines}


def search_of(estimator, space=FAKE_SPACE, **settings):
    """Return a search over an estimator, with three folds and a fixed seed.

    The estimator as given is left out, because most tests assume certain candidates.
    """
    given = {"cv": 3, "random_state": 0, "include_default": False, **settings}
    return RobustBayesSearchCV(estimator, space, **given)
