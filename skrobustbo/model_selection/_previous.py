"""Use the candidates of an earlier search."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

from skrobustbo._arguments import about
from skrobustbo._names import be, count, printable
from skrobustbo._trials import Evaluation
from skrobustbo.checkpoint import (
    CheckpointError,
    describe,
    describe_data,
    read_contents,
)
from skrobustbo.model_selection._checks import (
    completed,
    metric_of,
    missing,
    not_listed,
    shape_of,
)
from skrobustbo.model_selection._loaded import trials_in
from skrobustbo.model_selection._outline import of_dimension
from skrobustbo.model_selection._parameters import first_refusal, settings_in
from skrobustbo.model_selection._settings import Data, Search
from skrobustbo.previous import PreviousCandidates, from_cv_results
from skrobustbo.space import Constraint, Space, constants, same

Params = dict[str, Any]

#: Number of candidates to try first if they come from other data. It does not depend on
#: `n_iter`, which may grow while the candidates must stay the same.
_FIRST = 3
#: Stack level of warnings: the line that calls `fit`.
_TO_FIT = 7
#: Stands for an unreadable value, which no space contains.
_UNREADABLE = "a choice of a list that has changed"


@dataclass(frozen=True)
class Before:
    """Information that is available before the first candidate of a search.

    Attributes
    ----------
    first : list of dict
        Candidates to try first.
    told : list of (dict, float)
        Earlier results for the model, excluding the candidates in `first`.
    description : str or None
        Description that identifies the earlier candidates.
    says : str
        Text about the earlier candidates for the report.
    default : Evaluation or None
        The untuned estimator, if it is the first candidate.
    of_default : str
        Text about the untuned estimator for the report.
    """

    first: Sequence[Params] = ()
    told: Sequence[tuple[Params, float]] = ()
    description: str | None = None
    says: str = ""
    default: Evaluation | None = None
    of_default: str = ""

    @property
    def n_outside(self) -> int:
        """1 if the untuned estimator is evaluated outside the space, else 0."""
        return int(self.default is not None and self.default.is_outside)


def known_before(search: Search, data: Data, space: Space) -> Before:
    """Return the information in `previous` that can be used in a space.

    Warns
    -----
    UserWarning
        If no earlier candidate is in the space, or the candidates come from other data.
    """
    if search.previous is None:
        return Before()
    given = _read(search, data, space)
    points, reason = _fitting(given, space, search.estimator)
    first = _best(points, search.constraints, 1 if given.same_data else _FIRST)
    places = {point.place for point in first}
    told = [(p.params, p.score) for p in points if p.place not in places]
    whole = [given.params, given.scores, given.same_data]
    return Before(
        first=[point.params for point in first],
        told=told if given.same_data else [],
        description=describe(whole, quiet=True),  # functions: already warned of
        says=_account(given, len(points), len(first), reason),
    )


@dataclass(frozen=True)
class _Point:
    """An earlier candidate as a point in the space."""

    params: Params
    score: float
    place: tuple[int, bytes]


def _best(found: Sequence[_Point], constraints: Any, n: int) -> list[_Point]:
    """Return the `n` best feasible points without duplicates."""
    allowed = None if constraints is None else Constraint(constraints)
    best: dict[tuple[int, bytes], _Point] = {}
    scored = [point for point in found if math.isfinite(point.score)]
    for point in sorted(scored, key=lambda point: -point.score):
        if len(best) < n and (allowed is None or allowed(point.params)):
            best.setdefault(point.place, point)
    return list(best.values())


def _account(
    given: PreviousCandidates, n_fitting: int, n_first: int, reason: str
) -> str:
    """Return the report's text about earlier candidates, and warn about problems."""
    of = count(len(given), "earlier candidate")
    says = f"{n_fitting} of {of} {be(n_fitting, 'fits', 'fit')} the space"
    if not n_fitting:
        warnings.warn(
            "The 'previous' of RobustBayesSearchCV has no candidate that fits the "
            f"space, out of {len(given)}: the search starts without it.{reason}",
            stacklevel=_TO_FIT,
        )
        return f"{says}.{reason}"
    if not given.same_data:
        warnings.warn(
            "The 'previous' of RobustBayesSearchCV has candidates from other data: "
            f"the best {n_first} that {be(n_first, 'fits', 'fit')} the space "
            f"{be(n_first)} tried first, and their scores are not used.",
            stacklevel=_TO_FIT,
        )
        tried = f"{n_first} {be(n_first, 'was', 'were')} tried first"
        return f"{says}; as they come from other data, only {tried}"
    best = ", the best of them was tried first" if n_first else ""
    return f"{says}: the model learnt from them{best}.{reason}"


def _fitting(
    given: PreviousCandidates, space: Space, estimator: Any
) -> tuple[list[_Point], str]:
    """Return the earlier candidates that are points in the space.

    If a parameter is missing from all candidates, it is set to the estimator's current
    value, because the candidates were evaluated with that value. For the same reason, a
    parameter that is not in the space is dropped if its value equals the estimator's
    value. The second return value is a sentence, preceded by a space, that explains why
    the first unsuitable candidate is not in the space, or "" if there is none.
    """
    listed = estimator.get_params(deep=True)
    names = {name for branch in space.branches for name in branch.names}
    ours = [_searched(params, names, space, listed) for params in given.params]
    known = {name for params in ours for name in params}
    full = completed(ours, space, estimator)
    points, reason = [], ""
    for params, whole, score in zip(ours, full, given.scores, strict=True):
        absent = (whole.keys() - params.keys()) & known
        if absent and len(space.branches) == 1:
            # Tables store the choice None as a missing value.
            params = {**params, **dict.fromkeys(absent)}
        try:
            points.append(_point(space, params if absent else whole, score))
        except ValueError as error:
            if not reason:
                why = _unlisted(whole, space, estimator) or error
                reason = f" The first that does not: {why}"
    return points, reason


def _searched(params: Params, names: Set[str], space: Space, listed: Params) -> Params:
    """Return the searched parameters of a candidate.

    If any other parameter differs from its value in the estimator, all are returned.
    """
    ours = {name: value for name, value in params.items() if name in names}
    fixed = params.keys() - names
    for branch in space.branches if fixed else ():
        if ours.keys() <= set(branch.names):
            settings = settings_in(branch, listed, ours)
            if all(_is_same(params[n], settings.get(n, _UNREADABLE)) for n in fixed):
                return {**constants(branch), **ours}
    return params


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are the same; tables may store 3 as 3.0."""
    from_table = type(one) is float and type(other) is int and one == other
    return from_table or same(one, other)


def _unlisted(params: Params, space: Space, estimator: Any) -> str | None:
    """Return a message if the estimator's value for a parameter is unknown."""
    listed = estimator.get_params(deep=True)
    names = {name for branch in space.branches for name in branch.names}
    fixed = {n: v for n, v in params.items() if n not in names and n not in listed}
    taken = (
        name
        for name, value in fixed.items()
        if first_refusal(estimator, space.branches[0], {name: value}) is None
    )
    name = missing(params, space) or next(taken, None)
    return None if name is None else f"{not_listed(name)}; set it in the estimator."


def _point(space: Space, params: Params, score: float) -> _Point:
    """Convert a candidate to a point with the exact values of the space.

    Tables may contain 3.0 instead of 3, and missing values.
    """
    i, x = space.place(params)
    branch = space.branches[i]
    own = branch.own(params)
    return _Point({name: own[name] for name in branch.names}, score, (i, x.tobytes()))


# Reading ------------------------------------------------------------------------------


#: A table of results, a description of its single score (None if unknown), and whether
#: it comes from the same data.
_Earlier = tuple[Any, str | None, bool]


def _read(search: Search, data: Data, space: Space) -> PreviousCandidates:
    """Return the candidates from a `previous` of any supported type."""
    previous = search.previous
    if isinstance(previous, PreviousCandidates):
        return previous
    is_path = isinstance(previous, str | os.PathLike)
    is_search = hasattr(previous, "cv_results_")
    is_table = isinstance(previous, Mapping) or hasattr(previous, "iloc")
    if not (is_path or is_search or is_table):
        unfitted = hasattr(previous, "fit") and not isinstance(previous, type)
        raise ValueError(
            "The 'previous' of RobustBayesSearchCV must be a fitted search, the path "
            "of a checkpoint, the cv_results_ of a search, a table of it or a "
            f"PreviousCandidates. Got {'an unfitted ' if unfitted else ''}{previous!r} "
            "instead."
        )
    try:
        if is_path:
            results, before, same_data = _of_checkpoint(search, data, space)
        elif is_search:
            results, before, same_data = _of_search(search, data)
        else:
            results, before, same_data = previous, None, True
        metric = _metric(search, results)
        if metric is None and before is not None:
            now = describe(search.scoring)
            if before != now:
                raise ValueError(
                    "Expected scores of the metric to optimise, got those of "
                    f"{printable(before)} for {now}; give PreviousCandidates "
                    "comparable scores."
                )
        return from_cv_results(results, metric, same_data=same_data)
    except CheckpointError:
        raise
    except ValueError as error:
        raise about("'previous'", error) from None


def _metric(search: Search, results: Any) -> str | None:
    """Return the metric whose scores are used, or None if there is only one metric."""
    scoring = search.scoring if isinstance(search.scoring, str) else None
    names = [name for name in (metric_of(search), scoring) if name is not None]
    there = [name for name in names if f"mean_test_{name}" in results]
    if there:
        return there[0]
    return metric_of(search) if "mean_test_score" not in results else None


def _of_search(search: Search, data: Data) -> _Earlier:
    previous = search.previous
    if previous is search:
        raise ValueError(
            "Expected another search than this one; pass its cv_results_, or fit a "
            "clone of it with other settings."
        )
    results = previous.cv_results_
    has_one = "mean_test_score" in results
    scoring = describe(getattr(previous, "scoring", None)) if has_one else None
    memory = getattr(previous, "_memory", None)
    rows = None if memory is None else memory.shape
    same = rows is None or "X" not in data or rows == shape_of(data["X"])
    return results, scoring, same


def _of_checkpoint(search: Search, data: Data, space: Space) -> _Earlier:
    found = read_contents(_checkpoint_path(search))
    searched, n_splits = found.started.search, found.started.n_splits
    trials, metrics = trials_in(found, partial(_choice, searched["space"], space))
    # These are finished, not stopped, and evaluated with the full resource.
    whole = [
        trial
        for trial in trials
        if len(trial.folds) == n_splits and trial.resource is None
    ]
    results: dict[str, Any] = {"params": [trial.params for trial in whole]}
    for metric in metrics or [""]:
        scores = [trial.mean_score(metric) for trial in whole]
        results[f"mean_test_{metric or 'score'}"] = scores
    same = all(
        name not in data or described == describe_data(data[name])
        for name, described in searched["data"].items()
        if name in ("X", "y")
    )
    scoring = searched["scoring"][""] if whole and not metrics else None
    return results, scoring, same


def _checkpoint_path(search: Search) -> str:
    """Return the path of the earlier search's checkpoint, which must exist."""
    path = os.path.realpath(os.fsdecode(search.previous))
    own = search.checkpoint
    if own is not None and os.path.realpath(os.fsdecode(own)) == path:
        raise ValueError(
            f"Expected another file than that of 'checkpoint', got {path!r} for both; "
            "give 'checkpoint' a new one."
        )
    if not os.path.exists(path):
        raise CheckpointError(
            f"The checkpoint {path!r}, given as 'previous', does not exist: give the "
            "path of one."
        )
    return path


def _choice(
    described: Mapping[str, str], space: Space, branch: int, name: str, index: int
) -> Any:
    """Return the choice at a given position in a checkpoint.

    A checkpoint stores only positions, so a choice is lost if the list has changed.
    """
    was = described.get(f"branch {branch} {name}", described.get(name))
    here = (branch.dimensions.get(name) for branch in space.branches)
    same = [d for d in here if d is not None and of_dimension(d) == was]
    return same[0].value_from_json(index) if same else _UNREADABLE
