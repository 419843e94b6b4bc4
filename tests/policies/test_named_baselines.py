"""The papers' baselines as settings, against slow independent programs."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

from skrobustbo import Optimizer, Space
from skrobustbo.policies import AGPUCB, ETGPUCB, MAPGPUCB, MCMCGPUCB
from skrobustbo.policies._beta import bayes_changing_beta
from skrobustbo.surrogate import FlatPrior

NOISE, BETA, STEPS = 0.05, 2.0, 14
AXIS = np.linspace(0.0, 1.0, 41)


def objective(x):
    return math.sin(9 * x) + 0.5 * x


def gram(A, B, theta):
    return np.exp(-((A[:, None] - B[None, :]) ** 2) / (2 * theta**2))


def predict(x, y, theta):
    """Return mean, deviation over the axis and log likelihood, by inverses."""
    inverse = np.linalg.inv(gram(x, x, theta) + NOISE**2 * np.eye(len(x)))
    k = gram(AXIS, x, theta)
    sigma = np.sqrt(np.maximum(1 - np.einsum("ij,jk,ik->i", k, inverse, k), 0))
    _, log_det = np.linalg.slogdet(inverse)
    return k @ inverse @ y, sigma, 0.5 * log_det - 0.5 * y @ inverse @ y


def search(policy):
    """Yield the told values before each query, the query and its record."""
    optimizer = Optimizer(
        Space.from_points([{"x": float(x)} for x in AXIS]),
        policy,
        n_initial_points=2,
        random_state=0,
    )
    x, y = [], []
    for _ in range(STEPS):
        params = optimizer.ask()
        if len(x) >= 2:
            yield (
                np.array(x),
                np.array(y),
                params["x"],
                optimizer.to_dict()["trials"][-1],
            )
        x.append(params["x"])
        y.append(objective(params["x"]))
        optimizer.tell(params, y[-1])


def common(**settings):
    return {"noise": NOISE, "normalize_y": False, "repeats": True, **settings}


def test_growth_over_a_list_of_length_scales():
    thetas = [1.0, 0.5, 0.25, 0.12]
    policy = AGPUCB(
        candidates=[RBF(theta) for theta in thetas],
        matching=None,
        growth=0.9,
        beta=BETA,
        **common(),
    )
    chosen = []
    for t, (x, y, asked, _) in enumerate(search(policy)):
        likely = thetas[int(np.argmax([predict(x, y, theta)[2] for theta in thetas]))]
        wanted = likely / max(max(t, 1) ** 0.9, 1)
        theta = min(thetas, key=lambda theta, w=wanted: abs(theta - w))
        mu, sigma, _ = predict(x, y, theta)
        bound = mu + BETA * sigma
        assert bound[np.flatnonzero(asked == AXIS)[0]] == pytest.approx(bound.max())
        chosen.append(theta)
    assert chosen[-1] == 0.12  # the list ends where the growth has no end
    assert len(set(chosen)) > 1


def test_length_scales_shortened_until_the_query_is_unsure():
    kappa = 0.3
    policy = MAPGPUCB(
        RBF(), beta=BETA, anisotropic=False, least_deviation=kappa, **common()
    )
    n_shortened = 0
    for x, y, asked, trial in search(policy):
        (estimate,) = trial["metadata"]["theta"]
        theta = estimate
        while True:
            mu, sigma, _ = predict(x, y, theta)
            bound = mu + BETA * sigma
            best = int(np.argmax(bound))
            if sigma[best] >= kappa:
                break
            theta /= 1.1
        n_shortened += theta < estimate
        assert trial["length_scales"] == pytest.approx([theta])
        assert bound[np.flatnonzero(asked == AXIS)[0]] == pytest.approx(bound.max())
    assert n_shortened > 2


def test_expected_improvement_over_draws():
    policy = MCMCGPUCB(RBF(), acquisition="ei", prior=FlatPrior(), **common())
    for x, y, asked, trial in search(policy):
        total = np.zeros(len(AXIS))
        for (theta,) in trial["metadata"]["thetas"]:
            mu, sigma, _ = predict(x, y, theta)
            gap = mu - mu.max()
            z = gap / sigma
            total += gap * norm.cdf(z) + sigma * norm.pdf(z)
        assert total[np.flatnonzero(asked == AXIS)[0]] == pytest.approx(
            total.max(), rel=1e-5
        )


@pytest.mark.parametrize(("d", "t", "delta"), [(1, 1, 0.1), (2, 30, 0.05)])
def test_schedule_for_a_process_that_changes(d, t, delta):
    inner = math.log(2 * d * math.pi**2 * t**2 / (3 * delta))
    squared = 2 * math.log(2 * math.pi**2 * t**2 / (3 * delta))
    squared += 2 * d * math.log(t**2 * d * math.sqrt(inner))
    assert bayes_changing_beta(d, t, delta) == pytest.approx(math.sqrt(squared))


def test_the_schedule_has_a_name():
    policy = ETGPUCB(beta="bayes-changing", delta=0.2)
    policy.check()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (AGPUCB(candidates=[RBF()]), "'candidates' of AGPUCB must be None unless"),
        (
            AGPUCB(candidates=[RBF((1.0, 2.0))], matching=None),
            "kernels with one length scale each",
        ),
        (MAPGPUCB(least_deviation=-1.0), "'least_deviation' of MAPGPUCB"),
        (MCMCGPUCB(acquisition="pi"), "'acquisition' of MCMCGPUCB must be 'ucb'"),
    ],
)
def test_settings_that_do_not_go_together(policy, message):
    with pytest.raises(ValueError, match=message):
        policy.check()
