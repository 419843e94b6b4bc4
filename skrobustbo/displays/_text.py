"""Shorten names and categories, and break them into lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import TextWrapper
from typing import Any

from skrobustbo import _names
from skrobustbo._names import shown

#: An estimator with a longer text is shown as its class and a number.
_LONG = 60
#: Where a line may end: at a space, after a separator, and before a capital letter.
_ENDS = re.compile(r"(\s+)|(?<=[_,(/\-])(?![_\s])|(?<=[a-z0-9])(?=[A-Z])")
#: A formula, which is not broken.
_FORMULA = re.compile(r"(?<!\\)\$")


class _Words(TextWrapper):
    wordsep_re = _ENDS


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return a short form of each parameter name, with escaped dollar signs."""
    short = _names.short_names(names)
    return {name: plain_text(text) for name, text in short.items()}


def short_values(values: Sequence[Any]) -> list[str]:
    """Return a unique one-line text for each category.

    Estimators are shown by class if all classes differ. Otherwise, estimators with long
    settings are numbered.
    """
    kinds = [type(v).__name__ if is_estimator(v) else full_text(v) for v in values]
    if len(set(kinds)) < len(kinds):
        # Show every digit, and distinguish 1.0 from 1.
        texts = [repr(v) if isinstance(v, float) else full_text(v) for v in values]
        pairs = zip(values, texts, kinds, strict=True)
        kinds = [
            kind if is_estimator(value) and len(text) > _LONG else text
            for value, text, kind in pairs
        ]
    return [plain_text(text) for text in unlike(kinds)]


def is_estimator(value: Any) -> bool:
    """Return whether a value is an instance of an estimator."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def full_text(value: Any) -> str:
    """Return the complete text of a value on one line."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else shown(value)
    return re.sub(r"\s+", " ", text).strip() or "(empty)"


def plain_text(text: str) -> str:
    """Return a text with its dollar signs escaped, so that they start no formula."""
    return text.replace("$", r"\$")


def unlike(texts: Sequence[str]) -> list[str]:
    """Return the texts, with a number added to each duplicate."""
    return [
        f"{text} #{texts[:i].count(text) + 1}" if texts.count(text) > 1 else text
        for i, text in enumerate(texts)
    ]


def broken(text: str, most: int) -> str:
    """Return the complete text, broken into lines of at most `most` letters.

    Lines end between words, that is, after a separator or before a capital letter. Only
    words that are longer than a line are divided. A formula stays as it is.
    """
    return text if _FORMULA.search(text) else "\n".join(_Words(most).wrap(text))


def longest_word(text: str) -> int:
    """Return the length of the longest part that is not broken if possible."""
    if _FORMULA.search(text):
        return len(text)
    return max(map(len, filter(None, _ENDS.split(text))), default=0)
