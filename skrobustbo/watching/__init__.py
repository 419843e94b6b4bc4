"""Command `python -m skrobustbo watch`, which shows a running search."""

from skrobustbo.watching._command import main

__all__ = ["main"]
