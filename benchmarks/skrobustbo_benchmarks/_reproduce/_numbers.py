"""Claims of the papers' tables: numbers, and their order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from skrobustbo_benchmarks._reproduce._claims import (
    Array,
    Claim,
    Finding,
    OfMethod,
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

    def differs(self, other: Printed) -> bool:
        """Return whether two entries differ clearly."""
        return abs(self.mean - other.mean) > CLEAR * max(self.std, other.std)


@dataclass(frozen=True)
class Number(OfMethod):
    """A number of a table."""

    printed: Printed

    def _judged(self, *samples: Array) -> tuple[str, str]:
        (x,), printed = samples, self.printed
        mean, std = float(x.mean()), float(x.std(ddof=1))
        unit = std if math.isnan(printed.std) else printed.std
        gap = abs(mean - printed.mean)
        # Runs that all count alike have no deviation.
        apart = gap / unit if unit else (math.inf if gap else 0.0)
        here = f"{mean:.4g} ± {std:.2g} ({len(x)} runs), {apart:.2g} deviations apart"
        return here, graded(apart <= CLEAR, apart <= 2)


@dataclass(frozen=True)
class Column(Claim):
    """A column of a table: a number for each method, and their order.

    Parameters
    ----------
    rows : mapping of str to Printed
        The methods' entries.
    ordered : bool
        Whether the order of the rows is a claim, too.
    context : mapping of str to Printed
        Entries of other columns, which take part in the order only.
    """

    rows: Mapping[str, Printed]
    ordered: bool = True
    context: Mapping[str, Printed] = field(default_factory=dict)

    @property
    def entries(self) -> dict[str, Printed]:
        """The rows and their context."""
        return {**self.context, **self.rows}

    @property
    def _title(self) -> str:
        return f"{self.says}: order"

    def judge(self, results: Results) -> list[Finding]:
        """Judge each number, then the order."""
        found = []
        for method, printed in self.rows.items():
            says = f"{self.says}: {method} {printed}"
            number = Number(says, self.case, self.metric, method, printed)
            found += number.judge(results)
        return found + (super().judge(results) if self.ordered else [])

    def _samples(self, results: Results) -> Sequence[Array]:
        found = (values(results, self.case, m, self.metric) for m in self.entries)
        return [np.array(x) for x in found]

    def _judged(self, *samples: Array) -> tuple[str, str]:
        printed = self.entries
        means = {m: float(x.mean()) for m, x in zip(printed, samples, strict=True)}
        clear = [
            (a, b) if printed[a].mean < printed[b].mean else (b, a)
            for a, b in combinations(printed, 2)
            if printed[a].differs(printed[b])
        ]
        wrong = [(a, b) for a, b in clear if means[a] >= means[b]]
        kept = len(clear) - len(wrong)
        here = f"{kept} of {len(clear)} pairs"
        if wrong:
            here += "; not " + ", ".join(f"{a} < {b}" for a, b in wrong)
        return here, graded(not wrong, kept >= 0.75 * len(clear))
