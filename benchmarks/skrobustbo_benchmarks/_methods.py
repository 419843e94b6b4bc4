"""What is compared: anything that can be asked for a point and told its value.

Optimisers of other packages are in `_peers`; anything else is a subclass of `Method`,
entered in `BASELINES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from skrobustbo.space import Space
from skrobustbo.surrogate import Candidate
from skrobustbo_benchmarks._peers._registry import PEERS, make_peer
from skrobustbo_benchmarks._spelling import split_method, split_settings
from skrobustbo_benchmarks._starts import starts

if TYPE_CHECKING:
    from skrobustbo.policies import Policy

Params = dict[str, Any]


class ExhaustedError(Exception):
    """Raised by `Method.ask` when no point is left to try; the run then ends."""


@dataclass(frozen=True)
class Setup:
    """What a method may know before the first evaluation.

    Parameters
    ----------
    space : Space
        Domain of the problem.
    initial : list of dict
        The initial design, to be asked first and in this order.
    n_iter : int
        Number of evaluations of the run, the initial ones included.
    seed : int
        Seed of everything random in the method.
    candidates : list of Candidate, optional
        The models that the problem's paper gives its algorithms; a single one of an
        objective that changes in time is the true one, in the objective's units.
    noise_std : float, default=0.0
        Standard deviation of the noise.
    varies : bool, default=False
        Whether the objective changes in time.
    """

    space: Space
    initial: list[Params]
    n_iter: int
    seed: int
    candidates: list[Candidate] | None = None
    noise_std: float = 0.0
    varies: bool = False


class Method(ABC):
    """An optimiser under comparison; it maximises."""

    @abstractmethod
    def ask(self) -> Params:
        """Return the next point, the initial design first; may raise ExhaustedError."""

    @abstractmethod
    def tell(self, params: Params, value: float) -> None:
        """Take in the (noisy) value at the point last asked."""

    @property
    def label(self) -> str:
        """What proposed the point told last, for the results table."""
        return ""


class OptimizerMethod(Method):
    """The package's own optimizer with a policy."""

    def __init__(self, policy: Policy, setup: Setup):
        from skrobustbo import Optimizer

        self._optimizer = Optimizer(
            setup.space,
            policy,
            initial_params=setup.initial,
            n_initial_points=len(setup.initial),
            horizon=setup.n_iter,
            random_state=setup.seed,
        )

    def ask(self) -> Params:
        """Return the optimizer's next point."""
        from skrobustbo import SpaceExhausted

        try:
            params: Any = self._optimizer.ask()
        except SpaceExhausted as error:
            raise ExhaustedError from error
        return dict(params)

    def tell(self, params: Params, value: float) -> None:
        """Tell the optimizer."""
        self._optimizer.tell(params, value)

    @property
    def label(self) -> str:
        """Label of the candidate model that proposed the point."""
        return str(self._optimizer.history_[-1]["model_label"])

    @property
    def history(self) -> list[dict[str, Any]]:
        """The optimizer's records."""
        return list(self._optimizer.history_)


class PolicyMethod(OptimizerMethod):
    """One of the package's policies, by name, with settings or without."""

    def __init__(self, policy: str, setup: Setup):
        from skrobustbo import policies

        name, given = split_method(policy)
        settings, n_initial = split_settings(given)
        made = policies.make_policy(name, **{**_known(name, setup), **settings})
        super().__init__(made, replace(setup, initial=setup.initial[:n_initial]))


def _known(policy: str, setup: Setup) -> dict[str, Any]:
    """Return the settings of a policy that follow from what a problem tells of itself.

    Where a paper gives its algorithms the candidate models, policies that choose among
    candidates get them, and one beta, as their defaults differ; where it gives the true
    model of a changing objective, all do, with the noise, in raw units and with one
    logarithmic beta.
    """
    from skrobustbo import policies

    names = policies.available()[policy]().get_params(deep=False)
    if setup.candidates is None:
        return {}
    if setup.varies:
        known = {
            "kernel": setup.candidates[0].kernel,
            "noise": setup.noise_std,
            "normalize_y": False,
            "beta": "log",
            "repeats": True,
        }
        return {name: value for name, value in known.items() if name in names}
    if len(setup.candidates) == 1 or "candidates" not in names:
        return {}
    return {"candidates": setup.candidates, "beta": 2.0}


class SobolMethod(Method):
    """A scrambled Sobol sequence after the initial design: space filling, no model."""

    def __init__(self, setup: Setup):
        n_free = setup.n_iter - len(setup.initial)
        free = starts(setup.space, n_free, setup.seed) if n_free else []
        self._n_initial = len(setup.initial)
        self._points = [*setup.initial, *free]
        self._n_told = 0

    def ask(self) -> Params:
        """Return the next point of the sequence."""
        return self._points[self._n_told]

    def tell(self, params: Params, value: float) -> None:
        """Move on."""
        self._n_told += 1

    @property
    def label(self) -> str:
        """Either "initial" or "sobol"."""
        return "initial" if self._n_told <= self._n_initial else "sobol"


#: Methods that are not policies of the package.
BASELINES: dict[str, Callable[[Setup], Method]] = {"sobol": SobolMethod}


def available() -> list[str]:
    """Return the names that `make_method` knows: policies, baselines and peers."""
    from skrobustbo import policies

    return sorted({*policies.available(), *BASELINES, *PEERS})


def make_method(name: str, setup: Setup) -> Method:
    """Return a new method for one run; CommandError for a peer that is missing."""
    if name in PEERS:
        return make_peer(name, setup)
    baseline = BASELINES.get(name)
    return PolicyMethod(name, setup) if baseline is None else baseline(setup)
