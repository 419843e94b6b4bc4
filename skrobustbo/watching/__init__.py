"""`python -m skrobustbo watch`: watch a running search from another terminal."""

from skrobustbo.watching._command import main

__all__ = ["main"]
