"""Traces of whole searches: races, schedules, resources, resuming, earlier searches.

A trace has the events in order (what is asked, fitted and learnt), the table of results
without times, and the history of the optimizer. Two jobs are two threads.
"""

from __future__ import annotations

import json
import math
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from skrobustbo import (
    Optimizer,
    Racing,
    Real,
    Resource,
    RobustBayesSearchCV,
    best_posterior_mean,
    default_unless_better,
    load_checkpoint,
    one_standard_error,
)
from skrobustbo.policies import RobustUCB
from skrobustbo.previous import PreviousCandidates

Trace = list[str]
Words = Callable[[Any], str]

X, y = load_iris(return_X_y=True)
SPACE = {"a": Real(-1, 1), "b": Real(0.01, 100, log=True)}
#: One estimator and one policy record their calls here, with one job in this process.
EVENTS: list[str] = []


class Learner(ClassifierMixin, BaseEstimator):
    """Pretends to learn: scores have effects of the fold and the rows, and noise."""

    stop_before, n_fits, noted = 0, 0, True

    def __init__(self, a=0.0, b=1.0, fail_above=math.inf, steps=18, warm_start=False):
        self.a = a
        self.b = b
        self.fail_above = fail_above
        self.steps = steps
        self.warm_start = warm_start

    def fit(self, X, y):
        """Record the fit and the step it continues from; be interrupted, or fail."""
        cls = type(self)
        cls.n_fits += 1
        before = getattr(self, "n_done_", 0) if self.warm_start else 0
        if cls.noted:
            EVENTS.append(f"fit {self.a.hex()} {len(X)} {before}-{self.steps}")
        if cls.n_fits == cls.stop_before:
            raise KeyboardInterrupt
        if self.a > self.fail_above:
            raise ValueError("too large")
        self.n_done_, self.share_, self.classes_ = self.steps, len(X), np.unique(y)
        return self

    def predict(self, X):
        """Return the class for a third of the rows, and another for the others."""
        chosen = (np.abs(X[:, 0] * 10) % 3 < 1 + self.a).astype(int)
        return self.classes_[chosen]

    def score(self, X, y):
        """Return a score that depends on the parameters, the fold and the resource."""
        rows = int(1e3 * float(np.asarray(X).sum()))
        fold = np.random.default_rng(rows).normal()
        own = np.random.default_rng([int(1e6 * (self.a + 1)), rows]).normal()
        value = -((self.a - 0.3) ** 2) - 0.1 * (math.log10(self.b) - 0.5) ** 2
        missing = 0.3 / self.n_done_ + 2.0 / self.share_
        return value + 0.1 * fold + 0.03 * own - missing


def coarse(estimator: Any, X: Any, y: Any) -> float:
    """Return a noisy score that depends on the candidate and the rows."""
    return float(estimator.score(X, y)) + int(1e4 * estimator.a * np.sum(X)) % 7 / 2


class Forgiven(Learner):
    """Fails in a region until it is told not to."""

    forgiven = False

    def fit(self, X, y):
        """Fit, or fail."""
        self.fail_above = math.inf if self.forgiven else 0.3
        return super().fit(X, y)


class Ensemble(Learner):
    """The same with a number of estimators that can grow."""

    def __init__(self, a=0.0, b=1.0, n_estimators=18, warm_start=False, random_state=0):
        super().__init__(a, b, steps=n_estimators, warm_start=warm_start)
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X, y):
        """Fit one step for each estimator."""
        self.steps, self.fail_above = self.n_estimators, math.inf
        return super().fit(X, y)


class Noting(RobustUCB):
    """The default policy, which records its suggestions and updates."""

    def suggest(self, state, models, argmax, pending):
        """Suggest and record the point."""
        x, metadata = super().suggest(state, models, argmax, pending)
        EVENTS.append("ask " + " ".join(float(value).hex() for value in x))
        return x, metadata

    def learn(self, state, metadata, history):
        """Learn, and record the number of values."""
        EVENTS.append(f"learn {np.isfinite(history.values).sum()}")
        return super().learn(state, metadata, history)


def made(estimator: Any = None, space: Any = None, **settings: Any) -> Any:
    """Return a search, to be fitted."""
    given = {"cv": 4, "n_iter": 14, "random_state": 0, "policy": Noting(), **settings}
    return RobustBayesSearchCV(estimator or Learner(), space or SPACE, **given)


@contextmanager
def watched(stop_before: int = 0, jobs: int = 1) -> Iterator[None]:
    """Record events; interrupt one fit; use threads for more than one job."""
    Learner.n_fits = Ensemble.n_fits = 0
    Learner.stop_before = Ensemble.stop_before = stop_before
    Learner.noted = Ensemble.noted = jobs == 1
    if jobs == 1:
        yield
    else:
        with parallel_config("threading", n_jobs=jobs):
            yield


def fitted(search: Any, text: Words, jobs: int = 1, **how: Any) -> Trace:
    """Fit a search and return its trace."""
    EVENTS.clear()
    with watched(jobs=jobs, **how), suppress(KeyboardInterrupt):
        search.fit(X, y)
    return told(search, text, events=jobs == 1)


def told(search: Any, text: Words, events: bool = True) -> Trace:
    """Return what a fitted search knows."""
    from golden_cases import results

    kept = ("best_score_", "n_resources_", "n_candidates_", "max_resources_")
    kept += ("stop_reason_", "n_iter_", "honest_score_", "honest_interval_")
    known = {name: getattr(search, name) for name in kept if hasattr(search, name)}
    table = results(search) if hasattr(search, "cv_results_") else []
    return [*(EVENTS if events else []), text(known), *table]


# The cases ---------------------------------------------------------------------------


def cases(text: Words) -> dict[str, Callable[[], Trace]]:
    """Return the functions that make the traces of searches, by name."""
    found: dict[str, Callable[[], Trace]] = {}

    def add(name: str, estimator: Any = None, space: Any = None, **how: Any) -> None:
        run = {key: how.pop(key) for key in ("jobs",) if key in how}
        found[name] = lambda: fitted(made(estimator, space, **how), text, **run)

    for schedule in ("rounds", "window", "free"):
        flight = {"schedule": schedule, "batch_size": 3}
        add(f"race/{schedule}/1", racing="confident", **flight)
        add(f"schedule/{schedule}/1", **flight)
        if schedule != "free":
            add(f"race/{schedule}/2", racing="confident", jobs=2, **flight)
            add(f"schedule/{schedule}/2", jobs=2, **flight)
    add("race/failures", Learner(fail_above=0.5), racing="confident")
    looser = {"racing": Racing(delta=0.2, margin=1.0)}
    scored = {"error_score": -2.0, "return_train_score": True}
    add("race/settings", Learner(fail_above=0.5), **looser, **scored)
    two = [{"a": Real(-1, 0)}, {"a": Real(0, 1), "b": Real(0.01, 100, log=True)}]
    add("race/branches", space=two, racing="confident", n_iter=18)

    rows = {"resource": Resource("n_samples", min=24), "n_iter": 8}
    steps = {"resource": Resource("n_estimators", min=2), "n_iter": 8}
    window = {"schedule": "window", "batch_size": 3}
    add("resource/rows/1", **rows)
    add("resource/rows/2", jobs=2, **rows, **window)
    add("resource/parameter/1", Ensemble(), **steps)
    add("resource/parameter/free", Ensemble(), **steps, schedule="free", batch_size=3)
    fine = {"n_iter": 8, "resource": Resource("n_estimators", 2, 16, factor=2)}
    add("resource/settings", Ensemble(), **fine)
    add("resource/parameter/race", Ensemble(), **steps, racing="confident")
    add("resource/parameter/branches", Ensemble(), two, **steps)
    add("resource/warm/1", Ensemble(warm_start=True), **steps)
    add("resource/warm/2", Ensemble(warm_start=True), jobs=2, **steps, **window)
    found["resource/optimizer"] = partial(of_resources, text)

    for name, settings in {"rounds": {}, "window": window}.items():
        found[f"time-limit/{name}"] = partial(of_time_limit, text, settings)
    for name, settings in {
        "window": window,
        "race": {"racing": "confident", **window},
        "resource": {"estimator": Ensemble(), **steps},
        "warm": {"estimator": Ensemble(warm_start=True), **steps},
    }.items():
        found[f"resume/file/{name}"] = partial(of_resumed_file, text, settings)
    found["schedule/free/2"] = partial(of_overtaking, text)
    found["resume/file/retry"] = partial(of_retried, text)
    found["resume/memory"] = partial(of_continued, text, {})
    found["resume/memory/race"] = partial(of_continued, text, {"racing": "confident"})
    found["resume/memory/resource"] = partial(
        of_continued, text, {"estimator": Ensemble(), **steps}
    )
    found["interrupted"] = lambda: fitted(made(), text, stop_before=30)

    for source in ("search", "checkpoint", "cv_results", "table", "other-data"):
        found[f"previous/{source}"] = partial(of_previous, text, source)
    line = {"space": {"a": Real(-1, 1)}, "n_iter": 40, "policy": "robust"}
    add("tol/number", tol=0.4, **line)
    add("tol/noise", tol="noise", scoring=coarse, **line)
    add("default/outside", Learner(a=2.0))
    add("default/outside/race", Learner(a=2.0), racing="confident", **window)
    add("default/outside/resource", Ensemble(a=2.0), **steps, jobs=2)
    add("default/left-out", include_default=False)
    found["resume/file/default"] = partial(
        of_resumed_file, text, {"estimator": Learner(a=2.0), **window}
    )
    add("honest/rows", scoring="accuracy", honest_score=True)
    add("honest/folds", honest_score="folds")
    two_metrics = {"scoring": ["accuracy", "f1_macro"], "search_metric": "accuracy"}
    add("refit/best-posterior-mean", **two_metrics, refit=best_posterior_mean)
    add("refit/one-standard-error", refit=one_standard_error("b"))
    add("refit/default-unless-better", refit=default_unless_better)
    found["load-checkpoint"] = partial(of_loaded, text)
    found["on-trial"] = partial(of_listened, text)
    found["optuna"] = partial(of_optuna, text)
    for name, how in {
        "window": window,
        "race": {"racing": "confident"},
        "resource": {"estimator": Ensemble(), **steps},
        "branches": {"space": two},
    }.items():
        found[f"state/{name}"] = partial(of_state, how)
    return found


def of_resources(text: Words) -> Trace:
    """Ask and tell with a resource: estimates replace values."""
    from golden_cases import lines

    def value(params: dict, amount: int) -> float:
        return -((params["a"] - 0.3) ** 2) - (0.5 + params["a"] ** 2) / amount

    how = {"resources": [3, 9, 27], "horizon": 9, "random_state": 0}
    optimizer = Optimizer({"a": Real(-1, 1)}, **how)
    asked = []
    for _ in range(24):
        params, amount = optimizer.ask(return_resource=True)
        asked.append(f"{amount} {text(params)}")
        optimizer.tell(params, value(params, amount), resource=amount)
    values = [text(record["resource_values"]) for record in optimizer.history_]
    return [*asked, *values, *lines(optimizer)]


def of_resumed_file(text: Words, settings: dict) -> Trace:
    """A search that is interrupted and resumed by the same call."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.db"
        first = fitted(made(**settings, checkpoint=path), text, stop_before=26)
        return [*first, *fitted(made(**settings, checkpoint=path), text)]


class Clock:
    """A clock that only fits move forward, by different amounts."""

    now = 0.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now

    perf_counter = monotonic


class Timed(Learner):
    """Takes longer the larger its parameter is."""

    clock = Clock()

    def fit(self, X, y):
        """Move the clock on."""
        self.clock.now += 1.5 + self.a
        return super().fit(X, y)


def of_time_limit(text: Words, settings: dict) -> Trace:
    """A search ended by a time limit, interrupted, and resumed by the same call."""
    how = {"n_iter": 5000, "max_time": 160.0, **settings}
    Timed.n_fits, Timed.clock.now = 0, 0.0
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for module in ("_stops", "_folds"):
            name = f"skrobustbo.evaluation.{module}.time"
            stack.enter_context(mock.patch(name, Timed.clock))
        path = Path(folder) / "search.db"
        first = fitted(made(Timed(), **how, checkpoint=path), text, stop_before=62)
        return [*first, *fitted(made(Timed(), **how, checkpoint=path), text)]


def of_retried(text: Words) -> Trace:
    """A search whose failed folds are fitted again after they are fixed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.db"
        Forgiven.forgiven = False
        first = fitted(made(Forgiven(), checkpoint=path), text)
        Forgiven.forgiven = True
        again = made(Forgiven(), checkpoint=path, retry_failed=True)
        return [*first, *fitted(again, text)]


def of_continued(text: Words, settings: dict) -> Trace:
    """A fitted search that evaluates more candidates."""
    search = made(**settings)
    first = fitted(search, text)
    EVENTS.clear()
    with watched():
        search.resume(X, y, n_iter=5)
    return [*first, *told(search, text)]


def of_previous(text: Words, source: str) -> Trace:
    """A search that starts with the candidates of another."""
    narrow = {"a": Real(-0.5, 0.5), "b": Real(0.1, 10, log=True)}
    with tempfile.TemporaryDirectory() as folder, watched():
        path = Path(folder) / "earlier.db"
        if source == "cv_results":
            values = {"a": [-0.4, 0.0, 0.4, 3.0], "b": [0.1, 1.0]}
            earlier = GridSearchCV(Learner(), values, cv=4).fit(X, y)
        else:
            earlier = made(space=narrow, checkpoint=path).fit(X, y)
        if source == "search":
            given: Any = earlier
        elif source == "checkpoint":
            given = path
        elif source == "cv_results":
            given = earlier.cv_results_
        elif source == "table":
            given = earlier.trials_dataframe()
        else:
            params = earlier.cv_results_["params"]
            scores = earlier.cv_results_["mean_test_score"]
            given = PreviousCandidates(params, scores, same_data=False)
        return fitted(made(previous=given), text)


def of_loaded(text: Words) -> Trace:
    """A reader's view of a checkpoint: a race that was interrupted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.db"
        search = made(racing="confident", checkpoint=path)
        fitted(search, text, stop_before=30)
        loaded = load_checkpoint(path)
    trials = [{k: v for k, v in t.items() if "time" not in k} for t in loaded.trials]
    return [*map(text, trials), text(loaded.settings)]


class Overtaken(Learner):
    """Some candidates finish before others that were asked earlier."""

    turns: Any = None

    def fit(self, X, y):
        """Wait until it is this candidate's turn to finish."""
        type(self).turns.wait(self.a)
        return super().fit(X, y)


class Turns:
    """The order in which candidates finish if two of them are running.

    The next candidate starts when one has been told, so their numbers are known; the
    first two start together and differ in their parameter.
    """

    def __init__(self, first: list[float], order: list[int]) -> None:
        self.first, self.order = first, order
        self.n_begun, self.n_told, self.changed = 2, 0, threading.Condition()

    def wait(self, a: float) -> None:
        """Start a candidate; return after earlier ones are told and one has started."""
        with self.changed:
            if a in self.first:
                number = self.first.index(a)
            else:
                number, self.n_begun = self.n_begun, self.n_begun + 1
            self.changed.notify_all()
            turn = self.order.index(number)
            n_begun = min(turn + 2, len(self.order))

            def is_next() -> bool:
                return self.n_told >= turn and self.n_begun >= n_begun

            assert self.changed.wait_for(is_next, timeout=300)

    def told(self, trial: dict) -> None:
        """Let the next one finish."""
        with self.changed:
            EVENTS.append(f"told {trial['number']}")
            self.n_told += 1
            self.changed.notify_all()


def of_overtaking(text: Words) -> Trace:
    """The schedule "free", in which candidates overtake each other."""
    first = [{"a": -0.5, "b": 1.0}, {"a": 0.75, "b": 10.0}]
    order = [1, 2, 0, 3, 5, 6, 7, 4, 8, 10, 9, 11]
    Overtaken.turns = Turns([params["a"] for params in first], order)
    search = made(
        Overtaken(),
        initial_params=first,
        include_default=False,
        n_initial_points=4,
        n_iter=len(order),
        schedule="free",
        batch_size=2,
        cv=ShuffleSplit(1, random_state=0),
        on_trial=Overtaken.turns.told,
        refit=False,
    )
    EVENTS.clear()
    with watched(jobs=2):
        search.fit(X, y)
    return told(search, text)


def of_listened(text: Words) -> Trace:
    """The records of each candidate, and when they are sent."""

    def listen(trial: dict) -> None:
        EVENTS.append(text({k: v for k, v in trial.items() if "time" not in k}))

    race = {"racing": "confident", "schedule": "window", "batch_size": 3}
    return fitted(made(Learner(fail_above=0.6), **race, on_trial=listen), text)


def of_optuna(text: Words) -> Trace:
    """The policies in a study with a choice, a failure and a pruned trial."""
    try:
        import optuna
    except ImportError:
        raise FileNotFoundError("Optuna is not installed") from None
    from skrobustbo.integrations.optuna import RobustSampler

    def objective(trial: Any) -> float:
        a = trial.suggest_float("a", -1, 1)
        kind = trial.suggest_categorical("kind", ["u", "v"])
        n = trial.suggest_int("n", 1, 64, log=True) if kind == "u" else 8
        if trial.number == 5:
            raise optuna.TrialPruned
        return -((a - 0.3) ** 2) - 0.1 * abs(math.log2(n) - 3) - 0.05 * (kind == "v")

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=RobustSampler(seed=0))
    study.optimize(objective, n_trials=20)
    return [f"{text(t.params)} {text(t.value)}" for t in study.trials]


def without_times(state: Any) -> Any:
    """Return a state without parts that differ from run to run."""
    if isinstance(state, dict):
        return {k: without_times(v) for k, v in state.items() if "time" not in k}
    return [without_times(v) for v in state] if isinstance(state, list) else state


def of_state(settings: dict) -> Trace:
    """The state of the optimizer of a search, as JSON."""
    search = made(**settings)
    EVENTS.clear()
    with watched():
        search.fit(X, y)
    state = without_times(search.optimizer_.to_dict())
    return [f"{key}: {json.dumps(state[key], sort_keys=True)}" for key in sorted(state)]
