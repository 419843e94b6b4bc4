"""The traced cases: searches of every kind, by public names only.

A case is a name and a function that returns a trace: one line per point asked, with the
model that chose it and its prediction, and at the end the state of the optimizer.
Floats are written in full, so a trace changes with the last bit.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import search_cases
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skrobustbo import (
    Categorical,
    Integer,
    Optimizer,
    Real,
    RobustBayesSearchCV,
    Space,
    maximize,
    minimize,
)
from skrobustbo.policies import available
from skrobustbo_benchmarks import problems

Trace = list[str]

#: The problems of the comparison with other packages, and their numbers of evaluations.
PROBLEMS = {
    **dict.fromkeys(("berkenkamp-trap", "wang-trap"), 40),
    **dict.fromkeys(("ackley5", "branin", "hartmann6", "levy4", "rosenbrock4"), 40),
    "michalewicz5": 60,
    **dict.fromkeys(("agnp", "autoam", "crossed-barrel", "p3ht", "perovskite"), 40),
    **dict.fromkeys(
        (
            "hpobench-australian",
            "hpobench-credit-g",
            "hpobench-vehicle",
            "hpolib-naval-propulsion",
            "hpolib-protein-structure",
        ),
        30,
    ),
    **dict.fromkeys(
        (
            "enet-diabetes",
            "hgb-diabetes",
            "knn-cancer",
            "krr-diabetes",
            "mlp-wine",
            "pipeline-cancer",
            "rf-cancer",
            "sgd-digits",
            "svm-digits",
            "svr-diabetes",
        ),
        16,
    ),
}
SEEDS = (0, 1)
#: Policies for changing objectives, each on such an objective.
CHANGING = {
    "et-gp-ucb": "abrupt-change",
    "r-gp-ucb": "slow-change",
    "tv-gp-ucb": "slow-change",
    "ui-tvbo": "slow-change",
    "sw-gp-ucb": "abrupt-change",
    "br-gp-ucb": "slow-change",
    "w-gp-ucb": "slow-change",
}
#: Cases that take at most a second, for every test run.
QUICK = (
    "problem/berkenkamp-trap/0",
    "problem/branin/1",
    "policy/he-gp-ucb",
    "policy/et-gp-ucb",
    "branches/robust",
    "batches",
    "constraints",
    "failures",
    "resume/optimizer",
    "resume/search",
    "race/window/1",
    "resource/parameter/1",
    "resume/file/window",
    "previous/search",
    "schedule/free/2",
)


def cases() -> dict[str, Callable[[], Trace]]:
    """Return the functions that make the traces, by name."""
    found: dict[str, Callable[[], Trace]] = {
        f"problem/{name}/{seed}": partial(of_problem, name, "robust", n, seed)
        for name, n in PROBLEMS.items()
        for seed in SEEDS
    }
    for policy in available():
        if policy != "robust":
            problem = CHANGING.get(policy, "branin")
            found[f"policy/{policy}"] = partial(of_problem, problem, policy, 22, 0)
    for policy in ("robust", "gp-ucb", "he-gp-ucb", "a-gp-ucb", "stableopt"):
        found[f"branches/{policy}"] = partial(of_branches, policy)
    for make in (of_batches, of_constraints, of_failures, of_mixed, of_many_choices):
        found[make.__name__.removeprefix("of_").replace("_", "-")] = make
    found["points"] = of_points
    found["minimize"] = of_minimize
    found["resume/optimizer"] = of_resumed_optimizer
    found["resume/search"] = of_resumed_search
    found["search/batches"] = of_search_in_batches
    found["search/branches"] = of_search_in_branches
    found["search/suggested"] = of_suggested_search
    return found | search_cases.cases(text)


# Traces ------------------------------------------------------------------------------


def lines(optimizer: Optimizer) -> Iterator[str]:
    """Yield a line for each trial, and the optimizer's conclusions."""
    for record in optimizer.history_:
        keys = ("params", "value", "model_mean", "model_std", "model_label", "alive")
        yield " ".join(text(record[key]) for key in keys)
    if any(record["value"] is not None for record in optimizer.history_):
        points = [record["params"] for record in optimizer.history_[:3]]
        yield text(optimizer.recommend())
        yield text(optimizer.predict(points, return_std=True))
        if optimizer.policy.seeks_maximum:
            yield text(optimizer.regret_bound())


def text(value: object) -> str:
    """Return a value as text, floats in full."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple) or np.ndim(value):
        return "[" + ", ".join(map(text, value)) + "]"
    if isinstance(value, float | np.floating):
        return float(value).hex()
    return repr(value)


def ask_and_tell(
    optimizer: Optimizer, func: Callable[..., float], n: int, first: int = 1
) -> None:
    """Ask `n` points and tell their values; `func` takes the number of the query."""
    for t in range(first, first + n):
        params = optimizer.ask()
        optimizer.tell(params, func(params, t))


# Problems and policies ---------------------------------------------------------------


def of_problem(name: str, policy: str, n: int, seed: int) -> Trace:
    """A policy on a problem, with its noise."""
    problem = problems.get(name)
    noise = np.random.default_rng(seed).normal(0.0, problem.noise_std or 0.0, n + 1)
    optimizer = Optimizer(problem.space, policy, horizon=n, random_state=seed)
    ask_and_tell(optimizer, lambda p, t: problem.value_at(p, t) + noise[t], n)
    return list(lines(optimizer))


def valley(params: dict, t: int = 0) -> float:
    """A smooth objective with one maximum at 0.3 in every number."""
    numbers = [v for v in params.values() if isinstance(v, int | float)]
    return -sum((float(v) - 0.3) ** 2 for v in numbers) + 0.1 * ("b" in params.values())


def of_branches(policy: str) -> Trace:
    """Three branches, of which one is best and one always fails."""
    space = [
        {"kind": ["a"], "x": Real(0, 1)},
        {"kind": ["b"], "x": Real(0, 1), "y": Real(0, 1)},
        {"kind": ["c"], "n": Integer(0, 9)},
    ]

    def func(params: dict, t: int) -> float:
        return math.nan if params["kind"] == "c" else valley(params)

    optimizer = Optimizer(space, policy, random_state=0)
    ask_and_tell(optimizer, func, 26)
    return list(lines(optimizer))


def of_batches() -> Trace:
    """Batches of four, told in another order, one of each a round late."""
    optimizer = Optimizer({"x": Real(0, 1), "y": Real(0, 1)}, random_state=0)
    late: list[dict] = []
    for _ in range(7):
        asked = optimizer.ask(4)
        for params in [*late, *asked[:0:-1]]:
            optimizer.tell(params, valley(params))
        late = asked[:1]
    return list(lines(optimizer))


def of_constraints() -> Trace:
    """A narrow feasible region."""
    optimizer = Optimizer(
        {"x": Real(0, 1), "y": Real(0, 1)},
        constraints=lambda p: 0.5 < p["x"] + p["y"] < 0.7,
        random_state=1,
    )
    ask_and_tell(optimizer, valley, 25)
    return list(lines(optimizer))


def of_failures() -> Trace:
    """A region that fails, and values told without being asked."""
    optimizer = Optimizer({"x": Real(0, 1), "y": Real(0, 1)}, random_state=2)
    optimizer.tell([{"x": 0.9, "y": 0.9}, {"x": 0.1, "y": 0.8}], [math.inf, -0.4])
    ask_and_tell(optimizer, lambda p, t: math.nan if p["x"] < 0.35 else valley(p), 25)
    return list(lines(optimizer))


def of_mixed() -> Trace:
    """All kinds of parameters at once."""
    space = {
        "x": Real(0.01, 10, log=True),
        "n": Integer(1, 30),
        "m": Integer(1, 500, log=True),
        "c": Categorical(["a", "b", "c"]),
        "o": [1, 2, 4, 8],
        "u": stats.norm(0.3, 1),
        "fixed": ["b"],
    }
    optimizer = Optimizer(
        space,
        initial_params=[
            {
                "x": 1.0,
                "n": 3,
                "m": 10,
                "c": "a",
                "o": 2,
                "u": 0.0,
                "fixed": "b",
            }
        ],
        random_state=3,
    )
    ask_and_tell(optimizer, valley, 25)
    return list(lines(optimizer))


def of_many_choices() -> Trace:
    """More unordered choices than have their own columns."""
    names = [f"c{i}" for i in range(300)]
    optimizer = Optimizer({"c": Categorical(names), "x": Real(0, 1)}, random_state=4)
    ask_and_tell(
        optimizer, lambda p, t: valley({"x": p["x"]}) - abs(int(p["c"][1:]) - 99), 20
    )
    return list(lines(optimizer))


def of_points() -> Trace:
    """A table of points, until it is used up."""
    table = [{"x": i / 5, "y": j / 5} for i in range(6) for j in range(4)]
    optimizer = Optimizer(Space.from_points(table), random_state=5)
    ask_and_tell(optimizer, valley, len(table))
    return list(lines(optimizer))


def of_minimize() -> Trace:
    """The functional form, both ways."""
    space = {"x": Real(0, 1), "y": Real(0, 1)}
    low = minimize(lambda p: -valley(p), space, n_iter=15, random_state=6)
    high = maximize(valley, space, n_iter=15, random_state=6)
    return [text(low.values), text(high.values), *lines(high.optimizer)]


# Resuming, and searches --------------------------------------------------------------


def of_resumed_optimizer() -> Trace:
    """A state restored from JSON in the middle, with pending points."""
    space = [{"x": Real(0, 1), "y": Real(0, 1)}, {"z": Real(0, 1), "n": Integer(0, 5)}]
    optimizer = Optimizer(space, "hb-gp-ucb", random_state=7)
    ask_and_tell(optimizer, valley, 14)
    waiting = optimizer.ask(2)
    optimizer = Optimizer.from_dict(optimizer.to_dict())
    optimizer.tell(waiting, [valley(params) for params in waiting])
    ask_and_tell(optimizer, valley, 10)
    return list(lines(optimizer))


class Counted(ClassifierMixin, BaseEstimator):
    """A classifier that is interrupted before one fit, and fails in a region."""

    n_fits, stop_before = 0, 0

    def __init__(self, C: float = 1.0, depth: int = 1):
        self.C = C
        self.depth = depth

    def fit(self, X, y):
        """Count, fail, or keep only the classes."""
        type(self).n_fits += 1
        if type(self).n_fits == self.stop_before:
            raise KeyboardInterrupt
        if self.C > 50:
            raise ValueError("too large")
        self.classes_ = np.unique(y)
        return self

    def score(self, X, y):
        """Return a score that depends on the parameters and the split."""
        bump = float(X[:, 0].mean()) / 100
        return bump - (math.log10(self.C) - 0.5) ** 2 - 0.01 * (self.depth - 3) ** 2


def of_resumed_search() -> Trace:
    """A search that is interrupted and resumes from its checkpoint."""
    X, y = load_iris(return_X_y=True)
    space = {"C": Real(0.01, 100, log=True), "depth": Integer(1, 8)}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for Counted.stop_before in (50, 0):
            Counted.n_fits = 0
            search = RobustBayesSearchCV(
                Counted(),
                space,
                n_iter=18,
                checkpoint=Path(folder) / "search.db",
                random_state=8,
            )
            with suppress(KeyboardInterrupt):
                search.fit(X, y)
        return results(search)


def results(search: RobustBayesSearchCV) -> Trace:
    """Return the table of a search without times, and its optimizer's trace."""
    table = search.cv_results_
    columns = [key for key in table if "time" not in key]
    rows = [text([table[key][i] for key in columns]) for i in range(search.n_iter_)]
    return [text(columns), *rows, text(search.best_params_), *lines(search.optimizer_)]


def of_search_in_batches() -> Trace:
    """Two metrics, batches of three."""
    X, y = load_iris(return_X_y=True)
    search = RobustBayesSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": Integer(1, 40), "p": [1, 2]},
        n_iter=18,
        batch_size=3,
        scoring=["accuracy", "f1_macro"],
        refit="f1_macro",
        random_state=9,
    )
    return results(search.fit(X, y))


def of_search_in_branches() -> Trace:
    """Two estimators in one step of a pipeline."""
    X, y = load_iris(return_X_y=True)
    pipeline = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    knn, lr = [KNeighborsClassifier()], [LogisticRegression(max_iter=500)]
    space = [
        {"model": knn, "model__n_neighbors": Integer(1, 40)},
        {"model": lr, "model__C": Real(0.001, 100, log=True)},
    ]
    search = RobustBayesSearchCV(pipeline, space, n_iter=18, random_state=10)
    return results(search.fit(X, y))


def of_suggested_search() -> Trace:
    """The suggested space of a pipeline."""
    X, y = load_iris(return_X_y=True)
    pipeline = Pipeline(
        [("scale", StandardScaler()), ("model", KNeighborsClassifier())]
    )
    search = RobustBayesSearchCV(pipeline, "suggested", n_iter=12, random_state=11)
    return results(search.fit(X, y))
