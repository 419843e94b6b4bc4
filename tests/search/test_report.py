"""The report of a fitted search."""

import hashlib
import json
import math
import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import loguniform, uniform
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import ElasticNet, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from fake_estimators import Fake
from skrobustbo import Categorical, Integer, Real, RobustBayesSearchCV, Space
from skrobustbo._text import with_error
from skrobustbo._trials import SINGLE, Evaluation, FoldResult, Trial
from skrobustbo.model_selection._failures import Outcome
from skrobustbo.model_selection._findings import Findings, _has_ends, _total_effects
from skrobustbo.model_selection._limits import goes_on, largest_score
from skrobustbo.watching import main as watch

TREE = DecisionTreeRegressor(random_state=0)

X, y = np.arange(40.0)[:, None], np.tile([0, 1], 20)


class Shaped(Fake):
    """Scores a known function of its parameters; fails or is noisy where told to."""

    def __init__(self, a=0.0, b=0, kind="up", noise=0.0, fails=None):
        self.a = a
        self.b = b
        self.kind = kind
        self.noise = noise
        self.fails = fails

    def fit(self, X, y):
        if self.fails == "long":
            raise RuntimeError("first line\nsecond line" + "x" * 10_000)
        if self.fails == "above" and self.a > 0.5:
            raise KeyError("no such <b>thing</b>")
        return super().fit(X, y)

    def score(self, X, y):
        if self.fails == "nan" and self.a > 0.5:
            return math.nan
        value = {
            "up": self.a,
            "inside": -((self.a - 0.31) ** 2) - ((self.b - 5) / 10) ** 2,
        }[self.kind]
        return value + self.noise * math.sin(1e6 * (1 + X[0, 0]) * (1 + self.a))


def fitted(estimator=None, space=None, **settings):
    given = {"n_iter": 15, "cv": 4, "random_state": 0, **settings}
    given.setdefault("include_default", False)
    space = {"a": Real(0, 1)} if space is None else space
    search = RobustBayesSearchCV(estimator or Shaped(), space, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of failures
        return search.fit(X, y)


def of(search):
    """Return the arguments of `Findings`."""
    return search, search._notes


def section(text, name):
    """Return the lines of one section as one line."""
    found, inside = [], False
    for line in text.splitlines()[2:]:
        head, body = line[:12].strip(), line[12:]
        inside = head == name if head else inside
        found += [body.strip()] if inside else []
    return " ".join(found)


def sections(text):
    return [line[:12].strip() for line in text.splitlines()[2:] if line[:12].strip()]


def test_a_search_that_settled():
    space = {"a": Real(0, 1), "b": Integer(0, 10)}
    search = fitted(Shaped(kind="inside"), space, n_iter=25)
    text = search.report()
    title = "RobustBayesSearchCV of Shaped: 25 candidates, 4 folds each"
    assert text.splitlines()[0] == title
    assert sections(text) == ["Best", "Time", "Ended", "Next"]
    assert sections(search.report(details=True))[1:3] == ["Model", "Covered"]
    best = section(text, "Best")
    assert f"candidate {search.best_index_} " in best
    assert f"a = {search.best_params_['a']:.4g}" in best
    assert "b = 5" in best
    assert section(text, "Ended") == "all 25 candidates of n_iter were evaluated"
    assert section(text, "Next").startswith("- nothing in particular")
    assert max(map(len, text.splitlines())) <= 88


def test_what_more_candidates_would_gain_is_said_beside_the_noise():
    text = fitted(Shaped(kind="inside", noise=0.1), n_iter=12).report()
    says = r"20 more candidates: expected gain [\d.e-]+; noise [\d.e-]+"
    assert re.fullmatch(says, section(text, "Outlook"))


def test_names_are_short_where_they_stay_apart():
    pipe = Pipeline([("scale", StandardScaler()), ("a", PCA()), ("b", Ridge())])
    space = {"a__n_components": [1], "b__alpha": Real(1e-3, 1e3, log=True)}
    search = RobustBayesSearchCV(pipe, space, n_iter=6, random_state=0).fit(X, y)
    best = section(search.report(), "Best")
    assert re.search(r"n_components = 1\s+alpha {8}= ", best)
    assert "b__alpha" in json.loads(search.report(format="json"))["best"]["params"]


def test_the_report_as_data():
    search = fitted(Shaped(kind="inside"), {"a": Real(0, 1)}, include_default=True)
    said = json.loads(search.report(format="json"))
    assert said["best"]["params"] == search.best_params_
    assert said["best"]["score"] == search.best_score_
    assert said["candidates"] == search.n_iter_
    assert said["folds_fitted"] == search.n_iter_ * said["folds"]
    assert said["gain"] == {"score": search.gain_, "low": None, "high": None}
    assert said["honest"] is None
    honest = RobustBayesSearchCV(
        Ridge(), {"alpha": Real(1e-2, 1e6, log=True)}, n_iter=6, honest_score=True
    ).fit(np.random.default_rng(0).normal(size=(60, 3)), np.arange(60.0))
    low, high = honest.honest_interval_
    said = json.loads(honest.report(format="json"))
    assert said["honest"] == {"score": honest.honest_score_, "low": low, "high": high}
    low, high = honest.gain_interval_
    assert said["gain"] == {"score": honest.gain_, "low": low, "high": high}
    said = json.loads(search.report(format="json"))
    assert said["outlook"].keys() == {"candidates", "gain", "noise"}
    assert said["next"] == re.findall(
        "(?<=- )(.*)", search.report().split("Next")[1].replace("\n              ", " ")
    )
    failed = fitted(Shaped(fails="above"), {"a": Real(0, 1)}, n_iter=8)
    causes = json.loads(failed.report(format="json"))["failures"]
    assert causes["candidates"] > 0
    assert causes["causes"][0]["cause"].startswith("KeyError")
    with pytest.raises(ValueError, match=r"must be 'text' or 'json'\. Got 'xml'"):
        search.report(format="xml")


def test_values_that_json_has_no_type_for():
    class Strange:
        def __repr__(self):
            return "Strange()"

    odd = Strange()
    search = fitted(Shaped(kind="inside"), {"a": Real(0, 1), "fails": [odd]}, n_iter=4)
    best = json.loads(search.report(format="json"))["best"]
    assert best["params"] == {"a": search.best_params_["a"], "fails": "Strange()"}
    space = {"a": Real(0.6, 1)}
    search = fitted(Shaped(fails="nan"), space, n_iter=4, refit=False)
    said = json.loads(search.report(format="json"))
    assert said["best"] is None
    assert said["outlook"]["gain"] is None


def test_names_of_the_metric_and_of_a_last_step():
    X, y = np.arange(40.0)[:, None], np.arange(40.0)
    pipe = make_pipeline(StandardScaler(), Ridge())
    space = {"ridge__alpha": Real(1e-3, 1e3, log=True)}
    search = RobustBayesSearchCV(
        pipe, space, n_iter=4, scoring="neg_mean_absolute_error", random_state=0
    ).fit(X, y)
    text = search.report()
    assert text.startswith("RobustBayesSearchCV of Pipeline with Ridge: ")
    assert section(text, "Best").startswith("neg_mean_absolute_error -")


def test_score_with_its_standard_error():
    search = fitted(Shaped(kind="inside", noise=0.3), {"a": Real(0, 1)})
    scores = [
        search.cv_results_[f"split{i}_test_score"][search.best_index_] for i in range(4)
    ]
    error = np.std(scores, ddof=1) / 2
    digits = 1 - math.floor(math.log10(error))  # two of the error
    assert 2 <= digits <= 4
    expected = f"score {search.best_score_:.{digits}f} ± {error:.{digits}f}"
    assert section(search.report(), "Best").startswith(expected)


def test_before_fit_and_after_a_fit_that_failed():
    search = RobustBayesSearchCV(Shaped(), {"a": Real(0, 1)}, n_iter=3)
    with pytest.raises(NotFittedError):
        search.report()
    search.fit(X, y).set_params(estimator=Shaped(fails="above"), error_score="raise")
    search.set_params(param_space={"a": Real(0.6, 1)})
    with pytest.raises(KeyError):
        search.fit(X, y)
    with pytest.raises(NotFittedError):  # it would report the previous fit
        search.report()


# How well the space is covered ----------------------------------------------------


def test_how_far_the_space_is_from_the_candidates():
    search = fitted(space={"a": Real(0, 1), "b": Real(0, 10)}, n_iter=12)
    asked = np.array([[p["a"], p["b"] / 10] for p in search.cv_results_["params"]])
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2), axis=-1).reshape(-1, 2)
    expected = cdist(grid, asked, "chebyshev").min(axis=1).max()
    assert Findings(*of(search)).radius == pytest.approx(expected, abs=0.03)
    covered = f"within {Findings(*of(search)).radius:.0%} of each parameter's range"
    assert section(search.report(details=True), "Covered").endswith(covered)


@pytest.mark.parametrize(
    "space",
    [
        [{"kind": ["up"], "a": Real(0, 1)}, {"kind": ["inside"], "a": Real(0, 1)}],
        {"kind": ["up", "inside"], "a": Real(0, 1)},
        Space.from_points([{"a": i / 10, "b": i % 3} for i in range(11)]),
    ],
    ids=["branches", "choices", "points"],
)
def test_each_choice_and_branch_has_to_be_covered(space):
    search = fitted(space=space, n_iter=11)
    _, notes = of(search)
    assert 0 <= Findings(search, notes).radius < 0.5
    some = [t for t in notes.trials if t.params.get("kind") != "inside"][:5]
    radius = Findings(search, replace(notes, trials=some)).radius
    assert radius > Findings(search, notes).radius


def test_nothing_is_said_of_a_space_that_one_point_would_cover_as_well():
    search = fitted(space={"a": Real(0, 1), "b": Real(0, 10)}, n_iter=1)
    assert Findings(*of(search)).radius >= 0.5
    assert "Covered" not in sections(search.report(details=True))


# Edges --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "says"),
    [
        ({"a": Real(0, 1)}, "a is at its upper bound 1: widen it"),
        ({"a": Real(1e-3, 1e2, log=True)}, "a is at its upper bound 100: widen it"),
        ({"a": Integer(0, 30)}, "a is at its upper bound 30: widen it"),
        ({"a": Integer(1, 300, log=True)}, "a is at its upper bound 300: widen it"),
        ({"a": [1, 3, 10, 30]}, "a is the largest of its values, 30: add more"),
        ({"a": Real(-1, 0)}, "a is at its upper bound 0: widen it"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_best_at_an_edge(space, says):
    text = fitted(space=space).report()
    assert section(text, "At an edge") == says
    assert "- a: try larger values than" in section(text, "Next")


def test_best_at_a_lower_edge():
    search = fitted(Shaped(kind="inside"), {"a": Real(0.4, 1), "b": [5]})
    text = search.report()
    assert section(text, "At an edge") == "a is at its lower bound 0.4: widen it"
    assert "- a: try smaller values than 0.4" in section(text, "Next")


@pytest.mark.parametrize(
    "space",
    [
        {"a": Categorical([0.0, 1.0])},  # of two values one is always an end
        {"a": [0.0, 0.5, 1.0], "kind": ["up"]},
        Space.from_points([{"a": i / 10} for i in range(11)]),
        {"a": [1.0]},
    ],
    ids=["two", "list", "points", "constant"],
)
def test_what_has_no_edge(space):
    edges = Findings(*_parts(fitted(space=space, n_iter=8))).edges
    expected = ["a"] if isinstance(space, dict) and len(space) == 2 else []
    assert [edge.name for edge in edges] == expected


def test_unordered_numbers_have_no_end_however_many():
    assert not _has_ends(Space({"a": Categorical(range(150))}), "a")
    assert _has_ends(Space({"a": range(150)}), "a")


def _parts(search):
    return search, search._notes


class Noisy(Fake):
    """Scores independent noise for each fold and parameters, on top of a slope."""

    def __init__(self, a=0.0, b=0.0, c=0, slope=0.0, seed=0):
        self.a = a
        self.b = b
        self.c = c
        self.slope = slope
        self.seed = seed

    def score(self, X, y):
        told = repr((self.a, self.b, self.c, self.seed, float(X[0, 0]))).encode()
        seed = int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "little")
        noise = np.random.default_rng(seed).normal()
        return self.slope * self.a + 3 * math.sin(X[0, 0]) + noise


def noisy(seed, slope=0.0, **settings):
    space = {"a": Real(0, 1), "b": Real(0, 1), "c": Integer(0, 9)}
    settings = {"n_iter": 20, "cv": 5, "random_state": seed, **settings}
    search = fitted(Noisy(slope=slope, seed=seed), space, refit=False, **settings)
    return Findings(*_parts(search))


@pytest.mark.slow
def test_noise_is_no_reason_for_advice():
    every = [noisy(seed) for seed in range(40)]
    assert sum(bool(found.edges) for found in every) <= 1
    assert sum(found.improving for found in every) <= 1
    assert sum(bool(found.idle) for found in every) <= 1


def test_noise_in_a_few_searches_is_no_reason_for_advice():
    every = [noisy(seed) for seed in range(6)]
    assert not any(found.edges or found.improving or found.idle for found in every)


def test_an_effect_at_an_end_is_told_from_noise_elsewhere():
    every = [noisy(seed, slope=20.0) for seed in range(12)]
    found = [edge.name for one in every for edge in one.edges]
    assert found.count("a") >= 6
    assert len(found) - found.count("a") <= 1


# Valid values beyond an end -----------------------------------------------------------

TEXTS = np.array(["an old cat", "old cats sit", "cats do sit", "an do cat"] * 6)


def _value(sign, name):
    def scoring(estimator, X, y):
        return sign * estimator.get_params()[name]

    return scoring


def advised(estimator, name, dimension, side, rows=None, **space):
    """Return the advice on a parameter that is best at an end."""
    scoring = _value(1 if side == "high" else -1, name)
    rows = np.random.default_rng(0).normal(size=(24, 4)) if rows is None else rows
    search = RobustBayesSearchCV(
        estimator,
        {name: dimension, **space},
        n_iter=9,
        cv=2,
        scoring=scoring,
        initial_params=[{name: dimension.low if side == "low" else dimension.high}]
        if hasattr(dimension, "low")
        else None,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = search.fit(rows, np.tile([0, 1], 12)).report()
    return section(text, "At an edge"), section(text, "Next")


TEXT_MODEL = Pipeline([("v", TfidfVectorizer()), ("c", Ridge())])
SCALED = Pipeline([("p", PCA()), ("c", Ridge())])


@pytest.mark.parametrize(
    ("estimator", "name", "dimension", "side", "rows", "legal"),
    [
        (Ridge(), "alpha", Real(1, 2), "high", None, True),
        (Ridge(), "alpha", Real(0, 2), "low", None, False),
        (Ridge(), "alpha", Real(1e-3, 2, log=True), "low", None, True),
        (Ridge(), "alpha", [0.1, 0.5, 1.0], "low", None, True),
        (Ridge(), "alpha", [0, 1, 10], "low", None, False),
        (Ridge(), "alpha", uniform(0, 1), "low", None, False),
        (Ridge(), "alpha", loguniform(1e-3, 1e3), "low", None, True),
        (ElasticNet(), "l1_ratio", Real(0, 1), "low", None, False),
        (ElasticNet(), "l1_ratio", Real(0, 1), "high", None, False),
        (ElasticNet(), "l1_ratio", Real(0, 0.999), "high", None, False),
        (ElasticNet(), "l1_ratio", Real(0, 0.8), "high", None, True),
        (ElasticNet(), "l1_ratio", [0.1, 0.5, 1.0], "high", None, False),
        (TREE, "max_depth", Integer(1, 5), "low", None, False),
        (TREE, "max_depth", Integer(2, 5), "low", None, True),
        (TREE, "max_features", Real(0.1, 1), "high", None, False),
        (TREE, "max_features", Integer(1, 4), "high", None, False),
        (TREE, "min_samples_split", Integer(2, 9), "low", None, False),
        (TEXT_MODEL, "v__min_df", Integer(1, 4), "low", TEXTS, False),
        (TEXT_MODEL, "v__max_df", Real(0.5, 1), "high", TEXTS, False),
        (TEXT_MODEL, "c__alpha", Real(0.5, 1), "high", TEXTS, True),
        (SCALED, "p__n_components", Integer(1, 4), "high", None, False),
    ],
    ids=lambda value: str(value)[:20].replace("\n", ""),
)
def test_only_legal_values_are_advised(estimator, name, dimension, side, rows, legal):
    edge, then = advised(estimator, name, dimension, side, rows)
    name = name.removeprefix("c__").removeprefix("v__").removeprefix("p__")
    assert (f"{name} is " in edge) is legal
    more = "larger" if side == "high" else "smaller"
    assert (f"- {name}: try {more} values than" in then) is legal
    assert "make sense" not in then


def test_a_list_over_decades_goes_on_by_factors():
    search = RobustBayesSearchCV(Ridge(), {})
    space = Space({"alpha": [0.001, 1.0, 1000.0]})
    assert goes_on(search, space, "alpha", "low")
    assert goes_on(search, space, "alpha", "high")


def test_every_value_of_a_searched_component_is_asked():
    def told(*parts):
        pipe = Pipeline([("c", parts[0])])
        return advised(pipe, "c__alpha", Real(0, 2), "low", c=list(parts))

    assert told(Ridge(), Alpha())[0] == ""
    edge, then = told(Alpha())
    assert edge == "alpha is at its lower bound 0: widen it"
    assert "if they make sense (if not, state it by hard='low')" in then


class Alpha(Fake):
    """Has an unknown parameter."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha


@pytest.mark.parametrize(
    ("hard", "side", "says"),
    [
        (True, "low", None),
        (True, "high", None),
        ("low", "low", None),
        ("high", "high", None),
        ("low", "high", "hard=True"),
        ("high", "low", "hard=True"),
        (False, "high", "hard='high'"),
    ],
)
@pytest.mark.parametrize("cls", [Real, Integer])
def test_a_natural_limit_can_be_stated(hard, side, says, cls):
    edge, then = advised(Alpha(), "alpha", cls(0, 9, hard=hard), side)
    assert ("alpha is at its" in edge) is (says is not None)
    if says:
        assert f"state it by {says}" in then


@pytest.mark.parametrize(
    ("package", "cls", "name"),
    [
        ("lightgbm", "LGBMRegressor", "colsample_bytree"),
        ("lightgbm", "LGBMRegressor", "subsample"),
        ("xgboost", "XGBRegressor", "colsample_bylevel"),
        ("catboost", "CatBoostRegressor", "rsm"),
    ],
)
def test_shares_of_the_boosting_libraries_end_at_one(package, cls, name):
    model = getattr(pytest.importorskip(package), cls)()
    space, search = Space({name: Real(0.3, 1)}), RobustBayesSearchCV(model, {})
    assert goes_on(search, space, name, "high") is False
    assert goes_on(search, Space({name: Real(0.3, 0.8)}), name, "high") is None


def test_a_range_that_was_hard_is_still_the_same_search(tmp_path):
    def search(hard, n_iter=4):
        return fitted(
            Alpha(),
            {"alpha": Real(0, 1, hard=hard)},
            n_iter=n_iter,
            checkpoint=tmp_path / "search.ckpt",
            scoring=_value(1, "alpha"),
        )

    first = search(False).cv_results_["params"]
    assert search(True).cv_results_["params"] == first


# Failures -----------------------------------------------------------------------------


def test_failures_by_cause():
    search = fitted(Shaped(fails="above"))
    n = int(np.isnan(search.cv_results_["mean_test_score"]).sum())
    assert 1 < n < 15
    text = search.report()
    says = section(text, "Failures")
    assert f"{n} of 15 candidates got no score" in says
    assert f"{4 * n} folds ({n} candidates): KeyError: 'no such <b>thing</b>'" in says
    assert "- look at the failures" in section(text, "Next")


def test_scores_that_are_not_finite_are_failures():
    search = fitted(Shaped(fails="nan"))
    n = int(np.isnan(search.cv_results_["mean_test_score"]).sum())
    says = section(search.report(), "Failures")
    assert f"{4 * n} folds ({n} candidates): the score was nan" in says


def test_notes_hold_no_tracebacks():
    space = {"a": Real(0, 1), "fails": [None, "long"]}
    search = fitted(space=space)
    ((cause, _, _),) = search._notes.failures
    assert cause == "RuntimeError: first line"
    assert len(pickle.dumps(search._notes.failures)) < 1000


def test_failures_are_counted_from_the_trials():
    scored = FoldResult({SINGLE: 0.5})
    raised = FoldResult({SINGLE: math.nan}, fit_error="ValueError: no")
    trials = [
        Evaluation(Trial({}), folds=[scored, scored]),
        Evaluation(Trial({}), folds=[raised, raised]),
        Evaluation(Trial({}), folds=[scored, raised]),
        Evaluation(Trial({}), folds=[scored], estimate=(0.5, 0.1)),
    ]
    notes = Outcome(optimizer=None, metric=None, n_planned=4, trials=trials)
    assert notes.n_failed == 2
    assert notes.failures == [("ValueError: no", 3, 2)]


def test_failures_with_a_number_as_error_score():
    search = fitted(Shaped(fails="above"), error_score=-1.0)
    says = section(search.report(), "Failures")
    assert "0 of 15 candidates got no score" in says
    assert "KeyError" in says


def test_scores_that_are_nan_are_no_errors():
    def scoring(estimator, X, y):
        return math.nan if estimator.a > 0.5 else estimator.a

    then = section(fitted(scoring=scoring).report(), "Next")
    assert "- look at the failures: no fit failed, but scores are not finite" in then
    assert "error_score" not in then
    then = section(fitted(Shaped(fails="above")).report(), "Next")
    assert "error_score='raise' shows the traceback" in then


def test_folds_that_took_too_long_have_no_traceback():
    search = fitted(Shaped(fails="above"))
    for trial in search._notes.trials:
        late = "The fold took longer than fit_timeout=1.0 s."
        trial.folds = [replace(f, fit_error=f.fit_error and late) for f in trial.folds]
    then = section(search.report(), "Next")
    assert "- look at the failures: make the fits cheaper" in then
    assert "error_score" not in then


# Numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.7, 1 / 3, -1e9 / 7, 5e-324, 0.0])
def test_scores_that_are_all_equal(value):
    def scoring(estimator, X, y):
        return value

    text = fitted(scoring=scoring, n_iter=16).report()
    assert "±" not in text
    assert section(text, "Next").startswith("- all 16 scores are equal: ")
    assert "At an edge" not in sections(text)
    found = Findings(*_parts(fitted(scoring=scoring, n_iter=16)))
    assert not found.edges + found.idle
    assert not found.improving


def test_rounding_is_no_error():
    assert with_error(0.7, 7.9e-17) == "0.7"
    assert with_error(0.0, 7.9e-17) == "0 ± 7.9e-17"
    assert with_error(0.7, 0.0123) == "0.700 ± 0.012"
    assert with_error(math.nan, 1.0) == "nan"
    assert with_error(-1e9 - 0.0479, 0.0012) == "-1000000000.0479 ± 0.0012"
    assert with_error(1.234567e12, 1e10) == "1.2346e+12 ± 1e+10"
    assert with_error(1e-320, 1e-321) == "9.9999e-321 ± 1e-321"


def test_a_mean_that_is_constant_up_to_rounding_has_no_shares():
    class Flat:
        def predict(self, points):
            rows = np.arange(len(points))
            return 0.1 + np.where(rows % 2, 1e-17, -1e-17) + 1e-16 * (rows % 3 == 0)

    space = Space({"a": Real(0, 1), "b": Real(0, 1)})
    for floor in (0.3, 0.0):
        assert _total_effects(Flat(), space, ["a", "b"], floor) == {}


#: A one, then a plural: no verb and no unit.
WRONG = re.compile(r"(?<![\d.])\b1 (?!(?:s|is|was|has|does|ms)\b)\w+s\b")


def test_one_of_anything_is_singular(capsys, tmp_path):
    path = tmp_path / "one.ckpt"
    one = [(np.arange(20), np.arange(20, 40))]
    for settings in ({}, {"racing": "confident"}, {"max_time": 1e6}):
        search = fitted(n_iter=1, cv=one, checkpoint=path, verbose=1, **settings)
        text = search.report() + search._more_html() + repr(search.optimizer_)
        assert not WRONG.findall(text)
        path.unlink()
    search = fitted(n_iter=1, cv=one, checkpoint=path, verbose=1)
    watch(["watch", str(path), "--once"])
    page = tmp_path / "page.html"
    watch(["watch", str(path), "--once", "--html", str(page)])
    again = fitted(n_iter=1, cv=one, verbose=1, previous=search)
    said = capsys.readouterr().out + page.read_text() + again.report()
    assert "1 fold" in said
    assert not WRONG.findall(said)


def test_causes_that_are_left_out_are_counted():
    def failing(n):
        search = fitted(n_iter=8)
        for i, trial in enumerate(search._notes.trials[:n]):
            failed = replace(trial.folds[0], fit_error=f"ValueError: no {i}")
            trial.folds = [failed, *trial.folds[1:]]
        return section(search.report(), "Failures")

    assert failing(6).endswith("and 1 other cause")
    assert failing(7).endswith("and 2 other causes")
    assert "other cause" not in failing(5)


# Advice -------------------------------------------------------------------------------


def test_still_improving():
    def improving(scores):
        search = fitted(n_iter=12)
        results = search.cv_results_
        results["mean_test_score"] = np.array(scores)
        for i in range(4):
            results[f"split{i}_test_score"] = np.array(scores)
        return Findings(*_parts(search)).improving

    flat = [0.1, 0.2, 0.5, 0.4, 0.6, 0.7, 0.8, 0.8, 0.9]
    assert improving([*flat, 0.8, 0.95, 0.7])
    assert not improving([*flat, 0.8, 0.9, 0.7])
    assert not improving([*flat, 0.8, 0.9 + 1e-6, 0.7])


def test_noise_that_dominates():
    space = {"a": Real(0.2, 0.21)}
    noisy = fitted(Shaped(noise=3.0), space, n_iter=12, policy="random")
    assert "RepeatedStratifiedKFold" in section(noisy.report(), "Next")
    noisy.cv = RepeatedStratifiedKFold()
    assert "repeat the folds more often" in section(noisy.report(), "Next")
    # The same noise in every candidate cancels when folds are compared.
    assert "repeat" not in fitted(Shaped(noise=0.0)).report()


def test_parameters_that_do_not_matter():
    space = {"a": Real(0, 1), "b": Integer(0, 10)}
    text = fitted(space=space, n_iter=25).report()  # "up" ignores b
    assert "- b: the model attributes less than 1 %" in section(text, "Next")
    assert Findings(*_parts(fitted(space=space, n_iter=25))).idle == ["b"]
    assert Findings(*_parts(fitted(space=space, n_iter=8))).idle == []


# Other searches -----------------------------------------------------------------------


def test_several_metrics_without_refit():
    search = fitted(
        scoring={"up": _up, "down": _down}, search_metric="down", refit=False
    )
    text = search.report()
    assert section(text, "Best").startswith("down ")
    best = int(np.argmax(search.cv_results_["mean_test_down"]))
    assert f"candidate {best} " in section(text, "Best")
    assert section(text, "At an edge").startswith("a is at its lower bound 0")


def _up(estimator, X, y):
    return estimator.a


def _down(estimator, X, y):
    return -estimator.a


def test_another_candidate_chosen_by_refit():
    search = fitted(refit=lambda results: 1)
    says = section(search.report(), "Best")
    highest = int(np.argmax(search.cv_results_["mean_test_score"]))
    assert "candidate 1, chosen by refit (the highest score is" in says
    assert f"candidate {highest})" in says


def test_branches():
    space = [
        {"part": [Shaped(kind="up")], "part__a": Real(0, 1)},
        {"part": [Shaped(kind="inside", b=5)], "part__a": Real(0, 1)},
    ]
    search = fitted(Pipeline([("part", Shaped())]), space, n_iter=16)
    owners = np.array([search.optimizer_.space.owner(p) for p in _params(search)])
    assert search.report().startswith("RobustBayesSearchCV of Pipeline: ")
    says = section(search.report(), "Branches")
    first, second = int((owners == 0).sum()), int((owners == 1).sum())
    assert first > second >= 2
    assert "part=Shaped()" in says
    assert f"{first} candidates, best 1 (won)" in says
    assert f"{second} candidates, best -" in says


def _params(search):
    return search.cv_results_["params"]


def test_several_models_side_by_side():
    search = fitted(policy="lb-gp-ucb")
    says = section(search.report(details=True), "Model")
    alive = search.optimizer_.history_[-1]["alive"]
    assert "surviving: " + ", ".join(alive[:8]) in says


def test_certificate_only_where_the_optimizer_has_one():
    search = fitted(n_iter=5)
    search.optimizer_.__dict__["regret_bound"] = lambda calibrated: 0.0123
    assert "at most 0.012 is left to gain" in section(
        search.report(details=True), "Model"
    )
    search.optimizer_.__dict__["regret_bound"] = lambda calibrated: math.inf
    assert "left to gain" not in search.report(details=True)


def test_the_report_shows_the_calibrated_bound():
    search = fitted(Shaped(kind="inside", noise=0.1), n_iter=25)
    asked = []

    def bound(delta=0.05, *, calibrated=False):
        asked.append(calibrated)
        return 0.0

    search.optimizer_.__dict__["regret_bound"] = bound
    search.report(details=True)
    assert set(asked) == {True}


def bounded(bound, search=None):
    """Return a search with a given bound on what is left to gain."""
    search = search or fitted(Shaped(kind="inside", noise=0.1), n_iter=25)
    search.optimizer_.__dict__["regret_bound"] = lambda calibrated: bound
    search.optimizer_.__dict__["expected_gain"] = lambda n, noise: math.nan
    return search


def test_a_bound_that_allows_more_than_was_gained_is_left_out():
    scores = bounded(0.0).cv_results_["mean_test_score"]
    error = Findings(*of(bounded(0.0))).standard_error
    ahead = max(scores.max() - np.median(scores), error)
    assert "left to gain" in bounded(0.99 * ahead).report(details=True)
    assert "left to gain" not in bounded(1.01 * ahead).report(details=True)


@pytest.mark.slow
def test_a_search_has_settled_only_if_the_bound_is_within_the_error():
    error = Findings(*of(bounded(0.0))).standard_error
    assert error > 0
    assert Findings(*of(bounded(0.99 * error))).has_settled
    assert not Findings(*of(bounded(1.01 * error))).has_settled
    assert not Findings(*of(bounded(math.inf))).has_settled
    space = {"a": Real(0, 1), "b": Integer(0, 10)}
    calm = fitted(Shaped(kind="inside"), space, n_iter=25)
    assert "has settled" in section(bounded(0.0, calm).report(), "Next")
    assert "do not rule one out" in section(bounded(math.inf, calm).report(), "Next")


@pytest.mark.parametrize(("n_iter", "settled"), [(14, False), (15, True)])
def test_an_expected_gain_within_the_noise_settles_a_search_of_some_length(
    n_iter, settled
):
    space, shape = {"a": Real(0, 1)}, Shaped(kind="inside", noise=0.1)
    search = bounded(math.inf, fitted(shape, space, n_iter=n_iter))
    search.optimizer_.__dict__["expected_gain"] = lambda n, noise: 0.5 * noise
    assert Findings(*of(search)).has_settled is settled
    search.optimizer_.__dict__["expected_gain"] = lambda n, noise: 2.0 * noise
    then = " ".join(search.report().split())
    assert "raise n_iter: " in then
    assert not Findings(*of(search)).has_settled


@pytest.mark.parametrize(
    ("scoring", "top"),
    [(None, 1.0), ("r2", 1.0), ("neg_mean_squared_error", 0.0), ("neg_max_error", 0.0)],
)
def test_the_largest_score_of_a_metric(scoring, top):
    ridge = make_pipeline(StandardScaler(), Ridge())
    assert largest_score(check_scoring(ridge, scoring), ridge) == top


def test_no_more_is_left_than_the_metric_can_give():
    rows = np.linspace(0, 1, 40)[:, None]
    search = RobustBayesSearchCV(
        Ridge(), {"alpha": Real(1e-2, 1e6, log=True)}, n_iter=12, random_state=0
    ).fit(rows, rows[:, 0])
    left = 1 - search.best_score_
    found = Findings(*of(bounded(1e6, search)))
    assert found.left_to_gain == pytest.approx(left)
    assert f"at most {left:.2g} is left" in section(
        search.report(details=True), "Model"
    )


def test_what_a_score_of_ones_own_can_give_is_not_known():
    def scoring(estimator, X, y):
        return estimator.score(X, y)

    search = fitted(Shaped(kind="inside"), scoring=scoring)
    assert Findings(*of(bounded(1e6, search))).left_to_gain is None
    own = bounded(1e6)  # an estimator with a score of its own
    assert Findings(*of(own)).left_to_gain is None


def test_a_finite_space_that_was_exhausted():
    space = {"a": [0.1, 0.3, 0.6], "b": [5]}
    text = fitted(Shaped(kind="inside"), space).report()
    says = section(text, "Ended")
    assert says == "every point of the space was tried, 12 short of n_iter"
    assert section(text, "Next") == "- nothing: no other point is left"


def test_a_search_that_was_interrupted_can_go_on():
    search = fitted(Shaped(kind="inside"), n_iter=12)
    assert "search.resume" not in search.report()
    search.stop_reason_ = "interrupted"
    search._notes = replace(search._notes, n_planned=19)
    assert section(search.report(), "Next").startswith(
        "- go on with search.resume(X, y, n_iter=7)"
    )


def test_one_candidate_one_fold():
    search = fitted(n_iter=1, cv=[(np.arange(20), np.arange(20, 40))])
    text = search.report()
    assert text.startswith("RobustBayesSearchCV of Shaped: 1 candidate, 1 fold each")
    assert "±" not in text
    assert section(text, "Next") == "- raise n_iter: 1 candidate cannot show much"


def test_random_search_has_no_initial_design_to_speak_of():
    assert "Best" in sections(fitted(policy="random").report())


def test_pickled_cloned_and_gone_on_with():
    search = fitted()
    text = search.report()
    assert pickle.loads(pickle.dumps(search)).report() == text
    assert not hasattr(clone(search), "_notes")
    search.optimizer_.tell(search.optimizer_.ask(), 5.0)
    before, after = (
        section(t, "Best") + section(t, "Ended") for t in (text, search.report())
    )
    assert before == after


def test_asking_for_a_report_changes_nothing():
    search, other = fitted(), fitted()
    search.report()
    assert search.optimizer_.ask() == other.optimizer_.ask()


def test_the_honest_score_is_said_where_it_was_asked_for():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y, space = X @ [1, 2, 3] + np.cos(7 * X[:, 0]), {"alpha": Real(1e-3, 1e3, log=True)}
    given = {"n_iter": 4, "random_state": 0, "include_default": False}
    search = RobustBayesSearchCV(Ridge(), space, **given)
    assert "Honest" not in sections(search.fit(X, y).report())
    text = section(search.set_params(honest_score=True).fit(X, y).report(), "Honest")
    assert text.startswith("score 0.9")
    low, high = search.honest_interval_
    assert f", 95% interval {low:.3f} to {high:.3f}: expected" in text
    assert "fitted to as many rows as in one fold" in text
    assert "among 4 candidates" in text
    text = section(search.set_params(honest_score="folds").fit(X, y).report(), "Honest")
    assert text.startswith("score 0.9")
    assert "interval" not in text
    search.honest_score_ = math.nan
    assert section(search.report(), "Honest") == "no honest score could be computed"


@pytest.mark.parametrize("factor", [2.0**-830, 2.0**830])
def test_units_of_the_scores_change_no_verdict(factor):
    def findings(factor):
        def scoring(estimator, X, y):
            return factor * estimator.score(X, y)

        noisy = Shaped(kind="inside", noise=0.1)
        return Findings(*of(fitted(noisy, n_iter=12, scoring=scoring)))

    plain, scaled = findings(1.0), findings(factor)
    assert scaled.params == plain.params
    assert scaled.standard_error == factor * plain.standard_error
    assert scaled.has_settled == plain.has_settled
    assert (scaled.left_to_gain is None) == (plain.left_to_gain is None)


@pytest.mark.parametrize("factor", [2.0**-830, 2.0**830])
def test_units_of_the_scores_change_no_advice(factor):
    def verdicts(factor, kind, noise):
        def scoring(estimator, X, y):
            return factor * estimator.score(X, y)

        space = {"a": Real(0, 1), "b": Integer(0, 10)}
        noisy = Shaped(kind=kind, noise=noise)
        found = Findings(*of(fitted(noisy, space, n_iter=16, scoring=scoring)))
        return found.improving, found.noisy, found.idle, found.edges

    for kind in ("up", "inside"):
        for noise in (0.001, 0.1):
            plain = verdicts(1.0, kind, noise)
            assert verdicts(factor, kind, noise) == plain


def test_small_differences_on_a_large_score_have_not_settled():
    def scoring(estimator, X, y):
        return estimator.score(X, y) - 1e9

    for n_iter in (8, 15):
        search = fitted(Shaped(kind="inside"), n_iter=n_iter, scoring=scoring)
        assert not Findings(*of(search)).has_settled
    assert search.best_params_["a"] == pytest.approx(0.31, abs=0.02)
