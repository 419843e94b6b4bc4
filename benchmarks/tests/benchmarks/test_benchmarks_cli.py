"""The benchmark command: runs, resuming, the report's numbers, the figure, times."""

import json
import math
import re
import subprocess
import sys
from concurrent.futures import wait
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from made_runs import all_rows, made_run, write_table
from skrobustbo.space import Space
from skrobustbo_benchmarks import (
    _methods,
    _pool,
    _single,
    problems,
)
from skrobustbo_benchmarks._args import name_list, seed_list
from skrobustbo_benchmarks._cli import main
from skrobustbo_benchmarks._plot import FLOOR, curves
from skrobustbo_benchmarks._pool import Job, RunFailedError, execute
from skrobustbo_benchmarks._record import TRACE, RunKey, Table, keys_of
from skrobustbo_benchmarks._report import markdown
from skrobustbo_benchmarks._report import summarise as summarise_lines
from skrobustbo_benchmarks._single import initial_count, run_one
from skrobustbo_benchmarks._traces import lines_of
from skrobustbo_benchmarks.problems import Problem


def timeless(rows):
    """Return the rows as text, which compares nan as equal, in a fixed order."""
    return sorted(Table("").text(rows.assign(cpu_seconds=0.0)).splitlines())


def job(path, *keys, timeout=None):
    return Job(keys, Table(path), "skrobustbo_benchmarks._single", timeout)


def run_command(path, *extra, policies="sobol", seeds="0-2", n_iter=4):
    words = f"run --problems branin,wang-trap --policies {policies} --seeds {seeds}"
    return main([*words.split(), "--n-iter", str(n_iter), "--out", str(path), *extra])


@pytest.fixture
def in_process(monkeypatch):
    """Make the runs here, and list them: starting Python takes a second each."""
    made = []

    def run_here(job):
        made.extend(job.keys)
        return pd.concat(map(run_one, job.keys))

    monkeypatch.setattr(_pool, "run_in_child", run_here)
    return made


class TestArguments:
    def test_names_are_split_at_commas_and_kept_once(self):
        assert name_list(["a,b_c", "A", "d,"]) == ["a", "b-c", "d"]

    def test_seeds(self):
        assert seed_list("3,0-2,1") == [3, 0, 1, 2]

    @pytest.mark.parametrize("text", ["", "a", "3-1", "-2", "1,,2"])
    def test_seeds_that_make_no_sense_are_refused(self, text, tmp_path, capsys):
        with pytest.raises(SystemExit) as end:
            run_command(tmp_path / "r.csv", f"--seeds={text}")
        assert end.value.code == 2
        assert "such as 0,3,7 or a range such as 0-9" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("option", "typo", "message"),
        [
            ("--problems", "brannin", "name of a problem .* did you mean 'branin'"),
            ("--problems", "trap(dim=3)", "setting of the problem 'trap'.*Got 'dim'"),
            ("--problems", "trap(d=0)", "trap.d=0.: 'd' must be an integer >= 1"),
            ("--problems", "trap(d='two')", "trap.d='two'.: 'str' object"),
            ("--policies", "sobool", "name of a policy .* did you mean 'sobol'"),
            ("--n-iter", "0", "must be an integer >= 1"),
            ("--jobs", "two", "must be an integer >= 1"),
        ],
    )
    def test_typo_is_caught_before_anything_runs(
        self, option, typo, message, tmp_path, capsys, in_process
    ):
        path = tmp_path / "r.csv"
        with pytest.raises(SystemExit) as end:
            run_command(path, option, typo)
        assert end.value.code == 2
        assert re.search(message, capsys.readouterr().err)
        assert not path.exists()
        assert not in_process

    def test_help_lists_the_commands(self, capsys):
        with pytest.raises(SystemExit):
            main(["--help"])
        text = capsys.readouterr().out
        for command in (
            "run",
            "report",
            "plot",
            "reproduce",
        ):
            assert re.search(rf"^    {command}\s", text, re.MULTILINE)

    def test_missing_pandas_names_the_remedy(self):
        program = (
            "import sys, runpy; sys.modules['pandas'] = None; "
            "runpy.run_module('skrobustbo_benchmarks', run_name='__main__')"
        )
        words = [sys.executable, "-c", program]
        child = subprocess.run(words, capture_output=True, text=True)
        assert child.returncode == 1
        assert 'pip install pandas, or "skrobustbo-benchmarks[peers]"' in child.stderr


class TestOneRun:
    def test_problem_with_settings(self, tmp_path, in_process):
        words = ["--problems", "branin,trap(d=3,kind='ridge')", "--seeds", "4"]
        path = tmp_path / "r.csv"
        assert run_command(path, *words, "--policies", "sobol", "--n-iter", "5") == 0
        runs, _ = Table(path).read()
        assert set(runs["problem"]) == {"branin", "trap(d=3,kind='ridge')"}
        problem = problems.get("trap", d=3, kind="ridge", seed=4)
        assert runs["optimum"].to_numpy()[-1] == pytest.approx(problem.optimum)

    def test_rows(self):
        rows = run_one(RunKey("wang-trap", 7, "sobol", 3))
        problem = problems.get("wang-trap")
        assert rows.columns.tolist() == list(TRACE)
        assert rows["step"].tolist() == list(range(1, 8))
        assert keys_of(rows) == {RunKey("wang-trap", 7, "sobol", 3)}
        assert keys_of(rows, ["n_initial", "n_evals"]) == {(3, 7)}
        design = problem.initial_params(3, 3)
        assert rows["value"][:3].tolist() == [problem.func(p) for p in design]
        assert rows["best"].tolist() == rows["value"].cummax().tolist()
        noise = (rows["observed"] - rows["value"]).abs()
        assert 0 < noise.min() <= noise.max() < 5 * problem.noise_std
        assert rows["model_label"].tolist() == ["initial"] * 3 + ["sobol"] * 4
        assert (rows["cpu_seconds"] >= 0).all()

    def test_depends_on_the_key_only(self):
        key = RunKey("wang-trap", 6, "sobol", 0)
        assert timeless(run_one(key)) == timeless(run_one(key))
        assert timeless(run_one(key)) != timeless(run_one(key._replace(seed=1)))

    def test_all_methods_meet_the_same_start(self):
        ours, theirs = (
            run_one(RunKey("wang-trap", 9, name, 5)) for name in ("random", "sobol")
        )
        columns = ["value", "observed"]
        assert ours[columns][:3].equals(theirs[columns][:3])
        assert ours["value"][3] != theirs["value"][3]
        assert ours["model_label"][2] == "initial"

    @pytest.mark.parametrize(
        ("name", "n_iter", "expected"),
        [
            ("branin", 50, 6),
            ("branin", 12, 4),
            ("branin", 5, 3),
            ("branin", 2, 2),
            ("hartmann6", 100, 14),
            ("berkenkamp", 50, 3),
        ],
    )
    def test_size_of_the_initial_design(self, name, n_iter, expected):
        assert initial_count(problems.get(name), n_iter) == expected

    def test_ends_when_the_space_is_exhausted(self, monkeypatch):
        class Short(_methods.SobolMethod):
            def ask(self):
                if self._n_told == 4:
                    raise _methods.ExhaustedError
                return super().ask()

        monkeypatch.setitem(_methods.BASELINES, "short", Short)
        rows = run_one(RunKey("branin", 9, "short", 0))
        assert rows["step"].tolist() == [1, 2, 3, 4]
        assert set(rows["n_evals"]) == {4}

    def test_policy_that_exhausts_the_space_ends_the_run(self, monkeypatch):
        problem = Problem(
            name="five",
            space=Space({"x": [1, 2, 3, 4, 5]}),
            func=lambda params: float(params["x"]),
            source="the identity",
            initial_design=lambda seed, n: [{"x": i} for i in range(1, n + 1)],
        )
        monkeypatch.setattr(_single, "made_problem", lambda name: problem)
        rows = run_one(RunKey("five", 9, "random", 0))
        assert rows["value"][:3].tolist() == [1.0, 2.0, 3.0]
        assert set(rows["value"][3:]) == {4.0, 5.0}
        assert set(rows["n_evals"]) == {5}

    def test_failed_evaluations_do_not_count_as_best(self, monkeypatch):
        values = iter([math.nan, -3.0, math.nan, -2.0])
        problem = replace(problems.get("branin"), func=lambda params: next(values))
        monkeypatch.setattr(_single, "made_problem", lambda name: problem)
        rows = run_one(RunKey("branin", 4, "sobol", 0))
        assert math.isnan(rows["best"][0])
        assert rows["best"][1:].tolist() == [-3.0, -3.0, -2.0]

    def test_rows_survive_the_file_to_the_last_bit(self):
        rows = run_one(RunKey("wang-trap", 4, "sobol", 0))
        odd = rows[:1].assign(value=0.1 + 0.2, model_label='a,"b"', optimum=math.inf)
        both = pd.concat([odd, rows.assign(value=math.nan, model_label="nan")])
        read = Table("").parse(Table("").text(both))
        pd.testing.assert_frame_equal(
            read, both.reset_index(drop=True), check_dtype=False, check_exact=True
        )


class TestRunCommand:
    @pytest.mark.slow
    def test_jobs_do_not_change_the_rows(self, tmp_path):
        words = "run --problems berkenkamp_trap --policies random --seeds 0,1"
        tables = []
        for jobs in ("1", "2"):
            path = tmp_path / f"jobs{jobs}.csv"
            options = ["--n-iter", "5", "--out", str(path), "--jobs", jobs]
            assert main([*words.split(), *options]) == 0
            tables.append(timeless(all_rows(path)))
        assert tables[0] == tables[1]
        assert len(tables[0]) == 10

    def test_runs_what_was_asked_for(self, tmp_path, in_process):
        assert run_command(tmp_path / "r.csv") == 0
        assert in_process == [
            RunKey(problem, 4, "sobol", seed)
            for problem in ("branin", "wang-trap")
            for seed in range(3)
        ]
        assert len(all_rows(tmp_path / "r.csv")) == 6 * 4

    def test_space_separated_lists(self, tmp_path, in_process):
        words = "run --problems branin wang_trap --policies sobol random --seeds 1"
        out = ["--n-iter", "3", "--out", str(tmp_path / "r.csv")]
        assert main([*words.split(), *out]) == 0
        assert {key.policy for key in in_process} == {"sobol", "random"}
        assert len(in_process) == 4

    def test_complete_runs_are_skipped(self, tmp_path, in_process):
        path = tmp_path / "r.csv"
        run_command(path)
        before = path.read_bytes()
        in_process.clear()
        assert run_command(path) == 0
        assert not in_process
        assert path.read_bytes() == before
        run_command(path, seeds="0-3")
        assert {key.seed for key in in_process} == {3}

    @pytest.mark.parametrize("cut", [1, 30, 90, 500])
    def test_resumes_after_a_torn_write(self, cut, tmp_path, in_process):
        path = tmp_path / "r.csv"
        run_command(path)
        whole = path.read_bytes()
        rows = timeless(all_rows(path))
        path.write_bytes(whole[:-cut])
        in_process.clear()
        run_command(path)
        assert timeless(all_rows(path)) == rows
        n_whole_rows = whole[:-cut].count(b"\n") - 1
        assert len(in_process) == 6 - n_whole_rows // 4 > 0

    @pytest.mark.parametrize("rest", [0, 5])
    def test_resumes_after_a_torn_header(self, rest, tmp_path, in_process):
        path = tmp_path / "r.csv"
        path.write_text(",".join(TRACE)[:rest])
        run_command(path)
        assert len(all_rows(path)) == 24

    def test_run_that_is_there_twice_counts_once(self, tmp_path, in_process):
        path = tmp_path / "r.csv"
        run = made_run("sobol", 0, [1.0, 2.0])
        write_table(path, [run, run])
        run_command(path, seeds="0", n_iter=3)
        assert len(all_rows(path)) == 2 + 2 * 3

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a,b\n1,2\n", "first line is not the header"),
            (",".join(TRACE) + "\n1,2\n", "a line is damaged"),
        ],
    )
    def test_foreign_file_is_left_alone(self, text, message, tmp_path, capsys):
        path = tmp_path / "r.csv"
        path.write_text(text)
        with pytest.raises(SystemExit) as end:
            run_command(path)
        assert end.value.code == 2
        assert message in capsys.readouterr().err
        assert path.read_text() == text

    def test_folder_must_exist(self, tmp_path, capsys):
        with pytest.raises(SystemExit):
            run_command(tmp_path / "no" / "r.csv")
        assert "create it, or give another --out" in capsys.readouterr().err

    def test_versions_are_noted_and_compared(self, tmp_path, capsys, in_process):
        path, note = tmp_path / "r.csv", tmp_path / "r.versions.json"
        run_command(path, seeds="0")
        (versions,) = json.loads(note.read_text())
        assert versions["numpy"] == np.__version__
        assert "mixes" not in capsys.readouterr().err
        note.write_text(json.dumps([versions | {"numpy": "1.0"}]))
        run_command(path, seeds="1")
        assert "mixes runs of different versions of numpy." in capsys.readouterr().err
        assert len(json.loads(note.read_text())) == 2

    def test_failed_run_leaves_the_others(self, tmp_path, capsys, monkeypatch):
        def run_here(job):
            if job.keys[0].seed == 1:
                raise RunFailedError("no such luck")
            return run_one(job.keys[0])

        monkeypatch.setattr(_pool, "run_in_child", run_here)
        assert run_command(tmp_path / "r.csv") == 1
        assert set(all_rows(tmp_path / "r.csv")["seed"]) == {0, 2}
        text = capsys.readouterr().err
        assert "branin sobol seed 1: failed\nno such luck" in text
        assert "4 are new, 2 failed" in text

    @pytest.mark.parametrize("seen_first", [False, True])
    def test_interrupt_starts_nothing_more_and_keeps_what_is_over(
        self, tmp_path, monkeypatch, seen_first
    ):
        started = []

        def interrupt_before_result(futures):
            over, interrupted, *_ = futures
            wait([over, interrupted])
            return iter([interrupted, over])

        if seen_first:
            monkeypatch.setattr(_pool, "as_completed", interrupt_before_result)

        def run_here(job):
            started.append(job)
            if len(started) == 2:
                raise KeyboardInterrupt
            return run_one(job.keys[0])

        monkeypatch.setattr(_pool, "run_in_child", run_here)
        table = Table(tmp_path / "r.csv")
        table.open()
        keys = [RunKey("branin", 3, "sobol", seed) for seed in range(200)]
        with pytest.raises(KeyboardInterrupt):
            execute([job(table.path, key) for key in keys], 1)
        assert len(started) < 200
        assert len(all_rows(table.path)) >= 3
        assert keys[0] in keys_of(all_rows(table.path))

    def test_interrupt_keeps_what_jobs_have_made_and_notes_no_failure(
        self, tmp_path, monkeypatch
    ):
        """A child that an interrupt ends has failed, and may have made some runs."""
        keys = [RunKey("branin", 3, "sobol", seed) for seed in range(4)]

        def interrupted(futures):
            wait(futures)
            raise KeyboardInterrupt

        def run_here(job):
            if len(job.keys) > 1:
                raise RunFailedError("KeyboardInterrupt", run_one(job.keys[0]))
            return run_one(job.keys[0])

        monkeypatch.setattr(_pool, "as_completed", interrupted)
        monkeypatch.setattr(_pool, "run_in_child", run_here)
        table = Table(tmp_path / "r.csv")
        table.open()
        jobs = [job(table.path, *keys[:2]), job(table.path, keys[2])]
        with pytest.raises(KeyboardInterrupt):
            execute(jobs, 2)
        assert keys_of(all_rows(table.path)) == {keys[0], keys[2]}
        assert not table.failures.path.exists()

    def test_interrupt_while_a_result_is_told_loses_nothing(
        self, tmp_path, monkeypatch
    ):
        keys = [RunKey("branin", 3, "sobol", seed) for seed in range(2)]

        def interrupt(text):
            raise KeyboardInterrupt

        def run_here(job):
            raise RunFailedError("why", run_one(keys[0]))

        monkeypatch.setattr(_pool, "say", interrupt)
        monkeypatch.setattr(_pool, "run_in_child", run_here)
        table = Table(tmp_path / "r.csv")
        table.open()
        with pytest.raises(KeyboardInterrupt):
            execute([job(table.path, *keys)], 1)
        assert keys_of(all_rows(table.path)) == {keys[0]}

    def test_child_says_why_it_failed_and_keeps_what_it_made(self, tmp_path):
        good, bad = RunKey("branin", 3, "sobol", 0), RunKey("no-such", 3, "sobol", 0)
        with pytest.raises(
            RunFailedError, match=r"must be one of .*'berkenkamp'"
        ) as error:
            _pool.run_in_child(job(tmp_path / "r.csv", good, bad))
        assert timeless(error.value.made) == timeless(run_one(good))

    def test_failure_is_that_of_the_first_run_that_is_missing(
        self, tmp_path, monkeypatch
    ):
        keys = [RunKey("branin", 3, "sobol", seed) for seed in range(3)]

        def fail(job):
            raise RunFailedError("why", run_one(keys[0]))

        monkeypatch.setattr(_pool, "run_in_child", fail)
        table = Table(tmp_path / "r.csv")
        table.open()
        assert execute([job(table.path, *keys)], 1) == 1
        assert keys_of(all_rows(table.path)) == {keys[0]}
        assert keys_of(table.failures.read()[0]) == {keys[1]}

    def test_child_has_one_thread(self, monkeypatch, tmp_path):
        def fake_run(program, *, env, **options):
            assert {env[name] for name in _pool.THREAD_VARIABLES} == {"1"}
            assert program[:3] == [
                sys.executable,
                "-m",
                "skrobustbo_benchmarks._single",
            ]
            _pool.make_runs(program[3:], run_one)
            return subprocess.CompletedProcess(program, 0, stderr="")

        monkeypatch.setattr(subprocess, "run", fake_run)
        key = RunKey("branin", 3, "sobol", 0)
        rows = _pool.run_in_child(job(tmp_path / "r.csv", key))
        assert timeless(rows) == timeless(run_one(key))


def summarise(*runs):
    return summarise_lines(lines_of(pd.concat(runs)))


class TestReport:
    RUNS = (
        made_run("good", 0, [1.0, 9.0, 3.0], cpu=[9.0, 0.001, 0.002]),
        made_run("good", 1, [4.0, 6.0, 6.0], cpu=[9.0, 0.003, 0.004]),
        made_run("good", 2, [2.0, 2.0, 8.0], cpu=[9.0, 0.005, 0.015]),
    )

    def test_numbers(self):
        (summary,) = summarise(*self.RUNS).itertuples()
        assert summary.n_seeds == 3
        # Best values 9, 6, 8: regrets 1, 4, 2.
        assert summary.best == 8.0
        assert summary.regret == 2.0
        assert summary.regret_90 == pytest.approx(2.0 + 0.8 * (4.0 - 2.0))
        # Sums of 10 - value: 9 + 1 + 7 = 17, 6 + 4 + 4 = 14, 8 + 8 + 2 = 18.
        assert summary.cumulative == pytest.approx(49 / 3)
        deviations = np.array([17, 14, 18]) - 49 / 3
        variance = (deviations**2).sum() / 2
        assert summary.cumulative_se == pytest.approx(math.sqrt(variance / 3))
        # Best regrets after the initial point: 1, 1; 4, 4; 8, 2.
        assert summary.area == pytest.approx(10 / 3)
        # Steps after the initial design: 1, 2, 3, 4, 5 and 15 ms.
        assert summary.cpu_median == pytest.approx(3.5)
        assert summary.cpu_mean == pytest.approx(5.0)
        assert summary.n_stuck == 0

    def test_stuck_runs_are_counted(self):
        runs = [made_run("p", i, [1.0, b]) for i, b in enumerate([4.9, 5.0, 9.0])]
        runs.append(made_run("p", 3, [math.nan, math.nan]))
        assert summarise(*runs)["n_stuck"].tolist() == [2]

    def test_failed_evaluations_are_left_out_of_the_sum(self):
        run = made_run("p", 0, [math.nan, 8.0])
        assert summarise(run)["cumulative"].tolist() == [2.0]

    def test_run_without_a_value_is_infinitely_bad_and_blanks_nothing(self):
        lost = made_run("good", 3, [math.nan] * 3)
        found = summarise(*self.RUNS, lost)
        (summary,) = found.itertuples()
        # Best values 9, 6, 8 and none.
        assert (summary.best, summary.regret) == (7.0, 3.0)
        assert summary.regret_90 == summary.area == summary.cumulative == math.inf
        assert math.isnan(summary.cumulative_se)
        row = markdown(found).splitlines()[-1]
        assert row.startswith("| toy | 3 | good | 4 | 7 | 3 | inf | inf ± - | inf |")

    def test_percentile_beside_a_run_without_a_value_is_a_number(self):
        # The percentile is the tenth of eleven, and no mean with the last.
        runs = [made_run("p", i, [0.0, 9.0 - i]) for i in range(10)]
        runs.append(made_run("p", 10, [math.nan, math.nan]))
        assert summarise(*runs)["regret_90"].tolist() == [10.0]

    @pytest.mark.parametrize("optimum", [10.0, math.nan])
    def test_policy_without_a_value_comes_last(self, optimum):
        values = {"a": math.nan, "b": 1.0, "c": math.nan, "d": 2.0}
        runs = [made_run(p, 0, [v], optimum=optimum) for p, v in values.items()]
        lines = markdown(summarise(*runs)).splitlines()[2:]
        names = [line.split(" | ")[2] for line in lines]
        assert names == ["d", "b", "a", "c"]

    def test_without_optimum_trap_and_model_steps(self):
        run = made_run("p", 0, [1.0], optimum=math.nan, stuck_below=math.nan)
        row = markdown(summarise(run)).splitlines()[-1]
        assert row == "| toy | 1 | p | 1 | 1 | - | - | - ± - | - | - | - | - |"

    def test_command_prints_the_better_policy_first(self, tmp_path, capsys):
        worse = [made_run("a-bad", seed, [1.0, 2.0, 3.0]) for seed in range(3)]
        write_table(tmp_path / "r.csv", [*worse, *self.RUNS])
        assert main(["report", str(tmp_path / "r.csv")]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[2] == (
            "| toy | 3 | good | 3 | 8 | 2 | 3.6 | 16.33 ± 1.2 | 3.33 | 3.5 | 5 | 0/3 |"
        )
        assert lines[3].startswith("| toy | 3 | a-bad | 3 | 3 | 7 | 7 | 24 ± 0 |")
        assert lines[3].endswith("| 3/3 |")

    def test_run_lengths_are_not_mixed(self, tmp_path, capsys):
        short = made_run("good", 0, [1.0, 2.0])
        write_table(tmp_path / "r.csv", [*self.RUNS, short])
        main(["report", str(tmp_path / "r.csv")])
        lines = capsys.readouterr().out.splitlines()[2:]
        assert [line.split(" | ")[1:4] for line in lines] == [
            ["2", "good", "1"],
            ["3", "good", "3"],
        ]

    def test_filters(self, tmp_path, capsys):
        path = tmp_path / "r.csv"
        other = made_run("other", 0, [1.0, 2.0, 3.0])
        write_table(path, [*self.RUNS, other])
        main(["report", str(path), "--policies", "other", "--problems", "toy"])
        assert len(capsys.readouterr().out.splitlines()) == 3
        with pytest.raises(SystemExit):
            main(["report", str(path), "--policies", "othr"])
        assert "did you mean 'other'" in capsys.readouterr().err

    def test_incomplete_runs_are_left_out(self, tmp_path, capsys):
        path = tmp_path / "r.csv"
        write_table(path, [*self.RUNS, self.RUNS[0][:2]])
        main(["report", str(path)])
        captured = capsys.readouterr()
        assert "Incomplete runs are left out" in captured.err
        assert "| good | 3 |" in captured.out

    @pytest.mark.parametrize("text", [None, ",".join(TRACE) + "\n"])
    def test_nothing_to_report(self, text, tmp_path, capsys):
        path = tmp_path / "r.csv"
        if text is not None:
            path.write_text(text)
        with pytest.raises(SystemExit) as end:
            main(["report", str(path)])
        assert end.value.code == 2
        assert "r.csv" in capsys.readouterr().err


class TestPlot:
    def test_curves_are_regrets_padded_and_floored(self):
        runs = [made_run("p", 0, [1.0, 10.0]), made_run("p", 1, [4.0, 2.0, 5.0])]
        expected = [[9.0, FLOOR, FLOOR], [6.0, 6.0, 5.0]]
        np.testing.assert_array_equal(curves(pd.concat(runs)), expected)

    def test_optimum_is_that_of_the_run_and_the_step(self):
        ours = made_run("p", 0, [1.0, 4.0])
        moving = made_run("p", 1, [1.0, 2.0], optimum=[5.0, 8.0])
        drawn = curves(pd.concat([ours, moving]))
        np.testing.assert_array_equal(drawn, [[9, 6], [4, 6]])

    def test_curves_are_best_values_without_optimum(self):
        run = made_run("p", 0, [1.0, 0.5], optimum=math.nan)
        np.testing.assert_array_equal(curves(run), [[1.0, 1.0]])

    def test_figure_is_written(self, tmp_path):
        pytest.importorskip("matplotlib")
        runs = [made_run(p, s, [1.0, 2.0 + s]) for p in ("a", "b") for s in range(3)]
        runs.append(made_run("a", 0, [1.0], problem="other", optimum=math.nan))
        write_table(tmp_path / "r.csv", runs)
        out = tmp_path / "fig.png"
        assert main(["plot", str(tmp_path / "r.csv"), "--out", str(out)]) == 0
        assert out.read_bytes().startswith(b"\x89PNG")

    def test_missing_matplotlib_names_the_remedy(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        write_table(tmp_path / "r.csv", [made_run("a", 0, [1.0])])
        with pytest.raises(SystemExit):
            main(["plot", str(tmp_path / "r.csv"), "--out", str(tmp_path / "f.png")])
        assert 'pip install "./benchmarks[plot]"' in capsys.readouterr().err

    def test_unknown_image_format(self, tmp_path, capsys):
        pytest.importorskip("matplotlib")
        write_table(tmp_path / "r.csv", [made_run("a", 0, [1.0])])
        with pytest.raises(SystemExit):
            main(["plot", str(tmp_path / "r.csv"), "--out", str(tmp_path / "f.xyz")])
        assert "Could not write" in capsys.readouterr().err


class TestChangingProblems:
    def test_regret_is_that_of_each_step(self):
        run = run_one(RunKey("tv-within-model", 6, "sobol", 3))
        problem = problems.get("tv-within-model").sample_function(3)
        assert run["optimum"].tolist() == [problem.optimum_at(t) for t in range(1, 7)]
        assert run["best"].equals(run["value"])
        assert (run["value"] <= run["optimum"] + 1e-9).all()

    def test_the_seed_draws_the_function(self):
        optima = {
            run_one(RunKey("rkhs", 3, "sobol", s))["optimum"][0] for s in range(3)
        }
        assert len(optima) == 3
