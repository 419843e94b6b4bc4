"""`maximize` and `minimize`: the whole loop in one call."""

from skrobustbo.functional._functional import maximize, minimize

__all__ = ["maximize", "minimize"]
