"""``joint``: one search over several models."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from skrobustbo.benchmarks import _joint, _threads
from skrobustbo.benchmarks._cli import main
from skrobustbo.benchmarks._joint import DATA, DECEPTIVE, Key, Pair, compare

KINDS = [SVC, RandomForestClassifier, KNeighborsClassifier]


@pytest.fixture
def searches(monkeypatch):
    """Replace the searches; what they were asked for, in this list."""
    asked = []
    scores = {SVC: 0.7, RandomForestClassifier: 0.9, KNeighborsClassifier: 0.8}

    def search(spaces, n_iter, seed, first=None):
        kinds = [type(space["model"][0]) for space in spaces]

        def fit(X, y):
            asked.append((kinds, n_iter, seed, first, X, y))
            return result

        order = [SVC, SVC, RandomForestClassifier, RandomForestClassifier, SVC]
        result = SimpleNamespace(
            fit=fit,
            best_score_=scores[kinds[0]] if len(kinds) == 1 else 0.95,
            cv_results_={"params": [{"model": kind()} for kind in order]},
        )
        return result

    monkeypatch.setattr(_joint, "_search", search)
    return asked


@pytest.fixture
def made(monkeypatch):
    """Make up the comparisons; the keys asked for, in this list."""
    keys = []
    for name in _threads.VARIABLES:
        monkeypatch.setenv(name, "1")

    def compare(key):
        keys.append(key)
        gain = 0.01 * key.seed
        scores = {"joint": 0.8 + gain, "svc": 0.8, "forest": 0.7, "neighbours": 0.6}
        return Pair(**key._asdict(), **scores, last=0.5 + gain)

    monkeypatch.setattr(_joint, "compare", compare)
    return keys


def command(path, *more, seeds="0,1"):
    return ["joint", "--out", str(path), "--n-iter", "4", "--seeds", seeds, *more]


def test_a_search_of_all_and_one_of_each(searches):
    pair = compare(Key("digits", "deceptive", 5, 80, 3))
    assert [kinds for kinds, *_ in searches] == [*([kind] for kind in KINDS), KINDS]
    assert [first for *_, first, X, y in searches] == [
        *([params] for params in DECEPTIVE),
        DECEPTIVE,
    ]
    assert all(call[1:3] == (5, 3) for call in searches)
    assert all(len(X) == len(y) == 80 for *_, X, y in searches)
    # The forest is best by itself, and has two of the last three of five.
    assert pair == Pair(
        "digits", "deceptive", 5, 3, 0.95, 0.7, 0.9, 0.8, last=2 / 3, n_samples=80
    )
    assert pair.points == pytest.approx(5.0)


def test_first_candidates_are_given_on_demand(searches):
    compare(Key("digits", "default", 5, 80, 3))
    assert all(first is None for *_, first, X, y in searches)


def test_searches_begin_with_what_is_given_and_fit_it():
    X, y = (part[: _joint.LEAST_SAMPLES] for part in DATA["digits"](return_X_y=True))
    search = _joint._search(_joint._branches(0), 4, 0, DECEPTIVE).fit(X, y)
    tried = search.cv_results_["params"]
    for params, kind, given in zip(tried[:3], KINDS, DECEPTIVE, strict=True):
        assert type(params["model"]) is kind
        assert {name: params[name] for name in given} == given
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("data", list(DATA))
def test_so_many_samples_are_enough(data):
    y = DATA[data](return_X_y=True)[1]
    counts = np.unique(y[: _joint.LEAST_SAMPLES], return_counts=True)[1]
    assert len(counts) == len(np.unique(y))
    assert counts.min() >= _joint.N_FOLDS


def test_too_few_samples_are_refused_first(tmp_path, made, capsys):
    with pytest.raises(SystemExit):
        main(command(tmp_path / "j.csv", "--n-samples", "59"))
    assert "--n-samples must be at least 60" in capsys.readouterr().err
    assert not made
    assert list(tmp_path.iterdir()) == []


def test_the_command_reports_and_goes_on(tmp_path, made, capsys):
    path = tmp_path / "j.csv"
    assert main(command(path, seeds="1")) == 0
    first = path.read_text()
    assert main(command(path, seeds="0-2")) == 0
    assert [key.seed for key in made] == [1, 0, 2]
    assert path.read_text().startswith(first)
    assert main(command(path, "--n-samples", "100", seeds="1")) == 0
    assert made[3:] == [Key("digits", "default", 4, 100, 1)]
    capsys.readouterr()
    assert main(command(path, seeds="2,0")) == 0
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


def test_a_table_without_the_number_of_samples_is_read(tmp_path, made):
    path = tmp_path / "j.csv"
    header = "data,start,n_iter,seed,joint,svc,forest,neighbours,last\n"
    path.write_text(header + "digits,default,4,0,0.9,0.8,0.7,0.6,0.5\n")
    assert main(command(path)) == 0
    assert [key.seed for key in made] == [1]
    assert path.read_text().splitlines()[1].endswith(",0.5,10000")


def test_a_foreign_file_is_left_alone(tmp_path, made, capsys):
    path = tmp_path / "j.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit):
        main(command(path))
    assert "should hold results of the 'joint' command" in capsys.readouterr().err
    assert path.read_text() == "a,b\n1,2\n"
    assert not made


def test_starts_itself_again_with_one_thread(tmp_path, made, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(_joint, "rerun_with_one_thread", lambda argv: len(argv))
    words = command(tmp_path / "j.csv")
    assert main(words) == len(words)
    assert not made
