"""The tables of the pages on benchmarks say what the files beside them say."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ablation
import comparison
import traps
import tunings
from scores import scores
from skrobustbo_benchmarks._report import all_lines, summarise

DOCS = Path(__file__).parents[3] / "docs"
NAMES = {
    "Optuna, `GPSampler`": "optuna-gp",
    "Optuna, `TPESampler`": "optuna-tpe",
    "BoTorch, upper bound": "botorch-ucb",
    "BoTorch, `LogExpectedImprovement`": "botorch-logei",
    "scikit-optimize": "skopt",
    "SMAC3, random forest": "smac-rf",
    "random search": "random",
    "CMA-ES": "cmaes",
    "Optuna 5, `GPSampler`": "optuna-gp",
    "scikit-optimize 0.10.2": "skopt",
}


def rows_of(title, page="benchmarks"):
    """Return the header and the rows of the table below a heading, or after a text."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    lines = text.partition(title)[2].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    end = next(i for i, line in enumerate(lines) if i > start and line[:1] != "|")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return rows[start], rows[start + 2 : end]


@cache
def lines(name):
    return all_lines([DOCS / "benchmarks" / f"{name}.csv"])


@cache
def summary(*names):
    found = summarise(pd.concat([lines(name) for name in names]))
    return found.set_index(["problem", "n_iter", "policy"]).sort_index()


def agrees(shown, value):
    """Return whether a number is the value, rounded to the digits shown."""
    unit = 10.0 ** -len(shown.partition(".")[2])
    return abs(float(shown) - value) <= 0.5001 * unit


def numbers(cell):
    return re.findall(r"[+-]?\d+(?:\.\d+)?", cell)


def cells(text, start):
    """Return the rows of a made table whose first cell is given, without it."""
    rows = [line for line in text.splitlines() if line.startswith(f"| {start} |")]
    return [[cell.strip() for cell in row.split("|")[2:-1]] for row in rows]


def test_ranks_beside_other_packages():
    _, rows = rows_of("## Optuna, BoTorch")
    made = comparison.ranks_section(scores(lines("peers")))
    assert "Over 23 problems with runs of these 8, on 10 seeds or more" in made
    assert len(rows) == 8
    for name, *shown in rows:
        theirs = cells(made, NAMES.get(name, name))[0]
        assert shown[:2] == theirs[:2]
        assert agrees(shown[2], float(theirs[2]))


def test_margins_and_bad_runs_beside_other_packages():
    _, rows = rows_of("*Is it worse anywhere?*")
    found = scores(lines("peers"))
    rivals = [NAMES[name] for name, *_ in rows]
    margins = comparison.margins_section(found, "robust", rivals)
    tails = comparison.tails_section(found, "robust", rivals)
    assert len(rows) == 4
    for name, *shown in rows:
        assert shown[:4] == cells(margins, NAMES[name])[0][:4]
        assert shown[4] == cells(tails, NAMES[name])[0][2]


def test_traps():
    header, rows = rows_of("## Traps")
    assert header[1:] == ["`berkenkamp-trap`, 30", "50", "`wang-trap`, 50", "100"]
    tasks = [("berkenkamp-trap", n) for n in (30, 50)]
    tasks += [("wang-trap", n) for n in (50, 100)]
    found = summary("traps")
    for policy, *shown in rows:
        for task, cell in zip(tasks, shown, strict=True):
            if cell:
                row = found.loc[(*task, policy)]
                assert int(cell) == row["n_seeds"] - row["n_stuck"]
            else:
                assert (*task, policy) not in found.index


def test_traps_of_any_dimension():
    _, rows = rows_of("### Traps of any dimension")
    made = traps.section(lines("dimensions"))
    for name, *shown in rows:
        start = name if "Sobol" not in name else "Sobol enters"
        theirs = cells(made, start)[0]
        assert shown == [cell.split(" of ")[0] for cell in theirs]
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert "15 peaks of 19" in text
    assert cells(made, "robust")[1][3] == "15 of 19"
    published = traps.section(lines("families"))
    policies = ("he-gp-ucb", "a-gp-ucb", "lb-gp-ucb", "lnb-gp-ucb")
    assert "leave 14, 4, 3 and 0" in text
    found = [cells(published, policy)[0][-1].rstrip("*") for policy in policies]
    assert found == ["14 of 80", "4 of 80", "3 of 80", "0 of 80"]


def test_regrets_of_other_functions():
    header, rows = rows_of("### Other functions, and noise")
    found = summary("synthetic", "noise")
    assert len(rows) == 8
    for problem, *shown in rows:
        for policy, cell in zip(header[1:], shown, strict=True):
            row = found.loc[(problem, 60, policy)]
            median, tail = numbers(cell)
            assert agrees(median, row["regret"])
            assert agrees(tail, row["regret_90"])
            assert row["n_seeds"] == (100 if problem.endswith("noisy") else 20)


def test_regrets_in_many_parameters():
    header, rows = rows_of("### Many parameters")
    found = summary("many")
    for problem, *shown in rows:
        function, _, rest = problem.partition(", ")
        d = rest.removeprefix("d = ").removeprefix("6 of ")
        relevant = function == "ackley" and "6 of" in rest
        text = f"many(function='{function}',d={d}{',relevant=6' * relevant})"
        for policy, cell in zip(header[1:], shown, strict=True):
            key = (text, 100, NAMES.get(policy, policy))
            if not cell:
                assert key not in found.index
                continue
            median, tail = numbers(cell)
            assert agrees(median, found.loc[key]["regret"])
            assert agrees(tail, found.loc[key]["regret_90"])


def test_rough_scores():
    _, rows = rows_of("### Rough scores")
    best = lines("rough").pivot_table("best", ["problem", "seed"], "policy")
    for problem, robust, random, higher, lower in rows:
        own = best.loc[problem]
        assert agrees(robust, own["robust"].median())
        assert agrees(random, own["random"].median())
        assert int(higher) == (own["robust"] > own["random"]).sum()
        assert int(lower) == (own["robust"] < own["random"]).sum()


def test_real_tunings():
    _, rows = rows_of("## Real tunings")
    runs = pd.read_csv(DOCS / "benchmarks" / "tunings.csv")
    columns = list(tunings.Key._fields)
    keys = [tunings.Key(*key) for key in runs[columns].itertuples(index=False)]
    made = tunings.report(runs, keys, ["random", "optuna-tpe"])
    assert [row[0] for row in rows] == ["15", "25", "50"]
    for n, random, tpe, robust, from_random, from_tpe in rows:
        theirs = {row[0]: row[1:] for row in cells(made, n)[:3]}
        for method, shown in zip(
            ("random", "optuna-tpe", "robust"), (random, tpe, robust), strict=True
        ):
            assert agrees(shown, float(theirs[method][1]))
        for shown, cell in ((from_random, 2), (from_tpe, 3)):
            pairs = zip(numbers(shown), numbers(theirs["robust"][cell]), strict=True)
            assert all(abs(float(a) - float(b)) < 0.0051 for a, b in pairs)


def test_cost_of_a_step_beside_others():
    _, rows = rows_of("Steps of other packages", "benchmarks_studies")
    steps = pd.read_csv(DOCS / "benchmarks" / "steps.csv")
    means = steps.groupby(["method", "observations"])["step_ms"].mean().unstack()
    ratios = means / means.loc["robust"]
    assert len(rows) == 3
    for name, *shown in rows:
        own = ratios.loc[NAMES[name]]
        for cell, value in zip(shown, [*own, np.exp(np.log(own).mean())], strict=True):
            assert float(cell) == pytest.approx(value, rel=0.006)


def test_price_of_escaping():
    _, rows = rows_of("## What escaping from traps costs", "benchmarks_studies")
    made = ablation.section(scores(lines("price")), "before")
    for name, area, final in rows:
        problems, seeds, their_final, their_area = cells(made, name)[0]
        assert (problems, seeds) == ("27", "20")
        assert their_final.startswith(final)
        assert their_area.startswith(area)


def test_published_policies():
    text = (DOCS / "benchmarks_studies.md").read_text(encoding="utf-8")
    text = " ".join(text.partition("## Published policies")[2].split())
    found = summary("published")
    assert not found.loc["berkenkamp"]["n_stuck"].any()
    best = found.loc["michalewicz5"]["best"].droplevel(0)
    plain = "a-gp-ucb(matching=None,theta0=None,growth=0.5,"
    for words, start in (
        ("the median of LB is {}", "lb-gp-ucb("),
        ("that of A is {} with β = 1", f"{plain}beta=1.0)"),
        ("{} with its own β", f"{plain}noise=0.0001)"),
        ('{} with `combine="min"`', "a-gp-ucb(combine='min')"),
    ):
        (value,) = (best[name] for name in best.index if name.startswith(start))
        assert words.format(f"{value:.2f}") in text


@pytest.mark.parametrize("name", ["benchmarks", "benchmarks_studies"])
def test_the_data_of_a_page_are_beside_it(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    files = re.findall(r"\]\((benchmarks/[\w.]+)\)", text)
    assert files
    assert all((DOCS / file).exists() for file in files)
