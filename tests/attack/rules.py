"""The promises of every optimizer, checked at each step of the attack."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import numpy as np
from cases import Params, Rule, plain_text

import inside
from skrobustbo import Optimizer, Space, SpaceExhausted

#: Finite spaces up to this size are listed to check that no point is left.
LISTED = 5000


def state(optimizer: Optimizer) -> str:
    """Return the whole state as text, without times of day."""
    written = optimizer.to_dict()
    for trial in written["trials"]:
        del trial["time"]
    return plain_text(written)


def read_back(optimizer: Optimizer) -> Optimizer:
    """Return the optimizer as a later process would read it."""
    text = json.dumps(optimizer.to_dict(), allow_nan=False)
    return Optimizer.from_dict(json.loads(text), constraints=optimizer.constraints)


def key(space: Space, params: Params) -> tuple[int, bytes]:
    """Return a key that identifies a point."""
    branch, row = space.place(params)
    return branch, row.tobytes()


def answer(optimizer: Optimizer, n: int | None) -> list[Params] | str:
    """Return the points asked, or the message if none is left."""
    try:
        points = optimizer.ask(n)
    except SpaceExhausted as error:
        return str(error)
    return [points] if n is None else points


class Checked:
    """An optimizer whose every answer is checked against the rules.

    Parameters
    ----------
    optimizer : Optimizer
    rule : Rule or None
        Its constraint.
    """

    def __init__(self, optimizer: Optimizer, rule: Rule | None) -> None:
        self.optimizer, self.rule = optimizer, rule
        space = optimizer.space
        records = optimizer.history_
        self.seen = {key(space, r["params"]) for r in records}
        self.pending = [r["params"] for r in records if r["pending"]]
        #: Initial points are asked exactly as given.
        self.given = inside.first_points(optimizer)
        #: Seconds of each ask, with the number of known values.
        self.times: list[tuple[float, int]] = []

    # Steps ---------------------------------------------------------------------------

    def ask(self, n: int | None = None, exact: bool = True) -> bool:
        """Ask and check the points; return whether there were any."""
        twin = read_back(self.optimizer) if exact else None
        n_before, start = len(self.optimizer.history_), time.perf_counter()
        found = answer(self.optimizer, n)
        records = self.optimizer.history_
        self.times.append((time.perf_counter() - start, n_before))
        if twin is not None:
            other = answer(twin, n)
            assert other == found, f"read back from JSON, it asks {other}, not {found}"
            same = state(twin) == state(self.optimizer)
            assert same, "read back from JSON, it is in another state after an ask"
        new = [record["params"] for record in records[n_before:]]
        for params in new:
            self._check_new(params)
        if isinstance(found, str):
            self._check_exhausted()
        else:
            assert found == new, "the history has other points than those asked"
        return not isinstance(found, str)

    def tell(self, params: Params, value: float) -> None:
        """Tell a value of any point."""
        self.optimizer.tell(params, value)
        own = key(self.optimizer.space, params)
        self.seen.add(own)
        keys = [key(self.optimizer.space, other) for other in self.pending]
        if own in keys:
            del self.pending[keys.index(own)]
        assert len(self.optimizer.history_) >= len(self.seen)

    def look(self, seed: int) -> None:
        """Check everything that users can see."""
        optimizer = self.optimizer
        records = optimizer.history_
        values = [r["value"] for r in records if r["value"] is not None]
        finite = [value for value in values if math.isfinite(value)]
        n = sum(r["pending"] for r in records)
        assert n == len(self.pending), f"{n} of {len(self.pending)} points are pending"
        assert set(optimizer.remembered_) <= set(range(len(records)))
        if not finite:
            return
        assert optimizer.best_value_ == max(finite)
        optimizer.space.encode(optimizer.recommend())
        mean, std = optimizer.predict(optimizer.space.sample(3, seed), return_std=True)
        assert np.isfinite(mean).all(), "a mean is no number"
        assert (np.isfinite(std) & (std >= 0)).all(), "a deviation is no number"
        if optimizer.policy.seeks_maximum:
            assert not math.isnan(optimizer.regret_bound()), "a bound is no number"

    # Rules ---------------------------------------------------------------------------

    def _check_new(self, params: Params) -> None:
        space = self.optimizer.space
        again = space.decode(space.encode(params))
        assert key(space, again) == key(space, params)
        if params not in self.given:
            assert again == params, f"{params} is decoded as {again}"
            assert [*map(type, again.values())] == [*map(type, params.values())]
        for value in params.values():
            assert not isinstance(value, np.generic), f"{value!r} is not plain"
        assert self.rule is None or self.rule(params), f"{params} is not feasible"
        own = key(space, params)
        pending = {key(space, other) for other in self.pending}
        assert own not in pending, f"{params} is pending and asked again"
        repeats = self.optimizer.policy.repeats
        assert repeats or own not in self.seen, f"{params} is known and asked again"
        self.seen.add(own)
        self.pending.append(params)

    def _check_exhausted(self) -> None:
        """Check that no point is left; a rare constraint may hide some."""
        space = self.optimizer.space
        if space.size > LISTED:
            assert self.rule is not None, "exhausted, and there are points left"
            return
        points = [space.decode(x) for x in space.enumerate()]
        feasible = [p for p in points if self.rule is None or self.rule(p)]
        repeats = self.optimizer.policy.repeats
        gone = {key(space, p) for p in self.pending} if repeats else self.seen
        left = [p for p in feasible if key(space, p) not in gone]
        assert not left, f"exhausted, and there is {left[0]} left"


def five_steps(checked: Checked, value: Any, seed: int) -> None:
    """Ask, tell and check five times, or until no point is left."""
    for i in range(5):
        if not checked.ask():
            return
        params = checked.pending[-1]
        checked.tell(params, value(params))
        checked.look(seed + i)
