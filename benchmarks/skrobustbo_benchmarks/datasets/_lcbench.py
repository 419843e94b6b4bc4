"""The surrogate of LCBench: learning curves of a neural network on 34 tasks."""

from __future__ import annotations

from sklearn.utils import Bunch

from skrobustbo_benchmarks.datasets._fetch import Home, RemoteFile, Source

#: Address of the folder that holds the model, with its last slash.
BASE_URL = (
    "https://raw.githubusercontent.com/slds-lmu/yahpo_data/"
    "efdab9072f63bd680396cd4b78b927c4a0caaad3/lcbench/"
)
#: Bytes and SHA-256 of the model.
CONTENT = (
    2_153_124,
    "b45c0d85ae39abf8820c8bea5ac82f415763afcbaf3b725e36af452b09cb6dcd",
)
_FILE = "lcbench.onnx"
_FOLDER = "yahpo"

#: OpenML's numbers of the tasks in the order of the model's own numbers, from 1. The
#: model also has a number for 167083, which is not among the tasks of LCBench.
_ENCODED = (
    *("126025", "126026", "126029", "146212", "167083", "167104", "167149", "167152"),
    *("167161", "167168", "167181", "167184", "167185", "167190", "167200", "167201"),
    *("168329", "168330", "168331", "168335", "168868", "168908", "168910", "189354"),
    *("189862", "189865", "189866", "189873", "189905", "189906", "189908", "189909"),
    *("34539", "3945", "7593"),
)
#: Task -> the number under which the model knows it.
TASKS = {task: i for i, task in enumerate(_ENCODED, start=1) if task != "167083"}

#: Columns of the model's input ``x_cont``, and of its output, in their order.
INPUTS = (
    *("epoch", "batch_size", "learning_rate", "momentum", "weight_decay"),
    *("num_layers", "max_units", "max_dropout"),
)
OUTPUTS = (
    *("time", "val_accuracy", "val_cross_entropy", "val_balanced_accuracy"),
    *("test_cross_entropy", "test_balanced_accuracy"),
)

_DESCR = """\
Surrogate of LCBench
--------------------

A neural network in ONNX format that predicts, for each of 34 OpenML tasks, the learning
curve (epochs 1 to 52) of a multilayer perceptron with seven hyperparameters.

:Inputs: x_cont, float32 of shape (n, 8), and x_cat, int32 of shape (n, 1)
:Outputs: float32 of shape (n, 6)

Pfisterer et al., "YAHPO Gym: an efficient multi-objective multi-fidelity benchmark for
hyperparameter optimization", AutoML 2022, fitted to LCBench (Zimmer, Lindauer and
Hutter, "Auto-PyTorch Tabular", IEEE TPAMI 2021). Apache License 2.0.
"""


def fetch_lcbench(
    *, data_home: Home = None, download: bool = True, timeout: float = 30.0
) -> Bunch:
    """Load the surrogate of LCBench, a model of learning curves.

    The file ``lcbench.onnx`` is looked for in `data_home`, then in the folder named by
    the environment variable ``SKROBUSTBO_DATA``, then in ``~/skrobustbo_data``, each
    time also in its sub-folder ``yahpo``. If it is in none of them, it is downloaded
    (2 MB) into the sub-folder ``yahpo`` of the first of these folders that is given.
    The content is checked by SHA-256. To run the model needs the package onnxruntime.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Folder to search first and to download to.
    download : bool, default=True
        Whether to download the file if it is not on disk.
    timeout : float, default=30.0
        Seconds, positive, to wait for a silent server.

    Returns
    -------
    surrogate : sklearn.utils.Bunch
        With the attributes

        model : bytes
            The ONNX model.
        tasks : dict of str to int
            The OpenML numbers of the 34 tasks, each with the number that the model has
            for it.
        feature_names : list of 8 str
            The columns of the input ``x_cont``.
        target_names : list of 6 str
            The columns of the output.
        DESCR : str
            Description of the data set.

    Raises
    ------
    FileNotFoundError
        If the file is not on disk and cannot be downloaded.
    OSError
        If a file on disk is damaged.
    ValueError
        If `timeout` is not positive.

    Examples
    --------
    >>> from skrobustbo_benchmarks.datasets import fetch_lcbench
    >>> surrogate = fetch_lcbench()  # doctest: +SKIP
    >>> len(surrogate.tasks)  # doctest: +SKIP
    34
    """
    source = Source(_FOLDER, data_home, download, timeout, "fetch_lcbench")
    size, sha256 = CONTENT
    file = RemoteFile(_FILE, f"{BASE_URL}new_model.onnx", size, sha256)
    return Bunch(
        model=source.content(file),
        tasks=dict(TASKS),
        feature_names=list(INPUTS),
        target_names=list(OUTPUTS),
        DESCR=_DESCR,
    )


def available_lcbench_tasks() -> list[str]:
    """Return the tasks of the surrogate if `fetch_lcbench` need not download it.

    The file is looked for in ``SKROBUSTBO_DATA`` and in ``~/skrobustbo_data``. Nothing
    is loaded.

    Returns
    -------
    tasks : list of str
        The OpenML numbers of the 34 tasks; empty if the file is not on disk.

    Examples
    --------
    >>> from skrobustbo_benchmarks.datasets import available_lcbench_tasks
    >>> available_lcbench_tasks()[:2]  # doctest: +SKIP
    ['126025', '126026']
    """
    source = Source(_FOLDER, None, False, 1.0, "available_lcbench_tasks")
    return list(TASKS) if source.locate(_FILE, f"{_FILE}.gz") else []
