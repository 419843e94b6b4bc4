"""Kernels: those of the papers, and gradients and length scales of any kernel."""

from skrobustbo.kernels._empirical import EmpiricalKernel
from skrobustbo.kernels._gradients import (
    diag_gradient,
    kernel_and_gradient,
    with_length_scale,
)
from skrobustbo.kernels._radial import radial, smoothness
from skrobustbo.kernels._structured import AdditiveKernel, SubsetKernel
from skrobustbo.kernels._time import ForgettingKernel, WienerKernel

__all__ = [
    "AdditiveKernel",
    "EmpiricalKernel",
    "ForgettingKernel",
    "SubsetKernel",
    "WienerKernel",
    "diag_gradient",
    "kernel_and_gradient",
    "radial",
    "smoothness",
    "with_length_scale",
]
