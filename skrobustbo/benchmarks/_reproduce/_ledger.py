"""The runs of a case: one csv line each, small enough to be kept with the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from skrobustbo.benchmarks._lines import LineTable
from skrobustbo.benchmarks._versions import VersionNotes


class Key(NamedTuple):
    """What tells one run of a case from another."""

    method: str
    seed: int
    steps: int


@dataclass(frozen=True)
class Run:
    """One line.

    Parameters
    ----------
    method : str
        Name of the method.
    seed : int
        Seed of the function, the initial design, the noise and the method.
    steps : int
        Queries after the initial design.
    seconds : float
        CPU time of the method's asks and tells.
    numbers : str
        What was measured of the run, as ``name=value`` with spaces between.
    curves : str
        What was followed during the run, as ``name=value|value|...``.
    """

    method: str
    seed: int
    steps: int
    seconds: float
    numbers: str
    curves: str

    @property
    def key(self) -> Key:
        """What tells the run from others."""
        return Key(self.method, self.seed, self.steps)

    @property
    def metrics(self) -> dict[str, float]:
        """What was measured, by name; the CPU time is ``seconds``."""
        read = dict(pair.split("=") for pair in self.numbers.split())
        return {name: float(value) for name, value in read.items()} | {
            "seconds": self.seconds
        }

    def curve(self, name: str) -> list[float]:
        """Return a curve; empty if it was not followed."""
        read = dict(pair.split("=") for pair in self.curves.split())
        return [float(value) for value in read[name].split("|")] if name in read else []


def written_numbers(numbers: Mapping[str, float]) -> str:
    """Return numbers as a run holds them.

    >>> written_numbers({"resets": 3.0, "average": 0.123456789})
    'resets=3 average=0.12346'
    """
    return " ".join(f"{name}={value:.5g}" for name, value in numbers.items())


def written_curves(curves: Mapping[str, Sequence[float]]) -> str:
    """Return curves as a run holds them.

    >>> written_curves({"simple": [1.0, 0.25]})
    'simple=1|0.25'
    """
    return " ".join(
        f"{name}={'|'.join(f'{value:.3g}' for value in values)}"
        for name, values in curves.items()
    )


def ledger(folder: Path, case: str, quick: bool) -> LineTable[Run]:
    """Return the file of a case's runs; the quick form has one of its own."""
    name = f"{case}.quick.csv" if quick else f"{case}.csv"
    return LineTable(folder / name, Run, "reproduce")


def versions_of(folder: Path) -> VersionNotes:
    """Return the note of what the runs in a folder were made with."""
    return VersionNotes(folder / "versions.json")
