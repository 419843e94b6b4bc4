"""What every test problem offers, and the designs that it may start from."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skrobustbo.space import Space
from skrobustbo.surrogate import Candidate
from skrobustbo_benchmarks._starts import starts

Array: TypeAlias = NDArray[np.float64]
Params: TypeAlias = dict[str, Any]
#: Where data are looked for first, as the functions of `datasets` take it.
Home: TypeAlias = str | os.PathLike[str] | None

#: Sets the stream of a problem's initial design apart from other uses of the seed.
_DESIGN_STREAM = 0x1D


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource of which an evaluation may get a part: epochs, rows, trees.

    Parameters
    ----------
    name : str
        Name of the resource.
    low, high : int
        The smallest and the full amount.
    value : callable
        ``value(params, amount) -> float``, the objective with an amount of the
        resource. Larger is better.
    cost : callable
        ``cost(params, amount) -> float``, the cost of this evaluation. `Problem.source`
        or the problem's docstring gives the unit.

    Examples
    --------
    >>> from skrobustbo_benchmarks import problems
    >>> problem = problems.get("learning-curves")
    >>> units, params = problem.resource, {"x1": 0.2, "x2": 0.4, "x3": 0.6}
    >>> units.name, units.low, units.high
    ('units', 1, 81)
    >>> units.value(params, 9) < units.value(params, 81) == problem.func(params)
    True
    >>> units.cost(params, 9)
    9.0
    """

    name: str
    low: int
    high: int
    value: Callable[[Mapping[str, Any], float], float] = field(repr=False)
    cost: Callable[[Mapping[str, Any], float], float] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A function to maximise, together with what is known about it.

    Parameters
    ----------
    name : str
        Name of the problem in `skrobustbo_benchmarks.problems.get`.
    space : Space
        Domain.
    func : callable
        ``func(params) -> float``, the objective **without noise**; larger is better. If
        it changes over time, ``func(params, t)`` at the t-th evaluation, t = 1, 2, ...
        Its value depends on nothing else, and it is picklable.
    source : str
        Definition, units and origin in a sentence or two.
    optimum : float or None, default=None
        Largest value of `func` on `space`; None if it is not known, or if it changes
        over time (see `optimum_at`).
    optimum_params : dict or None, default=None
        A point of `space` (or one within its resolution) at which the optimum is
        reached; None if it is not known.
    best_known : float or None, default=None
        If the optimum is not known, the largest known value of `func`; the problem's
        docstring says how it was found.
    best_known_params : dict or None, default=None
        A point of `space` where `best_known` is reached.
    noise_std : float, default=0.0
        Standard deviation of the Gaussian noise of an observation, in units of `func`.
    stuck_below : float or None, default=None
        A run whose best value of `func` ends below this is stuck in the problem's trap;
        None if the problem has no trap.
    n_initial : int or None, default=None
        Number of initial points, if the source of the problem defines it.
    initial_design : callable or None, default=None
        ``initial_design(seed, n) -> list of n params dicts`` if the problem has its own
        design; the default is a scrambled Sobol sample.
    candidates : list of Candidate or None, default=None
        The models that the algorithms in the source choose from. A single one if they
        know the right model, None if they estimate it.
    true_candidate : int or None, default=None
        Index in `candidates` of the model that `func` comes from, or that the source
        calls the true one.
    sample_function : callable or None, default=None
        ``sample_function(seed) -> Problem`` if the problem is a distribution over
        functions: the same problem with the function of this seed. None if the problem
        is a single function.
    horizon : int or None, default=None
        Number of evaluations of a run in the source, for a function that changes over
        time. None if the function does not change.
    optimum_over_time : callable or None, default=None
        ``optimum_over_time(t) -> (value, params)``, the largest value of a function
        that changes over time, and the point at which it is reached.
    resource : Resource or None, default=None
        A resource of which an evaluation may get a part, with the objective and the
        cost for a part; `func` is the objective with all of it. None if there is none.

    Examples
    --------
    >>> from skrobustbo_benchmarks import problems
    >>> problem = problems.get("branin")
    >>> round(problem.func({"x1": 3.0, "x2": 2.0}), 4)
    -0.6445

    A distribution over functions, and a function that changes in time:

    >>> hills = problems.get("unknown-mean").sample_function(seed=5)
    >>> hills.candidates[hills.true_candidate].label
    'hill=4'
    >>> moving = problems.get("slow-change")
    >>> moving.func({"x": 0.3}, 1), round(moving.func({"x": 0.3}, 500), 4)
    (1.0, 0.1353)
    >>> moving.optimum_at(500)
    1.0
    """

    name: str
    space: Space
    func: Callable[..., float] = field(repr=False)
    source: str = field(repr=False)
    optimum: float | None = None
    optimum_params: Params | None = None
    best_known: float | None = None
    best_known_params: Params | None = None
    noise_std: float = 0.0
    stuck_below: float | None = None
    n_initial: int | None = None
    initial_design: Callable[[int, int], list[Params]] | None = field(
        default=None, repr=False
    )
    candidates: list[Candidate] | None = field(default=None, repr=False)
    true_candidate: int | None = field(default=None, repr=False)
    sample_function: Callable[[int], Problem] | None = field(default=None, repr=False)
    horizon: int | None = None
    optimum_over_time: Callable[[int], tuple[float, Params]] | None = field(
        default=None, repr=False
    )
    resource: Resource | None = None

    @property
    def varies(self) -> bool:
        """Whether the objective changes in time."""
        return self.horizon is not None

    def value_at(self, params: Mapping[str, Any], t: int | None = None) -> float:
        """Return the objective without noise at the t-th evaluation.

        With it, one loop works for problems that change over time and for those that do
        not.

        Parameters
        ----------
        params : dict
            A point of `space`.
        t : int or None, default=None
            Number of the evaluation, from 1; needed if the problem changes over time,
            and ignored otherwise.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If the problem changes over time and `t` is missing, or `t` is below 1.
        """
        if not self.varies:
            return self.func(params)
        return self.func(params, self._checked_time(t))

    def optimum_at(self, t: int) -> float | None:
        """Return the largest value of the objective at the t-th evaluation.

        It is `optimum` if the problem does not change over time, and None if it is not
        known.
        """
        if self.optimum_over_time is None:
            return self.optimum
        return self.optimum_over_time(self._checked_time(t))[0]

    def optimum_params_at(self, t: int) -> Params | None:
        """Return a point where `optimum_at` is reached, None where it is not known."""
        if self.optimum_over_time is None:
            return self.optimum_params
        return self.optimum_over_time(self._checked_time(t))[1]

    def _checked_time(self, t: int | None) -> int:
        if t is None:
            raise ValueError(
                f"The problem {self.name!r} changes in time: give the number 't' of "
                "the evaluation, from 1."
            )
        return at_least("t", t, 1)

    def observe(
        self, params: Mapping[str, Any], rng: np.random.Generator, t: int | None = None
    ) -> float:
        """Evaluate the objective once, noise included.

        Parameters
        ----------
        params : dict
            A point of `space`.
        rng : numpy.random.Generator
            Source of the noise. It is used only if `noise_std` is positive.
        t : int or None, default=None
            Number of the evaluation, from 1; needed if the problem changes over time.

        Returns
        -------
        float
            The value of `func` plus Gaussian noise with standard deviation `noise_std`.
        """
        value = self.value_at(params, t)
        if self.noise_std:
            value += self.noise_std * float(rng.standard_normal())
        return value

    def initial_params(self, seed: int, n: int | None = None) -> list[Params]:
        """Return the initial design of a seed, the same for every method.

        Parameters
        ----------
        seed : int
            Non-negative. Equal seeds give equal designs.
        n : int or None, default=None
            Number of points. None: `n_initial`, or 2 d + 2 in d parameters if the
            problem does not define it.

        Returns
        -------
        list of dict
            `n` points of `space`.

        Raises
        ------
        ValueError
            If `seed` is negative or `n` is not positive.
        """
        seed = at_least("seed", seed, 0)
        default = self.n_initial or 2 * len(self.space.names) + 2
        count = default if n is None else at_least("n", n, 1)
        if self.initial_design is not None:
            return self.initial_design(seed, count)
        return starts(self.space, count, design_seed(seed))


def uniform_design(space: Space, seed: int, n: int) -> list[Params]:
    """Return `n` independent uniform points of `space`."""
    rng = np.random.default_rng(design_seed(seed))
    return space.decode_many(space.from_uniform(rng.random((n, space.n_uniform))))


def design_seed(seed: int) -> int:
    """Return the seed of the initial design that belongs to a run's `seed`.

    It differs from `seed`. Otherwise, a method that starts its own Sobol sequence from
    the run's seed would visit the initial points again.
    """
    sequence = np.random.SeedSequence([seed, _DESIGN_STREAM])
    return int(sequence.generate_state(1)[0])


@dataclass(frozen=True)
class OfVector:
    """The formula of a vector of the named parameters as an objective (picklable)."""

    formula: Callable[[Array], float]
    names: tuple[str, ...]

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the value at `params`."""
        return float(self.formula(np.array([params[name] for name in self.names])))


def at_least(name: str, value: int, low: int) -> int:
    """Return `value` as an int, or say that it must be one and at least `low`."""
    if (number := operator.index(value)) < low:
        raise ValueError(
            f"{name!r} must be an integer >= {low}. Got {value!r} instead."
        )
    return number
