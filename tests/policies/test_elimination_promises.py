"""The promises of the theory of bands and elimination, in hundreds of runs.

Each promise has a counterpart that shows the power of the test: if the model is grossly
wrong, bands break and candidates are eliminated.
"""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import inside
from skrobustbo import Candidate, Optimizer, Space
from skrobustbo.policies import HEGPUCB, HEStableOpt

RUNS, DELTA, NOISE = 400, 0.1, 0.1
GRID = np.linspace(0, 1, 25)[:, None]
POINTS = [{"x": float(x)} for x in GRID[:, 0]]
SPACE = Space.from_points(POINTS)
TRUE = RBF(0.15)

# If the true model is lost, the others may well follow.
pytestmark = [
    pytest.mark.usefixtures("one_blas"),
    pytest.mark.filterwarnings("ignore:All candidate models"),
]


def drawn(rng):
    """Return a function from the process with the true kernel."""
    K = TRUE(GRID) + 1e-9 * np.eye(len(GRID))
    return np.linalg.cholesky(K) @ rng.standard_normal(len(GRID))


def bounded(rng, norm):
    """Return a function of known norm in the true kernel's space."""
    centres = rng.random((6, 1))
    alpha = rng.standard_normal(6)
    alpha *= norm / np.sqrt(alpha @ TRUE(centres) @ alpha)
    return TRUE(GRID, centres) @ alpha


def run(f, policy, rng, steps):
    """Yield the optimizer after each of the steps."""
    seed = int(rng.integers(2**31))
    optimizer = Optimizer(SPACE, policy, n_initial_points=1, random_state=seed)
    for _ in range(steps):
        i = POINTS.index(optimizer.ask())
        optimizer.tell(POINTS[i], f[i] + NOISE * rng.standard_normal())
        yield optimizer


def settings(**others):
    return {
        "noise": NOISE,
        "delta": DELTA,
        "normalize_y": False,
        "repeats": True,
        **others,
    }


def survivors(cls, candidates, f, rng, steps, beta):
    radius = {"eps": 0.06} if cls is HEStableOpt else {}
    policy = cls(candidates, **settings(beta=beta, **radius))
    *_, last = run(f, policy, rng, steps)
    return last.history_[-1]["alive"]


def objective(beta, rng):
    """Return a function for which the schedule promises its band."""
    return drawn(rng) if beta == "bayes-finite" else bounded(rng, 2.0)


both_schedules = pytest.mark.parametrize("beta", ["bayes-finite", "self-normalised"])
both_searches = pytest.mark.parametrize("cls", [HEGPUCB, HEStableOpt])


@pytest.mark.slow
@both_searches
@both_schedules
def test_the_true_model_survives(beta, cls):
    candidates = [
        Candidate(RBF(0.05), label="short"),
        Candidate(TRUE, norm_bound=2.0, label="true"),
        Candidate(RBF(0.6), label="long"),
    ]
    lost = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        f = objective(beta, rng)
        lost += "true" not in survivors(cls, candidates, f, rng, 15, beta)
    assert lost <= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "mean"), [(HEGPUCB, 10.0), (HEStableOpt, 10.0), (HEStableOpt, -10.0)]
)
@both_schedules
def test_a_grossly_wrong_model_goes(beta, cls, mean):
    """The model is ten deviations off, so the test must notice it.

    A model that promises too much is the optimist and fails that test; one that fears
    too much is the pessimist of the robust search and fails the other.
    """
    wrong = Candidate(TRUE, mean=lambda X: np.full(len(X), mean), label="wrong")
    candidates, gone = [wrong, Candidate(TRUE, norm_bound=2.0)], 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        f = objective(beta, rng)
        gone += "wrong" not in survivors(cls, candidates, f, rng, 6, beta)
    assert gone >= 320


def count_broken(candidate, beta):
    """Count the runs of GP-UCB whose band misses the function somewhere."""
    policy = HEGPUCB([candidate], **settings(beta=beta, delta=2 * DELTA))
    broken = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        f = objective(beta, rng)
        broken += not all(
            band_holds(f, optimizer, candidate) for optimizer in run(f, policy, rng, 15)
        )
    return broken


@pytest.mark.slow
@both_schedules
def test_bands_hold_everywhere_at_all_times(beta):
    """With the queries of GP-UCB itself, which go where the band is highest."""
    assert count_broken(Candidate(TRUE, norm_bound=2.0), beta) <= 60


@pytest.mark.slow
@both_schedules
def test_bands_of_a_grossly_wrong_model_break(beta):
    """Ten times the length scale, with the same bound on the norm."""
    assert count_broken(Candidate(RBF(1.5), norm_bound=2.0), beta) >= 320


def band_holds(f, optimizer, candidate):
    """Return whether the function is within the band used for the next query."""
    models = inside.models(optimizer)
    posterior = models[candidate]
    t = 1 if inside.state(optimizer) is None else inside.state(optimizer).t + 1
    beta = optimizer.policy.beta_of(posterior, 1, t)
    mu, sigma = posterior.predict(GRID)
    return bool((np.abs(f - mu) <= beta * sigma + 1e-9).all())
