"""What holds of every problem: names, settings, time, seeds, copies."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from skrobustbo import Candidate
from skrobustbo_benchmarks import problems

STILL = ["unknown-period", "unknown-decomposition", "unknown-mean", "rkhs"]
CHANGING = ["tv-within-model", "abrupt-change", "slow-change"]
NAMES = STILL + CHANGING
RANDOM = ["unknown-mean", "rkhs", "tv-within-model"]


def some_points(problem, n=50, seed=0):
    return problem.space.sample(n, seed)


def values(problem, t=7):
    return [problem.value_at(params, t) for params in some_points(problem)]


# -- names and settings -----------------------------------------------------------


@pytest.mark.parametrize("name", problems.available())
def test_get_builds_every_problem(name, build):
    problem = build(name)
    assert problem.name == name
    assert problem.source
    assert build(name.replace("-", "_").upper()).name == name


def test_the_new_names_are_available():
    assert set(NAMES) <= set(problems.available())


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("tv-within-model", "epsilom", r"'epsilon', 'n_grid', 'seed'.*mean 'epsilon'"),
        ("unknown_mean", "sead", r"setting of the problem 'unknown-mean'.*mean 'seed'"),
        ("mnist-logistic", "n_test", r"one of 'n_epochs', 'n_train'\. Got 'n_test'"),
        ("branin", "seed", r"'branin' has no settings\. Got 'seed'; leave it out"),
    ],
)
def test_an_unknown_setting_is_named(name, setting, message):
    with pytest.raises(ValueError, match=message):
        problems.get(name, **{setting: 1})


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("rkhs", {"seed": -1}, r"'seed' must be an integer >= 0\. Got -1"),
        ("unknown-mean", {"seed": -1}, r"'seed' must be an integer >= 0\. Got -1"),
        ("unknown-mean", {"hill": 0}, r"'hill' setting .* must be 1 to 10.*Got 0"),
        ("tv-within-model", {"seed": -1}, r"'seed' must be an integer >= 0\. Got -1"),
        ("tv-within-model", {"epsilon": 1.1}, r"'epsilon' setting .*from 0 to 1.*1\.1"),
        ("tv-within-model", {"epsilon": math.nan}, "'epsilon' setting .*Got nan"),
        ("tv-within-model", {"n_grid": 1}, r"'n_grid' must be an integer >= 2\. Got 1"),
    ],
)
def test_a_setting_out_of_range_is_refused(name, settings, message):
    with pytest.raises(ValueError, match=message):
        problems.get(name, **settings)


def test_settings_reach_the_factory():
    assert "500 images, 3 epochs" in (
        problems.get("mnist-logistic", n_train=500, n_epochs=3).source
    )


# -- functions --------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_values_are_finite_numbers(name):
    found = values(problems.get(name))
    assert all(type(value) is float for value in found)
    assert np.isfinite(found).all()
    assert np.ptp(found) > 0


@pytest.mark.parametrize("name", NAMES)
def test_problem_survives_pickling(name):
    problem = problems.get(name)
    before = values(problem)
    copy = pickle.loads(pickle.dumps(problem))
    assert values(copy) == before
    assert copy.optimum_at(7) == problem.optimum_at(7)
    assert [c.label for c in copy.candidates] == [c.label for c in problem.candidates]
    if problem.sample_function is not None:
        assert values(copy.sample_function(3)) == values(problem.sample_function(3))


@pytest.mark.parametrize("name", RANDOM)
def test_a_seed_has_one_function(name):
    problem = problems.get(name)
    first = problem.sample_function(3)
    assert first.name == name
    assert values(first) == values(problems.get(name, seed=3))
    assert values(first) == values(first.sample_function(3))
    assert values(first) != values(problem.sample_function(4))
    assert first.optimum_at(7) == problem.sample_function(3).optimum_at(7)


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(RANDOM)))
def test_one_function_is_no_distribution(name):
    assert problems.get(name).sample_function is None


def test_settings_are_those_of_the_sampled_functions():
    fixed = problems.get("unknown-mean", hill=4)
    assert [fixed.sample_function(s).true_candidate for s in range(5)] == [3] * 5
    grid = problems.get("tv-within-model", epsilon=0.5, n_grid=3)
    assert grid.sample_function(2).space.size == 9
    assert grid.sample_function(2).func.epsilon == 0.5


@pytest.mark.parametrize("name", NAMES)
def test_optimum_is_reached_and_never_exceeded(name):
    problem = problems.get(name)
    params, value = problem.optimum_params_at(7), problem.optimum_at(7)
    assert problem.value_at(params, 7) == pytest.approx(value, abs=1e-12)
    snapped = problem.space.decode(problem.space.encode(params))
    assert problem.value_at(snapped, 7) == pytest.approx(value, abs=1e-9)
    best = max(problem.value_at(p, 7) for p in some_points(problem, 4096))
    assert best <= value + 1e-12
    # The sample is dense enough to come close.
    assert best >= value - (0.001 if len(problem.space.names) == 1 else 0.1)


# -- candidates -------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_candidates_are_models_on_encoded_points(name):
    problem = problems.get(name)
    assert 0 <= problem.true_candidate < len(problem.candidates)
    labels = [candidate.label for candidate in problem.candidates]
    assert len(set(labels)) == len(labels)
    X = np.array([problem.space.encode(p) for p in some_points(problem, 20)])
    for candidate in problem.candidates:
        assert isinstance(candidate, Candidate)
        np.testing.assert_allclose(candidate.kernel.diag(X), 1.0)
        assert np.linalg.eigvalsh(candidate.kernel(X)).min() > -1e-10
        hash(candidate.key)
        if candidate.mean is not None:
            assert candidate.mean(X).shape == (20,)


# -- time -------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHANGING)
def test_changing_problems_need_the_time(name):
    problem, rng = problems.get(name), np.random.default_rng(0)
    assert problem.varies
    assert problem.optimum is None
    assert problem.horizon >= 400
    params = some_points(problem, 1)[0]
    for call in (problem.value_at, lambda p: problem.observe(p, rng)):
        with pytest.raises(ValueError, match=f"{name}' changes in time: give .* 't'"):
            call(params)
    for call in (
        lambda: problem.func(params, 0),
        lambda: problem.value_at(params, 0),
        lambda: problem.optimum_at(0),
        lambda: problem.optimum_params_at(0),
    ):
        with pytest.raises(ValueError, match=r"'t' must be an integer >= 1\. Got 0"):
            call()


@pytest.mark.parametrize("name", ["branin", *STILL])
def test_still_problems_ignore_the_time(name):
    problem = problems.get(name)
    params = problem.optimum_params
    assert not problem.varies
    assert problem.horizon is None
    assert (
        problem.value_at(params) == problem.value_at(params, 9) == problem.func(params)
    )
    assert problem.optimum_at(9) == problem.optimum
    assert problem.optimum_params_at(9) == params


def test_unknown_optimum_stays_unknown():
    problem = replace(problems.get("slow-change"), optimum_over_time=None)
    assert problem.optimum_at(3) is None
    assert problem.optimum_params_at(3) is None


@pytest.mark.parametrize("name", CHANGING)
def test_noise_of_changing_problems(name):
    problem, rng = problems.get(name), np.random.default_rng(0)
    params = some_points(problem, 1)[0]
    noise = np.array([problem.observe(params, rng, 3) for _ in range(2000)])
    noise -= problem.func(params, 3)
    assert noise.std() == pytest.approx(problem.noise_std, rel=0.1)
    assert abs(noise.mean()) < 4 * problem.noise_std / np.sqrt(2000)


# -- initial designs --------------------------------------------------------------


@pytest.mark.parametrize(("name", "n"), [("unknown-period", 5), ("rkhs", 2)])
def test_uniform_initial_designs(name, n):
    problem = problems.get(name)
    design = problem.initial_params(3)
    assert len(design) == n
    assert design == problems.get(name).initial_params(3)
    assert design != problem.initial_params(4)
    low, high = problem.space.dimensions["x"].low, problem.space.dimensions["x"].high
    x = np.array([p["x"] for p in problem.initial_params(1, 4000)])
    assert low <= x.min() < x.max() <= high
    counts, _ = np.histogram(x, bins=10, range=(low, high))
    # Independent draws scatter as they should; a Sobol sequence would hardly.
    assert 3.3 < np.sum((counts - 400) ** 2 / 400) < 17
