"""The promises of the theory of balancing, counted over many runs.

The true model is among the candidates, its norm bound is the objective's norm, values
are raw and the noise is that of the model. Each promise to keep a right candidate has a
counterpart, because a policy that keeps all candidates would keep that promise too.
"""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from skrobustbo import Candidate
from skrobustbo.kernels import with_length_scale
from skrobustbo.policies import HBGPUCB, LBGPUCB, LNBGPUCB, Setup
from skrobustbo.surrogate import FactorCache, Models, View
from tiers import mostly_long

RUNS, NOISE = 400, 0.1
KERNELS = [Matern(0.3, nu=2.5), RBF(0.3)]
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
    """Run the policy on noisy values of f; return the surviving candidates."""
    cache, told = FactorCache(NOISE), Told()
    rows = [int(i) for i in rng.integers(len(GRID), size=2)]
    noise = NOISE * rng.standard_normal(2 + steps)

    def models():
        told.values = f[rows] + noise[: len(rows)]
        return Models(cache, View(GRID[rows], told.values))

    state = policy.start(Setup(1), models())
    for _ in range(steps):
        x, metadata = policy.suggest(state, models(), argmax, [])
        rows.append(int(np.searchsorted(GRID[:, 0], x[0])))
        models()
        policy.learn(state, metadata, told)
    return state.alive


def longest_right(cls, kernel, norm):
    """Return a policy whose first candidate is `kernel` with this norm bound."""
    if cls is not HBGPUCB:
        grid = {"theta0": 1.0, "growth": 0.0, "n_candidates": 3, "norm_bound": norm}
        return cls(kernel, **grid, **SETTINGS)
    candidates = [
        Candidate(with_length_scale(kernel, 3.0**-i), norm_bound=3.0 ** (i / 2) * norm)
        for i in range(3)
    ]
    return HBGPUCB(candidates=candidates, **SETTINGS)


@pytest.mark.parametrize("cls", [LBGPUCB, LNBGPUCB, HBGPUCB])
@pytest.mark.parametrize("kernel", mostly_long(KERNELS, slow=KERNELS[:1]))
def test_a_well_specified_candidate_stays(kernel, cls):
    """One in 10 of 400 runs may lose the longest length scale, which is right.

    If so, more than 60 would lose it with probability 0.0006.
    """
    norm, lost = 2.0, 0
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 0])
        centres, weights = rng.random((8, 1)), rng.standard_normal(8)
        weights *= norm / math.sqrt(weights @ kernel(centres) @ weights)
        f = kernel(GRID, centres) @ weights
        lost += 0 not in survivors(longest_right(cls, kernel, norm), f, rng, 15)
    assert lost <= 60


@pytest.mark.parametrize("cls", mostly_long([LBGPUCB, LNBGPUCB], slow=[LBGPUCB]))
def test_a_grossly_long_length_scale_goes(cls):
    """A peak of width 0.07 on a grid from 4, with the policy's own suspected regret.

    With the longest length scale, the space looks like a slope, so queries go to its
    ends. After many queries, its band is narrow and its mean reward near 0, unless the
    peak is within 0.07 of an end; some runs therefore keep it. The others need enough
    queries to find the peak. In one dimension, R is proportional to 1 / theta: without
    eliminations, 100 steps would be 63, 22, 9, 4 and 2 queries on levels a factor e
    apart. Two levels a factor 100 apart would get 99 and 1, too few to show anything.
    """
    n, steps, gone = 5, 100, 0
    norm = math.exp((n - 1) / 2)  # B of the shortest
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 2])
        f = norm * RBF(4.0 * math.exp(1 - n))(GRID, rng.random((1, 1)))[:, 0]
        policy = cls(RBF(1.0), theta0=4.0, n_candidates=n, **SETTINGS)
        # Pairs come in rows of one norm: the longest is the first of every row.
        gone += all(i % n for i in survivors(policy, f, rng, steps))
    assert gone >= 320


def test_a_grossly_wrong_candidate_goes():
    """A peak of width 0.1; with a length scale of 10, the whole space looks flat."""
    right, norm, gone = Matern(0.1, nu=2.5), 5.0, 0
    candidates = [Candidate(k, norm_bound=norm) for k in (RBF(10.0), right)]
    policy = HBGPUCB(candidates=candidates, regret=lambda i, n: n, **SETTINGS)
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 1])
        f = norm * right(GRID, rng.random((1, 1)))[:, 0]
        gone += survivors(policy, f, rng, 60) == [1]
    assert gone >= 320
