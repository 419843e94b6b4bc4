"""The csv file of answers: one row per probe and search, the latest answer only."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._conformance._peers import PEERS
from skrobustbo.benchmarks._conformance._probes import PROBES
from skrobustbo.benchmarks._files import read_text


@dataclass(frozen=True)
class Answer:
    """One row of the file.

    Parameters
    ----------
    probe : str
        Name of a probe.
    estimator : str
        Name of a search.
    version : str
        Of its package, and of scikit-learn beside it.
    outcome : {"yes", "no", "n/a"}
        Whether the search does what the probe says.
    count : str
        Such as "48/50", or empty.
    reason : str
        One line, or empty.
    """

    probe: str
    estimator: str
    version: str
    outcome: str
    count: str
    reason: str


Answers = dict[tuple[str, str], Answer]
COLUMNS = [column.name for column in fields(Answer)]


def read(path: Path) -> Answers:
    """Return the answers of a file, none if there is no file.

    Answers to probes and of searches that are no more are left out.

    Raises
    ------
    CommandError
        If the file is no such table.
    """
    if not path.exists():
        return {}
    header, *rows = list(csv.reader(io.StringIO(read_text(path)))) or [[]]
    if header != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise CommandError(f"{path} is not a table of the command 'conformance'.")
    return keyed(Answer(*row) for row in rows)


def keyed(answers: Iterable[Answer]) -> Answers:
    """Return answers by probe and search, in the order of the page."""
    found = {(answer.probe, answer.estimator): answer for answer in answers}
    order = ((probe, peer) for probe in PROBES for peer in PEERS)
    return {key: found[key] for key in order if key in found}


def write(path: Path, answers: Answers) -> None:
    """Write the answers, in their order, in place of what is there."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(astuple(answer) for answer in answers.values())
