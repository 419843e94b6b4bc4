"""Searches as Optuna studies: every candidate, with its state and its parameters."""

import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skrobustbo import (
    Integer,
    Racing,
    Real,
    Resource,
    RobustBayesSearchCV,
    load_checkpoint,
)

optuna = pytest.importorskip("optuna")

from optuna.importance import get_param_importances  # noqa: E402
from optuna.trial import TrialState  # noqa: E402

from skrobustbo.integrations.optuna import to_study  # noqa: E402

X, y = load_iris(return_X_y=True)
SPACE = {"C": Real(1e-3, 1e3, log=True), "kernel": ["rbf", "linear"]}


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def searched(path=None, space=None, estimator=None, **settings):
    given = {"n_iter": 8, "cv": 3, "random_state": 0, "checkpoint": path, **settings}
    estimator = SVC() if estimator is None else estimator
    return RobustBayesSearchCV(estimator, space or SPACE, **given)


def test_a_search_and_its_checkpoint(tmp_path):
    path = tmp_path / "search.ckpt"
    search = searched(path).fit(X, y)
    study = to_study(search)
    assert study.best_value == search.best_score_
    assert study.best_params == search.best_params_
    assert study.trials[0].params == {"C": 1.0, "kernel": "rbf"}  # the untuned one
    assert [t.value for t in study.trials] == list(
        search.cv_results_["mean_test_score"]
    )
    for trial in study.trials:
        assert trial.state == TrialState.COMPLETE
        assert list(trial.intermediate_values) == [0, 1, 2]
        assert trial.intermediate_values[2] == pytest.approx(trial.value)
        assert trial.distributions["C"] == optuna.distributions.FloatDistribution(
            1e-3, 1e3, log=True
        )
    for given in (path, str(path), load_checkpoint(path)):
        other = to_study(given)
        for ours, theirs in zip(study.trials, other.trials, strict=True):
            assert theirs.params == ours.params
            assert theirs.value == pytest.approx(ours.value)
            assert theirs.distributions["C"] == ours.distributions["C"]


def test_it_is_kept_and_can_be_gone_on_with(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    study = to_study(searched().fit(X, y), storage=url, study_name="iris")
    loaded = optuna.load_study(study_name="iris", storage=url)
    assert loaded.best_params == study.best_params
    assert set(get_param_importances(loaded)) == {"C", "kernel"}
    loaded.optimize(lambda trial: trial.suggest_float("C", 1e-3, 1e3, log=True), 1)
    assert len(loaded.trials) == 9


def test_branches_integers_and_estimators(tmp_path):
    pipeline = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    neighbours = {
        "model": [KNeighborsClassifier()],
        "model__n_neighbors": Integer(1, 9),
    }
    lines = {"model": [LogisticRegression()], "model__C": Real(1e-3, 1e3, log=True)}
    path = tmp_path / "search.ckpt"
    search = searched(path, [neighbours, lines], pipeline).fit(X, y)
    for study in (to_study(search), to_study(path)):
        assert len(study.trials) == 8
        first, *others = study.trials
        assert "SVC(" in first.params["model"]
        models = sorted(trial.params["model"].rsplit("(")[0][-10:] for trial in others)
        assert set(models) == {"Classifier", "Regression"}
        for trial in others:
            if "model__n_neighbors" in trial.params:
                found = trial.distributions["model__n_neighbors"]
                assert found == optuna.distributions.IntDistribution(1, 9)
                assert "model__C" not in trial.params


def test_an_untuned_estimator_outside_a_range_has_no_parameters():
    study = to_study(searched(space={"C": Real(10, 1e3)}).fit(X, y))
    first, *others = study.trials
    assert first.params == {}
    assert first.user_attrs["params"] == {"C": 1.0}
    assert all(set(trial.params) == {"C"} for trial in others)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_what_failed_or_was_stopped():
    trees = DecisionTreeClassifier(random_state=0)
    space = {"min_samples_leaf": Integer(1, 100), "max_depth": Integer(1, 12)}
    noisy = make_classification(300, flip_y=0.3, random_state=0)
    race = searched(
        None, space, trees, cv=5, n_iter=25, racing=Racing(delta=0.3, margin=1)
    ).fit(*noisy)
    raced = race.cv_results_["raced"]
    assert raced.any()
    states = [trial.state for trial in to_study(race).trials]
    assert states == [TrialState.PRUNED if r else TrialState.COMPLETE for r in raced]

    rows = Resource("n_samples", min=30)
    part = searched(None, space, trees, n_iter=4, resource=rows).fit(*noisy)
    study = to_study(part)
    amounts = part.cv_results_["n_resources"]
    whole = amounts == part.max_resources_
    assert 0 < whole.sum() < len(whole)
    states = [trial.state for trial in study.trials]
    assert states == [TrialState.COMPLETE if w else TrialState.PRUNED for w in whole]
    assert study.best_value == part.best_score_

    failed = searched(None, {"C": Real(-1, 1)}).fit(X, y)
    states = [trial.state for trial in to_study(failed).trials]
    wrong = [params["C"] <= 0 for params in failed.cv_results_["params"]]
    assert any(wrong)
    assert [state == TrialState.FAIL for state in states] == wrong


def test_several_metrics(tmp_path):
    path, two = tmp_path / "search.ckpt", ["accuracy", "neg_log_loss"]
    search = searched(
        path,
        {"C": Real(1e-3, 1e3, log=True)},
        LogisticRegression(max_iter=1000),
        scoring=two,
        refit="neg_log_loss",
    ).fit(X, y)
    assert to_study(search).best_value == search.best_score_
    for given in (search, path):
        study = to_study(given, metric="accuracy")
        most = max(search.cv_results_["mean_test_accuracy"])
        assert study.best_value == pytest.approx(most)
        with pytest.raises(ValueError, match="must be one of accuracy, neg_log_loss"):
            to_study(given, metric="r2")
    search.refit = False
    with pytest.raises(ValueError, match="must be one of accuracy, neg_log_loss"):
        to_study(search)


def test_what_is_not_a_search():
    with pytest.raises(TypeError, match="fitted search, a checkpoint or its path"):
        to_study(searched())
