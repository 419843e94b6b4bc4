"""An optimizer's state in JSON types, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from types import NoneType
from typing import TYPE_CHECKING, Any

from skrobustbo._arguments import LARGEST_COUNT
from skrobustbo._forms import Count, built, has_form, has_items
from skrobustbo._trials import Trial
from skrobustbo.optimizer._balancer import BranchState
from skrobustbo.optimizer._branch import Branch
from skrobustbo.optimizer._checks import checked_amounts
from skrobustbo.policies import Policy
from skrobustbo.policies._registry import policy_from_dict, policy_to_dict
from skrobustbo.space import Space, from_json, to_json

if TYPE_CHECKING:
    from skrobustbo.optimizer._optimizer import Optimizer

#: To be raised when an older reader would misread what is written.
FORMAT = 3


def to_json_state(state: Any) -> Any:
    """Return nested dicts and lists of plain types with non-finite numbers tagged."""
    if hasattr(state, "__dataclass_fields__"):
        state = asdict(state)
    if isinstance(state, dict):
        return {key: to_json_state(value) for key, value in state.items()}
    if isinstance(state, list):
        return [to_json_state(value) for value in state]
    return to_json(state)


def policy_state(policy: Any, state: Any) -> Any:
    """Return a policy's run-time state in JSON types, None before there is one."""
    if state is not None and not isinstance(state, policy.state_type):
        raise TypeError(
            f"The state that {type(policy).__name__}.start returns must be of its "
            f"'state_type' to be written as JSON, {policy.state_type.__name__}. Got a "
            f"{type(state).__name__} instead; set state_type to that class."
        )
    return to_json_state(state)


def from_json_state(state: Any) -> Any:
    """Return the state that `to_json_state` wrote."""
    if isinstance(state, dict) and not any(key.startswith("$") for key in state):
        return {key: from_json_state(value) for key, value in state.items()}
    if isinstance(state, list):
        return [from_json_state(value) for value in state]
    return from_json(state)


def rebuilt(kind: Any, state: Any) -> Any:
    """Return the dataclass whose fields `to_json_state` wrote."""
    return built(kind, from_json_state(state))


#: Fields of a trial that are written separately, follow from the others, or belong to
#: the checkpoint of a search.
_ELSEWHERE = ("params", "x", "number", "folds", "estimate", "resource")


def trial_to_dict(trial: Trial, branches: list[Space]) -> dict[str, Any]:
    """Return a trial in JSON types; its encoded point follows from its params."""
    record = {key: v for key, v in vars(trial).items() if key not in _ELSEWHERE}
    for name in ("value_std", "rungs"):
        if not record[name]:
            del record[name]
    record["params"] = branches[trial.branch].params_to_json(trial.params)
    written: dict[str, Any] = to_json_state(record)
    return written


def trial_from_dict(record: Mapping[str, Any], branches: list[Space]) -> Trial:
    """Return the trial that `trial_to_dict` wrote."""
    rest = from_json_state({k: v for k, v in record.items() if k != "params"})
    space = branches[int(rest["branch"])]
    params = space.own(space.params_from_json(record["params"]))
    rest = {"value_std": 0.0, "rungs": [], **rest}
    others = {"x": space.encode(params), "number": -1, "folds": ()}
    others |= {"estimate": None, "resource": None}
    found: Trial = built(Trial, rest, params=params, **others)
    return found


def written(optimizer: Optimizer) -> dict[str, Any]:
    """Return the whole state of an optimizer in JSON types."""
    branches, trials = optimizer.space.branches, optimizer._trials
    several = len(branches) > 1
    states = [policy_state(optimizer.policy, b.state) for b in optimizer._branches]
    rungs = optimizer._rungs
    of_rungs: dict[str, Any] = {}
    if rungs is not None:
        of_rungs = {"resources": list(rungs.amounts), "n_before": trials.n_before}
        full = [_numbers_told(b, trials.n_before) for b in optimizer._branches]
        of_rungs |= {"over": rungs.over, "full": full}
    return {
        **of_rungs,
        "format": FORMAT,
        "space": _or_none(optimizer.space.to_dict),
        "policy": _or_none(lambda: policy_to_dict(optimizer.policy)),
        "horizon": optimizer.horizon,
        "constrained": optimizer.constraints is not None,
        "n_initial": optimizer.n_initial_points,
        "first": [
            [t.branch, branches[t.branch].params_to_json(t.params)]
            for t in optimizer._design.first
        ],
        "seed": optimizer._seed,
        "n_asked": optimizer._n_asked,
        "states": states,
        "balancer": to_json_state(optimizer._turns.balancer.state) if several else None,
        "trials": [trial_to_dict(trial, branches) for trial in trials.trials],
        "told": [trial.number + trials.n_before for trial in trials.told],
    }


def _numbers_told(branch: Branch, n_before: int) -> list[int] | None:
    """Return the trials that a branch uses, None if it uses all told ones."""
    told = [trial.number + n_before for trial in branch.history.told]
    return told if branch.history.only_full else None


def _or_none(write: Callable[[], Any]) -> Any:
    """Return the written part; None if it has objects, which are passed again."""
    try:
        return write()
    except TypeError:
        return None


def check_given(d: Mapping[str, Any], **parts: Any) -> None:
    """Raise a ValueError if a part is neither given nor could be written."""
    for name, part in parts.items():
        if part is None and d[name] is None:
            raise ValueError(
                f"Expected a state that holds its {name}, got one whose {name} has "
                f"objects that JSON cannot hold; pass '{name}' to from_dict."
            )


def settings_read(
    d: Mapping[str, Any], space: Space | None, policy: Policy | None
) -> dict[str, Any]:
    """Return the settings of an optimizer, from its state or as given."""
    space = space or Space.from_dict(d["space"])
    policy = policy or policy_from_dict(d["policy"])
    policy.check()
    first = [space.branches[i].params_from_json(params) for i, params in d["first"]]
    same = {name: d[name] for name in ("horizon", "n_initial", "seed")}
    amounts = d.get("resources")
    same["resources"] = None if amounts is None else checked_amounts(amounts)
    return {"space": space, "policy": policy, "first": first, **same}


def restore(optimizer: Optimizer, d: Mapping[str, Any]) -> None:
    """Restore the state of an optimizer that has just been set up.

    The trials are added in their order, but the policy does not learn from them again.
    """
    optimizer._n_asked = d["n_asked"]
    _restore_states(optimizer, d)
    trials = _read_trials(optimizer, d)
    for trial in trials:
        optimizer._add(trial)
    for trial in (trials[i] for i in d["told"]):
        # Not `value or ...`, which makes 0.0 of -0.0.
        value = math.nan if trial.value is None else float(trial.value)
        optimizer._record(trial, value, float(trial.time or 0.0))
    if optimizer._rungs is not None:
        optimizer._rungs.check()
        _restore_full(optimizer, trials, d)
        optimizer._revalue()
    _check_restored(optimizer)


def _restore_states(optimizer: Optimizer, d: Mapping[str, Any]) -> None:
    """Restore the states of the policy and of the balancer of branches."""
    for branch, state in zip(optimizer._branches, d["states"], strict=True):
        if state is not None:
            branch.state = rebuilt(optimizer.policy.state_type, state)
    if (d["balancer"] is None) != (len(optimizer._branches) == 1):
        raise ValueError(f"{d['balancer']!r} to balance {len(d['states'])} branches")
    if d["balancer"] is not None:
        optimizer._turns.balancer.state = rebuilt(BranchState, d["balancer"])


def _read_trials(optimizer: Optimizer, d: Mapping[str, Any]) -> list[Trial]:
    """Read the trials, and how many of them are of an earlier search."""
    trials = [trial_from_dict(t, optimizer.space.branches) for t in d["trials"]]
    if optimizer._rungs is None and any(trial.rungs for trial in trials):
        raise ValueError("values at rungs, and no resource")
    if {i for i, t in enumerate(trials) if not t.pending} != set(d["told"]):
        raise ValueError("values of what was not told, or none of what was")
    n_before = d.get("n_before", 0)
    if not has_form(n_before, Count) or n_before > len(trials):
        raise ValueError(f"{n_before!r} trials of an earlier search")
    optimizer._trials.n_before = n_before
    return trials


def _restore_full(
    optimizer: Optimizer, trials: list[Trial], d: Mapping[str, Any]
) -> None:
    """Restore which trials each branch uses."""
    rungs = optimizer._ladder
    if type(d["over"]) is not bool:
        raise ValueError(f"{d['over']!r} for its 'over'")
    rungs.over = d["over"]
    for branch, numbers in zip(optimizer._branches, d["full"], strict=True):
        if numbers is None:
            continue
        shown = [trials[i] for i in numbers]
        full = rungs.full(branch.history)
        if sorted(map(id, shown)) != sorted(map(id, full)):
            raise ValueError(f"{numbers!r} as those with full values")
        branch.history.keep(shown)


def _check_restored(optimizer: Optimizer) -> None:
    """Raise a ValueError unless the restored parts fit together."""
    for branch in optimizer._branches:
        if not _can_resume(branch):
            policy = type(branch.policy).__name__
            raise ValueError(f"a state of {policy} out of place")
    n, balancer = len(optimizer._branches), optimizer._turns.balancer.state
    if n > 1 and not balancer.consistent(n, len(optimizer._trials)):
        raise ValueError("a state of the balancer out of place")


def _can_resume(branch: Branch) -> bool:
    """Return whether the policy can continue from the restored state."""
    history, policy = branch.history, branch.policy
    if branch.state is None:
        return all(trial.metadata is None for trial in history.trials)
    pending = history.pending_metadata
    formed = all(has_items(metadata, policy.metadata_type) for metadata in pending)
    n_told = len(history.told)
    return formed and policy.consistent(branch.state, pending, branch.setup, n_told)


def check_constraints(d: Mapping[str, Any], constraints: Any) -> None:
    """Raise a ValueError unless constraints are given exactly where there were some."""
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
    """Raise a ValueError if `d` is not a state, or has another format."""
    is_dict = isinstance(d, Mapping)
    found = d.get("format") if is_dict else d
    if not is_dict or type(found) is not int or found != FORMAT:
        raise ValueError(
            f"Expected a state written by Optimizer.to_dict in format {FORMAT}, got "
            f"{found!r}; read it with the version that wrote it."
        )


#: The parts of a state, and the types of each.
_PARTS = {
    "space": (dict, NoneType),
    "policy": (dict, NoneType),
    "horizon": (int, NoneType),
    "constrained": (bool,),
    "n_initial": (int,),
    "first": (list,),
    "seed": (int,),
    "n_asked": (int,),
    "states": (list,),
    "balancer": (dict, NoneType),
    "trials": (list,),
    "told": (list,),
}


def check_parts(d: Mapping[str, Any]) -> None:
    """Raise a ValueError if parts of a state are missing or have wrong types."""
    for name, kinds in _PARTS.items():
        if name not in d or type(d[name]) not in kinds:
            got = repr(d[name]) if name in d else "nothing"
            raise broken(f"{got} for its {name!r}")
    for name in ("seed", "n_asked", "n_initial", "horizon"):
        least = int(name == "horizon")
        if d[name] is not None and not least <= d[name] <= LARGEST_COUNT:
            raise broken(f"{d[name]} for its {name!r}")
    told, n = d["told"], len(d["trials"])
    if any(type(i) is not int for i in told) or not set(told) <= set(range(n)):
        raise broken(f"{told!r} for those told of its {n} trials")
    if len(set(told)) < len(told):
        raise broken(f"{told!r} for those told, some of them twice")


@contextmanager
def reading() -> Iterator[None]:
    """Turn all errors in reading a state into one ValueError."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise broken("one whose parts do not fit together") from error


def broken(got: str) -> ValueError:
    """Return the error for a state that `to_dict` did not write."""
    return ValueError(
        f"Expected a state written by Optimizer.to_dict, got {got}; read it back as it "
        "was written."
    )


def history_record(trial: Trial, amounts: Sequence[float]) -> dict[str, Any]:
    """Return a trial as users see it, with its value at each amount of a resource."""
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
