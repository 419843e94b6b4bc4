"""Expected gain of a few more evaluations, from models of the whole space."""

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
    """One model's expectations for a branch, in units of the objective.

    Attributes
    ----------
    best : array of shape (DRAWS,)
        Draws of the value at the evaluated point with the highest mean; minus infinity
        if all evaluations failed.
    found : array of shape (DRAWS,)
        From the same draws, the highest value among the chosen points; minus infinity
        if there are none.
    """

    best: Array
    found: Array


def outlook(posterior: Posterior, models: Models, X: Array, normals: Array) -> Outlook:
    """Return a model's expectations for points chosen by Thompson sampling.

    Each chosen point maximises one joint draw from the model. Its value, without noise,
    comes from separate draws.

    Parameters
    ----------
    posterior : Posterior
        The model.
    models : Models
        The surrogate of all told points.
    X : array of shape (m, n_columns)
        Points that have not been told.
    normals : array of shape (m + 1, DRAWS + n)
        Independent standard normal numbers, to choose `n` points.
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
    """Return an upper bound on the expected rise of the best value.

    Each branch is judged by its least favourable model, and the gains of the branches
    are added. The value that a branch has reached is the lowest that any of its models
    gives.
    """
    reached = [min(float(each.best.mean()) for each in models) for models in branches]
    total = 0.0
    for i, models in enumerate(branches):
        others = max([*reached[:i], *reached[i + 1 :]], default=-np.inf)
        gains = [each.found - np.maximum(each.best, others) for each in models]
        total += max(float(np.maximum(gain, 0.0).mean()) for gain in gains)
    return total
