"""Models by their length scales: labels, estimates, and memos of what they predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._forms import Positive, has_form
from skrobustbo.kernels import with_length_scale
from skrobustbo.policies._interface import Array, Memo, Setup
from skrobustbo.surrogate import (
    Candidate,
    FlatPrior,
    LogNormalPrior,
    Models,
    Posterior,
)

#: Length scales, in unit-cube coordinates, that likelihood fits may return.
LENGTH_SCALE_BOUNDS = (0.005, 20.0)


def theta_label(theta: Any) -> str:
    """Return the label of a model of one or several length scales."""
    values = np.atleast_1d(np.asarray(theta, dtype=float))
    text = ",".join(f"{value:.3g}" for value in values)
    return f"theta={text}" if len(values) == 1 else f"theta=({text})"


def length_scale_candidate(
    kernel: Kernel, theta: Any, label: str = "", noise: float | None = None
) -> Candidate:
    """Return the model with every length scale of `kernel` multiplied by `theta`."""
    return Candidate(
        with_length_scale(kernel, theta),
        label=label or theta_label(theta),
        noise=noise,
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


def is_usable(model: Candidate) -> bool:
    """Tell whether a model's length scales and norm bound are within reason."""
    scales = np.ravel(getattr(model.kernel, "length_scale", 1.0)).tolist()
    return all(has_form(value, Positive) for value in (*scales, model.norm_bound))


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
