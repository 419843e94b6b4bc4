"""`previous`: a search that starts with the candidates of an earlier one."""

import math
import pickle
from types import SimpleNamespace as Object

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fake_estimators import Fake, Noisy
from runs import source_of
from skrobustbo import Categorical, Integer, Real, RobustBayesSearchCV
from skrobustbo.checkpoint import CheckpointError
from skrobustbo.previous import (
    PreviousCandidates,
    from_cv_results,
    from_optuna,
    from_skopt,
)

X, y = load_iris(return_X_y=True)
NARROW, WIDE = {"a": Real(-1, 0)}, {"a": Real(-1, 1)}


class Counted(Fake):
    """Counts its fits."""

    n_fits = 0

    def fit(self, X, y=None):
        Counted.n_fits += 1
        return super().fit(X, y)


def make(space=WIDE, n_iter=6, estimator=None, **settings):
    given = {"cv": 2, "policy": "gp-ucb", "random_state": 0, **settings}
    given.setdefault("include_default", False)
    return RobustBayesSearchCV(estimator or Counted(), space, n_iter=n_iter, **given)


def told_before(search):
    """Return what the model was told before the first candidate."""
    records = search.optimizer_.history_[: -search.n_iter_]
    return [(record["params"], record["value"]) for record in records]


@pytest.fixture(scope="module")
def narrow():
    return make(NARROW, 8).fit(X, y)


def table_of_results(search):
    return pd.DataFrame(search.cv_results_)


def table_without_dicts(search):
    return table_of_results(search).drop(columns="params")


def candidates(search):
    results = search.cv_results_
    return PreviousCandidates(results["params"], results["mean_test_score"])


FORMS = {
    "search": lambda search: search,
    "results": lambda search: search.cv_results_,
    "trials": lambda search: search.trials_dataframe(),
    "table": table_of_results,
    "table without dicts": table_without_dicts,
    "candidates": candidates,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_wider_search_goes_on_at_no_cost(form, narrow):
    """The best was at its bound; it is tried first, and the model knows the others."""
    Counted.n_fits = 0
    wide = make(previous=FORMS[form](narrow)).fit(X, y)
    assert Counted.n_fits == 6 * 2 + 1
    assert wide.n_iter_ == len(wide.cv_results_["params"]) == 6
    best = narrow.best_params_
    assert wide.cv_results_["params"][0] == best
    pairs = zip(
        narrow.cv_results_["params"], narrow.cv_results_["mean_test_score"], strict=True
    )
    assert told_before(wide) == [(p, s) for p, s in pairs if p != best]
    # No initial design: the model knows enough.
    assert list(wide.cv_results_["model_label"]).count("initial") == 1
    assert wide.best_score_ > narrow.best_score_
    assert wide.best_params_["a"] > 0
    assert "8 of 8 earlier candidates fit the space" in wide.report()
    assert wide.trials_dataframe().index.tolist() == list(range(6))


def test_the_report_says_so(narrow):
    assert "at its upper bound 0" in narrow.report()
    assert "with previous=, the next search learns" in " ".join(narrow.report().split())


def test_a_checkpoint_is_read(narrow, tmp_path):
    path = tmp_path / "narrow.ckpt"
    kept = make(NARROW, 8, checkpoint=path).fit(X, y)
    wide = make(previous=path).fit(X, y)
    other = make(previous=kept).fit(X, y)
    assert wide.cv_results_["params"] == other.cv_results_["params"]
    assert told_before(wide) == told_before(other)
    resumed = make(previous=str(path), checkpoint=tmp_path / "wide.ckpt").fit(X, y)
    resumed.resume(X, y, n_iter=2)
    assert resumed.cv_results_["params"][:6] == wide.cv_results_["params"]
    again = make(previous=str(path), checkpoint=tmp_path / "wide.ckpt", n_iter=9)
    assert again.fit(X, y).cv_results_["params"][:8] == resumed.cv_results_["params"]
    with pytest.raises(CheckpointError, match="the setting previous was"):
        again.set_params(previous=None).fit(X, y)


CHOICES = ["gini", "entropy"]
TREE = {"max_depth": Integer(1, 6), "criterion": Categorical(CHOICES)}


def tree(space=TREE, n_iter=8, **settings):
    return make(space, n_iter, DecisionTreeClassifier(random_state=0), **settings)


@pytest.mark.parametrize(
    ("space", "n_fitting"),
    [
        (TREE, 8),
        ({**TREE, "max_depth": Integer(1, 9)}, 8),
        # Positions in another list are meaningless.
        ({**TREE, "criterion": Categorical(CHOICES[::-1])}, 0),
        ({**TREE, "max_depth": [*range(1, 9)]}, 8),
        ([{**TREE, "splitter": ["random"]}, TREE], 8),
        ([{**TREE, "max_depth": Integer(2, 3)}, {"min_samples_leaf": [1, 2]}], None),
    ],
)
def test_choices_in_a_checkpoint(tmp_path, space, n_fitting):
    path = tmp_path / "tree.ckpt"
    earlier = tree(checkpoint=path).fit(X, y)
    if n_fitting == 0:
        with pytest.warns(
            UserWarning, match="no candidate that fits the space, out of 8"
        ):
            found = tree(space, previous=path).fit(X, y)
    else:
        found = tree(space, previous=path).fit(X, y)
        other = tree(space, previous=earlier).fit(X, y)
        assert told_before(found) == told_before(other)
    if n_fitting is not None:
        assert f"{n_fitting} of 8 earlier candidates" in found.report()


def test_branches_in_a_checkpoint(tmp_path):
    path = tmp_path / "branches.ckpt"
    space = [TREE, {"min_samples_leaf": Integer(1, 9)}]
    earlier = tree(space, 12, checkpoint=path).fit(X, y)
    wider = [TREE, {"min_samples_leaf": Integer(1, 20)}]
    found = tree(wider, 9, previous=path).fit(X, y)
    assert len(told_before(found)) >= 10
    assert told_before(found) == told_before(tree(wider, 9, previous=earlier).fit(X, y))


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_searches_of_scikit_learn(search):
    grid = {"C": [0.01, 0.1, 1.0], "gamma": [0.01, 0.1]}
    more = {} if search is GridSearchCV else {"n_iter": 6, "random_state": 0}
    earlier = search(SVC(), grid, cv=2, **more).fit(X, y)
    space = {"C": Real(0.05, 100, log=True), "gamma": Real(1e-3, 1, log=True)}
    for previous in (earlier, earlier.cv_results_, pd.DataFrame(earlier.cv_results_)):
        found = make(space, 5, SVC(), previous=previous).fit(X, y)
        assert len(told_before(found)) == 3
        assert found.cv_results_["params"][0] == earlier.best_params_
        assert found.best_score_ >= earlier.best_score_
        assert "4 of 6 earlier candidates fit the space" in found.report()


def test_a_narrower_space_and_one_of_more_parameters(narrow):
    part = make({"a": Real(-0.5, 1)}, previous=narrow).fit(X, y)
    inside = [p for p in narrow.cv_results_["params"] if p["a"] >= -0.5]
    assert len(told_before(part)) == len(inside) - 1 < 7
    more = {"a": Real(-1, 1), "seconds": [0.0, 1e-9], "fail_above": [math.inf]}
    wider = make(more, estimator=Noisy(), previous=narrow.cv_results_).fit(X, y)
    assert len(told_before(wider)) == 7  # with seconds=0.0, as the estimator has it
    assert {params["seconds"] for params, _ in told_before(wider)} == {0.0}
    with pytest.warns(
        UserWarning, match="has no candidate that fits the space, out of 8"
    ):
        make({"a": Real(0.5, 1)}, previous=narrow).fit(X, y)


def test_a_parameter_that_is_no_longer_searched():
    earlier = tree(n_iter=9).fit(X, y)
    chosen = [p["criterion"] for p in earlier.cv_results_["params"]]
    n_same = chosen.count("gini")  # the estimator's
    assert 0 < n_same < 9
    left = {"max_depth": TREE["max_depth"]}
    for previous in (earlier, earlier.trials_dataframe()):
        report = " ".join(tree(left, 4, previous=previous).fit(X, y).report().split())
        assert f"{n_same} of 9 earlier candidates fit the space" in report
        assert "The first that does not: " in report
        assert "'criterion'" in report


def test_none_is_a_choice_and_not_a_missing_value(tmp_path):
    space = {"max_depth": [None, 1, 3], "class_weight": [None, "balanced"]}
    earlier = tree(space, 6).fit(X, y)
    table = earlier.trials_dataframe()
    assert list(table["param_max_depth"]) == [
        params["max_depth"] for params in earlier.cv_results_["params"]
    ]
    table.to_csv(tmp_path / "trials.csv")
    expected = told_before(tree(space, 5, previous=earlier).fit(X, y))
    assert len(expected) == 5
    for previous in (table, pd.read_csv(tmp_path / "trials.csv")):
        assert told_before(tree(space, 5, previous=previous).fit(X, y)) == expected


def test_the_reason_of_the_first_that_does_not_fit_is_said(narrow):
    says = r"out of 8: the search starts .* does not: Parameter .a. is outside"
    with pytest.warns(UserWarning, match=says) as warned:
        make({"a": Real(0.5, 1)}, previous=narrow).fit(X, y)
    assert warned[0].filename == __file__


def test_tables_have_floats_for_whole_numbers():
    space = [TREE, {"min_samples_leaf": Integer(1, 9)}]
    earlier = tree(space, 12).fit(X, y)
    table = earlier.trials_dataframe()
    assert table["param_max_depth"].dtype == float
    found = tree(space, 9, previous=table).fit(X, y)
    assert told_before(found) == told_before(tree(space, 9, previous=earlier).fit(X, y))
    first = found.cv_results_["params"][0]
    assert all(type(v) in (int, str) for v in first.values())


def test_candidates_of_other_data(narrow):
    other = PreviousCandidates(
        narrow.cv_results_["params"],
        narrow.cv_results_["mean_test_score"],
        same_data=False,
    )
    with pytest.warns(UserWarning, match="from other data: the best 3 that fit"):
        found = make(n_iter=12, previous=other).fit(X, y)
    order = np.argsort(-narrow.cv_results_["mean_test_score"])
    best = [narrow.cv_results_["params"][i] for i in order[:3]]
    assert found.cv_results_["params"][:3] == best
    assert told_before(found) == []
    assert "only 3 were tried first" in " ".join(found.report().split())


@pytest.mark.parametrize("as_file", [False, True])
def test_other_data_are_noticed_where_they_can_be(narrow, tmp_path, as_file):
    path = tmp_path / "narrow.ckpt"
    previous = narrow
    rows = X[:-2], y[:-2]
    if as_file:
        make(NARROW, 8, checkpoint=path).fit(X, y)
        previous, rows = path, (X + 1, y)
    with pytest.warns(UserWarning, match="has candidates from other data"):
        found = make(previous=previous).fit(*rows)
    assert told_before(found) == []


def test_what_the_user_gives_comes_first(narrow):
    given = [{"a": 0.5}, {"a": -0.25}]
    found = make(previous=narrow, initial_params=given).fit(X, y)
    first = found.cv_results_["params"][:3]
    assert first == [*given, narrow.best_params_]


def test_constraints_hold(narrow):
    best = narrow.best_params_["a"]
    found = make(previous=narrow, constraints=lambda p: p["a"] != best).fit(X, y)
    assert best not in [params["a"] for params in found.cv_results_["params"]]
    assert narrow.best_params_ in [params for params, _ in told_before(found)]


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_size": 3},
        {"batch_size": 2, "schedule": "window"},
        {"racing": "confident", "cv": 5, "estimator": Noisy()},
    ],
)
def test_it_goes_on_as_a_longer_search_would(narrow, settings):
    given = {"previous": narrow.cv_results_, "n_initial_points": 3, **settings}
    ours = make(n_iter=6, **given).fit(X, y).resume(X, y, n_iter=6)
    assert ours.n_iter_ == 12
    assert len(told_before(ours)) == 7
    if "racing" not in settings:  # its budget is that of the plan
        longer = make(n_iter=12, **given).fit(X, y)
        assert ours.cv_results_["params"] == longer.cv_results_["params"]
    copied = pickle.loads(pickle.dumps(ours.resume(X, y, n_iter=1)))
    assert copied.resume(X, y, n_iter=2).n_iter_ == 15
    records = type(ours.optimizer_).from_dict(ours.optimizer_.to_dict()).history_
    assert repr(records) == repr(ours.optimizer_.history_)


def test_what_failed_is_told_and_what_was_raced_is_not():
    raced = make(n_iter=14, racing="confident", cv=5, estimator=Noisy()).fit(X, y)
    n_raced = int(raced.cv_results_["raced"].sum())
    assert n_raced
    for previous in (raced, raced.trials_dataframe()):
        assert (
            len(source_of(make(previous=previous)).optimizer.history_) == 13 - n_raced
        )
    given = PreviousCandidates([{"a": 0.1}, {"a": 0.9}, {"a": 0.2}], [0, math.nan, -1])
    (failed,) = [v for _, v in told_before(make(previous=given).fit(X, y))][:1]
    assert math.isnan(failed)
    failures = PreviousCandidates([{"a": 0.1}, {"a": 0.9}], [math.nan, math.nan])
    assert len(told_before(make(previous=failures).fit(X, y))) == 2


def test_several_metrics():
    scoring = ["accuracy", "neg_log_loss"]
    settings = {"estimator": DecisionTreeClassifier(random_state=0), "scoring": scoring}
    earlier = make(TREE, 8, refit="neg_log_loss", **settings).fit(X, y)
    for previous in (earlier, earlier.cv_results_, earlier.trials_dataframe()):
        again = make(TREE, 4, refit="neg_log_loss", previous=previous, **settings)
        told = [value for _, value in told_before(again.fit(X, y))]
        assert len(told) == 7
        assert set(told) <= set(earlier.cv_results_["mean_test_neg_log_loss"])
    one = tree(previous=earlier, scoring="accuracy").fit(X, y)
    told = [value for _, value in told_before(one)]
    assert set(told) <= set(earlier.cv_results_["mean_test_accuracy"])
    with pytest.raises(ValueError, match=r"^In 'previous', the 'metric' must be one"):
        tree(previous=earlier).fit(X, y)
    with pytest.raises(ValueError, match="expected scores of the metric to optimise"):
        tree(previous=one, scoring="f1_macro").fit(X, y)


def test_scores_of_another_metric_in_a_checkpoint(tmp_path):
    path = tmp_path / "tree.ckpt"
    tree(checkpoint=path).fit(X, y)
    with pytest.raises(ValueError, match="got those of None for 'f1_macro'"):
        tree(previous=path, scoring="f1_macro").fit(X, y)


def test_clones_keep_it_fitted(narrow):
    ours = make(previous=narrow)
    assert clone(ours).previous is narrow
    assert not any(name.startswith("previous__") for name in ours.get_params())
    assert ours.get_params()["estimator__a"] == 0.0
    assert not hasattr(clone(ours.fit(X, y)), "cv_results_")
    assert ours.previous is narrow
    with pytest.warns(UserWarning, match="from other data"):
        assert np.isfinite(cross_val_score(ours, X, y, cv=2)).all()


@pytest.mark.parametrize(
    ("previous", "says"),
    [
        (3, "The 'previous' of RobustBayesSearchCV must be a fitted search"),
        ([{"a": 1}], "The 'previous' of RobustBayesSearchCV must be a fitted search"),
        (make(), "Got an unfitted RobustBayesSearchCV"),
        ({}, "In 'previous', the 'metric' must be one of those in the results, []"),
        ({"mean_test_score": [1.0]}, "In 'previous', expected a column 'params'"),
        ("nowhere.ckpt", "given as 'previous', does not exist"),
        (pd.DataFrame({"param_a": [1.0]}), "In 'previous', the 'metric' must be"),
    ],
)
def test_what_it_may_not_be(previous, says):
    Counted.n_fits = 0
    with pytest.raises(ValueError, match=r"previous") as caught:
        make(previous=previous).fit(X, y)
    assert says in str(caught.value)
    assert Counted.n_fits == 0


def test_a_search_is_not_its_own_previous(tmp_path):
    ours = make().fit(X, y)
    with pytest.raises(ValueError, match="pass its cv_results_"):
        ours.set_params(previous=ours).fit(X, y)
    path = tmp_path / "search.ckpt"
    make(checkpoint=path).fit(X, y)
    with pytest.raises(ValueError, match="another file than that of 'checkpoint'"):
        make(previous=path, checkpoint=str(path)).fit(X, y)


# Results of other packages ------------------------------------------------------------


def fake_study(direction):
    def trial(state, a, *values):
        return Object(state=Object(name=state), params={"a": a}, values=list(values))

    trials = [
        trial("COMPLETE", 0.5, 2.0),
        trial("PRUNED", 0.25, 9.0),
        trial("FAIL", 0.75),
        trial("RUNNING", 0.1),
        trial("COMPLETE", -0.5, 1.0),
    ]
    return Object(trials=trials, directions=[Object(name=direction)])


def test_studies_that_look_like_those_of_optuna():
    found = from_optuna(fake_study("MAXIMIZE"))
    assert (found.params, found.scores) == ([{"a": 0.5}, {"a": -0.5}], [2.0, 1.0])
    assert from_optuna(fake_study("MINIMIZE")).scores == [-2.0, -1.0]
    assert not from_optuna(fake_study("MINIMIZE"), same_data=False).same_data
    with pytest.raises(ValueError, match="must have one objective"):
        from_optuna(Object(trials=[], directions=["minimize", "maximize"]))
    with pytest.raises(ValueError, match="must be an Optuna study"):
        from_optuna(3)


def test_results_that_look_like_those_of_skopt():
    space = Object(dimensions=[Object(name="a"), Object(name="n")])
    points, values = [[np.float64(0.5), np.int64(2)], [0.1, 3]], np.array([2.0, np.nan])
    found = from_skopt(Object(x_iters=points, func_vals=values, space=space))
    assert found.params == [{"a": 0.5, "n": 2}, {"a": 0.1, "n": 3}]
    assert type(found.params[0]["n"]) is int
    np.testing.assert_array_equal(found.scores, [-2.0, np.nan])
    space = Object(dimensions=[Object(name=None)])
    with pytest.raises(ValueError, match="dimensions with names"):
        from_skopt(Object(x_iters=[[1]], func_vals=[1.0], space=space))
    with pytest.raises(ValueError, match="must have x_iters, func_vals and space"):
        from_skopt({"x": 1})


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_studies_of_optuna(direction):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sign = 1 if direction == "minimize" else -1

    def objective(trial):
        a = trial.suggest_float("a", -1, 0)
        if trial.number == 3:
            raise optuna.TrialPruned
        if trial.number == 4:
            raise RuntimeError("no value")
        return sign * (a - 0.3) ** 2

    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(direction=direction, sampler=sampler)
    study.optimize(objective, n_trials=9, catch=RuntimeError)
    found = from_optuna(study)
    assert len(found) == 7
    assert max(found.scores) == -sign * study.best_value
    ours = make(previous=found).fit(X, y)
    assert ours.cv_results_["params"][0] == study.best_params
    assert ours.cv_results_["mean_test_score"][0] == max(found.scores)


def test_results_of_skopt():
    skopt = pytest.importorskip("skopt")
    space = [skopt.space.Real(-1.0, 0.0, name="a")]
    settings = {"n_calls": 7, "n_initial_points": 5, "random_state": 0}
    result = skopt.gp_minimize(lambda x: (x[0] - 0.3) ** 2, space, **settings)
    found = from_skopt(result)
    assert max(found.scores) == -result.fun
    ours = make(previous=found).fit(X, y)
    assert ours.cv_results_["params"][0] == {"a": result.x[0]}
    assert len(told_before(ours)) == 6


# PreviousCandidates -------------------------------------------------------------------


def test_candidates_show_what_they_are():
    assert repr(PreviousCandidates([{"a": 1}], [0.5], same_data=False)) == (
        "PreviousCandidates of 1 candidate, the best score 0.5, of other data"
    )
    assert repr(PreviousCandidates([], [])) == "PreviousCandidates of 0 candidates"
    assert len(from_cv_results({"params": [{"a": 1}], "mean_test_score": [1.0]})) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (({"a": 1}, [1.0]), "must be a list of dicts"),
        (([{"a": 1}], [1.0, 2.0]), "Expected one value for each of the 1 points"),
        (([{"a": 1}], ["x"]), "to be a number"),
        (([3], [1.0]), "Expected a dict of parameters"),
    ],
)
def test_candidates_are_checked(arguments, says):
    with pytest.raises(ValueError, match=says):
        PreviousCandidates(*arguments)
    with pytest.raises(ValueError, match="'same_data' of PreviousCandidates"):
        PreviousCandidates([], [], same_data="no")


def test_candidates_of_other_data_stay_first_in_a_longer_search(narrow, tmp_path):
    other = from_cv_results(narrow.cv_results_, same_data=False)
    path = tmp_path / "search.ckpt"
    with pytest.warns(UserWarning, match="from other data"):
        short = make(n_iter=4, previous=other, checkpoint=path).fit(X, y)
    with pytest.warns(UserWarning, match="from other data") as said:
        longer = make(n_iter=12, previous=other, checkpoint=path).fit(X, y)
    assert len(said) == 1
    assert longer.cv_results_["params"][:4] == short.cv_results_["params"]
