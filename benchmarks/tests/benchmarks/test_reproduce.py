"""The papers' experiments in their quick form: bands, rules, files and the page."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import reproduce_bands

from made_runs import made_case_run
from skrobustbo_benchmarks import _pool
from skrobustbo_benchmarks._cli import main
from skrobustbo_benchmarks._record import keys_of
from skrobustbo_benchmarks._reproduce import _command
from skrobustbo_benchmarks._reproduce._claims import (
    NOT,
    PARTLY,
    REPRODUCED,
    TOO_FEW,
    Alike,
    Better,
    Finding,
    Share,
    Spread,
    TimeRatio,
    Within,
    overall,
)
from skrobustbo_benchmarks._reproduce._measures import (
    best_points,
    best_thetas,
    kept_steps,
)
from skrobustbo_benchmarks._reproduce._numbers import Column, Printed
from skrobustbo_benchmarks._reproduce._runs import initial_points, run_one
from skrobustbo_benchmarks._reproduce._spec import (
    CASES,
    EXPERIMENTS,
    case_of,
    read_results,
    versions_of,
)

ABRUPT, FAST = CASES["et-abrupt"], CASES["et-within-050"]
LENGTH_SCALE = CASES["he-length-scale"]

# -- the quick forms ------------------------------------------------------------------

#: Cases whose quick form takes more than two seconds.
_SLOW = {
    *("a-mnist", "et-cart-pole", "he-decomposition", "lb-michalewicz"),
    *("et-within-010", "et-within-030", "et-within-050"),
}
#: Beyond the band, relative to its larger end; half of its width comes on top.
_MARGIN = 0.1


@pytest.fixture
def no_downloads(monkeypatch):
    from skrobustbo_benchmarks.datasets import _fetch

    def refuse(file, timeout):
        raise OSError("tests of experiments download nothing")

    monkeypatch.setattr(_fetch, "_download", refuse)


def _cases():
    for name in CASES:
        marks = [pytest.mark.slow] if name in _SLOW else []
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(_cases()))
@pytest.mark.filterwarnings("ignore:All candidate models contradict:UserWarning")
def test_quick_form_lies_in_its_bands(name, no_downloads):
    case, bands = CASES[name], reproduce_bands.read()[name]
    try:
        means = reproduce_bands.quick_means(case)
    except FileNotFoundError:
        pytest.skip(f"no data, set SKROBUSTBO_DATA: {case.data}")
    assert means.keys() == bands.keys()
    for method, metrics in means.items():
        assert metrics.keys() == bands[method].keys()
        for metric, value in metrics.items():
            low, high = bands[method][metric]
            margin = _MARGIN * max(abs(low), abs(high)) + (high - low) / 2
            assert low - margin <= value <= high + margin, (method, metric)


def test_bands_are_narrow_enough_to_tell_something():
    bands = reproduce_bands.read()
    entries = [
        band
        for methods in bands.values()
        for metrics in methods.values()
        for name, band in metrics.items()
        if name in ("cumulative", "average")
    ]
    narrow = [low >= 0.9 * high for low, high in entries]
    assert np.mean(narrow) > 0.7


# -- what the experiments are ---------------------------------------------------------


def test_every_figure_and_table_is_there():
    assert set(EXPERIMENTS) == {
        *("lb-fig2", "lb-fig3", "lb-fig4", "lb-table2"),
        *("he-fig2", "boho-fig1", "a-fig4", "a-fig5", "a-fig6"),
        *("et-table1", "et-table2", "et-table3"),
        *("et-fig2", "et-fig3b", "et-fig3c", "et-fig3d", "et-fig6"),
    }


def _spoken_of(claim):
    cases = [claim.case, *getattr(claim, "others", ())]
    if isinstance(claim, Column):
        methods = list(claim.entries)
    else:
        methods = getattr(claim, "methods", None) or [claim.method]
    return {(case, method) for case in cases for method in methods}


@pytest.mark.parametrize("experiment", list(EXPERIMENTS.values()), ids=lambda e: e.name)
def test_claims_speak_of_runs_that_are_made(experiment):
    made = {
        (panel.case.name, method)
        for panel in experiment.panels
        for method in panel.methods
    }
    for case, method in made:
        assert method in CASES[case].methods
    for claim in experiment.claims:
        assert _spoken_of(claim) <= made
        columns = CASES[claim.case].table(Path()).columns
        assert claim.metric in columns
        assert getattr(claim, "by", "") in [*columns, ""]


def test_runs_depend_on_their_arguments_only():
    case = ABRUPT.in_brief()
    first, second = (run_one(case, "W-GP-UCB", 1) for _ in range(2))
    assert timeless(first).equals(timeless(second))


def timeless(runs):
    return runs.drop(columns="cpu_seconds").reset_index(drop=True)


def test_methods_of_a_seed_meet_the_same_start_and_seeds_others():
    problem = LENGTH_SCALE.make_problem(0)
    one, again, other = (
        initial_points(LENGTH_SCALE, problem, seed) for seed in (0, 0, 1)
    )
    assert one == again != other
    assert len(one) == 3


def test_seeds_draw_functions_where_the_paper_does():
    a, b = (FAST.make_problem(seed) for seed in (0, 1))
    assert a.func({"x1": 0.3, "x2": 0.3}, 1) != b.func({"x1": 0.3, "x2": 0.3}, 1)


def test_initial_points_count_as_queries_where_the_paper_has_none():
    run = run_one(ABRUPT.in_brief(), "IGP-UCB", 0).iloc[0]
    assert run["cumulative"] == pytest.approx((ABRUPT.quick + 1) * run["average"], 1e-3)


def test_the_budget_told_is_the_norm_of_the_changes():
    def norm(places, weights):
        gaps = np.subtract.outer(places, places)
        weights = np.array(weights)
        return math.sqrt(weights @ np.exp(-0.5 * (gaps / 0.2) ** 2) @ weights)

    changes = [
        norm([0.8, 0.2, 0.2, 0.8], [1, -1, -1, 1]),
        norm([0.5, 0.8, 0.8, 0.2], [1, -1, -1, 1]),
    ]
    told = ABRUPT.make_policy("SW-GP-UCB", ABRUPT.make_problem(0)).budget
    assert told == pytest.approx(sum(changes), abs=0.01)


def test_best_length_scales_of_michalewicz():
    """The likelihood on the best 1% is flat for short scales, and falls beyond."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    X, z = best_points("michalewicz5")
    assert X.shape == (100, 5)

    def likelihood(scale):
        kernel = Matern(scale, nu=2.5)
        model = GaussianProcessRegressor(kernel, alpha=1e-4, optimizer=None)
        return model.fit(X, z).log_marginal_likelihood_value_

    low, high = best_thetas("michalewicz5")
    assert low == 0.005
    assert likelihood(low) - 2 < likelihood(high)
    assert likelihood(low) - 2 > likelihood(1.05 * high)
    assert 0.05 < high < 0.1


def test_curves_are_kept_to_the_last_query():
    for n in (5, 12, 50, 400):
        steps = kept_steps(n)
        assert steps[-1] == n
        assert steps[0] >= 1
        assert np.all(np.diff(steps) > 0)


# -- the rules ------------------------------------------------------------------------


def _results(**metrics):
    """Return results of the case "c": metrics "m" of methods by their seeds."""
    runs = [
        pd.DataFrame({"policy": method, "seed": range(len(found)), "m": found})
        for method, found in metrics.items()
    ]
    return {"c": pd.concat(runs)}


def _verdicts(claim, **metrics):
    return [finding.verdict for finding in claim.judge(_results(**metrics))]


_LOW, _HIGH = np.linspace(1, 2, 10), np.linspace(3, 4, 10)


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (_LOW, _HIGH, REPRODUCED),
        (_HIGH, _LOW, NOT),
        (_LOW, _LOW, NOT),
        (_LOW, 0.01 + _LOW[::-1], PARTLY),
        (0.01 + _LOW, _LOW[::-1], NOT),
        (_LOW[:4], _HIGH, TOO_FEW),
    ],
)
def test_better_is_a_paired_test(a, b, verdict):
    assert _verdicts(Better("", "c", "m", ("a", "b")), a=a, b=b) == [verdict]


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, REPRODUCED), (1.5, PARTLY), (1.6, NOT)]
)
def test_alike_is_a_factor(factor, verdict):
    claim = Alike("", "c", "m", ("a", "b"))
    assert _verdicts(claim, a=_LOW, b=factor * _LOW) == [verdict]


def test_alike_is_partly_so_where_no_difference_shows():
    claim = Alike("", "c", "m", ("a", "b"))
    a, b = np.array([1, 9, 1, 1, 1, 1.0]), np.array([5, 1, 1, 1, 1, 1.0])
    assert _verdicts(claim, a=3 * a, b=b) == [PARTLY]


@pytest.mark.parametrize(
    ("n", "does", "verdict"),
    [
        (9, True, REPRODUCED),
        (6, True, PARTLY),
        (2, True, NOT),
        (2, False, REPRODUCED),
        (10, False, NOT),
    ],
)
def test_share_counts_runs(n, does, verdict):
    found = np.arange(12) < n
    claim = Share("", "c", "m", "a", does)
    assert _verdicts(claim, a=found.astype(float)) == [verdict]


@pytest.mark.parametrize(
    ("mean", "verdict"), [(1.0, REPRODUCED), (2.5, PARTLY), (5.0, NOT)]
)
def test_within_is_a_range(mean, verdict):
    claim = Within("", "c", "m", "a", (0.5, 2.0), (0.5, 3.0))
    assert _verdicts(claim, a=np.full(5, mean)) == [verdict]
    quotient = replace(claim, by="m", good=(1.0, 1.0), fair=(1.0, 1.0))
    assert _verdicts(quotient, a=np.full(5, mean)) == [REPRODUCED]


def test_spread_compares_the_largest_mean_with_the_smallest():
    results = {name: _results(a=x)["c"] for name, x in (("c", _LOW), ("d", _HIGH))}
    claim = Spread("", "c", "m", "a", (1.0, 2.0), (1.0, 2.5), ("d",))
    assert [f.verdict for f in claim.judge(results)] == [PARTLY]


def _fifty(mean):
    rng = np.random.default_rng(0)
    draws = rng.standard_normal(50)
    return mean + 0.1 * (draws - draws.mean()) / draws.std(ddof=1)


@pytest.mark.parametrize(
    ("mean", "verdict"),
    [(1.059, REPRODUCED), (1.061, PARTLY), (1.199, PARTLY), (0.79, NOT)],
)
def test_numbers_are_judged_by_the_papers_deviation(mean, verdict):
    claim = Column("", "c", "m", {"a": Printed(1.0, 0.1)}, ordered=False)
    assert _verdicts(claim, a=_fifty(mean)) == [verdict]
    without = replace(claim, rows={"a": Printed(1.0)})  # ours is 0.1, too
    assert _verdicts(without, a=_fifty(mean)) == [verdict]


def test_runs_without_a_deviation_agree_exactly_or_not_at_all():
    claim = Column("", "c", "m", {"a": Printed(2.0)}, ordered=False)
    assert _verdicts(claim, a=np.full(5, 2.0)) == [REPRODUCED]
    assert _verdicts(claim, a=np.full(5, 2.2)) == [NOT]


def test_order_is_judged_between_rows_that_clearly_differ():
    rows = {"a": Printed(1.0, 0.1), "b": Printed(1.05, 0.1), "c": Printed(1.2, 0.1)}
    claim = Column("", "c", "m", rows)
    right = {"a": _fifty(1.06), "b": _fifty(1.0), "c": _fifty(1.2)}
    assert _verdicts(claim, **right)[-1] == REPRODUCED  # a and b are too close to judge
    wrong = {**right, "c": _fifty(1.03)}
    assert _verdicts(claim, **wrong)[-1] == NOT
    four = replace(claim, context={"d": Printed(2.0, 0.1), "e": Printed(3.0, 0.1)})
    others = {"d": _fifty(2.0), "e": _fifty(3.0)}
    assert _verdicts(four, **wrong, **others)[-1] == PARTLY
    assert len(_verdicts(four, **wrong, **others)) == 4


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.9, REPRODUCED), (3.9, PARTLY), (4.1, NOT)]
)
def test_times_are_judged_by_their_ratio(factor, verdict):
    claim = TimeRatio("", "c", "m", ("a", "b"), (30.0, 10.0))
    assert _verdicts(claim, a=3 * factor * _LOW, b=_LOW) == [verdict]
    assert _verdicts(claim, a=3 / factor * _LOW, b=_LOW) == [verdict]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([REPRODUCED, REPRODUCED], REPRODUCED),
        ([REPRODUCED, TOO_FEW], REPRODUCED),
        ([REPRODUCED, NOT], PARTLY),
        ([REPRODUCED, NOT, NOT], NOT),
        ([REPRODUCED, PARTLY], PARTLY),
        ([PARTLY], NOT),
        ([TOO_FEW], TOO_FEW),
        ([REPRODUCED, TOO_FEW, TOO_FEW], TOO_FEW),
        ([], TOO_FEW),
    ],
)
def test_an_experiments_verdict(verdicts, expected):
    assert overall([Finding("", "", verdict) for verdict in verdicts]) == expected


# -- the command ----------------------------------------------------------------------


def _in_process(monkeypatch):
    """Make runs here rather than in children; return the keys asked for."""
    asked = []

    def run_here(job):
        asked.extend(job.keys)
        return pd.concat(
            run_one(case_of(key.problem), key.policy, key.seed) for key in job.keys
        )

    monkeypatch.setattr(_pool, "run_in_child", run_here)
    return asked


def test_list_names_all(capsys):
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)


def test_the_command_resumes(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    asked = _in_process(monkeypatch)
    words = ["reproduce", "a-fig5", "--quick", "--out", str(tmp_path)]
    assert main([*words, "--seeds", "0"]) == 0
    assert {key.seed for key in asked} == {0}
    # A run that a killed process has left torn is made again.
    path = tmp_path / "a-samples.quick.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:20])
    asked.clear()
    assert main(words) == 0
    (torn,) = (key for key in asked if key.seed == 0)
    assert torn == ("a-samples.quick", 12, "GP-UCB, wrong norm", 0)
    assert {key.seed for key in asked if key != torn} == {1}
    assert (tmp_path / "a-fig5.quick.png").stat().st_size > 1000
    assert "a-fig5: too few runs" in capsys.readouterr().out
    (note,) = versions_of(tmp_path).read()
    assert note["numpy"] == np.__version__
    asked.clear()
    assert main(words) == 0
    assert asked == []


def test_a_child_makes_runs(tmp_path):
    """One real child, of two short runs and one that cannot be made."""
    case = case_of("he-length-scale.quick")
    keys = case.key("MLE", 0), case.key("MLE", 1), case.key("nonsense", 1)
    table = case.table(tmp_path)
    table.open()
    job = _pool.Job(keys, table, _command._PROGRAM)
    assert _pool.execute([job], 1) == 1  # but what was made is kept
    runs, _ = table.read()
    assert keys_of(runs) == set(keys[:2])
    assert keys_of(table.failures.read()[0]) == {keys[2]}
    assert timeless(runs[:1]).equals(timeless(run_one(case, "MLE", 0)))


def test_a_failing_child_is_told_and_fails_the_command(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")

    def fail(job):
        raise _pool.RunFailedError("no memory")

    monkeypatch.setattr(_pool, "run_in_child", fail)
    words = ["reproduce", "boho-fig1", "--quick", "--out", str(tmp_path)]
    assert main(words) == 1
    assert "no memory" in capsys.readouterr().err


def test_missing_data_are_told_and_the_rest_is_run(
    tmp_path, monkeypatch, no_other_home, no_downloads, capsys
):
    pytest.importorskip("matplotlib")
    asked = _in_process(monkeypatch)
    words = ["reproduce", "et-fig3b", "a-fig5", "--quick", "--out", str(tmp_path)]
    assert main(words) == 1
    error = capsys.readouterr().err
    assert "et-temperature was not run: the sensor temperatures are missing" in error
    assert "SKROBUSTBO_DATA" in error
    assert {key.problem for key in asked} == {"a-samples.quick"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Expected the name of an experiment"),
        (["he-fig3"], "he-fig2"),
    ],
)
def test_errors_say_what_to_do(words, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", *words, "--out", str(tmp_path)])
    assert message in capsys.readouterr().err


def test_runs_of_another_length_are_left_aside(tmp_path):
    case = CASES["boho-trap"]
    table = case.table(tmp_path)
    table.open()
    rng = np.random.default_rng(0)
    table.append(made_case_run(case, "Algorithm 1", 0, rng))
    table.append(made_case_run(case, "Algorithm 1", 1, rng).assign(n_iter=12))
    found = read_results(tmp_path, quick=False)["boho-trap"]
    assert found["seed"].tolist() == [0]
