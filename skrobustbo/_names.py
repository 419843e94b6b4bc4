"""Names that users type: spelling, showing, and what to say of one that is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def canonical(name: str) -> str:
    """Return a name of a policy or problem as the tables spell it.

    Lower case, and '-' for '_'.
    """
    return name.strip().lower().replace("_", "-")


def printable(text: str) -> str:
    r"""Return a text on one line, with escapes for what a terminal would obey.

    These are control characters, line breaks, marks that change the direction of the
    text, and whatever else has no shape.

    >>> print(printable("a\x1b[2J\tb"))
    a\x1b[2J\tb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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
