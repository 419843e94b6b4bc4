"""`python -m skrobustbo watch`: a running search, seen from another terminal."""

from skrobustbo.watching._command import main

__all__ = ["main"]
