"""Workers killed from outside, at random, throughout a search."""

import os
import random
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fake_estimators import Fake, search_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc"),
]

X, y = load_iris(return_X_y=True)
N_KILLS = 10
#: One fit may end beside the kill and one before its result is sent; the third is safe.
PROGRESS = 3


class Brief(Fake):
    """Takes 50 ms to fit, and then adds a byte to a file."""

    def __init__(self, a=0.0, log=os.devnull):
        self.a, self.log = a, log

    def fit(self, X, y=None):
        time.sleep(0.05)
        super().fit(X, y)
        with open(self.log, "ab") as log:
            log.write(b".")
        return self

    def score(self, X, y=None):
        return super().score(X, y) + 1e-3 * np.sin(X.sum())


class Killer(threading.Thread):
    """Kills random workers of this process at random moments.

    A fold that runs alone is given up when its worker has died twice, whoever killed
    it. So the next kill waits until `PROGRESS` fits have ended since the last.
    """

    def __init__(self, seed, log):
        super().__init__(daemon=True)
        self.random, self.log = random.Random(seed), log
        self.killed, self.over = [], threading.Event()

    def run(self):
        while len(self.killed) < N_KILLS and self.wait():
            pids = workers()
            if pids:
                victim = self.random.choice(pids)
                os.kill(victim, signal.SIGKILL)
                self.killed.append(victim)

    def wait(self):
        """Wait for some fits; return whether the search goes on."""
        enough = self.fits() + PROGRESS
        while self.fits() < enough and not self.over.is_set():
            self.over.wait(0.01)
        return not self.over.wait(self.random.uniform(0.0, 0.4))

    def fits(self):
        return self.log.stat().st_size


def workers():
    """Return the process ids of the living loky workers started by this process."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if int(parent) == os.getpid() and state != "Z" and b"LokyProcess" in command:
            found.append(int(folder.name))
    return sorted(found)


def search(**settings):
    return search_of(Brief(**settings), n_iter=20, cv=16, n_jobs=2)


def test_ten_workers_killed_at_random_change_nothing(tmp_path):
    log = tmp_path / "fits"
    log.touch()
    calm, struck = search().fit(X, y), search(log=str(log))
    killer = Killer(seed=0, log=log)
    killer.start()
    try:
        with warnings.catch_warnings():
            # joblib may say that a worker stopped; it did.
            warnings.filterwarnings("ignore", message=".*worker stopped")
            struck.fit(X, y)
    finally:
        killer.over.set()
        killer.join()
    assert len(killer.killed) == len(set(killer.killed)) == N_KILLS
    theirs, ours = calm.cv_results_, struck.cv_results_
    assert ours["params"] == theirs["params"]
    assert theirs.keys() == ours.keys()
    for column in theirs.keys() - {"params"}:
        if "_time" not in column:
            np.testing.assert_array_equal(ours[column], theirs[column])
    assert np.isfinite(ours["mean_test_score"]).all()
    assert struck.best_params_ == calm.best_params_
