"""
==========================
A search on a Dask cluster
==========================

The folds of :class:`~skrobustbo.RobustBayesSearchCV` run on the current joblib backend.
With Dask's backend, they run on a cluster. Here, the cluster consists of two processes
on this machine, but you can use any cluster that a ``distributed.Client`` can connect
to. Nothing else changes. The candidates are the same, because they depend only on the
scores.

A single candidate has only ``cv`` folds, so additional workers would be idle. On a
cluster, set ``batch_size``, the number of candidates that are proposed together. Their
folds share the workers.

This example requires Dask (``pip install ".[dask]"``). You can also run it as a script.
``--help`` shows its options. Use ``--figure`` if there is no display::

    python plot_dask_cluster.py --quick --figure folds.png
"""

# %%
# Options
# -------

import argparse
from time import perf_counter

import joblib
from distributed import Client, LocalCluster, get_task_stream
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skrobustbo import Real, RobustBayesSearchCV

parser = argparse.ArgumentParser(description="Run a search on a Dask cluster.")
parser.add_argument("--quick", action="store_true", help="fewer candidates")
parser.add_argument("--workers", type=int, default=2, help="processes (2)")
parser.add_argument("--seed", type=int, default=0, help="default: 0")
parser.add_argument("--figure", metavar="FILE", help="write the plot into this file")

# %%
# The search
# ----------
# ``parallel_config`` sends the folds to the cluster of the current client. Dask records
# what its workers do, and the plot below uses these records.


def search_on_cluster(client, n_iter, seed):
    """Return the fitted search and Dask's record of every fold."""
    X, y = load_digits(return_X_y=True)
    space = {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-6, 1e-1, log=True)}
    search = RobustBayesSearchCV(
        SVC(), space, n_iter=n_iter, batch_size=4, cv=3, random_state=seed
    )
    with joblib.parallel_config(backend="dask"), get_task_stream(client) as stream:
        search.fit(X, y)
    return search, stream.data


# %%
# Who did what
# ------------
# Each row is a worker, and each bar is a fold. The gaps are between the rounds, because
# the tuner waits for the last fold of a round before it proposes the next round.


def bars(tasks):
    """Return the start and duration of each worker's folds, in seconds."""
    found = {}
    for task in tasks:
        if not task["key"].startswith("fit-"):
            continue  # this task prepared the worker
        for step in task["startstops"]:
            if step["action"] == "compute":
                span = step["start"], step["stop"] - step["start"]
                found.setdefault(task["worker"], []).append(span)
    begin = min(start for spans in found.values() for start, _ in spans)
    return {
        worker: [(start - begin, length) for start, length in spans]
        for worker, spans in sorted(found.items())
    }


def draw(bars_of, figure):
    """Draw the folds over time, if matplotlib is installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("For the plot, install matplotlib: pip install matplotlib")
        return
    fig, ax = plt.subplots(figsize=(7, 1 + 0.6 * len(bars_of)), layout="constrained")
    for row, spans in enumerate(bars_of.values()):
        ax.broken_barh(spans, (row - 0.35, 0.7), facecolor="C0", edgecolor="white")
    ax.set_yticks(range(len(bars_of)), [f"worker {i + 1}" for i in range(len(bars_of))])
    ax.set_xlabel("seconds since the first fold")
    if figure:
        fig.savefig(figure)
        print(f"The plot is in {figure}.")
    else:
        plt.show()


# %%
# Run it
# ------
# The workers are processes that also import this file. The guard prevents them from
# starting their own clusters.


def main():
    """Start a cluster, run the search, and print the results."""
    args = parser.parse_args()
    cluster = LocalCluster(
        n_workers=args.workers, threads_per_worker=1, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        start = perf_counter()
        search, tasks = search_on_cluster(client, 12 if args.quick else 40, args.seed)
        seconds = perf_counter() - start
    bars_of = bars(tasks)
    print(f"{search.n_iter_} candidates in {seconds:.1f} s, 4 at a time")
    for worker, spans in bars_of.items():
        print(f"{worker}: {len(spans)} folds, {sum(s for _, s in spans):.1f} s of work")
    print(f"best cross-validated accuracy: {search.best_score_:.4f}")
    print(f"found with {search.best_params_}")
    draw(bars_of, args.figure)


if __name__ == "__main__":
    main()
