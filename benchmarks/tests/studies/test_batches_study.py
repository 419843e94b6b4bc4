"""Candidates side by side: real runs with tiny settings, and tables of runs made up."""

import json
import threading

import numpy as np
import pandas as pd
import pytest

import batches
import shared
from batches import COLUMNS, Key, Watch
from skrobustbo import Optimizer
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._record import Table

TINY = (
    "--problems branin --timed-problems branin --batch-sizes 1 4 --seeds 0-1 "
    "--timed-seeds 0 --n-iter 8 --fold-seconds 0.02"
)


def read(path):
    return Table(path, COLUMNS, key=Key._fields).read()[0]


def command(path, *more):
    words = ["--out", str(path), *TINY.split(), *more]
    return shared.status(batches.build_parser(), batches.main, words)


def made_up(key):
    """Return a run whose regret falls as the batch is small, and time as it is large.

    The optimum is 1; the first two evaluations are the initial design.
    """
    steps = np.arange(1, key.n_iter + 1)
    regrets = (1 + key.seed) * key.batch_size / steps
    rounds = np.ceil(steps / key.batch_size)
    return {
        "n_initial": 2,
        "optimum": 1.0,
        "tuner_seconds": 0.25,
        "seconds": json.dumps((rounds * max(key.fold_seconds, 0.01)).tolist()),
        "best": json.dumps((1.0 - regrets).tolist()),
    }


def best_of(key):
    """Make a run; return the best values so far."""
    return json.loads(batches.run_one(key)["best"])


@pytest.fixture
def made(monkeypatch):
    """Make up the runs instead of running; the keys asked for, in this list."""
    keys = []

    def run_one(key):
        keys.append(key)
        return made_up(key)

    monkeypatch.setattr(batches, "run_one", run_one)
    return keys


# -- real runs --------------------------------------------------------------------


def test_the_command(tmp_path, capsys):
    path = tmp_path / "r.csv"
    assert command(path, "--jobs", "2") == 0
    runs = read(path)
    assert len(runs) == 6
    for run in runs.itertuples():
        best, seconds = json.loads(run.best), json.loads(run.seconds)
        assert len(best) == len(seconds) == 8
        assert (np.diff(best) >= 0).all()
        assert (np.diff(seconds) >= 0).all()
        assert seconds[-1] >= np.ceil(8 / run.batch_size) * run.fold_seconds
    out = capsys.readouterr().out
    assert "Regret for 8 evaluations" in out
    assert "8 evaluations with fits of 0.02 s" in out


def test_fits_of_a_round_are_side_by_side(monkeypatch):
    together = threading.Barrier(4, timeout=60)

    def fit(self, X, y=None):
        together.wait()
        return self

    monkeypatch.setattr(batches.Sleeper, "fit", fit)
    assert len(best_of(Key("branin", "random", 4, 0, 8, 0.3))) == 8


def test_one_at_a_time_is_what_the_optimizer_does():
    run = batches.run_one(Key("branin", "robust", 1, 3, 9, 0.0))
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
    assert run["n_initial"] == 3
    np.testing.assert_array_equal(
        json.loads(run["best"]), np.maximum.accumulate(values)
    )


def test_batches_share_the_initial_design():
    one, two = (best_of(Key("branin", "random", size, 1, 9, 0.0)) for size in (1, 2))
    assert one[:3] == two[:3]


def test_noise_is_the_points_own_and_not_shown():
    problem = problems.get("wang-trap")
    point = problem.initial_params(0, 1)[0]
    sleeper = batches.Sleeper(0.0, **point)
    first, second = Watch(problem, 5), Watch(problem, 6)
    observed = first(sleeper, None)
    assert observed == first(sleeper, None)
    assert observed != second(sleeper, None)
    assert first.seen[0][1] == problem.func(point) != observed


# -- which runs -------------------------------------------------------------------


def test_the_same_command_runs_nothing_twice(tmp_path, made, capsys):
    path = tmp_path / "r.csv"
    assert command(path) == 0
    first = path.read_text()
    assert len(made) == len(set(made)) == 6
    assert command(path) == 0
    assert len(made) == 6
    assert path.read_text() == first
    err = capsys.readouterr().err
    assert "4 of 4 runs are there" in err
    assert "2 of 2 runs are there" in err


def test_timed_runs_come_last_and_can_be_left_out(tmp_path, made):
    command(tmp_path / "a.csv")
    assert [key.fold_seconds for key in made] == [0.0] * 4 + [0.02] * 2
    made.clear()
    command(tmp_path / "b.csv", "--fold-seconds", "0")
    assert [key.fold_seconds for key in made] == [0.0] * 4


def test_policies_are_compared_on_paired_seeds(tmp_path, made):
    command(tmp_path / "r.csv", "--policies", "robust,random")
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
        ("--fold-seconds", "-1", "must be >= 0. Got -1.0"),
        ("--fold-seconds", "long", "invalid float value"),
    ],
)
def test_what_cannot_be_run_is_refused_first(
    option, value, message, tmp_path, made, capsys
):
    path = tmp_path / "r.csv"
    with pytest.raises(SystemExit) as caught:
        command(path, f"{option}={value}")
    assert caught.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not made
    assert not path.exists()


# -- the report -------------------------------------------------------------------


def runs_of(sizes, seeds, fold_seconds=0.0, n_iter=8):
    keys = [
        Key("branin", "robust", size, seed, n_iter, fold_seconds)
        for size in sizes
        for seed in seeds
    ]
    return pd.DataFrame([key._asdict() | made_up(key) for key in keys])


def row_of(text, size):
    (row,) = [line for line in text.splitlines() if f"| robust | {size} |" in line]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_area_begins_after_the_initial_design():
    regrets = 1 / np.arange(1, 5)
    assert batches.area(regrets, 2) == pytest.approx((1 / 3 + 1 / 4) / 2)
    assert batches.area(regrets[:2], 2) == pytest.approx(1 / 2)


def test_regrets_are_compared_seed_by_seed():
    text = batches.report(runs_of([1, 4], range(5)))
    # A batch of 4 has four times the regret for every seed, whatever its level.
    assert row_of(text, 4)[-1] == "4.00 (4.00 to 4.00)"
    assert row_of(text, 1)[4] == "0.38 (0.12 to 0.62)"
    assert row_of(text, 4)[3] == "5"


def test_seeds_without_a_partner_do_not_enter_the_ratio():
    runs = pd.concat([runs_of([1], [0]), runs_of([4], [0, 7])])
    assert row_of(batches.report(runs), 4)[-1] == "4.00"


def test_times_are_compared_at_the_end_of_the_fastest():
    text = batches.report(runs_of([1, 4], [0], fold_seconds=0.5))
    assert "evaluations in 1 s" in text
    one, four = row_of(text, 1), row_of(text, 4)
    assert one[4:7] == ["4", "2.0", "1.00"]
    assert four[4:7] == ["1", "8.0", "4.00"]
    # After 1 s, two of the one and eight of the other are over.
    assert one[8:] == ["2", "0.5", "0.12"]
    assert four[8:] == ["8", "0.5", "0.5"]


def test_nothing_is_known_before_the_first_evaluation_is_over():
    times, regrets = np.array([0.5, 1.0]), np.array([1.0, 0.5])
    assert batches.regret_after(times, regrets, 0.4) == np.inf
    assert batches.regret_after(times, regrets, 0.5) == 1.0


def test_spread_stands_infinite_regrets():
    assert batches.spread([np.inf, 1.0, 2.0]) == "2 (1 to inf)"
    assert batches.spread([3.0]) == "3"
    assert batches.spread([]) == "-"


def test_a_section_for_each_kind_of_run():
    parts = runs_of([1], [0]), runs_of([1], [0], n_iter=6), runs_of([1], [0], 0.5)
    text = batches.report(pd.concat(parts))
    assert text.count("Regret for") == 2
    assert text.count("Wall time of 8 evaluations") == 1
