"""scikit-learn's Gaussian process regressor, with rows that come and go cheaply."""

from __future__ import annotations

import math
import operator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from skrobustbo.surrogate._cholesky import CholeskyFactor

Array = NDArray[np.float64]

_LOG_2PI = math.log(2 * math.pi)


class IncrementalGPR(GaussianProcessRegressor):
    """Gaussian process regression that takes new data in quadratic time.

    All of `GaussianProcessRegressor` works as before; besides, `partial_fit` appends
    rows, `retarget` swaps the targets and `truncate` drops the last rows, each in
    O(n**2) instead of the O(n**3) of a new fit, and each leaving the regressor as a
    fresh fit on the same data would.

    Parameters
    ----------
    kernel : Kernel, default=None
        Covariance function; ``ConstantKernel() * RBF()`` if None.
    alpha : float, default=1e-10
        Variance of the noise, added to the kernel's diagonal. A scalar only: an array
        would have to grow with the rows.
    optimizer : str, callable or None, default=None
        How `fit` sets the kernel's hyperparameters. `partial_fit`, `retarget` and
        `truncate` keep those of the last `fit`.
    n_restarts_optimizer : int, default=0
        Restarts of the optimizer.
    normalize_y : bool, default=False
        Whether targets are shifted and scaled to mean 0 and variance 1.
    copy_X_train : bool, default=True
        Whether a copy of the training data is kept.
    n_targets : int, default=None
        Number of targets, for drawing from the prior.
    random_state : int, RandomState or None, default=None
        Seeds the optimizer's restarts.

    Attributes
    ----------
    X_train_, y_train_, kernel_, L_, alpha_, log_marginal_likelihood_value_
        As in `GaussianProcessRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skrobustbo.surrogate import IncrementalGPR
    >>> gpr = IncrementalGPR(RBF(0.3), alpha=1e-6).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> gpr.partial_fit([[0.5]], [2.0]).predict([[0.5]]).round(3)
    array([2.])
    """

    X_train_: Array
    y_train_: Array
    L_: Array

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        alpha: float = 1e-10,
        optimizer: Any = None,
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        copy_X_train: bool = True,
        n_targets: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            alpha=alpha,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            normalize_y=normalize_y,
            copy_X_train=copy_X_train,
            n_targets=n_targets,
            random_state=random_state,
        )

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit from scratch, as `GaussianProcessRegressor.fit` does.

        Raises
        ------
        ValueError
            If `alpha` is an array.
        """
        if np.ndim(self.alpha) > 0:
            raise ValueError(
                "The 'alpha' of IncrementalGPR must be a scalar, got an array of shape "
                f"{np.shape(self.alpha)}; use GaussianProcessRegressor for noise that "
                "differs by row."
            )
        super().fit(X, y)
        self._y_raw = np.array(y, dtype=float)
        self._factor = CholeskyFactor.of(self.L_)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Append rows in O(n**2) each, keeping the kernel's hyperparameters.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            New points.
        y : array-like of shape (n_new,) or (n_new, n_targets)
            Their targets.

        Returns
        -------
        self : IncrementalGPR
        """
        if not hasattr(self, "X_train_"):
            return self.fit(X, y)
        X_new, y_new = validate_data(
            self, X, y, multi_output=True, y_numeric=True, reset=False, **self._checks()
        )
        if y_new.shape[1:] != self._y_raw.shape[1:]:
            raise ValueError(
                f"Expected targets of shape {(len(X_new), *self._y_raw.shape[1:])}, as "
                f"in fit, got {y_new.shape}."
            )
        n = len(self.X_train_)
        self._factor.truncate(n)  # rows that an earlier call failed to complete
        X_all = np.concatenate([self.X_train_, X_new])
        rows = self.kernel_(X_new, X_all)
        # k(x, x) from the kernel of one set: white noise counts there only.
        rows[:, n:] = self.kernel_(X_new)
        for i, row in enumerate(rows, start=n):
            self._factor.append(row[:i], float(row[i] + self.alpha))
        self.X_train_ = X_all
        return self._with_targets(np.concatenate([self._y_raw, y_new]))

    def retarget(self, y: ArrayLike) -> Self:
        """Replace all targets in O(n**2), keeping the points and the factor.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, n_targets)
            One target for each point held.

        Returns
        -------
        self : IncrementalGPR
        """
        check_is_fitted(self, "X_train_")
        y = np.array(y, dtype=float)
        if y.shape != self._y_raw.shape or not np.isfinite(y).all():
            raise ValueError(
                f"Expected finite targets of shape {self._y_raw.shape}, one for each "
                f"point held, got {y!r}; use partial_fit to add points."
            )
        return self._with_targets(y)

    def truncate(self, n: int) -> Self:
        """Drop all but the first `n` points.

        Parameters
        ----------
        n : int
            Points to keep, at least one.

        Returns
        -------
        self : IncrementalGPR
        """
        check_is_fitted(self, "X_train_")
        n = operator.index(n)
        if not 1 <= n <= len(self.X_train_):
            raise ValueError(
                f"Expected to keep between 1 and {len(self.X_train_)} points, got {n}; "
                "use fit to start anew."
            )
        self._factor.truncate(n)
        self.X_train_ = self.X_train_[:n]
        return self._with_targets(self._y_raw[:n])

    def _checks(self) -> dict[str, Any]:
        vectors = self.kernel_.requires_vector_input
        return {"ensure_2d": vectors, "dtype": "numeric" if vectors else None}

    def _with_targets(self, y: Array) -> Self:
        """Set the targets, and all that depends on them, from the present factor."""
        self._y_raw = y
        if self.normalize_y:
            std = np.std(y, axis=0)
            self._y_train_mean = np.mean(y, axis=0)
            # Which constant targets stay unscaled is scikit-learn's rule, by shape.
            constant = std == 0 if y.ndim == 1 else std < 10 * np.finfo(float).eps
            self._y_train_std = np.where(constant, 1.0, std)
            y = (y - self._y_train_mean) / self._y_train_std
        self.y_train_ = y
        self.L_ = self._factor.lower
        columns = y.reshape(len(y), -1)
        w = self._factor.solve(columns)
        self.alpha_ = self._factor.solve(w, transposed=True).reshape(y.shape)
        log_volume = self._factor.log_diagonal() + 0.5 * len(y) * _LOG_2PI
        per_target = -0.5 * np.einsum("ij,ij->j", w, w) - log_volume
        self.log_marginal_likelihood_value_ = float(per_target.sum())
        return self
