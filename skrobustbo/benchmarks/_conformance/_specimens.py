"""What the probes search: an instant estimator, its spaces, and small data."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

from skrobustbo.benchmarks._conformance._outcome import NotApplicableError, require
from skrobustbo.benchmarks._conformance._task import Choice, Floats, Ints, NeutralSpace

N_SAMPLES = 48
X, y = make_classification(N_SAMPLES, 5, n_redundant=0, random_state=0)
LINE: NeutralSpace = {"a": Floats(-1.0, 1.0)}
MIXED: NeutralSpace = {"a": Floats(-1.0, 1.0), "b": Ints(1, 2), "c": Choice(("p", "q"))}
#: Four whole numbers times three words.
TWELVE: NeutralSpace = {"b": Ints(1, 4), "c": Choice(("p", "q", "r"))}
CS: NeutralSpace = {"C": Floats(1e-2, 1e2, log=True)}


class Instant(ClassifierMixin, BaseEstimator):
    """Scores a known function of its parameters, and notes every fit in `Instant.log`.

    The best `a` is -0.3; a fit fails where `a` is above `fail_above`.
    """

    #: For every fit, the parameters, the samples (column 0) and the weights.
    log: list[tuple[tuple[Any, ...], Any, Any]] = []  # noqa: RUF012 - shared on purpose

    def __init__(
        self,
        a: float = 0.0,
        b: int = 1,
        c: str = "p",
        fail_above: float = math.inf,
    ):
        self.a = a
        self.b = b
        self.c = c
        self.fail_above = fail_above

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Note the fit, or fail."""
        Instant.log.append(((self.a, self.b, self.c), np.array(X)[:, 0], sample_weight))
        if self.a > self.fail_above:
            raise ArithmeticError("too large")
        self.classes_ = np.unique(y)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X: Any) -> Any:
        """Return the first class."""
        return np.full(len(X), self.classes_[0])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return a parabola in `a` with a small effect of the others."""
        extra = 0.01 * self.b + 0.01 * "pqr".find(str(self.c))
        return -float((self.a + 0.3) ** 2) + extra


def fold_fits(search: Any, X: Any = X, y: Any = y, **params: Any) -> list[Any]:
    """Fit a search over `Instant`; return what it noted of the fits to folds."""
    Instant.log.clear()
    search.fit(X, y, **params)
    fits = [entry for entry in Instant.log if len(entry[1]) < len(X)]
    if not fits:
        scores = getattr(search, "cv_results_", {}).get("mean_test_score", [0.0])
        require(np.isfinite(scores).any(), "all scores are nan")
        raise NotApplicableError("fits are not made in the calling process")
    return fits


def tried_a(search: Any) -> Any:
    """Return `a` of every candidate of a search just fitted over `Instant`."""
    if "params" in search.cv_results_:
        return np.array([params["a"] for params in search.cv_results_["params"]])
    folds = [params for params, rows, _ in Instant.log if len(rows) < N_SAMPLES]
    return np.array([a for a, *_ in folds[:: search.n_splits_]])


def best_of(search: Any) -> Any:
    """Return the row of `cv_results_` that `best_params_` stands for."""
    return search.cv_results_["params"][search.best_index_]
