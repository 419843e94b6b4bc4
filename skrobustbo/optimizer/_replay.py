"""An optimizer made of trials that somebody else keeps, again at each ask.

Where several processes share one list of trials, none of them knows the whole history.
What an ask adds to the state, beyond points and values, is written beside the point as
a note: the policy's metadata, and its state at the first ask of a model. With these a
rebuilt optimizer asks what one that was never stopped would ask.
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

#: What goes wrong where a policy is given notes that do not fit its history.
_MISFIT = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True)
class StoredTrial:
    """A trial as it is kept elsewhere.

    Attributes
    ----------
    params : dict
        The point.
    value : float or None
        Its value, larger is better, nan for a failure; None while pending.
    note : dict
        What `ask_noted` gave with the point; empty for a point from elsewhere.
    """

    params: Params
    value: float | None
    note: Mapping[str, Any]


def ask_noted(optimizer: Optimizer) -> tuple[Params, dict[str, Any]]:
    """Return the next point of an optimizer with one branch, and its note as JSON."""
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
    """What a replay computed from the told trials alone.

    Attributes
    ----------
    start : object
        The policy's first state that was noted, in JSON types; None if there is none.
    noted : list of StoredTrial
        The told trials.
    trials : list of Trial
        What was made of them; points outside the space are left out.
    state : object
        The policy's state after them.
    factors : FactorCache
        Factors over them.
    """

    start: Any
    noted: list[StoredTrial]
    trials: list[Trial]
    state: Any
    factors: FactorCache

    def begins(self, start: Any, told: Sequence[StoredTrial]) -> bool:
        """Return whether it is about the beginning of what is told."""
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
    """Bring a new optimizer with one branch to where the trials lead.

    Parameters
    ----------
    optimizer : Optimizer
        One that knows no trials.
    noted : sequence of StoredTrial
        Those told, in the order told, and those pending. A point outside the space is
        left out.
    n_asked : int
        Number of asks so far, on which random draws depend.
    memory : Memory, default=None
        What an earlier replay returned, for an optimizer of the same settings. It saves
        time and changes no result: the state depends on what was told and its order, a
        factor on its rows.

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
    """Tell an optimizer the told trials, those that a memory has without computing."""
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
    """Return a trial, with what the policy noted if it learns from that."""
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
