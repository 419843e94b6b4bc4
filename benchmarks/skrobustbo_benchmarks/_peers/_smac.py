"""SMAC3: the facades for black boxes (Gaussian process) and tuning (random forest)."""

from __future__ import annotations

import logging
import shutil
import tempfile
import weakref
from typing import Any

from ConfigSpace import Categorical, Configuration, ConfigurationSpace, Float, Integer
from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario
from smac.runhistory import TrialInfo, TrialValue

from skrobustbo_benchmarks._methods import ExhaustedError, Params, Setup
from skrobustbo_benchmarks._peers._base import Axes, Axis, PeerMethod

_FACADES = {"rf": HyperparameterOptimizationFacade, "gp": BlackBoxFacade}


class SmacMethod(PeerMethod):
    """A facade with its defaults, without an initial design of its own.

    The objective is declared deterministic, so that every evaluation is of a new point,
    as for all others. It minimises, hence the sign.
    """

    def __init__(self, name: str, setup: Setup, *, facade: str):
        super().__init__(name, setup)
        self._axes = Axes(setup.space)
        self._space = ConfigurationSpace(seed=setup.seed)
        self._space.add([_parameter(axis) for axis in self._axes.varying])
        # What it insists on writing goes where it is removed.
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._smac = _facade(_FACADES[facade], self._space, setup, folder)
        self._asked: Any = None

    def propose(self) -> Params:
        """Return the configuration asked of the facade."""
        try:
            self._asked = self._smac.ask()
        except StopIteration as error:  # it knows of no configuration not yet tried
            raise ExhaustedError from error
        return self._axes.to_params(dict(self._asked.config))

    def learn(self, params: Params, value: float) -> None:
        """Tell the trial asked for, or one that was evaluated before."""
        trial, self._asked = self._asked, None
        if trial is None:
            numbers = self._axes.to_numbers(params)
            trial = TrialInfo(Configuration(self._space, numbers), seed=0)
        self._smac.tell(trial, TrialValue(cost=-value), save=False)


def _facade(cls: Any, space: Any, setup: Setup, folder: str) -> Any:
    logging.getLogger("smac").setLevel(logging.ERROR)
    scenario = Scenario(
        space,
        n_trials=setup.n_iter,
        deterministic=True,
        seed=setup.seed,
        output_directory=folder,
    )
    return cls(
        scenario,
        _never_called,
        initial_design=cls.get_initial_design(scenario, n_configs=0),
        overwrite=True,
        logging_level=False,
    )


def _never_called(config: Any, seed: int = 0) -> float:
    raise RuntimeError("The facade is asked and told.")


def _parameter(axis: Axis) -> Any:
    if axis.kind == "choice":
        return Categorical(axis.name, axis.numbers)
    kind = Float if axis.kind == "real" else Integer
    return kind(axis.name, (axis.low, axis.high), log=axis.log)
