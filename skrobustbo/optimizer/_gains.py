"""How much a search may still gain: an upper bound and an expected value."""

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

#: Number of draws per average, and largest number of points in a draw.
DRAWS, MOST_POINTS = 256, 512

# An upper bound ----------------------------------------------------------------------


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
    calibrated: bool,
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
    calibrated : bool
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


# An expected value -------------------------------------------------------------------


@dataclass(frozen=True)
class Outlook:
    """Draws from one model of a branch, in units of the objective.

    Attributes
    ----------
    best : array of shape (DRAWS,)
        Draws of the value at the evaluated point with the highest mean, or minus
        infinity if all evaluations failed.
    found : array of shape (DRAWS,)
        The highest value among the chosen points in each of these draws, or minus
        infinity if there are no such points.
    """

    best: Array
    found: Array


def outlook(posterior: Posterior, models: Models, X: Array, normals: Array) -> Outlook:
    """Return draws from a model at points chosen by Thompson sampling.

    Each chosen point maximises one joint draw from the model. The noise-free values at
    the chosen points come from separate draws.

    Parameters
    ----------
    posterior : Posterior
        The model.
    models : Models
        The surrogate of all evaluated points.
    X : array of shape (m, n_columns)
        Points without an observed value.
    normals : array of shape (m + 1, DRAWS + n)
        Independent standard normal numbers. The last `n` columns determine the points.
    """
    means = np.where(models.measured, posterior.told_means, -np.inf)
    top = posterior.X[[int(means.argmax())]]
    drawn = posterior.draws(np.concatenate([top, X]), normals)
    drawn = drawn * models.scale + models.shift
    best, others = drawn[0, :DRAWS], drawn[1:]
    chosen = others[:, DRAWS:].argmax(axis=0) if len(X) else []
    found = others[chosen, :DRAWS].max(axis=0, initial=-np.inf)
    return Outlook(best if models.measured.any() else np.full(DRAWS, -np.inf), found)


def expected_gain(branches: Sequence[Sequence[Outlook]]) -> float:
    """Return an upper bound on the expected increase of the best value.

    The gain of a branch is the largest gain that any of its models expects, and the
    gains of all branches are added. The value reached in a branch is the lowest
    estimate of its models.
    """
    reached = [min(float(each.best.mean()) for each in models) for models in branches]
    total = 0.0
    for i, models in enumerate(branches):
        others = max([*reached[:i], *reached[i + 1 :]], default=-np.inf)
        gains = [each.found - np.maximum(each.best, others) for each in models]
        total += max(float(np.maximum(gain, 0.0).mean()) for gain in gains)
    return total
