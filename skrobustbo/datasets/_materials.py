"""Five measured materials experiments, of Liang et al. 2021."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
from sklearn.utils import Bunch

from skrobustbo._names import canonical, unknown_name
from skrobustbo.datasets._fetch import Home, RemoteFile, Source

__all__ = ["fetch_materials"]

#: Address of the folder that holds the five files, with its last slash.
BASE_URL = (
    "https://raw.githubusercontent.com/PV-Lab/Benchmarking/"
    "7585c517ad88e676c42c6bf24a8ad278e01ddb21/datasets/"
)


@dataclass(frozen=True)
class Table:
    """What is known of a file beside its content."""

    file: str
    size: int
    sha256: str
    features: tuple[str, ...]
    target: str
    maximize: bool
    descr: str
    authors: str


TABLES = {
    "agnp": Table(
        "AgNP_dataset.csv",
        197_618,
        "d25ec6fbb178bbb1b58350ff1c933034b409cdced4f9b20f7d7be61ffaed0d08",
        ("QAgNO3", "Qpva", "Qtsc", "Qseed", "Qtot"),
        "loss",
        False,
        "Synthesis of silver nanoparticles in a flow reactor: four flow rates in % of "
        "the\ntotal and the total Qtot in uL/min; the loss compares the absorption "
        "spectrum with\nthe desired one (dimensionless, to be minimised).",
        "Mekki-Berrada et al. 2021",
    ),
    "autoam": Table(
        "AutoAM_dataset.csv",
        4_218,
        "01ec270fcaae908ff8bea85b420c4cc7c4b0cddff6f6e63fe1b156082fd266b6",
        ("prime_delay", "print_speed", "x_offset", "y_offset"),
        "score",
        True,
        "Tuning of a 3D printer: prime delay, print speed, corrections of two offsets; "
        "the\nscore of the printed line, 0 to 1, is to be maximised. The file names no "
        "units.",
        "Deneault et al. 2021",
    ),
    "crossed-barrel": Table(
        "Crossed barrel_dataset.csv",
        48_339,
        "2c01f875f3c210e986ca6142bf20f417884c2ad7d6f008c2fc574b44a3d5f606",
        ("n", "theta", "r", "t"),
        "toughness",
        True,
        "3D-printed crossed barrels: number n, twist theta, radius r and thickness t "
        "of the\nstruts; the toughness is to be maximised. The file names no units.",
        "Gongora et al. 2020",
    ),
    "p3ht": Table(
        "P3HT_dataset.csv",
        7_675,
        "db33eeb63e3f09ebeb3c1985c14b39e4284668b3ed1fc6a23d17998c21a45dde",
        ("P3HT", "D1", "D2", "D6", "D8"),
        "conductivity",
        True,
        "Films of P3HT and carbon nanotubes: five contents in %, which add up to about "
        "100;\nthe conductivity in S/cm is to be maximised.",
        "Bash et al. 2021",
    ),
    "perovskite": Table(
        "Perovskite_dataset.csv",
        2_935,
        "9e9c5c2c698902ae17ba5e8f037c7f10d5889c02a419fe3897e4724f805263b9",
        ("CsPbI", "FAPbI", "MAPbI"),
        "instability",
        False,
        "Perovskites mixed of three: fractions, which add up to 1; the instability "
        "index is\nto be minimised.",
        "Sun et al. 2021",
    ),
}

_SOURCE = """

:Missing values: none; some inputs were measured several times
:Data of: {authors}

Collected by Liang et al., "Benchmarking the performance of Bayesian optimization across
multiple experimental materials science domains", npj Computational Materials 7 (2021).
"""


def fetch_materials(
    name: str,
    *,
    data_home: Home = None,
    download: bool = True,
    return_X_y: bool = False,
    timeout: float = 30.0,
) -> Any:
    """Load one of five measured materials experiments (regression).

    The file is looked for in `data_home`, then in the folder named by the environment
    variable ``SKROBUSTBO_DATA``, then in ``~/skrobustbo_data``, each time also in its
    sub-folder ``materials``. If it is in none of them, it is downloaded (at most 0.2
    MB) into the sub-folder ``materials`` of the first of these that is given. The
    content is checked by SHA-256.

    Parameters
    ----------
    name : {"agnp", "autoam", "crossed-barrel", "p3ht", "perovskite"}
        Which experiment.
    data_home : path-like or None, default=None
        Folder to look into first and to download into.
    download : bool, default=True
        Whether to download a file that is not on disk.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    timeout : float, default=30.0
        Seconds, positive, for which a silent server is waited for.

    Returns
    -------
    experiment : sklearn.utils.Bunch
        With the attributes

        data : ndarray of shape (n_measurements, d), float64
            The inputs of each measurement, in the units that `DESCR` names.
        target : ndarray of shape (n_measurements,), float64
            What was measured.
        feature_names : list of d str
            Names of the inputs.
        target_name : str
            Name of what was measured.
        maximize : bool
            Whether large values are good.
        DESCR : str
            Description of the data set.
    (data, target) : tuple of ndarray, if `return_X_y`
        The two arrays described above.

    Raises
    ------
    FileNotFoundError
        If the file is on disk nowhere and cannot be downloaded.
    OSError
        If a file on disk is damaged; the message names it.
    ValueError
        If `name` is none of the five or `timeout` is not positive.

    Examples
    --------
    >>> from skrobustbo.datasets import fetch_materials
    >>> X, y = fetch_materials("perovskite", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (139, 3)
    """
    if canonical(name) not in TABLES:
        raise unknown_name("'name' of fetch_materials", name, TABLES)
    source = Source("materials", data_home, download, timeout, "fetch_materials")
    table = TABLES[canonical(name)]
    address = BASE_URL + quote(table.file)
    content = source.content(RemoteFile(table.file, address, table.size, table.sha256))
    # Two of the files begin with a byte order mark, and lines end in many ways.
    rows = list(csv.reader(content.decode("utf-8-sig").splitlines()))[1:]
    values = np.array([row for row in rows if row], dtype=np.float64)
    data, target = values[:, :-1].copy(), values[:, -1].copy()
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=list(table.features),
        target_name=table.target,
        maximize=table.maximize,
        DESCR=table.descr + _SOURCE.format(authors=table.authors),
    )
