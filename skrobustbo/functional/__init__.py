"""Functions that maximise or minimise an objective in a single call."""

from skrobustbo.functional._functional import maximize, minimize

__all__ = ["maximize", "minimize"]
