"""Choices among given values."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._arguments import checked_flag
from skrobustbo._names import shown, wrong
from skrobustbo.space._dimensions import Listed, Rows
from skrobustbo.space._values import distinct, is_listing, key_of, plain, same, to_json

#: Unordered choices up to this many have a column each, more a code in a single one.
MAX_ONE_HOT = 100
#: Choices named by a message.
_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Listed):
    """A choice among given values; only these are ever tried.

    Parameters
    ----------
    choices : sequence
        The values, at least one, all different. Any object may be a value. The type
        counts: 1, 1.0 and True are three choices.
    ordered : bool, default=False
        Whether the order of `choices` carries meaning. Ordered choices lie on one
        axis, evenly spaced; unordered ones are all equally far apart (distance 1).

    Raises
    ------
    ValueError
        If `choices` is empty, not a sequence, or names a value twice.

    Examples
    --------
    >>> from skrobustbo import Categorical
    >>> Categorical(["small", "medium", "large"], ordered=True).encode("medium")
    array([0.5])
    """

    choices: Sequence[Any]
    ordered: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        ordered = checked_flag("ordered", self.ordered, "Categorical")
        object.__setattr__(self, "ordered", ordered)
        if not is_listing(self.choices):
            remedy = "write a list, also for a single value"
            known = "a list of values"
            raise wrong("choices", "Categorical", known, self.choices, remedy)
        choices = tuple(plain(choice) for choice in self.choices)
        if not choices:
            raise ValueError(
                "The 'choices' of Categorical must hold at least one value. Got an "
                "empty sequence instead; add a value or drop the parameter."
            )
        object.__setattr__(self, "choices", choices)
        once = distinct(choices)
        if len(once) < len(choices):
            pairs = zip(choices, [*once, object()], strict=False)
            twice = next(a for a, b in pairs if not same(a, b))
            raise ValueError(
                f"The 'choices' of Categorical must differ. Got {shown(twice)} twice; "
                "drop one of the two."
            )

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and self.ordered == other.ordered
            and same(self.choices, other.choices)
        )

    def __repr__(self) -> str:
        return f"Categorical(choices={shown(self.choices)}, ordered={self.ordered})"

    def __hash__(self) -> int:
        return hash((type(self), len(self.choices), self.ordered))

    @property
    def n_columns(self) -> int:
        """No column for a constant, one for an axis or codes, else one per choice."""
        k = len(self.choices)
        one_hot = 2 < k <= MAX_ONE_HOT and not self.ordered
        return k if one_hot else min(k - 1, 1)

    @property
    def nominal(self) -> bool:
        return len(self.choices) > MAX_ONE_HOT and not self.ordered

    @cached_property
    def _table(self) -> Rows:
        k = len(self.choices)
        if self.nominal:
            return np.arange(1, k + 1)[:, None] / k  # 0 is the code of no choice
        if self.n_columns > 1:
            return np.eye(k) * math.sqrt(0.5)  # any two rows are at distance 1
        return np.linspace(0.0, 1.0, k)[:, None][:, : self.n_columns]

    @cached_property
    def _lookup(self) -> dict[Hashable, list[int]]:
        lookup: dict[Hashable, list[int]] = {}
        for i, choice in enumerate(self.choices):
            lookup.setdefault(key_of(choice), []).append(i)
        return lookup

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(choice): i for i, choice in enumerate(self.choices)}

    def __getstate__(self) -> dict[str, Any]:
        # Hashes of texts are others in the next process, and so are identities.
        kept = vars(self).items()
        return {k: v for k, v in kept if k not in ("_lookup", "_places")}

    def index(self, value: Any) -> int:
        """Return the position of a value among the choices; ValueError if absent.

        A choice of the value's own type comes first. Without one, a number stands for
        an equal one of another type, if there is only one.
        """
        place = self._places.get(id(value))
        if place is not None:  # an object may have been changed since
            return place
        equal = self._lookup.get(key_of(value), [])
        for i in equal:
            if same(self.choices[i], value):
                return i
        alike = [i for i in equal if same(self.choices[i], value, typed=False)]
        if len(alike) == 1:
            return alike[0]
        if alike:
            texts = " or ".join(shown(self.choices[i]) for i in alike)
            raise ValueError(f"expected {texts}, which differ in type only")
        texts = ", ".join(map(shown, self.choices[:_SHOWN]))
        more = ", ..." if len(self.choices) > _SHOWN else ""
        raise ValueError(f"expected one of [{texts}{more}]")

    @property
    def size(self) -> float:
        return len(self.choices)

    def encode(self, value: Any) -> Rows:
        return np.array(self._table[self.index(value)])

    def _indices(self, rows: Rows) -> NDArray[np.intp]:
        if self.n_columns == 0:
            return np.zeros(len(rows), dtype=np.intp)
        if self.n_columns > 1:
            return np.argmax(rows, axis=1)
        if self.nominal:
            codes = np.rint(rows[:, 0] * len(self.choices))
            return np.clip(codes.astype(np.intp) - 1, 0, len(self.choices) - 1)
        top = len(self.choices) - 1
        return np.rint(np.clip(rows[:, 0], 0.0, 1.0) * top).astype(np.intp)

    def decode(self, rows: Rows) -> list[Any]:
        return [self.choices[i] for i in self._indices(rows)]

    def from_uniform(self, u: Rows) -> Rows:
        k = len(self.choices)
        return self._table[np.minimum((u * k).astype(np.intp), k - 1)]

    def value_to_json(self, value: Any) -> int:
        return self.index(value)

    def value_from_json(self, value: Any) -> Any:
        return self.choices[int(value)]

    def to_dict(self) -> dict[str, Any]:
        choices = [to_json(choice) for choice in self.choices]
        return {"type": "Categorical", "choices": choices, "ordered": self.ordered}
