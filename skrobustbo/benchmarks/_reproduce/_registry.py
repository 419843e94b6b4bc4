"""All experiments and cases by their names."""

from __future__ import annotations

from skrobustbo.benchmarks._reproduce import (
    _a,
    _boho,
    _et,
    _et_changes,
    _he,
    _lb,
    _lb_choice,
)
from skrobustbo.benchmarks._reproduce._spec import Case, Experiment

#: The papers in the order of the page, and their experiments.
PAPERS: dict[str, tuple[Experiment, ...]] = {
    "Ziomek, Adachi, Osborne 2024: BO with unknown hyperparameters": (
        *_lb_choice.EXPERIMENTS[:1],
        *_lb.EXPERIMENTS,
        *_lb_choice.EXPERIMENTS[1:],
    ),
    "Ziomek, Adachi, Osborne 2024: Beyond lengthscales": _he.EXPERIMENTS,
    "Wang, de Freitas 2014: Theoretical analysis of BO with unknown hyperparameters": (
        _boho.EXPERIMENTS
    ),
    "Berkenkamp, Schoellig, Krause 2019: No-regret BO with unknown hyperparameters": (
        _a.EXPERIMENTS
    ),
    "Brunzema, von Rohr, Solowjow, Trimpe 2025: Event-triggered time-varying BO": (
        *_et.EXPERIMENTS,
        *_et_changes.EXPERIMENTS,
    ),
}

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiments in PAPERS.values()
    for experiment in experiments
}

#: Cases under the name of their file. A panel may rename a case's title.
CASES: dict[str, Case] = {}
for _experiment in EXPERIMENTS.values():
    for _panel in _experiment.panels:
        CASES.setdefault(_panel.case.name, _panel.case)
