"""Searches over thousands of unordered choices."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from runs import read_back, run
from skrobustbo import Categorical, Integer, Optimizer, Real, Space
from skrobustbo.policies import available

K = 10_000
CHOICES = [f"c{i}" for i in range(K)]
SPACES = {
    "alone": {"c": Categorical(CHOICES)},
    "mixed": {"x": Real(0, 1), "c": Categorical(CHOICES), "n": Integer(1, 9)},
    "branches": [
        {"k": ["a"], "c": Categorical(CHOICES)},
        {"k": ["b"], "x": Real(0, 1), "d": Categorical(CHOICES[:300])},
    ],
    "pool": Space.from_points(
        [{"c": c, "x": (7919 * i % K) / K} for i, c in enumerate(CHOICES[:1500])]
    ),
}


def worth(params):
    name = params.get("c") or params["d"]
    return float(int(name[1:]) % 7 - 3 * abs(params.get("x", 0.5) - 0.4))


@pytest.mark.parametrize("name", SPACES)
def test_points_are_new_and_the_good_choices_come_again(name):
    optimizer = Optimizer(SPACES[name], n_initial_points=8, random_state=0)
    asked = run(optimizer, 40, worth)
    assert len({json.dumps(params) for params in asked}) == 40
    if name == "mixed":
        known = [p["c"] in {q["c"] for q in asked[:i]} for i, p in enumerate(asked)]
        assert sum(known) > 15
        assert max(map(worth, asked)) > 5.9
    assert np.isfinite(optimizer.predict(asked[:2])).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("policy", ["robust", "he-gp-ucb", "stableopt"])
def test_a_state_read_back_asks_the_same(name, policy):
    optimizer = Optimizer(SPACES[name], policy, n_initial_points=4, random_state=1)
    for _ in range(9):
        copy = read_back(optimizer)
        params = optimizer.ask()
        assert copy.ask() == params
        optimizer.tell(params, worth(params))


def test_constraints_hold_for_choices_that_are_rare():
    def allowed(params):
        return int(params["c"][1:]) % 41 == 5 and params["x"] < 0.7

    optimizer = Optimizer(
        SPACES["mixed"], constraints=allowed, n_initial_points=5, random_state=0
    )
    asked = run(optimizer, 20, worth)
    assert all(map(allowed, asked))
    assert len({json.dumps(params) for params in asked}) == 20


@pytest.mark.parametrize("policy", ["robust", "map-gp-ucb", "mcmc-gp-ucb", "tv-gp-ucb"])
def test_both_encodings_are_of_one_model(policy, monkeypatch):
    def predictions(n_columns):
        choices = Categorical(CHOICES[:30])
        space = Space({"c": choices, "x": Real(0, 1), "n": Integer(1, 5)})
        assert space.n_columns == n_columns
        optimizer = Optimizer(space, policy, n_initial_points=5, random_state=0)
        for params in space.sample(30, random_state=0):
            optimizer.tell(params, worth(params))
        optimizer.ask()
        return optimizer.predict(space.sample(50, random_state=1), return_std=True)

    one_hot = predictions(32)
    monkeypatch.setattr("skrobustbo.space._dimensions.MAX_ONE_HOT", 10)
    np.testing.assert_allclose(predictions(3), one_hot, rtol=1e-3, atol=1e-3)


def test_all_of_a_few_hundred_choices_are_tried_once():
    space = {"c": Categorical(CHOICES[:120])}
    optimizer = Optimizer(space, "he-gp-ucb", n_initial_points=4, random_state=0)
    asked = run(optimizer, 120, worth)
    assert {params["c"] for params in asked} == set(CHOICES[:120])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of memory")
@pytest.mark.parametrize("policy", available())
def test_memory_is_bounded(policy):
    """The figures in docs/spaces.md, under a memory limit of the operating system."""
    script = Path(__file__).with_name("bounded_memory.py")
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, "1")}
    command = [sys.executable, script, policy, "4"]
    done = subprocess.run(command, timeout=600, env=environment)
    assert done.returncode == 0
