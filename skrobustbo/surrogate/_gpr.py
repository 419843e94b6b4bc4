"""Gaussian process regressor with fast insertion and removal of rows."""

from __future__ import annotations

import operator
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from skrobustbo._arrays import Array
from skrobustbo.kernels import radial
from skrobustbo.surrogate._cholesky import CholeskyFactor

#: Number of rows that a cache factors at once. Up to the last multiple of this, the
#: factor comes from one Cholesky decomposition; beyond it, the factor grows row by row.
#: Its bits therefore depend on the rows alone, not on when each arrived, and a resumed
#: run is exactly equal to an uninterrupted one.
_CHUNK = 32


class IncrementalGPR(GaussianProcessRegressor):
    """Gaussian process regression with updates in quadratic time.

    This class has all features of `GaussianProcessRegressor`. In addition,
    `partial_fit` appends rows, `retarget` replaces the targets and `truncate` removes
    the last rows. Each of these methods takes O(n**2) time, whereas a new fit takes
    O(n**3) time. The result is the same as after a new fit to the same data.

    Parameters
    ----------
    kernel : Kernel, default=None
        Covariance function. If None, ``ConstantKernel() * RBF()`` is used.
    alpha : float, default=1e-10
        Noise variance that is added to the diagonal of the kernel matrix. It must be a
        scalar, because the number of rows can change.
    optimizer : str, callable or None, default=None
        Optimizer that `fit` uses for the kernel's hyperparameters. `partial_fit`,
        `retarget` and `truncate` keep the hyperparameters of the last `fit`.
    n_restarts_optimizer : int, default=0
        Number of restarts of the optimizer.
    normalize_y : bool, default=False
        Whether to normalize the targets to mean 0 and variance 1.
    copy_X_train : bool, default=True
        Whether to store a copy of the training data.
    n_targets : int, default=None
        Number of targets, used when sampling from the prior.
    random_state : int, RandomState or None, default=None
        Determines the random initial values of the optimizer's restarts.

    Attributes
    ----------
    X_train_, y_train_, kernel_, L_, alpha_, log_marginal_likelihood_value_
        See `GaussianProcessRegressor`.
    shift_, scale_ : float
        The model converts an objective value y to the target ``(y - shift_) / scale_``.
        The defaults are 0 and 1. Only the models of an `Optimizer` have other values.

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
    kernel_: Kernel
    L_: Array
    shift_: float = 0.0
    scale_: float = 1.0
    _factor: CholeskyFactor
    #: L^-1 y: the mean at x is its product with L^-1 k(X, x).
    _whitened: Array

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
        """Fit the model from scratch, like `GaussianProcessRegressor.fit`.

        Raises
        ------
        ValueError
            If `alpha` is an array.
        """
        self._check_alpha()
        super().fit(X, y)
        self.shift_, self.scale_ = 0.0, 1.0
        self._y_raw = np.array(y, dtype=float)
        self._factor = CholeskyFactor.of(self.L_)
        self._whitened = self._factor.solve(self.y_train_)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add training data without changing the kernel's hyperparameters.

        Each new row takes O(n**2) time.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            New points.
        y : array-like of shape (n_new,) or (n_new, n_targets)
            Targets of the new points.

        Returns
        -------
        self : IncrementalGPR
        """
        if not hasattr(self, "X_train_"):
            return self.fit(X, y)
        self._check_alpha()
        X_new, y_new = validate_data(
            self, X, y, multi_output=True, y_numeric=True, reset=False, **self._checks()
        )
        if y_new.shape[1:] != self._y_raw.shape[1:]:
            raise ValueError(
                f"Expected targets of shape {(len(X_new), *self._y_raw.shape[1:])}, as "
                f"in fit, got {y_new.shape}."
            )
        self._factor.truncate(len(self.X_train_))  # completes an interrupted call
        self._append(np.concatenate([self.X_train_, X_new]))
        return self._with_targets(np.concatenate([self._y_raw, y_new]))

    def retarget(self, y: ArrayLike) -> Self:
        """Replace all targets in O(n**2) time without changing the points.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, n_targets)
            One target for each stored point.

        Returns
        -------
        self : IncrementalGPR
        """
        check_is_fitted(self, "X_train_")
        y = np.array(y, dtype=float)
        if y.shape != self._y_raw.shape or not np.isfinite(y).all():
            raise ValueError(
                f"Expected finite targets of shape {self._y_raw.shape}, one for each "
                f"stored point, got {y!r}; use partial_fit to add points."
            )
        return self._with_targets(y)

    def truncate(self, n: int) -> Self:
        """Remove all training points except the first `n`.

        Parameters
        ----------
        n : int
            Number of points to keep, at least one.

        Returns
        -------
        self : IncrementalGPR
        """
        check_is_fitted(self, "X_train_")
        self._check_alpha()
        n = operator.index(n)
        if not 1 <= n <= len(self.X_train_):
            raise ValueError(
                f"Expected to keep between 1 and {len(self.X_train_)} points, got {n}; "
                "use fit to start again."
            )
        self._factor.truncate(n)
        self.X_train_ = self.X_train_[:n]
        return self._with_targets(self._y_raw[:n])

    @cached_property
    def alpha_(self) -> Array:
        """Dual coefficients of the training points, K^-1 y."""
        weights = self._factor.solve(self._whitened, transposed=True)
        return weights.reshape(self.y_train_.shape)

    @cached_property
    def log_marginal_likelihood_value_(self) -> float:
        """Log marginal likelihood of the targets, summed over the outputs."""
        columns = self._whitened.reshape(len(self.y_train_), -1).T
        return sum(self._factor.log_density(w) for w in columns)

    def _check_alpha(self) -> None:
        if np.ndim(self.alpha) > 0:
            raise ValueError(
                "The 'alpha' of IncrementalGPR must be a scalar, got an array of shape "
                f"{np.shape(self.alpha)}; use GaussianProcessRegressor for noise that "
                "differs by row."
            )

    def _checks(self) -> dict[str, Any]:
        vectors = self.kernel_.requires_vector_input
        return {"ensure_2d": vectors, "dtype": "numeric" if vectors else None}

    def _with_targets(self, y: Array) -> Self:
        """Set the targets and update all attributes that depend on them."""
        self._y_raw = y
        if self.normalize_y:
            std = np.std(y, axis=0)
            self._y_train_mean = np.mean(y, axis=0)
            # By scikit-learn's rule, the shape decides which constant targets stay
            # unscaled.
            constant = std == 0 if y.ndim == 1 else std < 10 * np.finfo(float).eps
            self._y_train_std = np.where(constant, 1.0, std)
            y = (y - self._y_train_mean) / self._y_train_std
        return self._solved(y, self._factor.solve(y))

    def _solved(self, y: Array, whitened: Array) -> Self:
        """Set the targets in the model's units and clear the cached attributes."""
        self.y_train_, self._whitened, self.L_ = y, whitened, self._factor.lower
        for name in ("alpha_", "log_marginal_likelihood_value_"):
            self.__dict__.pop(name, None)
        return self

    # Internal methods without validation, for speed -----------------------------------

    @classmethod
    def _empty(cls, kernel: Kernel, alpha: float | Array, n_columns: int) -> Self:
        """Return a regressor without rows that does not copy the kernel."""
        gpr = cls(kernel, alpha=alpha)  # type: ignore[arg-type] # arrays: inside only
        gpr.kernel_, gpr.n_features_in_ = kernel, n_columns
        gpr._y_train_mean, gpr._y_train_std = np.zeros(1), np.ones(1)
        gpr.X_train_, gpr._factor = np.empty((0, n_columns)), CholeskyFactor()
        return gpr

    def _hold(self, X: Array, n_told: int, valid: int = 0) -> Self:
        """Update the factor to the points `X`.

        The points after the first `n_told` are pending.

        The first `valid` rows must be the same as in the last call.
        """
        self._factor.truncate(min(valid, n_told))
        whole = n_told - n_told % _CHUNK
        if self._factor.n < whole:
            self._refactor(X[:whole])
        return self._append(X)

    def _refactor(self, X: Array) -> Self:
        """Replace all rows with `X` and compute the factor in one decomposition."""
        K = self.kernel_(X)
        K[np.diag_indices_from(K)] += self.alpha
        self._factor.restart(K)
        self.X_train_ = X
        return self

    def _append(self, X: Array) -> Self:
        """Append the rows of `X` that the factor does not contain, one at a time."""
        first = self._factor.n
        if first < len(X):
            block = self._kernel_rows(X, first)
            diagonal = self.kernel_.diag(X[first:]) + self.alpha
            for i, row in enumerate(block):
                self._factor.append(row[: first + i], float(diagonal[i]))
        self.X_train_ = X
        return self

    def _kernel_rows(self, X: Array, first: int) -> Array:
        """Return the rows of the kernel matrix from index `first` on.

        Each row is computed independently of the other rows.

        Kernels of scaled distances compute every entry separately. For other kernels,
        the results of BLAS depend on the number of rows, so the rows are computed one
        at a time.
        """
        if radial(self.kernel_, np.zeros(1)) is not None:
            return self.kernel_(X[first:], X)
        rows = np.zeros((len(X) - first, len(X)))
        for i in range(first, len(X)):
            rows[i - first, : i + 1] = self.kernel_(X[i : i + 1], X[: i + 1])[0]
        return rows

    def _given(self, z: Array) -> Self:
        """Return a regressor for the same rows with targets `z` for the told points.

        The remaining rows are pending points. Their targets are the predicted means, so
        they reduce the standard deviation without changing the mean (Desautels et al.
        2014). The corresponding entries of L^-1 y are zero. Changes to the new
        regressor do not affect this one.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._factor, n = self._factor.held(), len(z)
        padded = np.zeros(len(self.X_train_))
        padded[:n] = z
        whitened = other._factor.solve(padded)
        whitened[n:] = 0.0  # the solve has put the told targets' contribution there
        if n < len(padded):
            padded[n:] = other._factor.lower[n:, :n] @ whitened[:n]
        other._y_raw = padded
        return other._solved(padded, whitened)
