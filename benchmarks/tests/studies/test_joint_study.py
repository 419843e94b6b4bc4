"""``joint``: one search over several models."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import joint
import shared
from joint import DATA, DECEPTIVE, Key, compare

KINDS = [SVC, RandomForestClassifier, KNeighborsClassifier]


@pytest.fixture
def searches(monkeypatch):
    """Replace the searches; what they were asked for, in this list."""
    asked = []
    scores = {SVC: 0.7, RandomForestClassifier: 0.9, KNeighborsClassifier: 0.8}

    def search(spaces, key, first=None):
        kinds = [type(space["model"][0]) for space in spaces]

        def fit(X, y):
            asked.append((kinds, key, first, X, y))
            return result

        order = [SVC, SVC, RandomForestClassifier, RandomForestClassifier, SVC]
        result = SimpleNamespace(
            fit=fit,
            best_score_=scores[kinds[0]] if len(kinds) == 1 else 0.95,
            cv_results_={"params": [{"model": kind()} for kind in order]},
        )
        return result

    monkeypatch.setattr(joint, "make_search", search)
    return asked


@pytest.fixture
def made(monkeypatch):
    """Make up the comparisons; the keys asked for, in this list."""
    keys = []

    def compare(key):
        keys.append(key)
        gain = 0.01 * key.seed
        scores = {"joint": 0.8 + gain, "svc": 0.8, "forest": 0.7, "neighbours": 0.6}
        return scores | {"last": 0.5 + gain}

    monkeypatch.setattr(joint, "compare", compare)
    return keys


def command(path, *more, seeds="0,1"):
    words = ["--out", str(path), "--n-iter", "4", "--seeds", seeds, *more]
    return shared.status(joint.build_parser(), joint.main, words)


def test_a_search_of_all_and_one_of_each(searches):
    key = Key("digits", "deceptive", 5, 80, 3)
    line = compare(key)
    assert [kinds for kinds, *_ in searches] == [*([kind] for kind in KINDS), KINDS]
    assert [first for *_, first, X, y in searches] == [
        *([params] for params in DECEPTIVE),
        DECEPTIVE,
    ]
    assert all(call[1] == key for call in searches)
    assert all(len(X) == len(y) == 80 for *_, X, y in searches)
    # The forest is best by itself, and has two of the last three of five.
    scores = {"joint": 0.95, "svc": 0.7, "forest": 0.9, "neighbours": 0.8}
    assert line == {**scores, "last": 2 / 3}


def test_first_candidates_are_given_on_demand(searches):
    compare(Key("digits", "default", 5, 80, 3))
    assert all(first is None for *_, first, X, y in searches)


def test_searches_begin_with_what_is_given_and_fit_it():
    key = Key("digits", "deceptive", 4, joint.LEAST_SAMPLES, 0)
    X, y = (part[: joint.LEAST_SAMPLES] for part in DATA["digits"](return_X_y=True))
    search = joint.make_search(joint.branches(0), key, DECEPTIVE).fit(X, y)
    tried = search.cv_results_["params"]
    for params, kind, given in zip(tried[:3], KINDS, DECEPTIVE, strict=True):
        assert type(params["model"]) is kind
        assert {name: params[name] for name in given} == given
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("data", list(DATA))
def test_so_many_samples_are_enough(data):
    y = DATA[data](return_X_y=True)[1]
    counts = np.unique(y[: joint.LEAST_SAMPLES], return_counts=True)[1]
    assert len(counts) == len(np.unique(y))
    assert counts.min() >= joint.N_FOLDS


def test_too_few_samples_are_refused_first(tmp_path, made, capsys):
    with pytest.raises(SystemExit):
        command(tmp_path / "j.csv", "--n-samples", "59")
    assert "--n-samples must be at least 60" in capsys.readouterr().err
    assert not made
    assert list(tmp_path.iterdir()) == []


def test_the_command_reports_and_goes_on(tmp_path, made, capsys):
    path = tmp_path / "j.csv"
    assert command(path, seeds="1") == 0
    first = path.read_text()
    assert command(path, seeds="0-2") == 0
    assert [key.seed for key in made] == [1, 0, 2]
    assert path.read_text().startswith(first)
    assert command(path, "--n-samples", "100", seeds="1") == 0
    assert made[3:] == [Key("digits", "default", 4, 100, 1)]
    capsys.readouterr()
    assert command(path, seeds="2,0") == 0
    assert len(made) == 4
    out = capsys.readouterr().out
    assert [line.split(" | ")[0] for line in out.splitlines()[2:4]] == ["| 2", "| 0"]
    assert "Median +1.00 points (least +0.00)" in out
    assert "last half at least 0.50" in out
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["seed"], row["n_samples"]) for row in rows] == [
        ("1", "10000"),
        ("0", "10000"),
        ("2", "10000"),
        ("1", "100"),
    ]
    assert path.with_suffix(".versions.json").exists()


def test_a_foreign_file_is_left_alone(tmp_path, made, capsys):
    path = tmp_path / "j.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit):
        command(path)
    assert "is not the header of such a table" in capsys.readouterr().err
    assert path.read_text() == "a,b\n1,2\n"
    assert not made
