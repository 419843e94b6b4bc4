"""Values and points that are hard for double precision: the search stays useful."""

import math

import numpy as np
import pytest

from runs import run
from skrobustbo import Optimizer, Real, policies

SPACE = {"a": Real(0, 1), "b": Real(0, 1)}


def bowl(params):
    return -((params["a"] - 0.3) ** 2) - 2 * (params["b"] - 0.7) ** 2


def searched(objective, n=30, seed=0, told=()):
    optimizer = Optimizer(SPACE, random_state=seed, horizon=n + len(told))
    for params, value in told:
        optimizer.tell(params, value)
    run(optimizer, n, objective)
    return optimizer


def miss(optimizer):
    """Return how far the bowl at the recommended point is below its maximum."""
    return -bowl(optimizer.recommend())


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12, 1e150])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_the_scale_of_the_objective_does_not_matter(scale, offset):
    found = searched(lambda params: scale * (offset + bowl(params)))
    assert miss(found) < 1e-3
    plain = searched(lambda params: offset + bowl(params))
    # The first model steps are equal up to rounding, which later steps amplify.
    for ours, theirs in zip(found.history_[:8], plain.history_[:8], strict=True):
        for name in SPACE:
            assert ours["params"][name] == pytest.approx(
                theirs["params"][name], abs=1e-3
            )


@pytest.mark.parametrize("offset", [-1e9, 1e12])
def test_small_differences_on_a_large_value(offset):
    found = searched(lambda params: offset + bowl(params))
    assert miss(found) < 1e-3


def test_small_differences_on_a_large_value_pay_for_rungs():
    def asked(offset):
        optimizer = Optimizer(
            SPACE, resources=[1, 3, 9], horizon=12, n_initial_points=4, random_state=0
        )
        found = []
        for _ in range(30):
            params, amount = optimizer.ask(return_resource=True)
            value = round(1024 * (bowl(params) - 0.1 / amount)) / 1024  # no rounding
            optimizer.tell(params, offset + value, resource=amount)
            found.append(amount)
        return found

    assert asked(0.0) == asked(2.0**40)


def test_points_told_that_almost_coincide():
    rng = np.random.default_rng(0)
    near = [
        {"a": 0.5 + 1e-9 * rng.standard_normal(), "b": 0.5 + 1e-12 * i}
        for i in range(40)
    ]
    told = [(params, bowl(params) + 1e-3 * rng.standard_normal()) for params in near]
    optimizer = searched(bowl, told=told)
    assert miss(optimizer) < 1e-3
    mean, std = optimizer.predict([near[0]], return_std=True)
    assert abs(mean[0] - bowl(near[0])) < 0.02
    assert 0 < std[0] < 0.02


def test_a_plateau_with_one_hill():
    def flat(params):
        return max(0.0, 0.04 + bowl(params))  # the hill covers 9% of the square

    found = [searched(flat, n=40, seed=seed) for seed in range(5)]
    assert all(optimizer.best_value_ > 0.035 for optimizer in found)


def test_a_constant_objective_is_searched_all_over():
    optimizer = searched(lambda params: 7.0, n=60)
    X = np.array([[t["params"]["a"], t["params"]["b"]] for t in optimizer.history_])
    cells = {(int(4 * a), int(4 * b)) for a, b in np.clip(X, 0, 1 - 1e-9)}
    assert len(cells) == 16


@pytest.mark.parametrize("size", [1e6, 1e300])
@pytest.mark.parametrize("at", [2, 12])
def test_an_evaluation_that_diverged(size, at):
    count = iter(range(100))

    def diverging(params):
        return bowl(params) - size * (next(count) == at)

    assert miss(searched(diverging)) < 1e-3


@pytest.mark.parametrize("name", sorted(set(policies.available()) - {"random"}))
@pytest.mark.parametrize(
    "values", [[1.7e308, -1.7e308], [1.7e308, 1.7e308, 0.0], [1.79e308, 0.0, 0.0, 0.0]]
)
def test_values_near_the_largest_float(name, values):
    optimizer = Optimizer(SPACE, name, n_initial_points=2, random_state=0)
    for i in range(7):
        params = optimizer.ask()
        optimizer.tell(params, values[i % len(values)])
    for trial in optimizer.history_[2:]:
        assert math.isfinite(trial["model_mean"])
        assert math.isfinite(trial["model_std"])
    assert optimizer.best_value_ == max(values)
    assert optimizer.best_params_ == optimizer.history_[0]["params"]
    assert all(np.isfinite(optimizer.predict(params, return_std=True)))
    if optimizer.policy.seeks_maximum:
        assert math.isfinite(optimizer.regret_bound())


def test_a_value_far_too_good_does_not_end_the_search():
    count = iter(range(100))

    def lucky(params):
        return bowl(params) + 1e6 * (next(count) == 5)

    optimizer = searched(lucky)
    later = [t["params"] for t in optimizer.history_[10:]]
    assert len({tuple(p.values()) for p in later}) == len(later)
    assert all(math.isfinite(t["model_mean"]) for t in optimizer.history_[10:])


def test_steps_of_a_score():
    # Accuracies have few levels: most neighbours have equal values.
    found = searched(lambda params: round(40 * bowl(params)) / 40, n=40)
    assert miss(found) < 1 / 40
