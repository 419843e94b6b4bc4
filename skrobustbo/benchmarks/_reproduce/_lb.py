"""Ziomek, Adachi, Osborne: BO with unknown hyperparameters. Figures, Table 2."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from skrobustbo.benchmarks._growth import Growth
from skrobustbo.benchmarks._reproduce._claims import (
    Better,
    Share,
    Spread,
    TimeRatio,
    less,
)
from skrobustbo.benchmarks._reproduce._spec import (
    REGRET,
    THETA,
    Case,
    Experiment,
    Method,
    Panel,
)

_LB, _A, _MLE, _MCMC = "LB-GP-UCB", "A-GP-UCB", "MLE", "MCMC"
_FOUR = (_LB, _A, _MLE, _MCMC)
#: The same two with the ladder of the authors' program, finer by 1 / (d + 2 nu).
_LB_CODE, _A_CODE = "LB-GP-UCB, code's ratio", "A-GP-UCB, code's ratio"
#: Candidates at the start.
_RUNGS = 5
_TWO_NU = 5
_SHARED = {"beta": 1.0, "noise": 0.01, "delta": 0.01}


def _balancing(power: float = 0.5, *, coded: bool = False) -> Method:
    """Return LB-GP-UCB with g(t) = max(t0, t^power)."""
    settings = {"growth": power, "n_candidates": _RUNGS}
    if coded:
        settings["ratio"] = "code"  # type: ignore[assignment] # other settings: float
    return Method(_LB_CODE if coded else _LB, "lb-gp-ucb", {**_SHARED, **settings})


def _growing(d: int, power: float = 0.5, *, coded: bool = False) -> Method:
    """Return A-GP-UCB with the same growth function in d dimensions."""
    step = 1 / (d + _TWO_NU) if coded else 1 / d
    growth: Callable[[int], float] = Growth(math.exp((_RUNGS - 1) * step), power)
    settings = {"matching": None, "theta0": None, "growth": growth}
    return Method(_A_CODE if coded else _A, "a-gp-ucb", {**_SHARED, **settings})


def _four(d: int) -> tuple[Method, ...]:
    return (
        _balancing(),
        _growing(d),
        Method(_MLE, "mle-gp-ucb", _SHARED),
        Method(_MCMC, "mcmc-gp-ucb", _SHARED),
    )


_CODED = (_balancing(coded=True), _growing(1, coded=True))

BERKENKAMP = Case(
    name="lb-berkenkamp",
    title="Berkenkamp",
    problem="berkenkamp",
    methods=(*_four(1), *_CODED),
    seeds=20,
    steps=250,
    n_initial=3,
    quick=10,
    measures=(*REGRET, "found", *THETA),
)
BERKENKAMP_TRAP = Case(
    name="lb-berkenkamp-trap",
    title="Berkenkamp, starts in [0.5, 1]",
    problem="berkenkamp-trap",
    methods=(*_four(1), *_CODED),
    seeds=20,
    steps=250,
    n_initial=3,
    quick=10,
    uniform=False,
    measures=(*REGRET, "found", *THETA),
)
MICHALEWICZ = Case(
    name="lb-michalewicz",
    title="Michalewicz, 5-d",
    problem="michalewicz5",
    methods=_four(5),
    seeds=10,
    steps=250,
    n_initial=10,
    quick=8,
    measures=(*REGRET, *THETA, "gap", "histogram"),
)
CROSSED_BARREL = Case(
    name="lb-crossed-barrel",
    title="Crossed barrel",
    problem="crossed-barrel",
    methods=_four(4),
    seeds=10,
    steps=100,
    n_initial=10,
    quick=10,
    measures=(*REGRET, *THETA),
    data="the materials data sets",
)
AGNP = Case(
    name="lb-agnp",
    title="AgNP",
    problem="agnp",
    methods=_four(5),
    seeds=20,
    steps=100,
    n_initial=10,
    quick=10,
    measures=(*REGRET, *THETA),
    data="the materials data sets",
)


def _ablation(power: float) -> Case:
    return replace(
        MICHALEWICZ,
        name=f"lb-growth-{round(100 * power)}",
        title=f"a = {power:g}",
        methods=(_balancing(power), _growing(5, power)),
    )


SLOW, FAST = _ablation(0.25), _ablation(0.75)
_GROWTHS = (SLOW.name, MICHALEWICZ.name, FAST.name)
#: Table 2: seconds of MLE, A-GP-UCB, LB-GP-UCB and MCMC.
_SECONDS = {
    BERKENKAMP: (438, 443, 442, 1653),
    MICHALEWICZ: (237, 167, 181, 3388),
    CROSSED_BARREL: (55, 48, 48, 471),
    AGNP: (53, 49, 49, 246),
}


def _time_ratios(case: Case) -> tuple[TimeRatio, ...]:
    mle, a, lb, mcmc = _SECONDS[case]
    return tuple(
        TimeRatio(case.title, case.name, "cpu_seconds", methods, seconds)
        for methods, seconds in (
            ((_MCMC, _MLE), (mcmc, mle)),
            ((_LB, _MLE), (lb, mle)),
            ((_LB, _A), (lb, a)),
        )
    )


def _regret(case: Case, metric: str, better: str, *worse: str) -> tuple[Better, ...]:
    of = {"simple": "final regret", "cumulative": "cumulative regret"}[metric]
    where = f"{case.title}: "
    return less(case.name, metric, better, *worse, of=of, where=where)


def _stuck(case: Case, method: str, *, leaves: bool) -> Share:
    does = "leaves the trap" if leaves else "stays in the trap"
    return Share(f"{case.title}: {method} {does}", case.name, "found", method, leaves)


def _spread(
    says: str,
    metric: str,
    method: str,
    good: tuple[float, float],
    fair: tuple[float, float],
) -> Spread:
    case, *others = _GROWTHS
    says = f"{says}: ratio of the means"
    return Spread(says, case, metric, method, good, fair, tuple(others))


EXPERIMENTS = (
    Experiment(
        name="lb-fig2",
        panels=(Panel(MICHALEWICZ),),
        metrics=("theta", "gap", "simple"),
        claims=tuple(
            Better(
                f"LB-GP-UCB chooses length scales closer to the best one than {other} "
                "(mean distance of logarithms)",
                MICHALEWICZ.name,
                "gap",
                (_LB, other),
            )
            for other in (_A, _MLE, _MCMC)
        ),
        drawing="histograms",
    ),
    Experiment(
        name="lb-fig3",
        panels=tuple(
            Panel(case)
            for case in (BERKENKAMP, BERKENKAMP_TRAP, MICHALEWICZ, CROSSED_BARREL, AGNP)
        ),
        metrics=("cumulative", "simple", "found"),
        claims=(
            *_regret(BERKENKAMP, "cumulative", _LB, _A, _MLE, _MCMC),
            *(_stuck(BERKENKAMP, method, leaves=True) for method in (_LB, _A)),
            *(_stuck(BERKENKAMP_TRAP, method, leaves=True) for method in (_LB, _A)),
            *(
                _stuck(BERKENKAMP_TRAP, method, leaves=False)
                for method in (_MLE, _MCMC)
            ),
            *_regret(BERKENKAMP_TRAP, "cumulative", _LB, _A),
            *_regret(MICHALEWICZ, "cumulative", _LB, _A, _MLE, _MCMC),
            *_regret(MICHALEWICZ, "simple", _LB, _A, _MLE, _MCMC),
            *_regret(CROSSED_BARREL, "simple", _LB, _A, _MLE, _MCMC),
            *_regret(CROSSED_BARREL, "cumulative", _LB, _A),
            *_regret(AGNP, "simple", _LB, _MLE, _MCMC),
            *_regret(AGNP, "simple", _A, _MLE, _MCMC),
            *_regret(AGNP, "cumulative", _LB, _A),
        ),
        drawn=("cumulative", "simple"),
    ),
    Experiment(
        name="lb-fig4",
        panels=(
            Panel(SLOW),
            Panel(replace(MICHALEWICZ, title="a = 0.5"), (_LB, _A)),
            Panel(FAST),
        ),
        metrics=("theta", "gap", "cumulative", "simple"),
        claims=(
            _spread(
                "LB-GP-UCB chooses similar length scales for all a",
                *("theta", _LB, (1.0, 1.5), (1.0, 2.5)),
            ),
            _spread(
                "LB-GP-UCB ends at similar regrets for all a",
                *("simple", _LB, (1.0, 1.5), (1.0, 2.0)),
            ),
            _spread(
                "A-GP-UCB chooses very different length scales",
                *("theta", _A, (3.0, math.inf), (2.0, math.inf)),
            ),
            _spread(
                "A-GP-UCB ends at different regrets",
                *("simple", _A, (1.5, math.inf), (1.2, math.inf)),
            ),
            *(
                Better(
                    f"a = {power}: LB-GP-UCB ends with less regret than A-GP-UCB",
                    case,
                    "simple",
                    (_LB, _A),
                )
                for power, case in zip(("0.25", "0.5", "0.75"), _GROWTHS, strict=True)
            ),
        ),
        drawing="histograms",
    ),
    Experiment(
        name="lb-table2",
        panels=tuple(Panel(case, _FOUR) for case in _SECONDS),
        metrics=("cpu_seconds",),
        claims=tuple(claim for case in _SECONDS for claim in _time_ratios(case)),
        drawing="times",
    ),
)
