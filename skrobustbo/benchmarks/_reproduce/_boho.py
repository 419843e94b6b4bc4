"""Wang, de Freitas: analysis of BO with unknown hyperparameters. Figure 1."""

from __future__ import annotations

from sklearn.gaussian_process.kernels import RBF

from skrobustbo.benchmarks._reproduce._baselines import SliceEI
from skrobustbo.benchmarks._reproduce._claims import Better, Share
from skrobustbo.benchmarks._reproduce._spec import (
    REGRET,
    Case,
    Experiment,
    Known,
    Method,
    Panel,
)

_BOHO, _SLICE, _MLE = "Algorithm 1", "EI, slice sampling", "EI, maximum likelihood"
_SHARED = {"kernel": RBF(1.0), "noise": Known.NOISE, "repeats": True}

TRAP = Case(
    name="boho-trap",
    title="the trap",
    problem="wang-trap",
    methods=(
        Method(_BOHO, "boho", {**_SHARED, "normalize_y": False}),
        Method(_SLICE, SliceEI, _SHARED),
        # Bounds that never shrink.
        Method(_MLE, "boho", {**_SHARED, "threshold": 1e-12, "nu": 1.0}),
    ),
    seeds=50,
    steps=57,
    n_initial=3,
    quick=12,
    measures=(*REGRET, "found", "x"),
)

EXPERIMENTS = (
    Experiment(
        name="boho-fig1",
        panels=(Panel(TRAP),),
        metrics=("found", "simple"),
        claims=(
            Share("Algorithm 1 finds the narrow optimum", TRAP.name, "found", _BOHO),
            Share("EI, slice sampling, does not", TRAP.name, "found", _SLICE, False),
            Share("EI, maximum likelihood, does not", TRAP.name, "found", _MLE, False),
            Better(
                "Algorithm 1 ends with less regret than EI with slice sampling",
                TRAP.name,
                "simple",
                (_BOHO, _SLICE),
            ),
        ),
        drawing="places",
    ),
)
