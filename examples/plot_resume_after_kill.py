"""
===============================
Resume a search that was killed
===============================

With ``checkpoint=path``, every fold is saved as soon as it is finished, and the same
call continues from there. This example tests this promise. A search runs in a separate
process, is killed without warning, and is started again. Then we compare it with a
search that was not killed.
"""

# %%
# The program
# -----------
# The program is an ordinary script with one search. The estimator writes a line for
# each of its fits, so that we can see afterwards which process fitted which folds.

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

PROGRAM = """
import json
import sys

from sklearn.datasets import load_digits
from sklearn.svm import SVC
from skrobustbo import Real, RobustBayesSearchCV

checkpoint, log, out = (name or None for name in sys.argv[1:])


class LoggedSVC(SVC):
    def fit(self, X, y):
        super().fit(X, y)
        with open(log, "a") as file:
            print(self.C, self.gamma, X.sum(), file=file)
        return self


X, y = load_digits(return_X_y=True)
search = RobustBayesSearchCV(
    LoggedSVC(),
    {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-6, 1e-1, log=True)},
    n_iter=20,
    cv=5,
    checkpoint=checkpoint,
    random_state=0,
).fit(X[:400], y[:400])
table = search.cv_results_
with open(out, "w") as file:
    json.dump({key: table[key].tolist() for key in table if "score" in key}, file)
"""

folder = tempfile.TemporaryDirectory()
home = Path(folder.name)
(home / "program.py").write_text(PROGRAM)


def start(checkpoint, name):
    """Start the program; its fits go to name.log, its scores to name.json."""
    arguments = [checkpoint, f"{name}.log", f"{name}.json"]
    return subprocess.Popen(
        [sys.executable, "program.py", *arguments],
        cwd=home,
        # The program must find the same packages as this process.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def fits(name):
    """Return the log lines of a run's fits, in order."""
    log = home / f"{name}.log"
    return log.read_text().splitlines() if log.exists() else []


# %%
# Three runs
# ----------
# The first run is not interrupted. The second run is killed once it has logged forty
# fits. On Linux and macOS, the signal is SIGKILL, which a process cannot catch. The
# third run repeats the call of the second.

assert start("", "unbroken").wait() == 0

process = start("search.ckpt", "killed")
while len(fits("killed")) < 40:
    time.sleep(0.002)
process.kill()
print("exit code of the second run:", process.wait())


def committed():
    """Return the numbers of the folds in the checkpoint."""
    with tempfile.TemporaryDirectory() as copy:
        # The newest rows are in a file next to the checkpoint.
        for name in ("search.ckpt", "search.ckpt-wal"):
            (Path(copy) / name).write_bytes((home / name).read_bytes())
        database = sqlite3.connect(Path(copy) / "search.ckpt")
        numbers = [number for (number,) in database.execute("SELECT number FROM fold")]
        database.close()
    return numbers


kept = committed()
print(f"fits of the second run: {len(fits('killed'))}, folds kept: {len(kept)}")

assert start("search.ckpt", "resumed").wait() == 0

# %%
# Was anything lost?
# ------------------
# We number the folds in the order of the uninterrupted run, with five folds for each
# candidate. The last fit of a run is the refit of the best candidate.

number = {line: i for i, line in enumerate(fits("unbroken")[:-1])}
before = [number[line] for line in fits("killed")]
after = [number[line] for line in fits("resumed")[:-1]]
scores = {
    name: json.loads((home / f"{name}.json").read_text())
    for name in ("unbroken", "resumed")
}
print("folds kept and fitted again:", len(set(kept) & set(after)))
print("folds fitted twice:         ", len(set(before) & set(after)))
print("fitted in none of the runs: ", len(set(number.values()) - {*before, *after}))
times = {key for key in scores["unbroken"] if "time" in key}
same = [
    scores["unbroken"][key] == scores["resumed"][key]
    for key in scores["unbroken"].keys() - times
]
print(f"columns of scores equal to the last bit: {sum(same)} of {len(same)}")
assert all(same)
assert not set(kept) & set(after)

# %%
# The plot shows which process fitted each fold of each candidate:

table = np.full((5, 20), np.nan)
for i in number.values():
    table[i % 5, i // 5] = (i in before) + 2 * (i in after)
fig, ax = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
looks = {
    1: ("before the kill", "#56b4e9"),
    2: ("after it", "#e69f00"),
    3: ("both", "k"),
}
for value, (label, colour) in looks.items():
    folds, candidates = np.nonzero(table == value)
    if len(folds):
        ax.plot(candidates + 1, folds + 1, "s", color=colour, ms=11, label=label)
ax.set(xlabel="candidate", ylabel="fold", ylim=(0.4, 5.6), xlim=(0.3, 20.7))
ax.set_xticks(range(1, 21))
ax.set_yticks(range(1, 6))
fig.legend(loc="outside upper center", ncols=3)
plt.show()

folder.cleanup()

# %%
# Saved folds were not fitted again, and the results are the same as in the
# uninterrupted run. You lose at most the fold that is running or, with ``n_jobs``, the
# folds that are running.
