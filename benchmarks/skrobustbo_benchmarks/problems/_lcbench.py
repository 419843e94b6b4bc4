"""Learning curves of a neural network, predicted by the surrogate of LCBench."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from skrobustbo.space import Integer, Real, Space
from skrobustbo_benchmarks._names import unknown_name
from skrobustbo_benchmarks.datasets import fetch_lcbench
from skrobustbo_benchmarks.problems._base import Home, Problem, Resource
from skrobustbo_benchmarks.problems._resources import AtFullResource

_EPOCHS = 52


@dataclass(frozen=True)
class _Surrogate:
    """The model, ready to run on one thread."""

    session: Any
    tasks: dict[str, int]
    inputs: list[str]
    outputs: list[str]

    def predict(
        self, task: str, params: Mapping[str, Any], epoch: float
    ) -> dict[str, float]:
        """Return all outputs for one setting after a number of epochs."""
        row = [{**params, "epoch": epoch}[name] for name in self.inputs]
        inputs = {
            "x_cont": np.array([row], dtype=np.float32),
            "x_cat": np.array([[self.tasks[task]]], dtype=np.int32),
        }
        outputs = self.session.run(None, inputs)[0][0].tolist()
        return dict(zip(self.outputs, outputs, strict=True))


@dataclass(frozen=True)
class _Curve:
    """One output of the surrogate for one task (picklable: the model is not in it)."""

    task: str
    output: str
    data_home: str | None

    def __call__(self, params: Mapping[str, Any], epoch: float) -> float:
        """Return the output after `epoch` epochs."""
        return _surrogate(self.data_home).predict(self.task, params, epoch)[self.output]


def lcbench(name: str, data_home: Home = None) -> Problem:
    """Return the learning curves of LCBench on one task, 7-d, with epochs as resource.

    The value is the validation accuracy in percent after 52 epochs, as the surrogate
    predicts it; ``problem.resource`` gives it after fewer, and the seconds of training.
    Noise-free. The optimum is not known. The surrogate is smoother than real training.

    Parameters
    ----------
    name : str
        ``"lcbench-"`` and the OpenML number of one of 34 tasks.
    data_home : path-like or None, default=None
        As in `skrobustbo_benchmarks.datasets.fetch_lcbench`.

    Raises
    ------
    ModuleNotFoundError
        If onnxruntime is not installed.

    Notes
    -----
    Zimmer, Lindauer and Hutter, "Auto-PyTorch Tabular: multi-fidelity metalearning for
    efficient and robust AutoDL", IEEE TPAMI 2021; Pfisterer et al., "YAHPO Gym: an
    efficient multi-objective multi-fidelity benchmark for hyperparameter optimization",
    AutoML 2022.
    """
    task = name.removeprefix("lcbench-")
    home = None if data_home is None else os.fspath(data_home)
    tasks = list(_surrogate(home).tasks)
    if task not in tasks:
        raise unknown_name("task of LCBench", task, tasks)
    epochs = Resource(
        name="epoch",
        low=1,
        high=_EPOCHS,
        value=_Curve(task, "val_accuracy", home),
        cost=_Curve(task, "time", home),
    )
    return Problem(
        name=name,
        space=_space(),
        func=AtFullResource(epochs),
        resource=epochs,
        source="validation accuracy in percent after 52 epochs of a multilayer "
        f"perceptron on the OpenML task {task}, by the surrogate of LCBench",
    )


def _space() -> Space:
    return Space(
        {
            "batch_size": Integer(16, 512, log=True),
            "learning_rate": Real(1e-4, 0.1, log=True),
            "momentum": Real(0.1, 0.99),
            "weight_decay": Real(1e-5, 0.1),
            "num_layers": Integer(1, 5),
            "max_units": Integer(64, 1024, log=True),
            "max_dropout": Real(0.0, 1.0),
        }
    )


@cache
def _surrogate(data_home: str | None) -> _Surrogate:
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "The problems 'lcbench-...' need the package onnxruntime, which is not "
            "installed. Install it with: pip install onnxruntime"
        ) from error
    found = fetch_lcbench(data_home=data_home)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        found.model, options, providers=["CPUExecutionProvider"]
    )
    return _Surrogate(session, found.tasks, found.feature_names, found.target_names)
