"""Searches on a busy Dask cluster in which three fits kill their worker.

    python tests/search/killed_dask.py [--runs 20] [--busy 2]

Each run starts a cluster of two worker processes and fits 20 candidates, three of which
kill every worker that fits them, while busy loops use the cores. A run is correct if 17
candidates are scored and the three are recorded as failed.
"""

import argparse
import logging
import multiprocessing
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from skrobustbo.evaluation import SearchRun

sys.path.append(str(Path(__file__).parents[1] / "helpers"))
from fixed_source import FixedSource

X, y = load_iris(return_X_y=True)
N_CANDIDATES, DEADLY = 20, (3, 4, 11)


class Deadly(BaseEstimator):
    """Ends its process where it is told to."""

    def __init__(self, number=0):
        self.number = number

    def fit(self, X, y):
        time.sleep(0.05)
        if self.number in DEADLY:
            os._exit(1)
        return self

    def score(self, X, y):
        return -float(self.number)


def killed_search(batch_size=4):
    """Return whether each of 20 candidates was scored, on the cluster at hand."""
    candidates = [{"number": i} for i in range(N_CANDIDATES)]
    search = GridSearchCV(Deadly(), {"number": [0]}, cv=3, refit=False)
    with warnings.catch_warnings(), parallel_config(backend="dask"):
        warnings.simplefilter("ignore")
        SearchRun(search, FixedSource(candidates, batch_size), X, y).run()
    return np.isfinite(search.cv_results_["mean_test_score"])


def is_right(scored):
    """Return whether exactly the three deadly candidates failed."""
    return np.flatnonzero(~scored).tolist() == list(DEADLY)


def spin(parent):
    """Use a core until the parent is gone."""
    while os.getppid() == parent:
        pass


def main():
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--busy", type=int, default=2)
    args = parser.parse_args()
    loops = [
        multiprocessing.Process(target=spin, args=(os.getpid(),), daemon=True)
        for _ in range(args.busy)
    ]
    for loop in loops:
        loop.start()
    n_right = 0
    for run in range(1, args.runs + 1):
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster),
        ):
            start = time.perf_counter()
            scored = killed_search()
            seconds = time.perf_counter() - start
        n_right += is_right(scored)
        print(f"run {run}: {scored.sum()} scored in {seconds:.1f} s", flush=True)
    print(f"{n_right} of {args.runs} runs right")
    sys.exit(n_right < args.runs)


if __name__ == "__main__":
    main()
