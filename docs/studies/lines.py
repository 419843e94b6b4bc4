"""A csv file with a line for each run, added to as runs end: a command can resume."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed

import pandas as pd

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._files import check_can_write, replace_file
from skrobustbo.benchmarks._pool import say
from skrobustbo.benchmarks._versions import notes_beside


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
    check_can_write(path)
    lines = read(path, columns) if path.exists() else pd.DataFrame(columns=columns)
    fields = list(type(keys[0])._fields)
    held = set(lines[fields].itertuples(index=False, name=None))
    missing = [key for key in keys if tuple(key) not in held]
    say(f"{path}: {len(keys) - len(missing)} of {len(keys)} runs are there.")
    if missing and (mixed := notes_beside(path).add()):
        say(f"{path} mixes runs of {mixed}.")
    for key, line in _made(missing, make, jobs):
        new = pd.DataFrame([{**key._asdict(), **line}], columns=columns)
        lines = pd.concat([lines, new], ignore_index=True) if len(lines) else new
        # Whole, in place of the old one: what is killed leaves no torn line.
        replace_file(path, lines.to_csv(index=False, na_rep="nan"))
        say(f"{key} is over.")
    return lines


def read(path, columns):
    """Return the lines of a file; CommandError if it is another kind of file."""
    try:
        lines = pd.read_csv(path, dtype=str, keep_default_na=False)
        # Python reads a float to the last bit.
        return pd.DataFrame(
            {name: lines[name].map(kind) for name, kind in columns.items()}
        )
    except (KeyError, ValueError) as error:
        raise CommandError(
            f"{path} should be a table with the columns {', '.join(columns)}, but "
            f"{error}: give another --out, or mend or remove the file."
        ) from error


def _made(keys, make, jobs):
    if jobs == 1:
        yield from ((key, make(key)) for key in keys)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(make, key): key for key in keys}
        for future in as_completed(futures):
            yield futures[future], future.result()
