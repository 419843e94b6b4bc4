"""``noise_stop``: how often ``tol="noise"`` stops too soon."""

import csv

import pandas as pd
import pytest

import noise_stop
import shared
from noise_stop import COLUMNS, ORDINARY, Key, report, searched, verdicts


def lines(*rows):
    """Return lines of a file, but for the settings of its searches."""
    columns = ["tuning", "reason", "n_stop", "best_stop", "error", "best_full"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(n_iter=50, n_splits=5, seed=range(len(rows)))


def test_a_stop_is_false_if_more_than_an_error_was_left():
    judged = verdicts(
        lines(
            ("a", "tol", 20, 0.5, 0.1, 0.59),
            ("a", "tol", 30, 0.5, 0.1, 0.61),
            ("b", "n_iter", 50, 0.5, 0.1, 0.9),  # it did not stop
            ("b", "tol", 20, 0.5, 0.0, 0.5),
            ("b", "tol", 20, 0.5, 0.0, 0.51),  # any improvement is more than no error
        )
    )
    assert judged["false"].tolist() == [False, True, False, False, True]
    assert judged["stopped"].tolist() == [True, True, False, True, True]
    assert judged["errors"][:2].tolist() == pytest.approx([0.9, 1.1])


def test_the_report_counts():
    said = report(
        lines(
            ("a", "tol", 20, 0.5, 0.1, 0.59),
            ("a", "tol", 30, 0.5, 0.1, 0.62),
            ("b", "n_iter", 50, 0.5, 0.1, 0.5),
        )
    ).splitlines()
    assert said[2] == "| a | 2 | 2 | 25 (20 to 30) | 1.20 | 1 |"
    assert said[3] == "| b | 1 | 0 | - | - | 0 |"
    assert said[4] == "| all | 3 | 2 | 25 (20 to 30) | 1.20 | 1 |"
    assert said[-1] == (
        "2 of 3 searches stopped before 50 candidates; 1 of these stops were false."
    )


def test_a_search_goes_on_after_its_stop():
    line = searched(Key("enet-diabetes", 40, 3, 0))
    assert line["reason"] == "tol"
    assert line["n_stop"] < 40
    assert line["best_full"] >= line["best_stop"]
    assert line["error"] > 0


@pytest.fixture
def made(monkeypatch):
    """Make up the searches; the keys asked for, in this list."""
    keys = []

    def search(key):
        keys.append(key)
        return dict(zip(list(COLUMNS)[4:], ("tol", 9, 0.5, 0.1, 0.6), strict=True))

    monkeypatch.setattr(noise_stop, "searched", search)
    return keys


def command(path, *more):
    words = ["--out", str(path), "--seeds", "0,1", *more]
    return shared.status(noise_stop.build_parser(), noise_stop.main, words)


def test_the_command_reports_and_goes_on(tmp_path, made, capsys):
    path = tmp_path / "n.csv"
    assert command(path, "--tunings", "svm-digits") == 0
    assert made == [Key("svm-digits", 50, 5, seed) for seed in (0, 1)]
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
