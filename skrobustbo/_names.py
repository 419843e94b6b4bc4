"""Formatting and matching of names and values for messages."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

#: Maximum number of names in a hint.
_MOST = 3
#: Minimum similarity at which one name may be meant for another.
_NEAR_ENOUGH = 0.6
#: Minimum similarity of names with different numbers of words, and of misspelt words.
_NEAR, _NEAR_WORD = 0.9, 0.66
_DIGITS = re.compile(r"\d")


def canonical(name: str) -> str:
    """Return the canonical spelling of the name of a policy or problem.

    The canonical spelling is in lower case, with hyphens instead of underscores.
    """
    return name.strip().lower().replace("_", "-")


def printable(text: str) -> str:
    r"""Return text on one line, with invisible characters escaped.

    Invisible characters include line breaks, control characters and marks that change
    the text direction.

    >>> print(printable("a\x1b[2J\tb"))
    a\x1b[2J\tb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    """Return text with invisible characters escaped, except line breaks."""
    return "\n".join(map(printable, text.split("\n")))


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint with the most similar names, or "" if no name is similar.

    The prefix of a nested name may be missing, so ``C`` is similar to ``svc__C``.
    """
    nearness = {other: _nearness(name, other) for other in names}
    best = max(nearness.values(), default=0.0)
    near = [other for other in nearness if nearness[other] == best >= _NEAR_ENOUGH]
    return f"did you mean {' or '.join(map(repr, near[:_MOST]))}?" if near else ""


def _nearness(name: str, other: str) -> float:
    """Return the similarity of two names, ignoring common prefixes."""
    prefix, _, last = name.rpartition("__")
    owner, _, its_last = other.rpartition("__")
    of_last, of_all = _alike(last, its_last), _alike(name, other)
    if prefix == owner:
        return of_last
    return min(of_last, of_all) if prefix else max(of_last, of_all)


def slip_of(name: str, names: Iterable[str]) -> str | None:
    """Return the correct spelling of a misspelt name, or None if there is none.

    Each word must be similar, so ``max_leaves`` is not a misspelling of ``num_leaves``.
    """
    known = set(names)
    if name in known:
        return None
    near = [other for other in known if _is_slip(name, other)]
    return max(near, key=lambda other: (_alike(name, other), other), default=None)


def _is_slip(name: str, other: str) -> bool:
    if _letters(name) == _letters(other):
        return True
    prefix, _, a = name.rpartition("__")
    owner, _, b = other.rpartition("__")
    if prefix != owner or _DIGITS.sub("", a) == _DIGITS.sub("", b):
        return False  # such as units1 and units2
    one, two = a.lower().split("_"), b.lower().split("_")
    if len(one) != len(two):
        return _alike(_letters(a), _letters(b)) >= _NEAR
    return sorted(one) == sorted(two) or all(
        _alike(x, y) >= _NEAR_WORD or (len(one) > 1 and _is_short_for(x, y))
        for x, y in zip(one, two, strict=True)
    )


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _alike(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, b, a).ratio()


def _is_short_for(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return short != "" and long.startswith(short)


def entry_of_class(value: Any, table: Mapping[tuple[str, str], T]) -> T | None:
    """Return the table entry for the class of a value or one of its base classes.

    If there is no entry, return None. Classes are identified by package and name, so
    they do not have to be imported.
    """
    classes = type(value).__mro__
    keys = ((str(c.__module__).partition(".")[0], c.__name__) for c in classes)
    return next((table[key] for key in keys if key in table), None)


def wrong(
    name: str, owner: str, expected: str, value: Any, remedy: str = ""
) -> ValueError:
    """Return the error for an invalid argument."""
    return ValueError(
        f"The '{name}' of {owner} must be {expected}. Got {shown(value)} instead"
        f"{'; ' + remedy if remedy else ''}."
    )


def unknown_name(kind: str, name: str, names: Iterable[str]) -> ValueError:
    """Return the error for a name that is not among `names`."""
    known = sorted(names)
    hint = did_you_mean(canonical(name), known)
    return ValueError(
        f"The {kind} must be one of {', '.join(map(repr, known))}. Got {name!r} "
        f"instead{'; ' + hint if hint else '.'}"
    )


def shown(value: Any) -> str:
    """Return the `repr` of a value, or a substitute if `repr` raises an exception."""
    try:
        return repr(value)
    except Exception:  # raised by the value or one inside it
        if type(value) is dict:
            items = (f"{shown(key)}: {shown(v)}" for key, v in value.items())
            return f"{{{', '.join(items)}}}"
        if type(value) is list:
            return f"[{', '.join(map(shown, value))}]"
        if type(value) is tuple:
            return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
        return f"<{type(value).__name__}>"


def count(n: float, what: str, form: str = "") -> str:
    """Return a number followed by a noun in the singular or plural.

    >>> count(1, "fold"), count(5, "fold"), count(1.5, "full evaluation", ".3g")
    ('1 fold', '5 folds', '1.5 full evaluations')
    """
    number = f"{n:{form}}"
    return f"{number} {what}{'' if number == '1' else 's'}"


def every(n: float, what: str) -> str:
    """Return a phrase for all `n` items.

    >>> every(1, "point"), every(5, "point")
    ('The only point', 'All 5 points')
    """
    return f"The only {what}" if n == 1 else f"All {count(n, what, '.0f')}"


def be(n: float, one: str = "is", many: str = "are") -> str:
    """Return the singular or plural form of a verb for `n` items.

    >>> be(1), be(2), be(0, "was", "were")
    ('is', 'are', 'were')
    """
    return one if n == 1 else many


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return distinct short forms of parameter names.

    A short form is the last part of a nested name, preceded by other parts only if this
    is necessary to make it unique.

    >>> short_names(["scale__with_mean", "svc__C", "a__k", "b__k"])
    {'scale__with_mean': 'with_mean', 'svc__C': 'C', 'a__k': 'a__k', 'b__k': 'b__k'}
    """
    short, ends = {}, [f"__{name}" for name in names]
    for name in names:
        parts = name.split("__")
        tails = ["__".join(parts[-n:]) for n in range(1, len(parts) + 1)]
        alone = (t for t in tails if sum(e.endswith(f"__{t}") for e in ends) == 1)
        short[name] = next(alone, name)
    return short


def missing(owner: str, package: str, extra: str) -> ImportError:
    """Return the error for a missing optional package, with an install command."""
    return ImportError(
        f"{owner} needs {package}, which is not installed; run pip install "
        f'".[{extra}]" in a checkout of skrobustbo.'
    )
