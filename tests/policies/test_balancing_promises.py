"""What theory promises of balancing, counted over many runs.

The true model is among the candidates, its norm bound is the objective's norm, values
are raw and the noise is the model's.
"""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from skrobustbo import Candidate
from skrobustbo.policies import HBGPUCB, LBGPUCB, Setup
from skrobustbo.surrogate import FactorBank, Models

pytestmark = pytest.mark.slow

NOISE = 0.1
GRID = np.linspace(0, 1, 40)[:, None]
SETTINGS = {
    "noise": NOISE,
    "beta": "self-normalised",
    "delta": 0.1,
    "normalize_y": False,
    "repeats": True,
}


class Told:
    values = None


def argmax(acq, *, inner=False):
    values = acq(GRID)
    best = int(np.argmax(values))
    return GRID[best], float(values[best])


def survivors(policy, f, rng, steps):
    """Run the policy on noisy values of f; return the candidates that are left."""
    bank, told = FactorBank(NOISE), Told()
    rows = [int(i) for i in rng.integers(len(GRID), size=2)]
    noise = NOISE * rng.standard_normal(2 + steps)

    def models():
        told.values = f[rows] + noise[: len(rows)]
        return Models(bank, GRID[rows], told.values)

    state = policy.start(Setup(1), models())
    for _ in range(steps):
        x, memo = policy.suggest(state, models(), argmax, [])
        rows.append(int(np.searchsorted(GRID[:, 0], x[0])))
        models()
        policy.learn(state, memo, told)
    return state.alive


@pytest.mark.parametrize("kernel", [Matern(0.3, nu=2.5), RBF(0.3)])
def test_a_well_specified_candidate_stays(kernel):
    """Of 400 runs 1 in 10 may lose the longest length scale, which is right.

    If they did, more than 60 would with probability 0.0006.
    """
    norm, lost = 2.0, 0
    for seed in range(400):
        rng = np.random.default_rng([seed, 0])
        centres, weights = rng.random((8, 1)), rng.standard_normal(8)
        weights *= norm / math.sqrt(weights @ kernel(centres) @ weights)
        f = kernel(GRID, centres) @ weights
        ladder = LBGPUCB(
            kernel, theta0=1.0, growth=0.0, n_candidates=3, norm_bound=norm, **SETTINGS
        )
        lost += 0 not in survivors(ladder, f, rng, 15)
    assert lost <= 60


def test_a_grossly_wrong_candidate_goes():
    """One peak of width 0.1; a length scale of 10 takes the whole space for flat."""
    right, norm, gone = Matern(0.1, nu=2.5), 5.0, 0
    candidates = [Candidate(k, norm_bound=norm) for k in (RBF(10.0), right)]
    policy = HBGPUCB(candidates=candidates, regret=lambda i, n: n, **SETTINGS)
    for seed in range(100):
        rng = np.random.default_rng([seed, 1])
        f = norm * right(GRID, rng.random((1, 1)))[:, 0]
        gone += survivors(policy, f, rng, 60) == [1]
    assert gone >= 80
