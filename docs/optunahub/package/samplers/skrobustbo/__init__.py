"""The sampler of skrobustbo, for OptunaHub."""

from skrobustbo.integrations.optuna import RobustSampler

__all__ = ["RobustSampler"]
