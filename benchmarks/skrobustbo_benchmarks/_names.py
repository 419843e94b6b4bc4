"""Names that users type: how they are spelt, and what to say of an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def canonical(name: str) -> str:
    """Return a name as the tables spell it: in lower case, with '-' for '_'."""
    return name.strip().lower().replace("_", "-")


def unknown_name(kind: str, name: str, names: Iterable[str]) -> ValueError:
    """Return the error for a name that is not among `names`."""
    known = sorted(names)
    near = difflib.get_close_matches(canonical(name), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return ValueError(
        f"The {kind} must be one of {', '.join(map(repr, known))}. Got {name!r} "
        f"instead{hint}"
    )
