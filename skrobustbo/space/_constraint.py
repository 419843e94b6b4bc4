"""Constraints: a user's predicate on params, asked once for each encoded point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.space._dimensions import Rows

Params = dict[str, Any]
Mask = NDArray[np.bool_]

#: Answers kept; beyond, the predicate is asked again.
_KEPT = 2**18


class Constraint:
    """A predicate on params dicts, its answers checked.

    Parameters
    ----------
    predicate : callable
        Takes a params dict, returns whether it is feasible.
    """

    def __init__(self, predicate: Callable[[Params], Any]) -> None:
        if not callable(predicate):
            raise ValueError(
                "The 'constraints' of a search must be a callable that takes a params "
                f"dict and returns True or False. Got {predicate!r} instead; several "
                "constraints are one callable, such as lambda p: a(p) and b(p)."
            )
        self.predicate = predicate

    def __call__(self, params: Mapping[str, Any]) -> bool:
        """Return whether a params dict is feasible; ValueError if none can tell."""
        try:
            answer = self.predicate(dict(params))
        except Exception as error:
            raise ValueError(
                "The 'constraints' of a search must answer for every point of the "
                f"space. Got {error!r} at {dict(params)!r}; let it return True or "
                "False there, too."
            ) from error
        if not isinstance(answer, bool | np.bool_):
            raise ValueError(
                "The 'constraints' of a search must return True or False. Got "
                f"{answer!r} at {dict(params)!r} instead; write bool(...) around it."
            )
        return bool(answer)


class Answers:
    """The answers of predicates to encoded points, remembered.

    Parameters
    ----------
    predicates : sequence of callable
        All of them must return True for a feasible params dict.
    decode : callable
        Encoded points, shape (n, n_columns), to params dicts.
    """

    def __init__(
        self,
        predicates: Sequence[Callable[[Params], bool]],
        decode: Callable[[Rows], list[Params]],
    ) -> None:
        self.predicates, self._decode = tuple(predicates), decode
        self._known: dict[bytes, bool] = {}

    def __call__(self, X: Rows) -> Mask:
        """Return which of the points, shape (n, n_columns), are feasible."""
        # Of a point of many columns a digest is kept.
        keys = [blake2b(x.tobytes(), digest_size=16).digest() for x in X]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        rows = list(new.values())
        asked = self._decode(X[rows]) if rows else []
        if len(self._known) + len(new) > _KEPT:
            self._known = {key: self._known[key] for key in keys if key not in new}
        for key, params in zip(new, asked, strict=True):
            self._known[key] = all(predicate(params) for predicate in self.predicates)
        return np.array([self._known[key] for key in keys], dtype=bool)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_known": {}}
