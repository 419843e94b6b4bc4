"""Time kernels for functions that change during the search.

Time is a column of the points that contains the number of each query. For a kernel over
space and time, multiply two kernels: ``SubsetKernel(Matern(nu=2.5), [0, 1]) *
ForgettingKernel()``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import (
    Hyperparameter,
    Kernel,
    StationaryKernelMixin,
)

from skrobustbo._arrays import Array
from skrobustbo.kernels._checks import checked_columns, checked_sets

Bounds = tuple[float, float] | str


class _TimeKernel(Kernel):
    """Base class of kernels on one column with one nonnegative hyperparameter.

    If the hyperparameter is zero, the kernel equals 1 everywhere. The hyperparameter is
    then fixed regardless of its bounds, because zero has no logarithm.
    """

    column: int

    @abstractmethod
    def _covariance(self, s: Array, t: Array) -> Array:
        """Return the covariance k(s, t) of two arrays of times, with broadcasting."""

    @abstractmethod
    def _log_slope(self, s: Array, t: Array) -> Array:
        """Return the derivative of k(s, t) with respect to the log hyperparameter."""

    def times(self, X: ArrayLike) -> Array:
        """Return the time of each row of `X`, shape (n,)."""
        X = np.atleast_2d(X)
        name = f"the column of {type(self).__name__}"
        (column,) = checked_columns([self.column], X.shape[1], name)
        return X[:, column].astype(float)

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        X, Y = checked_sets(X, Y, eval_gradient)
        s = self.times(X)[:, None]
        t = s.T if Y is None else self.times(Y)[None, :]
        K = self._covariance(s, t)
        if not eval_gradient:
            return K
        slopes = [self._log_slope(s, t) for h in self.hyperparameters if not h.fixed]
        return K, np.reshape(slopes, (*K.shape, len(slopes)))


class ForgettingKernel(StationaryKernelMixin, _TimeKernel):
    """Exponential forgetting in time, ``(1 - epsilon)**(|i - j| / 2)``.

    This is the time kernel of TV-GP-UCB [1]_, equation (5) of [2]_. It models the
    objective as a Markov chain of Gaussian processes in which a fraction `epsilon` of
    the variance is replaced at each step. The kernel is equal to a Matern kernel with
    ``nu=0.5`` and a length scale of ``-2 / log(1 - epsilon)`` steps.

    Parameters
    ----------
    epsilon : float, default=0.03
        Rate of change per step, in [0, 1). If it is 0, the kernel equals 1 everywhere,
        and the hyperparameter is fixed.
    epsilon_bounds : pair of floats or "fixed", default=(1e-5, 0.99)
        Lower and upper bound on `epsilon`. If "fixed", `epsilon` is not tuned.
    column : int, default=-1
        Index of the column with the time in steps.

    Raises
    ------
    ValueError
        If `epsilon` or `column` is out of range when the kernel is evaluated.

    References
    ----------
    .. [1] I. Bogunovic, J. Scarlett, V. Cevher, "Time-varying Gaussian process bandit
       optimization", AISTATS 2016.
    .. [2] P. Brunzema, A. von Rohr, F. Solowjow, S. Trimpe, "Event-triggered
       time-varying Bayesian optimization", section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skrobustbo.kernels import ForgettingKernel
    >>> ForgettingKernel(epsilon=0.19)(np.array([[0.0], [1.0], [2.0]]))
    array([[1.  , 0.9 , 0.81],
           [0.9 , 1.  , 0.9 ],
           [0.81, 0.9 , 1.  ]])
    """

    def __init__(
        self,
        epsilon: float = 0.03,
        epsilon_bounds: Bounds = (1e-5, 0.99),
        column: int = -1,
    ) -> None:
        self.epsilon = epsilon
        self.epsilon_bounds = epsilon_bounds
        self.column = column

    @property
    def hyperparameter_epsilon(self) -> Hyperparameter:
        """Hyperparameter specification of `epsilon`."""
        bounds = "fixed" if self.epsilon == 0 else self.epsilon_bounds
        return Hyperparameter("epsilon", "numeric", bounds)

    @property
    def decay(self) -> float:
        """Rate of exponential decay per step, -log(1 - epsilon) / 2."""
        if not 0 <= self.epsilon < 1:
            raise ValueError(
                "Expected the epsilon of ForgettingKernel to be at least 0 and below "
                f"1, got {self.epsilon!r}; give the share of the variance that is new "
                "at each step, 0 for none."
            )
        return -0.5 * math.log1p(-self.epsilon)

    def _covariance(self, s: Array, t: Array) -> Array:
        return np.exp(-self.decay * np.abs(s - t))

    def _log_slope(self, s: Array, t: Array) -> Array:
        odds = self.epsilon / (1 - self.epsilon)
        return -0.5 * odds * np.abs(s - t) * self._covariance(s, t)

    def diag(self, X: ArrayLike) -> Array:
        """Return the diagonal of the kernel matrix, an array of ones."""
        return np.ones(len(self.times(X)))

    def __repr__(self) -> str:
        return f"ForgettingKernel(epsilon={self.epsilon:.3g}, column={self.column})"


class WienerKernel(_TimeKernel):
    """Wiener process that starts with variance 1, k(i, j) = 1 + variance * min(i, j).

    This is the time kernel of UI-TVBO [1]_, which increases the uncertainty of past
    observations. The prior variance at time t is ``1 + variance * t``. Unlike
    `ForgettingKernel`, this kernel can exceed 1.

    Parameters
    ----------
    variance : float, default=0.03
        Increase in variance per step, sigma_w**2 in [1]_, at least 0. If it is 0, the
        kernel equals 1 everywhere, and the hyperparameter is fixed.
    variance_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
        Lower and upper bound on `variance`. If "fixed", `variance` is not tuned.
    column : int, default=-1
        Index of the column with the time in steps. Times must not be negative.

    Raises
    ------
    ValueError
        If `variance` or `column` is out of range when the kernel is evaluated, or if a
        time is negative.

    References
    ----------
    .. [1] P. Brunzema, A. von Rohr, S. Trimpe, "On controller tuning with time-varying
       Bayesian optimization", CDC 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skrobustbo.kernels import WienerKernel
    >>> WienerKernel(variance=0.5)(np.array([[0.0], [1.0], [2.0]]))
    array([[1. , 1. , 1. ],
           [1. , 1.5, 1.5],
           [1. , 1.5, 2. ]])
    """

    def __init__(
        self,
        variance: float = 0.03,
        variance_bounds: Bounds = (1e-5, 1e5),
        column: int = -1,
    ) -> None:
        self.variance = variance
        self.variance_bounds = variance_bounds
        self.column = column

    @property
    def hyperparameter_variance(self) -> Hyperparameter:
        """Hyperparameter specification of `variance`."""
        bounds = "fixed" if self.variance == 0 else self.variance_bounds
        return Hyperparameter("variance", "numeric", bounds)

    def times(self, X: ArrayLike) -> Array:
        """Return the time of each row of `X`, shape (n,)."""
        if not 0 <= self.variance < math.inf:
            raise ValueError(
                "Expected the variance of WienerKernel to be finite and at least 0, "
                f"got {self.variance!r}; give the variance gained per step, 0 for none."
            )
        times = super().times(X)
        if (times < 0).any():
            raise ValueError(
                "Expected the times of WienerKernel to be at least 0, got "
                f"{times.min()}; count the steps from the start of the process."
            )
        return times

    def _covariance(self, s: Array, t: Array) -> Array:
        return 1.0 + self._log_slope(s, t)

    def _log_slope(self, s: Array, t: Array) -> Array:
        return self.variance * np.minimum(s, t)

    def diag(self, X: ArrayLike) -> Array:
        """Return the diagonal of the kernel matrix, shape (n,)."""
        times = self.times(X)
        return self._covariance(times, times)

    def is_stationary(self) -> bool:
        """Return False because the variance grows with time."""
        return False

    def __repr__(self) -> str:
        return f"WienerKernel(variance={self.variance:.3g}, column={self.column})"
