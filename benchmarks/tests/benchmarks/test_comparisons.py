"""Reports and figures of several methods: paired tests, lines of runs, lost runs."""

import csv
import itertools
import math

import numpy as np
import pytest
from scipy.stats import wilcoxon
from test_benchmarks_cli import job, run_command

from made_runs import all_rows, finals, made_run, traces, two_problems, write_table
from skrobustbo_benchmarks import _pool
from skrobustbo_benchmarks._cli import main
from skrobustbo_benchmarks._plot import FLOOR, bands, draw, draw_finals
from skrobustbo_benchmarks._record import (
    KEY,
    RunKey,
    Table,
    note_failure,
    read_failures,
)
from skrobustbo_benchmarks._reproduce._claims import p_below, p_differ
from skrobustbo_benchmarks._single import run_one
from skrobustbo_benchmarks._traces import lines_of

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


def _mean_place(size, d):
    places = enumerate(sorted(map(abs, d)), start=1)
    return np.mean([place for place, other in places if other == size])


class TestReportOfSeveral:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "r.csv"
        write_table(path, two_problems())
        return path

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

    def test_file(self, path, tmp_path, capsys):
        main(["report", str(path)])
        printed = capsys.readouterr().out
        assert main(["report", str(path), "--out", str(tmp_path / "r.md")]) == 0
        assert capsys.readouterr().out == ""
        assert (tmp_path / "r.md").read_text() == printed
        with pytest.raises(SystemExit):
            main(["report", str(path), "--out", str(tmp_path / "no" / "r.md")])
        assert "Could not write" in capsys.readouterr().err

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
