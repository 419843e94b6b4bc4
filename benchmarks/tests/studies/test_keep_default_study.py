"""The study of keeping the untuned estimator: a tiny real run, and a table made up."""

import numpy as np
import pandas as pd
import pytest

import keep_default
import shared
from keep_default import COLUMNS, KINDS, Key
from skrobustbo_benchmarks._record import Table


def command(path, *more):
    words = ["--out", str(path), "--seeds", "1", *more]
    return shared.status(keep_default.build_parser(), keep_default.main, words)


def test_the_command_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(keep_default, "N_ITER", 4)
    monkeypatch.setattr(keep_default, "N_UNUSED", 500)
    path, kinds = tmp_path / "k.csv", ("--kinds", "ridge-r2", "tree-unrelated")
    assert command(path, *kinds) == 0
    lines, _ = Table(path, COLUMNS, key=Key._fields).read()
    assert lines["kind"].tolist() == list(kinds[1:])
    assert (lines["error"] >= 0).all()
    assert set(lines["kept"]) <= {0, 1}
    first = capsys.readouterr().out
    assert "| ridge-r2 | 1 |" in first
    assert command(path, *kinds) == 0
    assert capsys.readouterr().out == first
    with pytest.raises(SystemExit):
        command(path, "--kinds", "forest")


@pytest.mark.parametrize("role", KINDS)
def test_unrelated_targets_are_a_part_of_each_role(role):
    unrelated = [kind for kind in KINDS[role] if kind.endswith("unrelated")]
    assert len(unrelated) >= 2
    for kind in unrelated:
        X, y = KINDS[role][kind][3](4000, 0)
        related = [abs(np.corrcoef(column, y)[0, 1]) for column in X.T]
        assert max(related) < 0.06
    assert not set(KINDS["choosing"]) & set(KINDS["reporting"])


def test_gains_and_shares():
    lines = pd.DataFrame(
        {
            "role": "choosing",
            "kind": ["a", "a", "b", "b"],
            "seed": [0, 1, 0, 1],
            "tuned": [0.9, 0.72, 0.5, 0.56],
            "untuned": [0.8, 0.8, 0.5, 0.5],
            "error": 0.01,
            "unit": [0.1, 0.1, 0.02, 0.02],
            "kept": [0, 1, 1, 0],
            "seconds": 1.0,
        }
    )
    *rows, _, kept = keep_default.report(lines).splitlines()[2:]
    a, b, both = ([c.strip() for c in row.strip("|").split("|")] for row in rows)
    assert a[:2] == ["a", "2"]
    assert a[2].startswith("+0.10 ")
    assert a[3].startswith("+0.50 ")
    assert a[4:] == ["50.0", "50.0", "0.0"]
    assert b[2].startswith("+1.50 ")
    assert b[3].startswith("+1.50 ")
    assert both[4:] == ["50.0", "25.0", "0.0"]
    assert kept == "The rule keeps 125% of the mean gain over the kinds of data."
