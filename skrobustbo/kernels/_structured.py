"""Kernels on a subset of the columns, and additive kernels.

Both kernels wrap another kernel and expose its hyperparameters with the prefix
``kernel__``, like scikit-learn's `Exponentiation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from skrobustbo._arrays import Array
from skrobustbo.kernels._checks import checked_columns, checked_sets


class _Wrapper(Kernel):
    """Base class of kernels that expose the hyperparameters of a wrapped kernel."""

    kernel: Kernel

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, including those of the wrapped kernel if `deep`."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            nested = self.kernel.get_params().items()
            params.update((f"kernel__{name}", value) for name, value in nested)
        return params

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Hyperparameter specifications of the wrapped kernel."""
        return [
            Hyperparameter(f"kernel__{h.name}", h.value_type, h.bounds, h.n_elements)
            for h in self.kernel.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        """Log-transformed free hyperparameters, shape (n_dims,)."""
        return self.kernel.theta

    @theta.setter
    def theta(self, theta: Array) -> None:
        self.kernel.theta = theta

    @property
    def bounds(self) -> Array:
        """Log-transformed bounds of the free hyperparameters, shape (n_dims, 2)."""
        return self.kernel.bounds

    def is_stationary(self) -> bool:
        """Return whether the wrapped kernel is stationary."""
        return bool(self.kernel.is_stationary())


class SubsetKernel(_Wrapper):
    """Kernel on a subset of the columns, k(x, x') = k0(x[dims], x'[dims]).

    Parameters
    ----------
    kernel : Kernel
        The base kernel k0 for points with ``len(dims)`` columns. An anisotropic kernel
        has one length scale per entry of `dims`, in the same order.
    dims : sequence of int
        Distinct column indices. Negative indices count from the end.

    Raises
    ------
    ValueError
        If `dims` are not distinct columns of the points when the kernel is evaluated.

    Examples
    --------
    Combine a kernel on the first two columns with forgetting over time:

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skrobustbo.kernels import ForgettingKernel, SubsetKernel
    >>> kernel = SubsetKernel(RBF([0.2, 0.4]), dims=[0, 1]) * ForgettingKernel(0.19)
    >>> kernel(np.array([[0.5, 0.5, 1.0]]), np.array([[0.5, 0.5, 3.0]]))
    array([[0.81]])
    """

    def __init__(self, kernel: Kernel, dims: Sequence[int]) -> None:
        self.kernel = kernel
        self.dims = dims

    def select(self, X: ArrayLike) -> NDArray[Any]:
        """Return the columns of `X` that the wrapped kernel uses."""
        X = np.atleast_2d(X)
        columns = checked_columns(self.dims, X.shape[1], "the dims of SubsetKernel")
        return X[:, columns]

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        X, Y = checked_sets(X, Y, eval_gradient)
        seen = None if Y is None else self.select(Y)
        return self.kernel(self.select(X), seen, eval_gradient)

    def diag(self, X: ArrayLike) -> Array:
        """Return the diagonal of the kernel matrix, shape (n,)."""
        return self.kernel.diag(self.select(X))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SubsetKernel)
            and list(self.dims) == list(other.dims)
            and bool(self.kernel == other.kernel)
        )

    def __repr__(self) -> str:
        return f"SubsetKernel({self.kernel}, dims={self.dims!r})"


class AdditiveKernel(_Wrapper):
    """Mean of one kernel over several groups of columns.

    For a base kernel k0 and a decomposition g of the columns into groups::

        k(x, x') = 1/|g| sum over c in g of k0(x[c], x'[c])

    It models the objective as a sum of functions that each depend on a few columns [1]_
    [2]_. In [3]_, the decomposition is an unknown hyperparameter, and each candidate
    model uses a different decomposition.

    Parameters
    ----------
    kernel : Kernel
        The base kernel k0 for points with all columns. An anisotropic kernel has one
        length scale per column. For each group, all other columns are set to zero.
        Kernels that depend on differences or inner products ignore these columns and
        their length scales. If the points have additional columns, such as time, wrap
        the additive kernel in a `SubsetKernel`.
    groups : sequence of sequences of int
        Column indices of each group. Negative indices count from the end. Groups may
        overlap [2]_, but must not be equal. Columns that are in no group have no
        influence.

    Raises
    ------
    ValueError
        If a group does not consist of distinct columns of the points when the kernel is
        evaluated, or if two groups are equal.

    Notes
    -----
    The papers use the sum over the groups and assume that k(x, x) <= 1. The mean
    satisfies this assumption for every decomposition if k0 satisfies it. To get the
    sum, use ``len(groups) * AdditiveKernel(k0, groups)``.

    All groups share the hyperparameters of the base kernel. To use a different kernel
    for each group, add `SubsetKernel` objects.

    References
    ----------
    .. [1] K. Kandasamy, J. Schneider, B. Poczos, "High dimensional Bayesian
       optimisation and bandits via additive models", ICML 2015.
    .. [2] P. Rolland, J. Scarlett, I. Bogunovic, V. Cevher, "High-dimensional Bayesian
       optimization via additive models with overlapping groups", AISTATS 2018.
    .. [3] J. Ziomek, M. Adachi, M. A. Osborne, "Beyond lengthscales: no-regret Bayesian
       optimisation with unknown hyperparameters of any type", section 7 and
       appendix J.3.

    Examples
    --------
    Compare two points that differ only in the first group:

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skrobustbo.kernels import AdditiveKernel
    >>> kernel = AdditiveKernel(RBF(0.1), groups=[(0,), (1, 2)])
    >>> kernel(np.array([[0.0, 0.3, 0.6]]), np.array([[1.0, 0.3, 0.6]])).round(3)
    array([[0.5]])
    """

    def __init__(self, kernel: Kernel, groups: Sequence[Sequence[int]]) -> None:
        self.kernel = kernel
        self.groups = groups

    def masks(self, n_columns: int) -> NDArray[np.bool_]:
        """Return a column mask for each group, shape (n_groups, n_columns)."""
        groups = list(self.groups) if np.iterable(self.groups) else []
        masks = np.zeros((len(groups), n_columns), dtype=bool)
        for mask, group in zip(masks, groups, strict=True):
            mask[checked_columns(group, n_columns, "a group of AdditiveKernel")] = True
        if not groups or len(np.unique(masks, axis=0)) < len(groups):
            raise ValueError(
                "Expected the groups of AdditiveKernel to be different groups of "
                f"columns, got {self.groups!r}; name each group once."
            )
        return masks

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        X, Y = checked_sets(X, Y, eval_gradient)
        copies = [
            self.kernel(
                np.where(mask, X, 0.0),
                None if Y is None else np.where(mask, Y, 0.0),
                eval_gradient,
            )
            for mask in self.masks(X.shape[1])
        ]
        if not eval_gradient:
            return _mean(copies)
        values, gradients = zip(*copies, strict=True)
        return _mean(values), _mean(gradients)

    def diag(self, X: ArrayLike) -> Array:
        """Return the diagonal of the kernel matrix, shape (n,)."""
        X = np.atleast_2d(X)
        masks = self.masks(X.shape[1])
        return _mean([self.kernel.diag(np.where(mask, X, 0.0)) for mask in masks])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AdditiveKernel)
            and list(map(list, self.groups)) == list(map(list, other.groups))
            and bool(self.kernel == other.kernel)
        )

    def __repr__(self) -> str:
        groups = self.groups  # these are lists after reading from JSON
        if np.iterable(groups):
            groups = [tuple(each) if np.iterable(each) else each for each in groups]
        return f"AdditiveKernel({self.kernel}, groups={groups!r})"


def _mean(arrays: Sequence[Array]) -> Array:
    total: Array = sum(arrays[1:], start=arrays[0])
    return total / len(arrays)
