"""Versions of the packages that write and read a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from warnings import warn

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
        f"{name} {before} there, {now} here"
        for name, before in written.items()
        if name in _PACKAGES and (now := _version(name)) != before
    ]
    if changed:
        warn(
            f"The checkpoint {path!r} was written with other versions "
            f"({', '.join(changed)}): what is in it is used, but the rest of the "
            "search may differ from what it would have been.",
            stacklevel=2,
        )
