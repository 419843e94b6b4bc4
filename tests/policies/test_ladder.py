"""The default's estimates: how often they are made, and when sooner."""

import numpy as np
import pytest

from skrobustbo import Optimizer, Real
from skrobustbo.policies import RobustUCB
from skrobustbo.policies import _robust as module


@pytest.fixture
def fits(monkeypatch):
    """Note the number of values at each fit of the length scales."""
    sizes, fit = [], module.map_length_scales

    def noted(kernel, models, *args):
        sizes.append(models.n)
        return fit(kernel, models, *args)

    monkeypatch.setattr(module, "map_length_scales", noted)
    return sizes


def smooth(params):
    return -((params["a"] - 0.3) ** 2)


def search(n, objective=smooth):
    optimizer = Optimizer({"a": Real(0, 1)}, RobustUCB(tail=None), random_state=0)
    for _ in range(n):
        params = optimizer.ask()
        optimizer.tell(params, objective(params))
    return optimizer


def test_every_step_at_first_and_ever_more_rarely_then(fits):
    search(200)
    assert set(range(10, 66)) <= set(fits)
    late = np.array([n for n in fits if n >= 66])
    gaps = np.diff(late)
    # After n values the next estimate waits for (n - 50) / 16 more, a fourth at least.
    spacing = 1 + (late[1:] - 50) // 16
    assert (gaps <= spacing).all()
    assert len(late) < 45


def test_a_batch_asks_with_one_estimate(fits):
    optimizer = search(70)
    fits.clear()
    optimizer.ask(8)
    assert len(fits) <= 1


def test_a_surprise_brings_the_next_estimate_forward(fits):
    calm = search(150)
    due = fits[-1] + 1 + (150 - 50) // 16
    fits.clear()
    for _ in range(2):  # values that no model of a parabola expects
        params = calm.ask()
        calm.tell(params, smooth(params) + 50.0)
    while not fits:
        calm.ask()
        params = calm.ask()
        calm.tell(params, smooth(params))
    assert fits[0] < due


def test_the_state_says_from_how_many_values_the_estimate_is():
    optimizer = search(30)
    state = optimizer._core.engines[0].state
    assert state.n_fitted == 29
    assert len(state.theta) == 1
