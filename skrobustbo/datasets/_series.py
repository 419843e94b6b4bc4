"""Records over time: temperatures of sensors and prices of stocks."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from skrobustbo.datasets._fetch import Home, RemoteFile, Source

__all__ = ["fetch_sensor_temperature", "fetch_stocks"]

#: Addresses of the folders that hold the files, with their last slash.
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


def fetch_sensor_temperature(
    subset: str = "all",
    *,
    data_home: Home = None,
    download: bool = True,
    timeout: float = 30.0,
) -> Any:
    """Load the temperatures that 50 sensors of a laboratory measured over five days.

    The files are looked for in `data_home`, then in the folder named by the
    environment variable ``SKROBUSTBO_DATA``, then in ``~/skrobustbo_data``, each time
    also in its sub-folder ``intel_lab``. If they are in none of them, they are
    downloaded (0.1 MB) into the sub-folder ``intel_lab`` of the first of these that is
    given. The content is checked by SHA-256.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="all"
        The first three days, the last two, or all in this order.
    data_home : path-like or None, default=None
        Folder to look into first and to download into.
    download : bool, default=True
        Whether to download files that are not on disk.
    timeout : float, default=30.0
        Seconds, positive, for which a silent server is waited for.

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
        If the files are on disk nowhere and cannot be downloaded.
    OSError
        If a file on disk is damaged; the message names it.
    ValueError
        If `subset` is none of the three names or `timeout` is not positive.

    Examples
    --------
    >>> from skrobustbo.datasets import fetch_sensor_temperature
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
    days: list[NDArray[np.float64]] = []
    for part in parts[subset]:
        file = _remote_file(f"intelTemperature{part}.csv", SENSOR_URL)
        days.append(np.array(_rows(source.content(file)), dtype=np.float64).T)
    data = np.concatenate(days)
    names = [f"sensor_{i}" for i in range(data.shape[1])]
    return Bunch(data=data, feature_names=names, DESCR=_SENSOR_DESCR)


def fetch_stocks(
    *, data_home: Home = None, download: bool = True, timeout: float = 30.0
) -> Any:
    """Load the daily prices of 29 US stocks over three years.

    The file is looked for in `data_home`, then in the folder named by the environment
    variable ``SKROBUSTBO_DATA``, then in ``~/skrobustbo_data``, each time also in its
    sub-folder ``stocks``. If it is in none of them, it is downloaded (0.3 MB) into the
    sub-folder ``stocks`` of the first of these that is given. The content is checked by
    SHA-256.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Folder to look into first and to download into.
    download : bool, default=True
        Whether to download a file that is not on disk.
    timeout : float, default=30.0
        Seconds, positive, for which a silent server is waited for.

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
        If the file is on disk nowhere and cannot be downloaded.
    OSError
        If a file on disk is damaged; the message names it.
    ValueError
        If `timeout` is not positive.

    Examples
    --------
    >>> from skrobustbo.datasets import fetch_stocks
    >>> fetch_stocks().data.shape  # doctest: +SKIP
    (823, 29)
    """
    source = Source("stocks", data_home, download, timeout, "fetch_stocks")
    header, *rows = _rows(source.content(_remote_file("fin.csv", STOCK_URL)))
    return Bunch(
        data=np.array([row[1:] for row in rows], dtype=np.float64),
        dates=np.array([row[0] for row in rows], dtype="datetime64[D]"),
        feature_names=header[1:],
        DESCR=_STOCK_DESCR,
    )


def _remote_file(name: str, folder: str) -> RemoteFile:
    size, sha256 = CONTENTS[name]
    return RemoteFile(name, f"{folder}{name}", size, sha256)


def _rows(content: bytes) -> list[list[str]]:
    """Return the fields of each line that is not empty."""
    return [row for row in csv.reader(content.decode("utf-8").splitlines()) if row]
