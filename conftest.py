"""What all tests share: figures are drawn without a screen, and closed."""

import importlib.util
import os
import sys

import pytest

os.environ["MPLBACKEND"] = "Agg"
# The examples of displays draw, and matplotlib is optional.
if importlib.util.find_spec("matplotlib") is None:
    collect_ignore_glob = ["skrobustbo/displays/*"]


@pytest.fixture(autouse=True)
def _figures_closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
