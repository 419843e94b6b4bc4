"""Convert candidates to journal records and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from skrobustbo._trials import SINGLE, Evaluation, Trial
from skrobustbo.checkpoint import Asked, Contents, damaged
from skrobustbo.evaluation import take_folds
from skrobustbo.model_selection._outline import as_described, described
from skrobustbo.space import Space, from_json

Trials = list[Evaluation]
#: Returns a choice, given the branch, the parameter's name and the index.
Choice = Callable[[int, str, int], Any]


def asked_of(evaluation: Evaluation, space: Space) -> Asked:
    """Return the journal record of a newly proposed candidate."""
    if evaluation.is_outside:
        params = {name: described(v) for name, v in evaluation.params.items()}
        return Asked(-1, params, evaluation.resource, evaluation.said)
    branch, _ = space.place(evaluation.params)
    params = space.branches[branch].params_to_json(evaluation.params)
    others = evaluation.resource, evaluation.said, evaluation.horizon
    return Asked(branch, params, *others)


def evaluation_of(
    asked: Asked, space: Space, default: Evaluation | None = None
) -> Evaluation:
    """Convert a journal record to a candidate that has no number yet.

    Only the untuned estimator (`default`) may be outside the space.

    Raises
    ------
    ValueError, TypeError, KeyError, IndexError
        If the record does not describe a point in the space.
    """
    if asked.branch < 0:
        if default is None or asked_of(default, space).point != asked.point:
            raise ValueError("not the estimator as given")
        return replace(default, said=asked.said)
    branch = space.branches[asked.branch]
    params = branch.params_from_json(asked.params)
    evaluation = Evaluation(Trial(params), asked.resource, asked.said)
    evaluation.horizon = asked.horizon
    if asked_of(evaluation, space).point != asked.point:
        raise ValueError("not a point of the space")
    evaluation.trial.params = branch.own(params)
    return evaluation


def are_those(trials: Trials, others: Trials, space: Space) -> bool:
    """Return whether two lists contain the same evaluations of the same points."""
    ours, theirs = ([asked_of(t, space).point for t in ts] for ts in (trials, others))
    return ours == theirs


def trials_in(contents: Contents, choice: Choice) -> tuple[Trials, list[str]]:
    """Return the candidates and the metrics stored in a checkpoint.

    Returns
    -------
    trials : list of Evaluation
        The candidates with their finished folds, sorted by number.
    metrics : list of str
        Names of the metrics; empty if there is only one metric or no fold is finished.

    Raises
    ------
    CheckpointError
        If a candidate is not a valid point in the space of the checkpoint.
    """
    # Failures recorded before the metrics were known have no names.
    scores = (fold.test_scores for _, fold in contents.done)
    named = (found for found in scores if SINGLE not in found)
    metrics = list(next(named, {}))
    trials = []
    try:
        branches = contents.started.outline["branches"]
        for number, asked in enumerate(chain(*contents.rounds)):
            params = _params(asked, number, branches, choice)
            trial = Trial(params, branch=asked.branch)
            trials.append(Evaluation(trial, asked.resource, asked.said, number))
            take_folds(trials[-1], contents.folds.get(number, {}).values(), metrics)
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as e:
        raise damaged(contents.path, "a candidate") from e
    return trials, metrics


def _params(
    asked: Asked, number: int, branches: Sequence[Mapping[str, Any]], choice: Choice
) -> dict[str, Any]:
    if asked.branch < 0:
        if number or not asked.params.keys() <= set().union(*branches):
            raise ValueError("not the estimator as given")
        return {name: as_described(value) for name, value in asked.params.items()}
    known = branches[asked.branch]
    if asked.params.keys() != known.keys():
        raise ValueError("other parameters")
    params = {}
    for name in known:
        value = asked.params[name]
        if known[name] is None:
            params[name] = from_json(value)
            if type(params[name]) not in (int, float):
                raise TypeError("a parameter that is not a number")
        else:
            if type(value) is not int or value < 0:
                raise TypeError("a choice that is not an index")
            params[name] = choice(asked.branch, name, value)
    return params
