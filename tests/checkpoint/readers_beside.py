"""Searches of many fast fits, read all the time, killed now and then, and resumed.

    python tests/checkpoint/readers_beside.py [--fits 5000] [--seconds 600] [--kills 3]

One search writes its checkpoint. Two processes read it with `load_checkpoint` as fast
as they can, one starts searches from it as `previous`, and the search itself reads it
and copies its files, like a callback that makes backups. Everything read must be
complete and no older than before. The search is killed several times. The remaining
files must be readable, even from a read-only folder, before the search resumes. At the
end, no fold is missing, and only folds running at a kill were fitted twice. Only the
search's own reads, one every twenty candidates, and the shared processors may slow it
down.
"""

import argparse
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

from skrobustbo import Real, RobustBayesSearchCV, load_checkpoint

X, y = np.arange(40.0).reshape(-1, 1), np.arange(40) % 2
SPACE = {"a": Real(-1, 1), "b": Real(-1, 1)}
N_SPLITS = 5


class Fast(BaseEstimator):
    """Scores a known function, and counts its fits in a file."""

    def __init__(self, a=0.0, b=0.0, log=None):
        self.a = a
        self.b = b
        self.log = log

    def fit(self, X, y=None):
        """Record the fit."""
        if self.log is not None:
            with open(self.log, "ab") as file:
                file.write(b".")
        return self

    def score(self, X, y=None):
        """Return the known score."""
        return -(self.a**2) - self.b**2 + 1e-3 * math.sin(float(X[0, 0]))


def make(n_iter, **settings):
    """Return a search that costs almost nothing except for its checkpoint."""
    return RobustBayesSearchCV(
        settings.pop("estimator", Fast()),
        SPACE,
        n_iter=n_iter,
        cv=N_SPLITS,
        policy="random",
        random_state=0,
        refit=False,
        honest_score=False,
        **settings,
    )


def search(path, n_iter):
    """Run the search, which sometimes reads and copies its own files."""
    folder = path.parent

    def look(trial):
        if trial["number"] % 20 == 19:
            read = load_checkpoint(path)
            assert read.status == "running"
            assert len(read.trials) == trial["number"] + 1, len(read.trials)
            for file in list(folder.glob("search.ckpt*")):
                shutil.copy(file, folder / "backup" / file.name)

    estimator = Fast(log=str(folder / "fits"))
    start = time.perf_counter()
    found = make(n_iter, estimator=estimator, checkpoint=path, on_trial=look)
    found.fit(X, y)
    seconds = time.perf_counter() - start
    n_there = load_checkpoint(path).n_folds
    said = {
        "seconds": seconds,
        "n": len(found.cv_results_["params"]),
        "n_folds": n_there,
    }
    (folder / "done").write_text(json.dumps(said))


def look_at(path, how):
    """Read the file repeatedly until the search is done; print what was seen."""
    n_reads = n_before = 0
    longest = 0.0
    while not path.exists():
        time.sleep(0.01)
    while not (path.parent / "done").exists():
        start = time.perf_counter()
        try:
            if how == "load":
                n = load_checkpoint(path).n_folds
            else:
                begun = make(1, previous=path).fit(X, y)
                n = begun.optimizer_._trials.n_before
        except ValueError as error:
            if how != "previous" or "no candidate" not in str(error).lower():
                raise
            continue
        assert n >= n_before, (n, n_before)
        n_before, n_reads = n, n_reads + 1
        longest = max(longest, time.perf_counter() - start)
    print(
        how, n_reads, "reads, the longest", round(longest, 3), "s, last saw", n_before
    )


def begin(*words):
    """Start a part of this program in its own process."""
    here = Path(__file__)
    path = os.pathsep.join([str(here.parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", str(here), *map(str, words)], env=environment
    )


def check_left(path, folder):
    """Read the files left by a kill, in place and in a read-only folder."""
    before = {file.name: file.read_bytes() for file in path.parent.glob("search.ckpt*")}
    n = load_checkpoint(path).n_folds
    after = {file.name: file.read_bytes() for file in path.parent.glob("search.ckpt*")}
    assert before == after
    locked = folder / "locked"
    shutil.rmtree(locked, ignore_errors=True)
    locked.mkdir()
    for name in before:
        shutil.copy(path.parent / name, locked / name)
    locked.chmod(0o555)
    try:
        assert load_checkpoint(locked / path.name).n_folds == n
        assert len(list(locked.iterdir())) == len(before)
    finally:
        locked.chmod(0o755)
    return n


def main():
    """Run a search with readers beside it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fits", type=int, default=5000, help="fits (5000)")
    parser.add_argument("--seconds", type=float, default=600.0, help="at most (600)")
    parser.add_argument("--kills", type=int, default=3, help="kills (3)")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.part:
        path, what = Path(args.part[0]), args.part[1]
        search(path, int(args.part[2])) if what == "search" else look_at(path, what)
        return
    end = time.monotonic() + args.seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run" / "backup").mkdir(parents=True)
        path, n_iter = folder / "run" / "search.ckpt", args.fits // N_SPLITS
        fits = path.parent / "fits"
        readers = [begin("--part", path, how) for how in ("load", "load", "previous")]
        lost = 0
        for i in range(args.kills):
            process = begin("--part", path, "search", n_iter)
            goal = (i + 1) * args.fits // (args.kills + 1)
            while not fits.exists() or fits.stat().st_size < goal:
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.wait()
            n_fitted, n_kept = fits.stat().st_size - lost, check_left(path, folder)
            print("killed with", n_fitted, "fits done and", n_kept, "folds in the file")
            assert 0 <= n_fitted - n_kept <= 1
            lost += n_fitted - n_kept
        process = begin("--part", path, "search", n_iter)
        assert process.wait(max(1, end - time.monotonic())) == 0
        codes = [reader.wait(120) for reader in readers]
        assert codes == [0, 0, 0], codes
        done = json.loads((path.parent / "done").read_text())
        assert done["n"] == n_iter
        assert done["n_folds"] == n_iter * N_SPLITS
        assert fits.stat().st_size == n_iter * N_SPLITS + lost
        left = sorted(file.name for file in path.parent.glob("search.ckpt*"))
        assert left == ["search.ckpt", "search.ckpt.skrobustbo-lock"], left
        print(done, "fitted again", lost)


if __name__ == "__main__":
    main()
