"""What scikit-learn's searches promise: one small program per row of the table.

Every public function of these modules is a row; its docstring's first line says which.
"""

import inspect

from promises import contract, data, failing, scoring, searching


def _rows(module):
    """Return the public functions that a module defines, in order."""
    found = vars(module).items()
    functions = [(n, of) for n, of in found if inspect.isfunction(of)]
    own = module.__name__
    return tuple(f for n, f in functions if n[0] != "_" and f.__module__ == own)


SECTIONS = {
    "The search as an estimator": _rows(contract),
    "Scoring and the best candidate": _rows(scoring),
    "Failures and mistakes": _rows(failing),
    "Data and metadata": _rows(data),
    "Candidates, folds, progress": _rows(searching),
}
#: Name -> row.
PROBES = {row.__name__: row for rows in SECTIONS.values() for row in rows}


def title(probe):
    """Return what a row says: the first line of its docstring, no full stop."""
    return probe.__doc__.strip().splitlines()[0].removesuffix(".")
