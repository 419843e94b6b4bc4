"""What all tests share: figures are drawn without a screen, and closed."""

import importlib.util
import os
import sys

import pytest

os.environ["MPLBACKEND"] = "Agg"
# To look for examples is to import; these import other packages, and have none.
collect_ignore_glob = [
    f"skrobustbo/benchmarks/_peers/_{peer}.py"
    for peer in ("skopt", "optuna", "botorch", "smac")
]
# The examples of displays draw, and matplotlib is optional.
if importlib.util.find_spec("matplotlib") is None:
    collect_ignore_glob.append("skrobustbo/displays/*")


@pytest.fixture(autouse=True)
def _figures_closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
