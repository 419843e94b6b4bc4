"""Run a search with a checkpoint, in a process that may be killed.

`python killed_search.py SETUP FOLDER RUN` runs the search of a setup with the
checkpoint in a folder. Each fit appends a line to `fits` there: the run, the candidate,
the training rows. At the end, the table of results is written to `results-RUN.json`.
"""

import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.model_selection import ShuffleSplit

from skrobustbo import Integer, Real, RobustBayesSearchCV, Space

X, y = load_iris(return_X_y=True)
N_ITER, N_SPLITS = 30, 3


def allowed(params):
    return params["a"] + params["b"] <= 0.4


def two_metrics(estimator, X, y):
    score = estimator.score(X, y)
    return {"score": score, "worse": -score}


RANGES = {"a": Real(-1, 1), "b": Real(-1, 1)}
MIXED = Space({"a": Real(-1, 1), "b": Integer(-3, 3), "c": ["u", "v", "w"]})
BRANCHED = Space([{**RANGES, "c": ["u"]}, {"a": Real(-1, 1), "c": ["v", "w"]}])
POOL = Space.from_points([{"a": i / 20, "b": i % 7 / 7} for i in range(-20, 20)])

#: Spaces of the setups that do not have two ranges.
SPACES = {"mixed": MIXED, "branched": BRANCHED, "pool": POOL}
SETUPS = {
    "one-job": {},
    "two-jobs": {"n_jobs": 2},
    "batches": {"n_jobs": 2, "batch_size": 2},
    "failures": {"n_jobs": 2, "return_train_score": True},
    "elimination": {"policy": "he-gp-ucb"},
    "changing": {"policy": "et-gp-ucb", "n_jobs": 2, "batch_size": 2},
    "mixed": {"policy": "a-gp-ucb", "batch_size": 3},
    "branched": {"n_jobs": 2, "batch_size": 3},
    "pool": {"policy": "stableopt", "n_jobs": 2},
    "constrained": {"policy": "lb-gp-ucb", "constraints": allowed},
    "metrics": {"scoring": two_metrics, "search_metric": "score", "batch_size": 3},
    "window": {"schedule": "window", "n_jobs": 2, "batch_size": 3},
    "races": {
        "schedule": "window",
        "n_jobs": 2,
        "batch_size": 3,
        "racing": "confident",
        "policy": "map-gp-ucb",
    },
    "time-limit": {"policy": "map-gp-ucb", "fit_timeout": 30.0},
    "time-limit-jobs": {"fit_timeout": 30.0, "n_jobs": 2, "batch_size": 3},
}


class Logged(ClassifierMixin, BaseEstimator):
    """Scores a known function, logs each fit, and may fail."""

    def __init__(self, a=0.0, b=0.0, c="", log=None, seconds=0.0, fails=False):
        self.a = a
        self.b = b
        self.c = c
        self.log = log
        self.seconds = seconds
        self.fails = fails

    def fit(self, X, y=None):
        if self.log is not None:
            key = fold_key({"a": self.a, "b": self.b, "c": self.c}, X)
            line = f"{os.environ['RUN']} {key}\n"
            with open(self.log, "a") as file:
                file.write(line)
        time.sleep(self.seconds)
        if self.fails and self.a > 0.5:
            raise RuntimeError("too large")
        self.classes_ = np.unique(y)
        self.offset_ = float(X.mean())
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y=None):
        noise = 0.01 * np.sin(37 * self.a + self.offset_ * 100)
        bonus = 0.1 * (self.c == "v")
        return float(-((self.a - 0.3) ** 2) - (self.b + 0.1) ** 2 + noise + bonus)


def fold_key(params, X):
    """Return the log line of a fold: its parameters and training rows."""
    a, b, c = params["a"], params.get("b", 0.0), params.get("c", "")
    return f"{a!r} {b!r} {c!r} {np.asarray(X).sum():.10f}"


def space_of(setup):
    return SPACES.get(setup, Space(RANGES))


def make_search(setup, checkpoint=None, log=None, seconds=0.0):
    estimator = Logged(log=log, seconds=seconds, fails=setup == "failures")
    return RobustBayesSearchCV(
        estimator,
        space_of(setup),
        n_iter=N_ITER,
        cv=ShuffleSplit(N_SPLITS, test_size=0.3, random_state=0),
        random_state=0,
        refit=False,
        checkpoint=checkpoint,
        **SETUPS[setup],
    )


def table(search):
    """Return the results without times, in JSON types."""
    results = search.cv_results_
    kept = {key: value for key, value in results.items() if "time" not in key}
    return {
        key: value if isinstance(value, list) else np.ma.filled(value, -1.0).tolist()
        for key, value in kept.items()
    }


def main(setup, folder, run):
    os.environ["RUN"] = run
    warnings.simplefilter("ignore")
    folder = Path(folder)
    search = make_search(
        setup, folder / "search.ckpt", str(folder / "fits"), seconds=0.01
    )
    search.fit(X, y)
    (folder / f"results-{run}.json").write_text(json.dumps(table(search)))


if __name__ == "__main__":
    main(*sys.argv[1:])
