"""Wilcoxon's signed-rank test, exact also with ties, and Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata


def p_below(differences: NDArray[np.float64]) -> float:
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


def p_differ(differences: NDArray[np.float64]) -> float:
    """Return the two-sided p-value for differences that tend to one side of zero."""
    return min(1.0, 2 * min(p_below(differences), p_below(-differences)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, in the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for n_before, i in enumerate(order):
        largest = max(largest, (len(p_values) - n_before) * p_values[i])
        corrected[i] = min(1.0, largest)
    return corrected
