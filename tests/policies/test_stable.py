"""HE-StableOpt and StableOpt by hand, and their perturbations."""

import math

import numpy as np
import pytest
import scipy.stats
from sklearn.gaussian_process.kernels import RBF, Matern

import inside
import runs
from fake_models import FakeModels, FakePosterior, Told
from runs import MIXED, mixed_value, read_back
from skrobustbo import Candidate, Categorical, Integer, Optimizer, Real, Space
from skrobustbo.policies import GPUCB, HEStableOpt, Setup, StableOpt
from skrobustbo.policies._elimination import StableState

# Perturbations -----------------------------------------------------------------------


def around(space, params, eps, **settings):
    """Return the sorted distinct params around a point."""
    space = Space(space) if isinstance(space, dict) else space
    X = space.ball(eps, **settings)(space.encode(params)[None, :])
    np.testing.assert_array_equal(X[0, 0], space.encode(params))
    np.testing.assert_array_equal(space.snap(X[0]), X[0])
    return space.decode_many(X[0])


def values(points, name):
    return sorted({point[name] for point in points})


def test_ball_of_a_continuous_range():
    x = values(around({"x": Real(0, 10)}, {"x": 4.0}, 0.05), "x")
    assert len(x) == 9
    assert (x[0], x[-1]) == pytest.approx((3.5, 4.5))
    assert x[4] == pytest.approx(4.0)


def test_ball_is_cut_at_the_border():
    x = values(around({"x": Real(0, 10)}, {"x": 0.25}, 0.05), "x")
    assert (x[0], x[-1]) == (0.0, pytest.approx(0.75))


@pytest.mark.parametrize("metric", ["max", "l2"])
@pytest.mark.parametrize("d", [2, 3, 4, 6])
def test_metrics(metric, d):
    space = Space({f"x{i}": Real(0, 1) for i in range(d)})
    X = np.full((2, d), 0.5)
    offsets = space.ball(0.1, metric)(X) - X[:, None]
    assert offsets.shape[1] <= 40
    order = np.inf if metric == "max" else 2
    size = np.linalg.norm(offsets[1], ord=order, axis=1)
    assert size.max() == pytest.approx(0.1)
    # The ends of all axes, and points that move all columns.
    for j in range(d):
        assert offsets[0, :, j].max() == pytest.approx(0.1)
        assert offsets[0, :, j].min() == pytest.approx(-0.1)
    assert (np.abs(offsets[0]) > 1e-3).all(axis=1).sum() >= 8
    np.testing.assert_array_equal(offsets[0], offsets[1])


def test_integers_snap_inward_and_choices_stay():
    space = {
        "x": Real(0, 1),
        "n": Integer(0, 30),
        "many": Integer(1, 10**6),
        "c": ["a", "b", "c"],
        "flag": [True, False],
    }
    point = {"x": 0.5, "n": 10, "many": 500, "c": "b", "flag": True}
    found = around(space, point, 0.05)
    # 1/20 of 30 is 1.5: one step either way; 1/20 of 999,999 is 49,999.95, and of so
    # many values the nearest is taken.
    assert values(found, "n") == [9, 10, 11]
    assert values(found, "many")[-1] == 50_500
    assert {(p["c"], p["flag"]) for p in found} == {("b", True)}


def test_small_finite_spaces_have_all_their_neighbours():
    space = {"i": Integer(0, 20), "j": Integer(0, 20), "c": ["a", "b"]}
    found = around(space, {"i": 10, "j": 1, "c": "a"}, 0.1)
    assert {(p["i"], p["j"], p["c"]) for p in found} == {
        (i, j, "a") for i in range(8, 13) for j in range(4)
    }
    found = around(space, {"i": 10, "j": 1, "c": "a"}, 0.1, metric="l2")
    assert {(p["i"], p["j"]) for p in found} == {
        (i, j)
        for i in range(21)
        for j in range(21)
        if (i - 10) ** 2 + (j - 1) ** 2 <= 4
    }


def test_many_neighbours_are_thinned_out_evenly():
    space = Space({"i": Integer(0, 1000)})
    found = values(around(space, {"i": 500}, 0.4), "i")
    assert 60 <= len(found) <= 65
    assert (min(found) <= 110) + (max(found) >= 890) >= 1


def test_points_have_their_neighbours_among_the_points():
    points = [{"u": u, "kind": k} for u in (0.0, 0.4, 0.5, 0.55, 1.0) for k in "pq"]
    found = around(Space.from_points(points), {"u": 0.5, "kind": "q"}, 0.1)
    assert {(p["u"], p["kind"]) for p in found} == {
        (0.4, "q"),
        (0.5, "q"),
        (0.55, "q"),
    }


@pytest.mark.parametrize(
    ("dimension", "value", "radius", "ends"),
    [
        (Real(0, 10), 4.0, 0.5, (3.5, 4.5)),
        (Real(1e-3, 1e3, log=True), 10.0, 0.5, (9.5, 10.5)),
        (Real(1e-3, 1e3, log=True), 1.0, 5.0, (1e-3, 6.0)),
        (Integer(1, 500, log=True), 100, 3.5, (97, 103)),
        (Integer(0, 10**6), 1000, 10, (990, 1010)),
        (scipy.stats.norm(0, 1), 0.3, 0.2, (0.1, 0.5)),
        ([16, 32, 48, 64], 32, 20, (16, 48)),
    ],
)
def test_users_units(dimension, value, radius, ends):
    space = Space({"p": dimension, "x": Real(0, 1)})
    value = space.decode(space.encode({"p": value, "x": 0.5}))["p"]
    found = around(space, {"p": value, "x": 0.5}, {"p": radius}, units="user")
    p = values(found, "p")
    assert (p[0], p[-1]) == pytest.approx(ends, rel=1e-3)
    assert values(found, "x") == [0.5]


def test_an_axis_of_words_is_perturbed_in_the_cube_only():
    axis = Categorical(["low", "mid", "high"], ordered=True)
    space = {"size": axis, "x": Real(0, 1)}
    point = {"size": "mid", "x": 0.5}
    assert len({p["size"] for p in around(space, point, 0.5)}) == 3
    assert len({p["size"] for p in around(space, point, 0.5, units="user")}) == 1


@pytest.mark.parametrize("name", ["c", "flag"])
def test_radii_of_unordered_choices_are_refused(name):
    space = Space({"x": Real(0, 1), "c": ["a", "b", "c"], "flag": [True, False]})
    with pytest.raises(ValueError, match="radii of numeric parameters"):
        space.ball({name: 0.1})


def test_unknown_names_are_found_at_the_start():
    optimizer = Optimizer({"x": Real(0, 1)}, StableOpt(eps={"y": 0.1}))
    optimizer.tell([{"x": x} for x in (0.1, 0.5, 0.7, 0.9)], [0.0, 1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="got 'y'"):
        optimizer.ask()


def test_no_radius_is_no_perturbation():
    X = np.random.default_rng(0).random((3, 2))
    space = Space({"x": Real(0, 1), "y": Real(0, 1)})
    np.testing.assert_array_equal(space.ball(0.0)(X), X[:, None])
    np.testing.assert_array_equal(space.ball({"y": 0})(X), X[:, None])


# By hand -----------------------------------------------------------------------------

GRID = np.arange(11)[:, None] / 10


class Tabulated(FakePosterior):
    """Mean and deviation on the grid 0, 0.1, ..., 1."""

    def __init__(self, candidate, mu, sigma):
        super().__init__(candidate)
        self.mu, self.sigma = mu, sigma

    def at(self, Z):
        return np.rint(10 * Z[:, 0]).astype(int)

    def predict(self, Z):
        return self.mu[self.at(Z)], self.sigma[self.at(Z)]

    def told_deviation(self, x):
        return float(self.sigma[self.at(x[None, :])][0])


class Tables(FakeModels):
    shift, scale = 0.0, 1.0

    def __init__(self, **tables):
        self.tables = tables

    def __getitem__(self, candidate):
        return Tabulated(candidate, *self.tables[candidate.label])

    def ball(self, eps, metric, units):
        return Space.from_points([{"x": x} for x in GRID[:, 0]]).ball(eps, metric)


class Argmax:
    def __init__(self, taken=()):
        self.taken = set(taken)

    def free(self, x):
        return round(10 * x[0]) not in self.taken

    def __call__(self, acq, *, inner=False):
        scores = acq(GRID)
        if not inner:
            scores[list(self.taken)] = -np.inf
        return GRID[int(np.argmax(scores))], float(scores.max())


#      0    .1   .2   .3   .4   .5   .6   .7   .8   .9   1
MU = np.array([0.0, 1.0, 2.0, 9.0, 2.0, 1.0, 5.0, 6.0, 5.5, 1.0, 0.0])
FLAT = np.full(11, 0.5)
MODELS = [Candidate(RBF(), label=label) for label in "ab"]


def two_models():
    # b puts the hill at 0.7 two higher, and is unsure.
    hill = 2.0 * (np.abs(GRID[:, 0] - 0.7) < 0.15)
    return Tables(a=(MU, FLAT), b=(MU + hill, 4 * FLAT))


def policy_of(models=MODELS, **settings):
    settings = {"eps": 0.1, "noise": 0.1, **settings}
    return HEStableOpt(models, beta=1.0, normalize_y=False, **settings)


def test_centre_perturbation_and_models_by_hand():
    """The spike at 0.3 has low shoulders; the hill at 0.7 is safe."""
    policy, models = policy_of(), two_models()
    state = policy.start(Setup(1), models)
    x, metadata = policy.suggest(state, models, Argmax(), [])
    # min of UCB around 0.7: a 5.5 (at 0.6), b 9 (at 0.6).
    assert metadata["centre"] == [0.7]
    assert (metadata["candidate"], metadata["label"]) == (1, "b")
    # LCB at 0.6, 0.7, 0.8: a 4.5, 5.5, 5; b 5, 6, 5.5. The least: a at 0.6.
    assert x[0] == 0.6
    assert metadata["lcb"] == 4.5
    # Both promise at the point asked.
    assert (metadata["mean"], metadata["width"]) == (7.0, 2.0)
    assert metadata["adversary"] == {"candidate": 0, "mean": 5.0, "width": 0.5}


def test_one_pessimist_makes_a_point_the_worst():
    """The point 0.6 is best for b, but a alone expects the least there."""
    a, b = np.zeros(11), np.zeros(11)
    a[6:9], b[6:9] = (4.5, 6.5, 6.5), (9.5, 7.5, 5.5)
    models = Tables(a=(a, FLAT), b=(b, FLAT))
    policy = policy_of()
    x, metadata = policy.suggest(policy.start(Setup(1), models), models, Argmax(), [])
    # LCB at 0.6, 0.7, 0.8: a 4, 6, 6; b 9, 7, 5. The least UCB: a 5, b 6.
    assert (metadata["centre"], x[0], metadata["lcb"]) == ([0.7], 0.6, 4.0)
    assert (metadata["candidate"], metadata["adversary"]["candidate"]) == (1, 0)


def test_pessimist_may_be_the_optimist():
    models = Tables(a=(MU, FLAT), b=(MU, 4 * FLAT))
    policy = policy_of()
    _, metadata = policy.suggest(policy.start(Setup(1), models), models, Argmax(), [])
    assert metadata["candidate"] == metadata["adversary"]["candidate"] == 1


def test_worst_of_the_untried():
    policy, models = policy_of(), two_models()
    state = policy.start(Setup(1), models)
    x, metadata = policy.suggest(state, models, Argmax({6}), [])
    assert (metadata["centre"], x[0]) == ([0.7], 0.8)
    assert metadata["lcb"] == 4.5  # of the ball, tried points included
    x, metadata = policy.suggest(state, models, Argmax({6, 8}), [])
    assert (metadata["centre"], x[0]) == ([0.7], 0.7)
    # Nothing left around 0.7: the best centre that is free itself. The least UCB of
    # b within reach is 4 at 0.3 and 3 or less at the others.
    x, metadata = policy.suggest(state, models, Argmax({6, 7, 8}), [])
    assert metadata["centre"] == [0.3]


def test_one_radius_is_enough_for_a_centre_to_come_again():
    policy, models = policy_of(eps={"x": 0.1, "y": 0.0}), two_models()
    ball = models.ball(0.1, "max", "cube")
    models.ball = lambda eps, metric, units: ball
    state = policy.start(Setup(1), models)
    x, metadata = policy.suggest(state, models, Argmax({7}), [])
    assert (metadata["centre"], x[0]) == ([0.7], 0.6)


def learnt(value, **settings):
    policy, models = policy_of(**settings), two_models()
    state, history = policy.start(Setup(1), models), Told()
    _, metadata = policy.suggest(state, models, Argmax(), [])
    history.list.append(value)
    policy.learn(state, metadata, history)
    return policy, models, state, history


XI = 2 * 0.1**2 * math.log(2 * 2 * math.pi**2 / (3 * 0.1))  # 2 |U| sums, t = 1


@pytest.mark.parametrize(
    ("value", "survivors"),
    [
        (7.0 - 2.0 - math.sqrt(XI) + 1e-9, [0, 1]),  # b at its threshold
        (7.0 - 2.0 - math.sqrt(XI) - 1e-9, [0]),
        (5.0 + 0.5 + math.sqrt(XI) - 1e-9, [0, 1]),  # a at its threshold
        (5.0 + 0.5 + math.sqrt(XI) + 1e-9, [1]),
    ],
)
def test_both_models_are_tested(value, survivors):
    _, _, state, _ = learnt(value)
    assert state.t == 1
    assert state.survivors == survivors
    assert state.queries == [{"query": 0, "candidate": 1, "mean": 7.0, "width": 2.0}]
    assert state.adversarial == [
        {"query": 0, "candidate": 0, "mean": 5.0, "width": 0.5}
    ]
    assert state.centres == [[0.7]]


def test_both_may_go_and_the_last_stays():
    with pytest.warns(UserWarning, match="All candidate models contradict"):
        _, _, state, _ = learnt(-50.0)
    assert state.survivors == [0]
    three = [*MODELS, Candidate(RBF(), label="c")]
    models = two_models()
    models.tables["c"] = (MU, 2 * FLAT)
    policy, history = policy_of(three), Told()
    state = policy.start(Setup(1), models)
    _, metadata = policy.suggest(state, models, Argmax(), [])
    assert metadata["candidate"] == 1
    assert metadata["adversary"]["candidate"] == 2  # 5 - 1 at 0.6
    history.list.append(-50.0)
    policy.learn(state, metadata, history)
    assert state.survivors == [0]


def test_sums_of_the_two_roles_are_kept_apart():
    """One model in both roles: its errors do not add up across them."""
    policy, models, state, history = learnt(6.5)
    assert state.survivors == [1]
    _, metadata = policy.suggest(state, models, Argmax({6}), [])
    assert metadata["candidate"] == metadata["adversary"]["candidate"] == 1
    history.list.append(metadata["mean"])
    policy.learn(state, metadata, history)
    assert [q["candidate"] for q in state.queries] == [1, 1]
    assert [q["candidate"] for q in state.adversarial] == [0, 1]


def test_recommendation_by_hand():
    policy, models = policy_of(), two_models()
    told, two = Told([9.0, 5.0, 1.0]), Told([1.0, 2.0])
    state = StableState(1, survivors=[0, 1], t=3, centres=[[0.3], [0.7], [0.1]])
    # min of LCB over both models: at 0.3 0 (b, 2 - 2), at 0.7 4.5 (a), at 0.1 -2.
    assert policy.recommend(state, models, told) == [0.7]
    # If the query around 0.7 failed or was stopped, the next one is 0.3.
    assert policy.recommend(state, models, Told([9.0, math.nan, 1.0])) == [0.3]
    # Without b: at 0.3 1.5, at 0.1 -0.5.
    state = StableState(1, survivors=[0], t=3, centres=[[0.1], [0.3]])
    assert policy.recommend(state, models, two) == [0.3]
    # Around 0.2 one model is sure of 6 - 0.5 and the other of 1 - 0.5; around 0.7 both
    # of 3 - 0.5.
    left = GRID[:, 0] < 0.45
    high, low = np.where(left, 6.0, 3.0), np.where(left, 1.0, 3.0)
    models = Tables(a=(high, FLAT), b=(low, FLAT))
    state = StableState(1, survivors=[0, 1], t=2, centres=[[0.2], [0.7]])
    assert policy.recommend(state, models, two) == [0.7]


# Whole runs --------------------------------------------------------------------------


def cliff(params):
    """The highest values are at the edge of a cliff, which the answer must avoid."""
    x = params["x"]
    return 1 + x if x < 0.6 else -2.0


def test_answer_keeps_its_distance_from_the_cliff():
    policy = StableOpt(Matern(0.2, nu=2.5), eps=0.1, beta=2.0)
    optimizer = Optimizer({"x": Real(0, 1)}, policy, random_state=0)
    runs.run(optimizer, 22, cliff)
    assert 0.45 < optimizer.best_params_["x"] < 0.6
    x = optimizer.recommend()["x"]
    assert 0.35 < x < 0.51
    assert [x] in inside.state(optimizer).centres
    read = read_back(optimizer)
    assert read.recommend()["x"] == x
    assert read.ask() == optimizer.ask()


@pytest.mark.parametrize("units", ["cube", "user"])
@pytest.mark.parametrize("cls", [StableOpt, HEStableOpt])
def test_mixed_spaces_and_radii_by_name(units, cls):
    space = {"x": Real(1, 100, log=True), "n": Integer(0, 200), "c": ["a", "b", "c"]}
    eps = {"x": 0.2, "n": 0.1} if units == "cube" else {"x": 3.0, "n": 10}
    policy = cls(eps=eps, units=units, metric="l2", beta=3.0)
    optimizer = Optimizer(space, policy, n_initial_points=4, random_state=0)
    for _ in range(9):
        params = optimizer.ask()
        value = -(math.log(params["x"]) ** 2) + params["n"] / 50 + (params["c"] == "b")
        optimizer.tell(params, value)
        read = read_back(optimizer)
        assert read.policy.eps == eps
    centres = [optimizer.space.decode(x) for x in inside.state(optimizer).centres]
    for centre, record in zip(centres, optimizer.history_[4:], strict=True):
        asked = record["params"]
        assert asked["c"] == centre["c"]
        if units == "user":
            assert abs(asked["n"] - centre["n"]) <= 10
            assert abs(asked["x"] - centre["x"]) <= 3.001
    assert optimizer.recommend() in centres


def run(policy, space, n=13):
    optimizer = Optimizer(space, policy, n_initial_points=3, random_state=0)
    runs.run(optimizer, n, mixed_value)
    return [(r["params"], r["model_mean"]) for r in optimizer.history_[3:]]


@pytest.mark.parametrize("space", [{"a": Real(-2, 3)}, MIXED])
@pytest.mark.parametrize("beta", [1.5, "self-normalised"])
def test_without_perturbations_it_is_gp_ucb(space, beta):
    kernel = Matern(length_scale=0.4, nu=2.5)
    stable = StableOpt(kernel, eps=0.0, beta=beta)
    assert run(stable, space) == run(GPUCB(kernel, beta=beta), space)
    assert run(StableOpt(eps=0, beta=beta), space) == run(GPUCB(beta=beta), space)


@pytest.mark.parametrize("space", [{"a": Real(-2, 3)}, MIXED])
# The only model, which is always kept, may well be implausible.
@pytest.mark.filterwarnings("ignore:All candidate models")
def test_one_candidate_is_stableopt(space):
    kernel = Matern(length_scale=0.4, nu=2.5)
    settings = {"eps": 0.1, "beta": "self-normalised", "metric": "l2"}
    one = HEStableOpt([kernel], delta=0.2, **settings)
    assert run(one, space) == run(StableOpt(kernel, delta=0.1, **settings), space)


@pytest.mark.parametrize("cls", [StableOpt, HEStableOpt])
@pytest.mark.parametrize(
    "setting",
    [
        {"eps": -0.1},
        {"eps": math.inf},
        {"eps": "0.1"},
        {"eps": {"x": -1}},
        {"metric": "l1"},
        {"units": "raw"},
        {"beta": "lgo"},
    ],
)
def test_settings_out_of_range(cls, setting):
    with pytest.raises(ValueError, match=f"'{next(iter(setting))}' of"):
        Optimizer({"x": Real(0, 1)}, cls(**setting))
