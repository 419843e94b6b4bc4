"""Claims of the papers' tables: numbers, their order, ratios of times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._reproduce._claims import (
    LEAST_RUNS,
    TOO_FEW,
    Finding,
    Results,
    graded,
    values,
)

#: Deviations by which means may differ and count as equal: three standard errors of a
#: difference of two means of 50. Of rows that differ by more, the order is judged.
CLEAR = 0.6


@dataclass(frozen=True)
class Printed:
    """A mean of a table; the deviation is nan where none is printed."""

    mean: float
    std: float = math.nan

    def __str__(self) -> str:
        """Return the entry as the tables write it."""
        error = "" if math.isnan(self.std) else f" ± {self.std:g}"
        return f"{self.mean:g}{error}"


@dataclass(frozen=True)
class Column:
    """A column of a table: a number for each method, and their order.

    Parameters
    ----------
    says : str
        What the column is.
    case, metric : str
        Of what.
    rows : mapping of str to Printed
        The methods' entries.
    ordered : bool
        Whether the order of the rows is a claim, too.
    context : mapping of str to Printed
        Entries of other columns, which take part in the order only.
    """

    says: str
    case: str
    metric: str
    rows: Mapping[str, Printed]
    ordered: bool = True
    context: Mapping[str, Printed] = field(default_factory=dict)

    @property
    def entries(self) -> dict[str, Printed]:
        """The rows and their context."""
        return {**self.context, **self.rows}

    def judge(self, results: Results) -> list[Finding]:
        """Judge each number, then the order."""
        found = {
            method: np.array(
                list(values(results, self.case, method, self.metric).values())
            )
            for method in self.entries
        }
        numbers = [self._number(method, found[method]) for method in self.rows]
        few = min(map(len, found.values())) < LEAST_RUNS
        if not self.ordered:
            return numbers
        if few:
            return [*numbers, Finding(f"{self.says}: order", "", TOO_FEW)]
        means = {method: float(x.mean()) for method, x in found.items()}
        return [*numbers, self._order(means)]

    def _number(self, method: str, x: NDArray[np.float64]) -> Finding:
        printed = self.rows[method]
        says = f"{self.says}: {method} {printed}"
        if len(x) < LEAST_RUNS:
            return Finding(says, f"{len(x)} seeds", TOO_FEW)
        mean, std = float(x.mean()), float(x.std(ddof=1))
        unit = std if math.isnan(printed.std) else printed.std
        gap = abs(mean - printed.mean)
        # Runs that all count alike have no deviation.
        apart = gap / unit if unit else (math.inf if gap else 0.0)
        here = f"{mean:.4g} ± {std:.2g} ({len(x)} runs), {apart:.2g} deviations apart"
        return Finding(says, here, graded(apart <= CLEAR, apart <= 2))

    def _order(self, means: Mapping[str, float]) -> Finding:
        printed = self.entries
        clear = [
            (a, b) if printed[a].mean < printed[b].mean else (b, a)
            for a, b in combinations(printed, 2)
            if _clear(printed[a], printed[b])
        ]
        wrong = [(a, b) for a, b in clear if means[a] >= means[b]]
        kept = len(clear) - len(wrong)
        here = f"{kept} of {len(clear)} pairs"
        if wrong:
            here += "; not " + ", ".join(f"{a} < {b}" for a, b in wrong)
        verdict = graded(not wrong, kept >= 0.75 * len(clear))
        return Finding(f"{self.says}: order", here, verdict)


def _clear(a: Printed, b: Printed) -> bool:
    return abs(a.mean - b.mean) > CLEAR * max(a.std, b.std)


@dataclass(frozen=True)
class TimeRatio:
    """How much longer one method takes than another.

    Parameters
    ----------
    says, case : str
        What, and on what.
    methods : (str, str)
        Numerator and denominator.
    seconds : (float, float)
        What the paper prints for them.
    """

    says: str
    case: str
    methods: tuple[str, str]
    seconds: tuple[float, float]

    def judge(self, results: Results) -> list[Finding]:
        """Compare the ratio of the mean times with the paper's."""
        times = [
            list(values(results, self.case, method, "seconds").values())
            for method in self.methods
        ]
        a, b = self.methods
        ratio = self.seconds[0] / self.seconds[1]
        says = f"{self.says}: {a} / {b} = {ratio:.2g}"
        if min(map(len, times)) < LEAST_RUNS:
            return [Finding(says, f"{min(map(len, times))} seeds", TOO_FEW)]
        ours = float(np.mean(times[0]) / np.mean(times[1]))
        apart = abs(math.log(ours / ratio))
        here = f"{np.mean(times[0]):.3g} s / {np.mean(times[1]):.3g} s = {ours:.2g}"
        verdict = graded(apart <= math.log(2), apart <= math.log(4))
        return [Finding(says, here, verdict)]
