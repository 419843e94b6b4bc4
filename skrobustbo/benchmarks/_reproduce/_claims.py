"""What a paper says of an experiment, each a claim that a rule judges.

The rules were written down before the experiments were run; `RULES` is what the page
says of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._reproduce._ledger import Run
from skrobustbo.benchmarks._signed_rank import p_below, p_differ

Array = NDArray[np.float64]
#: Case -> method -> seed -> run.
Results = Mapping[str, Mapping[str, Mapping[int, Run]]]

REPRODUCED, PARTLY, NOT, TOO_FEW = "reproduced", "partly", "not", "too few runs"
#: Runs (of the fewest, where methods are compared) below which nothing is judged.
LEAST_RUNS = 5
#: One-sided level of the paired tests.
LEVEL = 0.05

RULES = f"""\
- **A number with a deviation.** The difference of the means, ours and the paper's, is
  taken in units of the paper's standard deviation. Up to 0.6, three standard errors of
  a difference of two means of 50 runs, is *reproduced*, up to 2 *partly*. Where the
  paper gives no deviation, ours stands for it. (With fewer runs than 50, a mean may
  miss these limits by chance.)
- **The order of a table.** Of each two rows whose means in the paper differ by more
  than 0.6 of the larger deviation, ours must have the same order: all pairs
  *reproduced*, three quarters of them *partly*.
- **One method is better than another.** Wilcoxon's signed-rank test on the seeds in
  pairs, one-sided at {LEVEL:g}: *reproduced* if it says so, *partly* if the means do
  without it, *not* if they are equal or the other way round.
- **Two methods are alike.** Their means are within a factor of 1.25 (or another
  factor where one is named): *reproduced*. Within its square, or no difference by the
  two-sided test: *partly*.
- **Runs do something** (leave a trap, find the maximum). For runs that do: at least
  3/4 of them *reproduced*, at least 1/4 *partly*; for runs that do not, the same of
  the others.
- **A ratio of times.** Within a factor of 2 of the paper's *reproduced*, of 4
  *partly*.
- **A range** for a mean is stated with the claim, as is a wider one for *partly*.
- Fewer than {LEAST_RUNS} seeds are not judged.
- An experiment is *reproduced* if all its claims that could be judged are, *not* if
  more than half of them are *not* or none is *reproduced*, and *partly* otherwise. It
  is judged if half of its claims are.

Two of these were made stricter after the first runs of one experiment (Figure 2 of
*Beyond lengthscales*), which they would have let pass as *partly*: a method that was
not better was *partly* so unless the test said the opposite, and an experiment
without any claim reproduced could be *partly*.
"""


@dataclass(frozen=True)
class Finding:
    """What came out for a claim."""

    says: str
    here: str
    verdict: str


class Claim(Protocol):
    """What a paper says."""

    def judge(self, results: Results) -> list[Finding]:
        """Return what came out: one finding, or one for each part."""
        ...


def values(results: Results, case: str, method: str, metric: str) -> dict[int, float]:
    """Return a metric of a method's runs by their seeds."""
    runs = results.get(case, {}).get(method, {})
    return {seed: run.metrics[metric] for seed, run in runs.items()}


def paired(
    results: Results, case: str, methods: tuple[str, str], metric: str
) -> tuple[Array, Array]:
    """Return a metric of two methods on the seeds that both have."""
    a, b = (values(results, case, method, metric) for method in methods)
    seeds = sorted(a.keys() & b.keys())
    return np.array([a[s] for s in seeds]), np.array([b[s] for s in seeds])


def graded(good: bool, fair: bool) -> str:
    """Return a verdict."""
    return REPRODUCED if good else PARTLY if fair else NOT


def overall(findings: list[Finding]) -> str:
    """Return an experiment's verdict."""
    judged = [f.verdict for f in findings if f.verdict != TOO_FEW]
    if not judged or len(judged) < len(findings) / 2:
        return TOO_FEW
    most = judged.count(NOT) <= len(judged) / 2
    return graded(set(judged) == {REPRODUCED}, most and REPRODUCED in judged)


@dataclass(frozen=True)
class Better:
    """One method's runs have less of a metric than another's.

    Parameters
    ----------
    says : str
        The paper's words, in ours.
    case, metric : str
        Of what.
    better, worse : str
        The methods.
    """

    says: str
    case: str
    metric: str
    better: str
    worse: str

    def judge(self, results: Results) -> list[Finding]:
        """Test the difference on pairs of runs."""
        a, b = paired(results, self.case, (self.better, self.worse), self.metric)
        if len(a) < LEAST_RUNS:
            return [Finding(self.says, f"{len(a)} seeds", TOO_FEW)]
        p = p_below(a - b)
        here = (
            f"{self.better} {a.mean():.3g}, {self.worse} {b.mean():.3g}, "
            f"less in {np.mean(a < b):.0%} of {len(a)} pairs, p = {p:.2g}"
        )
        return [Finding(self.says, here, graded(p <= LEVEL, a.mean() < b.mean()))]


@dataclass(frozen=True)
class Alike:
    """Two methods' runs have about as much of a metric."""

    says: str
    case: str
    metric: str
    methods: tuple[str, str]
    factor: float = 1.25

    def judge(self, results: Results) -> list[Finding]:
        """Compare the means."""
        a, b = paired(results, self.case, self.methods, self.metric)
        if len(a) < LEAST_RUNS:
            return [Finding(self.says, f"{len(a)} seeds", TOO_FEW)]
        apart = abs(math.log(a.mean() / b.mean()))
        p = p_differ(a - b)
        fair = apart <= 2 * math.log(self.factor) or p > LEVEL
        here = (
            f"{self.methods[0]} {a.mean():.3g}, {self.methods[1]} {b.mean():.3g}, "
            f"{len(a)} pairs, p = {p:.2g}"
        )
        return [Finding(self.says, here, graded(apart <= math.log(self.factor), fair))]


@dataclass(frozen=True)
class Share:
    """Most runs of a method do something, or do not."""

    says: str
    case: str
    metric: str
    method: str
    does: bool = True

    def judge(self, results: Results) -> list[Finding]:
        """Count the runs."""
        found = values(results, self.case, self.method, self.metric)
        n = len(found)
        if n < LEAST_RUNS:
            return [Finding(self.says, f"{n} seeds", TOO_FEW)]
        count = sum(bool(value) == self.does for value in found.values())
        verdict = graded(count / n >= 3 / 4, count / n >= 1 / 4)
        return [Finding(self.says, f"{count} of {n} runs", verdict)]


@dataclass(frozen=True)
class Within:
    """The mean of a metric, or the quotient of the means of two, lies in a range.

    Parameters
    ----------
    says, case, method : str
        What, and of what.
    metric, by : str
        The metric, and the one whose mean its mean is divided by; "" for none.
    good, fair : (float, float)
        The range, and the wider one for "partly".
    """

    says: str
    case: str
    method: str
    metric: str
    good: tuple[float, float]
    fair: tuple[float, float]
    by: str = ""

    def judge(self, results: Results) -> list[Finding]:
        """Look at the mean."""
        found = values(results, self.case, self.method, self.metric)
        says = f"{self.says} ({_range(self.good)}; partly: {_range(self.fair)})"
        if len(found) < LEAST_RUNS:
            return [Finding(says, f"{len(found)} seeds", TOO_FEW)]
        mean = float(np.mean(list(found.values())))
        if self.by:
            by = values(results, self.case, self.method, self.by)
            mean /= float(np.mean(list(by.values())))
        low, high = self.fair
        good = self.good[0] <= mean <= self.good[1]
        return [Finding(says, f"{mean:.3g}", graded(good, low <= mean <= high))]


def _range(bounds: tuple[float, float]) -> str:
    low, high = bounds
    if math.isinf(high):
        return f"at least {low:g}"
    if math.isinf(low):
        return f"at most {high:g}"
    return f"{low:g} to {high:g}"


@dataclass(frozen=True)
class Spread:
    """How much the mean of a metric varies over several cases: largest over smallest.

    Parameters
    ----------
    says, method, metric : str
        What.
    cases : tuple of str
        Over what.
    good, fair : (float, float)
        Range of the ratio, and the wider one for "partly".
    """

    says: str
    method: str
    metric: str
    cases: tuple[str, ...]
    good: tuple[float, float]
    fair: tuple[float, float]

    def judge(self, results: Results) -> list[Finding]:
        """Compare the means."""
        found = [values(results, c, self.method, self.metric) for c in self.cases]
        says = f"{self.says} ({_range(self.good)}; partly: {_range(self.fair)})"
        least = min(map(len, found))
        if least < LEAST_RUNS:
            return [Finding(says, f"{least} seeds", TOO_FEW)]
        means = [float(np.mean(list(each.values()))) for each in found]
        ratio = max(means) / min(means)
        good = self.good[0] <= ratio <= self.good[1]
        fair = self.fair[0] <= ratio <= self.fair[1]
        here = f"{' / '.join(f'{mean:.3g}' for mean in means)}: ratio {ratio:.3g}"
        return [Finding(says, here, graded(good, fair))]
