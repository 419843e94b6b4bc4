"""Numbers of things in words, wherever a text counts them."""

from __future__ import annotations


def count(n: float, what: str, form: str = "") -> str:
    """Return a number and the word for what is counted, in its right form.

    >>> count(1, "fold"), count(5, "fold"), count(1.5, "full evaluation", ".3g")
    ('1 fold', '5 folds', '1.5 full evaluations')
    """
    number = f"{n:{form}}"
    return f"{number} {what}{'' if number == '1' else 's'}"


def every(n: float, what: str) -> str:
    """Return words for all of so many things.

    >>> every(1, "point"), every(5, "point")
    ('The only point', 'All 5 points')
    """
    return f"The only {what}" if n == 1 else f"All {count(n, what, '.0f')}"


def be(n: float, one: str = "is", many: str = "are") -> str:
    """Return the verb that goes with so many things.

    >>> be(1), be(2), be(0, "was", "were")
    ('is', 'are', 'were')
    """
    return one if n == 1 else many
