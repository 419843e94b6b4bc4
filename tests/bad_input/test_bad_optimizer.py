"""Mistakes of users without a search: one sentence each, and no side effects."""

import json
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sentences import assert_well_written, refusal, short

from runs import run
from skrobustbo import Integer, Optimizer, Real, Space, maximize, minimize, policies

SPACE = {"a": Real(-1, 1), "b": ["u", "v"]}
POINT = {"a": 0.5, "b": "u"}
NO_COUNTS = [0, -1, 1.5, "3", True, math.nan, math.inf, [3], 10**400]
NO_SEEDS = ["x", -1, 1.5, 2**40, [None], object(), np.random.default_rng(0)]
NO_NUMBERS = [None, "1", "x", True, np.True_, 1j, [], {}, [1.0, 2.0], (1.0,), object()]
NO_NUMBERS += [10**400, np.ma.masked, pd.NA, Decimal(1), np.datetime64("2020-01-01")]


def optimizer(n=6, **settings):
    made = Optimizer(SPACE, random_state=0, **settings)
    run(made, n, lambda params: -(params["a"] ** 2))
    return made


def state(made):
    return json.dumps(made.to_dict(), allow_nan=False)


# The constructor ----------------------------------------------------------------------

ONLY = {
    "space": [None, 3, "a", [], (), {}, [{}], [3], np.array([1]), Real(0, 1), {"a": 3}],
    "policy": [
        None,
        3,
        "",
        "robustt",
        policies.GPUCB,
        policies.GPUCB(beta=-1),
    ],
    "n_initial_points": NO_COUNTS,
    "horizon": NO_COUNTS,
    "initial_params": [3, 0, "a", POINT, [3], [None], [{"a": 0}], [{**POINT, "a": 5}]],
    "constraints": [3, "x", [len], len, lambda p: "yes", lambda p: p["zz"]],
    "resources": [3, "ab", [], [3, 2], [1, 1], [0, 1], [1, np.inf], ["a"], {"a": 1}],
    "random_state": NO_SEEDS,
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ONLY for value in ONLY[name]],
)
def test_each_argument_is_named(name, value):
    message = refusal(lambda: Optimizer(**{"space": SPACE, name: value}))
    named = "arameter" if name == "space" else f"'{name}'"
    named = "'beta'" if isinstance(value, policies.GPUCB) else named
    assert named in message, message
    assert_well_written(message)


def test_every_argument_is_in_the_table():
    assert set(ONLY) == set(Optimizer.__init__.__kwdefaults__) | {"space", "policy"}


@pytest.mark.parametrize("find", [maximize, minimize])
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"func": None}, "'func' of {} must be a callable that takes a params dict"),
        ({"func": 3}, "Got 3"),
        ({"callback": 3}, "'callback' of {} must be a callable"),
        ({"n_iter": None}, "'n_iter' of {} must be an integer from 1"),
        *[({"n_iter": n}, "'n_iter' of {}") for n in NO_COUNTS],
        ({"random_state": "x"}, "'random_state'"),
        (
            {"initial_params": [{"a": 9, "b": "u"}]},
            "In 'initial_params', parameter 'a'",
        ),
        *[({"func": lambda p, v=v: v}, "The function must return") for v in NO_NUMBERS],
    ],
    ids=short,
)
def test_the_loop_in_one_call(find, settings, says):
    given = {"func": lambda params: params["a"], "n_iter": 3, **settings}
    message = refusal(lambda: find(space=SPACE, **given))
    assert says.format(find.__name__) in message
    assert_well_written(message)


@pytest.mark.parametrize("find", [maximize, minimize])
def test_exceptions_of_the_function_are_passed_on(find):
    with pytest.raises(ZeroDivisionError):
        find(lambda params: 1 / 0, SPACE)
    with pytest.raises(TypeError, match="takes 0 positional arguments"):
        find(lambda: 1, SPACE)


# Settings of policies -----------------------------------------------------------------

NO_SETTINGS = {
    "anisotropic": ["x", None, 1],
    "beta": [None, -1, math.nan, math.inf, "x", True, [1.0]],
    "budget": [0, -1, math.nan, math.inf, "x", None],
    "c1": [0, -1, math.nan, math.inf, "x", None],
    "c2": [0, -1, math.nan, math.inf, "x", None],
    "candidates": [3, [], ["rbf"], "rbf", [None]],
    "delta": [0, 1, -0.1, math.nan, None, "x", True],
    "discount": [0, 2, "x", math.nan],
    "eps": [-1, math.nan, math.inf, "x", None, {"a": -1}],
    "growth": [-1, math.inf, math.nan, "x", None],
    "information_gain": ["x", None, 3],
    "kernel": ["rbf", 3, policies.GPUCB],
    "lower": [0, -1, math.nan, math.inf, "x", None],
    "metric": ["x", None],
    "n_candidates": [0, 1.5, "x", None],
    "n_samples": [0, 1.5, "x", None, True],
    "noise": [0, -1, math.nan, math.inf, "x", None, True, 1j],
    "norm_bound": [0, -1, math.nan, math.inf, "x", None],
    "normalize_y": [
        *(None, "x", 3, (0, 0), (0, -1), ("a", "b"), (1,), (0, math.nan)),
        *((0.0, math.inf), (-math.inf, 1.0), (math.inf, math.inf)),
    ],
    "nu": [0, -1, math.nan, math.inf, "x"],
    "nu_range": [3, (1,), (0, 1), (2, 1), (1.0, math.inf), "ab"],
    "period": [0, 1.5, "x", True],
    "prior": ["x", 3],
    "ratio": [1, math.inf, "x", None],
    "repeats": ["x", None, 1],
    "tail": [-1, "x", math.nan],
    "theta0": [0, -1, "x", math.nan, math.inf],
    "upper": [1e-9, "x", math.nan, math.inf],
    "weights": [[], [0], [-1], "x", 3, [None], [1, 1, 1, -1]],
    "window": [0, 1.5, "x"],
}


@pytest.mark.parametrize("policy", policies.available())
def test_settings_of_policies(policy):
    made = policies.available()[policy]()
    for name in made.get_params(deep=False).keys() & NO_SETTINGS.keys():
        for value in NO_SETTINGS[name]:
            bad = policies.make_policy(made, **{name: value})
            message = refusal(lambda bad=bad: Optimizer(SPACE, bad))
            assert f"'{name}'" in message, message
            assert_well_written(message)


# Tell ---------------------------------------------------------------------------------

NO_POINTS = [
    (None, "Expected a list of dicts of parameters in 'params', got None"),
    (3, "got 3"),
    ("a", "got 'a'"),
    ([3], "a dict of parameters in 'params', got 3"),
    ([[POINT]], "a dict of parameters"),
    (pd.DataFrame([POINT]), "a dict of parameters in 'params', got 'a'"),
    ({}, "got none for ['a', 'b']"),
    ({"a": 0.5}, "got none for ['b']"),
    ({**POINT, "c": 1}, "got 'c'"),
    ({"A": 0.5, "b": "u"}, "got 'A'"),
    ({**POINT, 1: 2}, "got 1"),
    ({**POINT, "a": 7}, "Parameter 'a' is outside the space: expected a number in"),
    ({**POINT, "a": "0.5"}, "got '0.5'"),
    ({**POINT, "a": None}, "got None"),
    ({**POINT, "a": math.nan}, "got nan"),
    ({**POINT, "a": math.inf}, "got inf"),
    ({**POINT, "a": [0.5]}, "got [0.5]"),
    ({**POINT, "a": True}, "got True"),
    ({**POINT, "b": "w"}, "expected one of ['u', 'v'], got 'w'"),
    ({**POINT, "b": 0}, "got 0"),
    ({**POINT, "b": ["u"]}, "got ['u']"),
]


@pytest.mark.parametrize(("params", "says"), NO_POINTS, ids=short)
@pytest.mark.parametrize("pending", [False, True])
def test_points_that_are_none(params, says, pending):
    made = optimizer()
    if pending:
        made.ask()
    before = state(made)
    several = isinstance(params, dict)
    calls = [lambda: made.tell(params, 1.0), lambda: made.predict(params)]
    if several:
        calls += [lambda: made.tell([POINT, params], [1.0, 2.0])]
        calls += [lambda: made.predict([POINT, params])]
    for call in calls:
        message = refusal(call)
        assert says in message
        assert_well_written(message)
        assert state(made) == before
    assert made.ask() == Optimizer.from_dict(json.loads(before)).ask()


@pytest.mark.parametrize("value", NO_NUMBERS, ids=short)
def test_values_that_are_none(value):
    made = optimizer()
    pending = made.ask()
    before = state(made)
    for call in (
        lambda: made.tell(POINT, value),
        lambda: made.tell(pending, value),
        lambda: made.tell([POINT, pending], [1.0, value]),
    ):
        message = refusal(call)
        assert message.startswith("Expected the value told to be a number (nan for a")
        assert state(made) == before
    made.tell(pending, 1.0)
    assert made.best_value_ == 1.0


@pytest.mark.parametrize("values", [1.0, [], [1.0], [1.0] * 3, np.ones(3), None, "ab"])
def test_other_numbers_of_values_than_of_points(values):
    made = optimizer()
    before = state(made)
    message = refusal(lambda: made.tell([POINT, {**POINT, "b": "v"}], values))
    assert "each of the 2 points, got" in message
    assert state(made) == before


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_failures_are_no_errors(value):
    made = optimizer()
    best = made.best_value_
    made.tell(POINT, value)
    assert made.history_[-1]["failed_reason"]
    assert made.best_value_ == best
    state(made)
    made.ask()


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324, -0.0, 2**1000])
def test_extreme_numbers_are_numbers(value):
    made = optimizer()
    made.tell(POINT, value)
    for _ in range(3):
        made.tell(made.ask(), 0.0)
    assert made.history_[6]["value"] == value
    made.recommend()
    made.predict(POINT)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        *[(lambda o, n=n: o.ask(n), "'n' of Optimizer.ask") for n in NO_COUNTS],
        *[
            (lambda o, d=d: o.regret_bound(d), "'delta' of regret_bound")
            for d in (0, 1, -1, math.nan, None, "x", [0.1], 1j, np.array([0.1, 0.2]))
        ],
    ],
)
def test_other_methods(call, says):
    made = optimizer()
    before = state(made)
    message = refusal(lambda: call(made))
    assert says in message
    assert_well_written(message.split("Got array")[0].strip())
    assert state(made) == before


# Earlier results ----------------------------------------------------------------------

FOUND = {"params": [POINT, {**POINT, "b": "v"}], "mean_test_score": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        *[
            ({"params": v}, "as the search left it")
            for v in (None, 3, "x", [None], [3])
        ],
        *[({"params": v}, "as the search left it") for v in ([], [POINT], POINT)],
        *[
            ({"mean_test_score": v}, "as the search left it")
            for v in (None, 3, "x", [], [0.1], [[0.1], [0.2]], [0.1, 1, 2])
        ],
        ({"mean_test_score": [0.1, object()]}, "to hold numbers"),
        ({"mean_test_score": [0.1, 1j]}, "to hold numbers"),
        ({"mean_test_score": [0.1, "x"]}, "to hold numbers"),
        ({"mean_test_score": [0.1, 10**400]}, "to hold numbers"),
        ({"mean_test_f1": [0.1, 0.2], "mean_test_score": None}, "'mean_test_score'"),
    ],
    ids=short,
)
def test_results_with_other_columns(changes, says):
    message = refusal(lambda: Optimizer.from_cv_results({**FOUND, **changes}, SPACE))
    assert says in message
    assert_well_written(message)


@pytest.mark.parametrize("results", [None, 3, "x", [], [FOUND], object()])
def test_what_is_no_table(results):
    message = refusal(lambda: Optimizer.from_cv_results(results, SPACE))
    assert "'cv_results_' of a search" in message


@pytest.mark.parametrize("metric", ["f1", 3, ["score"], np.array(["score", "f1"])])
def test_metrics_that_are_not_there(metric):
    message = refusal(lambda: Optimizer.from_cv_results(FOUND, SPACE, metric=metric))
    assert "'metric' must be one of those in the results, ['score']" in message


def test_columns_of_parameters():
    table = {"param_a": 3, "param_b": ["u", "v"], "mean_test_score": [1.0, 2.0]}
    message = refusal(lambda: Optimizer.from_cv_results(table, SPACE))
    assert "'param_a' of the results to list one value for each" in message


# States -------------------------------------------------------------------------------

NO_PARTS = [None, 9, "x", [], {}, math.nan, [3], {"x": 1}, True, -1]


@pytest.mark.parametrize("part", optimizer().to_dict())
def test_states_of_which_a_part_is_not_what_was_written(part):
    made = Optimizer([SPACE, {"c": Real(0, 1)}], random_state=0)
    for _ in range(14):
        made.tell(made.ask(), 1.0)
    made.ask()
    written = json.loads(state(made))
    says = "Expected a state"
    left = {key: value for key, value in written.items() if key != part}
    assert says in refusal(lambda: Optimizer.from_dict(left))
    for value in NO_PARTS:
        try:
            read = Optimizer.from_dict({**written, part: value})
        except ValueError as error:
            assert_well_written(str(error).split(" (")[0] + ".")
        else:  # a seed, count or horizon may differ
            counts = {"horizon", "planned", "n_asked", "n_initial", "told"}
            assert part in {*counts, "seed", "first"}
            read.ask()


@pytest.mark.parametrize("told", [[0, 0], [-1], [99], [0.5], ["0"], [True]])
def test_states_whose_trials_are_told_otherwise(told):
    written = {**optimizer().to_dict(), "told": told}
    message = refusal(lambda: Optimizer.from_dict(written))
    assert "for those told" in message


@pytest.mark.parametrize("key", optimizer().to_dict()["trials"][0])
def test_states_with_other_trials(key):
    written = optimizer(9).to_dict()
    del written["trials"][2][key]
    assert "do not fit together" in refusal(lambda: Optimizer.from_dict(written))


BROKEN_STATES = [
    ("a-gp-ucb", "h", []),
    ("a-gp-ucb", "estimate", [0.5]),
    ("boho", "upper", []),
    ("boho", "theta", [-1.0]),
    ("et-gp-ucb", "first", 0.5),
    ("et-gp-ucb", "first", 99),
    ("gp-ucb", "theta", 0),
    ("gp-ucb", "t", 10**6),
    ("gp-ucb", "n_parameters", 7),
    ("hb-gp-ucb", "introduced", [[{}]]),
    ("he-gp-ucb", "queries", [{"query": 0, "candidate": 0, "mean": 0.0}]),
    ("he-gp-ucb", "queries", [{"query": 99, "candidate": 0, "mean": 0, "width": 1}]),
    ("he-gp-ucb", "survivors", [9]),
    ("he-gp-ucb", "survivors", []),
    ("lb-gp-ucb", "alive", [77]),
    ("lb-gp-ucb", "introduced", [[1.5, 0]]),
    ("lb-gp-ucb", "members", []),
    ("lb-gp-ucb", "widths", 3),
    ("map-gp-ucb", "theta", [1.0, 2.0, 3.0]),
    ("mcmc-gp-ucb", "thetas", [["x"]]),
    ("mle-gp-ucb", "chosen", 3),
    ("robust", "counts", [0]),
    ("robust", "fits", [{"theta": [1.0], "noise": None, "n_fitted": 4}]),
    ("robust", "passed", None),
    ("stableopt", "centres", [[0.1], [0.1, 0.2]]),
    ("sw-gp-ucb", "window", -1),
    ("tv-gp-ucb", "rate", 1.0),
    ("ui-tvbo", "rate", 10**400),
    ("w-gp-ucb", "rate", 0.0),
]


@pytest.mark.parametrize(("policy", "field", "value"), BROKEN_STATES)
def test_states_of_policies_that_cannot_be(policy, field, value):
    """Values that would break a later step are refused when they are read."""
    made = Optimizer(SPACE, policy, n_initial_points=3, horizon=20, random_state=0)
    for i in range(6):
        made.tell(made.ask(), float(i))
    written = json.loads(state(made))
    assert field in written["states"][0]
    written["states"][0][field] = value
    assert "do not fit together" in refusal(lambda: Optimizer.from_dict(written))


@pytest.mark.parametrize(
    ("policy", "item", "value"),
    [
        ("a-gp-ucb", "h", None),
        ("he-gp-ucb", "candidate", 9),
        ("he-stableopt", "adversary", {"candidate": 0}),
        ("lb-gp-ucb", "width", "x"),
        ("mcmc-gp-ucb", "thetas", []),
        ("random", "label", 3),
        ("robust", "level", 9),
        ("robust", "passed", "x"),
        ("tv-gp-ucb", "rate", -1.0),
    ],
)
def test_memos_of_pending_points_that_cannot_be(policy, item, value):
    made = Optimizer(SPACE, policy, n_initial_points=3, random_state=0)
    for i in range(4):
        made.tell(made.ask(), float(i))
    made.ask()
    written = json.loads(state(made))
    assert item in written["trials"][-1]["metadata"]
    written["trials"][-1]["metadata"][item] = value
    assert "do not fit together" in refusal(lambda: Optimizer.from_dict(written))


@pytest.mark.parametrize(
    ("field", "value"),
    [("alive", [5]), ("t", "1"), ("members", [[0]]), ("widths", [[], [True]])],
)
def test_states_of_the_balancer_that_cannot_be(field, value):
    made = Optimizer([SPACE, {"c": Real(0, 1)}], random_state=0)
    for i in range(16):
        made.tell(made.ask(), float(i))
    written = json.loads(state(made))
    written["balancer"][field] = value
    assert "do not fit together" in refusal(lambda: Optimizer.from_dict(written))


@pytest.mark.parametrize(
    ("field", "value"),
    [("alive", 3), ("value", [1]), ("value", None), ("branch", -1), ("reset", 0)],
)
def test_trials_that_cannot_be(field, value):
    written = optimizer(9).to_dict()
    written["trials"][2][field] = value
    assert "do not fit together" in refusal(lambda: Optimizer.from_dict(written))


# Spaces -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Space, lambda s: Space([s, {"c": [1, 2]}])])
@pytest.mark.parametrize("params", [None, 3, "a", [POINT], ["a", "b"], math.nan])
def test_what_is_no_params_dict(make, params):
    space = make(SPACE)
    for call in (space.encode, space.owner):
        message = refusal(lambda call=call: call(params))
        assert message.startswith("Expected a dict of parameters, got ")
    assert not space.contains(params)


@pytest.mark.parametrize("n", [n for n in NO_COUNTS if n != 0] + [None])
def test_samples_of_no_number(n):
    assert "'n' of Space.sample" in refusal(lambda: Space(SPACE).sample(n))


@pytest.mark.parametrize("seed", NO_SEEDS)
def test_samples_without_a_seed(seed):
    message = refusal(lambda: Space(SPACE).sample(2, random_state=seed))
    assert "'random_state' of Space.sample" in message


@pytest.mark.parametrize("x", [None, "x", {}, [None], 1j, [math.nan] * 3, ["a"] * 3])
def test_coordinates_that_are_none(x):
    assert "coordinates of an encoded point" in refusal(lambda: Space(SPACE).decode(x))


@pytest.mark.parametrize("name", ["A", 1, None, ["a"], {}, Integer(1, 2)])
def test_names_that_are_not_there(name):
    assert refusal(lambda: Space(SPACE).columns(name)).startswith("Expected ")
