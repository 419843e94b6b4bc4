"""Optimizers with any policy, space and order of calls obey the rules.

    python tests/attack/fuzz_optimizer.py [--n N] [--seed S] [--jobs J] [--case ...]

Spaces of up to 30 dimensions, branches, pools, constraints, values of all kinds. Points
are asked in batches, told in any order or never, and told without being asked. At most
steps, the optimizer is written to JSON and read back, and both must continue
identically.
"""

from __future__ import annotations

import sys
from typing import Any

import command
from cases import (
    OBJECTIVES,
    RARE,
    Params,
    Rng,
    Rule,
    constraint_of,
    drawn,
    finite,
    pick,
    policy_cases,
    space_of,
)
from rules import Checked

from skrobustbo import Optimizer, Space

#: How steps are chosen: most are asks or tells.
STEPS = ["ask"] * 4 + ["batch"] + ["tell"] * 5 + ["stranger", "again", "look"]

#: Beyond this many columns, robust policies get no constraint: finding the worst
#: feasible perturbation would take many seconds per step.
LARGE = 8


def optimizer_of(
    rng: Rng, policy: str, space: Space
) -> tuple[Optimizer | None, Rule | None]:
    """Return an optimizer and its constraint; None if no point is feasible."""
    rule, known = constraint_of(rng, space)
    if "stableopt" in policy and space.n_columns > LARGE:
        rule = None
    arguments: dict[str, Any] = {
        "horizon": pick(rng, [None, None, 8, 40]),
        "n_initial_points": pick(rng, [None, 1, 2, 4]),
        "constraints": rule,
        "random_state": int(rng.integers(2**31)),
    }
    if rng.random() < (0.8 if rule is not None and rule.name in RARE else 0.2):
        arguments["initial_params"] = known
    try:
        return Optimizer(space, policy, **arguments), rule
    except ValueError as error:
        if rule is None or "must allow some point" not in str(error):
            raise
        return None, rule


class Script:
    """A random sequence of steps."""

    def __init__(self, checked: Checked, rng: Rng, objective: str) -> None:
        self.checked, self.rng = checked, rng
        self.value = OBJECTIVES[objective]
        rare = checked.rule is not None and checked.rule.name in (*RARE, "tight")
        # Reading one back requires finding its feasible points again.
        self.share = 0.15 if rare else 0.8

    def _tell(self, params: Params) -> None:
        self.checked.tell(params, self.value(params, self.rng))

    def ask(self, n: int | None = None) -> bool:
        return self.checked.ask(n, exact=bool(self.rng.random() < self.share))

    def batch(self) -> bool:
        return self.ask(int(self.rng.integers(2, 5)))

    def tell(self) -> bool:
        if self.checked.pending:
            self._tell(pick(self.rng, self.checked.pending))
        return True

    def stranger(self) -> bool:
        seed = int(self.rng.integers(2**31))
        self._tell(self.checked.optimizer.space.sample(1, seed)[0])
        return True

    def again(self) -> bool:
        records = self.checked.optimizer.history_
        if records:
            self._tell(pick(self.rng, records)["params"])
        return True

    def look(self) -> bool:
        self.checked.look(int(self.rng.integers(2**31)))
        return True


def check(case: str) -> list[command.Step]:
    """Play one case; return how long its asks took."""
    policy, rng = drawn(case)
    used_up = rng.random() < 0.2
    space = finite(rng) if used_up else space_of(rng)
    optimizer, rule = optimizer_of(rng, policy, space)
    if optimizer is None:
        return []
    objective = pick(rng, list(OBJECTIVES))
    checked = Checked(optimizer, rule)
    script = Script(checked, rng, objective)
    for _ in range(int(rng.integers(10, 30))):
        getattr(script, pick(rng, STEPS))()
    for _ in range(60 if used_up else 3):
        if not script.ask():
            break
        script.tell()
    checked.look(0)
    d = sum(len(b.dimensions) for b in space.branches)
    name = "" if rule is None else f", {rule.name}"
    what = f"{policy}, d = {d}, {len(space.branches)} branches{name}, {objective}"
    return [(seconds, f"{what}, n = {n}") for seconds, n in checked.times]


if __name__ == "__main__":
    sys.exit(command.main(__file__, __doc__, check, policy_cases))
