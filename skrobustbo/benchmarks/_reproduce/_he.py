"""Ziomek, Adachi, Osborne: Beyond lengthscales. Figure 2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.gaussian_process.kernels import RBF

from skrobustbo.benchmarks._reproduce._baselines import RoundedGrowth
from skrobustbo.benchmarks._reproduce._claims import Alike, Better, less
from skrobustbo.benchmarks._reproduce._spec import (
    REGRET,
    Case,
    Experiment,
    Known,
    Method,
    Panel,
)
from skrobustbo.surrogate import Candidate

_HE, _MLE, _EXPECTED, _A = "HE-GP-UCB", "MLE", "ExpectedUCB", "A-GP-UCB"
_THREE = (_HE, _MLE, _EXPECTED)


def _three(settings: dict[str, Any]) -> tuple[Method, ...]:
    policies = ("he-gp-ucb", "mle-gp-ucb", "expected-ucb")
    return tuple(
        Method(name, policy, settings)
        for name, policy in zip(_THREE, policies, strict=True)
    )


#: Norm bound 1 and a small noise: beta is little more than 1.
_FREQUENTIST = {"beta": "igp", "delta": 0.1, "noise": 0.01}
_THETAS = (0.3, 0.4, 0.5, 0.7, 1.0)
_SCALES = {**_FREQUENTIST, "candidates": [Candidate(RBF(t)) for t in _THETAS]}
_GIVEN = {**_FREQUENTIST, "candidates": Known.CANDIDATES}
_BAYESIAN = {
    "candidates": Known.CANDIDATES,
    "beta": "bayes-continuous",
    "delta": 0.1,
    "noise": 0.01,
    "normalize_y": False,
}

LENGTH_SCALE = Case(
    name="he-length-scale",
    title="(a) unknown length scale",
    problem="berkenkamp",
    methods=(*_three(_SCALES), Method(_A, RoundedGrowth, _SCALES)),
    seeds=50,
    steps=50,
    n_initial=3,
    quick=12,
    measures=(*REGRET, "found"),
)
#: Another norm bound. That of the function (standardised) exceeds 90 under them all.
_WIDE = 20.0
_WIDER = {
    **_FREQUENTIST,
    "candidates": [Candidate(RBF(t), norm_bound=_WIDE) for t in _THETAS],
}
LENGTH_SCALE_WIDE = replace(
    LENGTH_SCALE,
    name="he-length-scale-wide",
    title="(a) again, B = 20",
    methods=(*_three(_WIDER), Method(_A, RoundedGrowth, _WIDER)),
)
PERIOD = Case(
    name="he-period",
    title="(b) unknown period",
    problem="unknown-period",
    methods=_three(_GIVEN),
    seeds=50,
    steps=50,
    n_initial=5,
    quick=12,
)
DECOMPOSITION = Case(
    name="he-decomposition",
    title="(c) unknown decomposition",
    problem="unknown-decomposition",
    methods=_three(_GIVEN),
    seeds=100,
    steps=50,
    n_initial=5,
    quick=10,
    measures=(*REGRET, "found"),
)
MEAN = Case(
    name="he-mean",
    title="(d) unknown mean",
    problem="unknown-mean",
    methods=_three(_BAYESIAN),
    seeds=50,
    steps=100,
    n_initial=5,
    quick=12,
    drawn=True,
)


def _regret(case: Case, metric: str, better: str, *worse: str) -> tuple[Better, ...]:
    of = {"early": "early cumulative regret", "cumulative": "cumulative regret"}[metric]
    where = f"{case.title[:3]} "
    return less(case.name, metric, better, *worse, of=of, where=where)


EXPERIMENTS = (
    Experiment(
        name="he-fig2",
        panels=tuple(
            Panel(case)
            for case in (LENGTH_SCALE, LENGTH_SCALE_WIDE, PERIOD, DECOMPOSITION, MEAN)
        ),
        metrics=("cumulative", "simple", "found"),
        claims=(
            Alike(
                "(a) HE-GP-UCB and A-GP-UCB have much the same cumulative regret",
                LENGTH_SCALE.name,
                "cumulative",
                (_HE, _A),
            ),
            *_regret(LENGTH_SCALE, "cumulative", _HE, _MLE, _EXPECTED),
            *_regret(LENGTH_SCALE, "cumulative", _A, _MLE, _EXPECTED),
            *_regret(PERIOD, "cumulative", _HE, _MLE, _EXPECTED),
            *_regret(DECOMPOSITION, "early", _HE, _MLE, _EXPECTED),
            *_regret(MEAN, "cumulative", _EXPECTED, _MLE),
            *_regret(MEAN, "cumulative", _HE, _EXPECTED),
        ),
        drawn=("cumulative", "simple"),
    ),
)
