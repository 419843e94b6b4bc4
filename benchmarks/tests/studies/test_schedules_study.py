"""The study of schedules: a clock of its own, and its table."""

from pathlib import Path

import pandas as pd
import pytest

import schedules
import shared

DOCS = Path(__file__).parents[3] / "docs"


def used(schedule, n_splits):
    key = schedules.Key("branin", n_splits, 0, 80, schedule)
    return schedules.Simulated(key, "random", 80).run().used


@pytest.mark.parametrize("n_splits", [1, 5])
def test_workers_wait_least_where_all_is_told_at_once(n_splits):
    rounds, window, free = (used(name, n_splits) for name in schedules.SCHEDULES)
    assert rounds < window - 0.05
    assert window <= free
    assert free > 0.9


def test_every_fold_is_fitted_once_and_no_worker_does_two():
    key = schedules.Key("branin", 3, 0, 20, "window")
    run = schedules.Simulated(key, "random", 20).run()
    assert len(run.fits) == 20 * 3
    assert len(run.told) == 20
    for _, start, _ in run.fits:
        assert sum(s <= start < s + long for _, s, long in run.fits) <= 8


def test_the_command_makes_each_run_once(tmp_path, capsys):
    path = tmp_path / "s.csv"
    words = ["--out", str(path), "--problems", "branin", "--splits", "2"]
    for _ in range(2):
        parser = schedules.build_parser()
        shared.status(
            parser, schedules.main, [*words, "--seeds", "0", "--n-iter", "16"]
        )
    assert len(path.read_text().splitlines()) == 1 + 3
    made = capsys.readouterr().out
    assert "| branin | 2 |" in made
    assert made.splitlines()[-1].startswith("| 2 |")


def test_the_page_shows_the_table_of_used_time():
    page = (DOCS / "parallel.md").read_text().splitlines()
    made = schedules.report(pd.read_csv(DOCS / "benchmarks" / "schedules.csv"))
    table = made.split("\n\n")[-1].splitlines()
    assert len(table) == 4
    assert [line for line in table if line not in page] == []
