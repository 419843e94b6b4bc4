"""Kernels on a subset of columns, and sums over groups of columns.

Both wrap one kernel and expose its hyperparameters with the prefix ``kernel__``, like
scikit-learn's `Exponentiation`.
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
    """A kernel that exposes the hyperparameters of the kernel it wraps."""

    kernel: Kernel

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, including the wrapped kernel's if `deep`."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            nested = self.kernel.get_params().items()
            params.update((f"kernel__{name}", value) for name, value in nested)
        return params

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Specifications of the wrapped kernel's hyperparameters."""
        return [
            Hyperparameter(f"kernel__{h.name}", h.value_type, h.bounds, h.n_elements)
            for h in self.kernel.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        """Logarithms of the free hyperparameters, shape (n_dims,)."""
        return self.kernel.theta

    @theta.setter
    def theta(self, theta: Array) -> None:
        self.kernel.theta = theta

    @property
    def bounds(self) -> Array:
        """Logarithms of the bounds of the free hyperparameters, shape (n_dims, 2)."""
        return self.kernel.bounds

    def is_stationary(self) -> bool:
        """Return whether the wrapped kernel is stationary."""
        return bool(self.kernel.is_stationary())


class SubsetKernel(_Wrapper):
    """A kernel that uses only some columns: k(x, x') = k0(x[dims], x'[dims]).

    Parameters
    ----------
    kernel : Kernel
        The kernel k0 on points with ``len(dims)`` columns. If anisotropic, it has one
        length scale for each of `dims`, in order.
    dims : sequence of int
        Distinct columns, counted from 0; negative numbers count from the end.

    Raises
    ------
    ValueError
        On evaluation, if `dims` are not distinct columns of the points.

    Examples
    --------
    Distances in the first two columns, and forgetting over time in the last one:

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
        """Return the columns of `X` for the wrapped kernel."""
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
        """Return k(x, x) of each row, shape (n,)."""
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
    """The mean of copies of one kernel over groups of columns.

    For a decomposition g of the columns, with k0 the base kernel::

        k(x, x') = 1/|g| sum over c in g of k0(x[c], x'[c])

    This is the kernel of sums of functions that depend on a few columns each [1]_ [2]_.
    In [3]_, the decomposition is the unknown hyperparameter, with one candidate model
    for each decomposition.

    Parameters
    ----------
    kernel : Kernel
        The base kernel k0 on all columns. If anisotropic, it has one length scale per
        column. The copy for a group sees the other columns as zero. A kernel of
        differences or inner products then ignores them, so each copy uses only the
        length scales of its own columns. If the points have further columns, such as
        time, wrap the whole kernel in a `SubsetKernel`.
    groups : sequence of sequences of int
        The decomposition into groups of columns, counted from 0; negative numbers count
        from the end. Groups may overlap [2]_ but must not be equal. Columns outside all
        groups have no influence.

    Raises
    ------
    ValueError
        On evaluation, if a group does not consist of distinct columns of the points, or
        if two groups are equal.

    Notes
    -----
    The papers use the plain sum of the copies and assume k(x, x) <= 1. The mean is the
    same sum with ``k0 / |g|`` instead of k0, so the assumption holds for every
    decomposition if it holds for k0. The plain sum is ``len(groups) *
    AdditiveKernel(k0, groups)``.

    All copies share the hyperparameters of the base kernel. To combine different
    kernels, add `SubsetKernel` objects.

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
    Points that agree in the second group and are far apart in the first:

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
        """Return a mask of the columns of each group, shape (n_groups, n_columns)."""
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
        """Return k(x, x) of each row, shape (n,)."""
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
