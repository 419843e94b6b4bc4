"""``joint``: one search over several models."""

import csv

import pytest

from skrobustbo.benchmarks._cli import main


@pytest.mark.parametrize(
    "start", ["deceptive", pytest.param("default", marks=pytest.mark.slow)]
)
def test_the_command_compares_and_appends(start, tmp_path, capsys):
    path = tmp_path / "joint.csv"
    command = ["joint", "--out", str(path), "--data", "breast-cancer", "--start", start]
    small = ["--n-iter", "4", "--n-samples", "60"]
    for seed in ("0", "1"):
        assert main([*command, *small, "--seeds", seed]) == 0
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["seed"], row["start"]) for row in rows] == [("0", start), ("1", start)]
    for row in rows:
        for name in ("joint", "svc", "forest", "neighbours"):
            assert 0.5 < float(row[name]) <= 1
        assert 0 <= float(row["last"]) <= 1
    assert "Median" in capsys.readouterr().out
