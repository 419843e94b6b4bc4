"""What a search asks for candidates, whatever they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from skrobustbo._trials import Evaluation
from skrobustbo.evaluation._plan import Schedule
from skrobustbo.evaluation._resource import ResourceAxis


class Source(Protocol):
    """What a search asks for candidates, round by round.

    Attributes
    ----------
    trials : list of Evaluation
        Those told so far.
    n_planned : int
        Number of candidates there will be at most.
    n_rounds : int or None
        Number of rounds at most, None where all candidates are known beforehand.
    metric : str or None
        The metric searched for where there are several.
    near : str
        Says so where the search is about to end before its last candidate, else "".
    reason : str
        Why there are no more candidates.
    schedule : Schedule
        When to ask for candidates and tell their values.
    resource : ResourceAxis or None
        The resource, if candidates are evaluated with a part of it.
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
        """Number of candidates there will be at most."""

    def check(self, metrics: list[str]) -> None:
        """Raise a ValueError if the source cannot do with these metrics.

        There are none where a single one has no name. Called before the first fit, or
        after it if only then it is known what a callable scorer returns.
        """

    def next_round(self) -> list[Evaluation]:
        """Return the candidates to evaluate side by side; none when it is over.

        They are numbered from 0 on.
        """

    def tell(self, trial: Evaluation) -> None:
        """Take note of a candidate whose folds are known."""

    def progress(self) -> Mapping[str, Any]:
        """Return what callbacks are told of the search so far."""

    def columns(self) -> Mapping[str, Any]:
        """Return the columns to add to the table of results."""
