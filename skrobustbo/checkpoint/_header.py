"""The header of a checkpoint: what the search is, and an outline for readers."""

from __future__ import annotations

from typing import Any

from skrobustbo.checkpoint._compare import is_parts
from skrobustbo.checkpoint._records import is_count, loads, require
from skrobustbo.checkpoint._store import Store

#: What stands for a choice that is described rather than written.
TEXT = "$text"
Outline = dict[str, Any]

#: Characters that a header may have.
_MAX_HEADER = 64_000_000
_HEADER = {"search", "outline", "seed", "horizon", "versions", "n_splits", "n_samples"}
_PARTS = {"estimator", "policy", "metric", "racing", "n_in_flight", "branches"}


def read_header(file: Store) -> dict[str, Any]:
    """Return the header of a checkpoint; Malformed if it is not one."""
    rows = file.rows("header", 1, _MAX_HEADER)
    require(len(rows) == 1, "its header")
    return parse_header(rows[0][1])


def parse_header(body: str) -> dict[str, Any]:
    """Return the header in a row; Malformed if it is not one."""
    require(len(body) <= _MAX_HEADER, "the length of its header")
    header = loads(body)
    require(header.keys() == _HEADER, "its header")
    require(is_parts(header["search"]), "its header")
    require(is_parts({"": header["versions"]}), "its header")
    check_outline(header["outline"])
    require(is_count(header["seed"], 2**32 - 1), "its seed")
    for name in ("horizon", "n_splits", "n_samples"):
        count = header[name]
        require(is_count(count) and count > 0, f"its {name}")
    return header


def check_outline(outline: Any) -> None:
    """Raise Malformed unless an outline has the form of one.

    It has the names of the estimator and of the policy, the metric searched for (None
    if that is the only one), whether candidates are raced, the groups of candidates
    side by side, and for each branch of the space its parameters: None for numbers,
    otherwise the choices.
    """
    require(isinstance(outline, dict) and outline.keys() == _PARTS, "its outline")
    texts = outline["estimator"], outline["policy"], outline["metric"] or ""
    require(all(isinstance(text, str) for text in texts), "its outline")
    require(isinstance(outline["racing"], bool), "its outline")
    require(is_count(outline["n_in_flight"]), "its outline")
    branches = outline["branches"]
    require(isinstance(branches, list) and len(branches) > 0, "its branches")
    for branch in branches:
        require(isinstance(branch, dict) and len(branch) > 0, "its branches")
        for choices in branch.values():
            require(choices is None or isinstance(choices, list), "its choices")
