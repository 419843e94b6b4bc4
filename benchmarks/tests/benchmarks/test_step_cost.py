"""The time of a step: what is timed, in which turns, and what is printed of it."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skrobustbo.policies import RobustUCB
from skrobustbo_benchmarks import _step_cost as step_cost
from skrobustbo_benchmarks._args import CommandError
from skrobustbo_benchmarks._cli import main
from skrobustbo_benchmarks._pool import THREAD_VARIABLES


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")


def command(*words):
    return main(["step-cost", *map(str, words)])


class TestStepCost:
    def test_measure(self):
        names = ["random", "gp-ucb"]
        times = step_cost.measure(names, 8, 2, repeats=3, seeds=[0, 1])
        assert list(times["method"]) == ["random"] * 6 + ["gp-ucb"] * 6
        assert (times[["step_ms", "predict_ms"]] > 0).all(axis=None)
        assert (times[["observations", "dimensions"]] == [8, 2]).all(axis=None)

    def test_ratios(self):
        steps, predictions = [1.0, 2.0, 9.0], [1.0, 0.5, 3.0]
        times = pd.DataFrame({"step_ms": steps, "predict_ms": predictions})
        cells = ["4.00", "2.00", "1.50", "1.00", "2.67", "2.00", "3"]
        assert step_cost.figures(times) == cells

    def test_times_are_those_of_ask_and_tell_only(self, monkeypatch):
        clock = iter([10.0, 10.002, 20.0, 20.003])
        monkeypatch.setattr(step_cost.time, "process_time", lambda: next(clock))

        class Asked:
            def ask(self):
                return {"x1": 0.5}

            def tell(self, params, value):
                pass

        data = step_cost.Data(1, np.random.default_rng(0))
        assert step_cost.step(Asked(), data) == pytest.approx(5.0)

    def test_yardstick_has_the_data_of_the_optimizer(self):
        data = step_cost.Data(2, np.random.default_rng(0))
        points = [data.random_params() for _ in range(6)]
        values = [data.observe(params) for params in points]
        model = data.fitted_regressor()
        encoded = np.array([data.space.encode(params) for params in points])
        np.testing.assert_allclose(model.X_train_, encoded, atol=1e-9)
        np.testing.assert_allclose(model.predict(encoded), values, atol=1e-2)

    def test_command_prints_a_table(self, capsys, monkeypatch, tmp_path):
        words = "--policies random --n 6 9 --dims 2 --repeats 2 --seeds 0,1"
        times = tmp_path / "t.csv"
        assert command(*words.split(), "--csv", str(times)) == 0
        lines = capsys.readouterr().out.splitlines()
        assert "ratio of medians" in lines[0]
        assert [line.split(" | ")[1] for line in lines[2:4]] == ["6", "9"]
        written = [line.split(",") for line in times.read_text().splitlines()]
        assert written[0][:3] == ["method", "observations", "dimensions"]
        assert [line[1] for line in written[1:]] == ["6"] * 4 + ["9"] * 4
        mean = np.mean([float(line[3]) for line in written[1:5]])
        assert float(lines[2].split(" | ")[3]) == pytest.approx(mean, abs=0.006)

    @pytest.mark.parametrize("n", [330, 400, 800, 3000])
    def test_steps_are_as_many_as_an_estimate_takes(self, n, monkeypatch):
        def fit(policy, last, models):
            return {**last, "n_fitted": models.n}

        monkeypatch.setattr(RobustUCB, "estimate", fit)
        told = range(n, n + step_cost.default_repeats(n))
        fitted = [n - 1]  # the last step before the timed ones has an estimate
        state = SimpleNamespace(latest=lambda *_: {"n_fitted": fitted[-1]})
        for k in told:
            found = RobustUCB().latest(state, SimpleNamespace(n=k), [], False)
            fitted.append(found["n_fitted"])
        assert fitted == [n - 1] * len(told) + [told[-1]]

    @pytest.mark.parametrize(("n", "steps"), [(4, 20), (165, 20), (166, 21)])
    def test_least_number_of_steps(self, n, steps):
        assert step_cost.default_repeats(n) == steps

    def test_number_of_steps_is_told(self, monkeypatch, capsys):
        asked = []

        def measure(methods, n, d, *, repeats, seeds):
            asked.append((n, repeats))
            rows = [(name, n, d, 1.0, 1.0) for name in methods]
            columns = ["method", "observations", "dimensions", "step_ms", "predict_ms"]
            return pd.DataFrame(rows * repeats * len(seeds), columns=columns)

        monkeypatch.setattr(step_cost, "measure", measure)
        words = "--policies random --n 100 400 --seeds 0,1"
        assert command(*words.split()) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].endswith("| steps timed |")
        assert [line.split(" | ")[-1] for line in lines[2:4]] == ["40 |", "108 |"]
        assert command(*words.split(), "--repeats", "3") == 0
        assert asked == [(100, 20), (400, 54), (100, 3), (400, 3)]

    @pytest.mark.parametrize(
        ("policy", "message"),
        [
            ("robust(beta=-1)", "robust(beta=-1): The 'beta' of a policy must be"),
            ("robust(n_initial=4)", "leave n_initial out of 'robust(n_initial=4)'"),
        ],
    )
    def test_setting_that_will_not_do(self, policy, message, capsys):
        with pytest.raises(SystemExit) as end:
            command("--policies", policy)
        assert end.value.code == 2
        assert message in capsys.readouterr().err

    def test_setting_that_the_space_will_not_have(self):
        kernel = "gp-ucb(kernel=Matern(length_scale=(1.0, 1.0, 1.0)))"
        with pytest.raises(CommandError, match=r"^gp-ucb\(.*same number of dim"):
            step_cost.measure([kernel], 8, 2, repeats=1, seeds=[0])

    def test_folder_is_looked_for_before_anything_is_timed(self, capsys, tmp_path):
        with pytest.raises(SystemExit):
            command("--csv", str(tmp_path / "no" / "t.csv"))
        assert "does not exist: create it" in capsys.readouterr().err

    def test_too_few_observations(self, capsys):
        with pytest.raises(SystemExit):
            command("--policies", "random", "--n", "3")
        assert "--n must be at least 4. Got 3." in capsys.readouterr().err


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

        monkeypatch.setattr(step_cost, "make_peer", make_peer)
        costs = step_cost.measure(["random", "skopt"], 8, 2, repeats=3, seeds=[0, 1])
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
        last = step_cost.comparison(costs, ["robust"], ["skopt"]).splitlines()[-1]
        # 8 / 2 and 1: geometric mean 2; medians 8 / 1 and 1: the root of 8.
        assert last == "| skopt / robust | 5 | 4.00 | 1.00 | 2.00 | 2.83 |"

    def test_command_prints_both_tables(self, capsys, monkeypatch):
        monkeypatch.setattr(step_cost, "check_installed", lambda names: None)
        monkeypatch.setattr(step_cost, "distributions", lambda names: [])
        monkeypatch.setattr(step_cost, "make_peer", self.Counting)
        words = "--policies random --peers skopt --n 6 9 --dims 2 --repeats 2"
        assert command(*words.split()) == 0
        first, second, third = capsys.readouterr().out.split("\n\n")
        rows = [line.split(" | ")[:2] for line in first.splitlines()[2:]]
        assert rows == [
            [f"| {name}", n] for n in ("6", "9") for name in ("random", "skopt")
        ]
        assert second.splitlines()[-1].startswith("| skopt / random | 2 |")
        assert f"numpy {np.__version__}" in third


def test_command_starts_itself_again_with_one_thread(monkeypatch):
    def fake_run(program, *, env):
        assert program[1:] == ["-m", "skrobustbo_benchmarks", "step-cost", "--n", "9"]
        assert {env[name] for name in THREAD_VARIABLES} == {"1"}
        return subprocess.CompletedProcess(program, 7)

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(subprocess, "run", fake_run)
    assert command("--n", "9") == 7


def test_peer_that_is_missing_or_misspelt(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "smac", None)
    for name, said in (
        ("smac-rf", "The peer 'smac-rf' needs smac"),
        ("optuna-gb", "did you mean 'optuna-gp'"),
    ):
        with pytest.raises(SystemExit):
            command("--peers", name)
        assert said in capsys.readouterr().err
