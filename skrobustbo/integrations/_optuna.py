"""Convert Optuna's distributions and trials for use by an optimizer."""

from __future__ import annotations

import bisect
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrobustbo.optimizer import StoredTrial
from skrobustbo.space import Categorical, Integer, Real, Space, as_dimension

Params = dict[str, Any]
#: Names of the supported distributions.
_KINDS = ("FloatDistribution", "IntDistribution", "CategoricalDistribution")
#: Largest range of an `Integer`.
_LARGEST = 2**40
#: Optuna refuses values that rounding has moved off a fine step, but accepts one of
#: this many neighbours.
_NEAR = 64


def single_value(distribution: Any) -> Any:
    """Return the only value of a distribution that has a single value."""
    if hasattr(distribution, "choices"):
        return distribution.choices[0]
    return distribution.low


@dataclass(frozen=True)
class OptunaAxis:
    """An Optuna distribution and the corresponding dimension of the space.

    Choices and stepped ranges are searched by index, so a choice may be any object, and
    a range may have any number of steps. Optuna does not distinguish equal choices such
    as 1 and 1.0, so the first one represents both.
    """

    distribution: Any
    dimension: Any

    @classmethod
    def of(cls, name: str, distribution: Any) -> OptunaAxis | None:
        """Return the axis of a distribution, or None if it cannot be represented."""
        if type(distribution).__name__ not in _KINDS or distribution.single():
            return None
        try:
            dimension = _dimension(name, distribution)
        except ValueError:  # such as a range with too few floats
            return None
        return cls(distribution, dimension) if dimension.size > 1 else None

    def inside(self, value: Any) -> Any:
        """Convert an Optuna value to a value of the dimension."""
        if hasattr(self.distribution, "choices"):
            return int(self.distribution.to_internal_repr(value))
        step = _step(self.distribution)
        if step is not None:
            return round((value - self.distribution.low) / step)
        return value

    def outside(self, value: Any) -> Any:
        """Convert a value of the dimension to an Optuna value."""
        if hasattr(self.distribution, "choices"):
            return self.distribution.choices[value]
        low, high = self.distribution.low, self.distribution.high
        step = _step(self.distribution)
        whole = type(self.distribution).__name__ == "IntDistribution"
        if step is not None:
            i = round(value)
            near = (i + k for j in range(_NEAR) for k in {j, -j})
            values = (min(low + place * step, high) for place in near)
            return next(filter(self.distribution._contains, values), low + i * step)
        return min(max(round(value), low), high) if whole else value


def can_be_searched(name: str, distribution: Any) -> bool:
    """Return whether a parameter can be modelled or needs no model."""
    axis = OptunaAxis.of(name, distribution)
    if axis is None:
        return distribution.single() or hasattr(distribution, "choices")
    some = axis.dimension.from_uniform(np.array([0.1, 1 / 3, 0.7]))
    values = map(axis.outside, axis.dimension.decode(some))
    return all(map(distribution._contains, map(distribution.to_internal_repr, values)))


def _step(distribution: Any) -> Any:
    """Return the step of a range that is searched by index, or None otherwise."""
    step = getattr(distribution, "step", None)
    if type(distribution).__name__ != "IntDistribution" or step != 1:
        return step
    large = max(-distribution.low, distribution.high) > _LARGEST
    return step if large and not distribution.log else None


def _dimension(name: str, distribution: Any) -> Any:
    if hasattr(distribution, "choices"):
        places = map(distribution.to_internal_repr, distribution.choices)
        return Categorical(sorted({int(place) for place in places}))
    low, high, step = distribution.low, distribution.high, _step(distribution)
    # Integers beyond an Integer's range become rounded values of a Real.
    if step is not None:
        n = math.floor((high - low) / step + 1e-8)
        return Integer(0, n) if n <= _LARGEST else Real(0, n)
    if type(distribution).__name__ == "IntDistribution" and high > _LARGEST:
        return Real(low, high, log=distribution.log)
    return as_dimension(name, distribution)


class Group:
    """Parameters that occur together and share a space and its models."""

    def __init__(self, axes: Mapping[str, OptunaAxis]) -> None:
        self.axes = dict(axes)
        self.names = tuple(self.axes)
        self.space = Space({name: axis.dimension for name, axis in axes.items()})
        self.key = zlib.crc32(repr(self.space).encode())

    def inside(self, params: Mapping[str, Any]) -> Params | None:
        """Return the point for the params of a trial, or None if they do not match."""
        try:
            return {name: axis.inside(params[name]) for name, axis in self.axes.items()}
        except (KeyError, TypeError, ValueError):  # other parameters or choices
            return None

    def outside(self, point: Mapping[str, Any]) -> Params:
        """Return Optuna's parameter values for a point in the space."""
        return {name: axis.outside(point[name]) for name, axis in self.axes.items()}


def together(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the coarsest partition in which every given set is a union of parts."""
    parts: list[frozenset[str]] = []
    for names in sets:
        cut: list[frozenset[str]] = []
        rest = names
        for part in parts:
            cut += [part & names, part - names]
            rest -= part
        parts = [part for part in (*cut, rest) if part]
    return parts


def groups_of(trials: Iterable[Any], wanted: Mapping[str, Any]) -> list[Group]:
    """Group the wanted parameters by whether they occur together in trials."""
    axes = {name: OptunaAxis.of(name, wanted[name]) for name in sorted(wanted)}
    known = {name: axis for name, axis in axes.items() if axis is not None}
    # A dict keeps each set once, in the order of the trials.
    sets = dict.fromkeys(
        frozenset(trial.distributions) & set(known) for trial in trials
    )
    parts = together([*sets, frozenset(known)])
    return [
        Group({name: known[name] for name in sorted(part)})
        for part in sorted(parts, key=sorted)
    ]


# Trials and their stored proposals ----------------------------------------------------


#: Prefix of the system attributes that store a trial's proposals, in pieces.
PREFIX = "skrobustbo:proposals:"
#: Fields of a proposal: its space, the settings behind its note, the point, and the
#: note.
_FORM = {"space": int, "settings": int, "point": dict, "note": dict}
#: Some databases limit the length of an attribute.
PIECE = 2000
#: Attributes in which Optuna stores constraint values, as a list or one by one.
CONSTRAINTS = "constraints"


def split(proposals: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Split proposals into pieces, which are stored as system attributes."""
    text = json.dumps(proposals)
    pieces = [text[i : i + PIECE] for i in range(0, len(text), PIECE)]
    pieces[0] = f"{len(pieces)} {pieces[0]}"
    return {f"{PREFIX}{i}": piece for i, piece in enumerate(pieces)}


def joined(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the proposals in system attributes, or an empty list if incomplete."""
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
    """Reader for the trials of a study, with a cache for finished trials.

    Finished trials never change, so their proposals stay cached as long as the study
    returns the same trial objects.
    """

    def __init__(self) -> None:
        self._parsed: dict[int, tuple[Any, list[dict[str, Any]]]] = {}

    def proposals(self, trial: Any) -> list[dict[str, Any]]:
        """Return the proposals for a trial, one for each group of parameters."""
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
        """Return the trials with a point in a group, starting with finished trials.

        Parameters
        ----------
        trials : iterable of FrozenTrial
            All trials except the one for which a point is proposed.
        group : Group
            The group of parameters.
        settings : int
            Hash of the settings that notes depend on. Notes with a different hash are
            ignored.
        sign : int
            Use 1 to maximise and -1 to minimise.
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
            # A running trial may still use its proposal, but a finished one did not.
            if proposal is None or value is not None:
                return None
            point = proposal["point"]
        if proposal is None or proposal["settings"] != settings:
            return StoredTrial(point, value, {})
        note = proposal["note"] if point == proposal["point"] else {}
        return StoredTrial(point, value, note)

    def _proposal(self, trial: Any, group: Group) -> dict[str, Any] | None:
        found = self.proposals(trial)
        return next((each for each in found if each["space"] == group.key), None)

    def count(self, trials: Iterable[Any], group: Group) -> int:
        """Return the number of trials with a proposal for a group."""
        return sum(self._proposal(trial, group) is not None for trial in trials)


def values_of(trials: Iterable[Any], sign: int) -> Iterator[float]:
    """Yield the values of finished trials in order, with larger values being better.

    A trial that failed or violated a constraint gets the value nan. A pruned trial was
    less promising than others, so it gets the worse of two values: its last
    intermediate value and the median value of the trials completed before it.
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
    """Return whether a trial's system attributes report a violated constraint."""
    values = list(attributes.get(CONSTRAINTS) or [])
    prefix = f"{CONSTRAINTS}:"
    values += [value for key, value in attributes.items() if key.startswith(prefix)]
    return any(value > 0 for value in values)
