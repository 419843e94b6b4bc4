"""The picture of the first page: how soon searches find a hidden peak.

    python docs/figures/landing.py

makes the runs anew and writes how many of them have found the peak after each
evaluation (`landing.csv`). It needs the package skrobustbo_benchmarks; drawing does not.
The traps are those of the study of traps of one to four parameters, with its seeds.
"""

import csv
from collections import Counter
from pathlib import Path

FILE = Path(__file__).with_name("landing.csv")
TRAPS = [f"trap(d={d},share={share})" for d, share in enumerate((0.025, 0.03, 0.03, 0.031), 1)]
METHODS = ("robust", "mle-gp-ucb", "random")
N_SEEDS, N_ITER = 50, 100


def make_runs():
    """Write the number of runs that have found the peak by each evaluation."""
    from skrobustbo_benchmarks._record import RunKey
    from skrobustbo_benchmarks._single import run_one

    found = {method: Counter() for method in METHODS}
    for method in METHODS:
        for trap in TRAPS:
            for seed in range(N_SEEDS):
                run = run_one(RunKey(trap, N_ITER, method, seed))
                at = run["step"][run["best"] >= run["stuck_below"]]
                found[method].update(at.tolist())
        print(method, found[method][N_ITER], flush=True)
    with FILE.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["evaluation", *METHODS])
        for step in range(1, N_ITER + 1):
            table.writerow([step, *(found[method][step] for method in METHODS)])


if __name__ == "__main__":
    make_runs()
