"""Real tunings at small budgets: tiny runs, tables of runs made up, the untuned."""

import importlib.util
import json

import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline

import real_tunings
import shared
import tunings
from real_tunings import Score, Tuning
from skrobustbo import Integer, Real, Space
from skrobustbo_benchmarks._record import Table
from tunings import COLUMNS, Key


def _part(draw):
    X, y = load_diabetes(return_X_y=True)
    return X[draw::4], y[draw::4]


def _ridge_or_neighbours(model, **params):
    return (Ridge if model == "ridge" else KNeighborsRegressor)(**params)


TINY = {
    "net": Tuning(
        _part,
        ElasticNet,
        "r2",
        {"alpha": Real(1e-4, 10.0, log=True), "l1_ratio": Real(0.0, 1.0)},
        {"alpha": 1.0, "l1_ratio": 0.5},
    ),
    "joint": Tuning(
        _part,
        _ridge_or_neighbours,
        "r2",
        [
            {"model": ["ridge"], "alpha": Real(1e-4, 1e4, log=True)},
            {"model": ["neighbours"], "n_neighbors": Integer(1, 30)},
        ],
        {"model": "neighbours", "n_neighbors": 1},
    ),
}


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(tunings, "TUNINGS", TINY)


def command(path, *more):
    words = ["--out", str(path), "--seeds", "1", "--n-iter", "6", "9"]
    references = [] if "--references" in more else ["--references", "random"]
    return shared.status(
        tunings.build_parser(), tunings.main, [*words, *references, *more]
    )


def read(path):
    return Table(path, COLUMNS, key=Key._fields).read()[0]


def run_of(tuning, n_iter, method, values, seed=0, role="reporting", top=None):
    """Return a run of which all folds of an evaluation have one score."""
    folds = [values[0]] * 3, top or [max(values)] * 3
    key = Key(role, tuning, n_iter, method, seed)
    return (*key, json.dumps(values), *map(json.dumps, folds), 1.0, 0.5)


def made_up(*runs):
    return pd.DataFrame(runs, columns=[*COLUMNS])


def keys_of(runs):
    return [Key(*row) for row in runs[list(Key._fields)].itertuples(index=False)]


# Shares -------------------------------------------------------------------------------


def test_a_share_is_clipped():
    assert tunings.gained([1.0, 2.0], best=5.0, n=2) == 0.25
    assert tunings.gained([1.0, 0.0], best=5.0, n=2) == 0
    assert tunings.gained([1.0, 9.0], best=5.0, n=2) == 1
    assert tunings.gained([1.0, 9.0], best=5.0, n=1) == 0


def test_plans_count_for_their_own_number_others_for_any(tiny):
    runs = made_up(
        run_of("net", 2, "robust", [0.0, 1.0]),
        run_of("net", 4, "robust", [0.0, 0.0, 0.0, 3.0]),
        run_of("net", 4, "random", [0.0, 2.0, 4.0, 4.0]),
    )
    gap = tunings.gaps(runs)
    assert tunings.shares_at(runs, gap, 2, 2).loc["net"].to_dict() == {
        "robust": 0.25,
        "random": 0.5,
    }
    assert tunings.shares_at(runs, gap, 4, 4).loc["net"].to_dict() == {
        "robust": 0.75,
        "random": 1.0,
    }


def test_only_seeds_of_all_methods_count(tiny):
    runs = made_up(
        run_of("net", 2, "robust", [0.0, 1.0]),
        run_of("net", 2, "random", [0.0, 2.0]),
        run_of("net", 2, "random", [0.0, 0.0], seed=1),
    )
    shares = tunings.shares_at(runs, tunings.gaps(runs), 2, 2)
    assert shares.loc["net"].to_dict() == {"robust": 0.5, "random": 1.0}


def test_a_gap_below_two_errors_is_left_out(tiny):
    # The differences 1, 2, 3 have a mean of 2 and an error of .58; those of -1, 0, 3.1
    # have a mean of .7 and an error of 1.2.
    runs = made_up(
        run_of("net", 2, "random", [0.0, 2.0], top=[1.0, 2.0, 3.0]),
        run_of("joint", 2, "random", [0.0, 0.7], top=[-1.0, 0.0, 3.1]),
    )
    gap = tunings.gaps(runs)
    assert gap["clear"].to_dict() == {"net": True, "joint": False}
    assert gap.loc["net", "error"] == pytest.approx(3**-0.5)
    text = tunings.report(runs, keys_of(runs), ["random"])
    assert "left out" in text.split("| joint |")[1].splitlines()[0]
    assert "| 2 | random | 1 | 1.000 |" in text
    # Nothing is left where no gap is clear.
    text = tunings.report(runs[1:], keys_of(runs[1:]), ["random"])
    assert text.endswith("No tuning has a clear gap.")


def test_a_noted_value_counts_as_a_run(tiny, monkeypatch):
    runs = made_up(run_of("net", 2, "random", [0.0, 1.0]))
    monkeypatch.setitem(tunings.NOTED, ("net", "choosing"), [9.0] * 3)
    assert tunings.gaps(runs).loc["net", "best"] == 1
    monkeypatch.setitem(tunings.NOTED, ("net", "reporting"), [2.0] * 3)
    assert tunings.gaps(runs).loc["net", "best"] == 2


def test_differences_pooled_over_the_numbers(tiny):
    runs = made_up(
        *(
            run_of(tuning, n, "robust", [0.0] + [value] * (n - 1))
            for tuning in TINY
            for n, value in ((2, 1.0), (3, 2.0))
        ),
        *(run_of(tuning, 3, "random", [0.0, 2.0, 4.0]) for tuning in TINY),
        run_of("net", 3, "unasked", [0.0, 8.0, 8.0]),
    )
    text = tunings.report(runs, keys_of(runs)[:-1], ["random"])
    # The best of all runs counts, whether they are shown or not.
    assert "| 2 | robust | 2 | 0.188 | -0.188 (-0.250 to -0.125) |" in text
    assert "| pooled | robust | 2 | 0.281 | -0.281 (-0.375 to -0.188) |" in text
    assert "unasked" not in text


# Methods ------------------------------------------------------------------------------


def test_initial_points_of_a_run():
    space = Space(TINY["joint"].space)
    assert tunings.initial_points(None, space, 9) is None
    assert tunings.initial_points(5, space, 9) == 5
    assert tunings.initial_points({9: 4}, space, 9) == 4
    assert tunings.initial_points((0, 1, 1), space, 9) == 2
    assert tunings.initial_points((2, 2, 0.34), space, 9) == 3
    with pytest.raises(ValueError, match="no entry for 6"):
        tunings.initial_points({9: 4}, space, 6)
    with pytest.raises(ValueError, match="three numbers"):
        tunings.initial_points((2, 2), space, 6)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("sobol", "sobol"),
        ("random(n=1)", "takes no settings"),
        ("robust(endgame=-1)", "endgame"),
        ("robust(n_initial_points={6: 2})", "no entry for 9"),
        ("robust(n_initial_points=0)", "n_initial_points"),
    ],
)
def test_methods_are_checked_before_any_run(method, message, tmp_path, tiny, capsys):
    path = tmp_path / "runs.csv"
    with pytest.raises(SystemExit):
        command(path, "--methods", method)
    assert message in capsys.readouterr().err
    assert not path.exists()


def test_runs_are_stored_and_continued(tmp_path, tiny, capsys):
    path, target = tmp_path / "runs.csv", tmp_path / "table.md"
    assert command(path) == 0
    assert "| 6 | robust | 2 |" in capsys.readouterr().out
    first = path.read_text()
    settings = "robust(endgame=0.5,n_initial_points={6: 2, 9: 3})"
    assert command(path, "--methods", settings, "--table", str(target)) == 0
    assert path.read_text().startswith(first)
    assert "2 of 6 runs are there" in capsys.readouterr().err
    assert settings in target.read_text()
    runs = read(path)
    assert set(runs["seed"]) == {1000}
    assert set(runs[runs["method"] == "random"]["n_iter"]) == {9}
    for name, of in runs.groupby("tuning"):
        untuned = Score(TINY[name], 1)(TINY[name].untuned)
        for run in of.itertuples():
            values = json.loads(run.values)
            assert len(values) == run.n_iter
            assert values[0] == pytest.approx(sum(untuned) / 3)
            assert json.loads(run.untuned) == untuned
            assert max(values) == pytest.approx(sum(json.loads(run.top)) / 3)


def test_optuna_begins_with_the_untuned_and_tries_all_branches():
    pytest.importorskip("optuna")
    tuning = TINY["joint"]
    space = Space(tuning.space)
    method = tunings.made_method("optuna-tpe", space, tuning.untuned, 9, 0)
    asked = []
    for i in range(9):
        asked.append(method.ask())
        method.tell(asked[-1], float(i))
    assert asked[0] == tuning.untuned
    assert {params["model"] for params in asked} == {"ridge", "neighbours"}
    for params in asked:
        space.encode(params)


def test_random_search_begins_with_the_untuned_and_is_independent():
    tuning = TINY["net"]
    method = tunings.made_method("random", Space(tuning.space), tuning.untuned, 9, 0)
    asked = []
    for _ in range(4):
        asked.append(method.ask())
        method.tell(asked[-1], 0.0)
    assert asked[0] == tuning.untuned
    assert len({params["l1_ratio"] for params in asked}) == 4


def test_roles_share_no_seeds(tmp_path, tiny):
    path = tmp_path / "runs.csv"
    words = ("--methods", "random", "--tunings", "net")
    assert command(path, *words, "--role", "reporting") == 0
    assert command(path, *words, "--role", "choosing") == 0
    runs = read(path).set_index("role")
    assert runs["seed"].to_dict() == {"reporting": 0, "choosing": 1000}
    assert runs.loc["reporting", "untuned"] != runs.loc["choosing", "untuned"]


def test_runs_of_another_version_have_a_name(tmp_path, tiny, capsys):
    path = tmp_path / "runs.csv"
    words = ("--tunings", "net", "--label", "before")
    assert command(path, "--methods", "robust", *words) == 0
    runs = read(path)
    assert sorted(runs["method"]) == ["before", "before", "random"]
    with pytest.raises(SystemExit):
        command(path, "--methods", "robust,map-gp-ucb", *words)
    assert "--label takes a single one" in capsys.readouterr().err


# The tunings --------------------------------------------------------------------------


def test_there_are_enough_tunings():
    parameters = [tuning.n_parameters for tuning in real_tunings.TUNINGS.values()]
    assert len(parameters) >= 13
    assert min(parameters) >= 4
    assert max(parameters) <= 9
    assert sum(n >= tunings.MANY for n in parameters) >= 5


@pytest.mark.parametrize("name", real_tunings.TUNINGS)
def test_the_untuned_is_a_point_of_the_space(name):
    tuning = real_tunings.TUNINGS[name]
    space = Space(tuning.space)
    [decoded] = space.decode_many(space.encode(tuning.untuned)[None])
    assert list(decoded) == list(tuning.untuned)
    for key, value in tuning.untuned.items():
        is_number = isinstance(value, float)
        assert decoded[key] == (pytest.approx(value) if is_number else value)


@pytest.mark.parametrize("name", real_tunings.TUNINGS)
def test_the_parameters_are_those_of_the_estimator(name):
    """Some estimators take any name and ignore those that they do not know."""
    tuning = real_tunings.TUNINGS[name]
    if tuning.needs:
        pytest.importorskip(tuning.needs)
    estimator = tuning.make(**tuning.untuned)
    piped = isinstance(estimator, Pipeline)
    steps = estimator.named_steps.values() if piped else [estimator]
    named = {name for step in steps for name in step.get_params()}
    made = {"model", "scaler", "n_hidden", "n_layers"}
    assert set(tuning.untuned) <= named | made


@pytest.mark.parametrize("draw", [0, 1])
def test_the_help_of_python_has_all_subjects(draw):
    texts, subjects = real_tunings.paragraphs(draw)
    assert len(texts) == len(set(texts)) > 200
    assert pd.Series(subjects).value_counts().between(20, 50).all()


def test_a_missing_package_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        command(tmp_path / "r.csv", "--tunings", "xgboost-friedman")
    assert "needs xgboost, which is not installed" in capsys.readouterr().err
