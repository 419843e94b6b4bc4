"""Gaussian process surrogates that can be updated row by row."""

from skrobustbo.kernels import (
    AdditiveKernel,
    EmpiricalKernel,
    ForgettingKernel,
    SubsetKernel,
    WienerKernel,
)
from skrobustbo.surrogate._cholesky import NUMERICAL as NUMERICAL
from skrobustbo.surrogate._factor_cache import FactorCache
from skrobustbo.surrogate._gpr import IncrementalGPR
from skrobustbo.surrogate._models import Models, View
from skrobustbo.surrogate._posterior import Candidate, Posterior
from skrobustbo.surrogate._posterior import ReferencePoints as ReferencePoints
from skrobustbo.surrogate._priors import FlatPrior, GammaPrior, LogNormalPrior, Prior

__all__ = [
    "AdditiveKernel",
    "Candidate",
    "EmpiricalKernel",
    "FactorCache",
    "FlatPrior",
    "ForgettingKernel",
    "GammaPrior",
    "IncrementalGPR",
    "LogNormalPrior",
    "Models",
    "Posterior",
    "Prior",
    "SubsetKernel",
    "View",
    "WienerKernel",
]
