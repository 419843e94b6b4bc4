"""The page for newcomers shows the real output of its code."""

import re
import warnings
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "get_started.md").read_text()
DIFFS = re.findall(r"^```diff\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
CODE = re.search(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)[1]
SHOWN = re.search(r"^```text\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)[1]
SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0}


def side(diff, sign):
    """Return the code before or after a diff."""
    lines = diff.splitlines()
    return "\n".join(line[2:] for line in lines if not line or line[0] in (" ", sign))


@pytest.fixture(scope="module")
def names():
    found = {}
    exec(CODE.split("search =")[0], found)
    return found


@pytest.fixture(scope="module")
def report():
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(CODE, found)
    return found["search"].report()


def test_both_sides_of_every_diff_run(names):
    scores = []
    for diff in DIFFS:
        for sign in "-+":
            found = dict(names)
            # The page omits the seed; a test must not depend on luck.
            exec(side(diff, sign).replace("=12", "=12, random_state=0"), found)
            scores.append(found["search"].best_score_)
    assert len(DIFFS) == 2
    assert scores[0] == scores[1] == scores[2]  # the grid, whichever search runs
    assert scores[3] >= scores[0] - 0.003


def test_a_diff_changes_words():
    for diff in DIFFS:
        removed = [line[2:] for line in diff.splitlines() if line.startswith("-")]
        added = [line[2:] for line in diff.splitlines() if line.startswith("+")]
        assert len(removed) == len(added)
        for before, after in zip(removed, added, strict=True):
            assert set(re.findall(r"\w+", before)) & set(re.findall(r"\w+", after))


def number(pattern, text):
    return float(re.search(pattern, text)[1])


def test_the_scores_shown_are_those_that_come(report):
    assert report.splitlines()[0] == SHOWN.splitlines()[0]
    for pattern in (r"Best +roc_auc ([\d.]+)", r"roc_auc [\d.]+ ± ([\d.]+)"):
        assert number(pattern, report) == pytest.approx(
            number(pattern, SHOWN), abs=0.004
        )
    sections = [
        re.findall(r"^[A-Z]\w+", text, re.MULTILINE) for text in (report, SHOWN)
    ]
    assert sections[0] == sections[1]


@pytest.mark.slow
def test_the_times_shown_are_of_the_right_order(report):
    for pattern in (r"([\d.]+) (\w+) in fits", r"([\d.]+) (\w+) in the tuner"):
        ours, shown = (
            float(found[1]) * SECONDS[found[2]]
            for found in (re.search(pattern, text) for text in (report, SHOWN))
        )
        assert shown / 10 < ours < shown * 10, pattern
