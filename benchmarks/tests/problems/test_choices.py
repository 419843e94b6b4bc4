"""Many unordered choices beside a few numbers."""

import pickle
from itertools import product

import numpy as np
import pytest

from skrobustbo import Categorical
from skrobustbo_benchmarks import problems


def test_the_optimum_is_that_of_all_combinations():
    problem = problems.get("choices", n_choices=3, k=4, n_numbers=2, seed=5)
    names, best = problem.space.names, problem.optimum_params
    assert problem.func(best) == pytest.approx(problem.optimum)
    every = product([f"c{i}" for i in range(4)], repeat=3)
    reached = []
    for combination in every:
        right = problem.func.right[int(combination[0][1:])]
        reached.append(
            problem.func(dict(zip(names, [*combination, *right], strict=True)))
        )
    assert max(reached) == pytest.approx(problem.optimum)
    assert problem.func({**best, "x1": best["x1"] / 2}) < problem.optimum


def test_which_numbers_are_best_depends_on_the_first_choice_only():
    problem = problems.get("choices", n_choices=2, k=3, n_numbers=1)

    def best_number(first, second):
        grid = np.linspace(0, 1, 401)
        values = [
            problem.func({"choice1": first, "choice2": second, "x1": x}) for x in grid
        ]
        return grid[int(np.argmax(values))]

    of_first = {first: best_number(first, "c0") for first in ("c0", "c1", "c2")}
    assert len(set(of_first.values())) == 3
    assert best_number("c1", "c2") == of_first["c1"]


def test_a_seed_draws_a_function():
    law = problems.get("choices", k=5)
    assert len(law.space.names) == 5
    assert isinstance(law.space.dimensions["choice3"], Categorical)
    a, b = law.sample_function(1), law.sample_function(2)
    assert a.space.dimensions == law.space.dimensions
    params = law.space.sample(1, 0)[0]
    assert a.func(params) != b.func(params)
    assert a.func(params) == problems.get("choices", k=5, seed=1).func(params)
    assert pickle.loads(pickle.dumps(a.func))(params) == a.func(params)


def test_choices_alone():
    problem = problems.get("choices", n_choices=1, k=12, n_numbers=0)
    values = [problem.func({"choice1": f"c{i}"}) for i in range(12)]
    assert max(values) == problem.optimum
    assert len(set(values)) == 12


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_choices": 0}, "'n_choices' must be an integer >= 1. Got 0"),
        ({"k": 1}, "'k' must be an integer >= 2. Got 1"),
        ({"n_numbers": -1}, "'n_numbers' must be an integer >= 0. Got -1"),
        ({"seed": -1}, "'seed' must be an integer >= 0"),
    ],
)
def test_settings_out_of_range(settings, words):
    with pytest.raises(ValueError, match=words):
        problems.get("choices", **settings)
