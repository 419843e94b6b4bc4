"""Searches killed without warning and resumed; `kill_series.py` runs more of them."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import kill_series
from killed_search import SETUPS, X, make_search, table, y

from tiers import mostly_long

pytestmark = pytest.mark.skipif(
    not hasattr(__import__("signal"), "SIGKILL"), reason="no SIGKILL"
)

#: One for each way of evaluation; the other searches are long tests.
SOME = {
    "one-job",
    "batches",
    "failures",
    "branched",
    "window",
    "races",
    "time-limit-jobs",
}


@pytest.mark.parametrize("setup", mostly_long(SETUPS, slow=SOME))
def test_a_killed_search_ends_as_if_unbroken(setup, tmp_path):
    done = kill_series.check_series(setup, tmp_path, seed=len(setup))
    assert done["kills"] > 0
    assert done["kept"] > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_a_kill_leaves_beside_a_file_that_is_gone_is_nothing(tmp_path):
    process = kill_series.start("one-job", tmp_path, "0")
    assert kill_series.kill_later(process, tmp_path, n_fits=20, seconds=0.0)
    path = tmp_path / "search.ckpt"
    assert (tmp_path / "search.ckpt-wal").stat().st_size > 0
    path.unlink()
    found = table(make_search("one-job", path).fit(X[::-1], y))
    expected = table(make_search("one-job").fit(X[::-1], y))
    assert json.dumps(found) == json.dumps(expected)
