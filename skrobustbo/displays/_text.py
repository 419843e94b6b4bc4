"""Names and categories as texts: as short as possible, broken into lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from skrobustbo import _names
from skrobustbo._names import shown

#: Longer texts of estimators are replaced by their class and a number.
_LONG = 60
#: Where a line may end: after a separator, and before a capital letter.
_ENDS = re.compile(r"(?<=[_\s,(=/\-])(?![_\s])|(?<=[a-z0-9])(?=[A-Z])")


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return short forms of parameter names, with plain dollar signs."""
    short = _names.short_names(names)
    return {name: plain_text(text) for name, text in short.items()}


def short_values(values: Sequence[Any]) -> list[str]:
    """Return texts of categories, all different, each on one line.

    For estimators, the class is enough if no two are equal; those with long settings
    are numbered.
    """
    kinds = [type(v).__name__ if is_estimator(v) else full_text(v) for v in values]
    if len(set(kinds)) < len(kinds):
        # To the last digit, and 1.0 is not 1.
        texts = [repr(v) if isinstance(v, float) else full_text(v) for v in values]
        pairs = zip(values, texts, kinds, strict=True)
        kinds = [
            kind if is_estimator(value) and len(text) > _LONG else text
            for value, text, kind in pairs
        ]
    return [plain_text(text) for text in unlike(kinds)]


def is_estimator(value: Any) -> bool:
    """Return whether a value is an estimator, not an estimator class."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def full_text(value: Any) -> str:
    """Return a value as text on one line, complete."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else shown(value)
    return re.sub(r"\s+", " ", text).strip() or "(empty)"


def plain_text(text: str) -> str:
    """Return the text with dollar signs that do not start a formula."""
    return text.replace("$", r"\$")


def unlike(texts: Sequence[str]) -> list[str]:
    """Return the texts, with equal ones numbered."""
    return [
        f"{text} #{texts[:i].count(text) + 1}" if texts.count(text) > 1 else text
        for i, text in enumerate(texts)
    ]


def broken(text: str, most: int) -> str:
    """Return the complete text, broken into lines of about `most` characters.

    Lines end between words: after a separator, or before a capital letter. Only words
    longer than a line are divided. Lines have nearly equal length.
    """
    if len(text) <= most:
        return text
    n = len(_lines(text, most))
    # No word is divided for it.
    widths = range(min(longest_word(text), most), most + 1)
    even = next(k for k in widths if len(_lines(text, k)) <= n)
    return "\n".join(_lines(text, even))


def longest_word(text: str) -> int:
    """Return the length of the longest part that is not broken."""
    return max(len(word.rstrip()) for word in _ENDS.split(text))


def _lines(text: str, most: int) -> list[str]:
    """Return the lines of a text, each filled as far as possible."""
    lines = [""]
    for word in _ENDS.split(text):
        if len(lines[-1]) + len(word.rstrip()) > most:
            lines.append("")
        # A dollar sign and its escape stay together.
        for sign in re.findall(r"\\\$|.", word):
            if len(lines[-1]) + len(sign.rstrip()) > most:
                lines.append("")
            lines[-1] += sign
    return [line.rstrip() for line in lines if line.strip()]
