"""The command that measures what bounded models cost."""

from skrobustbo.benchmarks import _active_set
from skrobustbo.benchmarks._cli import main
from skrobustbo.surrogate import _active

WORDS = ["active-set", "--problems", "branin", "--rows", "8", "--seeds", "0"]


def test_a_line_for_each_bound_and_one_without(capsys, monkeypatch):
    monkeypatch.setattr(_active_set, "is_one_thread", lambda: True)
    assert main([*WORDS, "--n-iter", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[2].strip() for line in lines[2:]] == ["8", "all"]
    assert lines[2] != lines[3].replace("all", "8")


def test_bounds_are_those_of_the_block_alone():
    before = _active.MOST_ROWS, _active.REFRESH, _active.MOST_FITTED
    with _active_set.at_most(80):
        assert (_active.MOST_ROWS, _active.REFRESH, _active.MOST_FITTED) == (80, 10, 40)
        assert _active.chosen_at(81) == 80
    assert before == (_active.MOST_ROWS, _active.REFRESH, _active.MOST_FITTED)
