"""Choose the next branch by balancing the suspected regret of all branches."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skrobustbo._forms import Count
from skrobustbo.acquisition import UCB
from skrobustbo.policies import RegretBalancer
from skrobustbo.surrogate import Posterior

Array = NDArray[np.float64]

#: Probability that noise eliminates the branch that contains the optimum.
_DELTA = 0.1
#: Width of a branch's band, in standard deviations of its model.
BETA = 2.0
#: Suspected loss of the most promising branch in n queries, divided by sqrt(n).
_GROWTH = 3.0
#: Largest suspected loss of a branch per query, in units of the remaining gain.
_MOST = 2.0
#: Queries before a branch may be eliminated.
_LEAST = 3


@dataclass
class BranchState:
    """State of the balancer, stored in JSON types.

    Attributes
    ----------
    t : int
        Number of queries evaluated so far. Initial points and points that were not
        asked do not count.
    alive : list of int
        The surviving branches (B).
    members : list of list of int
        For each branch, the positions of its queries in the list of observed values
        (S).
    widths : list of list of float
        For each query in `members`, the upper bound of the branch minus the lower
        confidence limit at the query (w), in units of the objective.
    """

    t: Count = 0
    alive: list[Count] = field(default_factory=list)
    members: list[list[Count]] = field(default_factory=list)
    widths: list[list[float]] = field(default_factory=list)

    def consistent(self, n_branches: int, n_told: int) -> bool:
        queries = [query for members in self.members for query in members]
        return (
            self.t <= n_told
            and bool(self.alive)
            and set(self.alive) <= set(range(n_branches))
            and len(self.members) == n_branches
            and list(map(len, self.members)) == list(map(len, self.widths))
            and all(query < n_told for query in queries)
        )


@dataclass(frozen=True)
class OptimisticBound:
    """The best value that a branch may reach, in units of the objective.

    Attributes
    ----------
    upper : float
        The largest upper confidence limit in the branch (U).
    reached : float
        The largest predicted mean at a successful point, or minus infinity if all
        evaluations failed.
    posterior : Posterior
        The model, fitted to values scaled as ``(y - shift) / scale``.
    shift, scale : float
    unit : float
        Equal to `scale` if the scale is known, otherwise nan.
    """

    upper: float
    reached: float
    posterior: Posterior
    shift: float
    scale: float
    unit: float

    def width(self, x: Array) -> float:
        """Return `upper` minus the lower confidence limit at `x`, or nan if unknown."""
        if math.isnan(self.unit):
            return math.nan
        low = float(UCB(self.posterior, -BETA)(x[None, :])[0])
        return self.upper - (low * self.scale + self.shift)  # line 9


class BranchBalancer:
    """Rule that distributes the evaluations of a search among its branches.

    This is the rule of `HBGPUCB` (Ziomek, Adachi, Osborne 2024, Algorithm 2), with
    branches instead of candidate models. Both classes use `RegretBalancer`. The
    suspected regret of a candidate model comes from theory, but that of a branch comes
    from a model of its values.

    Pseudo-code (B: surviving branches; S: queries of each; mu, sigma: of a MAP model of
    the branch's own values, in units of the objective)::

        1  B = all branches; S(b) = {} for every b in B
        2  for t = 1, 2, ...
        3      for b in B: U(b) = max over x in b of mu(x) + 2 sigma(x)
        4          M(b) = max of mu(x) over the points told without failure
        5      s = max of U - max of M, over branches with a successful query
        6      R(b, n) = n min(2, (max of U - U(b)) / s) + 3 sqrt(n)
        7      b_t = argmin over b in B of R(b, |S(b)| + 1); ties to the first
        8      x_t = the point that the policy proposes in b_t
        9      w_t = U(b_t) - mu(x_t) + 2 sigma(x_t)
       10      y_t = f(x_t) + noise; add t to S(b_t)
       11      if every b in B has |S(b)| > 0
       12          m(b) = mean of y over S(b); r(b) = sqrt(xi_t / |S(b)|)
       13          L(b) = m(b) - r(b)
       14          keep b iff |S(b)| < 3 or
                       m(b) + r(b) + (1 / |S(b)|) sum over S(b) of w >= max of L

    Lines 3, 4, 8 and 9 run in the branches, and this class runs the other lines.

    Line 5 computes s, the largest gain that is still possible. A branch whose upper
    bound is s below the largest upper bound cannot improve on the best value reached.
    If the upper bound of a branch is g * s below the largest one, the branch gets about
    sqrt(n) / g queries while the best branch gets n. A model of few points may be
    inaccurate elsewhere, so g is at most 2. Every branch is therefore queried again, at
    increasing intervals, until it is eliminated after at least 3 queries.

    A branch in which every query failed may still succeed, but its upper bound is
    excluded from the maximum of U. Its model uses the scale of the values of all
    branches and treats each failure as the worst of these values. Beyond 3 queries,
    line 6 uses n * (n / 3)**2 instead of n, so the branch gets about the cube root of
    the number of queries of the other branches.

    Line 14 is the test from the paper. If the policy queries the point that maximises
    the upper bound, w = 4 sigma, which corresponds to 2 beta sigma in the paper. The
    values of all branches share one scale. xi_t = 2 noise**2 ln(|B_0| pi**2 t**2 / (3
    delta)), where delta = 0.1 and B_0 contains all branches. A branch that attains the
    maximum in line 14 is kept, so at least one branch always survives. Failed queries
    count in lines 7 and 11, but not in the means and sums. A branch with only failures
    is not tested. Pending queries count in line 7. Initial points are not in any S.

    Parameters
    ----------
    n_branches : int
        Number of branches.
    noise : float
        Standard deviation of the noise, in the model's units.
    eliminate : bool
        Whether to apply line 14. Use False for objectives that change over time.
    """

    def __init__(self, n_branches: int, noise: float, *, eliminate: bool) -> None:
        self.rule, self.eliminate = RegretBalancer(noise, _DELTA, _LEAST), eliminate
        k = range(n_branches)
        self.state = BranchState(0, list(k), [[] for _ in k], [[] for _ in k])  # line 1

    def choose(
        self,
        upper: Mapping[int, float],
        reached: float,
        pending: Sequence[int],
        failing: Collection[int] = (),
    ) -> int:
        """Return the branch for the next query.

        Parameters
        ----------
        upper : dict of int to float
            The upper bound (U) of each branch that may be chosen.
        reached : float
            The maximum of M over these branches.
        pending : list of int
            The branch of each pending query.
        failing : list of int, default=()
            Branches without a successful query.
        """
        n = self.rule.counts(self.state.members, pending)
        known = [U for b, U in upper.items() if b not in failing]
        top = max(known or upper.values())
        left = top - reached  # line 5
        R = {
            b: self.regret(
                max(0.0, top - U),
                left,
                n[b] * max(1.0, n[b] / _LEAST) ** 2 if b in failing else n[b],
            )
            for b, U in upper.items()
        }
        return self.rule.turn(R)  # line 7

    def regret(self, gap: float, left: float, n: float) -> float:
        """Return the suspected regret (R) of a branch after `n` queries."""
        share = _MOST if gap >= _MOST * left else gap / left
        return n * share * (gap > 0) + _GROWTH * math.sqrt(n)  # line 6

    def learn(
        self, branch: int, position: int, width: float, z: Array, scale: float
    ) -> None:
        """Record a query of a branch, then eliminate the branches that fail the test.

        Parameters
        ----------
        branch : int
            The branch that was queried.
        position : int
            Position of the query's value in the list of observed values.
        width : float
            The width (w) at the query, in units of the objective.
        z : array of shape (n,)
            All observed values, in the model's units; nan for failures.
        scale : float
            Size of the model's unit, in units of the objective.
        """
        self.state.t += 1  # line 2
        self.state.members[branch].append(position)  # line 10
        self.state.widths[branch].append(width)
        if self.eliminate and len(self.state.alive) > 1:
            self._eliminate(z, scale)

    def _eliminate(self, z: Array, scale: float) -> None:
        state = self.state
        if not all(state.members[b] for b in state.alive):  # line 11
            return
        told, slack = {}, {}
        for b in state.alive:
            values = z[state.members[b]]
            finite = np.isfinite(values)
            widths = np.array(state.widths[b])[finite]
            # An unknown or infinite width keeps its branch.
            widths[np.isnan(widths)] = math.inf
            with np.errstate(over="ignore"):
                slack[b] = float(widths.mean() / scale) if len(widths) else math.inf
            told[b] = values[finite]
        n_branches = len(state.members)
        kept = self.rule.survivors(told, slack, n_branches, state.t)
        state.alive = kept  # line 12, line 13, line 14
