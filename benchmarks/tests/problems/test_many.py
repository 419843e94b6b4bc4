"""Many parameters, of which all matter, or only a few."""

import pickle

import numpy as np
import pytest

from skrobustbo_benchmarks import problems


@pytest.mark.parametrize("name", ["ackley", "levy", "rosenbrock"])
def test_all_matter_by_default(name):
    many, known = problems.get("many", function=name), problems.get(f"{name}20")
    assert many.space.names == known.space.names
    for params in known.space.sample(5, 0):
        assert many.func(params) == known.func(params)
    assert many.initial_params(3) == known.initial_params(3)


@pytest.mark.parametrize("name", ["ackley", "levy", "rosenbrock", "hartmann6"])
def test_six_of_twenty(name):
    problem = problems.get("many", function=name, d=20, relevant=6, seed=3)
    best = problem.optimum_params
    assert problem.func(best) == pytest.approx(problem.optimum, abs=1e-12)
    assert len(best) == 20
    low, high = (-5.0, 10.0) if name != "hartmann6" else (0.0, 1.0)
    changes = [
        name
        for name in problem.space.names
        if len({problem.func({**best, name: x}) for x in (low, 0.9 * high)}) > 1
    ]
    assert len(changes) == 6
    assert problem.sample_function(3).func.places == tuple(changes)
    assert problem.sample_function(4).func.places != tuple(changes)
    assert pickle.loads(pickle.dumps(problem.func))(best) == problem.func(best)


def test_hartmanns_function_has_six_that_matter():
    few, many = problems.get("hartmann6"), problems.get("many", function="hartmann6")
    params = many.space.sample(1, 0)[0]
    own = [params[place] for place in many.func.places]
    assert many.func(params) == few.func(dict(zip(few.space.names, own, strict=True)))
    assert many.optimum == few.optimum


def test_places_are_drawn_evenly():
    seeds = range(300)
    drawn = [problems.get("many", relevant=6, seed=seed).func.places for seed in seeds]
    counts = np.unique(np.concatenate(drawn), return_counts=True)[1]
    assert len(counts) == 20
    assert counts.min() > 60
    assert counts.max() < 120


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"function": "akley"}, "did you mean 'ackley'"),
        ({"d": 5, "relevant": 6}, "at most d.*relevant=6 with d=5"),
        ({"relevant": 1}, "'relevant' must be an integer >= 2. Got 1"),
        ({"d": 1}, "'d' must be an integer >= 2. Got 1"),
        ({"function": "hartmann6", "relevant": 5}, "6 for 'hartmann6'"),
        ({"seed": -1}, "'seed' must be an integer >= 0"),
    ],
)
def test_settings_out_of_range(settings, words):
    with pytest.raises(ValueError, match=words):
        problems.get("many", **settings)
