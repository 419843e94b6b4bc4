"""Any value of an argument works, or is refused with a readable message."""

import json
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sentences import FITS, JUNK, Counting, X, assert_readable, y

import runs
from skrobustbo import (
    Categorical,
    Integer,
    Optimizer,
    Real,
    RobustBayesSearchCV,
    Space,
    SpaceExhausted,
    maximize,
    policies,
)
from skrobustbo.checkpoint import CheckpointError

SPACE = {"a": Real(-1, 1), "b": ["u", "v"]}
FAST = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

numbers = (
    st.integers(-5, 5)
    | st.integers()
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.complex_numbers()
    | st.sampled_from([10**400, np.float32(0.5), np.int8(3), np.uint64(2**63), 2**53])
)
words = st.sampled_from(["a", "b", "u", "x", "", "score", "roc_auc"]) | st.text(
    max_size=5
)
leaves = st.none() | st.booleans() | numbers | words | st.binary(max_size=3)
leaves |= st.sampled_from([value for value in JUNK if not hasattr(value, "__next__")])
#: Any value, nested up to a few levels, and small so that valid ones finish soon.
junk = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(words, inner, max_size=3)
        | st.lists(numbers, max_size=3).map(lambda v: np.array(v, dtype=object))
    ),
    max_leaves=5,
)


def works_or_says(call, *names):
    """Call; an error must have a type for users and name the invalid argument."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except SpaceExhausted:
            return None
        except (ValueError, TypeError) as error:
            refused = error
    assert_readable(refused)
    assert any(name in str(refused) for name in names), refused
    return None


# Optimizer ----------------------------------------------------------------------------

NAMED = {
    "space": ("arameter", "'log'"),
    "initial_params": ("'initial_params'",),
    "n_initial_points": ("'n_initial_points'",),
    "horizon": ("'horizon'",),
    "constraints": ("'constraints'",),
    "policy": ("'policy'",),
    "random_state": ("'random_state'",),
}


@pytest.mark.parametrize("name", NAMED)
@FAST
@given(value=junk)
def test_arguments_of_an_optimizer(name, value):
    def build():
        made = Optimizer(**{"space": SPACE, "random_state": 0, name: value})
        for _ in range(2):
            made.tell(made.ask(), 1.0)
        json.dumps(made.to_dict(), allow_nan=False)

    works_or_says(build, *NAMED[name])


@FAST
@given(params=junk, value=junk, alone=st.booleans())
@example(params={"a": 0.5, "b": "u"}, value=[None], alone=True)
@example(params=[{"a": 0.5, "b": "u"}] * 2, value=[1.0, object()], alone=False)
def test_what_is_told(params, value, alone):
    made = Optimizer(SPACE, random_state=0)
    made.tell(made.ask(), 1.0)
    pending = made.ask()
    before = json.dumps(made.to_dict())
    for told in (params, {"a": params, "b": "u"}, {"a": 0.0, "b": params}, pending):
        told = told if alone else [told]
        n = len(made.history_), made.history_[1]["pending"]
        says = ("dict", "number", "arameter", "values")
        works_or_says(partial(made.tell, told, value), *says)
        works_or_says(partial(made.predict, told), "dict", "arameter")
        if n != (len(made.history_), made.history_[1]["pending"]):  # a point, a number
            json.dumps(made.to_dict(), allow_nan=False)
            made = Optimizer.from_dict(json.loads(before))
        assert json.dumps(made.to_dict()) == before


@FAST
@given(value=junk)
def test_what_else_is_asked(value):
    made = Optimizer(SPACE, random_state=0)
    for _ in range(3):
        made.tell(made.ask(), 1.0)
    before = json.dumps(made.to_dict())
    works_or_says(lambda: made.regret_bound(value), "'delta'")
    whole = isinstance(value, int | np.integer)
    if value is not None and not (whole and 0 < value <= 2**53):
        works_or_says(lambda: made.ask(value), "'n'")
    assert json.dumps(made.to_dict()) == before
    space = made.space
    works_or_says(lambda: space.columns(value), "arameter")
    works_or_says(lambda: space.decode(value), "encoded point")
    works_or_says(lambda: space.encode(value), "arameter")
    assert space.contains(value) in (True, False)


@FAST
@given(value=junk)
def test_dimensions_and_spaces(value):
    def searched(make):
        return lambda: Optimizer(Space({"a": make()}), random_state=0).ask()

    for make in (Real, Integer):
        says = ("'low'", "'high'", f"{make.__name__}(")
        for arguments in ((value, 5), (-5, value)):
            works_or_says(searched(partial(make, *arguments)), *says)
        works_or_says(searched(partial(make, 1, 5, log=value)), "'log'")
    works_or_says(searched(lambda: Categorical(value)), "'choices'")
    works_or_says(searched(lambda: Categorical([value])), "'choices'")
    works_or_says(searched(lambda: Categorical([1], ordered=value)), "'ordered'")
    works_or_says(searched(lambda: value), "Parameter 'a'")
    for points in (value, [value], [{"a": value}, {"a": 1}]):
        works_or_says(partial(Space.from_points, points), "point", "params")


@FAST
@given(value=junk)
def test_earlier_results(value):
    good = {"params": [{"a": 0.1, "b": "u"}], "mean_test_score": [0.1]}
    tables = [value, {**good, "params": value}, {**good, "mean_test_score": value}]
    tables += [{**good, "params": [value]}, {**good, "mean_test_score": [value]}]
    tables += [{"param_a": value, "mean_test_score": [0.1]}]
    for table in tables:
        works_or_says(partial(Optimizer.from_cv_results, table, SPACE), "results")
    works_or_says(
        lambda: Optimizer.from_cv_results(good, SPACE, metric=value), "'metric'"
    )


@FAST
@given(value=junk, key=st.sampled_from(sorted(Optimizer(SPACE).to_dict())))
@example(value=3, key="format")  # the number of the format in place of the state
def test_states(value, key):
    made = Optimizer(SPACE, random_state=0)
    for _ in range(3):
        made.tell(made.ask(), 1.0)
    state = made.to_dict()
    works_or_says(lambda: Optimizer.from_dict(value), "a state")
    says = ("a state", "'constraints'")
    works_or_says(lambda: Optimizer.from_dict({**state, key: value}).ask(), *says)


@FAST
@given(value=junk)
def test_the_loop_in_one_call(value):
    def run(**given):
        return lambda: maximize(
            **{"func": lambda p: p["a"], "space": SPACE, "n_iter": 2, **given}
        )

    works_or_says(run(func=lambda params: value), "The function")
    if not callable(value):
        works_or_says(run(func=value), "'func'")
        works_or_says(run(callback=value), "'callback'")
    if not isinstance(value, int | np.integer) or not 5 < value < 2**54:
        works_or_says(run(n_iter=value), "'n_iter'")


# Policies -----------------------------------------------------------------------------

SETTINGS = [
    (policy, name)
    for policy, made in policies.available().items()
    for name in made().get_params(deep=False)
]


#: Settings that are numbers of steps.
SLOW = ("n_candidates", "n_samples", "burn_in", "thin")


@settings(FAST, max_examples=400)
@given(setting=st.sampled_from(SETTINGS), value=leaves | junk)
def test_settings_of_policies(setting, value):
    policy, name = setting
    small = not isinstance(value, int | np.integer) or abs(int(value)) < 50
    if callable(value) or (not small and name in SLOW):
        return  # its effect is unknown, or would take long

    def run():
        made = policies.make_policy(policy, **{name: value})
        optimizer = Optimizer(SPACE, made, n_initial_points=2, random_state=0)
        runs.run(optimizer, 4, lambda params: -(params["a"] ** 2))
        optimizer.recommend()

    works_or_says(run, f"'{name}'")


# Searches -----------------------------------------------------------------------------

#: Words in messages that do not name the argument, mostly from scikit-learn.
ALSO = {
    "param_space": ("arameter",),
    "cv": ("split", "CV iterator", "samples"),
    "scoring": ("scor", "metric"),
    "n_jobs": ("n_jobs",),
    "checkpoint": ("checkpoint",),
    "estimator": ("candidates of", "fix"),
    "refit": ("best_index_", "metric"),
}
SEARCH = sorted(RobustBayesSearchCV(Counting(), {}).get_params(deep=False))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in SEARCH if n != "fit_timeout"])
@settings(FAST, max_examples=60)
@given(value=junk)
def test_arguments_of_a_search(name, value, tmp_path_factory):
    if name in ("n_jobs", "verbose") and isinstance(value, int | np.integer):
        return  # any number of workers or lines of output
    if name == "checkpoint" and isinstance(value, str) and value:
        return  # a file beside the tests; paths have a table of their own
    if name == "refit" and callable(value):
        return  # its exceptions are passed on
    space = {"a": Real(-1, 1)}
    good = {"param_space": space, "n_iter": 3, "cv": 2, "random_state": 0}
    search = RobustBayesSearchCV(**{"estimator": Counting(), **good, name: value})
    before = search.get_params(deep=False)
    FITS.clear()
    says = (f"'{name}'", *ALSO.get(name, ()))
    if name == "n_iter" and isinstance(value, int | np.integer) and value > 20:
        return  # any number of fits
    if name == "max_time" and isinstance(value, float) and 0 < value < 10:
        return  # which may be too short
    fitted = works_or_says(lambda: search.fit(X, y), *says)
    after = search.get_params(deep=False)
    assert all(after[key] is before[key] for key in before)
    if fitted is None and name not in ("scoring", "refit", "estimator", "cv"):
        assert not FITS


@settings(FAST, max_examples=60)
@given(value=junk)
def test_what_scorers_return(value):
    search = RobustBayesSearchCV(
        Counting(),
        {"a": Real(-1, 1)},
        n_iter=3,
        cv=2,
        refit="a",
        scoring=lambda estimator, X, y: value,
        random_state=0,
    )
    works_or_says(lambda: search.fit(X, y), "scor", "metric")


@settings(FAST, max_examples=80)
@given(X=junk, y=junk)
def test_data(X, y):
    search = RobustBayesSearchCV(
        Counting(), {"a": Real(-1, 1)}, n_iter=3, cv=2, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in ((X, y), (X, np.arange(20) % 2), (np.ones((20, 1)), y)):
            try:
                search.fit(*data)
            except (ValueError, TypeError, KeyError):
                continue  # from scikit-learn, a KeyError of a dict, or the estimator
            assert search.n_iter_ == 3


def test_a_checkpoint_error_is_a_value_error():
    assert issubclass(CheckpointError, ValueError)
