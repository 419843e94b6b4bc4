"""Sub-commands' arguments, the files that they name, and the error that ends them."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TypeAlias

from skrobustbo_benchmarks._names import canonical, unknown_name

# In quotes, as the class takes no type argument when the program runs.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class CommandError(Exception):
    """What the user should fix; its message is shown and the exit status is 2."""


def name_list(tokens: Iterable[str]) -> list[str]:
    """Return the names in words that may each hold several, separated by commas.

    >>> name_list(["branin,wang_trap", "hartmann6"])
    ['branin', 'wang-trap', 'hartmann6']
    """
    names = (canonical(name) for token in tokens for name in token.split(","))
    return list(dict.fromkeys(name for name in names if name))


def checked_names(
    kind: str, tokens: Iterable[str], known: Collection[str]
) -> list[str]:
    """Return the names in `tokens`; CommandError names the first one not in `known`."""
    names = name_list(tokens)
    for name in names:
        if name not in known:
            raise CommandError(str(unknown_name(f"name of a {kind}", name, known)))
    if not names:
        raise CommandError(f"Expected the name of a {kind}. Got none.")
    return names


def seed_list(text: str) -> list[int]:
    """Return the seeds of a text such as ``0-9`` or ``0,3,7`` (ends included).

    >>> seed_list("0-2,7")
    [0, 1, 2, 7]
    """
    seeds = [seed for part in text.split(",") for seed in _seed_range(part.strip())]
    return list(dict.fromkeys(seeds))


def _seed_range(part: str) -> range:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise argparse.ArgumentTypeError(
            f"seeds must be a list such as 0,3,7 or a range such as 0-9, got {part!r}"
        )
    return range(int(match[1]), int(match[2] or match[1]) + 1)


def positive_int(text: str) -> int:
    """Return `text` as an integer of at least 1."""
    if not re.fullmatch(r"\d+", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer >= 1, got {text!r}")
    return int(text)


def seconds(text: str) -> float:
    """Return `text` as a positive, finite number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(
            f"must be a positive number of seconds, got {text!r}"
        )
    return value


def check_can_write(path: Path, option: str = "--out") -> None:
    """Raise a CommandError if a file cannot be written there: before any work."""
    if path.is_dir():
        raise CommandError(
            f"{option} should be the name of a file. Got the folder {str(path)!r}: "
            "give another."
        )
    if not path.parent.is_dir():
        raise CommandError(
            f"The folder of {path} does not exist: create it, or give another {option}."
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise CommandError(
            f"{path} cannot be written: fix its permissions, or give another {option}."
        )


def read_text(path: Path) -> str:
    """Return what a file holds; CommandError if it is no text."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{path} should hold text in UTF-8, but {error}: give another file, or "
            "fix or remove it."
        ) from error


def write_file(path: Path, text: str) -> None:
    """Write a file that the user asked for; CommandError if that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise CommandError(f"Could not write {path}: {error}") from error


def replace_file(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the old one or the new one, nothing else."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
