"""Trials of an Optuna study as an optimizer takes them, and proposals noted on them."""

from __future__ import annotations

import bisect
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from skrobustbo.integrations._optuna_space import Group
from skrobustbo.optimizer import StoredTrial

Params = dict[str, Any]

#: System attributes of a trial that hold the proposals made for it, in pieces.
PREFIX = "skrobustbo:proposals:"
#: What a proposal has: the space that it is a point of, what its note depends on, the
#: point, and the note.
_FORM = {"space": int, "settings": int, "point": dict, "note": dict}
#: Some databases limit the length of an attribute.
PIECE = 2000
#: Where Optuna keeps the values of constraints: in one list, or one by one.
CONSTRAINTS = "constraints"


def split(proposals: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return proposals as system attributes; the first one says how many there are."""
    text = json.dumps(proposals)
    pieces = [text[i : i + PIECE] for i in range(0, len(text), PIECE)]
    pieces[0] = f"{len(pieces)} {pieces[0]}"
    return {f"{PREFIX}{i}": piece for i, piece in enumerate(pieces)}


def joined(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the proposals in system attributes; none where they are not complete."""
    n, _, first = str(attributes.get(f"{PREFIX}0", "")).partition(" ")
    try:
        rest = [attributes[f"{PREFIX}{i}"] for i in range(1, int(n))]
        found = json.loads("".join([first, *rest]))
    except (KeyError, TypeError, ValueError):
        return []
    return [each for each in found if _is_proposal(each)]


def _is_proposal(each: Any) -> bool:
    return isinstance(each, dict) and all(
        isinstance(each.get(key), kind) for key, kind in _FORM.items()
    )


class Reader:
    """Reads the trials of a study, those of one state once.

    Finished trials never change, so what was parsed is kept as long as the study gives
    the same object.
    """

    def __init__(self) -> None:
        self._parsed: dict[int, tuple[Any, list[dict[str, Any]]]] = {}

    def proposals(self, trial: Any) -> list[dict[str, Any]]:
        """Return the proposals made for a trial, one for each group."""
        trial_id = trial._trial_id
        kept, found = self._parsed.get(trial_id, (None, []))
        if kept is trial:
            return found
        found = joined(trial.system_attrs)
        if trial.state.is_finished():
            self._parsed[trial_id] = trial, found
        return found

    def noted(
        self, trials: Iterable[Any], group: Group, settings: int, sign: int
    ) -> list[StoredTrial]:
        """Return the trials with a point of a group: those told, then those pending.

        Parameters
        ----------
        trials : iterable of FrozenTrial
            All but the one that is to get a point.
        group : Group
            The parameters.
        settings : int
            What a note depends on beside the space; notes of others are not used.
        sign : int
            1 if large values are good, -1 if small ones are.
        """
        ordered = sorted(trials, key=lambda trial: trial.number)
        finished = [trial for trial in ordered if trial.state.is_finished()]
        finished.sort(key=lambda trial: trial.datetime_complete)
        pairs = zip(finished, values_of(finished, sign), strict=True)
        told = [self._noted(trial, group, settings, value) for trial, value in pairs]
        pending = [
            self._noted(trial, group, settings, None)
            for trial in ordered
            if trial.state.name == "RUNNING"
        ]
        return [noted for noted in (*told, *pending) if noted is not None]

    def _noted(
        self, trial: Any, group: Group, settings: int, value: float | None
    ) -> StoredTrial | None:
        point = group.inside(trial.params)
        proposal = self._proposal(trial, group)
        if point is None:
            # A running trial may yet use its proposal; one that is over did not.
            if proposal is None or value is not None:
                return None
            point = proposal["point"]
        if proposal is None or proposal["settings"] != settings:
            return StoredTrial(point, value, {})
        return StoredTrial(
            point, value, proposal["note"] if point == proposal["point"] else {}
        )

    def _proposal(self, trial: Any, group: Group) -> dict[str, Any] | None:
        found = self.proposals(trial)
        return next((each for each in found if each["space"] == group.key), None)

    def count(self, trials: Iterable[Any], group: Group) -> int:
        """Return how many trials had a proposal for a group."""
        return sum(self._proposal(trial, group) is not None for trial in trials)


def values_of(trials: Iterable[Any], sign: int) -> Iterator[float]:
    """Yield the values of finished trials in the order told, larger is better.

    A trial that failed or violates a constraint counts as a failure, nan. One that was
    pruned has its last intermediate value, but no better than the median of the
    completed trials before it: it was stopped because it promised less.

    Parameters
    ----------
    trials : iterable of FrozenTrial
        The trials.
    sign : int
        1 if large values are good, -1 if small ones are.
    """
    completed: list[float] = []
    for trial in trials:
        state, value = trial.state.name, math.nan
        if violates(trial.system_attrs):
            pass
        elif state == "COMPLETE":
            value = sign * float(trial.values[0])
            bisect.insort(completed, value)
        elif state == "PRUNED" and trial.intermediate_values and completed:
            last = sign * float(trial.intermediate_values[trial.last_step])
            value = min(last, completed[(len(completed) - 1) // 2])
        yield value


def violates(attributes: Mapping[str, Any]) -> bool:
    """Return whether a trial's system attributes say that it violates a constraint."""
    values = list(attributes.get(CONSTRAINTS) or [])
    prefix = f"{CONSTRAINTS}:"
    values += [value for key, value in attributes.items() if key.startswith(prefix)]
    return any(value > 0 for value in values)
