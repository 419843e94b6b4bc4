"""Methods against one another: scores, tests, ranks, wins, margins, lost runs."""

import csv
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from test_benchmarks_cli import all_rows, job, made_run, run_command, write_table

from skrobustbo.benchmarks import _pool, _step_cost, _step_times
from skrobustbo.benchmarks._cli import main
from skrobustbo.benchmarks._compare import (
    mean_ranks,
    mean_share,
    ranks_section,
    seeds_needed,
    wins,
    wins_section,
)
from skrobustbo.benchmarks._figure import FLOOR
from skrobustbo.benchmarks._margins import ahead, compare, tail, tails_section
from skrobustbo.benchmarks._plot import bands, draw, draw_finals
from skrobustbo.benchmarks._record import (
    KEY,
    RunKey,
    Table,
    note_failure,
    read_failures,
)
from skrobustbo.benchmarks._scores import paired, scores
from skrobustbo.benchmarks._signed_rank import holm, p_below, p_differ
from skrobustbo.benchmarks._single import run_one
from skrobustbo.benchmarks._traces import lines_of

rng = np.random.default_rng(0)


class TestSignedRank:
    @pytest.mark.parametrize("n", [1, 5, 12, 40])
    def test_agrees_with_scipy_without_ties(self, n):
        d = rng.normal(0.3, 1.0, size=n)
        below = wilcoxon(d, alternative="less", method="exact").pvalue
        assert p_below(d) == pytest.approx(below)
        assert p_differ(d) == pytest.approx(wilcoxon(d, method="exact").pvalue)

    @pytest.mark.parametrize("d", [[1, 1, -1, 2], [-3, -3, -3], [5, -5], [2, 2, -7]])
    def test_ties_by_going_through_all_signs(self, d):
        ranks = np.array([_mean_place(abs(x), d) for x in d])
        observed = ranks[np.array(d) > 0].sum()
        sums = [ranks @ signs for signs in itertools.product([0, 1], repeat=len(d))]
        expected = np.mean([total <= observed for total in sums])
        assert p_below(np.array(d, dtype=float)) == pytest.approx(expected)

    def test_zeros_and_infinities(self):
        assert p_below(np.zeros(4)) == p_below(np.empty(0)) == 1.0
        assert p_below(np.array([0.0, -1.0, -2.0])) == 0.25
        assert p_below(np.array([-math.inf, -1.0, 2.0])) == 3 / 8

    def test_holm(self):
        # 0.01 * 4, 0.02 * 3, then never below what came before; at most 1.
        assert holm([0.02, 0.9, 0.01, 0.029]) == pytest.approx([0.06, 0.9, 0.04, 0.06])
        assert holm([0.7, 0.6]) == [1.0, 1.0]
        assert holm([]) == []


def _mean_place(size, d):
    places = enumerate(sorted(map(abs, d)), start=1)
    return np.mean([place for place, other in places if other == size])


def finals(method, values, problem="toy", **columns):
    """Return runs of one seed each that start at 0 and end at the given values."""
    return [
        made_run(method, seed, [0.0, value], problem=problem, **columns)
        for seed, value in enumerate(values)
    ]


def traces(*lists):
    return pd.concat(itertools.chain(*lists))


def scored(*lists):
    return scores(lines_of(traces(*lists)))


def table_of(**columns):
    """Return the scores of a task: by method a value for each seed, equal areas."""
    table = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    return pd.concat({"final": table, "area": table}, axis=1)


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


class TestReportOfSeveral:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "r.csv"
        runs = []
        for problem in ("one", "two"):
            runs += finals("robust", np.linspace(8.8, 9.0, 10), problem)
            runs += finals("skopt", np.linspace(7.8, 8.0, 10), problem)
            runs += finals("random", np.linspace(4.8, 5.0, 10), problem)
        runs += finals("robust", [9.0], "three")
        write_table(path, runs)
        return path

    def test_sections(self, path, capsys):
        assert main(["report", str(path)]) == 0
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
        main(["report", str(path)])
        text = capsys.readouterr().out
        assert text.index("of these 3,") < text.index("1 problem with runs of these 2,")
        assert "| robust | 1.00 | 1.00 | 0.2 |\n| random | 2.00 | 2.00 | 1 |" in text

    def test_bad_runs(self, path, capsys):
        main(["report", str(path), "--rivals", "skopt,random"])
        text = capsys.readouterr().out
        assert "| random | 2 | 0 | 0 | 10 |\n| all of them | 2 | 0 | 0 | 10 |" in text

    def test_a_line_for_each_run(self, path, tmp_path, capsys):
        runs = tmp_path / "runs.csv"
        assert main(["report", str(path), "--runs", str(runs)]) == 0
        lines = list(csv.DictReader(runs.read_text().splitlines()))
        assert len(lines) == 61
        skopt = [x for x in lines if (x["problem"], x["policy"]) == ("two", "skopt")]
        assert [int(line["seed"]) for line in skopt] == list(range(10))
        assert float(skopt[-1]["best"]) == 8.0
        assert float(skopt[-1]["final_regret"]) == 2.0
        with pytest.raises(SystemExit):
            main(["report", str(path), "--runs", str(tmp_path / "no" / "r.csv")])
        assert "Could not write" in capsys.readouterr().err

    def test_lines_of_runs_make_the_same_report(self, path, tmp_path, capsys):
        unknown = [*finals("robust", [3.0], "new", optimum=math.nan)]
        unknown += finals("skopt", [1.0, math.nan], "new", optimum=math.nan)
        write_table(path, [*unknown, all_rows(path)])
        Table(path).versions.add()
        runs = tmp_path / "runs.csv"
        main(["report", str(path), "--runs", str(runs)])
        text = capsys.readouterr().out
        main(["report", str(runs)])
        assert capsys.readouterr().out == text
        assert "Made with" in text

    def test_sittings_add_up(self, path, tmp_path, capsys):
        main(["report", str(path)])
        whole = capsys.readouterr().out
        runs = [run for _, run in all_rows(path).groupby(KEY)]
        first, second = tmp_path / "first.csv", tmp_path / "second.csv"
        kept = tmp_path / "kept.csv"
        write_table(first, runs[:33])
        write_table(second, runs[30:])
        main(["report", str(first), "--runs", str(kept)])
        main(["report", str(kept), str(second), "--runs", str(kept)])
        capsys.readouterr()
        main(["report", str(kept)])
        assert capsys.readouterr().out == whole

    def test_a_table_is_not_written_over_with_lines(self, path, capsys):
        text = path.read_text()
        with pytest.raises(SystemExit):
            main(["report", str(path), "--runs", str(path)])
        assert "holds something else" in capsys.readouterr().err
        assert path.read_text() == text

    def test_a_heading(self, path, capsys):
        main(["report", str(path), "--title", "All against all"])
        assert capsys.readouterr().out.startswith("# All against all\n\n| problem |")

    def test_versions_are_named(self, path, capsys):
        main(["report", str(path)])
        assert "Made with" not in capsys.readouterr().out
        Table(path).versions.add()
        main(["report", str(path)])
        text = capsys.readouterr().out
        assert f"numpy {np.__version__}" in text
        assert " cores)" in text

    def test_rivals_and_reference_can_be_chosen(self, path, capsys):
        main(["report", str(path), "--reference", "skopt", "--rivals", "robust"])
        text = capsys.readouterr().out
        assert "## Is skopt worse than another?" in text
        assert "| robust | 2 | 0 | 0 | 2 |" in text

    @pytest.mark.parametrize("option", ["--rivals", "--reference"])
    def test_typo_in_a_choice(self, option, path, capsys):
        with pytest.raises(SystemExit):
            main(["report", str(path), option, "robst"])
        assert "did you mean 'robust'" in capsys.readouterr().err

    def test_few_seeds_are_said_to_be_few(self, path, capsys):
        runs = [*finals("robust", [9.0]), *finals("skopt", [8.0])]
        write_table(path, [*runs, *finals("random", [5.0])])
        main(["report", str(path)])
        text = capsys.readouterr().out
        assert "With 1 seeds no difference can be significant" in text
        assert "With 1 seeds no test can reject" in text

    def test_nothing_to_test_is_said(self, path, capsys):
        write_table(path, [*finals("robust", [9.0]), *finals("skopt", [8.0])])
        main(["report", str(path)])
        assert "There is nothing to test" in capsys.readouterr().out

    def test_file(self, path, tmp_path, capsys):
        main(["report", str(path)])
        printed = capsys.readouterr().out
        assert main(["report", str(path), "--out", str(tmp_path / "r.md")]) == 0
        assert capsys.readouterr().out == ""
        assert (tmp_path / "r.md").read_text() == printed
        with pytest.raises(SystemExit):
            main(["report", str(path), "--out", str(tmp_path / "no" / "r.md")])
        assert "Could not write" in capsys.readouterr().err

    def test_stand_in_is_of_the_whole_table(self, path, capsys):
        ours = finals("robust", [3.0], optimum=math.nan)
        chance = finals("random", [1.0], optimum=math.nan)
        write_table(path, [*ours, *chance, *finals("skopt", [9.0], optimum=math.nan)])
        main(["report", str(path), "--policies", "robust,random"])
        assert "| robust | 1.00 | 1.00 | 0.75 |" in capsys.readouterr().out

    def test_lost_runs_are_counted(self, path, capsys):
        late = _pool.RunTimeoutError("why")
        for method, seed, error in [
            ("skopt", 20, _pool.RunFailedError("why")),
            ("skopt", 21, late),
            ("skopt", 22, late),
            ("skopt", 3, late),  # made good since
            ("other", 3, late),  # not asked for
        ]:
            note_failure(Table(path), RunKey("one", 2, method, seed), error, 5.0)
        main(["report", str(path), "--policies", "robust,skopt"])
        text = capsys.readouterr().out
        assert text.endswith("| one | 2 | skopt | 1 | 2 |\n")


class TestLostRuns:
    @pytest.fixture
    def lose(self, monkeypatch):
        """Make the runs here; those of the seeds in the set end with an error."""
        lost, made = {1: _pool.RunFailedError("a\nlast, line")}, []

        def run_here(job):
            (key,) = job.keys
            made.append(key)
            if key.seed in lost:
                raise lost[key.seed]
            return run_one(key)

        monkeypatch.setattr(_pool, "run_in_child", run_here)
        return lost, made

    def test_failures_are_noted_and_not_made_again(self, tmp_path, capsys, lose):
        lost, made = lose
        path = tmp_path / "r.csv"
        lost[2] = _pool.RunTimeoutError("not over after 3 seconds")
        assert run_command(path, "--timeout", "3") == 1
        log = read_failures(Table(path)).set_index(["problem", "seed"]).sort_index()
        assert log["kind"].tolist() == ["failed", "timeout"] * 2
        assert log.loc["branin", 1][["message", "limit"]].tolist() == ["last, line", 3]
        made.clear()
        capsys.readouterr()
        assert run_command(path) == 1
        assert not made
        assert "4 failed earlier" in capsys.readouterr().err

    def test_retry_makes_them_again(self, tmp_path, lose):
        lost, made = lose
        path = tmp_path / "r.csv"
        run_command(path)
        lost.clear()
        made.clear()
        assert run_command(path, "--retry") == 0
        assert {key.seed for key in made} == {1}
        assert len(all_rows(path)) == 6 * 4
        made.clear()
        assert run_command(path) == 0
        assert not made

    def test_torn_last_line_is_dropped(self, tmp_path):
        table = Table(tmp_path / "r.csv")
        path = table.failures.path
        key = RunKey("p", 3, "m", 0)

        def note(seed, message):
            error = _pool.RunFailedError(message)
            note_failure(table, key._replace(seed=seed), error, math.nan)

        note(0, 'odd, "quoted"')
        note(1, "other")
        path.write_text(path.read_text()[:-2])
        assert read_failures(table)["message"].tolist() == ['odd, "quoted"']
        note(1, "other")
        note(0, "again")
        assert read_failures(table)["message"].tolist() == ["other", "again"]

    @pytest.mark.parametrize("text", ["a,b\n", "a,b\n1,2\n"])
    def test_foreign_file_is_left_alone(self, text, tmp_path, capsys, lose):
        note = tmp_path / "r.failures.csv"
        note.write_text(text)
        with pytest.raises(SystemExit):
            run_command(tmp_path / "r.csv")
        assert "r.failures.csv should hold results" in capsys.readouterr().err
        assert note.read_text() == text

    def test_child_is_ended_when_its_time_is_over(self, tmp_path):
        late = job(tmp_path / "r.csv", RunKey("branin", 5, "sobol", 0), timeout=0.2)
        with pytest.raises(_pool.RunTimeoutError, match=r"not over after 0\.2 seconds"):
            _pool.run_in_child(late)

    @pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "soon"])
    def test_time_limit_must_make_sense(self, text, tmp_path, capsys):
        with pytest.raises(SystemExit):
            run_command(tmp_path / "r.csv", f"--timeout={text}")
        assert "must be a positive number of seconds" in capsys.readouterr().err


class TestFigure:
    def test_bands_are_quartiles(self):
        low, middle, high = bands(traces(finals("a", [1.0, 2.0, 3.0, 4.0, 5.0])))
        assert (low[1], middle[1], high[1]) == (6.0, 7.0, 8.0)

    def test_bands_stand_runs_without_a_value(self):
        lost = [made_run("a", i, [math.nan, math.nan]) for i in (7, 8)]
        low, middle, high = bands(traces(finals("a", [4.0, 5.0, 6.0]), lost))
        # Regrets 4, 5, 6, inf, inf.
        assert (low[1], middle[1], high[1]) == (5.0, 6.0, math.inf)

    def test_ten_methods_all_look_different(self):
        pytest.importorskip("matplotlib")
        names = [*(f"m{i}" for i in range(10)), "robust"]
        figure = draw(traces(*(finals(m, [1.0, 2.0]) for m in names)))
        lines = [
            line for line in figure.axes[0].get_lines() if line.get_label() in names
        ]
        looks = {(line.get_color(), str(line.get_linestyle())) for line in lines}
        assert len(looks) == len(lines) == 11
        (foremost,) = (line for line in lines if line.get_label() == "robust")
        assert foremost.get_linewidth() == max(line.get_linewidth() for line in lines)
        assert foremost.get_zorder() > min(line.get_zorder() for line in lines)


class TestPlotOfLines:
    def test_a_dot_for_each_run(self):
        pytest.importorskip("matplotlib")
        lost = [made_run("a", 7, [math.nan, math.nan])]
        unknown = finals("a", [4.0, 5.0], "new", optimum=math.nan)
        lists = finals("robust", [1.0, 2.0]), finals("a", [4.0, 10.0]), lost, unknown
        other, known = draw_finals(lines_of(traces(*lists))).axes
        labels = [label.get_text() for label in known.get_yticklabels()]
        assert labels == ["robust", "a"]
        dots = [line for line in known.get_lines() if line.get_marker() == "."]
        # The lost run has none, and no regret is below the floor.
        places = [line.get_xdata().tolist() for line in dots]
        assert places == [[9.0, 8.0], [6.0, FLOOR]]
        assert [line.get_ydata().tolist() for line in dots] == [[0, 0], [1, 1]]
        assert (known.get_xscale(), other.get_xscale()) == ("log", "linear")
        assert other.get_xlabel() == "best value"

    def test_method_without_a_value_has_an_empty_row(self):
        pytest.importorskip("matplotlib")
        lost = [made_run("a", 0, [math.nan, math.nan])]
        (panel,) = draw_finals(lines_of(traces(lost, finals("b", [1.0])))).axes
        assert len(panel.get_yticklabels()) == 2
        assert len(panel.get_lines()) == 3

    def test_command_draws_lines(self, tmp_path, capsys):
        pytest.importorskip("matplotlib")
        path, runs, image = (tmp_path / name for name in ("t.csv", "r.csv", "p.png"))
        write_table(path, finals("robust", [1.0, 2.0]))
        main(["report", str(path), "--runs", str(runs)])
        assert main(["plot", str(runs), "--out", str(image)]) == 0
        assert image.stat().st_size > 1000
        with pytest.raises(SystemExit):
            main(["plot", str(tmp_path / "none.csv"), "--out", str(image)])
        assert "There is no file" in capsys.readouterr().err


class TestStepCostOfPeers:
    class Counting:
        """A peer that proposes points and counts them."""

        def __init__(self, name, setup):
            self.setup, self.n_asked = setup, 0

        def ask(self):
            self.n_asked += 1
            return self.setup.space.sample(1, self.n_asked)[0]

        def tell(self, params, value):
            pass

    def test_peer_has_as_many_observations(self, monkeypatch):
        made = []

        def make_peer(name, setup):
            made.append(self.Counting(name, setup))
            return made[-1]

        monkeypatch.setattr(_step_times, "make_peer", make_peer)
        costs = _step_times.measure(["random", "skopt"], 8, 2, repeats=3, seeds=[0, 1])
        assert list(costs["method"]) == ["random"] * 6 + ["skopt"] * 6
        assert [peer.setup.seed for peer in made] == [0, 1]
        assert len(made[0].setup.initial) == 7
        assert made[0].setup.n_iter == made[0].n_asked == 11

    def test_comparison_is_of_means_and_medians(self):
        rows = [
            (method, n, 5, step)
            for n, method, steps in (
                (50, "robust", (1.0, 1.0, 4.0)),
                (50, "skopt", (8.0, 8.0, 8.0)),
                (100, "robust", (2.0, 2.0, 2.0)),
                (100, "skopt", (2.0, 2.0, 2.0)),
            )
            for step in steps
        ]
        columns = ["method", "observations", "dimensions", "step_ms"]
        costs = pd.DataFrame(rows, columns=columns)
        last = _step_cost.comparison(costs, ["robust"], ["skopt"]).splitlines()[-1]
        # 8 / 2 and 1: geometric mean 2; medians 8 / 1 and 1: the root of 8.
        assert last == "| skopt / robust | 5 | 4.00 | 1.00 | 2.00 | 2.83 |"

    def test_command_prints_both_tables(self, capsys, monkeypatch):
        monkeypatch.setattr(_step_cost, "is_one_thread", lambda: True)
        monkeypatch.setattr(_step_cost, "check_installed", lambda names: None)
        monkeypatch.setattr(_step_cost, "distributions", lambda names: [])
        monkeypatch.setattr(_step_times, "make_peer", self.Counting)
        words = "step-cost --policies random --peers skopt --n 6 9 --dims 2 --repeats 2"
        assert main(words.split()) == 0
        first, second, third = capsys.readouterr().out.split("\n\n")
        rows = [line.split(" | ")[:2] for line in first.splitlines()[2:]]
        assert rows == [
            [f"| {name}", n] for n in ("6", "9") for name in ("random", "skopt")
        ]
        assert second.splitlines()[-1].startswith("| skopt / random | 2 |")
        assert f"numpy {np.__version__}" in third
