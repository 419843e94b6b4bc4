"""``noise_stop``: how often ``tol="noise"`` stops too soon."""

import csv

import pandas as pd
import pytest

import noise_stop
import shared
from noise_stop import COLUMNS, ORDINARY, Key, report, search_of, searched, verdicts
from racing_tunings import TUNINGS


def lines(*rows):
    """Return lines of a file, but for the settings of its searches."""
    columns = ["tuning", "reason", "n_stop", "error", "cost"]
    table = pd.DataFrame(rows, columns=columns)
    settings = {"n_iter": 60, "n_splits": 5, "seed": range(len(rows))}
    return table.assign(**settings, gain=0.0, noise=0.05)


def test_a_stop_is_false_if_it_cost_more_than_an_error():
    judged = verdicts(
        lines(
            ("a", "tol", 20, 0.1, 0.09),
            ("a", "tol", 30, 0.1, 0.11),
            ("b", "n_iter", 60, 0.1, 0.4),  # it did not stop
            ("b", "tol", 20, 0.1, -0.4),
            ("b", "tol", 20, 0.0, 0.0),  # the best of all was known
        )
    )
    assert judged["false"].tolist() == [False, True, False, False, False]
    assert judged["stopped"].tolist() == [True, True, False, True, True]
    assert judged["ratio"].tolist() == pytest.approx([0.9, 1.1, 4, -4, 0])


def test_the_report_counts():
    said = report(
        lines(
            ("a", "tol", 20, 0.1, 0.09),
            ("a", "tol", 30, 0.1, 0.12),
            ("b", "n_iter", 60, 0.1, 0.0),
        )
    ).splitlines()
    assert said[2] == "| a | 2 | 2 | 25 (20 to 30) | 1.05 (0.90 to 1.20) | 1 |"
    assert said[3] == "| b | 1 | 0 | - | - | 0 |"
    assert said[4] == "| all | 3 | 2 | 25 (20 to 30) | 1.05 (0.90 to 1.20) | 1 |"
    assert said[-3:] == [
        "2 of 3 searches stopped before 60 candidates, 1 of them before 30.",
        # 1 - 0.95**2 = 0.0975
        "1 of 2 stops were false: a share above 5% is not shown (p = 0.098).",
        "2 cost more than the noise that they went by.",
    ]


@pytest.mark.parametrize(("n_false", "shown"), [(2, "is not shown"), (3, "is shown")])
def test_a_share_is_too_large_only_if_that_is_shown(n_false, shown):
    rows = [("a", "tol", 20, 0.1, 0.2 * (i < n_false)) for i in range(16)]
    assert f"a share above 5% {shown}" in report(lines(*rows))


def test_there_may_be_no_stop():
    said = report(lines(("a", "n_iter", 60, 0.1, 0.0)))
    assert "There are no stops to judge." in said


def test_a_search_stops_where_it_would_have_stopped(tmp_path):
    key = Key("enet-diabetes", 40, 3, 0)
    line = searched(key, tmp_path)
    assert (tmp_path / "enet-diabetes-40-3-0.ckpt").exists()
    assert line["reason"] == "tol"
    assert line["n_stop"] < 40
    assert line["gain"] <= line["noise"]
    assert searched(key, tmp_path) == line
    real = search_of(key, tol="noise").fit(*TUNINGS["enet-diabetes"][0]())
    assert (real.stop_reason_, real.n_iter_) == ("tol", line["n_stop"])


def test_a_cost_is_that_of_other_splits():
    key = Key("enet-diabetes", 40, 3, 0)
    data = TUNINGS["enet-diabetes"][0]()
    good, bad = ({"fit__alpha": a, "fit__l1_ratio": 0.5} for a in (0.1, 10.0))
    cost, error = noise_stop.cost_of(key, bad, good, *data)
    assert cost > 0.1 > error > 0
    assert noise_stop.cost_of(key, good, bad, *data) == (-cost, error)
    assert noise_stop.cost_of(key, good, dict(good), *data) == (0.0, 0.0)


@pytest.fixture
def made(monkeypatch):
    """Make up the searches; the keys asked for, in this list."""
    keys = []

    def search(key, folder=None):
        keys.append(key)
        return dict(
            zip(list(COLUMNS)[4:], ("tol", 9, 0.05, 0.1, 0.2, 0.1), strict=True)
        )

    monkeypatch.setattr(noise_stop, "searched", search)
    return keys


def command(path, *more):
    words = ["--out", str(path), "--seeds", "0,1", *more]
    return shared.status(noise_stop.build_parser(), noise_stop.main, words)


def test_the_command_reports_and_goes_on(tmp_path, made, capsys):
    path = tmp_path / "n.csv"
    assert command(path, "--tunings", "svm-digits") == 0
    assert made == [Key("svm-digits", 100, 5, seed) for seed in (0, 1)]
    assert command(path) == 0
    assert len(made) == 2 * len(ORDINARY) == 20
    assert "20 of 20 searches stopped" in capsys.readouterr().out
    with path.open() as file:
        assert len(list(csv.reader(file))) == 21


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--tunings", "mnist"], "--tunings must be among"),
        (["--cv", "1"], "--cv must be at least 2"),
    ],
)
def test_wrong_words_are_refused_first(words, says, tmp_path, made, capsys):
    with pytest.raises(SystemExit):
        command(tmp_path / "n.csv", *words)
    assert says in capsys.readouterr().err
    assert not made
