"""The small tunings score what they say, the same each time."""

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import ElasticNet
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from runs import run
from skrobustbo import Optimizer
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks.problems import _TUNINGS as NAMES
from skrobustbo_benchmarks.problems._rough import ROUGH
from skrobustbo_benchmarks.problems._tunings import _TUNINGS

SMOOTH = sorted(set(NAMES) - set(ROUGH))


def test_every_tuning_has_a_name():
    assert sorted(_TUNINGS) == sorted(NAMES)
    assert set(NAMES) <= set(problems.available())
    assert len(NAMES) >= 8


def test_values_are_those_of_scikit_learn():
    X, y = load_digits(return_X_y=True)
    splits = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(SVC(C=3.0, gamma=0.05), X[::3] / 16, y[::3], cv=splits)
    value = problems.get("svm-digits").func({"C": 3.0, "gamma": 0.05})
    assert value == pytest.approx(scores.mean())

    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), ElasticNet(alpha=0.5, l1_ratio=0.3))
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(model, X, y, cv=folds, scoring="r2")
    value = problems.get("enet-diabetes").func({"alpha": 0.5, "l1_ratio": 0.3})
    assert value == pytest.approx(scores.mean())


@pytest.mark.parametrize("name", SMOOTH)
def test_best_known_value_is_reached(name):
    problem = problems.get(name)
    assert problem.optimum is None
    assert {type(v) for v in problem.best_known_params.values()} <= {int, float, str}
    problem.space.encode(problem.best_known_params)  # it is in the space
    value = problem.func(problem.best_known_params)
    assert type(value) is float
    # Versions of scikit-learn differ by less than this.
    assert value == pytest.approx(problem.best_known, abs=0.02)
    assert value == pickle.loads(pickle.dumps(problem.func))(problem.best_known_params)


@pytest.mark.parametrize("name", sorted(ROUGH))
def test_rough_scores(name):
    problem = problems.get(name)
    assert problem.optimum is problem.best_known is problem.best_known_params is None
    again = pickle.loads(pickle.dumps(problem.func))
    params = problem.space.sample(4, 5)
    values = [problem.func(each) for each in params]
    assert values == [again(each) for each in params]
    assert np.isfinite(values).all()
    assert np.ptp(values) > 0


def test_a_tree_is_rougher_than_a_machine():
    """Along one parameter the best score of a tree is met by chance."""

    def turns(name, axis, levels, **others):
        values = [problems.get(name).func({axis: x, **others}) for x in levels]
        return np.count_nonzero(np.diff(np.sign(np.diff(values))))

    smooth = turns("krr-diabetes", "alpha", np.geomspace(1e-3, 10, 12), gamma=0.02)
    tree = {"max_depth": 8, "min_samples_leaf": 2, "min_samples_split": 4}
    rough = turns(
        *("tree-diabetes", "max_features", np.linspace(0.1, 1, 12)),
        **tree,
        criterion="squared_error",
        splitter="best",
    )
    assert smooth <= 1
    assert rough >= 4


@pytest.mark.parametrize("name", SMOOTH)
def test_samples_stay_below_the_best_known_value(name):
    problem = problems.get(name)
    values = [problem.func(params) for params in problem.space.sample(4, 5)]
    assert np.isfinite(values).all()
    assert np.ptp(values) > 0
    assert max(values) <= problem.best_known


def test_optimizer_tunes():
    problem = problems.get("pipeline-cancer")

    def asked():
        optimizer = Optimizer(problem.space, random_state=0)
        run(optimizer, 8, problem.func)
        return [record["params"] for record in optimizer.history_]

    first = asked()
    assert first == asked()
    assert json.loads(json.dumps(first)) == first


def test_best_known_value_on_mnist_is_reached():
    from skrobustbo_benchmarks.datasets import fetch_mnist

    try:
        fetch_mnist("train", download=False)
    except FileNotFoundError as error:
        pytest.skip(f"no data, set SKROBUSTBO_DATA: {str(error).split(' was not')[0]}")
    problem = problems.get("mnist-logistic")
    value = problem.func(problem.best_known_params)
    assert value == pytest.approx(problem.best_known, abs=1e-4)
    assert problems.get("mnist-logistic", n_epochs=5).best_known is None
