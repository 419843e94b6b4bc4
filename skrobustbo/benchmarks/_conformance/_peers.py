"""The searches that are compared: one small function builds each from one description.

Peers are imported when they are built, so that none has to be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from skrobustbo.benchmarks._conformance._outcome import UnmetError
from skrobustbo.benchmarks._conformance._task import (
    Choice,
    Dimension,
    Floats,
    Ints,
    NeutralSpace,
    Task,
    check_known,
    each,
    made,
    parameters,
)

#: What all searches of scikit-learn derive from; it has no public name.
BaseSearchCV: type = GridSearchCV.__mro__[1]


@dataclass(frozen=True)
class Peer:
    """A search that can be built.

    Parameters
    ----------
    name : str
        Of its class.
    package : str
        Distribution that it comes from.
    module : str
        Imported to see whether it is installed.
    make : callable
        Task -> search.
    has_budget : bool
        Whether one parameter says how many candidates are evaluated.
    has_seed : bool
        Whether it draws at random.
    """

    name: str
    package: str
    module: str
    make: Callable[[Task], Any]
    has_budget: bool = True
    has_seed: bool = True

    @property
    def is_installed(self) -> bool:
        """Whether its module can be found."""
        return find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """Version of the package, and of scikit-learn beside it."""
        own = version(self.package)
        if self.package == "scikit-learn":
            return own
        return f"{own} (scikit-learn {version('scikit-learn')})"

    def search(
        self,
        estimator: Any,
        space: NeutralSpace | list[NeutralSpace],
        *,
        n_iter: int = 6,
        cv: Any = 3,
        random_state: int = 0,
        **settings: Any,
    ) -> Any:
        """Return an unfitted search; see `Task` for the settings."""
        defaults = {"cv": cv, "random_state": random_state}
        return self.make(Task(estimator, space, n_iter, defaults, settings))


# One function per search


def _robust(task: Task) -> Any:
    from skrobustbo import Categorical, Integer, Real, RobustBayesSearchCV

    def convert(dimension: Dimension) -> Any:
        match dimension:
            case Floats(low, high, log):
                return Real(low, high, log=log)
            case Ints(low, high):
                return Integer(low, high)
            case Choice(values):
                return Categorical(values)

    space = each(task.space, convert)
    several = isinstance(task.settings.get("scoring"), list | tuple | dict)
    by_name = isinstance(task.settings.get("refit"), str)
    extra = {}
    if several and not by_name and "search_metric" in parameters(RobustBayesSearchCV):
        extra["search_metric"] = next(iter(task.settings["scoring"]))
    return made(RobustBayesSearchCV, task, space, n_iter=task.n_iter, **extra)


def _grid(task: Task) -> Any:
    def convert(dimension: Dimension) -> list[Any]:
        match dimension:
            case Floats(low, high, log):
                spaced = np.geomspace if log else np.linspace
                return [float(v) for v in spaced(low, high, _resolution(task))]
            case Ints(low, high):
                return list(range(low, high + 1))
            case Choice(values):
                return list(values)

    return made(GridSearchCV, task, each(task.space, convert))


def _resolution(task: Task) -> int:
    """Return how many values of a continuous range fit into the budget."""
    space = task.space if isinstance(task.space, Mapping) else task.space[0]
    n_ranges = sum(isinstance(dimension, Floats) for dimension in space.values())
    return max(2, int(round(task.n_iter ** (1 / n_ranges), 6)))


def _random(task: Task) -> Any:
    def convert(dimension: Dimension) -> Any:
        match dimension:
            case Floats(low, high, True):
                return scipy.stats.loguniform(low, high)
            case Floats(low, high):
                return scipy.stats.uniform(low, high - low)
            case Ints(low, high):
                return list(range(low, high + 1))
            case Choice(values):
                return list(values)

    space = each(task.space, convert)
    return made(RandomizedSearchCV, task, space, n_iter=task.n_iter)


def _scikit_optimize(task: Task) -> Any:
    skopt = import_module("skopt")
    dimensions = import_module("skopt.space")

    def convert(dimension: Dimension) -> Any:
        match dimension:
            case Floats(low, high, log):
                prior = "log-uniform" if log else "uniform"
                return dimensions.Real(low, high, prior=prior)
            case Ints(low, high):
                return dimensions.Integer(low, high)
            case Choice(values):
                return dimensions.Categorical(list(values))

    space = each(task.space, convert)
    return made(skopt.BayesSearchCV, task, space, n_iter=task.n_iter)


def _optuna(task: Task) -> Any:
    distributions = import_module("optuna").distributions

    def convert(dimension: Dimension) -> Any:
        match dimension:
            case Floats(low, high, log):
                return distributions.FloatDistribution(low, high, log=log)
            case Ints(low, high):
                return distributions.IntDistribution(low, high)
            case Choice(values):
                return distributions.CategoricalDistribution(values)

    search = import_module("optuna_integration").OptunaSearchCV
    return made(search, task, each(task.space, convert), n_trials=task.n_iter)


def _genetic(task: Task) -> Any:
    dimensions = import_module("sklearn_genetic.space")

    def convert(dimension: Dimension) -> Any:
        match dimension:
            case Floats(low, high, log):
                law = "log-uniform" if log else "uniform"
                return dimensions.Continuous(low, high, distribution=law)
            case Ints(low, high):
                return dimensions.Integer(low, high)
            case Choice(values):
                return dimensions.Categorical(list(values))

    # It counts generations, not candidates: a population and two offspring of its size.
    size = max(3, task.n_iter // 3)
    return made(
        import_module("sklearn_genetic").GASearchCV,
        task,
        param_grid=each(task.space, convert),
        population_size=size,
        generations=max(1, task.n_iter // size - 1),
        verbose=False,
    )


def _sambo(task: Task) -> Any:
    def convert(dimension: Dimension) -> Any:
        # Its lists of numbers mean ranges.
        match dimension:
            case Floats(low, high):
                return [low, high]
            case Ints(low, high):
                return list(range(low, high + 1))
            case Choice(values):
                return list(values)

    search = import_module("sambo").SamboSearchCV
    seed = task.defaults.get("random_state")
    space = each(task.space, convert)
    return made(search, task, space, max_iter=task.n_iter, rng=seed)


def _hyperopt(task: Task) -> Any:
    hp = import_module("hyperopt").hp
    scope = import_module("hyperopt.pyll").scope

    def convert(name: str, dimension: Dimension) -> Any:
        match dimension:
            case Floats(low, high, True):
                return hp.loguniform(name, np.log(low), np.log(high))
            case Floats(low, high):
                return hp.uniform(name, low, high)
            case Ints(low, high):
                return hp.uniformint(name, low, high)
            case Choice(values):
                return hp.choice(name, list(values))

    def configured(**params: Any) -> Any:
        return clone(task.estimator).set_params(**params)

    if not isinstance(task.space, Mapping):
        raise UnmetError("takes no list of spaces")
    if "configured" not in scope._impls:
        scope.define(configured)
    space = {name: convert(name, dim) for name, dim in task.space.items()}
    search = import_module("hpsklearn").HyperoptEstimator
    check_known(search, task)
    return search(
        classifier=scope.configured(**space),
        preprocessing=[],
        max_evals=task.n_iter,
        seed=np.random.default_rng(task.defaults["random_state"]),
        **task.settings,
    )


#: The columns of the table: ours, scikit-learn's, the others.
PEERS = {
    peer.name: peer
    for peer in (
        Peer("RobustBayesSearchCV", "skrobustbo", "skrobustbo", _robust),
        Peer("GridSearchCV", "scikit-learn", "sklearn", _grid, has_seed=False),
        Peer("RandomizedSearchCV", "scikit-learn", "sklearn", _random),
        Peer("BayesSearchCV", "scikit-optimize", "skopt", _scikit_optimize),
        Peer("OptunaSearchCV", "optuna-integration", "optuna_integration", _optuna),
        Peer(
            "GASearchCV",
            "sklearn-genetic-opt",
            "sklearn_genetic",
            _genetic,
            has_budget=False,
        ),
        Peer("SamboSearchCV", "sambo", "sambo", _sambo),
        Peer("HyperoptEstimator", "hyperopt-sklearn", "hpsklearn", _hyperopt),
    )
}
