"""Resources that a fold may use in part, such as training rows or trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]

#: The resource that counts training rows; others are parameters.
ROWS = "n_samples"
#: Separates the random streams of subsets from other uses of a seed.
_STREAM = 0x50


@dataclass(frozen=True)
class ResourceAxis:
    """A resource that folds may use in part.

    Attributes
    ----------
    name : str
        "n_samples" or the name of an estimator parameter.
    full : int
        The full amount of the resource.
    n_samples : int
        Number of rows in the data.
    seed : int
        Seed for drawing subsets of the rows.
    strata : array of shape (n_samples,) or None
        Class of each row, used to stratify the subsets.
    groups : array of shape (n_samples,) or None
        Group of each row. Subsets contain whole groups.
    """

    name: str
    full: int
    n_samples: int
    seed: int
    strata: Rows | None = None
    groups: Rows | None = None

    def params(self, amount: float | None) -> Mapping[str, Any]:
        """Return a dict with the parameter that sets the amount.

        The dict is empty if the resource is the number of rows.
        """
        if self.name == ROWS:
            return {}
        return {self.name: self.full if amount is None else amount}

    def rows(self, train: Any, split: int, amount: float | None) -> Any:
        """Return the training rows of a split for the given amount.

        The rows for a smaller amount are a subset of the rows for a larger one.
        """
        if self.name != ROWS:
            return train
        amount = self.full if amount is None else amount
        if amount >= self.n_samples:
            return train
        train = np.arange(self.n_samples)[train]
        rng = np.random.default_rng([_STREAM, self.seed, split])
        n = max(1, int(len(train) * amount / self.n_samples))
        if self.groups is not None:
            return self._of_groups(train, n, rng)
        return np.sort(self._by_class(train, rng)[:n])

    def _by_class(self, train: Rows, rng: np.random.Generator) -> Rows:
        """Order the rows so that every prefix is stratified by class.

        One row of each class comes first, so that no class is missing.
        """
        train = rng.permutation(train)
        if self.strata is None:
            return train
        classes, codes = np.unique(self.strata[train], return_inverse=True)
        place = np.empty(len(train))
        for code in range(len(classes)):
            of_class = np.flatnonzero(codes == code)
            place[of_class] = (np.arange(len(of_class)) + 0.5) / len(of_class)
            place[of_class[0]] = 0.0
        return train[np.argsort(place, kind="stable")]

    def _of_groups(self, train: Rows, n: int, rng: np.random.Generator) -> Rows:
        """Return about `n` rows that consist of whole groups."""
        groups = np.asarray(self.groups)[train]
        names, sizes = np.unique(groups, return_counts=True)
        order = rng.permutation(len(names))
        ends = np.cumsum(sizes[order])
        k = int(np.searchsorted(ends, n, side="right"))
        return train[np.isin(groups, names[order[: max(1, k)]])]
