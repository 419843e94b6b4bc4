"""The searches that are compared: one small function builds each from one description.

Other packages are imported when a search is built, so that none has to be installed.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from skrobustbo import Categorical, Integer, Real, RobustBayesSearchCV


class UnmetError(Exception):
    """The search does not do what is asked; the message is the reason."""


class Floats(NamedTuple):
    """Real numbers from `low` to `high`."""

    low: float
    high: float
    log: bool = False


class Ints(NamedTuple):
    """Whole numbers from `low` to `high`, both included."""

    low: int
    high: int


class Choice(NamedTuple):
    """One of several values, without order."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Task:
    """A search to be built, described without regard to who builds it.

    Parameters
    ----------
    estimator : estimator
        What is tuned.
    space : dict or list of dict
        Of Floats, Ints, Choice.
    n_iter : int
        Candidates, as nearly as the search lets one say it.
    defaults : dict
        Settings passed on where the search has a parameter of the name.
    settings : dict
        Settings that the search must have; UnmetError says which it lacks.
    """

    estimator: Any
    space: Any
    n_iter: int
    defaults: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def converted(self, floats, ints, choice):
        """Return the space, or each of a list, with its dimensions converted."""
        makers = {Floats: floats, Ints: ints, Choice: choice}

        def convert(space):
            if not isinstance(space, Mapping):
                return [convert(one) for one in space]
            return {name: makers[type(of)](*of) for name, of in space.items()}

        return convert(self.space)

    def build(self, search, *args, **own):
        """Return the search with its arguments and what it knows of the settings."""
        known = self.check_known(search)
        optional = {name: v for name, v in self.defaults.items() if name in known}
        return search(self.estimator, *args, **{**optional, **own, **self.settings})

    def check_known(self, search):
        """Return the names of a search's parameters; raise if a needed one lacks."""
        signature = inspect.signature(search.__init__).parameters
        known = set(signature)
        if any(p.kind is p.VAR_KEYWORD for p in signature.values()):
            known |= set(inspect.signature(search.__mro__[1].__init__).parameters)
        for name in self.settings:
            if name not in known:
                raise UnmetError(f"has no parameter {name!r}")
        return known


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
    def is_installed(self):
        """Whether its module can be found."""
        return find_spec(self.module) is not None

    @property
    def version(self):
        """Version of the package, and of scikit-learn beside it."""
        own = version(self.package)
        if self.package == "scikit-learn":
            return own
        return f"{own} (scikit-learn {version('scikit-learn')})"

    def search(self, estimator, space, *, n_iter=6, cv=3, random_state=0, **settings):
        """Return an unfitted search; see `Task` for the settings."""
        defaults = {"cv": cv, "random_state": random_state}
        return self.make(Task(estimator, space, n_iter, defaults, settings))


# One function per search


def _robust(task):
    space = task.converted(lambda *of: Real(*of[:2], log=of[2]), Integer, Categorical)
    several = isinstance(task.settings.get("scoring"), list | tuple | dict)
    extra = {}
    if several and not isinstance(task.settings.get("refit"), str):
        extra["search_metric"] = next(iter(task.settings["scoring"]))
    return task.build(RobustBayesSearchCV, space, n_iter=task.n_iter, **extra)


def _whole(low, high):
    return list(range(low, high + 1))


def _grid(task):
    """Return a grid with as many values of a continuous range as fit the budget."""
    first = task.space if isinstance(task.space, Mapping) else task.space[0]
    n_ranges = sum(isinstance(dimension, Floats) for dimension in first.values())
    n = max(2, int(round(task.n_iter ** (1 / max(n_ranges, 1)), 6)))

    def spaced(low, high, log):
        values = np.geomspace(low, high, n) if log else np.linspace(low, high, n)
        return [float(value) for value in values]

    return task.build(GridSearchCV, task.converted(spaced, _whole, list))


def _random(task):
    def law(low, high, log):
        if log:
            return scipy.stats.loguniform(low, high)
        return scipy.stats.uniform(low, high - low)

    space = task.converted(law, _whole, list)
    return task.build(RandomizedSearchCV, space, n_iter=task.n_iter)


def _law(log):
    return "log-uniform" if log else "uniform"


def _scikit_optimize(task):
    of = import_module("skopt.space")
    space = task.converted(
        lambda low, high, log: of.Real(low, high, prior=_law(log)),
        of.Integer,
        lambda values: of.Categorical(list(values)),
    )
    search = import_module("skopt").BayesSearchCV
    return task.build(search, space, n_iter=task.n_iter)


def _optuna(task):
    of = import_module("optuna").distributions
    space = task.converted(
        lambda low, high, log: of.FloatDistribution(low, high, log=log),
        of.IntDistribution,
        of.CategoricalDistribution,
    )
    search = import_module("optuna_integration").OptunaSearchCV
    return task.build(search, space, n_trials=task.n_iter)


def _genetic(task):
    of = import_module("sklearn_genetic.space")
    space = task.converted(
        lambda low, high, log: of.Continuous(low, high, distribution=_law(log)),
        of.Integer,
        lambda values: of.Categorical(list(values)),
    )
    # It counts generations, not candidates: a population and two offspring of its size.
    size = max(3, task.n_iter // 3)
    return task.build(
        import_module("sklearn_genetic").GASearchCV,
        param_grid=space,
        population_size=size,
        generations=max(1, task.n_iter // size - 1),
        verbose=False,
    )


def _sambo(task):
    # Its lists of two numbers mean ranges.
    space = task.converted(lambda low, high, log: [low, high], _whole, list)
    search = import_module("sambo").SamboSearchCV
    seed = task.defaults.get("random_state")
    return task.build(search, space, max_iter=task.n_iter, rng=seed)


def _hyperopt(task):
    hp = import_module("hyperopt").hp
    scope = import_module("hyperopt.pyll").scope

    def floats(name, low, high, log):
        if log:
            return hp.loguniform(name, np.log(low), np.log(high))
        return hp.uniform(name, low, high)

    def configured(**params):
        return clone(task.estimator).set_params(**params)

    if not isinstance(task.space, Mapping):
        raise UnmetError("takes no list of spaces")
    if "configured" not in scope._impls:
        scope.define(configured)
    makers = {
        Floats: floats,
        Ints: hp.uniformint,
        Choice: lambda name, values: hp.choice(name, list(values)),
    }
    space = {name: makers[type(of)](name, *of) for name, of in task.space.items()}
    search = import_module("hpsklearn").HyperoptEstimator
    task.check_known(search)
    return search(
        classifier=scope.configured(**space),
        preprocessing=[],
        max_evals=task.n_iter,
        seed=np.random.default_rng(task.defaults["random_state"]),
        **task.settings,
    )


_sklearn = partial(Peer, package="scikit-learn", module="sklearn")
#: The columns of the table: ours, scikit-learn's, the others.
PEERS = {
    peer.name: peer
    for peer in (
        Peer("RobustBayesSearchCV", "skrobustbo", "skrobustbo", _robust),
        _sklearn("GridSearchCV", make=_grid, has_seed=False),
        _sklearn("RandomizedSearchCV", make=_random),
        Peer("BayesSearchCV", "scikit-optimize", "skopt", _scikit_optimize),
        Peer("OptunaSearchCV", "optuna-integration", "optuna_integration", _optuna),
        Peer("GASearchCV", "sklearn-genetic-opt", "sklearn_genetic", _genetic, False),
        Peer("SamboSearchCV", "sambo", "sambo", _sambo),
        Peer("HyperoptEstimator", "hyperopt-sklearn", "hpsklearn", _hyperopt),
    )
}
