"""The cost of a search beside its fits: turns, figures, file."""

import csv

import pytest

import overhead
import shared
from overhead import Idle, Run, build_parser, main, markdown, measure
from searches import PEERS, Peer

NAMES = ["RobustBayesSearchCV", "RandomizedSearchCV"]


def test_searches_take_turns():
    runs = measure([PEERS[name] for name in NAMES], n_iter=6, repeats=2)
    turns = [(run.search, run.seed) for run in runs]
    assert turns == [(name, seed) for seed in (0, 1) for name in NAMES]
    assert {run.n_candidates for run in runs} == {6}
    ours, random = runs[:2]
    assert ours.cpu_ms > random.cpu_ms > 0


def test_only_the_search_is_timed(monkeypatch):
    seconds = iter([10.0, 10.5, 20.0, 21.0])
    monkeypatch.setattr(overhead.time, "process_time", lambda: next(seconds))
    (run,) = measure([PEERS["RandomizedSearchCV"]], n_iter=5, repeats=1)
    assert run.cpu_ms == pytest.approx(200.0)  # the warm-up is the half second


def test_medians_and_ratio():
    times = {"A": (1.0, 9.0, 2.0), "B": (30.0, 10.0, 20.0)}
    runs = [Run(n, "1.0", i, 7, t) for n, ts in times.items() for i, t in enumerate(ts)]
    a, b = markdown(runs).splitlines()[2:]
    assert a == "| A | 1.0 | 7 | 3 | 2 | 1 | 9 | 1 |"
    assert b == "| B | 1.0 | 7 | 3 | 20 | 10 | 30 | 10 |"


def test_score_depends_on_every_parameter():
    best = Idle(a=0.2, b=10**-1.2, c=0.0, d="q").score(None)
    assert best == pytest.approx(1.0)
    for change in ({"a": 0.5}, {"b": 1.0}, {"c": 1.0}, {"d": "p"}):
        params = {"a": 0.2, "b": 10**-1.2, "c": 0.0, "d": "q"} | change
        assert Idle(**params).fit(None).score(None) < best


def test_command(tmp_path, capsys):
    out = tmp_path / "o.csv"
    words = f"--estimators {NAMES[0]} --n-iter 4 --repeats 2 --out {out}"
    assert shared.status(build_parser(), main, words.split()) == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["search"], row["seed"]) for row in rows] == [
        (NAMES[0], "0"),
        (NAMES[0], "1"),
    ]
    assert f"| {NAMES[0]} |" in capsys.readouterr().out


def test_command_needs_something_to_measure(monkeypatch, capsys):
    monkeypatch.setattr(Peer, "is_installed", False)
    with pytest.raises(SystemExit, match="2"):
        shared.status(build_parser(), main, [])
    assert "is installed here" in capsys.readouterr().err
