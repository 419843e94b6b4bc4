"""Data sets of the examples and benchmarks, found on disk or downloaded and checked."""

from skrobustbo.datasets._mnist import fetch_mnist

__all__ = ["fetch_mnist"]
