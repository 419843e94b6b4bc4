"""Optuna: the Parzen estimator (its default) and the Gaussian process."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from skrobustbo_benchmarks._methods import Params, Setup
from skrobustbo_benchmarks._peers._base import Axes, Axis, PeerMethod


class OptunaMethod(PeerMethod):
    """A study in memory; the sampler speaks as soon as the initial design is over."""

    def __init__(self, name: str, setup: Setup, *, sampler: str):
        super().__init__(name, setup)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        if sampler == "gp":
            # The sampler does so when it is first asked, which is not its step's work.
            import torch  # noqa: F401
        self._axes = Axes(setup.space)
        self._distributions = {
            axis.name: _distribution(axis) for axis in self._axes.varying
        }
        self._study = optuna.create_study(
            direction="maximize", sampler=_sampler(sampler, setup)
        )
        self._asked: Any = None

    def propose(self) -> Params:
        """Return the parameters of a new trial."""
        self._asked = self._study.ask(self._distributions)
        return self._axes.to_params(self._asked.params)

    def learn(self, params: Params, value: float) -> None:
        """Tell the trial asked for, or add one that was evaluated before."""
        if self._asked is not None:
            self._study.tell(self._asked, value)
            self._asked = None
            return
        self._study.add_trial(
            optuna.trial.create_trial(
                params=self._axes.to_numbers(params),
                distributions=self._distributions,
                value=value,
            )
        )


def _sampler(name: str, setup: Setup) -> Any:
    cls = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}[name]
    return cls(seed=setup.seed, n_startup_trials=len(setup.initial))


def _distribution(axis: Axis) -> Any:
    if axis.kind == "choice":
        return CategoricalDistribution(axis.numbers)
    kind = FloatDistribution if axis.kind == "real" else IntDistribution
    return kind(axis.low, axis.high, log=axis.log)
