"""What the papers' programs do differently, as the reproductions have it."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from skrobustbo import Optimizer, Real
from skrobustbo.policies import AGPUCB, LBGPUCB
from skrobustbo_benchmarks._reproduce._baselines import (
    ETGPFromScratch,
    ProgramA,
    ProgramLB,
)

SPACE = {"x": Real(0, 1), "y": Real(0, 1)}


def run(policy, steps, jump=math.inf):
    optimizer = Optimizer(SPACE, policy, n_initial_points=1, random_state=0)
    for t in range(1, steps + 1):
        params = optimizer.ask()
        optimizer.tell(params, math.sin(5 * params["x"]) + 5.0 * (t >= jump))
    return optimizer


def test_blocks_begin_with_no_data_and_a_random_query():
    history = run(ETGPFromScratch(delta_b=None, n_up=5, noise=0.1), 16).history_
    resets = [i for i, record in enumerate(history) if record["reset"]]
    random = [i for i, r in enumerate(history) if r["model_label"] == "random"]
    assert np.diff(resets).tolist() == [5] * (len(resets) - 1)
    assert random == [i + 1 for i in resets if i + 1 < len(history)]


def test_an_event_keeps_its_value():
    policy = ETGPFromScratch(n_up=50, noise=0.1, normalize_y=False)
    optimizer = run(policy, 14, jump=12)
    assert optimizer.history_[11]["reset"]
    assert optimizer.history_[12]["model_label"] != "random"


def start(policy):
    optimizer = Optimizer(SPACE, policy, n_initial_points=8, random_state=0)
    for i in range(8):
        params = optimizer.ask()
        optimizer.tell(params, math.sin(3 * params["x"]) + 0.01 * i)
    optimizer.ask()
    return optimizer._branches[0].state


@pytest.mark.parametrize("policy", [ProgramLB(), ProgramA(matching=None)])
def test_theta0_is_where_the_climb_from_ln_2_ends(policy):
    state = start(policy)
    paper = LBGPUCB() if isinstance(policy, LBGPUCB) else AGPUCB(theta0=None)
    # A smooth function has one peak of the likelihood, found from anywhere.
    assert state.theta0 == pytest.approx(start(paper).theta0, rel=0.1)


def test_regret_is_that_of_the_rbf_kernel_with_norm_1():
    policy = ProgramLB(kernel=Matern(nu=2.5), norm_bound=7.0)
    state = start(policy)
    for i in range(3):
        gamma = policy.theta(state, i) ** -2 * math.log(9) ** 3
        expected = 3.0 * (math.sqrt(gamma) + gamma)
        assert policy.suspected_regret(state, i, 9) == pytest.approx(expected)


def test_widths_count_once():
    policy, paper = ProgramLB(), LBGPUCB()
    state = start(policy)
    state.members[0], state.widths[0] = [0, 1], [0.5, 1.5]
    finite = np.ones(8, dtype=bool)
    assert policy._slack(state, 0, finite) == 1.0
    assert paper._slack(state, 0, finite) == 2.0
