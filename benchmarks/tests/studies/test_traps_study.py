"""How often the peaks of traps are found, beside a Sobol sequence that enters them."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import shared
import traps
from made_runs import write_table
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._record import RunKey
from skrobustbo_benchmarks._single import run_one
from skrobustbo_benchmarks._starts import starts


def runs(*found, entered, problem="trap(d=2)", method="robust"):
    return pd.DataFrame(
        {
            "problem": problem,
            "n_iter": 50,
            "policy": method,
            "seed": range(len(found)),
            "found": found,
            "entered": entered,
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("traps") / "r.csv"
    names = (
        "trap(d=1,share=0.3,kind='hill')",
        "trap(d=2,kind='ridge',share=0.3)",
        "branin",
    )
    keys = itertools.product(names, [20], ("sobol", "random"), range(3))
    write_table(path, [run_one(RunKey(*key)) for key in keys])
    return path


def test_the_command(path, tmp_path, capsys):
    out = tmp_path / "traps.md"
    assert shared.status(traps.build_parser(), traps.main, [str(path)]) == 0
    text = capsys.readouterr().out
    assert "| method | 20 evaluations, d = 1 | 20 evaluations, d = 2 | all |" in text
    assert "| method | kind = hill | kind = ridge | all |" in text
    lines = [line for line in text.splitlines() if line.startswith("| Sobol enters")]
    assert lines[0] == "| Sobol enters | 3 of 3 | 3 of 3 | 6 of 6 |"
    assert text.count("| random |") == text.count("| sobol |") == 2
    words = [str(path), "--out", str(out), "--policies", "sobol"]
    assert shared.status(traps.build_parser(), traps.main, words) == 0
    assert "| random |" not in out.read_text()


def test_no_traps_is_an_error(path, capsys):
    words = [str(path), "--problems", "branin"]
    with pytest.raises(SystemExit):
        shared.status(traps.build_parser(), traps.main, words)
    assert "Expected runs of the problem trap" in capsys.readouterr().err


def test_what_enters_is_checked_against_the_problem():
    problem = problems.get("trap", d=2, share=0.02, seed=5)
    X = np.array(
        [list(p.values()) for p in starts(problem.space, 10, traps.STREAM + 5)]
    )
    apart = np.linalg.norm(X - problem.func.centre, axis=1)
    peak = problem.optimum * np.exp(-0.5 * (apart / problem.func.width) ** 2)
    expected = (peak > problem.func.background(X)).any()
    assert traps.enters("trap(d=2,share=0.02)", 20, 5) == expected
    entered = [traps.enters("trap(d=2,share=0.02)", 20, seed) for seed in range(40)]
    assert 0 < sum(entered) < 40


def test_p_value_is_that_of_the_discordant_pairs():
    found = [True] * 4 + [False] * 6 + [True]
    of = runs(*found, entered=[True] * 10 + [False])
    assert traps.p_fewer(of) == pytest.approx(binom.sf(5, 7, 0.5))
    assert traps.p_fewer(runs(True, True, entered=[True, False])) == 1.0


def test_a_star_marks_what_is_shown():
    fewer = runs(*[False] * 5, entered=[True] * 5)
    assert traps.shares(fewer, ("problem",)).count("0 of 5*") == 2
    equal = runs(*[True] * 5, entered=[True] * 5)
    assert "*" not in traps.shares(equal, ("problem",))
