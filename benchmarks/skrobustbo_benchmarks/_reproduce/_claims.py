"""What a paper says of an experiment, each a claim that a rule judges.

The rules were written down before the experiments were run; the page that
``benchmarks/studies/papers_page.py`` writes has them in words.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]
#: Runs by case.
Results = Mapping[str, pd.DataFrame]

REPRODUCED, PARTLY, NOT, TOO_FEW = "reproduced", "partly", "not", "too few runs"
#: Runs (of the fewest, where methods are compared) below which nothing is judged.
LEAST_RUNS = 5
#: One-sided level of the paired tests.
LEVEL = 0.05


def values(results: Results, case: str, method: str, metric: str) -> pd.Series:
    """Return a metric of a method's runs by their seeds."""
    if case not in results:
        return pd.Series(dtype=float)
    runs = results[case]
    found: pd.Series = runs[runs["policy"] == method].set_index("seed")[metric]
    return found


def paired(
    results: Results, case: str, methods: Sequence[str], metric: str
) -> list[Array]:
    """Return a metric of two methods on the seeds that both have."""
    found = [values(results, case, method, metric) for method in methods]
    both = pd.concat(found, axis=1, join="inner").sort_index()
    return list(both.to_numpy().T)


@dataclass(frozen=True)
class Finding:
    """What came out for a claim."""

    says: str
    here: str
    verdict: str


def p_below(differences: Array) -> float:
    """Return the one-sided p-value for differences that tend to lie below zero.

    Under the null hypothesis each sign is as likely as the other, whatever the sizes,
    so the distribution is counted out rather than approximated, and ties only share
    their rank. Zeros are left out, as Wilcoxon did.

    Parameters
    ----------
    differences : ndarray of shape (n,)
        Paired differences; infinite ones have the largest ranks.

    Returns
    -------
    float
        1 if nothing differs.

    Examples
    --------
    >>> import numpy as np
    >>> p_below(np.array([-1.0, -2.0, -3.0]))
    0.125
    """
    d = differences[differences != 0]
    ranks = np.rint(2 * rankdata(np.abs(d))).astype(np.intp)  # doubled: integers
    law = np.zeros(int(ranks.sum()) + 1)
    law[0] = 1.0
    for rank in ranks:
        shifted = np.zeros_like(law)
        shifted[rank:] = law[: len(law) - rank]
        law = (law + shifted) / 2
    positive = int(ranks[d > 0].sum())
    return min(1.0, float(law[: positive + 1].sum()))


def p_differ(differences: Array) -> float:
    """Return the two-sided p-value for differences that tend to one side of zero."""
    return min(1.0, 2 * min(p_below(differences), p_below(-differences)))


def graded(good: bool, fair: bool) -> str:
    """Return a verdict."""
    return REPRODUCED if good else PARTLY if fair else NOT


def overall(findings: Sequence[Finding]) -> str:
    """Return an experiment's verdict."""
    judged = [f.verdict for f in findings if f.verdict != TOO_FEW]
    if not judged or len(judged) < len(findings) / 2:
        return TOO_FEW
    most = judged.count(NOT) <= len(judged) / 2
    return graded(set(judged) == {REPRODUCED}, most and REPRODUCED in judged)


@dataclass(frozen=True)
class Claim(ABC):
    """What a paper says.

    Parameters
    ----------
    says : str
        The paper's words, in ours.
    case, metric : str
        Of what.
    """

    says: str
    case: str
    metric: str

    def judge(self, results: Results) -> list[Finding]:
        """Return what came out: one finding, or one for each part."""
        samples = self._samples(results)
        if (least := min(map(len, samples))) < LEAST_RUNS:
            return [Finding(self._title, f"{least} seeds", TOO_FEW)]
        return [Finding(self._title, *self._judged(*samples))]

    @property
    def _title(self) -> str:
        return self.says

    @abstractmethod
    def _samples(self, results: Results) -> Sequence[Array]:
        """Return what is judged."""

    @abstractmethod
    def _judged(self, *samples: Array) -> tuple[str, str]:
        """Return what came out in words, and the verdict."""


@dataclass(frozen=True)
class Pair(Claim):
    """A claim about two methods, on the seeds that both have."""

    methods: tuple[str, str]

    def _samples(self, results: Results) -> Sequence[Array]:
        return paired(results, self.case, self.methods, self.metric)

    def _means(self, a: Array, b: Array) -> str:
        ours, theirs = self.methods
        return f"{ours} {a.mean():.3g}, {theirs} {b.mean():.3g}"


@dataclass(frozen=True)
class Better(Pair):
    """The first method's runs have less of a metric than the second's."""

    def _judged(self, *samples: Array) -> tuple[str, str]:
        a, b = samples
        p = p_below(a - b)
        less = f"less in {np.mean(a < b):.0%} of {len(a)} pairs, p = {p:.2g}"
        return f"{self._means(a, b)}, {less}", graded(p <= LEVEL, a.mean() < b.mean())


def less(
    case: str, metric: str, better: str, *worse: str, of: str, where: str = ""
) -> tuple[Better, ...]:
    """Return the claims that one method has less "of" something than others."""
    return tuple(
        Better(f"{where}{better} has less {of} than {o}", case, metric, (better, o))
        for o in worse
    )


@dataclass(frozen=True)
class Alike(Pair):
    """Two methods' runs have about as much of a metric."""

    factor: float = 1.25

    def _judged(self, *samples: Array) -> tuple[str, str]:
        a, b = samples
        apart = abs(math.log(a.mean() / b.mean()))
        p = p_differ(a - b)
        fair = apart <= 2 * math.log(self.factor) or p > LEVEL
        here = f"{self._means(a, b)}, {len(a)} pairs, p = {p:.2g}"
        return here, graded(apart <= math.log(self.factor), fair)


@dataclass(frozen=True)
class TimeRatio(Pair):
    """How much longer the first method takes than the second.

    Parameters
    ----------
    seconds : (float, float)
        What the paper prints for them.
    """

    seconds: tuple[float, float]

    @property
    def _title(self) -> str:
        (a, b), (numerator, denominator) = self.methods, self.seconds
        return f"{self.says}: {a} / {b} = {numerator / denominator:.2g}"

    def _samples(self, results: Results) -> Sequence[Array]:
        found = (values(results, self.case, m, self.metric) for m in self.methods)
        return [np.array(x) for x in found]

    def _judged(self, *samples: Array) -> tuple[str, str]:
        a, b = (float(x.mean()) for x in samples)
        apart = abs(math.log(a / b / (self.seconds[0] / self.seconds[1])))
        verdict = graded(apart <= math.log(2), apart <= math.log(4))
        return f"{a:.3g} s / {b:.3g} s = {a / b:.2g}", verdict


@dataclass(frozen=True)
class OfMethod(Claim):
    """A claim about one method."""

    method: str

    def _samples(self, results: Results) -> Sequence[Array]:
        return [np.array(values(results, self.case, self.method, self.metric))]


@dataclass(frozen=True)
class Share(OfMethod):
    """Most runs of a method do something, or do not."""

    does: bool = True

    def _judged(self, *samples: Array) -> tuple[str, str]:
        count, n = int((samples[0].astype(bool) == self.does).sum()), len(samples[0])
        return f"{count} of {n} runs", graded(count / n >= 3 / 4, count / n >= 1 / 4)


@dataclass(frozen=True)
class InRange(OfMethod):
    """A number lies in a range, or in a wider one for "partly"."""

    good: tuple[float, float]
    fair: tuple[float, float]

    @property
    def _title(self) -> str:
        return f"{self.says} ({_range(self.good)}; partly: {_range(self.fair)})"

    def _grade(self, value: float) -> str:
        good, fair = (low <= value <= high for low, high in (self.good, self.fair))
        return graded(good, fair)


def _range(bounds: tuple[float, float]) -> str:
    low, high = bounds
    if math.isinf(high):
        return f"at least {low:g}"
    if math.isinf(low):
        return f"at most {high:g}"
    return f"{low:g} to {high:g}"


@dataclass(frozen=True)
class Within(InRange):
    """The mean of a metric, or the quotient of the means of two, lies in a range.

    Parameters
    ----------
    by : str
        The metric by whose mean the mean is divided; "" for none.
    """

    by: str = ""

    def _samples(self, results: Results) -> Sequence[Array]:
        metrics = [self.metric, self.by] if self.by else [self.metric]
        found = (values(results, self.case, self.method, m) for m in metrics)
        return [np.array(x) for x in found]

    def _judged(self, *samples: Array) -> tuple[str, str]:
        mean = float(samples[0].mean())
        if self.by:
            mean /= float(samples[1].mean())
        return f"{mean:.3g}", self._grade(mean)


@dataclass(frozen=True)
class Spread(InRange):
    """How much the mean of a metric varies over cases: largest over smallest.

    Parameters
    ----------
    others : tuple of str
        The cases besides the first.
    """

    others: tuple[str, ...] = ()

    def _samples(self, results: Results) -> Sequence[Array]:
        cases = (self.case, *self.others)
        found = (values(results, case, self.method, self.metric) for case in cases)
        return [np.array(x) for x in found]

    def _judged(self, *samples: Array) -> tuple[str, str]:
        means = [float(x.mean()) for x in samples]
        ratio = max(means) / min(means)
        here = f"{' / '.join(f'{mean:.3g}' for mean in means)}: ratio {ratio:.3g}"
        return here, self._grade(ratio)
