"""The search space: params dicts to points of the unit cube and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skrobustbo._arguments import checked_count, drawn_seed
from skrobustbo._sobol import design
from skrobustbo.space._ball import Perturb, ball
from skrobustbo.space._cube import Cube, Params, checked_name, checked_params
from skrobustbo.space._dimensions import Rows
from skrobustbo.space._parse import as_dimension, dimension_from_dict
from skrobustbo.space._values import from_json, same


class Space(Cube):
    """A set of parameters, each with its values.

    Parameters
    ----------
    param_space : dict of str to dimension, or list of such dicts
        For each parameter a `Real`, `Integer` or `Categorical`; a sequence of values,
        of which only these are tried; a distribution, frozen if it is of `scipy.stats`,
        whose support is the range and whose shape sets the scale of distances; or a
        dimension of scikit-optimize, Optuna or skrub. The dicts of a list are the
        branches of one space. A point belongs to the first branch that contains it.

    Attributes
    ----------
    dimensions : dict of str to dimension
        The parameters in the order given.
    branches : list of Space
        The spaces whose union this one is; for a single dict, just this space.
    n_columns : int
        Number of columns of an encoded point, all in [0, 1].
    size : float
        Number of feasible points, `inf` if a parameter is continuous.

    Raises
    ------
    ValueError
        If the space is empty or a value is invalid; the message names the parameter
        and says what to write instead.

    Examples
    --------
    >>> from skrobustbo import Integer, Real, Space
    >>> space = Space({"C": Real(1e-2, 1e2, log=True), "degree": Integer(1, 3)})
    >>> space.encode({"C": 1.0, "degree": 3})
    array([0.5, 1. ])
    >>> space.decode([1.0, 0.0])
    {'C': 100.0, 'degree': 1}
    """

    #: The subclasses, by the word with which they are written as JSON.
    _kinds: ClassVar[dict[str, type[Space]]] = {}

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:
            Space._kinds[kind] = cls

    def __new__(cls, param_space: Any = None) -> Space:
        """Return an object for one dict, or of the subclass for a list of several."""
        several = isinstance(param_space, list | tuple) and len(param_space) > 1
        made = Space._kinds["branches"] if cls is Space and several else cls
        return object.__new__(made)

    def __init__(self, param_space: Mapping[str, Any] | Sequence[Mapping[str, Any]]):
        if isinstance(param_space, list | tuple) and len(param_space) == 1:
            param_space = param_space[0]
        super().__init__(
            {
                checked_name(name): as_dimension(name, value)
                for name, value in _checked_dict(param_space).items()
            }
        )

    @classmethod
    def from_points(cls, points: Sequence[Mapping[str, Any]]) -> Space:
        """Return the space of exactly the given points.

        Use it for a table of experiments, a pool of materials or the arms of a bandit.
        No other point is ever proposed. Numbers are scaled linearly over their range;
        everything else is an unordered choice. Repeated points count once.

        Parameters
        ----------
        points : list of dict
            The points, all with the same parameters.

        Returns
        -------
        space : Space

        Examples
        --------
        >>> from skrobustbo import Space
        >>> Space.from_points([{"arm": 1}, {"arm": 2}, {"arm": 4}]).size
        3
        """
        return Space._kinds["points"](points)

    @property
    def branches(self) -> list[Space]:
        """The spaces of which this one is the union."""
        return [self]

    @property
    def owned(self) -> list[Space]:
        """The branches without the points that an earlier one contains."""
        return [self]

    def owner(self, params: Mapping[str, Any]) -> int:
        """Return the index of the first branch that contains a params dict.

        Raises
        ------
        ValueError
            If none does.
        """
        return self.place(params)[0]

    def place(self, params: Mapping[str, Any]) -> tuple[int, Rows]:
        """Return the index of a params dict's `owner`, and its row as encoded there."""
        return 0, self.encode(params)

    def __repr__(self) -> str:
        inner = ", ".join(f"{k!r}: {v!r}" for k, v in self.dimensions.items())
        return f"Space({{{inner}}})"

    def __eq__(self, other: object) -> bool:
        # The order counts: it is the order of the encoded columns.
        return (
            isinstance(other, Space)
            and type(self) is type(other)
            and list(self.dimensions.items()) == list(other.dimensions.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def decode(self, x: ArrayLike) -> Params:
        """Return the params dict of an encoded point, shape (n_columns,)."""
        row = _floats(x)
        if row.shape != (self.n_columns,):
            raise ValueError(
                f"Expected an encoded point of shape ({self.n_columns},), got "
                f"{row.shape}; use decode_many for several points."
            )
        return self.decode_many(row[None, :])[0]

    def sample(self, n: int, random_state: Any = None) -> list[Params]:
        """Return `n` points that cover the space.

        Up to 32 points are a Latin hypercube in which no two parameters are confounded:
        their upper and lower halves, or their two choices, are combined in several ways
        (with 7 points or more, in up to 35 parameters). More points are a scrambled
        Sobol sequence.

        Parameters
        ----------
        n : int
            Number of points. In a small finite space, points may occur repeatedly.
        random_state : int, RandomState or None, default=None
            Seed of the points.

        Returns
        -------
        params : list of dict
        """
        n = checked_count("n", n, "Space.sample", least=0)
        rng = np.random.default_rng(drawn_seed(random_state, "Space.sample"))
        return self.decode_many(self.from_uniform(design(n, self.n_uniform, rng)))

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Return whether a params dict is in the space, ignoring constraints."""
        try:
            self.encode(params)
        except ValueError:
            return False
        return True

    def has(self, params: Mapping[str, Any]) -> bool:
        """Return whether a params dict is in the space, the types of its values too."""
        return self.contains(params) and same(self.own(params), dict(params))

    def ball(
        self, eps: float | Mapping[str, float], metric: str = "max", units: str = "cube"
    ) -> Perturb:
        """Return the function from points to their feasible perturbations.

        Unordered choices are not perturbed. In pools, and in finite spaces of up to
        4,096 points, all neighbours are used. In other spaces, the perturbations are
        the point itself, the ends of the axes, corners and a few points in between,
        always the same ones, moved inward to feasible values.

        Parameters
        ----------
        eps : float or dict of str to float
            The radius, or one radius for each parameter to be perturbed.
        metric : {"max", "l2"}, default="max"
            "max": every parameter may move by its radius. "l2": the Euclidean distance.
        units : {"cube", "user"}, default="cube"
            Whether radii are in unit-cube coordinates or in the parameters' own units.

        Returns
        -------
        perturb : callable
            Maps encoded points, shape (m, n_columns), to perturbed ones, shape
            (m, k, n_columns), the point itself first.

        Raises
        ------
        ValueError
            If a name is unknown or its values have no order.

        Examples
        --------
        >>> from skrobustbo import Integer, Space
        >>> space = Space({"n": Integer(0, 10)})
        >>> space.ball(0.1)(space.encode({"n": 3})[None, :]).ravel()
        array([0.3, 0.2, 0.3, 0.4])
        """
        return ball(self, eps, metric, units)

    def to_dict(self) -> dict[str, Any]:
        """Return the space in JSON types.

        Raises
        ------
        TypeError
            If a choice is an object that JSON cannot hold, such as an estimator.
        """
        # A list: the order of the columns must survive a writer that sorts keys.
        return {"dimensions": [[k, v.to_dict()] for k, v in self.dimensions.items()]}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Space:
        """Return the space that `to_dict` wrote."""
        if "points" in state:
            names = [name for name, _ in state["points"]]
            columns = [[from_json(v) for v in values] for _, values in state["points"]]
            rows = zip(*columns, strict=True)
            return cls.from_points([dict(zip(names, r, strict=True)) for r in rows])
        if "branches" in state:
            branches: Any = [cls.from_dict(s) for s in state["branches"]]
            return Space._kinds["branches"](branches)
        return cls({k: dimension_from_dict(v) for k, v in state["dimensions"]})

    def params_to_json(self, params: Params) -> dict[str, Any]:
        """Return a params dict in JSON types; choices by their index."""
        return {k: self.dimensions[k].value_to_json(v) for k, v in params.items()}

    def params_from_json(self, state: Mapping[str, Any]) -> Params:
        """Return the params dict that `params_to_json` wrote."""
        self._check_names(checked_params(state))
        return {k: v.value_from_json(state[k]) for k, v in self.dimensions.items()}


def constants(branch: Space) -> Params:
    """Return the parameters that have a single value in a branch, with it."""
    choices = {n: [*getattr(d, "choices", ())] for n, d in branch.dimensions.items()}
    return {name: values[0] for name, values in choices.items() if len(values) == 1}


def _checked_dict(param_space: Any) -> Mapping[str, Any]:
    """Return a dict of parameters as it is; ValueError for anything else."""
    if not isinstance(param_space, Mapping):
        raise ValueError(
            f"Expected a dict from parameter names to their values, got "
            f"{param_space!r}; write one, such as {{'C': Real(1e-3, 1e3, log=True)}}."
        )
    if not param_space:
        raise ValueError(
            "Expected at least one parameter to search, got an empty dict; add one, "
            "such as {'C': Real(1e-3, 1e3, log=True)}."
        )
    return param_space


def _floats(x: Any) -> Rows:
    """Return encoded coordinates as an array; ValueError unless they are numbers."""
    try:
        row = np.asarray(x, dtype=float)
    except (TypeError, ValueError, OverflowError):
        row = np.array(np.nan)
    if np.isnan(row).any():
        raise ValueError(
            f"Expected the coordinates of an encoded point, got {x!r}; give numbers "
            "from 0 to 1."
        )
    return row
