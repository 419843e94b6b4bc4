"""An upper bound on the remaining gain of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skrobustbo.acquisition import UCB
from skrobustbo.policies import (
    Argmax,
    bayes_continuous_beta,
    bayes_finite_beta,
    self_normalised_beta,
)
from skrobustbo.surrogate import Candidate, Models, Posterior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """Confidence limits from one model, in units of the objective.

    Attributes
    ----------
    upper : float
        Upper limit of the objective.
    lower : float
        Lower limit at the best evaluated point, or minus infinity if all evaluations
        failed.
    """

    upper: float
    lower: float


def bands(
    candidates: Sequence[Candidate],
    models: Models,
    argmax: Argmax,
    *,
    delta: float,
    norm_bounded: bool,
    calibrated: bool = False,
) -> list[Band]:
    """Return the confidence bands of the plausible models.

    Parameters
    ----------
    candidates : list of Candidate
        The plausible models.
    models : Models
        The surrogate of all evaluated points.
    argmax : callable
        Maximiser over all feasible points, including evaluated points.
    delta : float
        Probability that the objective leaves the band of the true model.
    norm_bounded : bool
        Whether to assume that the objective is within the norm bound of a model. If
        False, it is assumed to be drawn from the model.
    calibrated : bool, default=False
        Whether to widen the band of a model whose errors are larger than predicted.
    """
    found, told = [], np.isfinite(models.values)
    for candidate in candidates:
        posterior = models[candidate]
        if norm_bounded:  # a schedule that holds for any noise
            gain = posterior.information_gain
            beta = self_normalised_beta(candidate.norm_bound, gain, delta)
        else:
            beta = _bayes_beta(posterior, len(models.groups), delta)
        if calibrated:
            beta *= _widening(posterior.left_out_errors[models.measured])
        _, upper = argmax(UCB(posterior, beta), inner=True)
        lower = UCB(posterior, -beta)(models.X[told]).max(initial=-np.inf)
        units = [float(v) * models.scale + models.shift for v in (upper, lower)]
        found.append(Band(*units))
    return found


def regret_bound(branches: Sequence[Sequence[Band]]) -> float:
    """Return an upper bound on the gap between the maximum and the best value.

    The true model of each branch is unknown, so the bound is the largest over all
    models. The value reached in a branch is the smallest lower limit of its models.

    Returns
    -------
    bound : float
        Non-negative bound, in units of the objective.
    """
    safe = [min(band.lower for band in models) for models in branches]
    gaps = [
        band.upper - max([band.lower, *safe[:i], *safe[i + 1 :]])
        for i, models in enumerate(branches)
        for band in models
    ]
    return max(0.0, *gaps)


def _widening(errors: Array) -> float:
    """Return the factor by which to widen standard deviations.

    The factor is the root mean square of the standardised errors, but at least 1.
    """
    return max(1.0, float(np.sqrt(np.mean(errors**2)))) if len(errors) else 1.0


def _bayes_beta(posterior: Posterior, n_parameters: int, delta: float) -> float:
    """Return beta for an objective that is drawn from the model.

    The bound on the slope is the inverse of the shortest length scale, but at least 1.
    """
    t = posterior.n_told
    if posterior.n_points is not None:
        return bayes_finite_beta(posterior.n_points, t, delta)
    theta = getattr(posterior.candidate.kernel, "length_scale", 1.0)
    slope = max(1.0, 1 / float(np.min(theta)))
    return bayes_continuous_beta(n_parameters, t, delta, b=slope)
