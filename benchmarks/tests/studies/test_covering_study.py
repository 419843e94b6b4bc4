"""How well the default's points cover a space."""

import math

import pytest

import covering
import shared


def test_the_theorem_holds_for_what_is_measured():
    n_fill, radius, n_chosen = covering.covered(2, 50, covering.waves, 0)
    assert math.ceil((n_chosen + 1) / 12) - 1 <= n_fill < n_chosen
    assert 0 < radius <= 1.5 * n_fill**-0.5


def test_a_line_has_the_bounds_of_the_points_that_fill():
    line = covering.row(2, 50, "slope", [(16, 0.2, 35), (9, 0.3, 35), (25, 0.1, 35)])
    assert line[:3] == ("2", "50", "slope")
    assert line[3:] == ("16 (9 to 25)", "0.20 (0.10 to 0.30)", "0.38", "1.06")


def test_a_line_for_each_size_and_objective(capsys, monkeypatch):
    monkeypatch.setattr(covering, "SIZES", ((1, 40),))
    shared.status(covering.build_parser(), covering.main, ["--seeds", "1"])
    _, _, *lines = capsys.readouterr().out.strip().splitlines()
    assert [line.split(" | ")[2] for line in lines] == ["slope", "waves"]


def test_seeds_are_positive(capsys):
    with pytest.raises(SystemExit):
        covering.build_parser().parse_args(["--seeds", "0"])
    assert "--seeds" in capsys.readouterr().err
