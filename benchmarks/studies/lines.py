"""A csv file with a line for each run, added to as runs end: a command can resume."""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import pandas as pd

from skrobustbo_benchmarks._args import positive_int, write_file
from skrobustbo_benchmarks._pool import say
from skrobustbo_benchmarks._record import Table


def completed(path, columns, keys, make, jobs=1):
    """Return the lines of a file, after those that it lacks have been made.

    Parameters
    ----------
    path : Path
        The csv file, which need not exist.
    columns : dict of str to type
        What a line holds.
    keys : list of NamedTuple
        What tells the runs apart: some of the columns.
    make : callable
        Key -> dict of the other columns.
    jobs : int
        Runs at a time; of several, each is made in another process.
    """
    key, command = type(keys[0])._fields, Path(sys.argv[0]).name
    table = Table(path, columns, key=key, command=command)
    held = table.open()
    missing = [key for key in keys if tuple(key) not in held]
    say(f"{path}: {len(keys) - len(missing)} of {len(keys)} runs are there.")
    if missing and (mixed := table.versions.add()):
        say(f"{path} mixes runs of {mixed}.")
    for key, line in _made(missing, make, jobs):
        table.append(pd.DataFrame([{**key._asdict(), **line}], columns=columns))
        say(f"{key} is over.")
    return table.read()[0]


def _made(keys, make, jobs):
    if jobs == 1:
        yield from ((key, make(key)) for key in keys)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(make, key): key for key in keys}
        for future in as_completed(futures):
            yield futures[future], future.result()


def add_options(parser, roles, per):
    """Add the options of a study that chooses on some runs and reports on others."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of runs")
    add("--table", type=Path, metavar="MD", help="file for the tables (default: print)")
    add("--role", choices=roles, default="choosing", help="what the runs are for")
    add("--methods", nargs="+", default=["robust"], metavar="NAME", help="(robust)")
    add("--seeds", type=positive_int, default=20, metavar="N", help=f"per {per} (20)")
    add(
        "--label",
        metavar="NAME",
        help="name in the file of the only method, if another version of the package "
        "makes its runs",
    )
    add("--jobs", type=positive_int, default=1, metavar="N", help="runs at a time")


def show(text, path):
    """Print the tables, or write them to a file."""
    if path is None:
        print(text)
    else:
        write_file(path, text + "\n")


class Labelled:
    """Makes the runs of methods that have other names in the file.

    Parameters
    ----------
    labels : dict of str to str
        Method -> its name in the file; without an entry the two are equal.
    make : callable
        Key, which has a `method` -> dict of the other columns.
    """

    def __init__(self, labels, make):
        self._labels, self._make = labels, make

    def named(self, key):
        """Return a key with the name that its method has in the file."""
        return key._replace(method=self._labels.get(key.method, key.method))

    def __call__(self, key):
        """Return the result of a run."""
        method = {label: name for name, label in self._labels.items()}
        return self._make(key._replace(method=method.get(key.method, key.method)))
