"""The command that measures what bounded models cost."""

import pytest

from skrobustbo.benchmarks import _active_set
from skrobustbo.benchmarks._cli import main
from skrobustbo.surrogate import _active

WORDS = ["active-set", "--problems", "branin", "--n-iter", "20"]


@pytest.fixture(autouse=True)
def bounds(monkeypatch):
    """Note the seed and the bound of each run."""
    seen = []

    def run_one(key):
        seen.append((key.seed, _active.MOST_ROWS))
        return made(key)

    made = _active_set.run_one
    monkeypatch.setattr(_active_set, "run_one", run_one)
    monkeypatch.setattr(_active_set, "is_one_thread", lambda: True)
    return seen


def test_a_line_for_each_bound_and_one_without(capsys, bounds):
    before = _active.MOST_ROWS
    assert main([*WORDS, "--rows", "8", "40", "--seeds", "0,3"]) == 0
    assert bounds == [(seed, rows) for rows in (8, 40, before) for seed in (0, 3)]
    lines = capsys.readouterr().out.splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert [row[2] for row in cells] == ["8", "40", "all"]
    # A bound that no run of 20 reaches, nor half of it, does nothing.
    few, enough, all_of_them = (row[3:5] for row in cells)
    assert few != enough == all_of_them


def test_the_least_bound(bounds):
    assert main([*WORDS, "--rows", "1", "--seeds", "0"]) == 0
    assert bounds[0] == (0, 1)


def test_bounds_are_those_of_the_block_alone():
    before = _active.MOST_ROWS, _active.REFRESH, _active.MOST_FITTED
    with _active_set.at_most(80):
        assert (_active.MOST_ROWS, _active.REFRESH, _active.MOST_FITTED) == (80, 10, 40)
        assert _active.chosen_at(81) == 80
    assert before == (_active.MOST_ROWS, _active.REFRESH, _active.MOST_FITTED)
