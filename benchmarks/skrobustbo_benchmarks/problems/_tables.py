"""Problems that are tables of measured results: materials and hyperparameters.

A table is loaded when its problem is built. It is found as the functions of
`skrobustbo_benchmarks.datasets` find it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from skrobustbo.space import Space
from skrobustbo_benchmarks.datasets import fetch_hpo_table, fetch_materials
from skrobustbo_benchmarks.problems._base import Array, Home, Params, Problem


@dataclass(frozen=True)
class Lookup:
    """The value of each of finitely many points, keys in order of names (picklable)."""

    names: tuple[str, ...]
    values: dict[tuple[Any, ...], float]

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the value at `params`."""
        try:
            return self.values[tuple(params[name] for name in self.names)]
        except KeyError:
            raise ValueError(
                f"'params' must be one of the {len(self.values)} points of the table "
                f"over {list(self.names)}. Got {dict(params)!r} instead; take a point "
                "of the problem's space."
            ) from None

    def points(self) -> list[Params]:
        """Return all points."""
        return [dict(zip(self.names, key, strict=True)) for key in self.values]

    def best(self) -> tuple[Params, float]:
        """Return the best point, the first of equals, and its value."""
        key = max(self.values, key=self.values.__getitem__)
        return dict(zip(self.names, key, strict=True)), self.values[key]


# -- pools of materials ---------------------------------------------------------------


def crossed_barrel(data_home: Home = None) -> Problem:
    """Return the toughness of 600 crossed barrels, 4-d, a pool.

    3D-printed structures: number of struts n in {6, 8, 10, 12}, twist theta from 0 to
    200, radius r from 1.5 to 2.5, thickness t in {0.7, 1.05, 1.4}; 600 of the 1,188
    points of the grid were measured, each three times. The value is the mean toughness
    (no unit is stated) and is noise-free here; the deviation of one measurement about
    it is 5.3.

    The optimum, the largest mean, is 46.711 at n = 12, theta = 150, r = 1.9, t = 1.4.

    Parameters
    ----------
    data_home : path-like or None, default=None
        As in `skrobustbo_benchmarks.datasets.fetch_materials`.

    Notes
    -----
    Gongora et al., "A Bayesian experimental autonomous researcher for mechanical
    design", Science Advances 6, 2020; collected by Liang et al., npj Computational
    Materials 7, 2021. Tuned so by Ziomek, Adachi and Osborne, "Bayesian optimisation
    with unknown hyperparameters: regret bounds logarithmically closer to optimal",
    2024.
    """
    return _pool("crossed-barrel", data_home)


def agnp(data_home: Home = None) -> Problem:
    """Return the syntheses of 164 silver nanoparticles, 5-d, a pool.

    Flow rates QAgNO3, Qpva, Qtsc and Qseed in % and Qtot in uL/min. The value is minus
    the mean loss (dimensionless: how far the absorption spectrum is from the desired
    one) of 4 to 48 measurements, and is noise-free here; the deviation of one
    measurement about it is 0.046.

    The optimum, the largest value, is -0.14836 at QAgNO3 = 32.501, Qpva = 16,
    Qtsc = 6.501, Qseed = 4.501, Qtot = 850.

    Parameters
    ----------
    data_home : path-like or None, default=None
        As in `skrobustbo_benchmarks.datasets.fetch_materials`.

    Notes
    -----
    Mekki-Berrada et al., "Two-step machine learning enables optimized nanoparticle
    synthesis", npj Computational Materials 7, 2021; collected by Liang et al., in the
    same volume. Tuned so by Ziomek, Adachi and Osborne, "Bayesian optimisation with
    unknown hyperparameters: regret bounds logarithmically closer to optimal", 2024.
    """
    return _pool("agnp", data_home)


def perovskite(data_home: Home = None) -> Problem:
    """Return the stability of 94 mixed perovskites, 3-d, a pool.

    Fractions CsPbI, FAPbI and MAPbI, which add up to 1, so two of them are free. The
    value is minus the mean instability index of 1 to 7 measurements (no unit is
    stated), and is noise-free here; the deviation of one measurement about it is
    97,600.

    The optimum, the largest value, is -27122 at CsPbI = 0.18, FAPbI = 0.82,
    MAPbI = 0.

    Parameters
    ----------
    data_home : path-like or None, default=None
        As in `skrobustbo_benchmarks.datasets.fetch_materials`.

    Notes
    -----
    Sun et al., "A data fusion approach to optimize compositional stability of halide
    perovskites", Matter 4, 2021; collected by Liang et al., npj Computational Materials
    7, 2021.
    """
    return _pool("perovskite", data_home)


def autoam(data_home: Home = None) -> Problem:
    """Return 100 settings of a 3D printer, 4-d, a pool.

    prime_delay from 0 to 5, print_speed from 0.1 to 10, x_offset and y_offset from -1
    to 1 (no units are stated). The value is the score of the printed line, 0 to 1,
    measured once.

    The optimum, the largest score, is 0.936549 at prime_delay = 0, print_speed = 1.559,
    x_offset = -0.3498, y_offset = -0.3286.

    Parameters
    ----------
    data_home : path-like or None, default=None
        As in `skrobustbo_benchmarks.datasets.fetch_materials`.

    Notes
    -----
    Deneault et al., "Toward autonomous additive manufacturing: Bayesian optimization on
    a 3D printer", MRS Bulletin 46, 2021; collected by Liang et al., npj Computational
    Materials 7, 2021.
    """
    return _pool("autoam", data_home)


def p3ht(data_home: Home = None) -> Problem:
    """Return the conductivity of 178 films of P3HT and carbon nanotubes, 5-d, a pool.

    Contents P3HT, D1, D2, D6 and D8 in %, which add up to about 100. The value is the
    mean conductivity in S/cm of 1 to 9 measurements, and is noise-free here; the
    deviation of one measurement about it is 136.

    The optimum, the largest mean, is 838.31 at P3HT = 46.92, D1 = 50.3, D2 = 1.53,
    D6 = 0.04, D8 = 1.23.

    Parameters
    ----------
    data_home : path-like or None, default=None
        As in `skrobustbo_benchmarks.datasets.fetch_materials`.

    Notes
    -----
    Bash et al., "Multi-fidelity high-throughput optimization of electrical conductivity
    in P3HT-CNT composites", Advanced Functional Materials 31, 2021; collected by Liang
    et al., npj Computational Materials 7, 2021.
    """
    return _pool("p3ht", data_home)


def _pool(name: str, data_home: Home) -> Problem:
    experiment = fetch_materials(name, data_home=data_home)
    sign = 1.0 if experiment.maximize else -1.0
    means = _means(experiment.data, experiment.target)
    values = {key: sign * value for key, value in means.items()}
    lookup = Lookup(tuple(experiment.feature_names), values)
    params, value = lookup.best()
    return Problem(
        name=name,
        space=Space.from_points(lookup.points()),
        func=lookup,
        source=f"{'' if experiment.maximize else 'minus '}the mean "
        f"{experiment.target_name} of each point measured (Liang et al. 2021)",
        optimum=value,
        optimum_params=params,
    )


def _means(X: Array, y: Array) -> dict[tuple[float | int, ...], float]:
    """Return the mean of the values of each distinct row, sorted."""
    points, index = np.unique(X, axis=0, return_inverse=True)
    index = index.ravel()  # NumPy 2.0 gave it another shape
    means = np.bincount(index, weights=y) / np.bincount(index)
    whole = (np.round(X) == X).all(axis=0)
    keys = [
        tuple(int(v) if w else float(v) for v, w in zip(row, whole, strict=True))
        for row in points
    ]
    return dict(zip(keys, means.tolist(), strict=True))


# -- grids of hyperparameters ---------------------------------------------------------


def hpo_table(name: str, data_home: Home = None) -> Problem:
    """Return a table of HPOBench (5-d) or HPOLib (9-d) as a problem.

    ``"hpobench-..."``: mean validation accuracy, over five seeds, of a multilayer
    perceptron, on a grid of 30,000 settings of alpha, batch_size, depth,
    learning_rate_init and width. ``"hpolib-..."``: minus the natural logarithm of the
    mean validation loss, over four seeds, of a network of two layers for regression, on
    a grid of 62,208 settings of activations, batch size, dropouts, learning rate, its
    schedule and widths. The losses span many orders of magnitude. All are noise-free:
    means stand for evaluations.

    The space is the grid: numbers are ordered by rank, the rest is unordered. The
    optimum is the largest value of the table.

    Parameters
    ----------
    name : str
        As in `skrobustbo_benchmarks.datasets.fetch_hpo_table`.
    data_home : path-like or None, default=None
        As there.

    Notes
    -----
    Eggensperger et al., "HPOBench: a collection of reproducible multi-fidelity
    benchmark problems for HPO", NeurIPS Datasets and Benchmarks 2021; Klein and Hutter,
    "Tabular benchmarks for joint architecture and hyperparameter optimization", 2019.
    """
    table = fetch_hpo_table(name, data_home=data_home)
    values = table.target if table.maximize else -np.log(table.target)
    points = product(*table.levels.values())
    grid = Lookup(tuple(table.levels), dict(zip(points, values.tolist(), strict=True)))
    best, optimum = grid.best()
    what = "mean validation accuracy" if table.maximize else "-ln(mean validation loss)"
    return Problem(
        name=name,
        space=Space(table.levels),
        func=grid,
        source=f"{what} of each setting of the table {name}",
        optimum=optimum,
        optimum_params=best,
    )
