"""Csv files with one line for each run, added to as the runs end.

A last line that a killed process has left torn is dropped, so the same command resumes.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import MISSING, Field, asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._files import (
    check_can_write,
    read_text,
    replace_file,
    write_file,
)


class Line(Protocol):
    """A dataclass of str, int, float and list[float], with a key."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def key(self) -> Hashable:
        """What tells the run from others."""
        ...


L = TypeVar("L", bound=Line)

_READERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "list[float]": json.loads,
}


class LineTable(Generic[L]):
    """The csv file at `path`.

    Parameters
    ----------
    path : Path
        The file, which need not exist.
    kind : type
        What a line holds. A file may lack the columns that have a default.
    command : str
        Name of the command that writes such files, for messages.
    """

    def __init__(self, path: Path, kind: type[L], command: str):
        self.path = path
        self.columns = tuple(column.name for column in fields(kind))
        self._needed = tuple(c.name for c in fields(kind) if c.default is MISSING)
        self._header = ",".join(self.columns) + "\n"
        self._kind: Any = kind
        self._command = command

    def is_there(self) -> bool:
        """Return whether there is a file that begins as one with all columns does."""
        if not self.path.is_file():
            return False
        header = self._header.encode()
        with self.path.open("rb") as file:
            return file.read(len(header)) == header

    def read(self) -> dict[Any, L]:
        """Return the runs by their keys, the first of equal ones.

        Raises
        ------
        CommandError
            If the file is not a table of this kind.
        """
        text = read_text(self.path)
        whole = text[: text.rfind("\n") + 1]
        reader = csv.DictReader(io.StringIO(whole), strict=True)
        try:
            header = tuple(reader.fieldnames or ())
            if whole and header not in (self.columns, self._needed):
                raise ValueError("its first line is not the header of such a table")
            rows = [self._parse(row) for row in reader]
        except (ValueError, TypeError, csv.Error) as error:
            raise CommandError(
                f"{self.path} should hold results of the '{self._command}' command, "
                f"but {error}: give another --out, or mend or remove the file."
            ) from error
        runs: dict[Any, L] = {}
        for run in rows:
            runs.setdefault(run.key, run)
        return runs

    def _parse(self, row: Mapping[str, str]) -> L:
        read = {
            column.name: _READERS[str(column.type)](row[column.name])
            for column in fields(self._kind)
            if column.name in row
        }
        run: L = self._kind(**read)
        return run

    def _format(self, runs: Iterable[L]) -> str:
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writerows(map(_cells, runs))
        return text.getvalue()

    def open(self) -> set[Any]:
        """Make the file ready for `append` and return the keys of the runs in it."""
        path = self.path
        check_can_write(path)
        runs = self.read() if path.exists() else {}
        text = self._text(runs.values())
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            replace_file(path, text)
        return set(runs)

    def write(self, runs: Iterable[L]) -> None:
        """Write a file of these runs; CommandError if that cannot be done."""
        write_file(self.path, self._text(runs))

    def _text(self, runs: Iterable[L]) -> str:
        return self._header + self._format(runs)

    def append(self, run: L) -> None:
        """Write a run to the disk, as one line in one write."""
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(self._format([run]))
            file.flush()
            os.fsync(file.fileno())


def _cells(run: Line) -> dict[str, Any]:
    return {
        name: json.dumps(value) if isinstance(value, list) else value
        for name, value in asdict(run).items()
    }
