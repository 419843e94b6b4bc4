"""Candidates from an earlier search, with their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skrobustbo._arguments import checked_flag
from skrobustbo._names import count
from skrobustbo.optimizer import paired


class PreviousCandidates:
    """Candidates that were evaluated earlier, with their scores.

    Pass an instance as the `previous` parameter of `RobustBayesSearchCV`.

    Parameters
    ----------
    params : list of dict
        The candidates.
    scores : list of float
        Scores of the candidates in the metric of the new search. Larger scores are
        better, and nan means a failure.
    same_data : bool, default=True
        Whether the scores were computed on the data of the new search, with similar
        folds. If True, the model learns from the scores. If False, the search only
        tries the best candidates first.

    Attributes
    ----------
    params : list of dict
    scores : list of float
    same_data : bool

    Raises
    ------
    ValueError
        If the numbers of candidates and scores differ.

    Examples
    --------
    >>> from skrobustbo.previous import PreviousCandidates
    >>> PreviousCandidates([{"C": 1.0}, {"C": 10.0}], [0.91, 0.94])
    PreviousCandidates of 2 candidates, the best score 0.94
    """

    def __init__(
        self,
        params: Sequence[Mapping[str, Any]],
        scores: Sequence[float],
        *,
        same_data: bool = True,
    ) -> None:
        if isinstance(params, Mapping):
            raise ValueError(
                "The 'params' of PreviousCandidates must be a list of dicts. Got "
                f"{params!r} instead; write [{params!r}]."
            )
        found = paired(params, scores)
        self.params = [params for params, _ in found]
        self.scores = [score for _, score in found]
        self.same_data = checked_flag("same_data", same_data, "PreviousCandidates")

    def __len__(self) -> int:
        return len(self.params)

    def __repr__(self) -> str:
        n = len(self)
        finite = [score for score in self.scores if abs(score) < float("inf")]
        best = f", the best score {max(finite):.6g}" if finite else ""
        other = "" if self.same_data else ", of other data"
        return f"PreviousCandidates of {count(n, 'candidate')}{best}{other}"
