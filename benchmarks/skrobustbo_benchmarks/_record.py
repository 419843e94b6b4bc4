"""The record of experiments: a problem, a method and a seed give a trace.

Traces are csv files with a row for each evaluation; a line that sums a run up has a
file of its kind, too. A run is written only when it is over, by one process, and
flushed to the disk at once. Whatever a killed process leaves behind (a torn last line,
a run whose rows are not all there) is recognised and dropped, so the same command
resumes.
"""

from __future__ import annotations

import io
import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from skrobustbo_benchmarks._args import (
    CommandError,
    check_can_write,
    read_text,
    replace_file,
)

Note = dict[str, str]
#: What a note names besides versions, and how several of each are called.
_PLACES = {"machine": "machines", "processor": "processors"}
#: What methods are compared on, the runs that differ in their seed only, and one run.
TASK = ["problem", "n_iter"]
GROUP = [*TASK, "policy"]
KEY = [*GROUP, "seed"]


class RunKey(NamedTuple):
    """What tells one run from another."""

    problem: str
    n_iter: int
    policy: str
    seed: int

    def __str__(self) -> str:
        """Return what is being run."""
        return f"{self.problem} {self.policy} seed {self.seed}"


#: The columns of a trace.
TRACE: dict[str, type] = {
    "problem": str,
    "policy": str,
    "seed": int,  # of the initial design, the noise and the method
    "n_iter": int,  # evaluations asked for
    "n_initial": int,  # evaluations that belong to the initial design
    "n_evals": int,  # evaluations made: fewer where the space was exhausted
    "step": int,  # number of this evaluation, from 1
    "value": float,  # the objective without its noise, nan if the evaluation failed
    "observed": float,  # what the method was told
    "best": float,  # largest value so far; the value itself where optima move
    "optimum": float,  # the problem's (at this step), nan where it is not known
    "stuck_below": float,  # the problem's, nan where it has none
    "cpu_seconds": float,  # of the ask and the tell of this step
    "model_label": str,  # what proposed the point
}
#: The columns of a file that notes runs without results.
_FAILURE: dict[str, type] = {
    **dict(zip(KEY, (str, int, str, int), strict=True)),
    "kind": str,  # "failed" or "timeout"
    "limit": float,  # the time limit in seconds, nan where there was none
    "message": str,  # the last line of what the process said
}


class Table:
    """The csv file at `path`.

    Parameters
    ----------
    path : path-like
        The file, which need not exist.
    columns : mapping of str to type
        What a row holds: str, int and float.
    key : sequence of str
        The columns that tell a run from others.
    command : str
        Name of the command that writes such files, for messages.
    keep : {"first", "last"}
        Which of equal runs counts.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Mapping[str, type] = TRACE,
        *,
        key: Sequence[str] = KEY,
        command: str = "run",
        keep: str = "first",
    ):
        self.path, self.columns, self.key = Path(path), dict(columns), list(key)
        self._command, self._keep = command, keep
        self._header = ",".join(columns) + "\n"

    def is_there(self) -> bool:
        """Return whether there is a file that begins as one with all columns does."""
        header = self._header.encode()
        if not self.path.is_file():
            return False
        with self.path.open("rb") as file:
            return file.read(len(header)) == header

    def read(self) -> tuple[pd.DataFrame, bool]:
        """Return the rows of the complete runs, and whether there is nothing else.

        Raises
        ------
        CommandError
            If the file is not a table of this kind.
        """
        text = read_text(self.path)
        header, newline, body = text[: text.rfind("\n") + 1].partition("\n")
        if newline and header + newline != self._header:
            raise self._damaged("its first line is not the header of such a table")
        try:
            rows = self.parse(body)
        except ValueError as error:
            raise self._damaged(f"a line is damaged ({error})") from error
        kept = rows[self._is_complete(rows)]
        whole = bool(newline) and body == text[len(self._header) :]
        return kept, whole and len(kept) == len(rows)

    def parse(self, text: str) -> pd.DataFrame:
        """Return the rows of csv text without a header; ValueError for damage."""
        rows = pd.read_csv(
            io.StringIO(text),
            names=list(self.columns),
            dtype=str,
            index_col=False,
            keep_default_na=False,
        )
        if rows.isna().any(axis=None):
            raise ValueError("cells are missing")
        # Python reads a float to the last bit; pandas does so on request or not at all.
        return pd.DataFrame(
            {
                name: rows[name] if kind is str else rows[name].map(kind).astype(kind)
                for name, kind in self.columns.items()
            }
        )

    def complete(self, text: str) -> pd.DataFrame:
        """Return the rows of those runs in csv text that are all there."""
        rows = self.parse(text)
        return rows[self._is_complete(rows)]

    def text(self, rows: pd.DataFrame) -> str:
        """Return rows as csv text, without a header."""
        return format_rows(rows[list(self.columns)])

    def _is_complete(self, rows: pd.DataFrame) -> pd.Series:
        """Return which rows belong to runs that are all there, and count."""
        if "n_evals" not in self.columns:
            return ~rows.duplicated(self.key, keep=self._keep)
        begins = rows["step"].eq(1) | rows[self.key].ne(rows[self.key].shift()).any(
            axis=1
        )
        block = begins.cumsum()
        blocks = rows.groupby(block)["step"]
        good = rows["step"].eq(blocks.cumcount() + 1)
        whole = good.groupby(block).transform("all")
        whole &= blocks.transform("size").eq(rows["n_evals"])
        first = rows[whole & begins].drop_duplicates(self.key).index
        return block.isin(block[first])

    def _damaged(self, what: str) -> CommandError:
        return CommandError(
            f"{self.path} should hold results of the '{self._command}' command, but "
            f"{what}: give another --out, or fix or remove the file."
        )

    def open(self) -> set[tuple[Any, ...]]:
        """Make the file ready for `append` and return the keys of the runs in it.

        The file is created if it does not exist; incomplete runs are cut out.
        """
        check_can_write(self.path)
        rows, is_clean = self.read() if self.path.exists() else (self.parse(""), False)
        if not is_clean:
            replace_file(self.path, self._header + self.text(rows))
        return keys_of(rows, self.key)

    def append(self, rows: pd.DataFrame) -> None:
        """Write complete runs to the disk, in one write."""
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(self.text(rows))
            file.flush()
            os.fsync(file.fileno())

    @property
    def versions(self) -> VersionNotes:
        """The note beside the table of what it was made with."""
        return notes_beside(self.path)

    @property
    def failures(self) -> Table:
        """The runs that gave no results, in a file of the same name beside it."""
        path = self.path.with_suffix(".failures.csv")
        return Table(path, _FAILURE, command="run (its failures)", keep="last")


def format_rows(rows: pd.DataFrame) -> str:
    """Return rows as csv text without a header; floats are written in full."""
    return str(
        rows.to_csv(header=False, index=False, na_rep="nan", lineterminator="\n")
    )


def keys_of(rows: pd.DataFrame, key: Sequence[str] = KEY) -> set[tuple[Any, ...]]:
    """Return the keys of the runs that rows belong to."""
    return set(rows[list(key)].itertuples(index=False, name=None))


def read_failures(table: Table) -> pd.DataFrame:
    """Return the last failure of each run of a table."""
    log = table.failures
    return log.read()[0] if log.path.exists() else log.parse("")


def note_failure(table: Table, key: RunKey, error: Exception, limit: float) -> None:
    """Note that a run ended with an error, under a limit in seconds or nan."""
    kind = "timeout" if isinstance(error, TimeoutError) else "failed"
    message = (str(error).strip().splitlines() or [""])[-1]
    log = table.failures
    log.open()
    log.append(pd.DataFrame([(*key, kind, limit, message)], columns=list(_FAILURE)))


# -- what results were made with ------------------------------------------------------


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
