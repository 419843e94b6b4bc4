"""Base classes of policies, what they are given, and what they store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypedDict

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Kernel, Matern

from skrobustbo._arrays import Array as Array
from skrobustbo._arrays import Indices
from skrobustbo._forms import (
    Consistent,
    Count,
    Positive,
    has_fields,
    has_items,
    has_some,
)
from skrobustbo._names import canonical, wrong
from skrobustbo._trials import Survivor, is_constant
from skrobustbo.acquisition import Maximizer
from skrobustbo.policies._beta import (
    GAINS,
    WidthInputs,
    band_beta,
    check_beta,
    depends_on_norm,
)
from skrobustbo.policies._models import (
    length_scale_candidate,
    map_length_scales,
    named,
)
from skrobustbo.policies._published import PUBLISHED
from skrobustbo.policies._settings import Share, check_kinds, settings
from skrobustbo.surrogate import Candidate, Models, Posterior

Metadata = dict[str, Any]
#: Metadata of the pending points.
Pending = Sequence[Metadata]
#: The maximiser of acquisition functions.
Argmax = Maximizer
#: Return type of `suggest`: an encoded point and its metadata.
Proposal = tuple[Array, Metadata]
#: The policies by name. Declaring a class adds an entry.
NAMED: dict[str, type[Policy]] = {}
#: Values are first centred if their range is below this share of their size.
_NARROW = 1e-6


class Told(Protocol):
    """History of told values that is available to a policy."""

    @property
    def values(self) -> Array:
        """Raw values of the told points, with nan for failed evaluations."""

    @property
    def chosen(self) -> Indices:
        """Indices of the told points that were chosen by the policy."""


@dataclass(frozen=True)
class Setup:
    """Description of the problem that is passed to a policy at the start.

    Parameters
    ----------
    n_parameters : int
        Number of parameters that vary, which is the dimension d in the papers.
    horizon : int or None
        Total number of planned evaluations, or None if it is not known.
    n_points : int or None
        Number of feasible points, or None if there are infinitely many.
    n_columns : int or None
        Number of columns of an encoded point, or None if it is not known.
    """

    n_parameters: int
    horizon: int | None = None
    n_points: int | None = None
    n_columns: int | None = None

    @property
    def diameter(self) -> float:
        """Diameter of the unit cube."""
        return math.sqrt(self.n_parameters)


# What a policy stores ----------------------------------------------------------------


@dataclass(frozen=True)
class Resumed:
    """Context for checking a restored state and its metadata; see `Consistent`."""

    policy: Any
    state: Any
    setup: Setup
    n_told: int


#: The dimension of the problem.
Dimension = Annotated[Count, Consistent(lambda d, at: d == at.setup.n_parameters)]
#: The number of planned evaluations.
Horizon = Annotated[Count | None, Consistent(lambda n, at: n == at.setup.horizon)]
#: A number of told values.
CountTold = Annotated[Count, Consistent(lambda n, at: n <= at.n_told)]
#: The history position of a value.
IndexTold = Annotated[Count, Consistent(lambda i, at: i < at.n_told)]
#: The position of a candidate of the policy.
Index = Annotated[Count, Consistent(lambda i, at: i < at.policy.n_introduced(at.state))]


def _fit_anisotropic(theta: list[float], at: Resumed) -> bool:
    return len(theta) == (at.setup.n_parameters if at.policy.anisotropic else 1)


#: One length scale, or one per parameter with `anisotropic`.
LengthScales = Annotated[list[Positive], Consistent(_fit_anisotropic)]
#: The placeholder before the first estimate.
NoEstimate = Annotated[list[Positive], lambda theta: not theta]


@dataclass
class _Stateless:
    """Empty state of policies that do not store any data."""


@dataclass
class PolicyState:
    """Run-time state with the attributes that most policies need.

    Attributes
    ----------
    n_parameters : int
        Dimension d of the problem.
    t : int
        Number of queries told so far.
    """

    n_parameters: Dimension
    t: CountTold = field(default=0, kw_only=True)


class Named(TypedDict):
    """Metadata with the name of the model that chose the point."""

    label: str


class Predicted(Named):
    """Metadata with the predicted mean and standard deviation of the value.

    Both are in units of the objective.
    """

    mean: float
    std: float


class Credited(Predicted):
    """Metadata of policies that assign each query to one of their candidates."""

    candidate: Index
    width: float


@settings
class Policy(BaseEstimator):
    """Base class of policies, which choose the next point to evaluate.

    A policy object contains only settings. The `start` method returns the run-time
    state, which consists of JSON types. The `suggest` method proposes a point and its
    metadata without changing the state. The `learn` method updates the state after the
    value of the point has been added to the history. Values may arrive in any order,
    and some points may never be evaluated.

    The models and the maximiser are passed to `suggest`, so a policy does not need its
    own linear algebra, optimisation or random number generator.

    The class attribute `state_type` is used to restore a state that is stored as JSON.
    Each field is checked against its annotation. By default, `start` returns a state
    with default values.

    Parameters
    ----------
    kernel : Kernel, default=None
        Base kernel, rescaled by the length scales of the model. If None, a Matern-5/2
        kernel is used.
    noise : float, default=0.01
        Standard deviation of the noise, in units of the model.
    normalize_y : bool or (float, float), default=True
        Whether to standardise the values for the model. A pair specifies a fixed mean
        and scale.
    repeats : bool, default=False
        Whether a point may be evaluated more than once.
    """

    #: Class of the run-time state: a dataclass of JSON types.
    state_type: ClassVar[type] = _Stateless
    #: A TypedDict of the metadata that pending points need, in addition to the fields
    #: `kept`.
    metadata_type: ClassVar[type] = Named
    #: Whether a model chooses the points.
    has_model: ClassVar[bool] = True
    #: Whether the policy seeks the maximum of one fixed objective.
    seeks_maximum: ClassVar[bool] = True

    def __init_subclass__(cls, *, name: str | None = None, **others: Any) -> None:
        """Register the subclass if it is declared with a name.

        The same class may be declared again, for example when a notebook cell runs
        twice. Reusing the name of another class raises an error.
        """
        super().__init_subclass__(**others)
        if name is None:
            return
        name = canonical(name)
        known = NAMED.get(name, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(
                f"The 'name' of {cls.__qualname__} must be a name that no other policy "
                f"has. Got {name!r} instead, the name of {known.__module__}."
                f"{known.__qualname__}; choose another name."
            )
        NAMED[name] = cls

    kernel: Kernel | None = field(default=None, kw_only=False)
    noise: float = 0.01
    normalize_y: bool | tuple[float, float] = True
    repeats: bool = False

    @classmethod
    def as_published(cls, **settings: Any) -> Self:
        """Return a policy with the settings used in the experiments of its paper.

        If the experiments use different settings, the most common ones are returned.
        You still need to set properties of your problem, such as a known kernel or the
        noise.

        Parameters
        ----------
        **settings
            Settings that add to or override the published ones.

        Returns
        -------
        policy : Policy
            A new policy object.

        Raises
        ------
        ValueError
            If no experiment in the papers uses this policy.

        Examples
        --------
        >>> from skrobustbo.policies import HEGPUCB
        >>> HEGPUCB.as_published(noise=0.1)
        HEGPUCB(beta='igp', noise=0.1, normalize_y=False, repeats=True)
        """
        known = {k: v for paper in PUBLISHED.values() for k, v in paper.items()}
        if cls.__name__ not in known:
            raise ValueError(
                f"Expected a policy of the papers' experiments, one of {sorted(known)}."
                f" Got {cls.__name__}; set its parameters yourself."
            )
        # Copied, because a caller may change the parameters of a kernel.
        return clone(cls(**{**known[cls.__name__], **settings}))

    def start(self, setup: Setup, models: Models) -> Any:
        """Return the initial state.

        Parameters
        ----------
        setup : Setup
            Description of the problem, such as its dimension and horizon.
        models : Models
            Surrogate models for the initial design.
        """
        return self.state_type()

    def suggest(
        self, state: Any, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the next point to evaluate, in encoded form, and its metadata.

        Parameters
        ----------
        state : object
            The run-time state, which this method must not modify.
        models : Models
            Surrogate models for all told points.
        argmax : callable
            Function that maximises an acquisition function over the feasible points.
        pending : list of dict
            Metadata of the pending points.

        Returns
        -------
        x : array of shape (n_columns,)
        metadata : dict
            Metadata in JSON types. The `label` is the name of the model, and `mean` and
            `std` are its prediction in units of the objective.
        """
        raise NotImplementedError

    def learn(self, state: Any, metadata: Metadata, history: Told) -> bool | None:
        """Update the state with the last value in the history and its metadata.

        Returns
        -------
        reset : bool or None
            True if the policy discards all values before the last one.
        """
        return None

    def consistent(
        self, state: Any, pending: Pending, setup: Setup, n_told: int
    ) -> bool:
        """Return whether a restored state is consistent.

        By default, this method checks the `Consistent` annotations of `state_type` and
        `metadata_type`.

        Parameters
        ----------
        state : object
            Instance of `state_type` whose fields have the annotated types.
        pending : list of dict
            Metadata of the pending points, with the fields of `metadata_type`.
        setup : Setup
            Description of the problem of the restored search.
        n_told : int
            Number of told values.
        """
        at = Resumed(self, state, setup, n_told)
        return has_fields(state, at) and all(
            self.has_metadata(metadata, at) for metadata in pending
        )

    def has_metadata(self, metadata: Metadata, at: Resumed | None = None) -> bool:
        """Return whether restored metadata have the required fields and types.

        If `at` is None, the `Consistent` annotations are not checked.
        """
        return has_items(metadata, self.metadata_type, at) and has_some(
            metadata, self.kept, self.state_type, at
        )

    @property
    def kept(self) -> Sequence[str]:
        """Names of the state fields that `suggest` stores in the metadata.

        These fields are copied to the state when the value of the query is told.
        """
        return ()

    def recommend(self, state: Any, models: Models, history: Told) -> Array:
        """Return the point to deploy, in encoded form.

        By default, this is the told point with the largest posterior mean under the
        model returned by `map_model`. During the initial design, `state` is None.
        """
        mu, _ = models[self.map_model(models)].predict(models.X)
        mu[~np.isfinite(history.values)] = -np.inf
        return models.X[int(np.argmax(mu))]

    def surviving(self, state: Any) -> list[Candidate]:
        """Return the surviving models, or an empty list if the state stores none."""
        return []

    def alive(self, state: Any) -> list[Survivor]:
        """Return the names of the models in use, by default the surviving models."""
        return named(self.surviving(state))

    def perturbations(self, x: Array, models: Models) -> Array:
        """Return the possible perturbations of `x`, by default only `x` itself."""
        return x[None, :]

    def oldest(self, state: Any, n: int) -> int:
        """Return the index of the oldest of `n` told values that is still used."""
        return 0

    def map_model(self, models: Models) -> Candidate:
        """Return the model that is used for predictions and fitted to all values.

        By default, it has MAP length scales, even if `suggest` uses other models.
        """
        kernel = self.base_kernel()
        theta = map_length_scales(kernel, models)
        return length_scale_candidate(kernel, models.spread(theta))

    def plausible(self, state: Any, models: Models) -> list[Candidate]:
        """Return the models used for regret bounds, which assume that one is correct.

        By default, these are the surviving models. If there are none, the model with
        MAP length scales is returned.
        """
        return self.surviving(state) or [self.map_model(models)]

    def posteriors(self, state: Any, models: Models) -> list[Posterior]:
        """Return the posteriors of the models in use, by default the plausible ones."""
        return [models[candidate] for candidate in self.plausible(state, models)]

    def spanning(self, state: Any, models: Models) -> list[Candidate]:
        """Return the models used to estimate the remaining gain in the whole space.

        By default, these are the plausible models.
        """
        return self.plausible(state, models)

    @property
    def norm_bounded(self) -> bool:
        """Whether the objective is assumed to satisfy the norm bound of a model.

        Otherwise, the objective is assumed to be a sample from the model.
        """
        return depends_on_norm(getattr(self, "beta", 1.0))

    def check(self) -> None:
        """Raise a ValueError if a setting is invalid; called by the optimizer."""
        check_kinds(self)
        noise, pair = self.noise, self.normalize_y
        if not 0 < noise < np.inf:
            remedy = "use a small one, such as 1e-3, if there is no noise"
            raise wrong("noise", "a policy", "a positive number", noise, remedy)
        fits = isinstance(pair, tuple | list) and pair[1] > 0
        if not isinstance(pair, bool) and not (fits and np.isfinite(pair).all()):
            known = "True, False or a pair of a mean and a positive scale, both finite"
            raise wrong("normalize_y", "a policy", known, pair)

    # Values as the model sees them ----------------------------------------------------

    def targets(self, values: Array) -> tuple[Array, float, float]:
        """Return the values in units of the model, and their shift and scale.

        Failed evaluations are replaced by the worst value so far. With standardisation,
        values that differ only by rounding errors are treated as equal.
        """
        finite = values[np.isfinite(values)]
        if self.normalize_y is True and len(finite) and is_constant(finite):
            values = np.full_like(values, finite[0])
            finite = values[:1]
        shift, scale = standardisation(finite, self.normalize_y)
        worst = finite.min() if len(finite) else shift
        z = (np.where(np.isfinite(values), values, worst) - shift) / scale
        return z, shift, scale

    def outcomes(self, values: Array) -> tuple[Array, float, float]:
        """Return the values for predictions shown to users, and their shift and scale.

        By default, these are the `targets`. Override this method if `targets`
        transforms the values only for the search.
        """
        return self.targets(values)

    def base_kernel(self) -> Kernel:
        """Return the `kernel` setting, or a Matern-5/2 kernel if it is None."""
        return Matern(nu=2.5) if self.kernel is None else self.kernel


def standardisation(
    finite: Array, normalize_y: bool | tuple[float, float]
) -> tuple[float, float]:
    """Return the shift and scale used to standardise the values."""
    if isinstance(normalize_y, tuple | list):
        return float(normalize_y[0]), float(normalize_y[1])
    if not normalize_y or not len(finite):
        return 0.0, 1.0
    low, size = float(finite.min()), float(np.abs(finite).max()) or 1.0
    # Subtract a common offset first, exactly.
    centre = low if float(finite.max()) - low < _NARROW * size else 0.0
    away = finite - centre
    # Divide first, so that sums and squares of large values do not overflow.
    unit = float(np.abs(away).max()) or size
    scale = float(np.std(away / unit)) * unit
    return float(np.mean(away / unit)) * unit + centre, scale or unit


@settings
class UCBPolicy(Policy):
    """Base class of the policies that maximise an upper confidence bound.

    Parameters
    ----------
    beta : float or str, default=1.0
        Width of the confidence band in standard deviations, or the name of a schedule:
        "log", "igp", "a-gp", "self-normalised", "bayes-finite" (for finite spaces
        only), "bayes-continuous" or "bayes-changing" (for objectives that change).
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How to compute the information gain for a schedule. "posterior" uses the points
        seen so far. "rate" uses the growth rate of the gain and requires models with a
        single length scale. "bound" uses a bound on the maximum gain over the feasible
        points, or over a sample of 512 points if there are more than 4,096.
    delta : float, default=0.1
        Probability that the confidence band of a schedule does not hold.
    """

    metadata_type: ClassVar[type] = Predicted
    #: Share of `delta` that is allotted to each confidence band.
    share: ClassVar[float] = 1.0

    beta: float | str = 1.0
    information_gain: Literal["posterior", "rate", "bound"] = "posterior"
    delta: Share = 0.1

    def check(self) -> None:
        super().check()
        check_beta(self.beta)

    def start(self, setup: Setup, models: Models) -> Any:
        return self.state_type(setup.n_parameters)

    def learn(self, state: Any, metadata: Metadata, history: Told) -> bool | None:
        """Increment the query counter and store the estimates of the query."""
        state.t += 1  # line 3 of `GPUCB`, line 4 or line 5 of others
        for name in self.kept:
            setattr(state, name, metadata[name])
        return None

    def gain_of(self, posterior: Posterior, n_parameters: int) -> float:
        """Return the information gain of the told points for use in a schedule."""
        return GAINS[self.information_gain](posterior, n_parameters)

    def beta_of(self, posterior: Posterior, n_parameters: int, t: int) -> float:
        """Return beta of a model at query `t`, using its share of `delta`."""
        return band_beta(self.beta, self.band_of(posterior, n_parameters, t))

    def band_of(self, posterior: Posterior, n_parameters: int, t: int) -> WidthInputs:
        """Return the inputs of the schedule for the same arguments as `beta_of`."""
        return WidthInputs(
            t=t,
            delta=self.delta * self.share,
            norm=posterior.candidate.norm_bound,
            noise=posterior.noise,
            gain=lambda: self.gain_of(posterior, n_parameters),
            n_parameters=n_parameters,
            n_points=posterior.n_points,
        )
