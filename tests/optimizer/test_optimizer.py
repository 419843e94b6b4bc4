"""Ask and tell."""

import json
import math
import pickle
import threading

import numpy as np
import pytest
from sklearn.svm import SVC

from runs import run
from skrobustbo import (
    Integer,
    Optimizer,
    Real,
    Space,
    SpaceExhausted,
    maximize,
    minimize,
    policies,
)
from skrobustbo.optimizer._design import Purpose

SPACE = {"x": Real(-1, 1), "y": Real(-1, 1)}


def bowl(params):
    return -((params["x"] - 0.3) ** 2) - (params["y"] + 0.2) ** 2


# The initial design ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_parameters", "horizon", "expected"),
    [(1, None, 4), (5, None, 12), (5, 30, 10), (1, 2, 1), (1, 100, 4)],
)
def test_default_number_of_initial_points(n_parameters, horizon, expected):
    space = {f"x{i}": Real(0, 1) for i in range(n_parameters)}
    optimizer = Optimizer({**space, "constant": [1]}, horizon=horizon, random_state=0)
    assert optimizer.n_initial_points == expected
    for _ in range(expected + 1):
        optimizer.tell(params := optimizer.ask(), params["x0"])
    labels = [record["model_label"] for record in optimizer.history_]
    assert labels[:-1] == ["initial"] * expected
    assert labels[-1] != "initial"


def test_initial_design_fills_the_space():
    optimizer = Optimizer(SPACE, n_initial_points=8, random_state=0)
    points = optimizer.ask(8)
    # A scrambled Sobol sequence puts one of 8 points in each eighth of an axis.
    for name in "xy":
        cells = sorted(int((params[name] + 1) * 4) for params in points)
        assert cells == list(range(8))


def test_initial_params_come_first_and_as_given():
    first = [{"x": 0.1, "y": np.float64(0.7)}, {"x": -1, "y": 1}]
    optimizer = Optimizer(SPACE, initial_params=first, random_state=0)
    assert optimizer.ask() == {"x": 0.1, "y": 0.7}
    assert optimizer.ask() == {"x": -1, "y": 1}
    assert optimizer.n_initial_points == 6
    assert type(optimizer.history_[0]["params"]["y"]) is float


def test_initial_params_told_before_are_not_asked():
    optimizer = Optimizer(SPACE, initial_params=[{"x": 0, "y": 0}], random_state=0)
    optimizer.tell({"x": 0, "y": 0}, 1.0)
    assert optimizer.ask() != {"x": 0, "y": 0}


def test_initial_params_are_asked_even_after_many_tells():
    optimizer = Optimizer(SPACE, initial_params=[{"x": 0, "y": 0}], random_state=0)
    points = optimizer.space.sample(20, 0)
    optimizer.tell(points, [bowl(params) for params in points])
    assert optimizer.ask() == {"x": 0, "y": 0}
    optimizer.tell({"x": 0, "y": 0}, 1.0)
    optimizer.ask()
    assert optimizer.history_[-1]["model_label"].startswith("theta")


def test_warm_start_by_telling():
    optimizer = Optimizer(SPACE, random_state=0)
    points = optimizer.space.sample(10, 0)
    optimizer.tell(points, [bowl(params) for params in points])
    optimizer.ask()
    assert optimizer.history_[-1]["model_label"].startswith("theta")
    assert optimizer.history_[0]["model_label"] == "told"


# Telling ---------------------------------------------------------------------------


@pytest.mark.parametrize("space", [SPACE, [{"u": Real(0, 1)}, SPACE]])
def test_a_point_told_is_encoded_once(space, monkeypatch):
    optimizer, encoded = Optimizer(space, random_state=0), []

    def spied(self, params, encode=Space.encode):
        if set(self.names) == set(params):
            encoded.append(params)
        return encode(self, params)

    monkeypatch.setattr(Space, "encode", spied)
    optimizer.tell({"x": 0.5, "y": 0.25}, 1.0)
    assert len(encoded) == 1


@pytest.mark.parametrize(("name", "expected"), [("robust", 0), ("mcmc-gp-ucb", 1)])
def test_a_generator_is_made_where_something_is_sampled(name, expected, monkeypatch):
    optimizer = Optimizer(SPACE, name, n_initial_points=3, random_state=0)
    run(optimizer, 3, bowl)
    seeds, make = [], np.random.default_rng

    def spied(seed=None):
        seeds.append(seed)
        return make(seed)

    monkeypatch.setattr(np.random, "default_rng", spied)
    optimizer.ask()
    of_models = [
        seed for seed in seeds if isinstance(seed, list) and seed[2] == Purpose.MODELS
    ]
    assert len(of_models) == expected


def test_a_told_value_is_found_by_its_point_not_its_order():
    optimizer = Optimizer(SPACE, random_state=0)
    a, b = optimizer.ask(2)
    optimizer.tell(b, 2.0)
    optimizer.tell(a, 1.0)
    assert [record["value"] for record in optimizer.history_] == [1.0, 2.0]


@pytest.mark.parametrize("value", ["1.0", None, True, [1.0, 2.0], {}])
def test_values_must_be_numbers(value):
    optimizer = Optimizer(SPACE, random_state=0)
    params = optimizer.ask()
    with pytest.raises(ValueError, match="Expected the value told to be a number"):
        optimizer.tell(params, value)
    optimizer.tell(params, 1.0)  # nothing was lost
    assert optimizer.best_value_ == 1.0


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.array(1.0), np.array([1])])
def test_kinds_of_numbers(value):
    optimizer = Optimizer(SPACE, random_state=0)
    optimizer.tell(optimizer.ask(), value)
    assert type(optimizer.best_value_) is float


def test_a_bad_point_in_a_list_records_nothing():
    optimizer = Optimizer(SPACE, random_state=0)
    with pytest.raises(ValueError, match="Parameter 'x' is outside the space"):
        optimizer.tell([{"x": 0, "y": 0}, {"x": 7, "y": 0}], [1.0, 2.0])
    assert optimizer.history_ == []
    with pytest.raises(ValueError, match="one value for each of the 2 points"):
        optimizer.tell([{"x": 0, "y": 0}, {"x": 1, "y": 0}], [1.0])
    with pytest.raises(ValueError, match="did you mean 'x'"):
        optimizer.tell({"xx": 0, "y": 0}, 1.0)
    with pytest.raises(ValueError, match=r"got none for \['y'\]"):
        optimizer.tell({"x": 0}, 1.0)


# Looking ---------------------------------------------------------------------------


def filled(n=15, **settings):
    optimizer = Optimizer(SPACE, random_state=0, **settings)
    run(optimizer, n, bowl)
    return optimizer


def test_history_records():
    optimizer = filled(10)
    pending = optimizer.ask()
    record = optimizer.history_[-1]
    assert set(record) == {
        "params",
        "value",
        "value_std",
        "time",
        "model_label",
        "model_mean",
        "model_std",
        "kind",
        "length_scales",
        "divisor",
        "alive",
        "alive_length_scales",
        "pending",
        "failed_reason",
        "reset",
    }
    assert record["params"] == pending
    assert record["pending"]
    assert record["value"] is record["time"] is None
    assert math.isfinite(record["model_mean"])
    assert record["model_std"] > 0
    assert record["kind"] == "model"
    assert len(record["length_scales"]) == 2
    assert record["model_label"] in ("theta/1", "climb", "fill")
    assert math.isnan(optimizer.history_[0]["model_mean"])
    assert optimizer.history_[0]["kind"] == "initial"


def test_the_model_predicts_in_units_of_the_objective():
    def thousandfold(params):
        return 5000 + 1000 * bowl(params)

    optimizer = Optimizer(SPACE, random_state=0)
    run(optimizer, 20, thousandfold)
    record = optimizer.history_[-1]
    error = record["model_mean"] - record["value"]
    assert abs(error) < 4 * record["model_std"] + 20
    mean, std = optimizer.predict({"x": 0.25, "y": -0.1}, return_std=True)
    assert mean == pytest.approx(thousandfold({"x": 0.25, "y": -0.1}), abs=50)
    assert 0 < std < 300
    means = optimizer.predict([{"x": 0.25, "y": -0.1}] * 2)
    np.testing.assert_allclose(means, mean)


def test_recommend_distrusts_a_lucky_value():
    optimizer = Optimizer({"x": Real(0, 1)}, policies.GPUCB(noise=0.5), random_state=0)
    xs = np.linspace(0, 1, 21)
    values = -((xs - 0.5) ** 2) * 20
    values[2] = 0.4  # far from the peak, next to bad points
    optimizer.tell([{"x": float(x)} for x in xs], values)
    assert optimizer.best_params_["x"] == pytest.approx(0.1)
    assert abs(optimizer.recommend()["x"] - 0.5) < 0.11


def test_recommend_never_names_a_failed_point():
    optimizer = Optimizer({"x": Real(0, 1)}, random_state=0)
    optimizer.tell([{"x": 0.5}, {"x": 0.52}], [math.nan, -1.0])
    assert optimizer.recommend() == {"x": 0.52}


def test_nothing_told_yet():
    optimizer = Optimizer(SPACE, random_state=0)
    for look in ("best_params_", "best_value_"):
        with pytest.raises(ValueError, match="at least one finite value"):
            getattr(optimizer, look)
    with pytest.raises(ValueError, match="tell one first"):
        optimizer.recommend()
    with pytest.raises(ValueError, match="tell one first"):
        optimizer.predict({"x": 0, "y": 0})


def test_what_is_returned_is_a_copy():
    optimizer = filled(6)
    optimizer.history_[0]["params"]["x"] = 99
    optimizer.best_params_["x"] = 99
    params = optimizer.ask()
    params["x"] = 99
    assert all(abs(record["params"]["x"]) <= 1 for record in optimizer.history_)


def test_repr_and_pickle():
    optimizer = filled(12)
    assert "12 values told" in repr(optimizer)
    copy = pickle.loads(pickle.dumps(optimizer))
    assert copy.ask() == optimizer.ask()


def test_failures_push_the_search_away():
    """Half of the space fails; later, only filling still asks there."""
    late = []
    for seed in range(8):
        optimizer = Optimizer({"x": Real(0, 1)}, random_state=seed)
        for _ in range(25):
            x = optimizer.ask()["x"]
            optimizer.tell({"x": x}, math.nan if x > 0.5 else math.sin(3 * x))
        history = optimizer.history_
        assert sum(record["params"]["x"] > 0.5 for record in history[10:]) <= 8
        asked = [record for record in history if record["model_label"] != "fill"]
        late += [record["params"]["x"] for record in asked[10:]]
    fail = [x for x in late if x > 0.5]
    assert len(fail) <= 8
    # The best values are next to failing ones.
    assert np.median(fail) < 0.52


# JSON ------------------------------------------------------------------------------


def test_state_is_json_with_non_finite_numbers():
    optimizer = filled(6)
    optimizer.tell(optimizer.ask(), math.nan)
    optimizer.tell(optimizer.ask(), -math.inf)
    text = json.dumps(optimizer.to_dict(), allow_nan=False)
    read = Optimizer.from_dict(json.loads(text))
    assert read.history_[-1]["value"] == -math.inf
    assert read.ask() == optimizer.ask()


def test_objects_in_the_space_are_given_again():
    space = Space({"est": [SVC(), SVC(C=2.0), None], "n": Integer(1, 3)})
    optimizer = Optimizer(space, random_state=0)
    for _ in range(5):
        optimizer.tell(optimizer.ask(), 1.0)
    state = json.loads(json.dumps(optimizer.to_dict()))
    with pytest.raises(ValueError, match="pass 'space' to from_dict"):
        Optimizer.from_dict(state)
    read = Optimizer.from_dict(state, space=space)
    assert read.ask() == optimizer.ask()


def test_objects_in_the_policy_are_given_again():
    policy = policies.LBGPUCB(theta0=0.5, growth=lambda t: 2.0)
    optimizer = filled(9, policy=policy)
    state = json.loads(json.dumps(optimizer.to_dict()))
    with pytest.raises(ValueError, match="pass 'policy' to from_dict"):
        Optimizer.from_dict(state)
    assert Optimizer.from_dict(state, policy=policy).ask() == optimizer.ask()


@pytest.mark.parametrize("state", [{}, {"format": 99}, [], None, "x"])
def test_other_states_are_refused(state):
    with pytest.raises(ValueError, match="Expected a state written by"):
        Optimizer.from_dict(state)


# Arguments -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["horizon", "n_initial_points"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", True])
def test_counts_must_be_positive_integers(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' of Optimizer must be"):
        Optimizer(SPACE, **{name: value})
    optimizer = Optimizer(SPACE, horizon=20)
    if name == "horizon":
        with pytest.raises(ValueError, match="The 'horizon' of Optimizer must be"):
            optimizer.horizon = value
    assert optimizer.horizon == 20


def test_other_arguments_are_checked():
    with pytest.raises(ValueError, match="did you mean 'robust'"):
        Optimizer(SPACE, "robustt")
    with pytest.raises(ValueError, match="Expected a dict of parameters"):
        Optimizer(SPACE, initial_params=[3])
    with pytest.raises(ValueError, match="The 'n' of Optimizer"):
        Optimizer(SPACE).ask(0)


def test_random_state_forms():
    def first(state):
        return Optimizer(SPACE, random_state=state).ask()

    assert first(7) == first(7)
    assert first(np.random.RandomState(7)) == first(np.random.RandomState(7))
    assert first(None) != first(None)


def test_threads_share_an_optimizer():
    optimizer = Optimizer(SPACE, random_state=0)
    errors = []

    def work():
        try:
            run(optimizer, 8, bowl)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    points = [json.dumps(record["params"]) for record in optimizer.history_]
    assert len(set(points)) == 32
    assert not any(record["pending"] for record in optimizer.history_)


# maximize and minimize -------------------------------------------------------------


def test_maximize_and_minimize_mirror_each_other():
    up = maximize(bowl, SPACE, n_iter=20, random_state=0)
    down = minimize(lambda p: -bowl(p), SPACE, n_iter=20, random_state=0)
    assert up.params_history == down.params_history
    assert up.fun == -down.fun == bowl(up.x)
    assert up.fun > -1e-3
    np.testing.assert_array_equal(up.values, -down.values)
    assert up.nfev == 20
    assert up.success
    assert up.message == "All 20 evaluations were made."
    assert up.optimizer.best_params_ == up.x


def test_maximize_ends_when_the_space_does():
    result = maximize(lambda p: p["i"], {"i": [1, 2, 3]}, n_iter=10, random_state=0)
    assert (result.nfev, result.fun) == (3, 3.0)
    assert "All 3 points" in result.message


def test_callback_may_stop():
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result.fun)
        if len(seen) == 4:
            raise StopIteration

    result = maximize(bowl, SPACE, n_iter=10, callback=callback, random_state=0)
    assert result.nfev == len(seen) == 4
    assert seen == sorted(seen)
    assert "callback" in result.message


def test_nothing_but_failures():
    result = minimize(lambda p: math.nan, SPACE, n_iter=5, random_state=0)
    assert not result.success
    assert result.x is None
    assert math.isnan(result.fun)
    assert result.message == "Every evaluation failed."


def test_the_function_may_change_its_dict():
    def careless(params):
        return params.pop("x")

    result = maximize(careless, SPACE, n_iter=5, random_state=0)
    assert set(result.x) == {"x", "y"}


class Box:
    def __init__(self, size):
        self.size = size


@pytest.mark.parametrize(
    ("choices", "read", "change"),
    [
        ([[1], [2], [3]], list, lambda v: v.append(9)),
        ([{"a": [1]}, {"a": [2]}], lambda v: list(v["a"]), lambda v: v["a"].clear()),
        ([{1}, {2}], sorted, lambda v: v.add(9)),
        ([np.arange(2), np.arange(3)], np.ndarray.tolist, lambda v: v.fill(9)),
        ([([1],), ([2],)], repr, lambda v: v[0].append(9)),
        ([SVC(C=1.0), SVC(C=2.0)], lambda v: v.C, lambda v: v.set_params(C=9.0)),
        ([Box(1), Box(2)], lambda v: v.size, lambda v: vars(v).update(size=9)),
    ],
    ids=lambda value: type(value[0]).__name__ if isinstance(value, list) else "",
)
def test_a_function_may_change_a_choice(choices, read, change):
    before, seen = [read(choice) for choice in choices], []

    def careless(params):
        seen.append(read(params["c"]))
        change(params["c"])
        return params["x"]

    space = {"c": choices, "x": Integer(1, 5)}
    result = maximize(careless, space, n_iter=8, random_state=0)
    assert all(value in before for value in seen)
    assert [read(choice) for choice in choices] == before
    assert [read(p["c"]) for p in result.params_history] == seen
    assert read(result.x["c"]) in before


def test_a_choice_may_be_changed_between_ask_and_tell():
    optimizer = Optimizer({"c": [[1], [2], [3]]}, random_state=0)
    asked = []
    for _ in range(3):
        params = optimizer.ask()
        asked.append(list(params["c"]))
        optimizer.tell({"c": list(params["c"])}, float(params["c"][0]))
        params["c"].append(9)
    assert sorted(asked) == [[1], [2], [3]]
    assert optimizer.best_params_ == optimizer.recommend() == {"c": [3]}
    optimizer.best_params_["c"].clear()
    assert optimizer.best_params_ == {"c": [3]}


def test_an_estimator_that_was_changed_is_still_the_choice():
    choices = [SVC(C=1.0), SVC(C=2.0)]
    optimizer = Optimizer({"c": choices}, random_state=0)
    for _ in range(2):
        params = optimizer.ask()
        optimizer.tell({"c": params["c"].set_params(C=2.0)}, 1.0)
    told = [record["params"]["c"] for record in optimizer.history_]
    assert {id(choice) for choice in told} == {id(choice) for choice in choices}


def test_equal_values_of_different_types_are_told_apart():
    space = {"m": [1, 1.0, True], "n": Integer(1, 4), "r": Real(0.1, 1)}
    first = [{"m": m, "n": 2.0, "r": 1} for m in (1.0, True, 1)]
    optimizer = Optimizer(space, initial_params=first, random_state=0)
    asked = [optimizer.ask() for _ in first]
    assert [repr(params) for params in asked] == [
        f"{{'m': {m}, 'n': 2, 'r': 1.0}}" for m in ("1.0", "True", "1")
    ]
    for params, value in zip(first, [0.1, 0.3, 0.2], strict=True):
        optimizer.tell(params, value)
    assert [record["value"] for record in optimizer.history_] == [0.1, 0.3, 0.2]
    assert repr(optimizer.best_params_) == "{'m': True, 'n': 2, 'r': 1.0}"
    state = json.loads(json.dumps(optimizer.to_dict()))
    read = Optimizer.from_dict(state)
    assert repr(read.history_) == repr(optimizer.history_)
    assert repr(read.ask()) == repr(optimizer.ask())


def test_all_equal_values_of_different_types_are_tried():
    result = maximize(lambda p: 0.0, {"m": [1, 1.0, True]}, n_iter=9, random_state=0)
    assert sorted(repr(p["m"]) for p in result.params_history) == ["1", "1.0", "True"]


class Mute:
    def __repr__(self):
        raise RuntimeError("no text")


def test_a_choice_without_a_text():
    choices = [Mute(), Mute(), {"a": Mute()}]
    optimizer = Optimizer({"c": choices, "x": Real(0, 1)}, random_state=0)
    assert "<Mute>" in repr(optimizer)
    assert "{'a': <Mute>}" in repr(optimizer.space)
    with pytest.raises(ValueError, match=r"<Mute>.* got <Mute>; change the"):
        optimizer.tell({"c": Mute(), "x": 0.5}, 1.0)
    with pytest.raises(ValueError, match=r"dict of parameters .* got <Mute>; write"):
        optimizer.tell([choices[0]], [1.0])
    result = maximize(lambda p: p["x"], optimizer.space, n_iter=6, random_state=0)
    assert result.nfev == 6


def test_exceptions_are_passed_on():
    def broken(params):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        maximize(broken, SPACE, n_iter=5)


def test_exhausted_is_an_exception_of_its_own():
    assert issubclass(SpaceExhausted, Exception)
    assert not issubclass(SpaceExhausted, ValueError)


def test_values_remembered_are_all_of_those_told():
    optimizer = Optimizer({"x": Real(0, 10)}, "random", random_state=0)
    optimizer.tell([{"x": 1.0}, {"x": 2.0}], [1.0, math.nan])
    optimizer.ask()
    assert optimizer.remembered_ == [0, 1]


def test_values_remembered_follow_the_order_told():
    policy = policies.SWGPUCB(window=2)
    optimizer = Optimizer({"x": Real(0, 1)}, policy, random_state=0)
    run(optimizer, 4, lambda params: params["x"])
    early, late = optimizer.ask(2)
    optimizer.tell(late, 1.0)
    assert optimizer.remembered_ == [3, 5]
    optimizer.tell(early, 1.0)
    assert optimizer.remembered_ == [4, 5]
