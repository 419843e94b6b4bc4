"""How well the default's points cover a space, beside what the theorem guarantees.

    python benchmarks/studies/covering.py --seeds 5

Of each search, the points before the last sqrt(N) + 2 d evaluations are taken. The
radius is the largest distance of 4,096 random points from the nearest point asked.
"""

import argparse
import math

import numpy as np
from scipy.spatial.distance import cdist

import shared
from skrobustbo import Optimizer, Real
from skrobustbo_benchmarks._args import positive_int
from skrobustbo_benchmarks._report import table

#: Parameters and planned evaluations.
SIZES = ((1, 50), (2, 50), (2, 100), (3, 100), (4, 100), (5, 200))
N_RANDOM = 4096
HEADER = ("d", "N", "objective", "filling points", "radius", "3/2 m^(-1/d)")


def slope(x):
    """Return what every model believes in: the best is in one corner."""
    return float(x.sum())


def waves(x):
    """Return what no model can learn."""
    return math.sin(1e3 * float(x @ np.arange(1, len(x) + 1)))


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=positive_int, default=5, help="searches each")
    return parser


def main(args):
    """Print a line for each size and objective."""
    rows = []
    for d, n_planned in SIZES:
        for objective in (slope, waves):
            found = [covered(d, n_planned, objective, s) for s in range(args.seeds)]
            rows.append(row(d, n_planned, objective.__name__, found))
    print(table((*HEADER, "guaranteed"), rows, n_left=0))


def row(d, n_planned, name, found):
    """Return a line: medians with the range over the seeds, and the bounds."""
    fills, radii, n_chosen = (np.array(each) for each in zip(*found, strict=True))
    m = np.median(fills)
    guaranteed = math.ceil((n_chosen.min() + 1) / 12) - 1
    return (
        *(str(d), str(n_planned), name),
        f"{m:.0f} ({fills.min()} to {fills.max()})",
        f"{np.median(radii):.2f} ({radii.min():.2f} to {radii.max():.2f})",
        *(f"{1.5 * k ** (-1 / d):.2f}" for k in (m, guaranteed)),
    )


def covered(d, n_planned, objective, seed):
    """Return a search's filling points, its radius and the queries it chose."""
    space = {f"x{i}": Real(0, 1) for i in range(d)}
    optimizer = Optimizer(space, "robust", horizon=n_planned, random_state=seed)
    told = []
    for _ in range(math.ceil(n_planned - math.sqrt(n_planned) - 2 * d)):
        params = optimizer.ask()
        told.append(list(params.values()))
        optimizer.tell(params, objective(np.array(told[-1])))
    labels = [record["model_label"] for record in optimizer.history_]
    points = np.random.default_rng(seed).random((N_RANDOM, d))
    radius = cdist(points, told, "chebyshev").min(axis=1).max()
    return labels.count("fill"), radius, len(labels) - labels.count("initial")


if __name__ == "__main__":
    shared.run(build_parser(), main)
