"""Regret balancing: whose turn it is, and who is eliminated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from skrobustbo.policies._interface import Array


class RegretBalancer:
    """The rule by which models, or branches of a space, share the evaluations.

    It is that of Ziomek, Adachi and Osborne (2024), whatever the candidates are: the
    one of least suspected regret after one more query asks next, and those that do
    worse than they promised are eliminated. Line numbers are those of `HBGPUCB`.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise, in the units that the model sees.
    delta : float
        Probability that the candidate of the optimum may be dropped by noise.
    least : int, default=1
        Queries, failed ones left out, before a candidate may be eliminated.
    """

    def __init__(self, noise: float, delta: float, least: int = 1) -> None:
        self.noise, self.delta, self.least = noise, delta, least

    @staticmethod
    def counts(members: Sequence[Sequence[int]], pending: Iterable[int]) -> list[int]:
        """Return for each candidate |S| + 1, queries under way counted."""
        n = [len(queries) + 1 for queries in members]  # line 3
        for candidate in pending:
            n[candidate] += 1
        return n

    @staticmethod
    def turn(R: Mapping[int, float]) -> int:
        """Return the candidate of least suspected regret; ties go to the first."""
        return min(R, key=R.__getitem__)  # line 3

    def survivors(
        self, z: Mapping[int, Array], slack: Mapping[int, float], n: int, t: int
    ) -> list[int]:
        """Return the candidates that have not done worse than they promised.

        One that attains the maximum in line 11 stays, so the last is never removed.
        Given are the finite values of each one's queries, the mean of 2 beta sigma over
        them, both in the model's units, and the numbers of candidates and queries.
        """
        xi = self.xi(n, t)
        m = {i: float(v.mean()) for i, v in z.items() if len(v)}  # line 9
        r = {i: math.sqrt(xi / len(z[i])) for i in m}  # line 9
        best = max((m[i] - r[i] for i in m), default=-math.inf)  # line 10
        return [
            i
            for i in z
            if len(z[i]) < self.least or m[i] + r[i] + slack[i] >= best  # line 11
        ]

    def xi(self, n: int, t: int) -> float:
        """Return the noise term of line 9, for Gaussian noise."""
        tail = math.log(n * math.pi**2 * t**2 / (3 * self.delta))  # line 9
        return 2 * self.noise**2 * tail  # line 9
