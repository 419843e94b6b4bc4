"""Writing of whole files."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from skrobustbo.benchmarks._args import CommandError


def write_file(path: Path, text: str) -> None:
    """Write a file that the user asked for; CommandError if that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise CommandError(f"Could not write {path}: {error}") from error


def write_csv(
    path: Path, header: Sequence[str], lines: Iterable[Sequence[Any]]
) -> None:
    """Write a csv file that the user asked for; CommandError if that fails."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    write_file(path, text.getvalue())


def replace_file(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the old one or the new one, nothing else."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
