"""Conversion of an optimizer's state to JSON types and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

from skrobustbo._forms import Count, built, has_form
from skrobustbo._trials import Trial
from skrobustbo.space import Space, from_json, to_json

#: Raise this number if an older version would misread the new format.
FORMAT = 4


def to_json_state(state: Any) -> Any:
    """Convert a state to JSON types, with tags for numbers that are not finite."""
    if hasattr(state, "__dataclass_fields__"):
        state = asdict(state)
    if isinstance(state, dict):
        return {key: to_json_state(value) for key, value in state.items()}
    if isinstance(state, list):
        return [to_json_state(value) for value in state]
    return to_json(state)


def policy_state(policy: Any, state: Any) -> Any:
    """Return the policy's state in JSON types, or None if it has no state yet."""
    if state is not None and not isinstance(state, policy.state_type):
        raise TypeError(
            f"The state that {type(policy).__name__}.start returns must be of its "
            f"'state_type' to be written as JSON, {policy.state_type.__name__}. Got a "
            f"{type(state).__name__} instead; set state_type to that class."
        )
    return to_json_state(state)


def from_json_state(state: Any) -> Any:
    if isinstance(state, dict) and not any(key.startswith("$") for key in state):
        return {key: from_json_state(value) for key, value in state.items()}
    if isinstance(state, list):
        return [from_json_state(value) for value in state]
    return from_json(state)


def rebuilt(kind: Any, state: Any) -> Any:
    """Rebuild a dataclass instance from the output of `to_json_state`."""
    return built(kind, from_json_state(state))


#: Fields of a trial that are written separately or follow from the others.
_ELSEWHERE = ("params", "x", "number")


def trial_to_dict(trial: Trial, branches: list[Space]) -> dict[str, Any]:
    """Return a trial as JSON types, without the encoded point."""
    record = {key: v for key, v in vars(trial).items() if key not in _ELSEWHERE}
    for name in ("value_std", "rungs"):
        if not record[name]:
            del record[name]
    record["params"] = branches[trial.branch].params_to_json(trial.params)
    return to_json_state(record)


def trial_from_dict(record: Mapping[str, Any], branches: list[Space]) -> Trial:
    rest = from_json_state({k: v for k, v in record.items() if k != "params"})
    space = branches[int(rest["branch"])]
    params = space.own(space.params_from_json(record["params"]))
    rest = {"value_std": 0.0, "rungs": [], **rest}
    others = {"x": space.encode(params), "number": -1}
    return built(Trial, rest, params=params, **others)


def or_none(write: Callable[[], Any]) -> Any:
    """Return the result of `write`, or None if JSON cannot store the objects."""
    try:
        return write()
    except TypeError:
        return None


def check_given(d: Mapping[str, Any], **parts: Any) -> None:
    """Raise a ValueError if a part that is missing from the state is not passed."""
    for name, part in parts.items():
        if part is None and d[name] is None:
            raise ValueError(
                f"Expected a state that holds its {name}, got one whose {name} has "
                f"objects that JSON cannot hold; pass '{name}' to from_dict."
            )


def check_constraints(d: Mapping[str, Any], constraints: Any) -> None:
    """Raise a ValueError if constraints are missing or unexpected."""
    if bool(d["constrained"]) == (constraints is not None):
        return
    raise ValueError(
        "Expected 'constraints' to be passed to from_dict, because JSON cannot hold "
        "the callable of this state, got none; pass it again."
        if d["constrained"]
        else "Expected no 'constraints', as this state was written without any, got "
        f"{constraints!r}; start a new optimizer and tell it the values."
    )


def check_format(d: Any) -> None:
    """Raise a ValueError unless `d` is a state in the current format."""
    is_dict = isinstance(d, Mapping)
    found = d.get("format") if is_dict else d
    if not is_dict or type(found) is not int or found != FORMAT:
        raise ValueError(
            f"Expected a state written by Optimizer.to_dict in format {FORMAT}, got "
            f"{found!r}; read it with the version that wrote it."
        )


#: The parts of a state and their types.
_PARTS: dict[str, Any] = {
    "space": dict[str, Any] | None,
    "policy": dict[str, Any] | None,
    "planned": Annotated[Count, lambda value: value > 0] | None,
    "horizon": Annotated[Count, lambda value: value > 0] | None,
    "constrained": bool,
    "n_initial": Count,
    "first": list[Any],
    "seed": Count,
    "n_asked": Count,
    "states": list[Any],
    "balancer": dict[str, Any] | None,
    "trials": list[Any],
    "told": list[Any],
}
#: Parts that exist only with a resource.
_OF_RUNGS = {"n_before": Count, "over": bool, "full": list[list[Count] | None]}


def check_parts(d: Mapping[str, Any]) -> None:
    """Raise a ValueError if parts of a state are missing or have the wrong type."""
    parts = _PARTS | (_OF_RUNGS if "resources" in d else {})
    for name, form in parts.items():
        if name not in d or not has_form(d[name], form):
            got = repr(d[name]) if name in d else "nothing"
            raise broken(f"{got} for its {name!r}")
    told, n = d["told"], len(d["trials"])
    if any(type(i) is not int for i in told) or not set(told) <= set(range(n)):
        raise broken(f"{told!r} for those told of its {n} trials")
    if len(set(told)) < len(told):
        raise broken(f"{told!r} for those told, some of them twice")


#: Errors that invalid data may raise where they are used.
MISFIT = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


@contextmanager
def reading() -> Iterator[None]:
    """Convert errors that occur while reading a state to a ValueError."""
    try:
        yield
    except MISFIT as error:
        raise broken("one whose parts do not fit together") from error


def broken(got: str) -> ValueError:
    """Return the ValueError for a state that was not written by `to_dict`."""
    return ValueError(
        f"Expected a state written by Optimizer.to_dict, got {got}; read it back as it "
        "was written."
    )


def history_record(trial: Trial, amounts: Sequence[float]) -> dict[str, Any]:
    """Return the entry of `history_` for a trial."""
    of_rungs = dict.fromkeys(amounts)
    of_rungs |= {amounts[each["rung"]]: each["value"] for each in trial.rungs}
    return {
        "params": dict(trial.params),
        "value": trial.value,
        "value_std": trial.value_std,
        "time": trial.time,
        "kind": trial.kind,
        "model_label": trial.label,
        "model_mean": trial.mean,
        "model_std": trial.std,
        "length_scales": trial.length_scales and list(trial.length_scales),
        "divisor": trial.divisor,
        "alive": [model["label"] for model in trial.alive],
        "alive_length_scales": [model["length_scales"] for model in trial.alive],
        "pending": trial.pending,
        "failed_reason": trial.failed_reason,
        "reset": trial.reset,
        **({"resource_values": of_rungs} if amounts else {}),
    }
