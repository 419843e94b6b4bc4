"""The default leaves traps that a likelihood-fitted length scale stays in."""

import pytest

from skrobustbo import maximize, problems


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_robust_escapes_the_trap(seed):
    trap = problems.get("berkenkamp-trap")
    start = trap.initial_params(seed)
    assert len(start) == 3
    assert all(0.5 <= params["x"] <= 1 for params in start)
    result = maximize(
        trap.func,
        trap.space,
        n_iter=53,
        initial_params=start,
        n_initial_points=3,
        random_state=seed,
    )
    assert trap.optimum - result.fun < 1e-3
