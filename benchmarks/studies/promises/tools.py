"""How a row asks a search, and what it is asked with: an instant estimator and data."""

import math
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

from searches import Choice, Floats, Ints, UnmetError

#: Parts of a reason that differ from run to run.
_CHANGING = re.compile(r" at 0x[0-9a-f]+| ?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(,\d+)?")
#: Characters of a reason that are kept.
MAX_REASON = 160


class NotApplicableError(Exception):
    """The row cannot be asked of this search or in this environment."""


@dataclass(frozen=True)
class Outcome:
    """The answer of one search to one row.

    Parameters
    ----------
    verdict : {"yes", "no", "n/a"}
        Whether it does what the row says.
    count : str
        Such as "48/50", where the row counts; empty otherwise.
    reason : str
        One line, empty for a plain yes.
    """

    verdict: str
    count: str = ""
    reason: str = ""


def require(condition, reason):
    """Raise UnmetError for the reason unless the condition holds."""
    if not condition:
        raise UnmetError(reason)


def run_probe(probe, peer):
    """Return what a row finds; whatever a search raises is an answer, too.

    A probe raises, or returns None, or a count such as "48/50" with what is to be said
    of it behind a blank.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = probe(peer)
        except NotApplicableError as error:
            return Outcome("n/a", reason=str(error))
        except UnmetError as error:
            return Outcome("no", reason=one_line(str(error)))
        except Exception as error:
            return Outcome("no", reason=one_line(f"{type(error).__name__}: {error}"))
    if found is None:
        return Outcome("yes")
    count, _, reason = found.partition(" ")
    passed, _, asked = count.partition("/")
    return Outcome("yes" if passed == asked else "no", count, one_line(reason))


def one_line(text):
    """Return a text without line breaks, addresses and times, shortened if long."""
    line = _CHANGING.sub("", " ".join(text.split()))
    return line if len(line) <= MAX_REASON else line[: MAX_REASON - 3] + "..."


# What is searched

N_SAMPLES = 48
X, y = make_classification(N_SAMPLES, 5, n_redundant=0, random_state=0)
LINE = {"a": Floats(-1.0, 1.0)}
MIXED = {"a": Floats(-1.0, 1.0), "b": Ints(1, 2), "c": Choice(("p", "q"))}
#: Four whole numbers times three words.
TWELVE = {"b": Ints(1, 4), "c": Choice(("p", "q", "r"))}
CS = {"C": Floats(1e-2, 1e2, log=True)}


class Instant(ClassifierMixin, BaseEstimator):
    """Scores a known function of its parameters, and notes every fit in `Instant.log`.

    The best `a` is -0.3; a fit fails where `a` is above `fail_above`.
    """

    #: For every fit, the parameters, the samples (column 0) and the weights.
    log: list[tuple[tuple[Any, ...], Any, Any]] = []  # noqa: RUF012 - shared on purpose

    def __init__(
        self,
        a=0.0,
        b=1,
        c="p",
        fail_above=math.inf,
    ):
        self.a = a
        self.b = b
        self.c = c
        self.fail_above = fail_above

    def fit(self, X, y=None, sample_weight=None):
        """Note the fit, or fail."""
        Instant.log.append(((self.a, self.b, self.c), np.array(X)[:, 0], sample_weight))
        if self.a > self.fail_above:
            raise ArithmeticError("too large")
        self.classes_ = np.unique(y)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X):
        """Return the first class."""
        return np.full(len(X), self.classes_[0])

    def score(self, X, y=None, sample_weight=None):
        """Return a parabola in `a` with a small effect of the others."""
        extra = 0.01 * self.b + 0.01 * "pqr".find(str(self.c))
        return -float((self.a + 0.3) ** 2) + extra


def fold_fits(search, X=X, y=y, **params):
    """Fit a search over `Instant`; return what it noted of the fits to folds."""
    Instant.log.clear()
    search.fit(X, y, **params)
    fits = [entry for entry in Instant.log if len(entry[1]) < len(X)]
    if not fits:
        scores = getattr(search, "cv_results_", {}).get("mean_test_score", [0.0])
        require(np.isfinite(scores).any(), "all scores are nan")
        raise NotApplicableError("fits are not made in the calling process")
    return fits


def tried_a(search):
    """Return `a` of every candidate of a search just fitted over `Instant`."""
    if "params" in search.cv_results_:
        return np.array([params["a"] for params in search.cv_results_["params"]])
    folds = [params for params, rows, _ in Instant.log if len(rows) < N_SAMPLES]
    return np.array([a for a, *_ in folds[:: search.n_splits_]])


def best_of(search):
    """Return the row of `cv_results_` that `best_params_` stands for."""
    return search.cv_results_["params"][search.best_index_]
