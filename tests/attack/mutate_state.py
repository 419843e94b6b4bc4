"""A state with any change is refused when it is read, or works.

    python tests/attack/mutate_state.py [--n N] [--seed S] [--jobs J] [--case ...]

States of all policies in the middle of a run, with pending and failed points, are
changed at one random place. A state that is still read must ask and tell five times by
the rules of every optimizer.
"""

from __future__ import annotations

import copy
import json
import math
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import command
import numpy as np
from cases import (
    Params,
    Rng,
    Rule,
    constraint_of,
    drawn,
    pick,
    plain_text,
    policy_cases,
    smooth,
    space_of,
)
from rules import Checked, five_steps

from skrobustbo import Optimizer

#: Settings that determine how long a step takes: a large one is slow, not wrong.
COSTLY = {"n_candidates", "n_samples", "burn_in", "thin", "n_restarts", "n_starts"}
NUMBERS = [0, 1, -1, 3, 0.5, -0.5, 1e-300, 1e300, -1e300, 10**30, 2**53, math.pi]
TAGGED = [{"$float": name} for name in ("nan", "inf", "-inf", "three")]
OTHERS = [
    None,
    True,
    False,
    "",
    "a",
    "nan",
    "0.25",
    "theta=0.25",
    [],
    {},
    [0],
    {"a": 0},
]


# Mutations of one value, each of which returns another --------------------------------


def other_kind(rng: Rng, value: Any) -> Any:
    return copy.deepcopy(pick(rng, OTHERS + TAGGED))


def other_number(rng: Rng, value: Any) -> Any:
    moved = [value + 1, value - 1, -value, str(value), [value], bool(value)]
    return pick(rng, NUMBERS + TAGGED + moved)


def other_list(rng: Rng, value: list[Any]) -> Any:
    i = int(rng.integers(len(value)))
    changed = [
        value[:i],  # the end is missing
        [*value, value[i]],  # one appears twice
        value + value,
        [value],
        value[::-1],
        value[:i] + value[i + 1 :],
        [value[int(k)] for k in rng.permutation(len(value))],
    ]
    return copy.deepcopy(pick(rng, changed))


def other_dict(rng: Rng, value: dict[str, Any]) -> Any:
    name = pick(rng, sorted(value))
    rest = {k: v for k, v in value.items() if k != name}
    exchanged = dict(zip(value, [*value.values()][::-1], strict=True))
    changed = [rest, {**value, "more": 1}, {**rest, name + "x": value[name]}, exchanged]
    return copy.deepcopy(pick(rng, [*changed, {name: value[name]}, [value]]))


def mutated(rng: Rng, value: Any) -> Any:
    """Return a mutation of a value of a state."""
    change: Callable[[Rng, Any], Any] = other_kind
    if rng.random() < 0.8:
        if isinstance(value, dict) and value:
            change = other_dict
        elif isinstance(value, list) and value:
            change = other_list
        elif isinstance(value, int | float):
            change = other_number
    return change(rng, value)


def places(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the path to a value and to everything inside."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    found = [path]
    for name, inner in items:
        if name not in COSTLY:
            found += places(inner, (*path, name))
    return found


def mutate(rng: Rng, state: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return a changed copy of JSON, and a text that describes the change."""
    state = copy.deepcopy(state)
    part = pick(rng, sorted(state))  # a trial is no likelier than a setting
    path = pick(rng, places(state[part], (part,)))
    *way, last = path
    inner = state
    for name in way:
        inner = inner[name]
    before = inner[last]
    while plain_text(inner[last]) == plain_text(before):
        inner[last] = mutated(rng, before)
    said = f"{'.'.join(map(str, path))}: {before!s:.50} is now {inner[last]!s:.50}"
    return state, said


# States -------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def written(policy: str, seed: int) -> tuple[str, Rule | None]:
    """Return a state in the middle of a run as text, and its constraint."""
    rng = np.random.default_rng(seed)
    rule, points = None, []
    while not points:
        space = space_of(rng, most=5)
        rule, points = constraint_of(rng, space)
    optimizer = Optimizer(
        space,
        policy,
        horizon=pick(rng, [None, 30]),
        n_initial_points=3,
        initial_params=points[:1],
        constraints=rule,
        random_state=seed,
    )
    checked = Checked(optimizer, rule)
    for i in range(int(rng.integers(4, 14))):
        if checked.ask(exact=False) and i % 5:
            params = pick(rng, checked.pending)
            checked.tell(params, smooth(params, rng) if i % 4 else math.nan)
    checked.tell(space.sample(1, 7)[0], 0.25)
    return json.dumps(optimizer.to_dict()), rule


def value(params: Params) -> float:
    return smooth(params, np.random.default_rng(0))


def check(case: str) -> list[command.Step]:
    """Change one state, read it and use it; return how long that took."""
    policy, rng = drawn(case)
    text, rule = written(policy, int(rng.integers(12)))
    state, said = mutate(rng, json.loads(text))
    start = time.perf_counter()
    try:
        use(state, rule)
    except Exception as error:
        error.args = (f"[{said}] {error}",)
        raise
    return [(time.perf_counter() - start, said)]


def use(state: dict[str, Any], rule: Rule | None) -> None:
    """Read a state, which may be refused with a message; otherwise use it."""
    json.dumps(state)
    try:
        optimizer = Optimizer.from_dict(state, constraints=rule)
    except ValueError as error:
        if len(str(error).split()) < 6:  # no sentence
            raise
        return
    five_steps(Checked(optimizer, rule), value, 1)


if __name__ == "__main__":
    sys.exit(command.main(__file__, __doc__, check, policy_cases))
