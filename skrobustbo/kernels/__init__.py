"""Kernels for Gaussian processes, and tools for gradients and length scales."""

from skrobustbo.kernels._empirical import EmpiricalKernel
from skrobustbo.kernels._gradients import by_differences as by_differences
from skrobustbo.kernels._gradients import (
    diag_gradient,
    kernel_and_gradient,
    with_length_scale,
)
from skrobustbo.kernels._gradients import kernel_and_slopes as kernel_and_slopes
from skrobustbo.kernels._gradients import length_scales as length_scales
from skrobustbo.kernels._radial import NominalKernel as NominalKernel
from skrobustbo.kernels._radial import differ as differ
from skrobustbo.kernels._radial import radial, smoothness
from skrobustbo.kernels._radial import with_nominal as with_nominal
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
