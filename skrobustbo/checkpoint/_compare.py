"""Comparing the search of a checkpoint, and its versions, with those at hand."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from warnings import warn

from skrobustbo._names import printable

#: For each part of a search, its items and their descriptions.
Parts = Mapping[str, Mapping[str, str]]

_CALLED = {
    "data": "the data {}",
    "estimator": "the estimator parameter {}",
    "space": "the space of {}",
    "cv": "cv",
    "scoring": "the scoring",
    "settings": "the setting {}",
}
#: The setting that may be left out later: what is kept for it harms nobody.
_OPTIONAL = ("settings", "honest_score")
#: Name of the item that is the part itself, rather than something in it.
WHOLE = ""
_WHOLE = {"estimator": "the estimator", "space": "the space"}
_SHOWN = 200


def difference(before: Parts, now: Parts, seeds: tuple[int, int] | None) -> str | None:
    """Return in words what differs first between two searches; None if nothing.

    The seeds, of before and of now, are None where that of now was drawn.
    """
    for part in _CALLED:
        old, new = before.get(part, {}), now.get(part, {})
        names = [
            name
            for name in {**old, **new}
            if old.get(name) != new.get(name)
            and not ((part, name) == _OPTIONAL and name not in new)
        ]
        if names:
            # Of a pipeline and its parameter, the parameter says more.
            name = max(names, key=lambda name: (name == WHOLE, name.count("__")))
            called = _CALLED[part].format(_shown(name))
            if name == WHOLE:
                called = _WHOLE.get(part, called)
            was, now_is = (_shown(each.get(name, "absent")) for each in (old, new))
            return f"{called} was {was} and is now {now_is}"
    if list(before) != list(now):
        return "its parts are others"
    if seeds is None or seeds[0] == seeds[1]:
        return None
    return f"the setting random_state was {seeds[0]} and is now {seeds[1]}"


def _shown(text: str) -> str:
    """Return a text from a file, or a long one, as it may stand in a message."""
    text = printable(text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return in words which settings differ between two calls, of those of both."""
    return [
        f"{_shown(name)} was {_shown(before[name])} and is now {_shown(value)}"
        for name, value in now.items()
        if before.get(name, value) != value
    ]


# Versions -----------------------------------------------------------------------------

_PACKAGES = ("skrobustbo", "scikit-learn", "numpy", "scipy")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a build under another name
        return "unknown"


def versions_here() -> dict[str, str]:
    """Return the versions of the packages that scores and candidates depend on."""
    return {name: _version(name) for name in _PACKAGES}


def compare_versions(path: str, written: Mapping[str, str]) -> None:
    """Warn if packages have other versions than when a checkpoint was written."""
    changed = [
        f"{name} {_shown(written[name])} there, {now} here"
        for name, now in versions_here().items()
        if written.get(name, now) != now
    ]
    if changed:
        warn(
            f"The checkpoint {path!r} was written with other versions "
            f"({', '.join(changed)}): its contents are used, but the rest of "
            "the search may differ from what it would have been.",
            stacklevel=2,
        )
