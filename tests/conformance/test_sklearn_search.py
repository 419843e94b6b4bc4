"""scikit-learn's own tests of its searches, with our engine under them."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What becomes of each test, by the number of candidates at a time."""
    known = {}

    def run(batch):
        if batch not in known:
            folder = tmp_path_factory.mktemp("suite")
            known[batch] = _run(batch, folder)
        return known[batch]

    return run


def _run(batch, folder):
    report = folder / "report.xml"
    path = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    command = ["-m", "pytest", "-q", "-p", "engine_plugin", "-p", "no:cacheprovider"]
    target = ["--pyargs", "sklearn.model_selection.tests.test_search"]
    subprocess.run(
        [sys.executable, *command, f"--junitxml={report}", *target],
        cwd=folder,  # away from our own settings of pytest
        env={**os.environ, "SKROBUSTBO_ENGINE_BATCH": batch, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    cases = ET.parse(report).getroot().iter("testcase")
    return {case.attrib["name"]: _became(case) for case in cases}


def _became(case):
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            return child.tag
    return "passed"


@pytest.mark.slow
@pytest.mark.parametrize("batch", ["1", "3", "all"])
def test_what_passes_for_their_engine_passes_for_ours(outcomes, batch):
    theirs, ours = outcomes("off"), outcomes(batch)
    passing = {name for name, became in theirs.items() if became == "passed"}
    assert len(passing) > 100
    lost = sorted(name for name in passing if ours.get(name) != "passed")
    assert not lost
