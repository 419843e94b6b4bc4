"""Functions for models that are defined by their length scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._arrays import Array
from skrobustbo._forms import Positive, has_form
from skrobustbo._trials import Survivor
from skrobustbo.kernels import with_length_scale
from skrobustbo.surrogate import Candidate, FlatPrior, LogNormalPrior, Models, Posterior

#: Candidate models as given by the user.
Given = Sequence[Kernel | Candidate]
#: Number of default candidates, each with half the length scale of the previous one.
HALVES = 5
#: Range of length scales in likelihood fits, in unit-cube coordinates.
LENGTH_SCALE_BOUNDS = (0.005, 20.0)
#: Starting length scales of fits and chains.
STARTS = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


def theta_label(theta: Any) -> str:
    """Return the label of a model with one or several length scales."""
    values = np.atleast_1d(np.asarray(theta, dtype=float))
    text = ",".join(f"{value:.3g}" for value in values)
    return f"theta={text}" if len(values) == 1 else f"theta=({text})"


@dataclass(frozen=True, eq=False)
class LengthScaleCandidate(Candidate):
    """A model that is identified by its length scales.

    Parameters
    ----------
    length_scales : tuple of float
        One length scale for all parameters or one per parameter, in unit-cube
        coordinates.
    divisor : float, default=None
        Number by which an estimate was divided, or None if there was no division.
    """

    length_scales: tuple[float, ...] = ()
    divisor: float | None = None


def length_scale_candidate(
    kernel: Kernel, columns: Any, theta: Any = None, **others: Any
) -> Candidate:
    """Return a model with the length scales of `kernel` multiplied by `columns`.

    The factors in `columns` apply to all encoded columns or to one column each. The
    model is identified by `theta`, which contains one length scale per parameter and
    defaults to `columns`. Other keyword arguments set fields of the candidate.
    """
    theta = np.ravel(columns if theta is None else theta)
    fields = {"label": theta_label(theta), **others}
    scales = tuple(theta.tolist())
    return LengthScaleCandidate(
        with_length_scale(kernel, columns), length_scales=scales, **fields
    )


def candidate_models(given: Given) -> list[Candidate]:
    """Return the given candidates.

    Duplicate labels are numbered, because a label does not include the prior mean.
    """
    models = [c if isinstance(c, Candidate) else Candidate(c) for c in given]
    labels = numbered([model.label for model in models])
    return [
        model if model.label == label else replace(model, label=label)
        for model, label in zip(models, labels, strict=True)
    ]


def numbered(labels: Sequence[str]) -> list[str]:
    """Return the labels, with a number appended to each duplicate."""
    return [
        f"{label} #{i + 1}" if labels.count(label) > 1 else label
        for i, label in enumerate(labels)
    ]


def estimated_model(policy: Any, models: Models, theta: Any) -> Candidate:
    """Return the model with a single estimated length scale or one per parameter."""
    columns = models.spread(np.asarray(theta)) if policy.anisotropic else theta[0]
    return length_scale_candidate(policy.base_kernel(), columns, theta)


def named(candidates: Iterable[Candidate]) -> list[Survivor]:
    """Return the names and length scales of the candidates."""
    return [
        Survivor(label=u.label, length_scales=length_scales_of(u)) for u in candidates
    ]


def estimated(theta: list[float]) -> list[Survivor]:
    """Return the name of the estimated model, if there is an estimate."""
    return [Survivor(label=theta_label(theta), length_scales=theta)] if theta else []


def length_scales_of(candidate: Candidate) -> list[float] | None:
    """Return the length scales that identify a model, or None if it has none."""
    if isinstance(candidate, LengthScaleCandidate):
        return list(candidate.length_scales)
    return None


def metadata_of(
    models: Models, posterior: Posterior, x: Array, **extra: Any
) -> dict[str, Any]:
    """Return metadata with the name and prediction of the model that chose `x`."""
    mu, sigma = posterior.predict(x[None, :])
    return {
        "label": posterior.candidate.label,
        "length_scales": length_scales_of(posterior.candidate),
        "divisor": getattr(posterior.candidate, "divisor", None),
        "mean": float(mu[0]) * models.scale + models.shift,
        "std": float(sigma[0]) * models.scale,
        **extra,
    }


def is_usable(model: Candidate) -> bool:
    """Return whether the length scales and norm bound of a model are valid."""
    scales = np.ravel(getattr(model.kernel, "length_scale", 1.0)).tolist()
    return all(has_form(value, Positive) for value in (*scales, model.norm_bound))


def initial_length_scale(kernel: Kernel, longest: float, models: Models) -> float:
    """Return the maximum likelihood length scale for the initial design.

    The estimate is at most `longest`, the diameter of the space, because it could
    become extremely long if a few points lie almost on a line. If the points are far
    apart, short length scales may be equally likely. In this case, the longest one is
    returned.
    """
    bounds = LENGTH_SCALE_BOUNDS[0], longest
    starts = [longest * 2.0**-i for i in range(7)]
    return float(models.fit(kernel, FlatPrior(), bounds, starts, ties="longest")[0])


def map_length_scales(
    kernel: Kernel,
    models: Models,
    start: Sequence[float] | None = None,
    prior: Any = None,
) -> Array:
    """Return MAP length scales, by default under a wide log-normal prior."""
    prior = LogNormalPrior() if prior is None else prior
    starts = [0.5 if start is None else np.asarray(start)]
    return models.fit(kernel, prior, LENGTH_SCALE_BOUNDS, starts, per_parameter=True)
