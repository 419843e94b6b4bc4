"""Softmax regression: scikit-learn's contract, the gradient, and what it learns."""

import math

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import estimator_checks_generator

from skrobustbo_benchmarks.problems import SoftmaxRegression, _mnist, _softmax


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, y, random_state=0, stratify=y)


# A list: scikit-learn's own decorator gives older versions' generator to pytest, and
# newer versions of pytest warn of it.
CHECKS = list(estimator_checks_generator(SoftmaxRegression()))


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[check.func.__name__ for _, check in CHECKS]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# -- learning ---------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [20, 100, 5000])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_learns_digits(digits, batch_size, dropout):
    X, X_test, y, y_test = digits
    # More samples per step means fewer steps, which must be longer.
    rate = {20: 0.1, 100: 0.5, 5000: 2.0}[batch_size]
    model = SoftmaxRegression(
        learning_rate=rate, batch_size=batch_size, dropout=dropout, random_state=0
    )
    assert model.fit(X, y).score(X_test, y_test) > 0.93


def test_converges_to_the_regularised_optimum():
    X, y = make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0
    )
    l2 = 0.05
    model = SoftmaxRegression(
        learning_rate=0.3, l2=l2, batch_size=300, n_epochs=2000, random_state=0
    ).fit(X, y)
    # C sum(loss) + |W|^2 / 2 against mean(loss) + l2 |W|^2.
    exact = LogisticRegression(C=1 / (2 * l2 * len(X)), tol=1e-8, max_iter=1000)
    exact.fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-3)
    np.testing.assert_allclose(
        model.predict_proba(X), exact.predict_proba(X), atol=1e-3
    )


def loss(coef, intercept, X, labels, l2):
    logp = log_softmax(X @ coef.T + intercept[:, 0], axis=1)
    return -logp[np.arange(len(X)), labels].mean() + l2 * np.sum(coef**2)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_step_follows_the_gradient_of_the_loss(l2):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((12, 4))
    labels = rng.permutation(np.arange(12) % 3)
    rate = 0.01
    descent = _softmax._Descent(
        X,
        labels,
        SoftmaxRegression(learning_rate=rate, l2=l2, batch_size=8),
        np.random.default_rng(1),
    )
    descent.intercept += rng.standard_normal((3, 1))
    before = descent.coef.copy(), descent.intercept.copy()
    rows = np.array([3, 1, 7, 8, 2])
    descent.step(rows)

    def numerical(which):
        weights, gradient = before[which], np.empty_like(before[which])
        for i in np.ndindex(weights.shape):
            values = []
            for h in (1e-6, -1e-6):
                shifted = [before[0].copy(), before[1].copy()]
                shifted[which][i] += h
                values.append(loss(*shifted, X[rows], labels[rows], l2))
            gradient[i] = (values[0] - values[1]) / 2e-6
        return gradient

    for which, after in enumerate((descent.coef, descent.intercept)):
        step = (before[which] - after) / rate
        np.testing.assert_allclose(step, numerical(which), atol=1e-8)


# -- drop-out ---------------------------------------------------------------------


def dropping(dropout, shape=(400, 50), batch_size=400):
    return _softmax._Descent(
        np.ones(shape, dtype=np.float32),
        np.arange(shape[0]) % 2,
        SoftmaxRegression(learning_rate=0.1, batch_size=batch_size, dropout=dropout),
        np.random.default_rng(0),
    )


@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.5, 0.75, 0.99])
def test_dropout_zeroes_the_given_share_and_keeps_the_mean(dropout):
    descent = dropping(dropout)
    x = descent._take(np.arange(400))
    deviation = math.sqrt(dropout * (1 - dropout) / x.size)
    assert abs((x == 0).mean() - dropout) <= 4 * deviation
    assert descent.scale * (1 - dropout) == pytest.approx(1.0, rel=1e-3)
    # Neither whole samples nor whole features are dropped.
    if dropout == 0.5:
        assert 0 < x.mean(axis=0).min() < x.mean(axis=0).max() < 1
        assert 0 < x.mean(axis=1).min() < x.mean(axis=1).max() < 1


def test_dropout_differs_from_step_to_step():
    descent = dropping(0.5)
    first = descent._take(np.arange(400)).copy()
    assert (descent._take(np.arange(400)) != first).any()


def test_dropout_just_below_one_keeps_an_input_now_and_then():
    descent = dropping(np.nextafter(1.0, 0.0), shape=(4000, 250), batch_size=4000)
    assert 0 < descent._take(np.arange(4000)).sum() < 100


def test_gradient_with_dropout_is_the_gradient_at_the_scaled_inputs():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((10, 6))
    labels = np.arange(10) % 3
    model = SoftmaxRegression(learning_rate=0.1, batch_size=10, dropout=0.5)
    dropped = _softmax._Descent(X, labels, model, np.random.default_rng(0))
    rows = np.arange(10)
    inputs = dropped._take(rows).copy() * dropped.scale
    model.set_params(dropout=0.0)
    plain = _softmax._Descent(inputs, labels, model, np.random.default_rng(0))
    dropped._take = lambda rows: inputs / dropped.scale
    dropped.step(rows)
    plain.step(rows)
    np.testing.assert_allclose(dropped.coef, plain.coef, rtol=1e-12)
    np.testing.assert_allclose(dropped.intercept, plain.intercept, rtol=1e-12)


# -- seeds and shapes -------------------------------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_equal_seeds_give_equal_models(digits, dropout):
    X, _, y, _ = digits
    model = SoftmaxRegression(n_epochs=2, dropout=dropout, random_state=3)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    third = clone(model).set_params(random_state=4).fit(X, y)
    assert (first.coef_ != third.coef_).any()
    state = np.random.RandomState(3)
    fourth = clone(model).set_params(random_state=state).fit(X, y)
    np.testing.assert_array_equal(first.coef_, fourth.coef_)


def test_fit_leaves_its_input_alone(digits):
    X, _, y, _ = digits
    X = X.astype(np.float32)
    before = X.copy()
    SoftmaxRegression(n_epochs=1, dropout=0.5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_outputs_agree_with_each_other(n_classes):
    X, y = make_classification(
        90, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0
    )
    names = np.array(["ape", "bee", "cow"])[y]
    model = SoftmaxRegression(random_state=0).fit(X, names)
    probabilities, scores = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    best = model.classes_[probabilities.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), best)
    if n_classes == 2:
        assert scores.shape == (90,)
        np.testing.assert_array_equal(scores > 0, best == "bee")
    else:
        assert scores.shape == (90, 3)
    assert model.coef_.shape == (n_classes, 5)
    assert model.intercept_.shape == (n_classes,)
    assert model.n_iter_ == 100
    assert model.n_features_in_ == 5


# -- errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0.0),
        ("learning_rate", -1.0),
        ("learning_rate", math.inf),
        ("learning_rate", "constant"),
        ("l2", -0.1),
        ("l2", math.nan),
        ("l2", None),
        ("batch_size", 0),
        ("batch_size", 10.0),
        ("batch_size", True),
        ("dropout", -0.1),
        ("dropout", 1.0),
        ("n_epochs", 0),
        ("n_epochs", 1.5),
    ],
)
def test_parameter_out_of_range(digits, name, value):
    X, _, y, _ = digits
    with pytest.raises(ValueError, match=f"The '{name}' parameter .* must be"):
        SoftmaxRegression(**{name: value}).fit(X, y)


def test_numpy_numbers_are_accepted(digits):
    X, _, y, _ = digits
    settings = {"n_epochs": 1, "random_state": 0}
    theirs = {"learning_rate": np.float32(0.1), "batch_size": np.int64(50)}
    made = SoftmaxRegression(**theirs, **settings).fit(X, y)
    plain = SoftmaxRegression(learning_rate=0.1, batch_size=50, **settings).fit(X, y)
    np.testing.assert_allclose(made.coef_, plain.coef_, rtol=1e-5)


def test_divergence_is_one_clear_error(digits):
    X, _, y, _ = digits
    model = SoftmaxRegression(learning_rate=10.0, l2=1.0, n_epochs=5, random_state=0)
    with pytest.raises(FloatingPointError, match=r"learning_rate=10\.0 and l2=1\.0"):
        model.fit(X, y)


def test_long_steps_without_penalty_stay_finite(digits):
    X, X_test, y, _ = digits
    model = SoftmaxRegression(learning_rate=1e4, n_epochs=5, random_state=0)
    assert np.isfinite(model.fit(X, y).predict_proba(X_test)).all()


def test_weights_close_to_overflow_still_predict(digits):
    X, X_test, y, _ = digits
    model = SoftmaxRegression(n_epochs=1, random_state=0).fit(X, y)
    model.coef_ *= np.float32(1e38)
    probabilities = model.predict_proba(1e6 * X_test)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match=r"at least 2 classes.*'cat'"):
        SoftmaxRegression().fit(np.eye(3), ["cat"] * 3)


# -- the published search space ---------------------------------------------------


def test_space_and_distributions_have_the_same_ranges():
    space = _mnist.mnist_logistic_space("clf__")
    laws = _mnist.mnist_logistic_distributions("clf__")
    assert space.keys() == laws.keys()
    for name, dimension in space.items():
        assert laws[name].support() == pytest.approx((dimension.low, dimension.high))
        middle = laws[name].ppf(0.5)
        assert dimension.encode(float(middle))[0] == pytest.approx(0.5, abs=1e-3)
    names = {name.removeprefix("clf__") for name in space}
    assert names < SoftmaxRegression().get_params().keys()


def test_corners_of_the_space_are_finite(digits):
    X, X_test, y, _ = digits
    for rate in (1e-6, 1.0):
        for l2 in (0.0, 1.0):
            for batch_size in (20, 2000):
                model = SoftmaxRegression(
                    learning_rate=rate,
                    l2=l2,
                    batch_size=batch_size,
                    dropout=0.75,
                    n_epochs=3,
                    random_state=0,
                ).fit(X, y)
                assert np.isfinite(model.predict_proba(X_test)).all()


def test_mnist_problem_is_the_validation_loss(monkeypatch):
    rng = np.random.RandomState(0)
    digits = np.tile(np.arange(10), 1200)
    images = rng.standard_normal((12_000, 10)) + 3 * np.eye(10)[digits]
    loaded = images.astype(np.float32), digits
    monkeypatch.setattr(_mnist, "_training_images", lambda: loaded)
    problem = _mnist.mnist_logistic(n_train=500, n_epochs=3)
    good = {"learning_rate": 0.1, "l2": 0.0, "batch_size": 20, "dropout": 0.0}
    value = problem.func(good)
    assert value == problem.func(good)
    assert -math.log(10) < value < 0
    assert problem.func({**good, "learning_rate": 1e-6}) < value


@pytest.mark.parametrize("n_train", [99, 50_001])
def test_mnist_problem_needs_a_sensible_number_of_images(n_train):
    with pytest.raises(ValueError, match="from 100 to 50000"):
        _mnist.mnist_logistic(n_train)
