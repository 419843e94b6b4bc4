"""The default escapes traps that catch a likelihood-fitted length scale."""

import pytest

from functions import BERKENKAMP, berkenkamp, starts_on_the_slope
from skrobustbo import Real, maximize


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_robust_escapes_the_trap(seed):
    result = maximize(
        berkenkamp,
        {"x": Real(0, 1)},
        n_iter=53,
        initial_params=starts_on_the_slope(seed),
        n_initial_points=3,
        random_state=seed,
    )
    assert BERKENKAMP - result.fun < 1e-3
