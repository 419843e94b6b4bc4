"""Causes of failed candidates, and other results needed for the report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skrobustbo._names import count, every, printable
from skrobustbo._trials import Evaluation
from skrobustbo.checkpoint import Journal
from skrobustbo.model_selection._settings import Search
from skrobustbo.optimizer import Optimizer

Trials = Sequence[Evaluation]

#: A search without any score ends after at least this many candidates.
_CHANCES = 3
#: Maximum number of causes to keep, and their maximum length in characters.
_CAUSES, _LENGTH = 50, 300
#: Start of a traceback line that names a location.
FRAME = '  File "'


@dataclass(frozen=True)
class Outcome:
    """Results needed for the report in addition to the fitted attributes.

    Attributes
    ----------
    optimizer : Optimizer
        The optimizer of the search, which the user may continue to use.
    metric : str or None
        Name of the metric to optimise, if there are several metrics.
    n_planned : int
        Number of planned candidates.
    is_resumed : bool
        Whether `resume` was used to evaluate more candidates than `n_iter`.
    n_used : float
        Amount of `n_iter` that has been used, including unfinished candidates.
    trials : list of Evaluation
        The evaluated candidates and the results of their folds.
    previous : str
        Message about the candidates from an earlier search; empty if there are none.
    default : str
        Message about the untuned estimator; empty if it is an ordinary candidate.
    read : list of str
        Messages about the results read from the checkpoint.
    n_read_failed : int
        Number of failed folds in the checkpoint.
    """

    optimizer: Optimizer
    metric: str | None
    n_planned: int
    is_resumed: bool = False
    n_used: float = 0
    trials: Trials = ()
    previous: str = ""
    default: str = ""
    read: Sequence[str] = ()
    n_read_failed: int = 0

    @property
    def failures(self) -> list[tuple[str, int, int]]:
        """Causes of failed folds, with the number of affected folds and candidates.

        A cause consists of the type and the first line of an exception. The causes are
        sorted by decreasing number of folds.
        """
        folds: Counter[str] = Counter()
        candidates: Counter[str] = Counter()
        for trial in self.trials:
            found = list(causes(trial, self.metric))
            folds.update(found)
            candidates.update(set(found))
        # Ties keep their order of appearance.
        return [(c, n, candidates[c]) for c, n in folds.most_common(_CAUSES)]

    @property
    def n_failed(self) -> int:
        """Number of evaluations without a finite score."""
        means = [trial.mean_of_folds(self.metric) for trial in self.trials]
        return len(means) - sum(map(math.isfinite, means))


def exception_line(traceback: str) -> str:
    """Return the first line of the exception at the end of a traceback."""
    lines = traceback.strip().splitlines()
    frames = [i for i, line in enumerate(lines) if line.startswith(FRAME)]
    rest = lines[frames[-1] :] if frames else lines
    found = next((line for line in rest if not line.startswith(" ")), "")
    return printable(found or "".join(rest[-1:]).strip()) or "an error without a text"


def causes(trial: Evaluation, metric: str | None) -> Iterator[str]:
    """Yield the cause of each failed fold of a candidate."""
    for fold, score in zip(trial.folds, trial.scores(metric), strict=True):
        if fold.fit_error:
            yield exception_line(fold.fit_error)[:_LENGTH]
        elif not math.isfinite(score):
            yield f"the score was {score}"


def check_fits(
    trials: Trials, search: Search, journal: Journal, *, least: int, last: bool
) -> None:
    """Raise an error if all fits have failed and further fits are likely to fail.

    The error is raised after three candidates if all fits raised the same exception.
    Otherwise, it is raised at the end of the initial design or of the search. The
    search continues if at least one fit succeeds or if `error_score` is a number.
    """
    error_score = search.error_score
    goes_on = not isinstance(error_score, str) and not math.isnan(error_score)
    errors = [fold.fit_error or "" for trial in trials for fold in trial.folds]
    if goes_on or not errors or "" in errors:
        return
    same = len({exception_line(error) for error in errors}) == 1
    # A fold that took too long or killed its worker raised nothing.
    same = same and all(FRAME in error for error in errors)
    least = _CHANCES if same else max(_CHANCES, least)
    if last or len(trials) >= least:
        raise ValueError(_all_failed(trials, errors, search, journal))


def _all_failed(
    trials: Trials, errors: Sequence[str], search: Search, journal: Journal
) -> str:
    n, name = len(trials), type(search.estimator).__name__
    fix = f"fix {name}, the data or 'param_space'"
    amounts = [trial.resource for trial in trials if trial.resource is not None]
    if len(amounts) == n:
        fix += f", or raise the 'min' of Resource (at most {max(amounts):g} so far)"
    first = count(n, "candidate") if n > 1 else "candidate"
    read, again, n_read = ",", "", journal.n_read_failed
    if n_read:
        read = f", {n_read} of them in the checkpoint {journal.path!r},"
        again = ", and repeat the call with retry_failed=True"
    settings = "a number as error_score lets the search go on"
    if FRAME in errors[-1]:
        settings = (
            "error_score='raise' shows the traceback, a number lets the search go on"
        )
    return (
        f"{every(len(errors), 'fit')} of the first {first} failed{read} the last "
        f"with {exception_line(errors[-1])!r}: {fix}{again}; {settings}."
    )
