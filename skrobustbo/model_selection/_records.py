"""Candidates as a journal keeps them: records in JSON types, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from skrobustbo._trials import Evaluation, Trial
from skrobustbo.space import Space, from_json, to_json

Record = dict[str, Any]

#: Columns of the results, and the part of a trial that each is.
COLUMNS = {"model_label": "label", "model_mean": "mean", "model_std": "std"}


def write_record(trial: Evaluation, space: Space, *, with_resource: bool) -> Record:
    """Return a candidate just asked, and what the models said of it."""
    # A policy of the user's own may say them in other types.
    said = str(trial.label), to_json(float(trial.mean)), to_json(float(trial.std))
    columns = dict(zip(COLUMNS, said, strict=True))
    record = {"params": space.params_to_json(trial.params), **columns}
    return {**record, "resource": trial.resource} if with_resource else record


def read_record(record: Mapping[str, Any], space: Space) -> Evaluation:
    """Return the evaluation that `write_record` wrote, without a number.

    Raises
    ------
    ValueError, TypeError, KeyError
        If it is not what `write_record` wrote, for this space.
    """
    params = space.params_from_json(record["params"])
    space.encode(params)
    if _canonical(space.params_to_json(params)) != _canonical(record["params"]):
        raise ValueError("not a point of the space")
    if record.keys() - {"resource"} != {"params", *COLUMNS}:
        raise ValueError("a record has other parts")
    params = space.own(params)
    said = {name: from_json(record[c]) for c, name in COLUMNS.items()}
    if list(map(type, said.values())) != [str, float, float]:
        raise TypeError("the models said something else")
    resource = record.get("resource")
    if resource is not None and type(resource) is not int:
        raise TypeError("the resource is no amount")
    return Evaluation(Trial(params), resource, **said)


def are_those(
    trials: Sequence[Evaluation], others: Sequence[Evaluation], space: Space
) -> bool:
    """Return whether trials are the same evaluations of the same points."""
    return [_key(trial, space) for trial in trials] == [
        _key(trial, space) for trial in others
    ]


def _key(trial: Evaluation, space: Space) -> tuple[str, float | None]:
    return _canonical(space.params_to_json(trial.params)), trial.resource


def _canonical(value: Any) -> str:
    """Return one text for equal JSON values, in which 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)
