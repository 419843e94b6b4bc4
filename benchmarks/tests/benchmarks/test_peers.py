"""Peers: what they are shown and told, where they apply, and if they are missing."""

import math
import subprocess
import sys

import fake_peers
import numpy as np
import pytest

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo_benchmarks import _pool, _run, problems
from skrobustbo_benchmarks._cli import main
from skrobustbo_benchmarks._methods import ExhaustedError, Setup, make_method
from skrobustbo_benchmarks._peers._base import Axes
from skrobustbo_benchmarks._peers._registry import PEERS, refusal
from skrobustbo_benchmarks._record import Table, keys_of
from skrobustbo_benchmarks._single import run_one
from skrobustbo_benchmarks.problems import Problem

MIXED = Space(
    {
        "x": Real(-1.0, 1.0),
        "rate": Real(1e-4, 1.0, log=True),
        "n": Integer(3, 200, log=True),
        "kind": Categorical(["a", (1, 2), None]),
        "size": Categorical(["s", "m", "l"], ordered=True),
        "constant": ["c"],
    }
)
POOL = Space.from_points([{"a": a, "b": a * a} for a in range(6)])
BRANCHES = Space([{"x": Real(0.0, 1.0)}, {"n": Integer(1, 3)}])
ADAPTERS = {
    f"skrobustbo_benchmarks._peers.{peer.adapter.partition(':')[0]}"
    for peer in PEERS.values()
}
#: Those with a model, which learns from all values.
MODELS = [name for name in PEERS if name != "cmaes"]


@pytest.fixture
def fakes(monkeypatch):
    """Put fakes in the place of the peers; forget what was imported of either."""
    for name in ADAPTERS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, module in fake_peers.MODULES.items():
        monkeypatch.setitem(sys.modules, name, module)
    fake_peers.TOLD.clear()
    fake_peers.MADE.clear()
    yield fake_peers
    for name in ADAPTERS:
        sys.modules.pop(name, None)


def setup_of(space, n_initial=3, n_iter=10, **more):
    return Setup(space, space.sample(n_initial, 0), n_iter, 7, **more)


def play(method, n, objective=lambda i: float(i)):
    """Ask and tell `n` times; return the points and the labels."""
    points, labels = [], []
    for i in range(n):
        points.append(method.ask())
        method.tell(points[-1], objective(i))
        labels.append(method.label)
    return points, labels


class TestEveryPeer:
    @pytest.mark.parametrize("name", PEERS)
    def test_plays_the_initial_design_and_stays_in_the_space(self, name, fakes):
        setup = setup_of(MIXED)
        points, labels = play(make_method(name, setup), 8)
        assert points[:3] == setup.initial
        assert labels == ["initial"] * 3 + [name] * 5
        assert all(MIXED.contains(point) for point in points)
        assert all(list(point) == MIXED.names for point in points)
        # Plain numbers: problems may be particular about them.
        assert {type(point["n"]) for point in points} == {int}

    @pytest.mark.parametrize("name", MODELS)
    def test_is_told_everything_and_maximises(self, name, fakes):
        method = make_method(name, setup_of(MIXED))
        play(method, 6)
        method.ask()  # BoTorch hears of values when it is asked
        sign = -1 if name.startswith(("skopt", "smac")) else 1
        values = [value for _, value in fakes.TOLD]
        assert values == [sign * i for i in range(6)]

    @pytest.mark.parametrize("name", MODELS)
    def test_failure_is_told_as_the_worst_value(self, name, fakes):
        values = [math.nan, 4.0, 2.0, 3.0, math.nan, -math.inf, 1.0, math.nan]
        method = make_method(name, setup_of(MIXED))
        play(method, 8, lambda i: values[i])
        method.ask()
        told = [abs(value) for _, value in fakes.TOLD]
        # The first failure has no value to go by yet.
        assert told == [4.0, 2.0, 3.0, 2.0, 2.0, 1.0, 1.0]

    @pytest.mark.parametrize("name", MODELS)
    def test_goes_on_if_all_evaluations_fail(self, name, fakes):
        points, _ = play(make_method(name, setup_of(MIXED)), 6, lambda i: math.nan)
        assert all(MIXED.contains(point) for point in points)
        assert not fakes.TOLD

    @pytest.mark.parametrize("name", ["skopt", "optuna-tpe", "smac-rf"])
    def test_space_is_handed_over_in_its_own_terms(self, name, fakes):
        method = make_method(name, setup_of(MIXED))
        play(method, 4)
        x, rate, n, kind, size = fakes.MADE[name.partition("-")[0]]["space"]
        assert (x.kind, x.low, x.high, x.log) == ("real", -1.0, 1.0, False)
        assert (rate.kind, rate.low, rate.high, rate.log) == ("real", 1e-4, 1.0, True)
        assert (n.kind, n.low, n.high, n.log) == ("integer", 3, 200, True)
        assert (kind.kind, kind.choices) == ("choice", [0, 1, 2])
        assert (size.kind, size.low, size.high, size.log) == ("integer", 0, 2, False)

    @pytest.mark.parametrize("name", ["skopt", "optuna-gp", "smac-gp"])
    def test_is_told_the_points_of_the_initial_design(self, name, fakes):
        setup = setup_of(MIXED)
        play(make_method(name, setup), 3)
        for (numbers, _), params in zip(fakes.TOLD, setup.initial, strict=True):
            assert Axes(MIXED).from_list(numbers) == params

    @pytest.mark.parametrize("name", PEERS)
    def test_seed_and_design_reach_the_peer(self, name, fakes):
        play(make_method(name, setup_of(MIXED)), 4)
        made = fakes.MADE.get(name.partition("-")[0], fakes.MADE)
        seed = made.get("seed", made.get("random_state"))
        assert seed == 7
        assert made.get("n_initial_points", made.get("n_startup_trials", 3)) == 3

    def test_names_of_one_adapter_differ(self, fakes):
        play(make_method("skopt-lcb", setup_of(MIXED)), 1)
        assert fakes.MADE["skopt"]["acq_func"] == "LCB"
        play(make_method("optuna-gp", setup_of(MIXED)), 4)
        assert fakes.MADE["optuna"]["name"] == "gp"
        play(make_method("smac-gp", setup_of(MIXED)), 1)
        assert fakes.MADE["smac"]["cls"] is fakes.BlackBoxFacade
        play(make_method("botorch-ucb", setup_of(MIXED)), 4)
        acquisition = fakes.MADE["acquisition"]
        assert acquisition["cls"] is fakes.UpperConfidenceBound
        assert acquisition["beta"] == 1.0
        play(make_method("botorch-logei", setup_of(MIXED)), 4)
        assert fakes.MADE["acquisition"]["best_f"] == 2.0

    def test_smac_without_configurations_ends_the_run(self, fakes):
        fakes.MADE["configurations"] = 2
        method = make_method("smac-rf", setup_of(MIXED))
        play(method, 5)
        with pytest.raises(ExhaustedError):
            method.ask()


class TestCmaes:
    def test_begins_at_the_best_point_of_the_initial_design(self, fakes):
        setup = setup_of(MIXED)
        play(make_method("cmaes", setup), 4, [1.0, 3.0, 2.0, 0.0].__getitem__)
        np.testing.assert_array_equal(
            fakes.MADE["cmaes"]["mean"], MIXED.encode(setup.initial[1])
        )

    def test_is_told_whole_generations_and_minimises(self, fakes):
        values = [0.0, 1.0, 2.0, 5.0, math.nan, 7.0, 8.0, 9.0, 3.0, 4.0]
        play(make_method("cmaes", setup_of(MIXED)), 10, values.__getitem__)
        # A failure counts as the worst value, and the last generation is not complete.
        assert [value for _, value in fakes.TOLD] == [-5.0, 0.0, -7.0, -8.0, -9.0, -3.0]

    def test_begins_in_the_middle_if_all_evaluations_fail(self, fakes):
        points, _ = play(make_method("cmaes", setup_of(MIXED)), 5, lambda i: math.nan)
        assert all(MIXED.contains(point) for point in points)
        assert (fakes.MADE["cmaes"]["mean"] == 0.5).all()

    def test_is_not_for_a_line(self):
        assert "more than one dimension" in refusal("cmaes", problems.get("rkhs").space)


class TestBotorch:
    def test_maximiser_is_rounded_to_a_feasible_point(self, fakes):
        points, _ = play(make_method("botorch-logei", setup_of(MIXED)), 4)
        # The acquisition peaks at 0.3: x = -0.4, and 'm', the nearest of 0, 1/2 and 1.
        assert points[-1]["x"] == pytest.approx(-0.4)
        assert points[-1]["size"] == "m"

    def test_failed_fit_leaves_a_model(self, fakes):
        fakes.MADE["fit fails"] = True
        play(make_method("botorch-ucb", setup_of(MIXED)), 5)
        assert fakes.MADE["acquisition"]["model"].is_evaluated

    @pytest.mark.parametrize(
        "space",
        [POOL, Space({"a": [1, 2, 3], "b": Integer(1, 2)})],
        ids=["pool", "grid"],
    )
    def test_finite_space_is_scored_whole_until_exhausted(self, space, fakes):
        method = make_method("botorch-logei", setup_of(space, n_initial=1))
        points, _ = play(method, 6)
        assert len({tuple(point.values()) for point in points}) == 6
        assert len(fakes.MADE["choices"]) == 1
        with pytest.raises(ExhaustedError):
            method.ask()

    def test_points_come_again_where_the_objective_changes(self, fakes):
        setup = setup_of(POOL, n_initial=1, varies=True)
        points, _ = play(make_method("botorch-logei", setup), 9)
        assert {point["a"] for point in points[1:]} == {2}


class TestWhereTheyApply:
    def test_pools_are_for_botorch_only(self):
        taken = {name for name in PEERS if refusal(name, POOL) is None}
        assert taken == {"botorch-logei", "botorch-ucb"}

    def test_branches_are_for_none(self):
        assert all("one branch only" in refusal(name, BRANCHES) for name in PEERS)

    def test_policies_and_other_spaces_are_never_refused(self):
        assert refusal("robust", POOL) is None
        assert all(refusal(name, MIXED) is None for name in PEERS)

    @pytest.fixture
    def pool_problem(self, monkeypatch):
        problem = Problem(
            name="pool", space=POOL, func=lambda p: float(p["a"]), source="the identity"
        )
        get = problems.get
        monkeypatch.setattr(
            problems, "get", lambda name: problem if name == "rkhs" else get(name)
        )
        monkeypatch.setattr(_pool, "run_in_child", lambda job: run_one(job.keys[0]))
        # A fake has no version.
        monkeypatch.setattr(_run, "distributions", lambda names: [])

    def words(self, path, policies):
        return (
            f"run --problems rkhs,branin --policies {policies} --seeds 0 --n-iter 5 "
            f"--out {path}"
        ).split()

    def test_refused_runs_are_left_out(self, tmp_path, capsys, fakes, pool_problem):
        path = tmp_path / "r.csv"
        assert main(self.words(path, "sobol,skopt,botorch-logei")) == 0
        text = capsys.readouterr().err
        assert "skopt is not applicable to rkhs: it cannot be held to a finite" in text
        made = keys_of(Table(path).read()[0], ["problem", "policy"])
        assert made == {
            ("rkhs", "sobol"),
            ("rkhs", "botorch-logei"),
            ("branin", "sobol"),
            ("branin", "skopt"),
            ("branin", "botorch-logei"),
        }

    def test_nothing_left_is_said(self, tmp_path, capsys, fakes, pool_problem):
        words = self.words(tmp_path / "r.csv", "skopt")
        with pytest.raises(SystemExit):
            main([word.replace("rkhs,branin", "rkhs") for word in words])
        assert "No run is left" in capsys.readouterr().err


class TestMissing:
    @pytest.fixture(autouse=True)
    def _absent(self, monkeypatch):
        for name in ("skopt", "optuna", "torch", "botorch", "smac", "cmaes"):
            monkeypatch.setitem(sys.modules, name, None)

    @pytest.mark.parametrize(
        ("name", "needs"),
        [
            ("skopt", "scikit-optimize, which is"),
            ("optuna-tpe", "optuna, which is"),
            ("botorch-ucb", "torch and botorch, which are"),
        ],
    )
    def test_one_sentence_before_anything_runs(self, name, needs, tmp_path, capsys):
        path = tmp_path / "r.csv"
        words = f"run --problems branin --policies sobol,{name} --out {path}"
        with pytest.raises(SystemExit) as end:
            main(words.split())
        assert end.value.code == 2
        assert capsys.readouterr().err == (
            f"error: The peer {name!r} needs {needs} not installed: "
            'pip install "skrobustbo-benchmarks[peers]".\n'
        )
        assert not len(Table(path).read()[0])


def test_typo_in_the_name_of_a_peer(tmp_path, capsys):
    words = "run --problems branin --policies optuna-gb --out"
    with pytest.raises(SystemExit):
        main([*words.split(), str(tmp_path / "r.csv")])
    assert "did you mean 'optuna-gp'" in capsys.readouterr().err


def test_the_commands_import_no_peer():
    code = (
        "import sys; from skrobustbo_benchmarks._cli import build_parser; "
        "build_parser(); "
        "print([m for m in ('skopt', 'optuna', 'torch', 'botorch', 'smac', 'cmaes') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PEERS)
def test_real_peer_improves_on_the_initial_design(name):
    """The packages themselves: a smooth bowl with a choice, nine steps."""
    for module in {"skopt", "optuna", "botorch", "smac", "cmaes"}:
        if name.startswith(module):
            pytest.importorskip(module)
    space = Space({"x": Real(0.0, 1.0), "n": Integer(1, 9), "kind": ["a", "b", "c"]})

    def objective(params):
        return (
            -((params["x"] - 0.3) ** 2)
            - (params["n"] - 4) ** 2 / 50
            - 0.3 * (params["kind"] != "b")
        )

    method = make_method(name, setup_of(space, n_initial=5, n_iter=14))
    values = []
    for _ in range(14):
        params = method.ask()
        assert space.contains(params)
        values.append(objective(params))
        method.tell(params, values[-1])
    assert np.median(values[9:]) > np.median(values[:5])
    assert method.label == name
