"""Kernels: their gradients in x, and length scales inside composite kernels."""

from skrobustbo.kernels._gradients import (
    diag_gradient,
    kernel_and_gradient,
    radial,
    smoothness,
    with_length_scale,
)

__all__ = [
    "diag_gradient",
    "kernel_and_gradient",
    "radial",
    "smoothness",
    "with_length_scale",
]
