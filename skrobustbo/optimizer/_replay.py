"""Rebuild an optimizer from stored trials at each ask.

When several processes share a list of trials, no process observes the whole history.
Each ask therefore stores a note with its point. The note contains the policy's metadata
and, when a model first chooses a point, the policy's state. With these notes, a rebuilt
optimizer proposes the same points as one that ran without interruption.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from skrobustbo._trials import Evaluation, Trial
from skrobustbo.optimizer._optimizer import Optimizer
from skrobustbo.optimizer._state import (
    MISFIT,
    from_json_state,
    policy_state,
    rebuilt,
    to_json_state,
)
from skrobustbo.surrogate import FactorCache

Params = dict[str, Any]


@dataclass(frozen=True)
class StoredTrial:
    """A stored trial from which an optimizer can be rebuilt.

    Attributes
    ----------
    params : dict
        Parameters of the point.
    value : float or None
        Value of the trial; larger is better. It is nan for a failure and None while the
        trial is pending.
    note : dict
        The note that `ask_noted` returned with the point. It is empty for other points.
    """

    params: Params
    value: float | None
    note: Mapping[str, Any]


def ask_noted(optimizer: Optimizer) -> tuple[Params, dict[str, Any]]:
    """Return the next point of a single-branch optimizer and a note in JSON types."""
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
    """Cached results of a replay of evaluated trials.

    Attributes
    ----------
    start : object
        The first policy state in the notes, in JSON types, or None if there is no such
        state.
    noted : list of StoredTrial
        The evaluated trials.
    trials : list of Trial
        The trials created from `noted`, except those outside the space.
    state : object
        State of the policy after these trials.
    factors : FactorCache
        Cholesky factors of the models of these trials.
    """

    start: Any
    noted: list[StoredTrial]
    trials: list[Trial]
    state: Any
    factors: FactorCache

    def begins(self, start: Any, told: Sequence[StoredTrial]) -> bool:
        """Return whether `told` begins with the cached trials."""
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
    """Restore the state of a single-branch optimizer from stored trials.

    Parameters
    ----------
    optimizer : Optimizer
        An optimizer without trials.
    noted : sequence of StoredTrial
        The evaluated trials in order, followed by the pending trials. Points outside
        the space are ignored.
    n_asked : int
        Number of points asked so far. Random draws depend on this number.
    memory : Memory, default=None
        The result of an earlier replay for an optimizer with the same settings. It
        saves time and does not affect the outcome.

    Returns
    -------
    memory : Memory

    Raises
    ------
    ValueError
        If the notes do not match the policy or the trials.
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
    except MISFIT as error:
        raise ValueError("notes that do not fit their trials") from error
    if not branch.is_consistent:
        raise ValueError("a state that does not fit the trials")
    return memory


def _told(
    optimizer: Optimizer, start: Any, told: list[StoredTrial], memory: Memory | None
) -> Memory:
    """Tell the trials to an optimizer, reusing the cached results in `memory`."""
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
    """Return the trial of a stored point, or None if the point is outside the space.

    If `learns` is True, the trial includes the metadata in the note.
    """
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
