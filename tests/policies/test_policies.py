"""The other policies: estimation, the grid, schedules, the registry."""

import json
import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

import inside
import runs
from skrobustbo import Optimizer, Real, policies
from skrobustbo.policies import GPUCB, MAPGPUCB, MLEGPUCB, RobustUCB, _base
from skrobustbo.policies._beta import (
    a_gp_beta,
    igp_beta,
    log_beta,
    rate_gain,
    self_normalised_beta,
)
from skrobustbo.policies._registry import policy_from_dict, policy_to_dict
from skrobustbo.surrogate import GammaPrior, LogNormalPrior


def test_schedules_by_hand():
    assert log_beta(10) == pytest.approx(math.sqrt(0.8 * math.log(40)))
    assert log_beta(1, c1=0.4, c2=0.4) == 0.0
    root = math.sqrt(2 * (3.0 + 1 + math.log(20)))
    assert igp_beta(2.0, 0.1, 3.0, 0.05) == pytest.approx(2 + 0.1 * root)
    root = math.sqrt(3.0 + 1 + math.log(20))
    assert a_gp_beta(2.0, 0.1, 3.0, 0.05) == pytest.approx(2 + 0.4 * root)
    root = math.sqrt(2 * (3.0 + math.log(20)))
    assert self_normalised_beta(2.0, 3.0, 0.05) == pytest.approx(2 + root)


def test_rate_of_the_information_gain_by_hand():
    assert rate_gain(0, 0.3, 2, 2.5) == 0.0
    assert rate_gain(20, 0.5, 2, math.inf) == pytest.approx(4 * math.log(20) ** 3)
    expected = 4 * 20 ** (2 / 7) * math.log(20) ** (5 / 7)
    assert rate_gain(20, 0.5, 2, 2.5) == pytest.approx(expected)


@pytest.mark.parametrize("policy", [MLEGPUCB(), MLEGPUCB(anisotropic=True), MAPGPUCB()])
def test_estimates_follow_the_data(policy):
    """A function that changes fast in one parameter gets a short length scale there."""
    optimizer = Optimizer(
        {"a": Real(0, 1), "b": Real(0, 1)}, policy, n_initial_points=2, random_state=0
    )
    points = optimizer.space.sample(40, 0)
    optimizer.tell(points, [math.sin(15 * p["a"]) + 0.1 * p["b"] for p in points])
    optimizer.ask()
    theta = inside.metadata(optimizer)["theta"]
    assert len(theta) == (2 if policy.anisotropic else 1)
    assert 0.02 < theta[0] < 0.5
    if policy.anisotropic:
        assert theta[1] > 3 * theta[0]


def test_map_is_drawn_to_its_prior():
    def theta(prior):
        policy = MAPGPUCB(prior=prior, anisotropic=False)
        optimizer = Optimizer({"x": Real(0, 1)}, policy, n_initial_points=2)
        optimizer.tell([{"x": 0.1}, {"x": 0.8}], [0.0, 1.0])
        optimizer.ask()
        return inside.metadata(optimizer)["theta"][0]

    assert (
        theta(LogNormalPrior(0.05, 0.1)) < 0.1 < 0.9 < theta(LogNormalPrior(1.0, 0.1))
    )
    assert theta(GammaPrior(30, 100)) == pytest.approx(0.29, abs=0.05)


# The grid ------------------------------------------------------------------------


def test_the_first_level_alone_is_map_ucb(monkeypatch):
    def plain(policy, values):
        return policy.targets(values)[0], np.ones(len(values))

    monkeypatch.setattr(RobustUCB, "compressed", plain)
    monkeypatch.setattr(RobustUCB, "targets", MAPGPUCB.targets)

    def run(policy):
        optimizer = Optimizer({"x": Real(0, 1)}, policy, random_state=0)
        runs.run(optimizer, 15, lambda params: math.sin(9 * params["x"]))
        return [record["params"]["x"] for record in optimizer.history_]

    alone = {"weights": (1, 1e-9, 1e-9, 1e-9), "min_improvement": 0.0}
    grid = RobustUCB(**alone, beta=1.0)
    plain = MAPGPUCB(prior=LogNormalPrior(0.7, 1.5))
    np.testing.assert_allclose(run(grid), run(plain), atol=1e-3)


def test_tail_is_raised_by_hand():
    values = np.array([-1e6, 0.0, 1.0, 2.0, np.nan])
    # Median 0.5, best 2: the floor is 0.5 - 3 * 1.5 = -4; the failure takes the worst.
    z, shift, scale = RobustUCB(normalize_y=False).targets(values)
    assert (shift, scale) == (0.0, 1.0)
    np.testing.assert_allclose(z, [-4.0, 0.0, 1.0, 2.0, -4.0])


@pytest.mark.parametrize("best", [1.0, np.nextafter(1.0, 2.0)])
def test_a_tail_below_a_plateau_stays(best):
    # Most values equal the best: a floor at their median would leave one value only.
    values = np.array([0.2, 1.0, best, 1.0, 0.5, np.nan])
    z, *_ = RobustUCB(normalize_y=False).targets(values)
    np.testing.assert_allclose(z, [0.2, 1.0, 1.0, 1.0, 0.5, 0.2])


def test_a_fit_that_diverged_below_a_plateau_is_raised():
    # Of those below the best the upper median is 0.9: the floor is 0.9 - 3 * 0.1.
    values = np.array([1.0, -1e9, 1.0, 0.9, 1.0])
    z, *_ = RobustUCB(normalize_y=False).targets(values)
    np.testing.assert_allclose(z, [1.0, 0.6, 1.0, 0.9, 1.0])
    z, *_ = RobustUCB(normalize_y=False).targets(np.full(4, 7.0))
    np.testing.assert_allclose(z, 7.0)


def test_standardisation_by_hand():
    z, shift, scale = GPUCB().targets(np.array([1.0, 3.0, np.nan, 5.0]))
    assert shift == pytest.approx(3.0)
    assert scale == pytest.approx(math.sqrt(8 / 3))
    np.testing.assert_allclose(z * scale + shift, [1.0, 3.0, 1.0, 5.0])
    z, shift, scale = GPUCB(normalize_y=(2.0, 4.0)).targets(np.array([6.0]))
    assert (z[0], shift, scale) == (1.0, 2.0, 4.0)


# The registry ----------------------------------------------------------------------


def test_names_forgive_underscores():
    assert type(policies.make_policy("LB_GP_UCB")) is policies.LBGPUCB


def test_unknown_names_are_explained():
    with pytest.raises(ValueError, match="did you mean 'robust'"):
        policies.make_policy("robst")
    with pytest.raises(ValueError, match="or a policy object"):
        policies.make_policy(3)


def test_a_name_of_another_policy_is_refused():
    expected = (
        "The 'name' of .*Mine must be a name that no other policy has. Got 'robust' "
        "instead, the name of skrobustbo.policies._robust.RobustUCB; choose another"
    )
    before = policies.available()
    for name in ("robust", "Robust"):
        with pytest.raises(ValueError, match=expected):

            class Mine(policies.RobustUCB, name=name):
                """A policy that would take the place of the default one."""

    assert policies.available() == before


def test_a_class_may_be_declared_again(monkeypatch):
    monkeypatch.setattr(_base, "NAMED", NAMED := dict(_base.NAMED))
    for _ in range(2):

        class Mine(policies.GPUCB, name="my_policy"):
            """A policy of one's own."""

        assert NAMED["my-policy"] is Mine


def test_settings_are_changed_on_a_copy():
    policy = GPUCB(beta=2.0)
    changed = policies.make_policy(policy, beta=3.0)
    assert (policy.beta, changed.beta) == (2.0, 3.0)


@pytest.mark.parametrize(
    "policy",
    [
        GPUCB(
            0.5 * Matern([0.1, 0.2], nu=1.5) + ConstantKernel(0.3), normalize_y=False
        ),
        MAPGPUCB(RBF(2.0), prior=LogNormalPrior(0.5, 0.7), beta="log"),
        MAPGPUCB(prior=GammaPrior(2, 3), normalize_y=(1.0, 2.0)),
        RobustUCB(weights=(1, 0.2), endgame=0.5),
        *map(policies.make_policy, policies.available()),
    ],
)
def test_settings_as_json(policy):
    written = json.loads(json.dumps(policy_to_dict(policy)))
    read = policy_from_dict(written)
    assert type(read) is type(policy)
    assert policy_to_dict(read) == policy_to_dict(policy)
    if policy.kernel is not None:
        X = np.random.default_rng(0).random((4, 2))
        np.testing.assert_array_equal(read.kernel(X), policy.kernel(X))


def test_settings_that_json_cannot_hold():
    policy = policies.LBGPUCB(growth=lambda t: 2.0)
    with pytest.raises(TypeError, match="pass 'policy' to from_dict"):
        policy_to_dict(policy)


def test_only_kernels_are_read_back():
    written = policy_to_dict(GPUCB(RBF()))
    written["settings"]["kernel"]["kernel"] = "np"
    with pytest.raises(ValueError, match="Expected the name of a kernel"):
        policy_from_dict(written)


def test_every_public_policy_states_its_pseudo_code_lines():
    """Each numbered line of a docstring's pseudo-code is tagged in the code.

    The code is in the policy files that contain the class and its bases.
    """
    import inspect
    import re

    for name, cls in policies.available().items():
        if name == "random":
            continue
        text = inspect.getdoc(cls)
        numbers = re.findall(r"^ +(\d+)  ", text, flags=re.MULTILINE)
        assert numbers, name
        modules = {inspect.getmodule(base) for base in cls.__mro__}
        own = [m for m in modules if m.__name__.startswith("skrobustbo.policies.")]
        source = "\n".join(map(inspect.getsource, own))
        for number in numbers:
            assert re.search(rf"# .*\bline {number}\b", source), (name, number)


def test_all_names_are_there():
    balancing = {"lb-gp-ucb", "lnb-gp-ucb", "hb-gp-ucb"}
    elimination = {"he-gp-ucb", "he-stableopt", "stableopt", "expected-ucb"}
    estimation = {"gp-ucb", "igp-ucb", "mle-gp-ucb", "map-gp-ucb", "mcmc-gp-ucb"}
    growing = {"a-gp-ucb", "boho", "robust", "random"}
    changing = {"et-gp-ucb", "r-gp-ucb", "br-gp-ucb", "sw-gp-ucb", "w-gp-ucb"}
    families = (balancing, elimination, estimation, growing, changing)
    names = set().union(*families, {"tv-gp-ucb", "ui-tvbo"})
    assert set(policies.available()) == names
