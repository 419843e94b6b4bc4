"""The study of suggested spaces: tiny real runs, and tables made up."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import shared
import suggested
from skrobustbo import Space
from skrobustbo_benchmarks._record import Table
from suggested import COLUMNS, PAIRS, Key


def command(path, *more):
    words = ["--out", str(path), "--seeds", "1", *more]
    return shared.status(suggested.build_parser(), suggested.main, words)


@pytest.fixture
def few(monkeypatch):
    """Leave one quick pair of each role, and few candidates."""
    for role, name in (("choosing", "svr"), ("reporting", "neighbours, digits")):
        monkeypatch.setitem(PAIRS, role, {name: PAIRS[role][name]})
    monkeypatch.setattr(suggested, "N_ITERS", (4, 6))
    monkeypatch.setattr(suggested, "N_REPORT", 5)


def test_the_command_goes_on_where_it_was(few, tmp_path, capsys):
    path = tmp_path / "s.csv"
    assert command(path) == command(path, "--role", "reporting") == 0
    lines, _ = Table(path, COLUMNS, key=Key._fields).read()
    chosen = lines[lines["role"] == "choosing"]
    assert chosen["space"].tolist() == ["2", "0", "2", "0"]
    assert chosen["n_params"].tolist() == [2, 3, 2, 3]
    assert set(lines["space"]) == {"0", "2", "suggested", "published"}
    assert (lines["best"] > lines["untuned"] - 0.3).all()
    first = capsys.readouterr().out
    assert "| neighbours, digits | 1 |" in first
    assert command(path, "--role", "reporting") == 0
    assert capsys.readouterr().out in first


@pytest.mark.parametrize("role", PAIRS)
def test_published_spaces_are_legal(role):
    for name, pair in PAIRS[role].items():
        key = Key(role, name, "published", 25, 0)
        space = suggested.space_of(key, pair, None, None)
        for params in Space(space).sample(5, random_state=0):
            clone(pair.estimator).set_params(**params)


def test_shares_of_the_gap():
    lines = pd.DataFrame(
        {
            "role": "reporting",
            "pair": ["a", "a", "a", "a", "b", "b"],
            "space": ["suggested", "published"] * 3,
            "seed": [0, 0, 1, 1, 0, 0],
            "untuned": [0.5] * 4 + [0.2] * 2,
            "best": [0.9, 0.7, 0.8, 0.4, 0.3, 0.4],
        }
    )
    lines = suggested.with_shares(lines)
    assert np.allclose(lines["share"], [1, 0.5, 0.75, 0, 0.5, 1])
    *_, one, two, whole = suggested.report(lines).splitlines()
    assert one.startswith("| a | 2 | 0.875 | 0.250 | +0.625")
    assert two.startswith("| b | 1 | 0.500 | 1.000 | -0.500")
    assert whole.startswith("| mean of all | 2 | 0.688 | 0.625 | +0.062")


def test_an_estimator_with_fewer_parameters_has_all_of_them_searched(monkeypatch):
    monkeypatch.setattr(suggested, "N_ITERS", (15,))
    lines = pd.DataFrame(
        {
            "pair": ["a", "a", "b"],
            "space": ["2", "0", "0"],
            "n_iter": 15,
            "seed": 0,
            "share": [0.2, 0.8, 0.6],
        }
    )
    lines = pd.concat([lines, lines.assign(seed=1)])
    row = suggested.by_number(lines).splitlines()[-1]
    assert [cell.split()[0] for cell in row.split("|")[2:7]] == [
        "0.400",
        "0.700",
        "0.700",
        "0.700",
        "0.700",
    ]
