"""Estimated values: they have their own noise, are never best, and are stored."""

import json

import numpy as np
import pytest

import inside
from skrobustbo import Optimizer, Real
from skrobustbo.policies import BOHO, HEStableOpt, StableOpt, available
from skrobustbo.policies._boho import BOHOState

SPACE = {"x": Real(0, 1)}


def told(policy="robust", n=10, std=0.2):
    """Return an optimizer with every third value an estimate."""
    optimizer = Optimizer(SPACE, policy, n_initial_points=4, random_state=0)
    for i in range(n):
        evaluation = optimizer._propose()
        value = -((evaluation.params["x"] - 0.3) ** 2)
        optimizer._record(evaluation, value, std if i % 3 == 2 else 0.0)
    return optimizer


def test_an_estimate_is_best_only_among_estimates():
    optimizer = Optimizer(SPACE, random_state=0)
    optimizer._record(optimizer._propose(), 5.0, 0.1)
    assert optimizer.best_value_ == 5.0
    optimizer._record(optimizer._propose(), 1.0)
    optimizer._record(optimizer._propose(), 9.0, 0.1)
    assert optimizer.best_value_ == 1.0
    assert [r["value_std"] for r in optimizer.history_] == [0.1, 0.0, 0.1]


@pytest.mark.parametrize("policy", available())
def test_every_policy_goes_on_and_resumes(policy):
    optimizer = told(policy)
    state = json.loads(json.dumps(optimizer.to_dict()))
    other = Optimizer.from_dict(state)
    assert optimizer.ask(2) == other.ask(2)


@pytest.mark.parametrize("policy", ["robust", "map-gp-ucb", "he-gp-ucb"])
def test_an_uncertain_value_moves_the_model_less(policy):
    point = {"x": 0.9}
    moved = []
    for std in (0.0, 0.02, 5.0):
        optimizer = told(policy, std=0.0)
        before = optimizer.predict(point)
        inside.tell(optimizer, point, 2.0, std)
        moved.append(abs(optimizer.predict(point) - before))
    assert moved[0] > moved[1] > moved[2]


def test_boho_improves_on_a_value_that_was_measured_in_full():
    optimizer = Optimizer(SPACE, BOHO(incumbent="f"), n_initial_points=2)
    values = [(0.1, 1.0, 0.0), (0.9, 9.0, 0.1), (0.5, 2.0, 0.0), (0.4, np.nan, 0.0)]
    for x, value, std in values:
        inside.tell(optimizer, {"x": x}, value, std)
    models = inside.models(optimizer)
    assert models.best * models.scale + models.shift == pytest.approx(2.0)
    asked = []

    def argmax(acq):
        asked.append(acq)
        return models.X[0], 0.0

    optimizer.policy.suggest(BOHOState([1.0]), models, argmax, [])
    assert asked[0].incumbent == models.best == models.z[2]


def test_the_best_of_estimates_alone_is_the_best_of_all():
    optimizer = Optimizer(SPACE, random_state=0)
    for x, value, std in [(0.1, 1.0, 0.1), (0.9, 9.0, 0.1), (0.2, np.nan, 0.0)]:
        inside.tell(optimizer, {"x": x}, value, std)
    models = inside.models(optimizer)
    assert models.best == models.z[1] > models.z[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cls", [StableOpt, HEStableOpt])
def test_no_centre_is_recommended_whose_query_was_stopped(cls, seed):
    optimizer = Optimizer(SPACE, cls(eps=0.05), n_initial_points=3, random_state=seed)
    for i in range(9):
        evaluation = optimizer._propose()
        value = -((evaluation.params["x"] - 0.3) ** 2)
        # Only one of the centres has a fully measured value.
        optimizer._record(evaluation, value, 0.1 if i > 3 else 0.0)
    centres = inside.state(optimizer).centres
    assert len(centres) == 6
    assert [optimizer.recommend()["x"]] == centres[0]
    again = Optimizer.from_dict(json.loads(json.dumps(optimizer.to_dict())))
    assert again.recommend() == optimizer.recommend()


@pytest.mark.parametrize("std", [-1.0, "1", None, float("inf")])
def test_a_state_with_an_impossible_error_is_refused(std):
    state = told().to_dict()
    state["trials"][2]["value_std"] = std
    with pytest.raises(ValueError, match="state"):
        Optimizer.from_dict(state)


def test_a_state_without_estimates_has_no_more_than_before():
    plain = Optimizer(SPACE, random_state=0)
    plain.tell({"x": 0.5}, 1.0)
    assert "value_std" not in plain.to_dict()["trials"][0]
    assert np.isclose(told().to_dict()["trials"][2]["value_std"], 0.2)
