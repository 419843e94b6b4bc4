"""The interface of a policy, and what most policies share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel, Matern

from skrobustbo.acquisition import Acquisition
from skrobustbo.kernels import with_length_scale
from skrobustbo.policies._beta import check_beta, gain_of, resolve_beta
from skrobustbo.surrogate import (
    Candidate,
    FlatPrior,
    LogNormalPrior,
    Models,
    Posterior,
)

Array = NDArray[np.float64]
Memo = dict[str, Any]

#: Length scales, in unit-cube coordinates, that likelihood fits may return.
LENGTH_SCALE_BOUNDS = (0.005, 20.0)


class Argmax(Protocol):
    """The maximiser handed to a policy."""

    def __call__(self, acq: Acquisition, *, inner: bool = False) -> tuple[Array, float]:
        """Return the feasible point of highest value, and the value."""
        ...

    def random(self) -> Array:
        """Return a free random draw of a feasible point."""
        ...

    def free(self, x: Array) -> bool:
        """Return whether a feasible point may still be proposed."""
        ...


class Told(Protocol):
    """The history as a policy sees it."""

    @property
    def values(self) -> Array:
        """Raw values of the told points, nan where the evaluation failed."""
        ...


@dataclass(frozen=True)
class Setup:
    """What a policy is told about the problem once.

    Attributes
    ----------
    n_parameters : int
        Number of parameters that vary: the dimension d of the papers.
    horizon : int or None
        Evaluations planned in all, if known.
    n_points : int or None
        Number of feasible points, None if there are infinitely many.
    """

    n_parameters: int
    horizon: int | None = None
    n_points: int | None = None

    @property
    def diameter(self) -> float:
        """Diameter of the unit cube."""
        return math.sqrt(self.n_parameters)


@dataclass
class Stateless:
    """The state of a policy that has none."""


class Policy(BaseEstimator):
    """Base class of policies: how the next point is chosen.

    A policy object holds settings only. `start` gives its run-time state, plain data
    of JSON types; `suggest` proposes a point and a memo, without changing the state;
    `learn` changes the state once the value of that point is in the history. Memos may
    come back in any order, and never for points that fail to be evaluated at all.

    A policy never maximises, factorises or owns a random generator: `suggest` is handed
    the models and the maximiser.
    """

    #: Class of the run-time state: a dataclass of JSON types.
    state_type: ClassVar[type] = Stateless

    # Settings that subclasses without them inherit as constants.
    kernel: Kernel | None = None
    #: Whether a point told before may be asked again.
    repeats: bool = False
    noise: float = 0.01
    normalize_y: bool | tuple[float, float] = True

    def start(self, setup: Setup, models: Models) -> Any:
        """Return the state before the first proposal.

        Parameters
        ----------
        setup : Setup
            The problem's dimension and horizon.
        models : Models
            The surrogate on the initial design.
        """
        return self.state_type()

    def suggest(
        self, state: Any, models: Models, argmax: Argmax, pending: Sequence[Memo]
    ) -> tuple[Array, Memo]:
        """Return the point to evaluate next, encoded, and a memo.

        Parameters
        ----------
        state : object
            What `start` gave; not to be changed here.
        models : Models
            The surrogate on all told points.
        argmax : callable
            Maximises an acquisition function over the feasible points.
        pending : list of dict
            Memos of the points asked and not yet told.

        Returns
        -------
        x : array of shape (n_columns,)
        memo : dict
            In JSON types; `label` names the model, `mean` and `std` are its prediction
            in units of the objective.
        """
        raise NotImplementedError

    def learn(self, state: Any, memo: Memo, history: Told) -> bool | None:
        """Update the state: the last value of `history` is that of the memo's point.

        Returns
        -------
        reset : bool or None
            True if what was told before this value is forgotten from now on.
        """
        return None

    def recommend(self, state: Any, models: Models, history: Told) -> Array:
        """Return the point to deploy, encoded: the told one of best MAP mean.

        `state` is None while the initial design goes on.
        """
        mu, _ = map_posterior(self, models).predict(models.X)
        mu[~np.isfinite(history.values)] = -np.inf
        x: Array = models.X[int(np.argmax(mu))]
        return x

    def alive(self, state: Any) -> list[str]:
        """Return the labels of the candidate models that survive."""
        return []

    def oldest(self, state: Any, n: int) -> int:
        """Return the index of the oldest of `n` told values that is remembered."""
        return 0

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        check_noise(self.noise, self.normalize_y)

    # What the model sees of the values ------------------------------------------------

    def targets(self, values: Array) -> tuple[Array, float, float]:
        """Return the values as the model sees them, and their shift and scale.

        Failed evaluations enter as the worst value seen.
        """
        finite = values[np.isfinite(values)]
        shift, scale = standardisation(finite, self.normalize_y)
        worst = finite.min() if len(finite) else shift
        z = (np.where(np.isfinite(values), values, worst) - shift) / scale
        return z, shift, scale

    def base_kernel(self) -> Kernel:
        """Return the kernel setting, Matern-5/2 with length scale 1 by default."""
        return Matern(nu=2.5) if self.kernel is None else self.kernel


def check_noise(noise: Any, normalize_y: Any) -> None:
    """Raise a ValueError for a noise or a normalisation out of range."""
    if isinstance(noise, bool) or not isinstance(noise, int | float) or not noise > 0:
        raise ValueError(
            f"The 'noise' of a policy must be a positive number. Got {noise!r} "
            "instead; use a small one, such as 1e-3, where there is none."
        )
    pair = isinstance(normalize_y, tuple | list) and len(normalize_y) == 2
    if not isinstance(normalize_y, bool) and not (pair and normalize_y[1] > 0):
        raise ValueError(
            "The 'normalize_y' of a policy must be True, False or a pair of a mean and "
            f"a positive scale. Got {normalize_y!r} instead."
        )


def standardisation(
    finite: Array, normalize_y: bool | tuple[float, float]
) -> tuple[float, float]:
    """Return the shift and scale of the model's units."""
    if isinstance(normalize_y, tuple | list):
        return float(normalize_y[0]), float(normalize_y[1])
    if not normalize_y or not len(finite):
        return 0.0, 1.0
    # Divided first, so that values near the largest float do not overflow.
    size = float(np.abs(finite).max()) or 1.0
    scale = float(np.std(finite / size)) * size
    return float(np.mean(finite / size)) * size, scale or 1.0


def theta_label(theta: Any) -> str:
    """Return the label of a model of one or several length scales."""
    values = np.atleast_1d(np.asarray(theta, dtype=float))
    text = ",".join(f"{value:.3g}" for value in values)
    return f"theta={text}" if len(values) == 1 else f"theta=({text})"


def length_scale_candidate(kernel: Kernel, theta: Any, label: str = "") -> Candidate:
    """Return the model with every length scale of `kernel` multiplied by `theta`."""
    return Candidate(
        with_length_scale(kernel, theta), label=label or theta_label(theta)
    )


def note(models: Models, posterior: Posterior, x: Array, **extra: Any) -> Memo:
    """Return a memo with the label and prediction of the model that chose `x`."""
    mu, sigma = posterior.predict(x[None, :])
    return {
        "label": posterior.candidate.label,
        "mean": float(mu[0]) * models.scale + models.shift,
        "std": float(sigma[0]) * models.scale,
        **extra,
    }


def initial_length_scale(kernel: Kernel, setup: Setup, models: Models) -> float:
    """Return the maximum likelihood length scale on the initial design.

    A few almost collinear points would make it absurdly long, so it is bounded by the
    diameter of the space.
    """
    low, high = LENGTH_SCALE_BOUNDS[0], setup.diameter
    starts = [high * 2.0**-i for i in range(7)]
    return float(models.fit(kernel, FlatPrior(), (low, high), starts)[0])


def map_length_scales(
    kernel: Kernel,
    models: Models,
    start: Sequence[float] | None = None,
    prior: Any = None,
) -> Array:
    """Return the MAP length scale of each parameter, under a wide log-normal prior."""
    prior = LogNormalPrior() if prior is None else prior
    starts = [0.5 if start is None else np.asarray(start)]
    return models.fit(kernel, prior, LENGTH_SCALE_BOUNDS, starts, per_parameter=True)


def map_posterior(policy: Policy, models: Models) -> Posterior:
    """Return the posterior of a MAP model on all the data, whatever the policy."""
    kernel = policy.base_kernel()
    theta = map_length_scales(kernel, models)
    return models[length_scale_candidate(kernel, models.spread(theta))]


class UCBPolicy(Policy):
    """What the policies that maximise an upper confidence bound share: their beta."""

    beta: float | str = 1.0
    delta: float = 0.1
    information_gain: str = "posterior"

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        check_beta(self.beta, self.information_gain, self.delta)

    def gain_of(self, posterior: Posterior, n_parameters: int) -> float:
        """Return the information gain of the told points, as the schedules get it."""
        return gain_of(self.information_gain, posterior, n_parameters)

    def beta_of(
        self,
        posterior: Posterior,
        n_parameters: int,
        t: int,
        share: float = 1.0,
        n_points: int | None = None,
    ) -> float:
        """Return beta at query `t` for one model; `share` of delta goes to its band.

        `n_points` is the size of a finite space; without it the posterior's own counts.
        """
        return resolve_beta(
            self.beta,
            t=t,
            posterior=posterior,
            n_parameters=n_parameters,
            delta=self.delta * share,
            information_gain=self.information_gain,
            n_points=n_points,
        )
