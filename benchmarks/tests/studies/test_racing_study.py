"""The studies of races and of schedules: tiny runs, and the page's table."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import racing
import shared
import workers

DOCS = Path(__file__).parents[3] / "docs"


def command(*words):
    return shared.status(racing.parser(), lambda args: args.do(args), list(words))


def test_the_command_makes_each_method_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(racing, "N_ITER", 8)
    path = str(tmp_path / "r.csv")
    words = ["run", "--out", path, "--seeds", "0", "--splits", "4"]
    methods = ",".join([*racing.FIRST, "window"])
    for _ in range(2):
        command(*words, "--tunings", "enet-diabetes", "--methods", methods)
    table = pd.read_csv(path)
    assert sorted(table.method) == sorted([*racing.OURS, "replay"])
    rows = table.set_index("method")
    assert rows.folds["full"] == 8 * 4
    assert (rows.folds <= 8 * 4).all()
    assert rows.folds["aggressive"] < 8 * 4
    assert rows.best["replay"] <= rows.best["full"]
    command("show", path)
    assert "| 4 | full | 1 | 100% |" in capsys.readouterr().out


def test_what_is_paid_from_a_budget():
    table = np.array([[1.0, 3.0], [5.0, np.nan], [4.0, 2.0]])
    run = racing.Run([{}, {}, {}], table, np.array([1.0, 2.0, 3.0]))
    assert run.folds.tolist() == [2, 1, 2]
    assert run.winner == 2
    assert run.best_within(run.folds, 5) == 3.0
    assert run.best_within(run.seconds, 5.9) == 2.0
    assert run.best_within(run.seconds, 0.5) == -np.inf


def test_peers_fit_as_many_folds(monkeypatch):
    pytest.importorskip("optuna")
    pytest.importorskip("smac")
    monkeypatch.setattr(racing, "N_ITER", 8)
    for method in racing.PEERS:
        run = racing.peer_run(method, "enet-diabetes", 3, 0)
        assert 24 <= run.folds.sum() <= 26
        assert np.isfinite(run.means[run.winner])


def test_simple_rules_go_by_the_best_candidate():
    class Race:
        folds = None

    for bound, stopped in ((0.5, [True, False]), (0.7, [True, True])):
        rule = racing._Rule(Race, bound)
        lost = [rule.chance(scores) <= rule.allowance for scores in ([0.4], [0.6])]
        assert lost == stopped


def test_the_page_shows_the_table(capsys):
    command("show", str(DOCS / "benchmarks" / "racing.csv"))
    made = capsys.readouterr().out
    page = " ".join((DOCS / "racing.md").read_text().split())
    lines = [line for line in made.splitlines() if line.startswith("|")]
    assert len(lines) > 8
    for line in lines:
        assert " ".join(line.split()) in page


def test_workers_are_busy_for_a_share_of_the_time():
    for schedule in ("rounds", "free"):
        share = workers.share_of_time_used(schedule, 1, 12, "random")
        assert 0.1 < share < 1.01
