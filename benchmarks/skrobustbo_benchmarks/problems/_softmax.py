"""Softmax regression trained by mini-batch stochastic gradient descent.

Notation of this file: n samples, d features, K classes, b samples in a batch;
``coef`` (K, d) and ``intercept`` (K, 1) are the weights, ``x`` (b, d) the inputs of
a batch, ``z`` (K, b) its scores and, after the softmax, its errors. Scores are kept
class by class so that sums over classes run along contiguous memory.
"""

import math
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

_Floats = NDArray[np.floating[Any]]


class SoftmaxRegression(ClassifierMixin, BaseEstimator):
    r"""Multinomial logistic regression by mini-batch gradient descent.

    It minimises the mean cross-entropy plus :math:`l_2 \lVert W \rVert^2` (intercepts
    are not penalised) by plain stochastic gradient descent with a constant learning
    rate and dropout on the inputs. Its four tuning parameters `learning_rate`, `l2`,
    `batch_size` and `dropout` make it a standard test of hyperparameter tuners
    ([1]_, [2]_). Arithmetic is in single precision.

    Parameters
    ----------
    learning_rate : float, default=0.01
        Step size of the gradient descent, positive.
    l2 : float, default=0.0
        Constant of the penalty on the squared weights, not negative. The penalty has
        no factor 1/2. The descent is unstable where ``learning_rate * l2 > 1``.
    batch_size : int, default=32
        Number of samples per step, at least 1. The last batch of an epoch may be
        smaller; a number above that of the samples means all of them.
    dropout : float, default=0.0
        Probability, in [0, 1), with which each input of each sample is set to zero in
        a training step; the inputs that remain are scaled by ``1 / (1 - dropout)``.
    n_epochs : int, default=100
        Number of passes over the training samples, at least 1.
    random_state : int, RandomState instance or None, default=None
        Determines the initial weights, the order of the samples and the inputs that
        drop out. Pass an int for the same result at each call.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    coef_ : ndarray of shape (n_classes, n_features)
        The weights, also with two classes one row per class.
    intercept_ : ndarray of shape (n_classes,)
        The intercepts.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features seen in `fit`, where all of them are strings.
    n_iter_ : int
        Number of epochs run.

    Notes
    -----
    The weights start from a normal distribution with standard deviation
    ``sqrt(2 / n_features)``. Inputs should be scaled to about [0, 1] or to unit
    variance. `fit` runs with one BLAS thread: the matrices are small, and the result
    does not depend on the number of cores.

    References
    ----------
    .. [1] A. Klein, S. Falkner, J. T. Springenberg, F. Hutter, "Bayesian Neural
       Network for Predicting Learning Curves", NIPS 2016 Bayesian Neural Network
       Workshop.
    .. [2] F. Berkenkamp, A. P. Schoellig, A. Krause, "No-Regret Bayesian Optimization
       with Unknown Hyperparameters", Journal of Machine Learning Research 20 (2019),
       section 5.2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skrobustbo_benchmarks.problems import SoftmaxRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = SoftmaxRegression(learning_rate=0.1, random_state=0).fit(X / 16, y)
    >>> clf.score(X / 16, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        learning_rate: float = 0.01,
        l2: float = 0.0,
        batch_size: int = 32,
        dropout: float = 0.0,
        n_epochs: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.l2 = l2
        self.batch_size = batch_size
        self.dropout = dropout
        self.n_epochs = n_epochs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on the given samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.
        y : array-like of shape (n_samples,)
            The class labels, at least two different ones.

        Returns
        -------
        self : SoftmaxRegression
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter is out of its range or `y` holds fewer than two classes.
        FloatingPointError
            If the weights overflow: `learning_rate`, or its product with `l2`, is too
            large.
        """
        self._check_parameters()
        inputs, target = validate_data(self, X, y, dtype=np.float32, order="C")
        check_classification_targets(target)
        self.classes_, labels = np.unique(target, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "SoftmaxRegression needs samples of at least 2 classes, but all of y "
                f"belongs to 1 class, {self.classes_.tolist()[0]!r}."
            )
        descent = _Descent(inputs, labels, self, _fast_generator(self.random_state))
        self._run(descent)
        self.n_iter_ = self.n_epochs
        self.coef_ = descent.coef
        self.intercept_ = descent.intercept[:, 0]
        return self

    def _check_parameters(self) -> None:
        """Raise on the first parameter out of its range."""
        for name, (kind, accepts, expected) in _PARAMETERS.items():
            value = getattr(self, name)
            # A bool is a Python integer, but never a sensible number here.
            is_number = isinstance(value, kind) and not isinstance(value, bool)
            if not (is_number and math.isfinite(value) and accepts(value)):
                raise ValueError(
                    f"The {name!r} parameter of SoftmaxRegression must be {expected}. "
                    f"Got {value!r} instead."
                )

    def _run(self, descent: "_Descent") -> None:
        """Run all epochs."""
        # An overflow is reported once, as an error, not by a warning per operation.
        with (
            threadpool_limits(1, user_api="blas"),
            np.errstate(over="ignore", invalid="ignore"),
        ):
            for epoch in range(self.n_epochs):
                descent.epoch()
                if not descent.is_finite():
                    raise FloatingPointError(
                        f"The weights overflowed in epoch {epoch + 1} with "
                        f"learning_rate={self.learning_rate!r} and l2={self.l2!r}; "
                        "choose a smaller learning_rate, with learning_rate * l2 "
                        "at most 1, and scale the inputs."
                    )

    def _scores(self, X: ArrayLike) -> _Floats:
        """Return the scores of all classes, shape (n_samples, n_classes)."""
        check_is_fitted(self)
        inputs: _Floats = validate_data(self, X, dtype=np.float32, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = inputs @ self.coef_.T + self.intercept_
        if not np.isfinite(scores).all():
            # Weights close to overflow: products of two singles fit into a double.
            scores = inputs @ self.coef_.T.astype(np.float64) + self.intercept_
        return np.asarray(scores)

    def decision_function(self, X: ArrayLike) -> _Floats:
        """Return the scores of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,)
            Unnormalised log-probabilities of the classes; with two classes the second
            minus the first, positive where ``classes_[1]`` is predicted.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return scores

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Each row sums to one; columns in the order of ``classes_``.
        """
        # Double precision, so that the rows sum to one as closely as metrics demand.
        probabilities: NDArray[np.float64] = softmax(
            self._scores(X).astype(np.float64), axis=1
        )
        return probabilities

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Elements of ``classes_``.
        """
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])


_PARAMETERS: dict[str, tuple[Any, Any, str]] = {
    "learning_rate": (Real, lambda value: value > 0, "a positive number"),
    "l2": (Real, lambda value: value >= 0, "a number of at least 0"),
    "batch_size": (Integral, lambda value: value >= 1, "an integer of at least 1"),
    "dropout": (Real, lambda value: 0 <= value < 1, "a number from 0 to below 1"),
    "n_epochs": (Integral, lambda value: value >= 1, "an integer of at least 1"),
}


def _fast_generator(
    random_state: int | np.random.RandomState | None,
) -> np.random.Generator:
    """Return a generator of fast raw bits, seeded by a scikit-learn random state."""
    seed = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    return np.random.Generator(np.random.SFC64(seed))


class _Descent:
    """Gradient descent on one training set, with buffers kept between the steps.

    Works in the precision of ``X``. Weights are changed in place.
    """

    def __init__(
        self,
        X: _Floats,
        labels: NDArray[np.intp],
        model: SoftmaxRegression,
        generator: np.random.Generator,
    ) -> None:
        n, d = X.shape
        n_classes = int(labels.max()) + 1
        self.X, self.labels, self.generator = X, labels, generator
        self.batch_size = min(int(model.batch_size), n)
        self.learning_rate = float(model.learning_rate)
        self.decay = 1.0 - 2.0 * self.learning_rate * float(model.l2)
        # Drop-out compares 16 random bits with a threshold; the scale belongs to the
        # rate so rounded, which keeps the expected input exact.
        self.threshold = np.uint16(min(round(model.dropout * 2**16), 2**16 - 1))
        self.scale = 2**16 / (2**16 - int(self.threshold))
        deviation = math.sqrt(2.0 / d)
        self.coef = (deviation * generator.standard_normal((n_classes, d))).astype(
            X.dtype
        )
        self.intercept = np.zeros((n_classes, 1), dtype=X.dtype)
        self._inputs = np.empty((self.batch_size, d), dtype=X.dtype)
        self._kept = np.empty((self.batch_size, d), dtype=bool)
        self._step_coef = np.empty_like(self.coef)
        self._columns = np.arange(self.batch_size)

    def is_finite(self) -> bool:
        """Return whether all weights are finite numbers."""
        return bool(np.isfinite(self.coef).all() and np.isfinite(self.intercept).all())

    def epoch(self) -> None:
        """Take one step per batch, over all samples in a new random order."""
        n = len(self.X)
        order = self.generator.permutation(n)
        for start in range(0, n, self.batch_size):
            self.step(order[start : start + self.batch_size])

    def step(self, rows: NDArray[np.intp]) -> None:
        """Take one gradient step on the samples of the given rows."""
        x = self._take(rows)
        z = self._errors(x, self.labels[rows])
        z *= self.learning_rate / len(rows)
        self.intercept -= z.sum(axis=1, keepdims=True)
        z *= self.scale
        self.coef *= self.decay
        self.coef -= np.matmul(z, x, out=self._step_coef)

    def _take(self, rows: NDArray[np.intp]) -> _Floats:
        """Return the inputs of a batch, each zeroed with the rate of drop-out."""
        x = self._inputs[: len(rows)]
        # mode="clip" writes straight into the buffer; "raise" would go through a copy.
        np.take(self.X, rows, axis=0, out=x, mode="clip")
        if self.threshold:
            kept = self._kept[: len(rows)]
            # Random 16-bit numbers, four to a raw draw of the generator.
            raw = self.generator.bit_generator.random_raw(-(-x.size // 4))
            bits = np.asarray(raw).view(np.uint16)[: x.size].reshape(x.shape)
            np.greater_equal(bits, self.threshold, out=kept)
            np.multiply(x, kept, out=x)
        return x

    def _errors(self, x: _Floats, labels: NDArray[np.intp]) -> _Floats:
        """Return predicted probability minus truth, shape (K, b)."""
        z = self.coef @ x.T
        z *= self.scale
        z += self.intercept
        z -= z.max(axis=0)
        np.exp(z, out=z)
        z /= z.sum(axis=0)
        z[labels, self._columns[: len(labels)]] -= 1
        return np.asarray(z)
