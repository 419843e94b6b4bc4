"""Interface for sources of candidates."""

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
        Candidates whose scores are known so far.
    n_planned : int
        Maximum number of candidates.
    n_rounds : int or None
        Maximum number of rounds, or None if all candidates are known in advance.
    metric : str or None
        Name of the metric to optimise, or None if there is only one.
    near : str
        A message if the search is about to end early, or an empty string.
    reason : str
        Why there are no more candidates.
    schedule : Schedule
        Rules for when to request candidates and report their values.
    resource : ResourceAxis or None
        Resource that candidates may use in part, or None if there is none.
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
        """Maximum number of candidates."""

    def check(self, metrics: list[str]) -> None:
        """Raise a ValueError if the source cannot use these metrics.

        An empty list represents a single unnamed metric. This method is called before
        the first fit. If the metrics of a callable scorer are unknown until then, it is
        called after the first fit.
        """

    def next_round(self) -> list[Evaluation]:
        """Return the next candidates to evaluate in parallel.

        Candidates are numbered from 0. The list is empty at the end of the search.
        """

    def tell(self, trial: Evaluation) -> None:
        """Record a candidate whose fold results are known."""

    def progress(self) -> Mapping[str, Any]:
        """Return information about the progress for callbacks."""

    def columns(self) -> Mapping[str, Any]:
        """Return the columns to add to the table of results."""
