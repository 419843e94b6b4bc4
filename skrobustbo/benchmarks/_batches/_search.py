"""One run: a search whose fits sleep. Also the program that a child process runs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self
from zlib import crc32

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skrobustbo import problems
from skrobustbo.benchmarks._single import initial_count
from skrobustbo.problems import Problem

#: Two rows of data and one split of them: nothing is learned from them.
_X, _Y = np.zeros((2, 1)), np.zeros(2)
_SPLIT = [(np.array([0]), np.array([1]))]


class Key(NamedTuple):
    """What tells one run from another."""

    problem: str
    policy: str
    batch_size: int
    seed: int
    n_iter: int
    fold_seconds: float


@dataclass(frozen=True)
class Run:
    """One row of the csv file.

    Parameters
    ----------
    problem, policy : str
        Names.
    batch_size : int
        Candidates of a round.
    seed : int
        Seed of the initial design, the noise and the search.
    n_iter : int
        Candidates asked for.
    fold_seconds : float
        How long each fit sleeps. If it is 0, the run shows the regret only and the fits
        are made one after the other; otherwise those of a round sleep side by side.
    n_initial : int
        Evaluations that belong to the initial design, which batches share.
    optimum : float
        The problem's optimum.
    tuner_seconds : float
        Wall time of the tuner.
    seconds : list of float
        Wall time from the beginning of the search to the end of each evaluation.
    best : list of float
        Largest value, without noise, of the evaluations until then.
    """

    problem: str
    policy: str
    batch_size: int
    seed: int
    n_iter: int
    fold_seconds: float
    n_initial: int
    optimum: float
    tuner_seconds: float
    seconds: list[float]
    best: list[float]

    @property
    def key(self) -> Key:
        """What tells the run from others."""
        return Key(*(getattr(self, name) for name in Key._fields))

    @property
    def regrets(self) -> NDArray[np.float64]:
        """Optimum minus the best value after each evaluation, shape (n_evals,)."""
        return self.optimum - np.array(self.best)


def run_one(key: Key) -> Run:
    """Return the result of a run, which (times apart) depends on its key only."""
    problem = problems.get(key.problem)
    if problem.sample_function is not None:
        problem = problem.sample_function(key.seed)
    watch = Watch(problem, key.seed)
    search = make_search(key, problem, watch)
    with parallel_config(backend="threading"):
        start = time.perf_counter()
        search.fit(_X, _Y)
    ends, values = map(np.array, zip(*sorted(watch.seen), strict=True))
    return Run(
        **key._asdict(),
        n_initial=search.n_initial_points,
        optimum=float(np.float64(problem.optimum)),
        tuner_seconds=search.tuner_time_,
        seconds=(ends - start).tolist(),
        best=np.maximum.accumulate(values).tolist(),
    )


def make_search(key: Key, problem: Problem, watch: Watch) -> Any:
    """Return the search of a run, not yet fitted."""
    from skrobustbo import RobustBayesSearchCV

    n_initial = initial_count(problem, key.n_iter)
    initial = problem.initial_params(key.seed, n_initial)
    return RobustBayesSearchCV(
        Sleeper(key.fold_seconds, **initial[0]),
        problem.space,
        n_iter=key.n_iter,
        policy=key.policy,
        n_initial_points=n_initial,
        initial_params=initial,
        batch_size=key.batch_size,
        scoring=watch,
        n_jobs=key.batch_size if key.fold_seconds else 1,
        refit=False,
        cv=_SPLIT,
        random_state=key.seed,
        error_score="raise",
    )


class Sleeper(BaseEstimator):
    """An estimator whose hyperparameters are a point, and whose fit takes its time."""

    def __init__(self, seconds: float = 0.0, **point: Any):
        self.seconds = seconds
        self.point = point

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the time and the point."""
        return {"seconds": self.seconds, **self.point}

    def set_params(self, **params: Any) -> Self:
        """Move to another point."""
        self.seconds = params.pop("seconds", self.seconds)
        self.point = {**self.point, **params}
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Sleep."""
        time.sleep(self.seconds)
        return self


class Watch:
    """A scorer that looks at the clock; all threads share it.

    The noise belongs to the point, lest it depend on which fit is the faster one.
    """

    def __init__(self, problem: Problem, seed: int):
        self.seen: list[tuple[float, float]] = []
        self._problem = problem
        self._seed = seed

    def __call__(self, estimator: Sleeper, X: Any, y: Any = None) -> float:
        """Return the value at the estimator's point, and note it with the time."""
        value = self._problem.value_at(estimator.point)
        self.seen.append((time.perf_counter(), value))
        return value + self._noise(estimator.point)

    def _noise(self, point: Mapping[str, Any]) -> float:
        stream = crc32(repr(sorted(point.items())).encode())
        draw = np.random.default_rng([self._seed, stream]).standard_normal()
        return self._problem.noise_std * float(draw)


if __name__ == "__main__":
    print(json.dumps(asdict(run_one(Key(*json.loads(sys.argv[1]))))))
