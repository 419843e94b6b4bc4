"""scikit-learn's Gaussian process regressor with fast insertion and removal of rows."""

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
    """Gaussian process regression that takes new data in quadratic time.

    This class has all features of `GaussianProcessRegressor`. In addition,
    `partial_fit` appends rows, `retarget` replaces the targets and `truncate` drops the
    last rows, each in O(n**2) instead of the O(n**3) of a new fit. Each leaves the
    regressor in the same state as a new fit to the same data.

    Parameters
    ----------
    kernel : Kernel, default=None
        Covariance function; ``ConstantKernel() * RBF()`` if None.
    alpha : float, default=1e-10
        Variance of the noise, added to the diagonal of the kernel. It must be a scalar,
        because an array would have to grow with the rows.
    optimizer : str, callable or None, default=None
        How `fit` sets the kernel's hyperparameters. `partial_fit`, `retarget` and
        `truncate` keep the hyperparameters of the last `fit`.
    n_restarts_optimizer : int, default=0
        Number of restarts of the optimizer.
    normalize_y : bool, default=False
        Whether to shift and scale targets to mean 0 and variance 1.
    copy_X_train : bool, default=True
        Whether to keep a copy of the training data.
    n_targets : int, default=None
        Number of targets, for sampling from the prior.
    random_state : int, RandomState or None, default=None
        Random seed for the optimizer's restarts.

    Attributes
    ----------
    X_train_, y_train_, kernel_, L_, alpha_, log_marginal_likelihood_value_
        As in `GaussianProcessRegressor`.
    shift_, scale_ : float
        The target for an objective value y is ``(y - shift_) / scale_``. Outside the
        models of an `Optimizer`, these are 0 and 1.

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
        """Fit from scratch, as `GaussianProcessRegressor.fit` does.

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
        """Append rows, each in O(n**2), keeping the kernel's hyperparameters.

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
        """Replace all targets in O(n**2), keeping the points and the factor.

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
        """Drop all but the first `n` points.

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
        """Dual coefficients of the training data: K^-1 y."""
        weights = self._factor.solve(self._whitened, transposed=True)
        return weights.reshape(self.y_train_.shape)

    @cached_property
    def log_marginal_likelihood_value_(self) -> float:
        """Log density of the targets, summed over the outputs."""
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
        """Set the targets and all dependent values, using the present factor."""
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
        """Set the targets in the model's units; dependent values are lazy."""
        self.y_train_, self._whitened, self.L_ = y, whitened, self._factor.lower
        for name in ("alpha_", "log_marginal_likelihood_value_"):
            self.__dict__.pop(name, None)
        return self

    # Internal methods without validation, for speed -----------------------------------

    @classmethod
    def _empty(cls, kernel: Kernel, alpha: float | Array, n_columns: int) -> Self:
        """Return a regressor without rows; the kernel is not copied."""
        gpr = cls(kernel, alpha=alpha)  # type: ignore[arg-type] # arrays: inside only
        gpr.kernel_, gpr.n_features_in_ = kernel, n_columns
        gpr._y_train_mean, gpr._y_train_std = np.zeros(1), np.ones(1)
        gpr.X_train_, gpr._factor = np.empty((0, n_columns)), CholeskyFactor()
        return gpr

    def _hold(self, X: Array, n_told: int, valid: int = 0) -> Self:
        """Update the factor to `X`, whose last rows may be pending.

        The first `valid` rows are unchanged since the last call.
        """
        self._factor.truncate(min(valid, n_told))
        whole = n_told - n_told % _CHUNK
        if self._factor.n < whole:
            self._refactor(X[:whole])
        return self._append(X)

    def _refactor(self, X: Array) -> Self:
        """Replace the rows by `X`, using one decomposition."""
        K = self.kernel_(X)
        K[np.diag_indices_from(K)] += self.alpha
        self._factor.restart(K)
        self.X_train_ = X
        return self

    def _append(self, X: Array) -> Self:
        """Extend the rows to `X`, one row at a time."""
        first = self._factor.n
        if first < len(X):
            block = self._kernel_rows(X, first)
            diagonal = self.kernel_.diag(X[first:]) + self.alpha
            for i, row in enumerate(block):
                self._factor.append(row[: first + i], float(diagonal[i]))
        self.X_train_ = X
        return self

    def _kernel_rows(self, X: Array, first: int) -> Array:
        """Return the kernel's rows from `first` on, each computed as if it were alone.

        Kernels of scaled distances compute every entry separately. For other kernels,
        BLAS results depend on the number of rows, so rows are computed one at a time.
        """
        if radial(self.kernel_, np.zeros(1)) is not None:
            return self.kernel_(X[first:], X)
        rows = np.zeros((len(X) - first, len(X)))
        for i in range(first, len(X)):
            rows[i - first, : i + 1] = self.kernel_(X[i : i + 1], X[: i + 1])[0]
        return rows

    def _given(self, z: Array) -> Self:
        """Return a regressor on the same rows, with targets `z` for the first ones.

        The other rows are pending: their targets are the predicted means, which are
        zeros in L^-1 y. They therefore reduce the deviation without changing the mean
        (Desautels et al. 2014). Changing the result does not affect this regressor.
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
