"""Expected gain of further evaluations, from models of the whole space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skrobustbo.surrogate import Models, Posterior

Array = NDArray[np.float64]

#: Number of draws per average, and largest number of points in a draw.
DRAWS, MOST_POINTS = 256, 512


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
