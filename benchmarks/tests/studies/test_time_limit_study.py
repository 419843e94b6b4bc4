"""The study of what a time limit costs: at most twice the regret."""

import shared
import time_limit as study


def test_a_time_limit_costs_little(capsys):
    words = ["--problems", "branin", "--seeds", "0-9"]
    assert shared.status(study.build_parser(), study.main, words) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == len(study.COSTS)
    for line in lines:
        n, limited, counted = map(float, line.split("|")[3:6])
        assert 35 < n < 60
        assert limited <= 2 * counted
