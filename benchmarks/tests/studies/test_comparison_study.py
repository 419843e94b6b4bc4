"""Methods against one another: scores, ranks, wins, margins, tails, and the page."""

import math

import numpy as np
import pandas as pd
import pytest

import comparison
import shared
from comparison import (
    ahead,
    compare,
    holm,
    mean_ranks,
    mean_share,
    ranks_section,
    seeds_needed,
    tail,
    tails_section,
    wins,
    wins_section,
)
from made_runs import all_rows, finals, made_run, traces, two_problems, write_table
from scores import paired, scores
from skrobustbo_benchmarks._reproduce._claims import p_differ
from skrobustbo_benchmarks._traces import lines_of


def command(*words):
    return shared.status(
        comparison.build_parser(), comparison.main, list(map(str, words))
    )


def scored(*lists):
    return scores(lines_of(traces(*lists)))


def table_of(**columns):
    """Return the scores of a task: by method a value for each seed, equal areas."""
    table = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    return pd.concat({"final": table, "area": table}, axis=1)


def test_holm():
    # 0.01 * 4, 0.02 * 3, then never below what came before; at most 1.
    assert holm([0.02, 0.9, 0.01, 0.029]) == pytest.approx([0.06, 0.9, 0.04, 0.06])
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


class TestScores:
    def one(self, *runs):
        (table,) = scored(runs).values()
        return table

    def test_final_regret_and_area(self):
        table = self.one(made_run("a", 3, [1.0, 2.0, 6.0, 4.0], n_initial=2))
        assert table.loc[3].to_dict() == {("final", "a"): 4.0, ("area", "a"): 4.0}

    @pytest.mark.parametrize(
        ("values", "columns", "area"),
        [
            ([1.0, 2.0], {"n_initial": 2}, 8.0),  # all initial design
            # The space is exhausted: the last regret is kept, 8, 4 and then thrice 4.
            ([1.0, 2.0, 6.0], {"n_iter": 6}, 4.8),
            ([1.0, 6.0], {"n_initial": 4, "n_iter": 6}, 4.0),
        ],
    )
    def test_area_of_a_run_that_ends_early(self, values, columns, area):
        assert self.one(made_run("a", 0, values, **columns))["area"]["a"][0] == area

    def test_best_run_of_the_table_stands_in_for_an_unknown_optimum(self):
        runs = finals("a", [3.0], optimum=math.nan)
        longer = made_run("b", 0, [0.0, 1.0, 9.0], optimum=math.nan)
        other = finals("b", [50.0], "other", optimum=math.nan)
        found = scores(lines_of(traces(runs)), lines_of(traces(runs, [longer], other)))
        assert list(found) == [("toy", 2)]
        assert found["toy", 2].loc[0].tolist() == [6.0, 6.0]

    def test_best_run_stands_in_for_an_unknown_optimum(self):
        runs = finals("a", [3.0, 7.0], optimum=math.nan)
        table = self.one(*runs, *finals("b", [5.0], optimum=math.nan))
        assert table["final"]["a"].tolist() == [4.0, 0.0]
        assert table["final"]["b"][0] == 2.0

    def test_run_without_a_value_is_infinitely_bad(self):
        table = self.one(made_run("a", 0, [math.nan] * 2), *finals("b", [1.0]))
        assert table["final"]["a"][0] == table["area"]["a"][0] == math.inf
        assert paired(table, "a", "b").tolist() == [math.inf]
        assert paired(table, "a", "a").tolist() == [0.0]

    def test_pairs_are_of_common_seeds(self):
        table = table_of(a={0: 1.0, 2: 5.0}, b={2: 2.0, 1: 9.0})
        assert paired(table, "a", "b").tolist() == [3.0]


class TestRanksAndWins:
    def test_mean_ranks_share_ties(self):
        one, two = (pd.Series(x, list("abc")) for x in ([1, 1, 2], [3, 1, 2]))
        assert mean_ranks([one, two]).to_dict() == {"a": 2.25, "b": 1.25, "c": 2.5}

    def test_shares_of_what_random_search_leaves(self):
        tasks = [
            table_of(a={0: 1.0, 1: 3.0}, random={0: 4.0}),
            table_of(a={0: 0.0}, random={0: 9.0, 1: 1.0}),
        ]
        # 2 / 4, and the least share that counts.
        assert mean_share(tasks, "a") == pytest.approx(math.sqrt(0.5 * 1e-4))
        assert mean_share(tasks[:1], "random") == pytest.approx(1.0)
        assert math.isnan(mean_share([table_of(a={0: 1.0})], "a"))
        solved = table_of(a={0: 0.0}, random={0: 0.0})
        assert math.isnan(mean_share([solved], "a"))
        assert mean_share([solved, tasks[0]], "a") == pytest.approx(0.5)

    def test_ranks_and_shares_are_of_common_seeds(self):
        # Over its own seeds a would be behind b, and random search leave another yard.
        found = scored(
            finals("a", [9.0, 9.0, 0.0, 0.0, 0.0]),
            finals("b", [8.0, 8.0]),
            finals("random", [6.0, 6.0, 6.0, 0.0, 0.0, 0.0, 0.0]),
        )
        text = ranks_section(found)
        assert "Over 1 problem with runs of these 3, on 2 seeds or more:" in text
        assert "| a | 1.00 | 1.00 | 0.25 |\n| b | 2.00 | 2.00 | 0.5 |" in text

    def test_task_without_common_seeds_is_not_ranked(self):
        late = made_run("b", 7, [0.0, 8.0])
        assert "Over" not in ranks_section(scored(finals("a", [9.0]), [late]))

    def test_lengths_of_a_problem_are_tasks(self):
        longer = [made_run(name, 0, [0.0, 1.0, 2.0]) for name in ("a", "b")]
        found = scored(finals("a", [1.0]), finals("b", [2.0]), longer)
        assert "Over 2 tasks with runs" in ranks_section(found)
        assert "## Wins\n\nTasks (problem and length) on which" in wins_section(found)
        assert "Tasks (problem and length)" in tails_section(found, "a", ["b"])

    def test_clear_wins_are_in_the_direction_of_the_median(self):
        # Sixteen of a's runs are a little better than b's, fifteen are far worse.
        ours = np.concatenate([np.linspace(5.01, 5.06, 16), np.linspace(1.0, 2.0, 15)])
        found = scored(finals("a", ours), finals("b", np.full(31, 5.0)))
        assert p_differ(paired(found["toy", 2], "a", "b")) <= 0.05
        assert wins(found, "a", "b") == (1, 0)
        assert wins(found, "b", "a") == (0, 0)

    def test_wins_and_clear_wins(self):
        good = np.linspace(8.0, 9.0, 10)
        found = scored(
            finals("a", good, "one"),
            finals("b", good - 1, "one"),  # clear: 2 / 1024, twice for two problems
            finals("a", good, "two"),
            finals("b", good - 0.1 * (-1.0) ** np.arange(10), "two"),  # a draw
            finals("a", good, "three"),  # without a rival
        )
        assert wins(found, "a", "b") == (1, 1)
        assert wins(found, "b", "a") == (0, 0)

    def test_power(self):
        # One of m tests can reject if m / 2**n <= 0.05.
        assert seeds_needed(1) == 5
        assert seeds_needed(28) == 10
        assert 28 / 2**10 <= 0.05 < 28 / 2**9


class TestMargins:
    def table(self, ours, theirs, random=(5.0,) * 10):
        found = scored(
            finals("robust", ours), finals("skopt", theirs), finals("random", random)
        )
        (line,) = compare(found, "robust", "skopt").itertuples()
        return line

    def test_margin_is_a_share_of_what_random_search_leaves(self):
        # The optimum is 10, random search's median 5: two per cent of 5.
        assert self.table([9.0] * 3, [9.0] * 3).margin == pytest.approx(0.1)

    @pytest.mark.parametrize(
        ("loss", "verdict"),
        [(-0.5, "no worse"), (0.05, "no worse"), (0.15, "worse"), (0.1, "undecided")],
    )
    def test_verdicts(self, loss, verdict):
        noise = 0.01 * np.array([1, -1, 2, -2, 3, -3, 4, -4, 3.5, -3.5])
        line = self.table(8.0 - loss + noise, [8.0] * 10)
        assert line.verdict == verdict
        assert line.difference == pytest.approx(loss)
        assert line.n_seeds == 10

    def test_few_seeds_decide_nothing(self):
        assert self.table([9.0] * 4, [1.0] * 4).verdict == "undecided"

    def test_correction_is_over_the_problems_of_a_rival(self):
        lists = []
        for problem in ("one", "two", "three"):
            lists.append(finals("robust", [9.0] * 6, problem))
            lists.append(finals("skopt", [8.0] * 6, problem))
            lists.append(finals("random", [5.0] * 6, problem))
        lines = compare(scored(*lists), "robust", "skopt")
        assert lines["p_no_worse"].tolist() == pytest.approx([3 / 64] * 3)
        assert set(lines["p_worse"]) == {1.0}

    def test_problems_without_random_search_are_left_out(self):
        found = scored(finals("robust", [9.0]), finals("skopt", [9.0]))
        assert len(compare(found, "robust", "skopt")) == 0


class TestTails:
    def test_it_is_a_run_and_not_a_mean_of_two(self):
        assert tail(pd.Series(range(20))) == 18.0
        assert tail(pd.Series([1.0, math.inf])) == math.inf

    def test_counts(self):
        found = scored(
            finals("a", [9.0, 9.0, 5.0], "one"),
            finals("b", [9.5, 9.5, 4.0], "one"),  # a is ahead
            finals("c", [9.0, 9.0, 6.0], "one"),  # of b, not of c
            finals("a", [9.0, 9.0], "two"),
            finals("b", [9.0, 9.0, 1.0], "two"),  # equal over common seeds
            finals("a", [9.0], "three"),  # without a rival
        )
        assert ahead(found, "a", ["b"]) == (1, 1, 0, 2)
        assert ahead(found, "a", ["b", "c"]) == (0, 1, 1, 2)
        assert ahead(found, "a", ["d"]) == (0, 0, 0, 0)

    def test_lost_tails_are_compared_too(self):
        lost = [math.nan, math.nan]
        found = scored(
            *([made_run(name, 0, lost, problem="one")] for name in ("a", "b")),
            [made_run("a", 0, lost, problem="two")],
            finals("b", [1.0], "two"),
        )
        assert ahead(found, "a", ["b"]) == (0, 1, 1, 1)
        assert ahead(found, "b", ["a"]) == (1, 1, 0, 1)


class TestReport:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "r.csv"
        write_table(path, two_problems())
        return path

    def test_sections(self, path, capsys):
        assert command(path) == 0
        text = capsys.readouterr().out
        assert "Over 2 problems with runs of these 3, on 10 seeds or more:" in text
        assert "## Wins\n\nProblems on which the method of the row" in text
        assert (
            "| robust | 1.00 | 1.00 | 0.216 |\n| skopt | 2.00 | 2.00 | 0.412 |" in text
        )
        assert "| robust | 2 (2) |  | 2 (2) |" in text
        assert "| skopt | 2 | 2 | 0 | 0 |" in text
        assert "| skopt | one, 2 | 10 | -1 | 0.102 | 0.00195 | 1 | no worse |" in text
        assert "Runs without results" not in text

    def test_methods_that_miss_problems_are_ranked_by_themselves(self, path, capsys):
        runs = [*finals("robust", [9.0], "pool"), *finals("random", [5.0], "pool")]
        write_table(path, [*runs, all_rows(path)])
        command(path)
        text = capsys.readouterr().out
        assert text.index("of these 3,") < text.index("1 problem with runs of these 2,")
        assert "| robust | 1.00 | 1.00 | 0.2 |\n| random | 2.00 | 2.00 | 1 |" in text

    def test_bad_runs(self, path, capsys):
        command(path, "--rivals", "skopt,random")
        text = capsys.readouterr().out
        assert "| random | 2 | 0 | 0 | 10 |\n| all of them | 2 | 0 | 0 | 10 |" in text

    def test_rivals_and_reference_can_be_chosen(self, path, capsys):
        command(path, "--reference", "skopt", "--rivals", "robust")
        text = capsys.readouterr().out
        assert "## Is skopt worse than another?" in text
        assert "| robust | 2 | 0 | 0 | 2 |" in text

    @pytest.mark.parametrize("option", ["--rivals", "--reference"])
    def test_typo_in_a_choice(self, option, path, capsys):
        with pytest.raises(SystemExit):
            command(path, option, "robst")
        assert "did you mean 'robust'" in capsys.readouterr().err

    def test_few_seeds_are_said_to_be_few(self, path, capsys):
        runs = [*finals("robust", [9.0]), *finals("skopt", [8.0])]
        write_table(path, [*runs, *finals("random", [5.0])])
        command(path)
        text = capsys.readouterr().out
        assert "With 1 seeds no difference can be significant" in text
        assert "With 1 seeds no test can reject" in text

    def test_nothing_to_test_is_said(self, path, capsys):
        write_table(path, [*finals("robust", [9.0]), *finals("skopt", [8.0])])
        command(path)
        assert "There is nothing to test" in capsys.readouterr().out

    def test_stand_in_is_of_the_whole_table(self, path, capsys):
        ours = finals("robust", [3.0], optimum=math.nan)
        chance = finals("random", [1.0], optimum=math.nan)
        write_table(path, [*ours, *chance, *finals("skopt", [9.0], optimum=math.nan)])
        command(path, "--policies", "robust,random")
        assert "| robust | 1.00 | 1.00 | 0.75 |" in capsys.readouterr().out
