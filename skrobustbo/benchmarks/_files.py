"""Writing of whole files."""

from __future__ import annotations

import os
from pathlib import Path

from skrobustbo.benchmarks._args import CommandError


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
