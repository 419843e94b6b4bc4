"""Notes of what results were made with: versions of packages, and the machine."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._files import read_text, replace_file

Note = dict[str, str]
#: What a note names besides versions, and how several of each are called.
_PLACES = {"machine": "machines", "processor": "processors"}


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
        try:
            notes: list[Note] = json.loads(read_text(self.path))
        except ValueError as error:
            raise CommandError(
                f"{self.path} should hold notes of versions as JSON, but {error}: fix "
                "or remove the file."
            ) from error
        return notes

    def add(self, distributions: Iterable[str] = ()) -> str:
        """Note what results are made with now; return in words what differs.

        That is nothing, "", if no note names another version of what an earlier one
        names, too.
        """
        notes = self.read()
        if (note := versions(distributions)) not in notes:
            notes.append(note)
            self.write(notes)
        return _mixture(notes)

    def write(self, notes: Sequence[Note]) -> None:
        """Write these notes; no file, and none that was there, if there are none."""
        if notes:
            replace_file(self.path, json.dumps(notes, indent=2) + "\n")
        else:
            self.path.unlink(missing_ok=True)


def notes_beside(table: Path) -> VersionNotes:
    """Return the notes on a csv file, in a file of the same name beside it."""
    return VersionNotes(table.with_suffix(".versions.json"))


def _mixture(notes: Sequence[Note]) -> str:
    """Return what notes disagree on, such as "different versions of numpy"."""
    named: dict[str, set[str]] = {}
    for note in notes:
        for name, value in note.items():
            named.setdefault(name, set()).add(value)
    differing = [name for name, values in named.items() if len(values) > 1]
    packages = ", ".join(name for name in differing if name not in _PLACES)
    parts = [f"different versions of {packages}"] if packages else []
    parts += [f"different {_PLACES[name]}" for name in differing if name in _PLACES]
    return " and ".join(parts)
