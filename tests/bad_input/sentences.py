"""Requirements on error messages, and estimators and data for such tests."""

import math
import re
import traceback
import warnings

import numpy as np
import pytest

from fake_estimators import Fake
from skrobustbo import Categorical, Integer, Optimizer, Real, Space

RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(20, 2)), np.array([0, 1] * 10)
#: Fits since the last `fits_of`.
FITS = []


class Counting(Fake):
    """Counts its fits."""

    def __init__(self, a=0.0, b=0.0):
        self.a = a
        self.b = b

    def fit(self, X, y=None):
        FITS.append(self.a)
        return super().fit(X, y)


def short(value):
    """Return a test name for a value: its text without memory addresses."""
    text = re.sub(r" at 0x[0-9a-f]+|\s+", " ", repr(value)).strip()
    return text if len(text) <= 60 else f"{text[:57]}..."


def refusal(call, kinds=(ValueError, TypeError)):
    """Return the message of the error that a call must raise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that fail
        with pytest.raises(kinds) as caught:
            call()
    assert_readable(caught.value)
    return str(caught.value)


def assert_readable(error):
    """Check that an error is one sentence that names the value and no internals."""
    assert not isinstance(error, LookupError | AttributeError | ArithmeticError)
    assert not isinstance(error, np.linalg.LinAlgError)
    message = str(error)
    assert len(message.split()) > 3, message
    assert "Traceback" not in message
    for flaw in ("object has no attribute", "not subscriptable", "not iterable"):
        assert flaw not in message, message
    for flaw in ("not supported between", "not callable", "unsized", "ambiguous"):
        assert flaw not in message, message


def assert_well_written(message):
    """Check that a message of our own starts and ends like a sentence."""
    assert message[0].isupper(), message
    assert message[-1] in ".?", message
    for flaw in ("  ", " .", " ;", " ,", ".;", "\n"):
        assert flaw not in message, message


def raised_here(error):
    """Return whether a `raise` statement of ours raised an error."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "skrobustbo" in frame.filename


#: Values that are valid almost nowhere.
JUNK = [
    None,
    math.nan,
    math.inf,
    -1,
    0,
    1.5,
    True,
    "x",
    "",
    b"x",
    1j,
    10**400,
    -(10**400),
    1e308,
    [],
    (),
    {},
    [None],
    [[1], [2, 3]],
    ("a", "b"),
    {"a": 1},
    {1, 2},
    np.array([1, 2]),
    np.array("x"),
    np.ma.masked,
    np.datetime64("2020-01-01"),
    object(),
    Counting,
    Counting(),
    Space({"zz": [1, 2]}),
    Real(0, 1),
    Integer(1, 3),
    Categorical(["u"]),
    iter([1]),
    range(3),
    len,
    lambda *args: 1,
    lambda *args, **kwargs: 1 / 0,
    Optimizer,
]
