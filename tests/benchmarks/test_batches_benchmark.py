"""Candidates side by side: real runs with tiny settings, and tables of runs made up."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest

from skrobustbo import Optimizer, problems
from skrobustbo.benchmarks import _cli
from skrobustbo.benchmarks._batches import _command, _draw, _report, _search
from skrobustbo.benchmarks._batches._search import Key, Run, Watch
from skrobustbo.benchmarks._lines import LineTable
from skrobustbo.benchmarks._pool import RunFailedError

TINY = (
    "--problems branin --timed-problems branin --batch-sizes 1 4 --seeds 0-1 "
    "--timed-seeds 0 --n-iter 8 --fold-seconds 0.02"
)


def command(path, *more):
    return ["batches", "--out", str(path), *TINY.split(), *more]


def table_at(path):
    return LineTable(path, Run, "batches")


def made_up(key):
    """Return a run whose regret falls as the batch is small, and time as it is large.

    The optimum is 1; the first two evaluations are the initial design.
    """
    steps = np.arange(1, key.n_iter + 1)
    regrets = (1 + key.seed) * key.batch_size / steps
    rounds = np.ceil(steps / key.batch_size)
    return Run(
        **key._asdict(),
        n_initial=2,
        optimum=1.0,
        tuner_seconds=0.25,
        seconds=(rounds * max(key.fold_seconds, 0.01)).tolist(),
        best=(1.0 - regrets).tolist(),
    )


@pytest.fixture
def made(monkeypatch):
    """Make up the runs instead of running; the keys asked for, in this list."""
    keys = []

    def run_in_child(key):
        keys.append(key)
        return made_up(key)

    monkeypatch.setattr(_command, "run_in_child", run_in_child)
    return keys


# -- real runs --------------------------------------------------------------------


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(_command, "run_in_child", _search.run_one)
    path = tmp_path / "r.csv"
    assert _cli.main(command(path)) == 0
    runs = table_at(path).read()
    assert len(runs) == 6
    for key, run in runs.items():
        assert len(run.best) == len(run.seconds) == 8
        assert (np.diff(run.best) >= 0).all()
        assert (np.diff(run.seconds) >= 0).all()
        n_rounds = np.ceil(8 / key.batch_size)
        assert run.seconds[-1] >= n_rounds * key.fold_seconds
    out = capsys.readouterr().out
    assert "Regret for 8 evaluations" in out
    assert "8 evaluations with fits of 0.02 s" in out


def test_fits_of_a_round_are_side_by_side(monkeypatch):
    together = threading.Barrier(4, timeout=60)

    def fit(self, X, y=None):
        together.wait()
        return self

    monkeypatch.setattr(_search.Sleeper, "fit", fit)
    run = _search.run_one(Key("branin", "random", 4, 0, 8, 0.3))
    assert len(run.best) == 8


def test_one_at_a_time_is_what_the_optimizer_does():
    run = _search.run_one(Key("branin", "robust", 1, 3, 9, 0.0))
    problem = problems.get("branin")
    optimizer = Optimizer(
        problem.space,
        n_initial_points=3,
        initial_params=problem.initial_params(3, 3),
        horizon=9,
        random_state=np.random.RandomState(3),
    )
    values = []
    for _ in range(9):
        params = optimizer.ask()
        values.append(problem.func(params))
        optimizer.tell(params, values[-1])
    assert run.n_initial == 3
    np.testing.assert_array_equal(run.best, np.maximum.accumulate(values))


def test_batches_share_the_initial_design():
    one, two = (
        _search.run_one(Key("branin", "random", size, 1, 9, 0.0)) for size in (1, 2)
    )
    assert one.best[:3] == two.best[:3]


def test_noise_is_the_points_own_and_not_shown():
    problem = problems.get("wang-trap")
    point = problem.initial_params(0, 1)[0]
    sleeper = _search.Sleeper(0.0, **point)
    first, second = Watch(problem, 5), Watch(problem, 6)
    observed = first(sleeper, None)
    assert observed == first(sleeper, None)
    assert observed != second(sleeper, None)
    assert first.seen[0][1] == problem.func(point) != observed


def test_child_says_what_went_wrong():
    key = Key("no-such-problem", "robust", 1, 0, 4, 0.0)
    with pytest.raises(RunFailedError, match="no-such-problem"):
        _command.run_in_child(key)


def test_child_returns_its_run(monkeypatch):
    key, seen = Key("branin", "robust", 2, 0, 4, 0.0), {}

    def run(program, env, **options):
        seen.update(env, key=Key(*json.loads(program[-1])))
        text = json.dumps(made_up(key).__dict__)
        return subprocess.CompletedProcess(program, 0, text, "")

    monkeypatch.setattr(subprocess, "run", run)
    assert _command.run_in_child(key) == made_up(key)
    assert seen["key"] == key
    assert seen["OMP_NUM_THREADS"] == "1"


# -- which runs -------------------------------------------------------------------


def test_the_same_command_runs_nothing_twice(tmp_path, made, capsys):
    path = tmp_path / "r.csv"
    assert _cli.main(command(path, "--jobs", "2")) == 0
    first = path.read_text()
    assert len(made) == len(set(made)) == 6
    assert _cli.main(command(path)) == 0
    assert len(made) == 6
    assert path.read_text() == first
    assert "6 of 6 runs are there" in capsys.readouterr().err


def test_a_torn_line_is_made_again(tmp_path, made):
    path = tmp_path / "r.csv"
    _cli.main(command(path))
    whole = path.read_text()
    path.write_text(whole[:-20])
    _cli.main(command(path))
    assert len(made) == 7
    assert path.read_text() == whole


def test_timed_runs_come_last_and_can_be_left_out(tmp_path, made):
    _cli.main(command(tmp_path / "a.csv"))
    assert [key.fold_seconds for key in made] == [0.0] * 4 + [0.02] * 2
    made.clear()
    _cli.main(command(tmp_path / "b.csv", "--fold-seconds", "0"))
    assert [key.fold_seconds for key in made] == [0.0] * 4


def test_policies_are_compared_on_paired_seeds(tmp_path, made):
    _cli.main(command(tmp_path / "r.csv", "--policies", "robust,random"))
    seeds = {
        (key.policy, key.batch_size): {k.seed for k in made if k[:3] == key[:3]}
        for key in made
    }
    assert len(seeds) == 4
    assert set(map(frozenset, seeds.values())) == {frozenset({0, 1})}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--problems", "brannin", "did you mean 'branin'"),
        ("--timed-problems", "slow-change", "must not change in time"),
        ("--problems", "mnist-logistic", "must have a known optimum"),
        ("--policies", "robustt", "did you mean 'robust'"),
        ("--batch-sizes", "0", "must be an integer >= 1"),
        ("--fold-seconds", "-1", "must be a number >= 0"),
        ("--fold-seconds", "long", "must be a number >= 0"),
    ],
)
def test_what_cannot_be_run_is_refused_first(
    option, value, message, tmp_path, made, capsys
):
    path = tmp_path / "r.csv"
    with pytest.raises(SystemExit) as caught:
        _cli.main(command(path, f"{option}={value}"))
    assert caught.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not made
    assert not path.exists()


def test_a_failed_run_is_told(tmp_path, monkeypatch, capsys):
    def run_in_child(key):
        raise RunFailedError("out of luck")

    monkeypatch.setattr(_command, "run_in_child", run_in_child)
    assert _cli.main(command(tmp_path / "r.csv")) == 1
    captured = capsys.readouterr()
    assert captured.err.count("out of luck") == 6
    assert "There are no runs yet." in captured.out


def test_report_only_needs_a_file(tmp_path, capsys):
    with pytest.raises(SystemExit):
        _cli.main(command(tmp_path / "r.csv", "--report-only"))
    assert "There is no file" in capsys.readouterr().err


# -- the report -------------------------------------------------------------------


def runs_of(sizes, seeds, fold_seconds=0.0, n_iter=8):
    return [
        made_up(Key("branin", "robust", size, seed, n_iter, fold_seconds))
        for size in sizes
        for seed in seeds
    ]


def row_of(text, size):
    (row,) = [line for line in text.splitlines() if f"| robust | {size} |" in line]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_area_begins_after_the_initial_design():
    (run,) = runs_of([1], [0], n_iter=4)
    assert _report.area(run) == pytest.approx((1 / 3 + 1 / 4) / 2)
    (run,) = runs_of([1], [0], n_iter=2)
    assert _report.area(run) == pytest.approx(1 / 2)


def test_regrets_are_compared_seed_by_seed():
    text = _report.report(runs_of([1, 4], range(5)))
    # A batch of 4 has four times the regret for every seed, whatever its level.
    assert row_of(text, 4)[-1] == "4.00 (4.00 to 4.00)"
    assert row_of(text, 1)[4] == "0.38 (0.12 to 0.62)"
    assert row_of(text, 4)[3] == "5"


def test_seeds_without_a_partner_do_not_enter_the_ratio():
    runs = [*runs_of([1], [0]), *runs_of([4], [0, 7])]
    assert row_of(_report.report(runs), 4)[-1] == "4.00"


def test_times_are_compared_at_the_end_of_the_fastest():
    text = _report.report(runs_of([1, 4], [0], fold_seconds=0.5))
    assert "evaluations in 1 s" in text
    one, four = row_of(text, 1), row_of(text, 4)
    assert one[4:7] == ["4", "2.0", "1.00"]
    assert four[4:7] == ["1", "8.0", "4.00"]
    # After 1 s, two of the one and eight of the other are over.
    assert one[8:] == ["2", "0.5", "0.12"]
    assert four[8:] == ["8", "0.5", "0.5"]


def test_nothing_is_known_before_the_first_evaluation_is_over():
    (run,) = runs_of([1], [0], fold_seconds=0.5)
    assert _report.regret_after(run, 0.4) == np.inf
    assert _report.regret_after(run, 0.5) == 1.0


def test_spread_stands_infinite_regrets():
    assert _report.spread([np.inf, 1.0, 2.0]) == "2 (1 to inf)"
    assert _report.spread([3.0]) == "3"
    assert _report.spread([]) == "-"


def test_a_section_for_each_kind_of_run():
    runs = [*runs_of([1], [0]), *runs_of([1], [0], n_iter=6), *runs_of([1], [0], 0.5)]
    text = _report.report(runs)
    assert text.count("Regret for") == 2
    assert text.count("Wall time of 8 evaluations") == 1


# -- the figure -------------------------------------------------------------------


def test_times_drawn_are_those_at_which_all_runs_are_under_way():
    times = _draw.times(runs_of([1, 4], [0], fold_seconds=0.5))
    assert times[0] == 0.5
    assert times[-1] == 1.0


def test_missing_matplotlib_names_the_remedy(tmp_path, made, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SystemExit):
        _cli.main(command(tmp_path / "r.csv", "--plot", str(tmp_path / "r.png")))
    assert 'pip install "skrobustbo[plot]"' in capsys.readouterr().err


def test_figure_is_written(tmp_path, made):
    pytest.importorskip("matplotlib")
    image = tmp_path / "r.png"
    assert _cli.main(command(tmp_path / "r.csv", "--plot", str(image))) == 0
    assert image.read_bytes().startswith(b"\x89PNG")


def test_a_panel_for_each_kind_of_run():
    pytest.importorskip("matplotlib")
    runs = [*runs_of([1, 4], [0, 1]), *runs_of([1, 4], [0], fold_seconds=0.5)]
    labels = [ax.get_xlabel() for ax in _draw.draw(runs).axes]
    assert labels == ["evaluations", "wall time, s"]
