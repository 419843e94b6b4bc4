"""Wang, de Freitas: analysis of BO with unknown hyperparameters. Figure 1."""

from __future__ import annotations

from sklearn.gaussian_process.kernels import RBF

from skrobustbo.benchmarks._reproduce._baselines import SliceEI
from skrobustbo.benchmarks._reproduce._claims import Better, Share
from skrobustbo.benchmarks._reproduce._spec import (
    Case,
    Experiment,
    Known,
    Method,
    Panel,
    Quick,
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
    together=5,
    quick=Quick(12),
    measures=("found", "places"),
)

EXPERIMENTS = (
    Experiment(
        name="boho-fig1",
        title="Figure 1: the trap, t = 20, 40, 60",
        reports=(
            "One run each. Expected improvement with slice sampling over the kernel's "
            "hyperparameters grows too confident and has not converged after 60 "
            "evaluations, unless it hits the narrow optimum by chance (the same with "
            "maximum likelihood); Algorithm 1 widens its bounds again and finds it."
        ),
        panels=(Panel(TRAP, (_BOHO, _SLICE, _MLE)),),
        metrics=("found", "simple"),
        claims=(
            Share("Algorithm 1 finds the narrow optimum", TRAP.name, "found", _BOHO),
            Share("EI, slice sampling, does not", TRAP.name, "found", _SLICE, False),
            Share("EI, maximum likelihood, does not", TRAP.name, "found", _MLE, False),
            Better(
                "Algorithm 1 ends with less regret than EI with slice sampling",
                TRAP.name,
                "simple",
                _BOHO,
                _SLICE,
            ),
        ),
        drawing="places",
        drawn=("x",),
        left_open=(
            "Seeds (the paper shows one run), initial points (three uniform draws "
            "here, counted in t), theta^L = 0.005 and theta^U = 1 at the start, delta "
            "= 0.1.",
            "How nu is estimated: the maximum likelihood output scale, clipped; values "
            "raw, the noise known. The other two work on standardised values with "
            "nu = 1.",
            "Prior of the slice sampler: log-uniform on [0.005, 20]; eight draws a "
            "step.",
        ),
    ),
)
