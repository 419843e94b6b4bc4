"""Folds that return or raise anything end in a table or a readable error.

    python tests/attack/fault_folds.py [--n N] [--seed S] [--jobs J] [--case ...]

Scores near the largest float, infinities, nan, None, texts, exceptions and exits, mixed
at random, with and without `error_score`, a checkpoint, several metrics, two jobs.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

import command
import joblib
import numpy as np
from cases import Rng, pick
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning

from skrobustbo import Optimizer, Real, RobustBayesSearchCV

X, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 2
N_ITER = 8
#: What a fold may return or, if it is an exception, raise.
FAULTS: dict[str, Any] = {
    "largest": 1.7e308,
    "lowest": -1.7e308,
    "inf": np.inf,
    "-inf": -np.inf,
    "nan": np.nan,
    "none": None,
    "text": "high",
    "number as text": "1.0",
    "int": 10**400,
    "array": np.ones(2),
    "float32": np.float32(3e38),
    "bool": True,
    "error": RuntimeError("no"),
    "memory": MemoryError("no"),
    "exit": SystemExit(1),
}
ERROR_SCORES = [np.nan, np.nan, "raise", 0.0, -1.7e308, 1.7e308, -np.inf, 3]


class Faulty(BaseEstimator):
    """Scores well or badly, or has a fault, depending on its parameters and rows."""

    def __init__(self, a: float = 0.0, b: Any = 0, faults: Any = (), odds: Any = 0.5):
        self.a = a
        self.b = b
        self.faults = faults
        self.odds = odds

    def _act(self, rows: Any, what: str) -> Any:
        """Return a score or a fault, or raise one, in a fit or in a score."""
        text = f"{self.a!r} {self.b!r} {rows.sum()!r}".encode()
        rng = np.random.default_rng(zlib.crc32(text))
        if rng.random() > self.odds or not self.faults:
            return -((self.a - 0.3) ** 2)
        fault = FAULTS[pick(rng, self.faults)]
        if not isinstance(fault, BaseException):
            return fault
        if what == pick(rng, ["fit", "score"]):
            raise fault
        return 0.0

    def fit(self, X: Any, y: Any = None) -> Faulty:
        self.rows_ = X
        self._act(X, "fit")
        return self

    def score(self, X: Any, y: Any = None) -> Any:
        return self._act(self.rows_, "score")


def two_metrics(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    return {"first": estimator.score(X, y), "second": 1.0}


def settings_of(rng: Rng) -> dict[str, Any]:
    """Return the arguments of a search."""
    n = int(rng.integers(1, 4))
    faults = [str(name) for name in rng.choice(list(FAULTS), n, replace=False)]
    several = bool(rng.random() < 0.3)
    return {
        "estimator": Faulty(faults=faults, odds=pick(rng, [0.1, 0.3, 0.6, 1.0])),
        "param_space": {"a": Real(-1, 1), "b": [0, 1, 2]},
        "n_iter": N_ITER,
        "policy": pick(rng, ["robust", "map-gp-ucb", "et-gp-ucb", "he-gp-ucb"]),
        "batch_size": pick(rng, [1, 1, 3]),
        "cv": pick(rng, [2, 3]),
        "error_score": pick(rng, ERROR_SCORES),
        "scoring": two_metrics if several else None,
        "refit": "first" if several else True,
        "return_train_score": bool(rng.random() < 0.3),
        "n_initial_points": 3,
        "random_state": int(rng.integers(1000)),
    }


def in_words(error: BaseException, settings: dict[str, Any]) -> bool:
    """Return whether a search may end with an error: readable, or the fold's."""
    raised = [e for e in FAULTS.values() if isinstance(e, BaseException)]
    if any(type(e) is type(error) and e.args == error.args for e in raised):
        # A refit raises its error directly to the user.
        return settings["error_score"] == "raise" or bool(settings["refit"])
    return type(error) in (ValueError, TypeError) and len(str(error).split()) > 3


def check_table(search: RobustBayesSearchCV) -> None:
    """Check that the table agrees with the results of its folds."""
    results = search.cv_results_
    metric = "first" if search.multimetric_ else "score"
    folds = [results[f"split{k}_test_{metric}"] for k in range(search.n_splits_)]
    scores, mean = np.array(folds, dtype=float), results[f"mean_test_{metric}"]
    whole = np.isfinite(scores).all(axis=0)
    assert len(mean) == N_ITER
    low, high = scores.min(axis=0), scores.max(axis=0)
    slack = 1e-12 * np.maximum(abs(low), abs(high))
    within = (low - slack <= mean) & (mean <= high + slack)
    assert within[whole].all(), "a mean is outside its folds"
    assert np.isfinite(mean[whole]).all(), "a mean of numbers is none"
    assert not np.isnan(results[f"std_test_{metric}"][whole]).any()
    assert results[f"rank_test_{metric}"].min() == 1
    assert np.isfinite(results["posterior_mean"]).all() or not whole.any()
    assert search.report()
    state = search.optimizer_.to_dict()
    assert Optimizer.from_dict(state).ask() == search.optimizer_.ask()


def run(settings: dict[str, Any], path: Path | None = None) -> dict[str, str]:
    """Return the table without times, or the message."""
    search = RobustBayesSearchCV(**settings, checkpoint=path)
    try:
        search.fit(X, y)
    except (Exception, SystemExit) as error:
        if not in_words(error, settings):
            raise
        return {"ended with": type(error).__name__}
    check_table(search)
    results = search.cv_results_
    return {key: repr(results[key]) for key in results if "time" not in key}


def assert_same(found: dict[str, str], expected: dict[str, str], what: str) -> None:
    for key in {**found, **expected}:
        texts = found.get(key), expected.get(key)
        assert texts[0] == texts[1], f"when {what}, {key} is {texts[0]}, not {texts[1]}"


def check(case: str) -> list[command.Step]:
    """Run one search, another with two jobs, and one with a checkpoint, twice."""
    rng, start = np.random.default_rng(int(case)), time.perf_counter()
    settings = settings_of(rng)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        for kind in (UserWarning, FitFailedWarning):
            warnings.simplefilter("ignore", kind)
        # For folds that are 1e308 apart, scikit-learn computes the deviation, with a
        # warning.
        for module in ("sklearn", "numpy"):
            warnings.filterwarnings("ignore", category=RuntimeWarning, module=module)
        found = run(settings)
        path = Path(folder) / "search.ckpt"
        for what in ("written", "read"):
            assert_same(run(settings, path), found, what)
        if rng.random() < 0.3:
            with joblib.parallel_config("threading"):
                other = run({**settings, "n_jobs": 2})
            assert_same(other, found, "done by two jobs")
    estimator = settings["estimator"]
    said = f"{estimator.faults}, {settings['error_score']}, {settings['policy']}"
    return [(time.perf_counter() - start, said)]


def cases(n: int, seed: int) -> list[str]:
    return [str(seed + i) for i in range(n)]


if __name__ == "__main__":
    sys.exit(command.main(__file__, __doc__, check, cases))
