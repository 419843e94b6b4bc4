"""Policies that forget, where the objective drifts: a short form of a table."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skrobustbo import Optimizer
from skrobustbo.policies import ETGPUCB, RGPUCB, TVGPUCB
from skrobustbo_benchmarks import problems

KERNEL = RBF(0.2)


def mean_value(policy, seed, steps=100):
    """Mean of the objective at the queries, noise left out."""
    problem = problems.get("tv-within-model").sample_function(seed)
    optimizer = Optimizer(problem.space, policy, n_initial_points=1, random_state=seed)
    rng, values = np.random.default_rng([seed, 5]), []
    for t in range(1, steps + 1):
        params = optimizer.ask()
        values.append(problem.func(params, t))
        noise = problem.noise_std * rng.standard_normal()
        optimizer.tell(params, values[-1] + noise)
    return np.mean(values)


@pytest.mark.slow
def test_forgetting_pays_where_the_objective_drifts():
    """A short form of the paper's Table 1 at epsilon = 0.03: who comes first and last.

    Eight objectives do not tell the event trigger from periodic resets.
    """
    common = {"c1": 0.4, "noise": math.sqrt(0.02), "normalize_y": False}
    field = {
        "tv": TVGPUCB(KERNEL, epsilon=0.03, **common),
        "et": ETGPUCB(KERNEL, **common),
        "r": RGPUCB(KERNEL, epsilon=0.03, **common),
        "gp": ETGPUCB(KERNEL, delta_b=None, **common),
    }
    mean = {
        name: np.mean([mean_value(policy, seed) for seed in range(8)])
        for name, policy in field.items()
    }
    assert mean["tv"] > max(mean["et"], mean["r"])
    assert mean["gp"] < min(mean["et"], mean["r"])
