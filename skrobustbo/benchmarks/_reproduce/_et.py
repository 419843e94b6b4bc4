"""Brunzema et al.: event-triggered time-varying BO. Figures 3 b, d, Tables 1 to 3."""

from __future__ import annotations

import math
from typing import Any

from sklearn.gaussian_process.kernels import RBF

from skrobustbo.benchmarks._reproduce._baselines import FromScratch
from skrobustbo.benchmarks._reproduce._claims import Better, less
from skrobustbo.benchmarks._reproduce._numbers import Column, Printed
from skrobustbo.benchmarks._reproduce._spec import (
    REGRET,
    Case,
    Experiment,
    Known,
    Method,
    Panel,
)

_GP, _R, _TV, _UI, _ET = "GP-UCB", "R-GP-UCB", "TV-GP-UCB", "UI-TVBO", "ET-GP-UCB"
_TV_MLE = "TV-GP-UCB, MLE"
_IGP, _BR, _SW, _W = "IGP-UCB", "BR-GP-UCB", "SW-GP-UCB", "W-GP-UCB"
#: What all methods know.
_KNOWN: dict[str, Any] = {
    "kernel": Known.KERNEL,
    "noise": Known.NOISE,
    "normalize_y": False,
    "beta": "log",
}

# -- Tables 1 and 3: functions of the model -------------------------------------------

_NARROW, _WIDE = "ET-GP-UCB [0.01, 0.05]", "ET-GP-UCB [0.001, 0.1]"
_FREE, _SCRATCH = "ET-GP-UCB [0, 1]", "R-GP-UCB from scratch"
_SEVEN = (_GP, _R, _NARROW, _WIDE, _FREE, _TV, _UI)
_HORIZON = 400
#: delta_B of Table 3; 0.1 is the row of Table 1.
_DELTAS = (0.005, 0.01, 0.05, 0.1, 0.5)
_WIDENED = {**_KNOWN, "c1": 0.4, "c2": 4.0}
#: N_const of Table 5, for the rate that R-GP-UCB is told.
_PERIODS = {0.01: 38, 0.03: 29, 0.05: 26, 0.001: 68, 0.2: 17}


def _triggered(name: str, **settings: Any) -> Method:
    return Method(name, "et-gp-ucb", {**_WIDENED, **settings})


def _delta_name(delta: float) -> str:
    return _FREE if delta == 0.1 else f"ET-GP-UCB, delta_B = {delta:g}"


def _told(rate: float, note: str = "") -> tuple[Method, ...]:
    """Return the methods that are told the rate of change."""
    return (
        Method(_R + note, "r-gp-ucb", {**_WIDENED, "period": _PERIODS[rate]}),
        Method(_SCRATCH + note, FromScratch, {**_WIDENED, "period": _PERIODS[rate]}),
        Method(_TV + note, "tv-gp-ucb", {**_WIDENED, "epsilon": rate}),
        Method(_UI + note, "ui-tvbo", {**_WIDENED, "variance": rate}),
    )


def _wrongly(rate: float) -> str:
    return f", told {rate:g}"


def _within(rate: float, *wrong: float) -> Case:
    return Case(
        name=f"et-within-{round(1000 * rate):03d}",
        title=f"epsilon = {rate:g}",
        problem="tv-within-model",
        settings={"epsilon": rate},
        methods=(
            _triggered(_GP, delta_b=None),  # no event and no clock: plain GP-UCB
            *_told(rate),
            _triggered(_NARROW, epsilon_bounds=(0.01, 0.05)),
            _triggered(_WIDE, epsilon_bounds=(0.001, 0.1)),
            *(_triggered(_delta_name(delta), delta_b=delta) for delta in _DELTAS),
            *(method for w in wrong for method in _told(w, _wrongly(w))),
        ),
        seeds=50,
        steps=_HORIZON - 1,
        n_initial=1,
        quick=44,
        drawn=True,
        counts_initial=True,
        measures=("average", "cumulative", "resets"),
    )


SLOW, MIDDLE, FAST = _within(0.01), _within(0.03), _within(0.05, 0.001, 0.2)

#: Table 1, in the order of `_SEVEN`.
_TABLE_1 = {
    SLOW: "0.756 0.210  0.617 0.088  0.612 0.097  0.519 0.103  0.501 0.111  0.301 0.089"
    " 0.344 0.056",
    MIDDLE: "1.079 0.199  0.840 0.102  0.776 0.097  0.716 0.095  0.694 0.093  0.504 "
    "0.089  0.641 0.064",
    FAST: "1.256 0.215  0.976 0.085  0.895 0.090  0.867 0.079  0.830 0.107  0.640 0.084"
    " 0.871 0.057",
}
#: The columns of wrong rates: R, TV, UI; TV at 0.2 repeats GP-UCB's entry to the digit.
_WRONG = {
    0.001: "0.910 0.095  0.961 0.176  0.954 0.185",
    0.2: "1.058 0.097  - -  1.380 0.052",
}
#: Table 3: delta_B by delta_B, the average number of resets and R_T.
_TABLE_3 = {
    SLOW: "2.66 191.39  2.96 193.05  3.20 200.16  3.38 200.33  3.98 196.03",
    MIDDLE: "6.42 276.84  6.82 273.37  7.72 269.01  8.04 271.59  10.32 280.05",
    FAST: "9.60 331.69  9.96 328.74  11.40 329.47  11.88 332.04  14.44 334.80",
}
_SENSITIVE = tuple(map(_delta_name, _DELTAS))
#: All but the other values of delta_B.
_TABLE_1_METHODS = (*_SEVEN, _SCRATCH)
_WRONG_METHODS = tuple(
    name + _wrongly(rate) for rate in _WRONG for name in (_R, _SCRATCH, _TV, _UI)
)


def _printed(methods: tuple[str, ...], entries: str) -> dict[str, Printed]:
    words = iter(entries.split())
    pairs = zip(methods, zip(words, words, strict=True), strict=True)
    return {m: Printed(float(a), float(s)) for m, (a, s) in pairs if a != "-"}


def _columns() -> tuple[Column, ...]:
    right = tuple(
        Column(case.title, case.name, "average", _printed(_SEVEN, entries))
        for case, entries in _TABLE_1.items()
    )
    return *right, *(_wrong_column(rate) for rate in _WRONG)


def _wrong_column(rate: float) -> Column:
    """Return a column of a rate told wrongly: its own rows among the others'."""
    told = tuple(name + _wrongly(rate) for name in (_R, _TV, _UI))
    rows = _printed(told, _WRONG[rate])
    right = _printed(_SEVEN, _TABLE_1[FAST])
    others = {name: right[name] for name in (_GP, _NARROW, _WIDE, _FREE)}
    says = f"epsilon = 0.05, told {rate:g}"
    return Column(says, FAST.name, "average", rows, context=others)


def _sensitivity(case: Case) -> tuple[Column, Column]:
    numbers = list(map(float, _TABLE_3[case].split()))
    # The table has no deviations; Table 1 has that of the sum over all queries.
    std = _printed(_SEVEN, _TABLE_1[case])[_FREE].std * _HORIZON
    resets = dict(zip(_SENSITIVE, map(Printed, numbers[::2]), strict=True))
    sums = (Printed(mean, std) for mean in numbers[1::2])
    regrets = dict(zip(_SENSITIVE, sums, strict=True))
    title, name = case.title, case.name
    return (
        Column(f"{title}, resets", name, "resets", resets, ordered=False),
        Column(f"{title}, R_T", name, "cumulative", regrets, ordered=False),
    )


# -- Figures 3 b and d, Table 2: other changes ----------------------------------------

_RATE = 0.03
#: Of an optimum that moves there is no simple regret to be followed.
_FOLLOWED = (
    *(name for name in REGRET if name != "simple_curve"),
    *("resets", "resets_curve"),
)


def _five(settings: dict[str, Any], period: int) -> tuple[Method, ...]:
    return (
        Method(_ET, "et-gp-ucb", settings),
        Method(_GP, "et-gp-ucb", {**settings, "delta_b": None}),
        Method(_R, "r-gp-ucb", {**settings, "period": period}),
        Method(_TV, "tv-gp-ucb", {**settings, "epsilon": _RATE}),
        Method(_UI, "ui-tvbo", {**settings, "variance": _RATE}),
    )


TEMPERATURE = Case(
    name="et-temperature",
    title="temperature of 50 sensors",
    problem="temperature",
    methods=(
        *_five(_KNOWN, 15),
        Method(_TV_MLE, "tv-gp-ucb", {**_KNOWN, "epsilon": "mle"}),
    ),
    seeds=20,
    steps=95,
    n_initial=1,
    quick=14,
    counts_initial=True,
    measures=_FOLLOWED,
    data="the sensor temperatures",
)

#: Mode of the prior Gamma(15, rate 10/3) of the scaled length scales, the scales, and
#: the lengths of the ranges of the gains.
_MODE, _SCALES, _RANGES = 4.2, (1 / 8, 1 / 4, 3.0, 1 / 8), (1.0, 2.0, 25.0, 2.0)
_THETAS = tuple(_MODE * s / r for s, r in zip(_SCALES, _RANGES, strict=True))
#: Mean and deviation of the reward over the domain before the change (200 points).
_REWARD = (-14.7, 0.54)

CART_POLE = Case(
    name="et-cart-pole",
    title="cart-pole, friction x 2.5 at t = 100",
    problem="cart-pole",
    methods=_five(
        {
            "kernel": RBF(_THETAS),
            "noise": math.sqrt(0.02) / _REWARD[1],
            "normalize_y": _REWARD,
            "beta": "log",
        },
        29,
    ),
    seeds=20,
    steps=299,
    n_initial=1,
    quick=9,
    counts_initial=True,
    measures=_FOLLOWED,
)


def _budgeted(name: str, title: str, problem: str, budget: float) -> Case:
    known = {**_KNOWN, "beta": "igp"}
    told = {**known, "budget": budget}
    return Case(
        name=name,
        title=title,
        problem=problem,
        methods=(
            Method(_ET, "et-gp-ucb", known),
            Method(_IGP, "igp-ucb", {**known, "repeats": True}),
            Method(_BR, "br-gp-ucb", told),
            Method(_SW, "sw-gp-ucb", told),
            Method(_W, "w-gp-ucb", told),
        ),
        seeds=20,
        steps=499,
        n_initial=1,
        quick=14,
        counts_initial=True,
        measures=_FOLLOWED,
    )


#: Norms of the two changes in the kernel's space, 2.81 and 2.30.
_ABRUPT_BUDGET = 5.12
ABRUPT = _budgeted("et-abrupt", "(a) abrupt change", "abrupt-change", _ABRUPT_BUDGET)
GRADUAL = _budgeted("et-slow", "(b) slow change", "slow-change", 2.0)


def _best(case: Case, best: str, *others: str) -> tuple[Better, ...]:
    where = f"{case.title}: "
    return less(case.name, "cumulative", best, *others, of="regret", where=where)


EXPERIMENTS = (
    Experiment(
        name="et-table1",
        panels=(
            Panel(SLOW, _TABLE_1_METHODS),
            Panel(MIDDLE, _TABLE_1_METHODS),
            Panel(FAST, (*_TABLE_1_METHODS, *_WRONG_METHODS)),
        ),
        metrics=("average", "resets"),
        claims=_columns(),
        drawing="columns",
    ),
    Experiment(
        name="et-table3",
        panels=tuple(Panel(case, _SENSITIVE) for case in _TABLE_3),
        metrics=("resets", "cumulative"),
        claims=tuple(column for case in _TABLE_3 for column in _sensitivity(case)),
        drawing="columns",
    ),
    Experiment(
        name="et-fig3b",
        panels=(Panel(TEMPERATURE, (_ET, _GP, _R, _TV, _TV_MLE, _UI)),),
        metrics=("cumulative", "average", "resets"),
        claims=_best(TEMPERATURE, _ET, _GP, _R, _TV, _TV_MLE, _UI),
        drawn=("cumulative", "resets"),
    ),
    Experiment(
        name="et-fig3d",
        panels=(Panel(CART_POLE),),
        metrics=("cumulative", "average", "resets"),
        claims=(
            *_best(CART_POLE, _ET, _GP, _R, _TV, _UI),
            *_best(CART_POLE, _UI, _R, _TV),
        ),
        drawn=("cumulative", "resets"),
    ),
    Experiment(
        name="et-table2",
        panels=(Panel(ABRUPT), Panel(GRADUAL)),
        metrics=("cumulative", "resets"),
        claims=(
            *_best(ABRUPT, _ET, _IGP, _BR, _SW, _W),
            *_best(GRADUAL, _ET, _IGP, _BR, _SW, _W),
        ),
        drawn=("cumulative", "resets"),
    ),
)
