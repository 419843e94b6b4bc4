"""The study of the resource axis: what a run pays, tiny runs, and the page's tables."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

import resources
import shared
from resource_tunings import TUNINGS, LiveTuning

DOCS = Path(__file__).parents[3] / "docs"
CSV = DOCS / "benchmarks" / "resources.csv"


def command(*words):
    return shared.status(resources.parser(), lambda args: args.do(args), list(words))


@pytest.mark.parametrize("method", ["full", "resource", "random", "halving", "lowest"])
def test_every_method_uses_the_budget(method, monkeypatch):
    monkeypatch.setattr(resources, "BUDGET", 6)
    costs = resources.Costs(resources.problem_of("agreeing-0"))
    resources.METHODS[method](costs, 0)
    assert 5 <= costs.paid < 7
    paid, best = np.array(costs.curve).T
    assert (np.diff(paid) > 0).all()
    assert (np.diff(best) > 0).all()
    assert costs.best_at(6) == best[-1]


def test_a_resumed_evaluation_pays_for_what_is_new():
    costs = resources.Costs(resources.problem_of("agreeing-0"))
    point = {"x1": 0.5, "x2": 0.5, "x3": 0.5}
    for before, amount in zip([0, 9, 27], costs.amounts, strict=True):
        costs(point, amount, before)
    assert costs.paid == pytest.approx(1)
    assert costs.best == costs.resource.value(point, 81)


@pytest.mark.parametrize("name", sorted(set(TUNINGS) - {"mnist-rows"}))
def test_a_live_tuning_is_a_problem_with_a_resource(name):
    problem = resources.problem_of(f"live-{name}")
    assert problem is resources.problem_of(f"live-{name}")
    (params,) = problem.space.sample(1, random_state=0)
    low = problem.resource.value(params, problem.resource.low)
    assert np.isfinite(low)
    assert low == problem.resource.value(params, problem.resource.low)


def test_live_values_are_those_of_cross_validation():
    tuning, problem = TUNINGS["svm-rows"], resources.problem_of("live-svm-rows")
    params = {"C": 1.0, "gamma": 1e-4}
    X, y = tuning.load()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = clone(tuning.estimator).set_params(**params)
    full = cross_val_score(model, X, y, cv=folds).mean()
    assert problem.resource.value(params, problem.resource.high) == full
    assert problem.resource.value(params, problem.resource.low) < full


def test_equal_live_evaluations_are_made_once(monkeypatch):
    problem = LiveTuning(TUNINGS["boosting-trees"])
    made, fit = [], problem._fitted_score
    monkeypatch.setattr(
        problem, "_fitted_score", lambda *given: made.append(given) or fit(*given)
    )
    (params,) = problem.space.sample(1, random_state=1)
    for amount in (9, 9, 27, 9):
        problem.resource.value(params, amount)
    assert [amount for _, amount in made] == [9, 27]


def test_names_are_by_kind():
    every = resources.parser().parse_args(["run", "--out", "r.csv", "--only", "live"])
    assert resources.every_problem(every) == [f"live-{name}" for name in TUNINGS]
    every.only = "curves"
    assert len(resources.every_problem(every)) == 12


def test_rows_are_made_once(tmp_path, capsys):
    path = str(tmp_path / "r.csv")
    words = ["run", "--out", path, "--seeds", "0", "--problems", "reversed-0"]
    for methods in ("random,lowest", "random,lowest,halving"):
        command(*words, "--methods", methods)
    assert pd.read_csv(path).method.tolist() == ["random", "lowest", "halving"]
    capsys.readouterr()
    command("show", path)
    assert "| random |" in capsys.readouterr().out


def test_the_page_has_rows_of_the_table_of_the_file(capsys):
    command("show", str(CSV))
    shown, page = capsys.readouterr().out, (DOCS / "resource.md").read_text()
    made = shown[: shown.index("\nagreeing\n")].splitlines()
    rows = re.findall(r"^\| [a-z]+ \|(?: [\d.]+ \|){7}$", page, flags=re.MULTILINE)
    assert len(rows) == 6
    assert set(rows) <= set(made)
    prices = re.findall(r"^\| [a-z]+ \|.*never\) \|$", page, flags=re.MULTILINE)
    assert len(prices) == 5
    assert set(prices) <= set(made)


def test_the_price_of_a_score_is_the_cost_at_which_the_mean_reaches_it():
    full = ["1:0 10:1 20:2", "1:0 10:3 20:4"]  # on average 2 after 10, 3 after 20
    other = ["5:2 6:3", "5:2 6:3"]
    rows = [
        {"problem": "reversed-0", "method": method, "seed": seed, "curve": curve}
        for method, curves in {"full": full, "resource": other}.items()
        for seed, curve in enumerate(curves)
    ]
    found = pd.DataFrame(rows)
    kinds = found.groupby("method", sort=False)
    full, other = (resources.curves_of(runs) for _, runs in kinds)
    assert np.exp(resources.log_price(full, other, 0.2)) == pytest.approx(5 / 10)
    assert np.exp(resources.log_price(full, other, 0.4)) == pytest.approx(
        6 / 20, abs=0.01
    )
    assert np.exp(resources.log_price(full, full - 9, 0.4)) == pytest.approx(1.2 / 0.4)
    assert "| resource | 0.50 (to 0.60; 0 never) |" in resources.prices(found)
