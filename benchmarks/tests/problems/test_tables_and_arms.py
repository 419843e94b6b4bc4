"""Pools, grids and arms: values by hand on small data, facts about the real ones."""

import math
import pickle

import numpy as np
import pytest

from runs import read_back
from skrobustbo import Optimizer
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks.problems import _arms, _tables

POOLS = {
    "crossed-barrel": (600, 46.7114),
    "agnp": (164, -0.148361),
    "perovskite": (94, -27122.0),
    "autoam": (100, 0.936549),
    "p3ht": (178, 838.31),
}
TABLES = {
    "hpobench-australian": 0.944669,
    "hpobench-credit-g": 0.885274,
    "hpobench-vehicle": 0.951570,
    "hpolib-naval-propulsion": -math.log(3.19113e-05),
    "hpolib-protein-structure": -math.log(0.221379),
}


def plain(params):
    return {type(value) for value in params.values()} <= {int, float, str}


# -- by hand ----------------------------------------------------------------------


def test_repeated_measurements_are_averaged():
    X = np.array([[6, 1.5], [8, 1.5], [6, 1.5], [6, 1.6]])
    means = _tables._means(X, np.array([1.0, 5.0, 2.0, 7.0]))
    assert means == {(6, 1.5): 1.5, (6, 1.6): 7.0, (8, 1.5): 5.0}
    assert all(type(n) is int and type(r) is float for n, r in means)


def test_lookup_refuses_other_points():
    lookup = _tables.Lookup(("a", "b"), {(1, 0.5): 2.0, (2, 0.5): 3.0})
    assert lookup({"b": 0.5, "a": 2}) == 3.0
    assert lookup.best() == ({"a": 2, "b": 0.5}, 3.0)
    with pytest.raises(ValueError, match=r"one of the 2 points .*Got {'a': 1, 'b': 9}"):
        lookup({"a": 1, "b": 9})


def test_record_is_looked_up_by_time():
    values = np.array([[1.0, 2.0], [4.0, 3.0]])
    record = _arms.Record("arm", ("a", "b"), values)
    assert [record({"arm": "b"}, t) for t in (1, 2)] == [2.0, 3.0]
    assert record.best(1) == (2.0, {"arm": "b"})
    assert record.best(2) == (4.0, {"arm": "a"})
    with pytest.raises(ValueError, match=r"'t' must be at most 2.*Got 3"):
        record({"arm": "a"}, 3)
    with pytest.raises(ValueError, match=r"'t' must be an integer >= 1\. Got 0"):
        record({"arm": "a"}, 0)
    with pytest.raises(ValueError, match=r"'arm' must be one of \['a', 'b'\].*'c'"):
        record({"arm": "c"}, 1)


def test_covariance_of_the_past_is_the_kernel():
    record = _arms.Record("arm", ("a", "b", "c"), np.zeros((1, 3)))
    past = np.random.default_rng(0).normal(size=(40, 3))
    kernel = _arms._candidate(record, past).kernel
    X = np.array([record.space().encode({"arm": arm}) for arm in "cab"])
    np.testing.assert_allclose(kernel(X), np.cov(past.T)[np.ix_([2, 0, 1], [2, 0, 1])])


# -- the real data ----------------------------------------------------------------


@pytest.mark.parametrize("name", POOLS)
def test_pools(name, build):
    problem, (size, best) = build(name), POOLS[name]
    assert problem.space.size == size
    assert problem.optimum == pytest.approx(best, rel=1e-5)
    points = problem.space.decode_many(problem.space.enumerate())
    assert all(map(plain, points))
    values = [problem.func(p) for p in points]
    assert max(values) == problem.optimum == problem.func(problem.optimum_params)
    assert problem.optimum_params in points


def test_published_extremes(build):
    barrel = build("crossed-barrel")
    assert barrel.optimum_params == {"n": 12, "theta": 150, "r": 1.9, "t": 1.4}
    points = barrel.space.decode_many(barrel.space.enumerate())
    assert min(map(barrel.func, points)) == pytest.approx(0.433235, abs=1e-6)
    perovskite = build("perovskite")
    points = perovskite.space.decode_many(perovskite.space.enumerate())
    assert min(map(perovskite.func, points)) == pytest.approx(-1452513.14)


@pytest.mark.parametrize("name", TABLES)
def test_tables(name, build):
    problem = build(name)
    assert problem.space.size == (30_000 if "hpobench" in name else 62_208)
    assert problem.optimum == pytest.approx(TABLES[name], rel=2e-6)
    assert problem.func(problem.optimum_params) == problem.optimum
    sample = problem.space.sample(200, 0)
    assert all(map(plain, sample))
    assert max(map(problem.func, sample)) <= problem.optimum
    assert name in problems.available()


def test_temperature(build):
    problem = build("temperature")
    assert (problem.space.size, problem.horizon) == (50, 96)
    value, params = problem.optimum_at(30), problem.optimum_params_at(30)
    assert problem.func(params, 30) == value
    points = problem.space.decode_many(problem.space.enumerate())
    assert max(problem.func(p, 30) for p in points) == value
    kernel = problem.candidates[0].kernel
    X = np.array([problem.space.encode(p) for p in points])
    assert kernel(X).shape == (50, 50)
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-10
    with pytest.raises(ValueError, match=r"'t' must be at most 96"):
        problem.func(params, 97)


def test_temperature_is_standardised_by_the_earlier_days(build):
    from skrobustbo_benchmarks.datasets import fetch_sensor_temperature

    problem = build("temperature")
    degrees = fetch_sensor_temperature().data
    train, test = degrees[:144], degrees[144:]
    slope, offset = np.polyfit(
        [problem.func({"sensor": 7}, t) for t in range(1, 97)], test[:, 7], 1
    )
    assert slope == pytest.approx(train.std())
    assert offset == pytest.approx(train.mean())


def test_temperature_of_other_days(build):
    later, earlier = build("temperature"), build("temperature", first_day=3)
    # The second day of the one is the first of the other, in other units.
    day = [later.func({"sensor": 7}, t) for t in range(1, 49)]
    same = [earlier.func({"sensor": 7}, t) for t in range(49, 97)]
    assert np.corrcoef(day, same)[0, 1] == pytest.approx(1.0)
    assert earlier.horizon == 96
    with pytest.raises(ValueError, match="'first_day' must be at most one before"):
        build("temperature", first_day=5)


def test_raw_stocks(build):
    raw, problem = build("stocks", raw=True), build("stocks")
    assert raw.optimum_at(823) > 300  # dollars
    assert raw.optimum_params_at(1) == problem.optimum_params_at(1)
    assert raw.noise_std**2 == pytest.approx(300)
    points = raw.space.decode_many(raw.space.enumerate())
    X = np.array([raw.space.encode(p) for p in points])
    assert np.allclose(raw.candidates[0].kernel.diag(X), 1.0, atol=0.01)


def test_stocks(build):
    problem = build("stocks")
    assert (problem.space.size, problem.horizon) == (29, 823)
    assert problem.optimum_params_at(823) == {"stock": "BA"}
    assert problem.noise_std == pytest.approx(0.1)
    still = build("stocks", changing=False)
    assert still.optimum_params == {"stock": "BA"}
    assert still.optimum == pytest.approx(2.198, abs=1e-3)
    assert still.noise_std == pytest.approx(0.4516, abs=1e-4)
    days = [problem.func({"stock": "KO"}, t) for t in range(1, 824)]
    assert still.func({"stock": "KO"}) == pytest.approx(np.mean(days))


@pytest.mark.parametrize(
    "name", ["crossed-barrel", "hpolib-protein-structure", "stocks"]
)
def test_tables_survive_pickling_and_name_their_data(name, build, tmp_path):
    problem = build(name)
    copy = pickle.loads(pickle.dumps(problem))
    for params in problem.space.sample(5, 1):
        assert copy.value_at(params, 3) == problem.value_at(params, 3)
    with pytest.raises(ValueError, match=r"'data_home'.*Got 'data_hom'"):
        problems.get(name, data_hom=tmp_path)


@pytest.mark.parametrize(
    "name", ["crossed-barrel", "agnp", "hpobench-australian", "temperature", "stocks"]
)
def test_optimizer_runs_on_tables(name, build):
    problem = build(name)
    policy = "et-gp-ucb" if problem.varies else "robust"

    def run():
        optimizer = Optimizer(problem.space, policy, random_state=3)
        rng = np.random.default_rng(0)
        for t in range(1, 13):
            params = optimizer.ask()
            assert plain(params)
            optimizer.tell(params, problem.observe(params, rng, t))
        return optimizer

    first = run()
    assert [r["params"] for r in first.history_] == [
        r["params"] for r in run().history_
    ]
    again = read_back(first)
    assert again.ask() == first.ask()


@pytest.mark.usefixtures("build", "no_other_home")  # no downloads, no data
def test_missing_data_say_what_to_do(monkeypatch):
    monkeypatch.setattr(
        "skrobustbo_benchmarks.datasets._hpo.PACKAGE", "no_such_package_here"
    )
    assert not [name for name in problems.available() if name.startswith("hpo")]
    for name in ("crossed-barrel", "temperature", "stocks", "hpobench-vehicle"):
        with pytest.raises(FileNotFoundError, match="SKROBUSTBO_DATA"):
            problems.get(name)
    with pytest.raises(ValueError, match=r"Got 'hpobench-vehicl'.*'hpobench-vehicle'"):
        problems.get("hpobench-vehicl")
