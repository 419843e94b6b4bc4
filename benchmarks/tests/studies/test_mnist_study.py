"""The paired comparison on MNIST, on the small digits and on runs made up."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import mnist
import shared
from mnist import COLUMNS, Key
from skrobustbo_benchmarks._record import Table

SETTINGS = ("digits", 150, 3, 2, 2)


def read(path):
    return Table(path, COLUMNS, key=Key._fields).read()[0]


def command(path, *more):
    options = "--seeds 0-2 --n-iter 3 --n-train 150 --n-epochs 2 --cv 2 --data digits"
    words = ["--out", str(path), *options.split(), *more]
    return shared.status(mnist.build_parser(), mnist.main, words)


def made_up(key):
    """Return a run whose scores follow from its key."""
    gain = {"robust": 0.05 + 0.01 * key.seed, "random": 0.0}[key.method]
    return {
        "cv_score": 0.8 + 0.03 * key.seed + gain,
        "test_score": 0.7 + 0.02 * key.seed**2 + gain / 2,
        "tuner_seconds": 0.03 if key.method == "robust" else math.nan,
        "search_seconds": 2.0,
        "best_params": json.dumps({"clf__l2": 0.1, "clf__batch_size": 20}),
    }


@pytest.fixture
def made(monkeypatch):
    """Make up the runs instead of running; the keys asked for, in this list."""
    keys = []

    def run_one(key):
        keys.append(key)
        return made_up(key)

    monkeypatch.setattr(mnist, "run_one", run_one)
    return keys


# -- real runs --------------------------------------------------------------------


def test_a_real_pair_of_runs(tmp_path, capsys):
    path = tmp_path / "r.csv"
    assert command(path, "--seeds", "4", "--jobs", "2") == 0
    runs = read(path)
    keys = mnist.keys_of(runs)
    assert set(keys) == {Key(*SETTINGS, 4, method) for method in mnist.METHODS}
    for run in runs.itertuples():
        assert 0 <= run.cv_score <= 1
        assert 0 <= run.test_score <= 1
        assert run.search_seconds > 0
        assert len(json.loads(run.best_params)) == 4
    tuner = dict(zip(runs["method"], runs["tuner_seconds"], strict=True))
    assert tuner["robust"] > 0
    assert math.isnan(tuner["random"])
    assert "1 pairs" in capsys.readouterr().out


def test_a_run_depends_on_its_key_only():
    key = Key(*SETTINGS, 1, "random")
    first, second = mnist.run_one(key), mnist.run_one(key)
    for name in ("best_params", "cv_score", "test_score"):
        assert first[name] == second[name]


# -- pairs ------------------------------------------------------------------------


def test_pairs_share_images_folds_and_budget():
    keys = (Key(*SETTINGS, 3, method) for method in mnist.METHODS)
    robust, random = map(mnist.make_search, keys)
    assert robust.n_iter == random.n_iter == 3
    assert repr(robust.cv) == repr(random.cv)
    assert robust.random_state == random.random_state == 3
    ours, theirs = robust.estimator.get_params(), random.estimator.get_params()
    assert ours["clf__random_state"] == theirs["clf__random_state"] == 3
    assert ours["clf__n_epochs"] == theirs["clf__n_epochs"] == 2


def test_split_is_drawn_by_the_seed_and_disjoint():
    (X, _), (X_test, y_test) = mnist.load_split("digits", 150, 0)
    assert X.shape == (150, 64)
    assert X.dtype == X_test.dtype == np.float32
    assert len(X_test) == len(y_test) == 297
    (again, _), _ = mnist.load_split("digits", 150, 0)
    np.testing.assert_array_equal(X, again)
    (other, _), _ = mnist.load_split("digits", 150, 1)
    assert (other != X).any()
    (longer, _), _ = mnist.load_split("digits", 1_500, 0)
    np.testing.assert_array_equal(longer[:150], X)
    assert len({*map(bytes, longer)} | {*map(bytes, X_test)}) == 1797


def test_mnist_is_split_into_its_own_two_sets(monkeypatch):
    def fetch_mnist(subset="train", *, return_X_y):
        n = {"train": 50, "test": 20}[subset]
        return np.full((n, 4), n, dtype=np.uint8), np.arange(n)

    monkeypatch.setattr(mnist, "fetch_mnist", fetch_mnist)
    (X, y), (X_test, y_test) = mnist.load_split("mnist", 30, 0)
    assert set(X.ravel()) == {50}
    assert set(X_test.ravel()) == {20}
    assert len(set(y)) == 30
    assert y_test.tolist() == list(range(20))


# -- resuming ---------------------------------------------------------------------


def test_the_same_command_runs_nothing_twice(tmp_path, made, capsys):
    path = tmp_path / "r.csv"
    assert command(path) == 0
    first = path.read_text()
    assert len(made) == 6
    assert command(path) == 0
    assert len(made) == 6
    assert path.read_text() == first
    assert "6 of 6 runs are there" in capsys.readouterr().err


def test_other_settings_are_other_runs(tmp_path, made, capsys):
    path = tmp_path / "r.csv"
    command(path)
    command(path, "--n-iter", "4")
    assert len(made) == 12
    out = capsys.readouterr().out
    assert "150 images, 3 candidates, 2 folds, 2 epochs; 3 pairs" in out
    assert "150 images, 4 candidates, 2 folds, 2 epochs; 3 pairs" in out


def test_lines_survive_the_file_exactly(tmp_path, made):
    path = tmp_path / "r.csv"
    command(path)
    for line in read(path).to_dict("records"):
        key = Key(*(line[name] for name in Key._fields))
        expected = key._asdict() | made_up(key)
        np.testing.assert_equal(line, expected)


# -- the report -------------------------------------------------------------------


def runs_of(seeds):
    keys = [Key(*SETTINGS, seed, method) for seed in seeds for method in mnist.METHODS]
    return pd.DataFrame([key._asdict() | made_up(key) for key in keys])


def test_report_compares_in_pairs():
    text = mnist.report(runs_of(range(3)))
    assert "3 pairs" in text
    gains = np.array([0.05, 0.06, 0.07])
    p = stats.ttest_1samp(gains, 0, alternative="greater").pvalue
    assert "| 0.8900 | 0.8300 | +0.0600 ± 0.0058 |" in text
    assert f"| {p:.2g} |" in text
    assert "+0.0300 ± 0.0029" in text
    assert "CPU: tuner 10.0 ms per candidate" in text


def test_report_of_one_pair():
    assert "+0.0500 ± - | - | - |" in mnist.report(runs_of([0]))


def test_paired_test_is_one_sided():
    ours, theirs = np.array([0.9, 0.8, 0.95]), np.array([0.85, 0.7, 0.9])
    difference, error, t, p = mnist.paired_test(ours, theirs)
    assert difference == pytest.approx(0.2 / 3)
    assert t == pytest.approx(difference / error)
    assert p == pytest.approx(stats.t.sf(t, 2))
    assert mnist.paired_test(theirs, ours)[3] == pytest.approx(1 - p)


def test_equal_differences_have_no_statistic():
    ours = np.array([0.5, 0.25, 0.75])
    difference, error, t, p = mnist.paired_test(ours, ours - 0.125)
    assert difference == 0.125
    assert error == 0
    assert math.isnan(t)
    assert math.isnan(p)


# -- errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--n-train", "1501"], "at most 1500"),
        (["--cv", "1"], "at least 2"),
    ],
)
def test_settings_that_cannot_be_met(tmp_path, capsys, more, reason):
    with pytest.raises(SystemExit) as caught:
        command(tmp_path / "r.csv", *more)
    assert caught.value.code == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "{header}\n1,2\n"])
def test_another_file_is_not_overwritten(tmp_path, capsys, made, content):
    path = tmp_path / "r.csv"
    path.write_text(content.format(header=",".join(COLUMNS)))
    before = path.read_text()
    with pytest.raises(SystemExit):
        command(path)
    assert "give another --out" in capsys.readouterr().err
    assert path.read_text() == before
    assert made == []


def test_folder_must_exist(tmp_path, capsys, made):
    with pytest.raises(SystemExit):
        command(tmp_path / "missing" / "r.csv")
    assert "does not exist" in capsys.readouterr().err


def test_missing_mnist_ends_the_command(tmp_path, capsys, monkeypatch):
    def fetch_mnist(*subset, return_X_y):
        raise FileNotFoundError("no connection")

    monkeypatch.setattr(mnist, "fetch_mnist", fetch_mnist)
    with pytest.raises(SystemExit):
        command(tmp_path / "r.csv", "--data", "mnist")
    assert "no connection" in capsys.readouterr().err
