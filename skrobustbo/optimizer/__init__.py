"""Ask and tell, and the whole loop in one call."""

from skrobustbo.optimizer._functional import maximize, minimize
from skrobustbo.optimizer._optimizer import Optimizer

__all__ = ["Optimizer", "maximize", "minimize"]
