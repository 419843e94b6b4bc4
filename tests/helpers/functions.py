"""Objectives shared by several tests."""

import math
from dataclasses import dataclass

import numpy as np

from skrobustbo import Real


def berkenkamp(params):
    """A slope, and a narrow peak at 0.2 that is slightly higher."""
    x = params["x"]
    peak = math.exp(-0.5 * ((x - 0.2) / 0.08) ** 2) / (0.08 * math.sqrt(2 * math.pi))
    return 0.6 * x + peak / 8


#: Its largest value.
BERKENKAMP = 0.7451981532422828


def starts_on_the_slope(seed, n=3):
    """Return points that do not reveal the peak."""
    rng = np.random.default_rng(seed)
    return [{"x": float(x)} for x in rng.uniform(0.5, 1.0, n)]


@dataclass
class LearningCurves:
    """Six hills in two dimensions, seen with part of a resource of 81 units.

    Below half of the resource, values of the kind "reversed" have the wrong sign, and
    those of the kind "unrelated" come from other hills.
    """

    kind: str = "agreeing"
    seed: int = 0
    width: float = 0.25

    def __post_init__(self):
        self.space = {"x1": Real(0, 1), "x2": Real(0, 1)}
        rng = np.random.default_rng([0x1C, self.seed])
        self._full, self._other = (self._drawn(rng) for _ in range(2))

    @staticmethod
    def _drawn(rng):
        return np.append(1.0, 0.9 * rng.random(5)), rng.random((6, 2))

    def _height(self, x, heights, centres):
        away = ((x - centres) ** 2).mean(axis=1)
        return float((heights - away / self.width**2).max())

    def value(self, params, amount):
        """Return the value with an amount of the resource."""
        x, share = np.array([params["x1"], params["x2"]]), amount / 81
        missing = 0.05 * (1 / math.sqrt(share) - 1) * (0.5 + float(x.mean()))
        if share >= 0.5 or self.kind == "agreeing":
            limit = self._height(x, *self._full)
        elif self.kind == "reversed":
            limit = -self._height(x, *self._full)
        else:
            limit = self._height(x, *self._other)
        return limit - missing
