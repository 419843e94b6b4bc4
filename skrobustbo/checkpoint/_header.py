"""The header of a checkpoint: what the search is, and an outline for readers."""

from __future__ import annotations

from typing import Annotated, Any

from skrobustbo._forms import Count
from skrobustbo.checkpoint._records import check_parts, loads, require
from skrobustbo.checkpoint._store import Store

#: What stands for a choice that is described rather than written.
TEXT = "$text"
Outline = dict[str, Any]

#: Characters that a header may have.
_MAX_HEADER = 64_000_000
_SOME = Annotated[Count, lambda count: count > 0]
_HEADER = {
    "search": dict[str, dict[str, str]],
    "outline": dict[str, Any],
    "seed": Annotated[int, lambda seed: 0 <= seed < 2**32],
    "horizon": _SOME,
    "versions": dict[str, str],
    "n_splits": _SOME,
    "n_samples": _SOME,
}
#: The names of the estimator and of the policy, the metric searched for (None if that
#: is the only one), whether candidates are raced, the groups of candidates side by
#: side, and for each branch of the space its parameters: None for numbers, otherwise
#: the choices.
_OUTLINE = {
    "estimator": str,
    "policy": str,
    "metric": str | None,
    "racing": bool,
    "n_in_flight": Count,
    "branches": Annotated[list[Annotated[dict[str, list[Any] | None], bool]], bool],
}


def read_header(file: Store) -> dict[str, Any]:
    """Return the header of a checkpoint; Malformed if it is not one."""
    rows = file.rows("header", 1, _MAX_HEADER)
    require(len(rows) == 1, "its header")
    return parse_header(rows[0][1])


def parse_header(body: str) -> dict[str, Any]:
    """Return the header in a row; Malformed if it is not one."""
    require(len(body) <= _MAX_HEADER, "the length of its header")
    header = loads(body)
    check_parts(header, _HEADER, "its header")
    check_parts(header["outline"], _OUTLINE, "its outline")
    return header
