"""Kill searches at random moments, resume them, and compare with an uninterrupted run.

`python tests/checkpoint/kill_series.py --n 25` runs the series and reports the result.
"""

import argparse
import collections
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import killed_search
from killed_search import (
    N_ITER,
    N_SPLITS,
    SETUPS,
    X,
    fold_key,
    make_search,
    space_of,
    table,
    y,
)

PROGRAM = Path(killed_search.__file__)


def unbroken(setup):
    """Return the table of an uninterrupted search without a checkpoint."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = make_search(setup).fit(X, y)
    return json.loads(json.dumps(table(search)))


def start(setup, folder, run):
    here = Path(killed_search.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(here), "OMP_NUM_THREADS": "1"}
    arguments = [sys.executable, str(PROGRAM), setup, str(folder), run]
    # Not a pipe: workers that outlive their parent for a while would keep it open.
    with (folder / "said").open("w") as said:
        return subprocess.Popen(arguments, env=environment, stderr=said)


def kill_later(process, folder, n_fits, seconds):
    """Kill a search after some more fits and a moment; return whether it still ran."""
    goal = sum(map(len, fits(folder).values())) + n_fits
    deadline = time.monotonic() + 300
    while sum(map(len, fits(folder).values())) < goal and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    time.sleep(seconds)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return alive


def committed(setup, folder):
    """Return the folds in the checkpoint, as the estimator logs them."""
    path = folder / "search.ckpt"
    if not path.exists():
        return set()
    # A copy is read, because reading the database itself would modify it.
    with tempfile.TemporaryDirectory() as copy:
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                (Path(copy) / source.name).write_bytes(source.read_bytes())
        db = sqlite3.connect(Path(copy) / path.name)
        folds = [json.loads(body) for (body,) in db.execute("SELECT body FROM fold")]
        bodies = dict(db.execute("SELECT number, body FROM candidate"))
        db.close()
    branches = space_of(setup).branches
    rows = {number: json.loads(body) for number, body in bodies.items()}
    asked = {
        number: row["params"]  # the estimator as given, outside the space
        if row["branch"] < 0
        else branches[row["branch"]].params_from_json(row["params"])
        for number, row in rows.items()
    }
    return {fold_key(asked[f["candidate"]], _ROWS[f["split"]]) for f in folds}


#: The training rows of each split, as the estimator sees them.
_ROWS = [X[train] for train, _ in make_search("one-job").cv.split(X, y)]


def fits(folder):
    """Return each fitted fold with the runs that fitted it, in order."""
    found = collections.defaultdict(list)
    log = folder / "fits"
    for line in log.read_text().splitlines() if log.exists() else []:
        run, key = line.split(" ", 1)
        found[key].append(run)
    return found


def check_series(setup, folder, seed, kills=2, expected=None):
    """Kill a search several times, let it end, check it; return what happened."""
    rng = random.Random(seed)
    n_kills = 0
    for run in map(str, range(kills)):
        before = committed(setup, folder)
        process = start(setup, folder, run)
        after = rng.randint(0, 60 // kills), rng.uniform(0.0, 0.03)
        n_kills += kill_later(process, folder, *after)
        _check_not_repeated(folder, before, run)
    before = committed(setup, folder)
    process = start(setup, folder, "last")
    assert process.wait(timeout=300) == 0, (folder / "said").read_text()
    _check_not_repeated(folder, before, "last")
    found = json.loads((folder / "results-last.json").read_text())
    assert_same(found, unbroken(setup) if expected is None else expected)
    runs, done = fits(folder), committed(setup, folder)
    assert done <= runs.keys()
    # If its race is over by then, a fold lost in a kill is not needed again.
    if "racing" not in SETUPS[setup]:
        assert len(runs) == len(done) == N_ITER * N_SPLITS
    repeated = sum(len(each) - 1 for each in runs.values())
    # Folds running when a process dies: one with one job; with two jobs, four, and on a
    # busy machine all those finished but not written yet.
    assert repeated <= n_kills * (8 if "n_jobs" in SETUPS[setup] else 1)
    return {"kills": n_kills, "kept": len(before), "repeated": repeated}


def _check_not_repeated(folder, before, run):
    again = [key for key in before if run in fits(folder).get(key, [])]
    assert not again, f"fitted again: {again}"


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        # As texts, in which nan equals nan, and floats must be equal to the last bit.
        assert json.dumps(found[key]) == json.dumps(value), key


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=25, help="series (25)")
    parser.add_argument("--seed", type=int, default=0, help="of the first series (0)")
    parser.add_argument("--setup", nargs="+", default=list(SETUPS), choices=SETUPS)
    parser.add_argument("--kills", type=int, default=2, help="kills in each (2)")
    args = parser.parse_args()
    tables = {setup: unbroken(setup) for setup in args.setup}
    kills = 0
    for i in range(args.n):
        seed, setup = args.seed + i, args.setup[i % len(args.setup)]
        with tempfile.TemporaryDirectory() as folder:
            done = check_series(setup, Path(folder), seed, args.kills, tables[setup])
        kills += done["kills"]
        print(seed, setup, done, flush=True)
    print(f"{args.n} series, {kills} kills: all as if unbroken")


if __name__ == "__main__":
    main()
