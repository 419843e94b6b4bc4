"""What made candidates fail, and what else a report needs of a search."""

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

#: Candidates tried at least before a search without any score is given up.
_CHANCES = 3
#: Causes kept, and characters of each.
_CAUSES, _LENGTH = 50, 300
#: What a line of a traceback begins with that says where.
FRAME = '  File "'


@dataclass(frozen=True)
class Outcome:
    """What the report needs besides the fitted attributes.

    Attributes
    ----------
    optimizer : Optimizer
        The one that the search asked; the user may go on with it.
    metric : str or None
        The metric searched for where there are several.
    n_planned : int
        Candidates planned.
    is_resumed : bool
        Whether there are more than the setting `n_iter` says, by `resume`.
    n_used : float
        What has been used of `n_iter`: candidates asked, those that were not finished
        included, or resource.
    trials : list of Evaluation
        The candidates, with their folds.
    previous : str
        What became of the candidates of an earlier search, "" without any.
    default : str
        What became of the estimator as given, "" if it is a candidate like others.
    read : list of str
        What was read from the checkpoint, in words.
    n_read_failed : int
        Folds in it that had failed.
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
        """The causes of failed folds, each with how many folds and candidates it cost.

        A cause is the type and the first line of an exception. The most frequent one
        comes first.
        """
        folds: Counter[str] = Counter()
        candidates: Counter[str] = Counter()
        for trial in self.trials:
            found = list(causes(trial, self.metric))
            folds.update(found)
            candidates.update(set(found))
        # Equally frequent ones stay in the order in which they came.
        return [(c, n, candidates[c]) for c, n in folds.most_common(_CAUSES)]

    @property
    def n_failed(self) -> int:
        """Evaluations without a finite score."""
        means = [trial.mean_of_folds(self.metric) for trial in self.trials]
        return len(means) - sum(map(math.isfinite, means))


def exception_line(traceback: str) -> str:
    """Return the first line of the exception that a traceback ends with."""
    lines = traceback.strip().splitlines()
    frames = [i for i, line in enumerate(lines) if line.startswith(FRAME)]
    rest = lines[frames[-1] :] if frames else lines
    found = next((line for line in rest if not line.startswith(" ")), "")
    return printable(found or "".join(rest[-1:]).strip()) or "an error without a text"


def causes(trial: Evaluation, metric: str | None) -> Iterator[str]:
    """Give the cause of each failed fold of a candidate."""
    for fold, score in zip(trial.folds, trial.scores(metric), strict=True):
        if fold.fit_error:
            yield exception_line(fold.fit_error)[:_LENGTH]
        elif not math.isfinite(score):
            yield f"the score was {score}"


def check_fits(
    trials: Trials, search: Search, journal: Journal, *, least: int, last: bool
) -> None:
    """Raise if all fits have failed and it is plain that others would, too.

    That is so if they raised one and the same error, if the initial design is over, or
    if there are no others. A fit that succeeds, whatever its score, lets the search go
    on.

    Parameters
    ----------
    trials : list of Evaluation
        Those told so far.
    search : RobustBayesSearchCV
        The search, for its settings.
    journal : Journal
        Knows what of the failures comes from a checkpoint.
    least : int
        Size of the initial design.
    last : bool
        Whether there are no others.
    """
    error_score = search.error_score
    goes_on = not isinstance(error_score, str) and not math.isnan(error_score)
    errors = [fold.fit_error or "" for trial in trials for fold in trial.folds]
    if goes_on or not errors or "" in errors:
        return
    same = len({exception_line(error) for error in errors}) == 1
    # One that took too long, or took its worker down, has raised nothing.
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
