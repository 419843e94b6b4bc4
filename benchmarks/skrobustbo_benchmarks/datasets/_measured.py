"""Measured data in CSV files: five materials, temperatures of sensors, stock prices."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
from sklearn.utils import Bunch

from skrobustbo_benchmarks._names import canonical, unknown_name
from skrobustbo_benchmarks.datasets._fetch import Home, RemoteFile, Source

#: Addresses of the folders that hold the files, with their last slash.
MATERIALS_URL = (
    "https://raw.githubusercontent.com/PV-Lab/Benchmarking/"
    "7585c517ad88e676c42c6bf24a8ad278e01ddb21/datasets/"
)
SENSOR_URL = (
    "https://raw.githubusercontent.com/littlepretty/SensorPGM/"
    "06c8c980b0724f18247dab31a545c504f99e045b/"
)
STOCK_URL = (
    "https://raw.githubusercontent.com/sayakrc/"
    "Bayesian-Optimization-under-Heavy-tailed-Payoffs/"
    "673ce5ce40cabd95f0319e0a1b338044f160143e/"
)

#: Bytes and SHA-256 of the uncompressed files.
CONTENTS = {
    "AgNP_dataset.csv": (
        197_618,
        "d25ec6fbb178bbb1b58350ff1c933034b409cdced4f9b20f7d7be61ffaed0d08",
    ),
    "AutoAM_dataset.csv": (
        4_218,
        "01ec270fcaae908ff8bea85b420c4cc7c4b0cddff6f6e63fe1b156082fd266b6",
    ),
    "Crossed barrel_dataset.csv": (
        48_339,
        "2c01f875f3c210e986ca6142bf20f417884c2ad7d6f008c2fc574b44a3d5f606",
    ),
    "P3HT_dataset.csv": (
        7_675,
        "db33eeb63e3f09ebeb3c1985c14b39e4284668b3ed1fc6a23d17998c21a45dde",
    ),
    "Perovskite_dataset.csv": (
        2_935,
        "9e9c5c2c698902ae17ba5e8f037c7f10d5889c02a419fe3897e4724f805263b9",
    ),
    "intelTemperatureTrain.csv": (
        64_848,
        "20f07cd804b5878206525fb3f53d8a83ce091bf4f07c3b45818f015ba80887be",
    ),
    "intelTemperatureTest.csv": (
        43_248,
        "26d84692a7b6f9248b827c9f17e206eae2800d5ae0bc248580871e663ce8cdc5",
    ),
    "fin.csv": (
        333_618,
        "e9f7d7c3a0ad4ada75e5b8fa3830c77ed0579232b45837438c671d83b1818199",
    ),
}


@dataclass(frozen=True)
class Table:
    """What is known of a file beside its content."""

    file: str
    features: tuple[str, ...]
    target: str
    maximize: bool
    descr: str
    authors: str


TABLES = {
    "agnp": Table(
        "AgNP_dataset.csv",
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
        ("n", "theta", "r", "t"),
        "toughness",
        True,
        "3D-printed crossed barrels: number n, twist theta, radius r and thickness t "
        "of the\nstruts; the toughness is to be maximised. The file names no units.",
        "Gongora et al. 2020",
    ),
    "p3ht": Table(
        "P3HT_dataset.csv",
        ("P3HT", "D1", "D2", "D6", "D8"),
        "conductivity",
        True,
        "Films of P3HT and carbon nanotubes: five contents in %, which add up to about "
        "100;\nthe conductivity in S/cm is to be maximised.",
        "Bash et al. 2021",
    ),
    "perovskite": Table(
        "Perovskite_dataset.csv",
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

_SENSOR_DESCR = """\
Temperatures in the Intel Berkeley Research lab
-----------------------------------------------

Readings of 50 wireless sensors in spring 2004, one every 30 minutes, in a version that
others had cleaned: three days for training and the two days that follow.

:Number of instances: 240 times, 144 for training and 96 for testing
:Number of attributes: 50 sensors, degrees Celsius, 13.6 to 36.4
:Missing values: none
:Creators: P. Bodik, W. Hong, C. Guestrin, S. Madden, M. Paskin, R. Thibaux

The laboratory had 54 sensors; which four are missing, and the hour of the first
reading, is not known. Papers on these data use another extract: 46 sensors, every 10
minutes.
"""

_STOCK_DESCR = """\
Prices of 29 US stocks
----------------------

Adjusted closing prices on 823 trading days, 2016-01-04 to 2019-04-10.

:Number of instances: 823 days
:Number of attributes: 29 stocks, US dollars, 6.44 to 440.62
:Missing values: none

The data of Chowdhury and Gopalan, "Bayesian Optimization under Heavy-tailed Payoffs",
NeurIPS 2019.
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

    The function looks for the file in `data_home`, then in the folder named by the
    environment variable ``SKROBUSTBO_DATA``, then in ``~/skrobustbo_data``, each time
    also in its sub-folder ``materials``. If it is in none of them, it is downloaded (at
    most 0.2 MB) into the sub-folder ``materials`` of the first of these that is given.
    The content is checked by SHA-256.

    Parameters
    ----------
    name : {"agnp", "autoam", "crossed-barrel", "p3ht", "perovskite"}
        The experiment.
    data_home : path-like or None, default=None
        Folder to search first and to download to.
    download : bool, default=True
        Whether to download a file that is not on disk.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    timeout : float, default=30.0
        Seconds to wait for a server that does not answer; positive.

    Returns
    -------
    experiment : sklearn.utils.Bunch
        With the attributes

        data : ndarray of shape (n_measurements, d), float64
            The inputs of each measurement, in the units that `DESCR` names.
        target : ndarray of shape (n_measurements,), float64
            The measured quantity.
        feature_names : list of d str
            Names of the inputs.
        target_name : str
            Name of the measured quantity.
        maximize : bool
            Whether large values are good.
        DESCR : str
            Description of the data set.
    (data, target) : tuple of ndarray, if `return_X_y`
        The two arrays described above.

    Raises
    ------
    FileNotFoundError
        If the file is not on disk and cannot be downloaded.
    OSError
        If a file on disk is damaged; the message names it.
    ValueError
        If `name` is none of the five or `timeout` is not positive.

    Examples
    --------
    >>> from skrobustbo_benchmarks.datasets import fetch_materials
    >>> X, y = fetch_materials("perovskite", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (139, 3)
    """
    if canonical(name) not in TABLES:
        raise unknown_name("'name' of fetch_materials", name, TABLES)
    source = Source("materials", data_home, download, timeout, "fetch_materials")
    table = TABLES[canonical(name)]
    values = np.array(_rows(source, MATERIALS_URL, table.file)[1:], dtype=np.float64)
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


def fetch_sensor_temperature(
    subset: str = "all",
    *,
    data_home: Home = None,
    download: bool = True,
    timeout: float = 30.0,
) -> Any:
    """Load the temperatures that 50 sensors of a laboratory measured over five days.

    The function looks for the files in `data_home`, then in the folder named by the
    environment variable ``SKROBUSTBO_DATA``, then in ``~/skrobustbo_data``, each time
    also in its sub-folder ``intel_lab``. If they are in none of them, they are
    downloaded (0.1 MB) into the sub-folder ``intel_lab`` of the first of these that is
    given. The content is checked by SHA-256.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="all"
        The first three days, the last two, or all in this order.
    data_home : path-like or None, default=None
        Folder to search first and to download to.
    download : bool, default=True
        Whether to download files that are not on disk.
    timeout : float, default=30.0
        Seconds to wait for a server that does not answer; positive.

    Returns
    -------
    temperatures : sklearn.utils.Bunch
        With the attributes

        data : ndarray of shape (n_times, 50), float64
            Degrees Celsius; a row every 30 minutes, a column for each sensor. 144 rows
            of training, 96 of testing.
        feature_names : list of 50 str
            ``"sensor_0"`` to ``"sensor_49"``.
        DESCR : str
            Description of the data set.

    Raises
    ------
    FileNotFoundError
        If the files are not on disk and cannot be downloaded.
    OSError
        If a file on disk is damaged; the message names it.
    ValueError
        If `subset` is none of the three names or `timeout` is not positive.

    Examples
    --------
    >>> from skrobustbo_benchmarks.datasets import fetch_sensor_temperature
    >>> fetch_sensor_temperature("train").data.shape  # doctest: +SKIP
    (144, 50)
    """
    parts = {"train": ("Train",), "test": ("Test",), "all": ("Train", "Test")}
    if subset not in parts:
        raise ValueError(
            "The 'subset' parameter of fetch_sensor_temperature must be 'train', "
            f"'test' or 'all'. Got {subset!r} instead."
        )
    function = "fetch_sensor_temperature"
    source = Source("intel_lab", data_home, download, timeout, function)
    days = [
        np.array(_rows(source, SENSOR_URL, f"intelTemperature{part}.csv"), float).T
        for part in parts[subset]
    ]
    data = np.concatenate(days)
    names = [f"sensor_{i}" for i in range(data.shape[1])]
    return Bunch(data=data, feature_names=names, DESCR=_SENSOR_DESCR)


def fetch_stocks(
    *, data_home: Home = None, download: bool = True, timeout: float = 30.0
) -> Any:
    """Load the daily prices of 29 US stocks over three years.

    The function looks for the file in `data_home`, then in the folder named by the
    environment variable ``SKROBUSTBO_DATA``, then in ``~/skrobustbo_data``, each time
    also in its sub-folder ``stocks``. If it is in none of them, it is downloaded (0.3
    MB) into the sub-folder ``stocks`` of the first of these that is given. The content
    is checked by SHA-256.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Folder to search first and to download to.
    download : bool, default=True
        Whether to download a file that is not on disk.
    timeout : float, default=30.0
        Seconds to wait for a server that does not answer; positive.

    Returns
    -------
    prices : sklearn.utils.Bunch
        With the attributes

        data : ndarray of shape (823, 29), float64
            Adjusted closing prices in US dollars; a row for each trading day.
        dates : ndarray of shape (823,), datetime64[D]
            The days.
        feature_names : list of 29 str
            The stocks' symbols.
        DESCR : str
            Description of the data set.

    Raises
    ------
    FileNotFoundError
        If the file is not on disk and cannot be downloaded.
    OSError
        If a file on disk is damaged; the message names it.
    ValueError
        If `timeout` is not positive.

    Examples
    --------
    >>> from skrobustbo_benchmarks.datasets import fetch_stocks
    >>> fetch_stocks().data.shape  # doctest: +SKIP
    (823, 29)
    """
    source = Source("stocks", data_home, download, timeout, "fetch_stocks")
    header, *rows = _rows(source, STOCK_URL, "fin.csv")
    return Bunch(
        data=np.array([row[1:] for row in rows], dtype=np.float64),
        dates=np.array([row[0] for row in rows], dtype="datetime64[D]"),
        feature_names=header[1:],
        DESCR=_STOCK_DESCR,
    )


def _rows(source: Source, folder: str, name: str) -> list[list[str]]:
    """Return the fields of each line of a file that is not empty."""
    content = source.content(RemoteFile(name, folder + quote(name), *CONTENTS[name]))
    # Two of the files begin with a byte order mark, and lines end in many ways.
    return [row for row in csv.reader(content.decode("utf-8-sig").splitlines()) if row]
