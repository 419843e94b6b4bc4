"""The interface of candidate sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from skrobustbo._trials import Evaluation
from skrobustbo.evaluation._plan import Schedule
from skrobustbo.evaluation._resource import ResourceAxis


class Source(Protocol):
    """Provides the candidates of a search, round by round.

    Attributes
    ----------
    trials : list of Evaluation
        The candidates with known scores so far.
    n_planned : int
        Largest possible number of candidates.
    n_rounds : int or None
        Maximum number of rounds; None if all candidates are known in advance.
    metric : str or None
        The metric to optimise, if there are several.
    near : str
        A message if the search is about to end before its last candidate, else "".
    reason : str
        Why there are no more candidates.
    schedule : Schedule
        Decides when to request candidates and pass on their values.
    resource : ResourceAxis or None
        The resource, if candidates may be evaluated with part of it.
    """

    trials: list[Evaluation]
    n_rounds: int | None
    metric: str | None
    near: str
    reason: str
    schedule: Schedule
    resource: ResourceAxis | None

    @property
    def n_planned(self) -> int:
        """Largest possible number of candidates."""

    def check(self, metrics: list[str]) -> None:
        """Raise a ValueError if the source cannot use these metrics.

        An empty list stands for a single unnamed metric. Called before the first fit,
        or after it if the scorer is a callable whose metrics are unknown until then.
        """

    def next_round(self) -> list[Evaluation]:
        """Return candidates to evaluate in parallel; empty at the end.

        They are numbered from 0.
        """

    def tell(self, trial: Evaluation) -> None:
        """Record a candidate whose fold results are known."""

    def progress(self) -> Mapping[str, Any]:
        """Return the progress for callbacks."""

    def columns(self) -> Mapping[str, Any]:
        """Return the columns to add to the table of results."""
