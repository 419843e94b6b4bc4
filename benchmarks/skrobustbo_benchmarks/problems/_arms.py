"""Arms whose values change from one step to the next, and are known by their past.

Sensors and stocks: ``func(params, t)`` with t = 1, 2, ..., horizon looks up a record.
The covariance of earlier records is the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrobustbo.kernels import EmpiricalKernel
from skrobustbo.space import Space
from skrobustbo.surrogate import Candidate
from skrobustbo_benchmarks.datasets import fetch_sensor_temperature, fetch_stocks
from skrobustbo_benchmarks.problems._base import Array, Home, Params, Problem, at_least
from skrobustbo_benchmarks.problems._tables import Lookup

#: Noise variance of the sources, in units of the standardised values.
_NOISE_VARIANCE = 0.01
_RAW_NOISE_VARIANCE = 300.0
#: Half-hours of a day.
_DAY = 48


@dataclass(frozen=True, eq=False)
class Record:
    """The values of arms over time, shape (n_times, n_arms) (picklable)."""

    name: str
    arms: tuple[Any, ...]
    values: Array

    def __call__(self, params: Mapping[str, Any], t: int) -> float:
        """Return the value of the arm that `params` names at time t."""
        arm = params[self.name]
        if arm not in self.arms:
            raise ValueError(
                f"{self.name!r} must be one of {list(self.arms)}. Got {arm!r} instead."
            )
        return float(self._at(t)[self.arms.index(arm)])

    def best(self, t: int) -> tuple[float, Params]:
        """Return the largest value at time t and its arm."""
        values = self._at(t)
        number = int(np.argmax(values))
        return float(values[number]), {self.name: self.arms[number]}

    def _at(self, t: int) -> Array:
        if at_least("t", t, 1) > len(self.values):
            raise ValueError(
                f"'t' must be at most {len(self.values)}, where the record ends. Got "
                f"{t!r} instead."
            )
        values: Array = self.values[t - 1]
        return values

    def space(self) -> Space:
        """Return the arms as points."""
        return Space.from_points([{self.name: arm} for arm in self.arms])


def _candidate(record: Record, past: Array) -> Candidate:
    """Return the model whose kernel is the covariance of `past`, (n_times, n_arms)."""
    space = record.space()
    X = np.array([space.encode({record.name: arm}) for arm in record.arms])
    return Candidate(EmpiricalKernel(np.cov(past.T), X), label="empirical")


def temperature(data_home: Home = None, *, first_day: int = 4) -> Problem:
    """Return the search for the hottest of 50 sensors, which changes over two days.

    At each step, half an hour, one sensor of the Intel Berkeley lab can be read. The
    values are temperatures in units of the standard deviation of all readings of the
    days before, from their mean; Gaussian noise of variance 0.01 in these units. 96
    steps are a run, and the record ends there.

    The sensors are numbered by their row, 0 to 49, and so placed on a line; the rows
    follow the numbering in the building, so that neighbours are alike. The optimum at t
    is the largest reading.

    Parameters
    ----------
    data_home : path-like or None, default=None
        As in `skrobustbo_benchmarks.datasets.fetch_sensor_temperature`.
    first_day : {2, 3, 4}, default=4
        The first of the two days of the search, of the five on record.

    Returns
    -------
    Problem
        With one candidate, the covariance of the sensors over the days before. Its
        diagonal, from 0.27 to 2.81 by default, is not bounded by 1 for all sensors.

    Raises
    ------
    ValueError
        If the record does not hold two days from `first_day` on, and one before.

    Notes
    -----
    Brunzema, von Rohr, Solowjow and Trimpe, "Event-triggered time-varying Bayesian
    optimization", TMLR 2025, section 6 and appendix A.2, after Srinivas et al. 2010 and
    Bogunovic et al. 2016.

    **Not the source's data**: the same laboratory and instruments, but 50 sensors every
    half hour for five days in place of 46 every ten minutes for eight. That the source
    has one mean and one deviation for all sensors is our reading; else the hottest
    sensor would not be the largest value.
    """
    degrees, start = fetch_sensor_temperature(data_home=data_home).data, first_day - 1
    if (at_least("first_day", first_day, 2) + 1) * _DAY > len(degrees):
        raise ValueError(
            "'first_day' must be at most one before the last day on record, the "
            f"{len(degrees) // _DAY}th. Got {first_day!r} instead."
        )
    train, test = degrees[: start * _DAY], degrees[start * _DAY : (start + 2) * _DAY]
    mean, std = train.mean(), train.std()
    record = Record("sensor", tuple(range(train.shape[1])), (test - mean) / std)
    return _changing(
        "temperature",
        record,
        _candidate(record, (train - mean) / std),
        "standardised temperatures of 50 sensors over two days, noise variance 0.01 "
        "(after Brunzema et al. 2025, sec. 6)",
    )


def stocks(
    data_home: Home = None, *, changing: bool = True, raw: bool = False
) -> Problem:
    """Return the search for the dearest of 29 stocks, day by day or on average.

    The values are adjusted closing prices in units of the standard deviation of all of
    them, from their mean. With ``changing=True``, as in the first source, f_t is the
    price on day t, with Gaussian noise of variance 0.01; 823 days are a run, and the
    record ends there; the optimum at t is the largest price. With ``changing=False``,
    as in the second, the value is the mean price of the stock; the noise is as large as
    the deviation of a day's price from it, 0.45 (root mean square over stocks), and the
    optimum 2.198 is that of BA, the largest mean. (The noise of the second source is
    the prices' own, which is heavy-tailed.)

    Parameters
    ----------
    data_home : path-like or None, default=None
        As in `skrobustbo_benchmarks.datasets.fetch_stocks`.
    changing : bool, default=True
        Which of the two problems.
    raw : bool, default=False
        Whether the values are the prices themselves, 6 to 441 dollars, with noise of
        variance 300 if they change, and the kernel is their correlation: what the
        first source says was done before it.

    Returns
    -------
    Problem
        With one candidate, the covariance of the stocks over the days. Its diagonal is
        not bounded by 1 for all stocks. The record is its own past, as in the sources.

    Notes
    -----
    Brunzema, von Rohr, Solowjow and Trimpe, "Event-triggered time-varying Bayesian
    optimization", TMLR 2025, appendix B, after Deng et al., AISTATS 2022, who have 48
    stocks over 823 days; which, was not to be found out. Chowdhury and Gopalan,
    "Bayesian optimization under heavy-tailed payoffs", NeurIPS 2019, whose data these
    are; they standardise each stock for the covariance.
    """
    prices = fetch_stocks(data_home=data_home)
    units = (0.0, 1.0) if raw else (prices.data.mean(), prices.data.std())
    values = (prices.data - units[0]) / units[1]
    record = Record("stock", tuple(prices.feature_names), values)
    candidate = _candidate(record, values / values.std(axis=0) if raw else values)
    if not changing:
        return _mean_price(record, candidate)
    variance = _RAW_NOISE_VARIANCE if raw else _NOISE_VARIANCE
    source = (
        f"{'' if raw else 'standardised '}prices of 29 stocks on 823 days, noise "
        f"variance {variance:g} (after Brunzema et al. 2025, app. B)"
    )
    return _changing("stocks", record, candidate, source, variance)


def _changing(
    name: str,
    record: Record,
    candidate: Candidate,
    source: str,
    noise_variance: float = _NOISE_VARIANCE,
) -> Problem:
    return Problem(
        name=name,
        space=record.space(),
        func=record,
        source=source,
        noise_std=math.sqrt(noise_variance),
        candidates=[candidate],
        true_candidate=0,
        horizon=len(record.values),
        optimum_over_time=record.best,
    )


def _mean_price(record: Record, candidate: Candidate) -> Problem:
    means = zip(record.arms, record.values.T, strict=True)
    func = Lookup((record.name,), {(arm,): float(x.mean()) for arm, x in means})
    best, optimum = func.best()
    return Problem(
        name="stocks",
        space=record.space(),
        func=func,
        source="standardised mean prices of 29 stocks (after Chowdhury and Gopalan "
        "2019)",
        optimum=optimum,
        optimum_params=best,
        noise_std=math.sqrt(float(record.values.var(axis=0).mean())),
        candidates=[candidate],
        true_candidate=0,
    )
