"""The studies of races and of schedules: tiny runs, and the page's table."""

import re
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
    for _ in range(2):
        command(*words, "--tunings", "enet-diabetes")
    table = pd.read_csv(path)
    assert sorted(table.method) == sorted([*racing.OURS, "replay"])
    rows = table.set_index("method")
    assert rows.folds["full"] == 8 * 4
    assert (rows.folds <= 8 * 4).all()
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


def test_the_table_counts_in_standard_errors(tmp_path, capsys):
    rows = pd.DataFrame(
        {
            "tuning": "a",
            "n_splits": 5,
            "seed": [0, 0, 1, 1, 2, 2],
            "method": ["full", "confident"] * 3,
            "folds": [200, 100] * 3,
            "seconds": [2.0, 1.0] * 3,
            "best": [0.5, 0.4, 0.5, 0.5, 0.5, 0.45],
            "error": 0.1,
            "fresh": [0.5, 0.6] * 3,
            "full_then": [np.nan, 0.4] * 3,
        }
    )
    rows = pd.concat([rows, rows[:1].assign(method="replay")])
    rows.to_csv(tmp_path / "r.csv", index=False)
    command("show", str(tmp_path / "r.csv"))
    shown = capsys.readouterr().out
    assert "| 5 | confident | 3 | 50% | 50% | -0.50 ± 0.00 | +1.00 ± 0.00 |" in shown
    assert "| a | 50% | 2 | 1 | 0 | -0.50 ± 0.58 | -0.05 | +1.00 ± 0.00 |" in shown


def test_the_page_shows_rows_of_the_table(capsys):
    command("show", str(DOCS / "benchmarks" / "racing.csv"))
    made = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    page = (DOCS / "racing.md").read_text().splitlines()
    rows = [" ".join(s.split()) for s in page if re.match(r"\| (folds|\d+) \|", s)]
    assert len(rows) == 1 + 7
    assert set(rows) <= set(made)


def test_workers_are_busy_for_a_share_of_the_time():
    for schedule in ("rounds", "free"):
        share = workers.share_of_time_used(schedule, 1, 12, "random")
        assert 0.1 < share < 1.01
