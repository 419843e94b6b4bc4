"""Searches killed without warning and resumed; `kill_series.py` does more of them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import kill_series
from killed_search import SETUPS

pytestmark = pytest.mark.skipif(
    not hasattr(__import__("signal"), "SIGKILL"), reason="no SIGKILL"
)


@pytest.mark.slow
@pytest.mark.parametrize("setup", SETUPS)
def test_a_killed_search_ends_as_if_unbroken(setup, tmp_path):
    done = kill_series.check_series(setup, tmp_path, seed=len(setup))
    assert done["kills"] > 0
    assert done["kept"] > 0
