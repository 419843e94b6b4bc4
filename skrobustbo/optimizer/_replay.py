"""Rebuild an optimizer at each ask from trials stored elsewhere.

When several processes share one list of trials, none of them knows the whole history.
Each ask therefore stores a note with its point: the metadata of the policy, and the
policy's state at the first ask of a model. With these notes, a rebuilt optimizer asks
the same points as one that never stopped.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from skrobustbo._trials import Evaluation, Trial
from skrobustbo.optimizer._optimizer import Optimizer
from skrobustbo.optimizer._state import (
    from_json_state,
    policy_state,
    rebuilt,
    to_json_state,
)
from skrobustbo.surrogate import FactorCache

Params = dict[str, Any]

#: Errors that a policy may raise if the notes do not fit its history.
_MISFIT = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True)
class StoredTrial:
    """A trial stored elsewhere.

    Attributes
    ----------
    params : dict
        The point.
    value : float or None
        Its value, larger is better; nan for a failure, None while pending.
    note : dict
        The note that `ask_noted` returned with the point; empty for other points.
    """

    params: Params
    value: float | None
    note: Mapping[str, Any]


def ask_noted(optimizer: Optimizer) -> tuple[Params, dict[str, Any]]:
    """Return the next point of a single-branch optimizer, and its note as JSON."""
    (branch,) = optimizer._branches
    started = branch.state is not None
    trial = optimizer._propose().trial
    note: dict[str, Any] = {}
    if trial.metadata is not None:
        note["metadata"] = to_json_state(trial.metadata)
    if branch.state is not None and not started:
        note["start"] = policy_state(branch.policy, branch.state)
    return dict(trial.params), note


@dataclass(frozen=True)
class Memory:
    """What a replay computed from the told trials.

    Attributes
    ----------
    start : object
        The first noted state of the policy, in JSON types; None without one.
    noted : list of StoredTrial
        The told trials.
    trials : list of Trial
        The trials made from `noted`, without points outside the space.
    state : object
        State of the policy after these trials.
    factors : FactorCache
        Their Cholesky factors.
    """

    start: Any
    noted: list[StoredTrial]
    trials: list[Trial]
    state: Any
    factors: FactorCache

    def begins(self, start: Any, told: Sequence[StoredTrial]) -> bool:
        """Return whether `told` begins with the remembered trials."""
        n = len(self.noted)
        known = n <= len(told) and self.start == start
        return known and all(map(_same, self.noted, told))


def _same(one: StoredTrial, other: StoredTrial) -> bool:
    value, found = one.value, other.value
    equal = value == found or (value != value and found != found)
    same_note = one.note is other.note or one.note == other.note
    return equal and same_note and one.params == other.params


def replay(
    optimizer: Optimizer,
    noted: Sequence[StoredTrial],
    *,
    n_asked: int,
    memory: Memory | None = None,
) -> Memory:
    """Bring a new single-branch optimizer to the state after some trials.

    Parameters
    ----------
    optimizer : Optimizer
        An optimizer without trials.
    noted : sequence of StoredTrial
        The told trials in order, then the pending ones. Points outside the space are
        left out.
    n_asked : int
        Number of asks so far; random draws depend on it.
    memory : Memory, default=None
        The result of an earlier replay for an optimizer with the same settings. It
        saves time without changing the outcome.

    Returns
    -------
    memory : Memory

    Raises
    ------
    ValueError
        If the notes do not fit the policy or the trials.
    """
    (branch,) = optimizer._branches
    optimizer._n_asked = n_asked
    told = [each for each in noted if each.value is not None]
    pending = [each for each in noted if each.value is None]
    starts = (each.note["start"] for each in noted if "start" in each.note)
    start = next(starts, None)
    try:
        memory = _told(optimizer, start, told, memory)
        for each in pending:
            trial = _placed(optimizer, each, start is not None)
            if trial is not None:
                optimizer._begin(Evaluation(trial))
    except _MISFIT as error:
        raise ValueError("notes that do not fit their trials") from error
    if not branch.is_consistent:
        raise ValueError("a state that does not fit the trials")
    return memory


def _told(
    optimizer: Optimizer, start: Any, told: list[StoredTrial], memory: Memory | None
) -> Memory:
    """Tell an optimizer the trials; skip the computations that the memory holds."""
    (branch,) = optimizer._branches
    if memory is None or not memory.begins(start, told):
        state = None if start is None else rebuilt(branch.policy.state_type, start)
        memory = Memory(start, [], [], state, branch._cache)
    branch.state, branch._cache = copy.deepcopy(memory.state), memory.factors
    for old in memory.trials:
        optimizer._add(old)
        optimizer._store(old)
    trials = list(memory.trials)
    for each in told[len(memory.noted) :]:
        trial = _placed(optimizer, each, start is not None)
        if trial is not None:
            evaluation = optimizer._begin(Evaluation(trial))
            optimizer._record(evaluation, cast(float, each.value))
            trials.append(trial)
    return Memory(start, told, trials, copy.deepcopy(branch.state), branch._cache)


def _placed(optimizer: Optimizer, noted: StoredTrial, learns: bool) -> Trial | None:
    """Return a trial, with the policy's note if it learns from the trial."""
    try:
        trial = optimizer._place(noted.params)
    except ValueError:
        return None
    metadata = from_json_state(noted.note.get("metadata"))
    if learns and metadata is not None:
        if not optimizer.policy.has_metadata(metadata):
            raise ValueError(f"metadata {metadata!r} of another policy")
        trial.metadata = metadata
    return trial
