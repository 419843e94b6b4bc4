"""The results: one csv row per evaluation, one append per run.

A run is written only when it is over, by one process, and flushed to the disk at once.
Whatever a killed process leaves behind (a torn last line, a run whose rows are not all
there) is recognised and dropped, so the same command resumes.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import NamedTuple

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._files import check_can_write, read_text, replace_file
from skrobustbo.benchmarks._versions import VersionNotes, notes_beside


class RunKey(NamedTuple):
    """What tells one run from another."""

    problem: str
    n_iter: int
    policy: str
    seed: int


@dataclass(frozen=True)
class Evaluation:
    """One row.

    Parameters
    ----------
    problem, policy : str
        Names.
    seed : int
        Seed of the initial design, the noise and the method.
    n_iter : int
        Evaluations asked for.
    n_initial : int
        Evaluations that belong to the initial design.
    n_evals : int
        Evaluations made: `n_iter`, or fewer where the space was exhausted.
    step : int
        Number of this evaluation, from 1.
    value : float
        The objective without its noise, nan if the evaluation failed.
    observed : float
        What the method was told.
    best : float
        Largest `value` so far in the run, nan before the first finite one; `value`
        itself where the objective changes in time.
    optimum : float
        The problem's optimum (at this step), nan where it is not known.
    stuck_below : float
        The problem's `stuck_below`, nan where it has none.
    cpu_seconds : float
        CPU time of the ask and the tell of this step.
    model_label : str
        What proposed the point.
    """

    problem: str
    policy: str
    seed: int
    n_iter: int
    n_initial: int
    n_evals: int
    step: int
    value: float
    observed: float
    best: float
    optimum: float
    stuck_below: float
    cpu_seconds: float
    model_label: str

    @property
    def key(self) -> RunKey:
        """The run that the row belongs to."""
        return RunKey(self.problem, self.n_iter, self.policy, self.seed)


Run = list[Evaluation]
COLUMNS = tuple(column.name for column in fields(Evaluation))
_READERS = {"str": str, "int": int, "float": float}


def format_rows(rows: Iterable[Evaluation]) -> str:
    """Return rows as csv text, without a header; floats are written in full."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(astuple, rows))
    return text.getvalue()


def parse_rows(text: str) -> Run:
    """Return the rows of csv text without a header; ValueError if one is damaged."""
    return [_parse_row(cells) for cells in csv.reader(io.StringIO(text))]


def _parse_row(cells: Sequence[str]) -> Evaluation:
    columns = zip(fields(Evaluation), cells, strict=True)
    return Evaluation(*(_READERS[str(column.type)](cell) for column, cell in columns))


class Table:
    """The csv file at `path`."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    def read(self) -> tuple[dict[RunKey, Run], bool]:
        """Return the complete runs, and whether the file holds nothing else.

        Raises
        ------
        CommandError
            If the file is not a table of this kind.
        """
        text = read_text(self.path)
        whole = text[: text.rfind("\n") + 1]
        header, _, body = whole.partition("\n")
        if whole and header != ",".join(COLUMNS):
            raise self._damaged("its first line is not the header of a results table")
        try:
            blocks = list(_blocks(parse_rows(body)))
        except (ValueError, TypeError, csv.Error) as error:
            raise self._damaged(f"a line is damaged ({error})") from error
        runs: dict[RunKey, Run] = {}
        for run in filter(_is_complete, blocks):
            runs.setdefault(run[0].key, run)
        return runs, bool(whole) and whole == text and len(runs) == len(blocks)

    def _damaged(self, what: str) -> CommandError:
        return CommandError(
            f"{self.path} should hold results of the 'run' command, but {what}: "
            "give another --out, or mend or remove the file."
        )

    def open(self) -> set[RunKey]:
        """Make the file ready for `append` and return the runs that it holds.

        The file is created if it does not exist; incomplete runs are cut out.
        """
        check_can_write(self.path)
        runs, is_clean = self.read() if self.path.exists() else ({}, False)
        if not is_clean:
            rows = (row for run in runs.values() for row in run)
            replace_file(self.path, ",".join(COLUMNS) + "\n" + format_rows(rows))
        return set(runs)

    def append(self, run: Run) -> None:
        """Write a complete run to the disk."""
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(format_rows(run))
            file.flush()
            os.fsync(file.fileno())

    @property
    def versions(self) -> VersionNotes:
        """The note beside the table of what it was made with."""
        return notes_beside(self.path)


def _blocks(rows: Iterable[Evaluation]) -> Iterator[Run]:
    """Cut rows where a run begins."""
    block: Run = []
    for row in rows:
        if block and (row.step == 1 or row.key != block[-1].key):
            yield block
            block = []
        block.append(row)
    if block:
        yield block


def _is_complete(run: Run) -> bool:
    return [row.step for row in run] == list(range(1, run[0].n_evals + 1))
