"""Runs that gave no results: one csv row each, beside the table of those that did."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._files import read_text, replace_file
from skrobustbo.benchmarks._table import RunKey


@dataclass(frozen=True)
class Failure:
    """One row.

    Parameters
    ----------
    problem, n_iter, policy, seed
        The run.
    kind : {"failed", "timeout"}
        Whether its process ended by itself.
    limit : float
        The time limit in seconds, nan where there was none.
    message : str
        The last line of what the process said.
    """

    problem: str
    n_iter: int
    policy: str
    seed: int
    kind: str
    limit: float
    message: str

    @property
    def key(self) -> RunKey:
        """The run."""
        return RunKey(self.problem, self.n_iter, self.policy, self.seed)


_HEADER = ",".join(column.name for column in fields(Failure))


class FailureLog:
    """The failures of the table at `table`, in a file of the same name beside it."""

    def __init__(self, table: Path):
        self.path = table.with_suffix(".failures.csv")

    def read(self) -> dict[RunKey, Failure]:
        """Return the last failure of each run; a torn last line is left out.

        Raises
        ------
        CommandError
            If the file is not of this kind.
        """
        if not self.path.exists():
            return {}
        text = read_text(self.path)
        header, _, body = text[: text.rfind("\n") + 1].partition("\n")
        try:
            failures = [_parse(row) for row in csv.reader(io.StringIO(body))]
        except (ValueError, csv.Error) as error:
            raise self._damaged(f"a line is damaged ({error})") from error
        if header not in ("", _HEADER):
            raise self._damaged("its first line is another")
        return {failure.key: failure for failure in failures}

    def _damaged(self, what: str) -> CommandError:
        return CommandError(
            f"{self.path} should hold the failures of the 'run' command, but {what}: "
            "mend or remove the file."
        )

    def add(self, failure: Failure) -> None:
        """Write a failure to the file, after a torn last line if there is one."""
        before = read_text(self.path) if self.path.exists() else ""
        whole = before[: before.rfind("\n") + 1] or _HEADER + "\n"
        row = io.StringIO()
        csv.writer(row, lineterminator="\n").writerow(astuple(failure))
        replace_file(self.path, whole + row.getvalue())


def _parse(cells: list[str]) -> Failure:
    problem, n_iter, policy, seed, kind, limit, message = cells
    return Failure(problem, int(n_iter), policy, int(seed), kind, float(limit), message)


def failure_of(key: RunKey, error: Exception, limit: float | None) -> Failure:
    """Return the row of a run that ended with an error, under a limit in seconds."""
    kind = "timeout" if isinstance(error, TimeoutError) else "failed"
    lines = str(error).strip().splitlines() or [""]
    return Failure(*key, kind, math.nan if limit is None else limit, lines[-1])
