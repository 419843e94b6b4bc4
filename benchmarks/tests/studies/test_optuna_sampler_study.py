"""The Optuna sampler beside others: order, figures, file."""

import csv

import pytest

import optuna_sampler
import shared
from optuna_sampler import Run, build_parser, main, markdown, measure

pytest.importorskip("optuna")

NAMES = ["RobustSampler", "RandomSampler"]


def test_samplers_take_turns():
    runs = list(measure(["branin"], NAMES, seeds=2, n_trials=5))
    turns = [(run.sampler, run.seed) for run in runs]
    assert turns == [(name, seed) for seed in (0, 1) for name in NAMES]
    assert all(run.regret > 0 for run in runs)
    assert runs[0].cpu_ms > runs[1].cpu_ms > 0
    assert runs[0].regret != runs[2].regret


def test_medians_and_the_worst():
    regrets = {"A": (1.0, 9.0, 2.0), "B": (30.0, 10.0, 20.0)}
    runs = [
        Run("p", name, i, 7, regret, 10 * regret)
        for name, each in regrets.items()
        for i, regret in enumerate(each)
    ]
    a, b = markdown(runs).splitlines()[2:]
    assert a == "| p | A | 2 | 9 | 20 |"
    assert b == "| p | B | 20 | 30 | 200 |"


def test_command(tmp_path, capsys):
    out = tmp_path / "o.csv"
    words = f"--problems levy4 --samplers {' '.join(NAMES)} --seeds 1 --n-trials 4"
    parser = build_parser()
    assert shared.status(parser, main, [*words.split(), "--out", str(out)]) == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["sampler"] for row in rows] == NAMES
    assert "| levy4 | RobustSampler |" in capsys.readouterr().out


def test_samplers_and_problems_that_do_not_go(monkeypatch, capsys):
    found = {"torch": None, "optuna": object()}
    monkeypatch.setattr(optuna_sampler.importlib.util, "find_spec", found.get)
    assert not optuna_sampler.is_installed("GPSampler")
    assert optuna_sampler.is_installed("TPESampler")
    words = ["--problems", "choices", "--samplers", "RandomSampler"]
    with pytest.raises(SystemExit, match="2"):
        shared.status(build_parser(), main, words)
    assert "Expected a problem of ranges" in capsys.readouterr().err
    found["optuna"] = None
    with pytest.raises(SystemExit, match="2"):
        shared.status(build_parser(), main, [])
    assert "Optuna is not installed" in capsys.readouterr().err
