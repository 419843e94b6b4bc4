"""How many evaluations a search will have made when its time is up."""

from __future__ import annotations

import math

from skrobustbo.evaluation import Stops

#: Candidates that have to be told in a call before the time that they took counts.
_FEWEST = 5


class Pace:
    """The pace of a search with a time limit: that of the latter half of this call.

    The first half does not count, so that a first fit that takes long, as that of a
    worker that has to start, says nothing of the others. Whoever goes on from a
    checkpoint does not ask again: what has been expected is stored with each candidate.

    Parameters
    ----------
    stops : Stops
        Knows how much time is left.
    """

    def __init__(self, stops: Stops) -> None:
        self._stops = stops
        #: For each time that was asked: candidates told, evaluations, seconds left.
        self._noted: list[tuple[int, float, float]] = []

    def expected(self, n_told: int, n_done: float) -> float | None:
        """Return the number of evaluations that there is time for.

        It is infinite without a limit, and None while it is not known.

        Parameters
        ----------
        n_told : int
            Candidates told so far, to be asked for before each new candidate.
        n_done : float
            Their evaluations, in units of a full one.
        """
        if not self._stops.on_time:
            return math.inf
        left = self._stops.seconds_left
        self._noted.append((n_told, n_done, left))
        first = self._noted[0][0]
        if n_told - first < _FEWEST:
            return None
        half = (first + n_told) / 2
        earlier = (noted for noted in reversed(self._noted) if noted[0] <= half)
        _, n_before, left_before = next(earlier)
        passed = left_before - left
        if passed <= 0:
            return None
        # One that would end just in time is not begun any more.
        return math.ceil(n_done + left * (n_done - n_before) / passed) - 1
