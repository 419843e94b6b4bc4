"""Names that users type, and values that they give, as messages show them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


def canonical(name: str) -> str:
    """Return a name of a policy or problem as the tables spell it.

    Lower case, and '-' for '_'.
    """
    return name.strip().lower().replace("_", "-")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return "did you mean ...?" with the name nearest to `name`, "" if none is near.

    A nested name without its prefix, ``C`` for ``svc__C``, is near.
    """
    known = list(names)
    near = [other for other in known if other.endswith(f"__{name}")]
    near = near or difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def unknown_name(kind: str, name: str, names: Iterable[str]) -> ValueError:
    """Return the error for a name that is not among `names`."""
    known = sorted(names)
    hint = did_you_mean(canonical(name), known)
    return ValueError(
        f"The {kind} must be one of {', '.join(map(repr, known))}. Got {name!r} "
        f"instead{'; ' + hint if hint else '.'}"
    )


def shown(value: Any) -> str:
    """Return the `repr` of a value, and something in its place where that raises."""
    try:
        return repr(value)
    except Exception:  # of the value, or of one inside
        if type(value) is dict:
            items = (f"{shown(key)}: {shown(v)}" for key, v in value.items())
            return f"{{{', '.join(items)}}}"
        if type(value) is list:
            return f"[{', '.join(map(shown, value))}]"
        if type(value) is tuple:
            return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
        return f"<{type(value).__name__}>"
