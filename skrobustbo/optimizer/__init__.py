"""Ask and tell."""

from skrobustbo.optimizer._optimizer import Optimizer

__all__ = ["Optimizer"]
