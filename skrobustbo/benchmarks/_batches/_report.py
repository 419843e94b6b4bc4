"""The two tables: regret for equal evaluations, and for equal wall time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrobustbo.benchmarks._batches._search import Run

#: By number of candidates at a time, the runs of each seed.
BySize = dict[int, dict[int, Run]]


class Group(NamedTuple):
    """The runs that differ in seed and batch size only."""

    fold_seconds: float
    n_iter: int
    problem: str
    policy: str


def grouped(runs: Iterable[Run]) -> dict[Group, BySize]:
    """Return the runs by group, batch size and seed, each in order."""
    groups: dict[Group, BySize] = defaultdict(lambda: defaultdict(dict))
    for run in sorted(runs, key=lambda run: run.key):
        group = Group(run.fold_seconds, run.n_iter, run.problem, run.policy)
        groups[group][run.batch_size][run.seed] = run
    return {
        group: {size: by_size[size] for size in sorted(by_size)}
        for group, by_size in sorted(groups.items())
    }


def report(runs: Iterable[Run]) -> str:
    """Return both tables as markdown, for each length of runs and time of a fit."""
    sections: dict[tuple[float, int], dict[Group, BySize]] = defaultdict(dict)
    for group, by_size in grouped(runs).items():
        sections[group.fold_seconds, group.n_iter][group] = by_size
    if not sections:
        return "There are no runs yet."
    return "\n\n".join(
        (_timed_table if seconds else _regret_table)(groups)
        for (seconds, _), groups in sections.items()
    )


# -- equal evaluations ------------------------------------------------------------

_FIRST = ("problem", "policy", "at a time", "seeds")
_REGRET = (
    "final regret",
    "mean regret after the initial design",
    "ratio to the smallest batch",
)


def _regret_table(groups: Mapping[Group, BySize]) -> str:
    n_iter = next(iter(groups)).n_iter
    rows = [
        (*_first_cells(group, size, of_seed), *_regret_cells(of_seed, by_size))
        for group, by_size in groups.items()
        for size, of_seed in by_size.items()
    ]
    title = f"Regret for {n_iter} evaluations; median (10% to 90%) over seeds"
    return _table(title, _FIRST + _REGRET, rows)


def _regret_cells(of_seed: Mapping[int, Run], by_size: BySize) -> list[str]:
    areas = [area(run) for run in of_seed.values()]
    ratios = paired_ratios(of_seed, first(by_size))
    return [
        spread([run.regrets[-1] for run in of_seed.values()]),
        spread(areas),
        spread(ratios, ".2f"),
    ]


def area(run: Run) -> float:
    """Return the area under the curve of regrets, for each evaluation: their mean.

    It begins after the initial design: until then, batches make no difference.
    """
    return float(run.regrets[min(run.n_initial, len(run.best) - 1) :].mean())


def first(by_size: BySize) -> dict[int, Run]:
    """Return the runs of the smallest batch size, by seed."""
    return next(iter(by_size.values()))


def paired_ratios(
    of_seed: Mapping[int, Run], others: Mapping[int, Run]
) -> NDArray[np.float64]:
    """Return the ratio of areas to that of the other run of the same seed."""
    both = [seed for seed in of_seed if seed in others]
    return np.array([area(of_seed[seed]) / area(others[seed]) for seed in both])


# -- equal wall time --------------------------------------------------------------


def _timed_table(groups: Mapping[Group, BySize]) -> str:
    seconds, n_iter, *_ = next(iter(groups))
    limit = common_time(groups.values())
    rows = [
        (*_first_cells(group, size, of_seed), *_timed_cells(of_seed, by_size, limit))
        for group, by_size in groups.items()
        for size, of_seed in by_size.items()
    ]
    title = (
        f"Wall time of {n_iter} evaluations with fits of {seconds:g} s, a worker for "
        "each candidate at a time; median (10% to 90%) over seeds"
    )
    header = ("seconds", "evaluations/s", "speed-up", "of these, the tuner, s")
    after = (f"evaluations in {limit:.2g} s", f"regret after {limit:.2g} s")
    return _table(title, _FIRST + header + after + ("final regret",), rows)


def common_time(groups: Iterable[BySize]) -> float:
    """Return a time that no run but the fastest outlives: the shortest of all."""
    return min(
        run.seconds[-1]
        for by_size in groups
        for of_seed in by_size.values()
        for run in of_seed.values()
    )


def _timed_cells(
    of_seed: Mapping[int, Run], by_size: BySize, limit: float
) -> list[str]:
    runs = list(of_seed.values())
    seconds = np.array([run.seconds[-1] for run in runs])
    rates = np.array([len(run.seconds) for run in runs]) / seconds
    others = first(by_size)
    speed_ups = [
        others[seed].seconds[-1] / run.seconds[-1]
        for seed, run in of_seed.items()
        if seed in others
    ]
    return [
        spread(seconds, ".3g"),
        f"{np.median(rates):.1f}",
        spread(speed_ups, ".2f"),
        f"{np.median([run.tuner_seconds for run in runs]):.2f}",
        f"{np.median([n_done(run, limit) for run in runs]):.0f}",
        spread([regret_after(run, limit) for run in runs]),
        spread([run.regrets[-1] for run in runs]),
    ]


def n_done(run: Run, seconds: float) -> int:
    """Return the number of evaluations that are over after a time."""
    return int(np.searchsorted(run.seconds, seconds, side="right"))


def regret_after(run: Run, seconds: float) -> float:
    """Return the regret after a time, infinite before the first evaluation is over."""
    done = n_done(run, seconds)
    return float(run.regrets[done - 1]) if done else np.inf


# -- text -------------------------------------------------------------------------


def _first_cells(
    group: Group, size: int, of_seed: Mapping[int, Run]
) -> tuple[str, ...]:
    return group.problem, group.policy, str(size), str(len(of_seed))


def spread(sample: ArrayLike, form: str = ".2g") -> str:
    """Return the median, with the 10% and 90% quantiles of several, as text."""
    values = np.asarray(sample, dtype=float)
    if not values.size:
        return "-"
    middle = float(np.median(values))
    # Infinite values (nothing evaluated yet) would make interpolated quantiles nan.
    low, high = np.quantile(values, [0.1, 0.9], method="inverted_cdf")
    if values.size == 1:
        return format(middle, form)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


def _table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ("---",) * 2 + ("---:",) * (len(header) - 2)
    lines = [f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)]
    return "\n".join([f"{title}:", "", *lines])
