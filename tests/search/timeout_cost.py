"""The extra cost of a fold that `fit_timeout` ends.

    python tests/search/timeout_cost.py [--n-jobs 1]

Half of the candidates hang in both of their folds. The duration of fits is known, so
the rest of the wall time, divided by the number of ended folds, is the cost of each.
The start of the first worker, measured in a search with only short fits, is subtracted.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from skrobustbo.evaluation import SearchRun, Stops

sys.path.append(str(Path(__file__).parents[1] / "helpers"))
from fixed_source import FixedSource

X, y = load_iris(return_X_y=True)
SHORT, N_SPLITS, N_PAIRS = 0.3, 2, 5


class Hangs(BaseEstimator):
    def __init__(self, seconds=SHORT):
        self.seconds = seconds

    def fit(self, X, y):
        time.sleep(self.seconds)
        return self

    def score(self, X, y):
        return 0.0


def wall(durations, n_jobs, limit):
    """Return the seconds that a search takes with fits of given durations."""
    candidates = [{"seconds": seconds} for seconds in durations]
    search = GridSearchCV(
        Hangs(), {"seconds": durations}, cv=N_SPLITS, n_jobs=n_jobs, refit=False
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stops = Stops(fit_timeout=limit)
        SearchRun(search, FixedSource(candidates, None), X, y, stops=stops).run()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    n_ends = N_PAIRS * N_SPLITS
    fits = n_ends * (SHORT + args.seconds) / args.n_jobs
    start = wall([SHORT], args.n_jobs, 60.0) - SHORT * N_SPLITS / args.n_jobs
    taken = wall([SHORT, 3600.0] * N_PAIRS, args.n_jobs, args.seconds)
    cost = (taken - start - fits) / n_ends
    print(
        f"n_jobs={args.n_jobs}, fit_timeout={args.seconds:g}: {taken:.1f} s of wall, "
        f"{fits:.1f} s of fits, {start:.1f} s to start; {cost:.2f} s for each of "
        f"{n_ends} ends"
    )


if __name__ == "__main__":
    main()
