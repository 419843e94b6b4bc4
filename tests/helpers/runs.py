"""Runs of optimizers and searches: asked, told, written, read back, compared."""

import json
import math

import numpy as np

from skrobustbo import Optimizer, Real
from skrobustbo.checkpoint import Journal
from skrobustbo.evaluation import Stops
from skrobustbo.model_selection._source import prepared

#: A space of all kinds of parameters, and a value on it and on parts of it.
MIXED = {"a": Real(0, 1), "b": [1, 5, 9], "c": ["x", "y", "z"], "d": [True, False]}
#: The same ranges, finite and infinite.
GRID = {"a": [0, 1, 2, 3, 4, 5, 6], "b": [0, 1, 2, 3, 4]}
CUBE = {"a": Real(0, 6), "b": Real(0, 4)}


def mixed_value(params):
    known = {"b": 1, "c": "x", **params}
    return math.sin(5 * known["a"]) + known["b"] / 9 - (known["c"] == "y")


def run(optimizer, n, values):
    """Ask and tell n values of a function; return the points asked."""
    return run_over_time(optimizer, n, lambda params, t: values(params))


def run_over_time(optimizer, n, values):
    """Do the same with a function of the parameters and of time, which starts at 0."""
    asked = []
    for t in range(n):
        asked.append(optimizer.ask())
        optimizer.tell(asked[-1], values(asked[-1], t))
    return asked


def read_back(optimizer, **given):
    """Return the optimizer as a later process would read it."""
    text = json.dumps(optimizer.to_dict(), allow_nan=False)
    return Optimizer.from_dict(json.loads(text), **given)


def source_of(search, **data):
    """Return the source of candidates of a search that has not started."""
    return prepared(search, Journal(), data, search.n_iter, Stops())


def assert_modelled(records):
    """Check that a model has chosen and predicted each point."""
    assert records
    for record in records:
        assert math.isfinite(record["model_mean"]), record
        assert 0 < record["model_std"] < math.inf, record


def assert_same(found, expected):
    """Assert that two searches have the same results, except for times."""
    found, expected = found.cv_results_, expected.cv_results_
    assert list(found) == list(expected)
    for key, values in expected.items():
        if "time" not in key:
            np.testing.assert_array_equal(found[key], values, err_msg=key)
