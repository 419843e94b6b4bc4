"""Parameters that an estimator accepts, possible misspellings, and current values."""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from fake_estimators import Fake, search_of
from skrobustbo import Integer, Real, Resource, Space
from skrobustbo._names import did_you_mean, slip_of
from skrobustbo.previous import PreviousCandidates

X, y = load_iris(return_X_y=True)
X, y = X[::3], y[::3]


class Given(Fake):
    """Lists only what it was given, and accepts any name, like CatBoost's classes."""

    fits = 0

    def __init__(self, depth=None, l2_leaf_reg=None, iterations=None, **others):
        named = {"depth": depth, "l2_leaf_reg": l2_leaf_reg, "iterations": iterations}
        given = {k: v for k, v in named.items() if v is not None}
        self.given = {**given, **others}

    def get_params(self, deep=True):
        return dict(self.given)

    def set_params(self, **params):
        self.given.update(params)
        return self

    def fit(self, X, y=None):
        Given.fits += 1
        return super().fit(X, y)

    def score(self, X, y=None):
        assert set(map(type, self.given)) <= {str}
        return float(sum(v for v in self.given.values() if np.isscalar(v)))


class Open(Fake):
    """Lists its own parameters and accepts any other, like LightGBM's classes.

    Parameters
    ----------
    num_leaves : int
        Listed.
    min_split, max_split : float
        Documented only.
    """

    def __init__(self, num_leaves=31, n_estimators=9, **others):
        self.num_leaves = num_leaves
        self.n_estimators = n_estimators
        self.others = others

    def get_params(self, deep=True):
        own = {"num_leaves": self.num_leaves, "n_estimators": self.n_estimators}
        return {**own, **self.others}

    def set_params(self, **params):
        for name, value in params.items():
            if name in ("num_leaves", "n_estimators"):
                setattr(self, name, value)
            else:
                self.others[name] = value
        return self

    def score(self, X, y=None):
        return 0.0


class Routed(Fake):
    """Passes parameters on to an optimizer named by a string, like skorch."""

    TAKES = {"SGD": {"momentum", "lr"}, "Adam": {"beta", "lr"}}  # noqa: RUF012

    def __init__(self, optimizer="SGD", lr=0.1, **routed):
        self.optimizer = optimizer
        self.lr = lr
        self.routed = routed

    def get_params(self, deep=True):
        return {"optimizer": self.optimizer, "lr": self.lr, **self.routed}

    def set_params(self, **params):
        own = {k: v for k, v in params.items() if "__" not in k}
        for name, value in own.items():
            setattr(self, name, value)
        for name in params.keys() - own.keys():
            _, _, inner = name.partition("__")
            if inner not in self.TAKES[self.optimizer]:
                raise ValueError(f"{self.optimizer} knows nothing of {inner!r}")
            self.routed[name] = params[name]
        return self

    def score(self, X, y=None):
        return 0.0


class Ordered(Fake):
    """Rejects values that do not fit each other, and a listed parameter."""

    def __init__(self, start=0, stop=10, frozen=1):
        self.start = start
        self.stop = stop
        self.frozen = frozen

    def set_params(self, **params):
        if "frozen" in params:
            raise ValueError("frozen cannot be changed")
        super().set_params(**params)
        if self.start >= self.stop:
            raise ValueError("start is not below stop")
        return self

    def score(self, X, y=None):
        return 0.0


class Uncloneable(Fake):
    """Changes what it is given, as CatBoost does with cat_features."""

    def __init__(self, columns=(0,)):
        self.columns = list(columns)


def pipe(clf=None):
    clf = Fake() if clf is None else clf
    return Pipeline([("scale", StandardScaler()), ("clf", clf)])


def search(estimator, space, **given):
    return search_of(estimator, space, **{"n_iter": 3, "cv": 2, **given})


def quiet(ours):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ours.fit(X, y)


def refusal(estimator, space, kind=ValueError, **given):
    """Return the error of a search for a space, before the first fit."""
    Given.fits = 0
    with pytest.raises(kind) as caught:
        quiet(search(estimator, space, **given))
    assert Given.fits == 0
    return str(caught.value)


# Accepted parameters ------------------------------------------------------------------

VOTE = VotingClassifier([("a", Given()), ("b", LogisticRegression())])
STACK = StackingClassifier([("a", Given()), ("b", LogisticRegression())], cv=2)
COLUMNS = ColumnTransformer([("scale", StandardScaler(), [0, 1])])

TAKEN = [
    (Given(), {"depth": Integer(2, 6)}),
    (pipe(), {"clf": [Given()], "clf__depth": Integer(2, 6)}),
    (pipe(), {"clf": [Given(), Open()], "clf__depth": Integer(2, 6)}),
    (pipe(), {"clf": [Given(depth=3), Given()], "clf__l2_leaf_reg": Real(1, 9)}),
    (VOTE, {"a": [Given()], "a__depth": [2, 3]}),
    (STACK, {"a": [Given(), Open()], "a__depth": [2, 3]}),
    (pipe(), {"clf": [VOTE], "clf__a__depth": [2, 3], "clf__b__C": [0.1, 1]}),
    (pipe(), {"clf": [STACK], "clf__a": [Given(), Open()], "clf__a__depth": [2, 3]}),
    (
        pipe(BaggingClassifier(Fake(), n_estimators=2)),
        {"clf__estimator": [Given(), Open()], "clf__estimator__depth": [2, 3]},
    ),
    (
        pipe(),
        {
            "clf": [
                BaggingClassifier(Fake(), n_estimators=2),
                BaggingClassifier(Fake(), n_estimators=3),
            ],
            "clf__estimator": [Given(), Open()],
            "clf__estimator__depth": [2, 3],
        },
    ),
    (
        Pipeline([("columns", COLUMNS), ("clf", Fake())]),
        {
            "columns__scale": [MinMaxScaler(), MinMaxScaler((0, 2))],
            "columns__scale__clip": [True, False],
            "clf__a": [0.1, 0.2],
        },
    ),
    (
        Pipeline([("both", FeatureUnion([("s", StandardScaler())])), ("clf", Fake())]),
        {"both__s": ["passthrough", "drop", MinMaxScaler()], "clf__a": [0.1, 0.2]},
    ),
    (pipe(), {"scale": ["passthrough", StandardScaler()], "clf__a": Real(0, 1)}),
    (
        pipe(LogisticRegression()),
        {
            "steps": [
                [("new", Fake())],
                [("scale", StandardScaler()), ("new", Given(depth=2))],
            ],
            "new__a": Real(0, 1),
        },
    ),
    (
        Pipeline([("vote", VOTE)]),
        {"vote__estimators": [[("new", Open())]], "vote__new__depth": [2, 3]},
    ),
    (
        pipe(),
        {
            "steps": [[("new", "passthrough")], [("new", LogisticRegression())]],
            "new": [Given(), Open()],
            "new__depth": Integer(2, 6),
        },
    ),
    (Routed(), {"optimizer": ["SGD", "Adam"], "optimizer__lr": Real(0, 1)}),
    (Routed("Adam"), {"optimizer": ["SGD"], "optimizer__momentum": Real(0, 1)}),
    (
        Routed(),
        [
            {"optimizer": ["SGD"], "optimizer__momentum": Real(0, 1)},
            {"optimizer": ["Adam"], "optimizer__beta": Real(0, 1)},
        ],
    ),
    (
        pipe(),
        {"clf": [Routed()], "clf__optimizer": ["Adam"], "clf__optimizer__beta": [0.9]},
    ),
    (Ordered(), {"start": Integer(20, 25), "stop": Integer(30, 35)}),
    (
        pipe(),
        Space.from_points(
            [{"clf": Open(), "clf__depth": 3}, {"clf": Given(), "clf__depth": 4}]
        ),
    ),
]


@pytest.mark.parametrize(("estimator", "space"), TAKEN)
def test_what_set_params_takes_is_searched(estimator, space):
    before = copy.deepcopy((estimator, space))
    quiet(search(estimator, space))
    # The user's objects are neither set nor fitted.
    assert repr(before) == repr((estimator, space))


@st.composite
def _nested(draw):
    """A pipeline whose step is searched, and the parameters of all its values."""
    kinds = {
        "Fake": (Fake, {"a"}),
        "Logistic": (LogisticRegression, {"C", "tol"}),
        "Given": (Given, None),
        "Open": (Open, None),
        "passthrough": (lambda: "passthrough", set()),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, unique=True))
    names = ["a", "C", "tol", "depth", "frobnicate"]
    name = draw(st.sampled_from(names))
    taken = [kinds[k][1] is None or name in kinds[k][1] for k in chosen]
    return [kinds[k][0]() for k in chosen], name, taken


@given(_nested())
@settings(max_examples=60, deadline=None)
def test_the_rule_is_that_of_clone_and_set_params(case):
    values, name, taken = case
    space = {"clf": values, f"clf__{name}": [0.5, 0.6]}
    for value, is_taken in zip(values, taken, strict=True):
        try:
            clone(pipe()).set_params(
                **{"clf": clone(value, safe=False), f"clf__{name}": 0.5}
            )
        except Exception:
            assert not is_taken
        else:
            assert is_taken
    # Errors that do not concern names come later.
    ours = search(pipe(), space, constraints=lambda params: False)
    with pytest.raises(ValueError, match=r".") as caught:
        quiet(ours)
    assert ("Invalid parameter" in str(caught.value)) == (not all(taken))


# Rejected parameters ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "space", "says"),
    [
        (
            pipe(),
            {"clf": [Given(), Fake()], "clf__depth": [2, 3]},
            [
                "Fake, a value of 'clf', has no 'depth'. Write a list of dicts",
                "says: Invalid parameter 'depth' for estimator Fake(). Valid par",
            ],
        ),
        (
            pipe(),
            {"clf": [Fake(), LogisticRegression()], "clf__depth": [2, 3]},
            ["'clf__depth' in 'param_space' for Fake.", "says: Invalid parameter 'dep"],
        ),
        (
            pipe(),
            {"clf": [Given(), "passthrough"], "clf__depth": [2, 3]},
            ["'passthrough', a value of 'clf', has no 'depth'", "has no parameters."],
        ),
        (
            pipe(),
            {"clf": [VOTE], "clf__b__CC": [2, 3]},
            ["for VotingClassifier; did you mean 'clf__b__C'?", "parameter 'CC' for"],
        ),
        (
            pipe(),
            {"clff": [Given()], "clff__depth": [1, 2]},
            ["'clff' in 'param_space' for Pipeline; did you mean 'clf'?"],
        ),
        (
            pipe(Given()),
            {"clff__depth": [1, 2]},
            ["did you mean 'clf__depth'?", "says: Invalid parameter 'clff' for"],
        ),
        (
            Routed(),
            {"optimizer": ["SGD", "Adam"], "optimizer__momentum": Real(0, 1)},
            ["'Adam', a value of 'optimizer', has no 'momentum'", "Adam knows nothing"],
        ),
        (
            Routed(),
            {"optimizer": ["Adam", "SGD"], "optimizer__momentm": Real(0, 1)},
            ["'optimizer__momentm' in 'param_space' for 'Adam'", "Adam knows nothing"],
        ),
        (Ordered(), {"frozen": [1, 2]}, ["for Ordered", "frozen cannot be changed."]),
        (
            Ordered(),
            {"start": Integer(50, 60), "stop": Integer(30, 35)},
            ["'start' in 'param_space' for Ordered. Its set_params says: start is not"],
        ),
        (
            pipe(),
            {"steps": [[("m", Given())], [("m", Fake())]], "m__depth": [2, 3]},
            [
                "[('m', Fake())], a value of 'steps', has no 'm__depth'. Write a list",
                "says: Invalid parameter 'depth' for estimator Fake().",
            ],
        ),
        (
            CalibratedClassifierCV(),
            {"estimator__C": Real(1, 2)},
            ["The value of 'estimator', None, has no parameters."],
        ),
    ],
)
def test_the_message_of_set_params_is_shown(estimator, space, says):
    message = refusal(estimator, space)
    for part in says:
        assert part in message


@pytest.mark.parametrize(
    ("estimator", "space"),
    [
        (Uncloneable(), {"columns": [[0], [1]]}),
        (Uncloneable(), {"columms": [[0], [1]]}),
        (pipe(Uncloneable()), {"clf__columns": [[0], [1]]}),
        (pipe(), {"clf": [Fake(), Uncloneable()]}),
        (pipe(), {"clf": [Fake(), Uncloneable()], "scale__with_mean": [True, False]}),
        (pipe(), [{"clf": [Fake()]}, {"clf": [Uncloneable()], "clf__columns": [[0]]}]),
    ],
)
def test_what_cannot_be_cloned_is_not_taken_for_a_misspelt_parameter(estimator, space):
    assert "Cannot clone object" in refusal(estimator, space, RuntimeError)


# Possible misspellings ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "space", "near"),
    [
        (Open(), {"num_leafs": [2, 3]}, "num_leaves"),
        (Open(), {"n_estimator": [2, 3]}, "n_estimators"),
        (Open(), {"numLeaves": [2, 3]}, "num_leaves"),
        (Open(), {"nestimators": [2, 3]}, "n_estimators"),
        (Open(), {"n_leaves": [2, 3]}, "num_leaves"),
        (Open(), {"min_splti": [2, 3]}, "min_split"),
        (Open(), {"max_spit": [2, 3]}, "max_split"),
        (Given(), {"dept": [2, 3]}, "depth"),
        (Given(), {"iteration": [2, 3]}, "iterations"),
        (pipe(Given()), {"clf__l2_leaf_regs": [2, 3]}, "clf__l2_leaf_reg"),
        (pipe(), {"clf": [Given()], "clf__dpeth": [2, 3]}, "clf__depth"),
        (pipe(), {"clf": [VOTE], "clf__a__dept": [2, 3]}, "clf__a__depth"),
        (
            pipe(),
            [
                {"clf": [Given(), Open()], "clf__num_leave": [2, 3]},
                {"clf": [Open(n_estimators=3)], "clf__num_leave": [2, 3]},
            ],
            "clf__num_leaves",
        ),
    ],
)
def test_a_name_that_looks_misspelt_gets_one_warning(estimator, space, near):
    with pytest.warns(UserWarning, match="documents it") as caught:
        search(estimator, space).fit(X, y)
    assert len(caught) == 1
    assert f"did you mean {near!r}?" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("estimator", "space"),
    [
        (Open(), {"num_leaves": [2, 3], "n_estimators": [2, 3]}),
        (Open(), {"min_split": [2, 3], "max_split": [2, 3]}),
        (Open(), {"max_leaves": [2, 3], "num_threads": [1, 2], "feature": [2, 3]}),
        (Open(min_samples=3), {"max_samples": [2, 3]}),
        (Open(units1=3), {"units2": [2, 3]}),
        (Open(optimizer__lr=3), {"optimizer__wd": [2, 3]}),
        (Given(), {"depth": [2, 3], "max_depth": [2, 3], "eta": [0.1, 0.2]}),
        (Routed(), {"optimizer__lr": [0.1, 0.2]}),
        (pipe(), {"clf": [Given(), Open()], "clf__bagging_fraction": [0.1, 0.2]}),
    ],
)
def test_other_names_get_none(estimator, space):
    search(estimator, space).fit(X, y)  # warnings are errors


NAMES = ["num_leaves", "max_depth", "learning_rate", "n_estimators", "subsample"]


@given(st.sampled_from(NAMES), st.integers(0, 99), st.sampled_from("ltsd"))
@settings(deadline=None)
def test_slips_of_one_letter_are_seen(name, place, kind):
    word = max(name.split("_"), key=len)
    i = place % (len(word) - 1)
    slip = {
        "l": word[:i] + word[i + 1 :],  # left out
        "t": word[:i] + word[i] + word[i:],  # twice
        "s": word[:i] + word[i + 1] + word[i] + word[i + 2 :],  # swapped
        "d": word[:i] + "q" + word[i + 1 :],  # a different one
    }[kind]
    assume(slip != word)
    misspelt = name.replace(word, slip)
    assert slip_of(misspelt, NAMES) == name
    assert did_you_mean(misspelt, [f"clf__{n}" for n in NAMES]) == (
        f"did you mean 'clf__{name}'?"
    )
    assert slip_of(name, NAMES) is None


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("reg_alfa", "reg_alpha"),
        ("l2_reg_leaf", "l2_leaf_reg"),
        ("min_data_leaf", "min_data_in_leaf"),
        ("colsample_by_tree", "colsample_bytree"),
        ("random_strenght", "random_strength"),
        ("nestimators", "n_estimators"),
    ],
)
def test_slips_of_words_are_seen(misspelt, meant):
    names = ["reg_alpha", "reg_lambda", "l2_leaf_reg", "min_data_in_leaf"]
    names += ["colsample_bytree", "colsample_bylevel", "random_strength", *NAMES]
    assert slip_of(misspelt, names) == meant


# Partial initial points ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "space", "first", "whole"),
    [
        (
            Given(l2_leaf_reg=2.0),
            {"depth": Integer(2, 6), "l2_leaf_reg": Real(1, 9)},
            {"depth": 3},
            {"depth": 3, "l2_leaf_reg": 2.0},
        ),
        (  # the settings of the value that is given, not those of the pipeline's
            pipe(Given(depth=6)),
            {"clf": [Given(depth=2), Given(depth=3)], "clf__depth": Integer(2, 6)},
            {"clf": Given(depth=3)},
            {"clf": Given(depth=3), "clf__depth": 3},
        ),
        (
            pipe(),
            {"clf": [Open(7)], "clf__n_estimators": [9], "clf__num_leaves": [7, 8]},
            {"clf": Open(7)},
            {"clf": Open(7), "clf__n_estimators": 9, "clf__num_leaves": 7},
        ),
        (
            Routed("SGD", optimizer__lr=0.3),
            {"optimizer": ["SGD", "Adam"], "optimizer__lr": Real(0, 1)},
            {"optimizer": "Adam"},
            {"optimizer": "Adam", "optimizer__lr": 0.3},
        ),
        (  # of a list of steps, not of those in the pipeline
            pipe(Given(depth=6)),
            {
                "steps": [[("clf", Given(depth=2))], [("clf", Given(depth=3))]],
                "clf__depth": Integer(2, 6),
            },
            {"steps": [("clf", Given(depth=3))]},
            {"steps": [("clf", Given(depth=3))], "clf__depth": 3},
        ),
    ],
)
def test_partial_points_are_completed(estimator, space, first, whole):
    ours = search(estimator, space, initial_params=[first]).fit(X, y)
    assert repr(ours.cv_results_["params"][0]) == repr(whole)


@pytest.mark.parametrize(
    ("estimator", "prefix"),
    [(Given(), ""), (pipe(Given()), "clf__"), (pipe(), "clf__")],
)
def test_the_value_that_is_not_known_is_named(estimator, prefix):
    space = {f"{prefix}depth": Integer(2, 6), f"{prefix}l2_leaf_reg": Real(1, 9)}
    if "clf" in dict(getattr(estimator, "steps", [])):
        space["clf"] = [Given()]
    message = refusal(estimator, space, initial_params=[{f"{prefix}depth": 3}])
    assert f"own value of '{prefix}l2_leaf_reg' is unknown" in message
    assert f"give '{prefix}l2_leaf_reg' a value in the space" in message


# Earlier candidates -------------------------------------------------------------------


def learnt(estimator, space, earlier):
    """Return the candidates that a search learnt from, or its message about them."""
    given = PreviousCandidates(earlier, [float(i) for i in range(len(earlier))])
    ours = search(estimator, space, previous=given)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours.fit(X, y)
    says = [str(w.message) for w in caught if "'previous'" in str(w.message)]
    return says[0] if says else ours.cv_results_["params"][0]


@pytest.mark.parametrize(
    ("estimator", "space", "earlier", "first"),
    [
        (Given(), {"depth": Integer(2, 9)}, {"depth": 4}, {"depth": 4}),
        (
            Given(l2_leaf_reg=3.0),
            {"depth": Integer(2, 9), "l2_leaf_reg": Real(1, 9)},
            {"depth": 4},
            {"depth": 4, "l2_leaf_reg": 3.0},
        ),
        (
            pipe(Given(depth=3)),
            {"clf__depth": Integer(2, 9)},
            {"clf": Given(depth=3), "clf__depth": 4},
            {"clf__depth": 4},
        ),
        (
            pipe(),
            {"clf": [Given(l2_leaf_reg=2)], "clf__depth": Integer(2, 9)},
            {"clf__depth": 4, "clf__l2_leaf_reg": 2},
            {"clf": Given(l2_leaf_reg=2), "clf__depth": 4},
        ),
    ],
)
def test_earlier_candidates_fit_as_the_estimator_is(estimator, space, earlier, first):
    assert repr(learnt(estimator, space, [earlier])) == repr(first)


@pytest.mark.parametrize(
    ("space", "earlier", "unknown"),
    [
        ({"depth": [2, 4], "l2_leaf_reg": Real(1, 9)}, {"depth": 4}, "l2_leaf_reg"),
        ({"depth": [2, 4]}, {"depth": 4, "l2_leaf_reg": 2.0}, "l2_leaf_reg"),
    ],
)
def test_earlier_candidates_of_unknown_settings_say_which(space, earlier, unknown):
    says = learnt(Given(), space, [earlier])
    assert f"own value of {unknown!r} is unknown" in says
    assert "set it in the estimator" in says


# The resource -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "space", "name", "given"),
    [
        (Given(), {"depth": [2, 3]}, "iterations", {"max": 9}),
        (Given(iterations=9), {"depth": [2, 3]}, "iterations", {}),
        (pipe(Given(iterations=9)), {"clf__depth": [2, 3]}, "clf__iterations", {}),
        (
            pipe(),
            {"clf": [Given(iterations=9), Open(iterations=9)]},
            "clf__iterations",
            {},
        ),
        (pipe(), {"clf": [Given(), Open()]}, "clf__iterations", {"max": 9}),
        (pipe(), [{"clf": [Open()]}, {"clf": [Open(3)]}], "clf__n_estimators", {}),
        (pipe(), {"steps": [[("m", Open())]], "m__a": [1]}, "m__n_estimators", {}),
    ],
)
def test_what_set_params_takes_can_be_the_resource(estimator, space, name, given):
    ours = search(estimator, space, resource=Resource(name, **given)).fit(X, y)
    assert ours.n_resources_[-1] == 9


@pytest.mark.parametrize(
    ("estimator", "space", "name", "says"),
    [
        (
            Given(),
            {"depth": [2, 3]},
            "iterations",
            "It is not set; set it, or pass",
        ),
        (
            pipe(),
            {"clf": [Open(n_estimators=3), Open(n_estimators=5)]},
            "clf__n_estimators",
            "It is 3 or 5; set it, or pass Resource('clf__n_estimators', max",
        ),
        (pipe(), {"clf": [Open(), Fake()]}, "clf__n_estimators", "'n_estimators' for"),
        (Open(), {"num_leaves": [2]}, "n_estimator", "did you mean 'n_estimators'?"),
        (Given(), {"depth": [2]}, "iteration", "did you mean 'iterations'?"),
        (Open(), {"num_leaves": [2]}, "n_sample", "did you mean 'n_samples'?"),
        (
            pipe(BaggingClassifier(Fake())),
            {"clf__max_samples": [2]},
            "n_estimator",
            "did you mean 'clf__n_estimators'?",
        ),
        (
            VotingClassifier([("a", Open()), ("b", BaggingClassifier(Fake()))]),
            {"voting": ["hard"]},
            "n_estimator",
            "did you mean 'a__n_estimators' or 'b__n_estimators'?",
        ),
    ],
)
def test_what_is_wrong_with_a_resource_is_said(estimator, space, name, says):
    assert says in refusal(estimator, space, resource=name)


def test_a_resource_that_looks_misspelt_gets_a_warning():
    given = Resource("n_estimator", max=9)
    ours = search(Open(), {"num_leaves": [2, 3]}, resource=given)
    with pytest.warns(UserWarning, match="did you mean 'n_estimators'") as caught:
        ours.fit(X, y)
    assert [w.filename for w in caught] == [__file__]


def test_a_hint_does_not_come_from_the_prefix():
    clf = Pipeline([("clf", LogisticRegression())])
    message = refusal(clf, {"clf__C": [1, 2]}, resource="clf__n_estimators")
    assert "did you mean" not in message


def test_grid_search_takes_the_same():
    space = {"clf": [Given(), Open()], "clf__depth": [2, 3]}
    grid = GridSearchCV(pipe(), space, cv=2).fit(X, y)
    ours = search(pipe(), space, n_iter=9).fit(X, y)
    assert ours.best_score_ == grid.best_score_
