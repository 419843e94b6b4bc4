"""What every test problem offers, and the error for a name that does not exist."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skrobustbo.space import Space

Params: TypeAlias = dict[str, Any]

#: Sets the stream of a problem's initial design apart from other uses of the seed.
_DESIGN_STREAM = 0x1D


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A function to be maximised, with what is known about it.

    Parameters
    ----------
    name : str
        Name under which `skrobustbo.problems.get` knows the problem.
    space : Space
        Domain.
    func : callable
        ``func(params) -> float``, the objective **without noise**, larger is better. It
        is a pure function of `params`, and picklable.
    source : str
        Definition, units and origin in a sentence or two.
    optimum : float or None, default=None
        Largest value of `func` on `space`; None where it is not known.
    optimum_params : dict or None, default=None
        A point of `space` (or beside it by less than its resolution) where the optimum
        is reached; None where it is not known.
    noise_std : float, default=0.0
        Standard deviation of the Gaussian noise of an observation, in units of `func`.
    stuck_below : float or None, default=None
        A run whose best value of `func` ends below this has been caught in the
        problem's trap; None where the problem has none.
    n_initial : int or None, default=None
        Number of initial points that belongs to the problem, where its source fixes it.
    initial_design : callable or None, default=None
        ``initial_design(seed, n) -> list of n params dicts`` where the problem has a
        design of its own; the default is a scrambled Sobol sample.

    Examples
    --------
    >>> from skrobustbo import problems
    >>> problem = problems.get("branin")
    >>> round(problem.func({"x1": 3.0, "x2": 2.0}), 4)
    -0.6445
    """

    name: str
    space: Space
    func: Callable[[Mapping[str, Any]], float] = field(repr=False)
    source: str = field(repr=False)
    optimum: float | None = None
    optimum_params: Params | None = None
    noise_std: float = 0.0
    stuck_below: float | None = None
    n_initial: int | None = None
    initial_design: Callable[[int, int], list[Params]] | None = field(
        default=None, repr=False
    )

    def observe(self, params: Mapping[str, Any], rng: np.random.Generator) -> float:
        """Evaluate the objective once, noise included.

        Parameters
        ----------
        params : dict
            A point of `space`.
        rng : numpy.random.Generator
            Source of the noise. It is drawn from only if `noise_std` is positive.

        Returns
        -------
        float
            ``func(params)`` plus Gaussian noise of deviation `noise_std`.
        """
        value = self.func(params)
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
            Number of points; None takes `n_initial`, or 2 d + 2 in d parameters where
            the problem does not fix it.

        Returns
        -------
        list of dict
            `n` points of `space`.

        Raises
        ------
        ValueError
            If `seed` is negative or `n` is not positive.
        """
        seed = _at_least("seed", seed, 0)
        count = self._default_count() if n is None else _at_least("n", n, 1)
        if self.initial_design is not None:
            return self.initial_design(seed, count)
        return sobol_design(self.space, seed, count)

    def _default_count(self) -> int:
        return self.n_initial or 2 * len(self.space.names) + 2


def sobol_design(space: Space, seed: int, n: int) -> list[Params]:
    """Return `n` points of a scrambled Sobol sequence on `space`."""
    return list(space.sample(n, design_seed(seed)))


def design_seed(seed: int) -> int:
    """Return the seed of the initial design that belongs to a run's `seed`.

    It differs from `seed`, lest a method that starts its own Sobol sequence from the
    run's seed walks over the initial points once more.
    """
    sequence = np.random.SeedSequence([seed, _DESIGN_STREAM])
    return int(sequence.generate_state(1)[0])


@dataclass(frozen=True)
class OfVector:
    """A function of a vector as a function of a params dict (picklable).

    Parameters
    ----------
    formula : callable
        ``formula(x) -> float`` for `x` of shape (d,).
    names : tuple of str
        The parameters in the order of the vector.
    """

    formula: Callable[[NDArray[np.float64]], float]
    names: tuple[str, ...]

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the value at `params`."""
        return float(self.formula(np.array([params[name] for name in self.names])))


def _at_least(name: str, value: int, low: int) -> int:
    if (number := operator.index(value)) < low:
        raise ValueError(
            f"{name!r} must be an integer >= {low}. Got {value!r} instead."
        )
    return number
