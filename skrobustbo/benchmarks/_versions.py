"""Notes of what results were made with: versions of packages, and the machine."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from skrobustbo.benchmarks._files import replace_file

Note = dict[str, str]


def versions(distributions: Iterable[str] = ()) -> Note:
    """Return the versions of the package, what it needs and `distributions`.

    With them the machine, as far as the system names it.
    """
    import skrobustbo

    names = ("numpy", "scipy", "scikit-learn", *distributions)
    packages = {name: version(name) for name in names}
    return {
        "skrobustbo": skrobustbo.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
    } | packages


def _processor() -> str:
    """Return the processor's name where the system tells it, and its cores."""
    name = platform.processor() or "unnamed"
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = re.search(r"model name\s*:\s*(.+)", info.read_text("utf-8"))
        name = named[1].strip() if named else name
    return f"{name} ({os.cpu_count()} cores)"


def in_words(note: Mapping[str, str]) -> str:
    """Return a note as a line of text."""
    return ", ".join(f"{name} {value}" for name, value in note.items())


def made_with(notes: Sequence[Mapping[str, str]]) -> str:
    """Return notes as a section in markdown."""
    return "## Made with\n\n" + "\n".join(f"- {in_words(note)}" for note in notes)


class VersionNotes:
    """A file of notes, one for each set of versions that results were made with."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Note]:
        """Return the notes; none if there is no file."""
        if not self.path.exists():
            return []
        notes: list[Note] = json.loads(self.path.read_text("utf-8"))
        return notes

    def add(self, distributions: Iterable[str] = ()) -> bool:
        """Note what results are made with now; return whether all notes agree.

        They agree if none names another version of what an earlier one names, too.
        """
        notes = self.read()
        if (note := versions(distributions)) not in notes:
            notes.append(note)
            replace_file(self.path, json.dumps(notes, indent=2) + "\n")
        named = {item for note in notes for item in note.items()}
        return len(named) == len({name for name, _ in named})
