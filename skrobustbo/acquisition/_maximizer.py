"""Maximisation of acquisition functions over mixed spaces.

The maximiser samples points and selects the starting points from the sample. It then
alternates between gradient ascent in the continuous columns and sweeps, which try the
values of each integer or categorical parameter. Small finite spaces are evaluated
exhaustively.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial

import numpy as np
from scipy.spatial.distance import cdist

from skrobustbo._arrays import Array, Indices
from skrobustbo._names import be, every
from skrobustbo._sobol import sobol
from skrobustbo.acquisition._ascent import ascend
from skrobustbo.acquisition._exhausted import SpaceExhausted
from skrobustbo.acquisition._functions import Acquisition, reach_of
from skrobustbo.space import Space

#: Finite spaces up to this size are evaluated exhaustively.
ENUMERATED = 4096
#: Number of space-filling points in the sample, of points around the incumbents, and of
#: starting points chosen among them.
_SAMPLE, _AROUND, _STARTS = 256, 80, 4
#: As a last resort, finite spaces up to this size are enumerated to find untried
#: points.
_LISTED = 2**20
#: Number of points enumerated at once.
_BLOCK = 2**13
#: Number of new choices to sweep, from the sample and in total. Models cannot tell them
#: apart.
_FRESH = 8
#: A climb ends when its gain is smaller, in deviations of the sample's values.
_PRECISION = 1e-5
#: Spread of the points around the incumbents, in unit-cube coordinates.
_SPREADS = (0.3, 0.1, 0.03, 0.01, 0.003)
#: Number of steps around each start if a constraint may stop a climb early, and number
#: of rounds.
_STEPS, _ROUNDS = 40, 3
#: The first points of a sequence, before the seed's shift.
_base_points = lru_cache(maxsize=16)(partial(sobol, seed=0))


def neighbours(domain: Space, X: Array, rng: np.random.Generator) -> Array:
    """Return a random point near each point of `X`.

    Some continuous columns are moved, and some discrete parameters are redrawn.
    """
    X, spread = X.copy(), np.array(_SPREADS)[np.arange(len(X)) % len(_SPREADS)]
    columns = domain.climbed
    moved = rng.random((len(X), len(columns))) < max(0.5, 1 / max(len(columns), 1))
    steps = rng.standard_normal((len(X), len(columns))) * spread[:, None]
    X[:, columns] = np.clip(X[:, columns] + moved * steps, 0.0, 1.0)
    for columns, table in domain.swept:
        redrawn = np.flatnonzero(rng.random(len(X)) < 1 / (1 + len(domain.swept)))
        chosen = rng.integers(len(table), size=len(redrawn))
        X[np.ix_(redrawn, columns)] = table[chosen]
    return domain.snap(X)


class Maximizer:
    """Maximiser of acquisition functions over the feasible points of a space.

    An object is used during a single `ask`. All its calls use the same sample, so
    values that a policy derives from several maxima depend only on the object's
    arguments.

    Parameters
    ----------
    domain : Space
        The search space.
    taken : callable, optional
        Function that returns whether a point of shape (n_columns,) must not be proposed
        again.
    rng : numpy.random.Generator
        Random number generator for the sample and the starting points.
    incumbents : array of shape (k, n_columns), optional
        Points around which additional points are sampled.
    pool : array of shape (p, n_columns), optional
        Known feasible points, if the space has constraints.
    seen : array of shape (n, n_columns), optional
        Points to which the models are fitted. If a parameter has many unordered
        choices, sweeps only try the choices of these points and a few new ones.
    """

    def __init__(
        self,
        domain: Space,
        taken: Callable[[Array], bool] | None = None,
        *,
        rng: np.random.Generator,
        incumbents: Array | None = None,
        pool: Array | None = None,
        seen: Array | None = None,
    ) -> None:
        self.domain = domain
        self._taken = taken
        none = np.empty((0, domain.n_columns))
        self._incumbents = none if incumbents is None else incumbents
        self._pool = none if pool is None else pool
        self._seen = none if seen is None else seen
        # Generators are created on demand: three of the five are rarely needed.
        self._rng = cache(np.random.default_rng)
        seeds = rng.bit_generator.seed_seq.spawn(5)  # type: ignore[attr-defined]
        self._sample_seed, self._luck_seed, self._draw_seed = seeds[:3]
        self._step_seed, self._table_seed = seeds[3:]

    @cached_property
    def whole(self) -> bool:
        """Whether the space is small enough to be evaluated exhaustively."""
        if self.domain.size <= ENUMERATED:
            return True
        swept = self.domain.swept
        table_only = not len(self.domain.climbed) and len(swept) == 1
        return table_only and not self._alike(swept[0][0])

    @cached_property
    def sample(self) -> Array:
        """The sampled points, or all points of a small space, shape (m, n_columns)."""
        if self.whole:
            return self._some(self.domain.enumerate())
        # A Sobol sequence with a random shift (Cranley and Patterson 1976): scrambling
        # it at every step would cost more than computing the posterior at its points.
        n = self.domain.n_uniform
        U = (_base_points(_SAMPLE, n) + self._rng(self._sample_seed).random(n)) % 1.0
        X = np.concatenate([self.domain.from_uniform(U), self._neighbours()])
        return self._some(self._feasible(X)) if self.domain.constrained else X

    def _some(self, X: Array) -> Array:
        if not len(X):
            raise SpaceExhausted("No point of the space is feasible; widen it.")
        return X

    @cached_property
    def _roulette(self) -> Array:
        """Random numbers for selecting starting points, the same in every call."""
        rng = np.random.default_rng(self._luck_seed)
        return 0.3 * rng.gumbel(size=len(self.sample))

    def _neighbours(self) -> Array:
        """Return random points around the incumbents."""
        if not len(self._incumbents):
            return self._incumbents
        X = self._incumbents[np.arange(_AROUND) % len(self._incumbents)]
        return neighbours(self.domain, X, self._rng(self._sample_seed))

    def _feasible(self, X: Array) -> Array:
        """Return the feasible points of `X`, and add more if there are few."""
        X = X[self.domain.allows(X)]
        if len(X) < _SAMPLE and len(self._pool):
            near = self._near_pool(self._rng(self._sample_seed))
            X = np.concatenate([X, self._pool, near])
        return X

    def _near_pool(self, rng: np.random.Generator) -> Array:
        chosen = rng.integers(len(self._pool), size=_SAMPLE)
        X = neighbours(self.domain, self._pool[chosen], rng)
        return X[self.domain.allows(X)]

    def __call__(self, acq: Acquisition, *, inner: bool = False) -> tuple[Array, float]:
        """Return the feasible point with the highest value found, and this value.

        Parameters
        ----------
        acq : Acquisition
            The function to maximise.
        inner : bool, default=False
            Whether to include points that have been proposed before.

        Raises
        ------
        SpaceExhausted
            If no feasible point is left.
        """
        X, values = self.sample, acq(self.sample)
        if not self.whole:
            ranked = _ranked(values)
            spread = float(ranked.std()) or 1.0
            starts = self._starts(ranked / spread)
            best, top = self._improved(
                acq, X[starts], values[starts], _PRECISION * spread, inner
            )
            X, values = np.concatenate([best, X]), np.concatenate([top, values])
        # A stable sort puts improved points before a sampled one of equal value.
        for i in np.argsort(-values, kind="stable"):
            if inner or self.free(X[i]):
                return X[i], float(values[i])
        x = self.random()
        return x, float(acq(x[None, :])[0])

    def farthest(self) -> Array:
        """Return the feasible point that is farthest from the points in `seen`."""
        X, uncovered = self.sample, Uncovered(self._seen, self.domain.climbed)
        if not self.whole:
            X = uncovered.ascend(X, self.domain, self._rng(self._step_seed))
        ranked = X[np.argsort(-uncovered(X), kind="stable")]
        found = next(filter(self.free, ranked), None)
        return self.random() if found is None else found

    def within(self, acq: Acquisition, x: Array, radius: float) -> Array:
        """Return the maximiser of `acq` in a box that extends by `radius` around `x`.

        If all points in the box have been proposed, return a point nearby.
        """
        local = copy.copy(self)
        for drawn in ("sample", "_roulette", "_tables"):
            vars(local).pop(drawn, None)
        local._incumbents = x[None, :]
        return local(Within(acq, x, radius))[0]

    def free(self, x: Array) -> bool:
        """Return whether a point of shape (n_columns,) may be proposed."""
        return self._taken is None or not self._taken(x)

    def random(self) -> Array:
        """Return a random feasible point that may be proposed, shape (n_columns,)."""
        for x in itertools.chain(self._draws(), self._listing()):
            if self.free(x):
                return x
        n = self.domain.size
        raise SpaceExhausted(
            f"{every(n, 'point')} of the space {be(n, 'has', 'have')} been proposed; "
            "widen the space to continue."
        )

    def _draws(self) -> Iterator[Array]:
        for _ in range(0 if self.domain.size == 0 else 8):
            U = self._rng(self._draw_seed).random((64, self.domain.n_uniform))
            X = self.domain.from_uniform(U)
            yield from X[self.domain.allows(X)] if self.domain.constrained else X
        if len(self._pool):
            yield from self._near_pool(self._rng(self._draw_seed))

    def _listing(self) -> Iterator[Array]:
        if self.domain.size <= _LISTED:
            order = self._rng(self._draw_seed).permutation(self.domain.indices)
            for start in range(0, len(order), _BLOCK):
                yield from self.domain.at(order[start : start + _BLOCK])

    def _starts(self, values: Array) -> Indices:
        """Return the indices of the starting points in the sample.

        These are the best point and others drawn without replacement. Adding Gumbel
        noise to the standardised values makes the odds of a point grow exponentially
        with its value.
        """
        order: Indices = np.argsort(-values - self._roulette)[:_STARTS]
        best = int(np.argmax(values))
        return np.array([best, *order[order != best][: _STARTS - 1]])

    def _improved(
        self, acq: Acquisition, X: Array, values: Array, tolerance: float, inner: bool
    ) -> tuple[Array, Array]:
        """Alternate between climbs and sweeps until a sweep changes no point."""
        X, values = self._climbed(acq, X, values, tolerance)
        for _ in range(4 if self.domain.swept else 0):
            swept = self._swept(acq, X, inner)
            if np.array_equal(swept, X):
                break
            X, values = self._climbed(acq, swept, acq(swept), tolerance)
        return X, values

    def _climbed(
        self, acq: Acquisition, X: Array, values: Array, tolerance: float
    ) -> tuple[Array, Array]:
        """Improve points by gradient ascent in the continuous columns."""
        columns = self.domain.climbed
        if not len(columns):
            return X, values
        # Fixed columns do not move.
        length_scales = np.zeros(X.shape[1])
        own = np.minimum(reach_of(acq), 1.0)
        length_scales[columns] = np.broadcast_to(own, length_scales.shape)[columns]
        ends = self.domain.snap(ascend(acq.with_gradient, X, length_scales, tolerance))
        if self.domain.constrained:
            X = self._nearer(acq, X, ends)
            return X, acq(X)
        heights = acq(ends)
        better = heights > values
        return np.where(better[:, None], ends, X), np.where(better, heights, values)

    def _nearer(self, acq: Acquisition, X: Array, ends: Array) -> Array:
        """Return the best feasible points found on the way to the ends.

        Climbs ignore constraints, so a climb that leaves the feasible set is shortened.
        Small random steps then improve the point along the boundary of the set.
        """
        shares = np.array([1.0, 0.9, 0.75, 0.5, 0.25, 0.1, 0.05, 0.02])
        way = X[:, None] + shares[:, None] * (ends - X)[:, None]
        rng = np.random.default_rng(self._step_seed)
        X = self._best_feasible(acq, X, way)
        for _ in range(_ROUNDS):
            around = np.repeat(X, _STEPS, axis=0)
            way = neighbours(self.domain, around, rng)
            X = self._best_feasible(acq, X, way.reshape(len(X), _STEPS, -1))
        return X

    def _best_feasible(self, acq: Acquisition, X: Array, trials: Array) -> Array:
        """Replace each point with its best feasible trial if the trial is better."""
        k = trials.shape[1]
        flat = self.domain.snap(trials.reshape(-1, X.shape[1]))
        values = np.where(self.domain.allows(flat), acq(flat), -np.inf).reshape(-1, k)
        best = np.nanargmax(np.where(np.isnan(values), -np.inf, values), axis=1)
        rows = np.arange(len(X))
        better = values[rows, best] > acq(X)
        return np.where(better[:, None], flat.reshape(-1, k, X.shape[1])[rows, best], X)

    def _alike(self, columns: Indices) -> bool:
        """Return whether models treat all new rows of a table the same way."""
        return len(columns) == 1 and columns[0] in self.domain.nominal

    @cached_property
    def _tables(self) -> list[tuple[Indices, Array]]:
        """Columns and table rows of each discrete parameter."""
        return [
            (columns, self._told_apart(columns, table))
            if self._alike(columns)
            else (columns, table)
            for columns, table in self.domain.swept
        ]

    def _told_apart(self, columns: Indices, table: Array) -> Array:
        """Return the rows of all known codes and of a few new codes.

        Some of the new codes come from the sample, so that feasible points are known
        for them.
        """
        codes, known = table[:, 0], self._seen[:, columns[0]]
        fresh = np.setdiff1d(codes, known)
        sampled = np.intersect1d(self.sample[:, columns[0]], fresh)
        rng = self._rng(self._table_seed)
        chosen = [rng.permutation(some)[:_FRESH] for some in (sampled, fresh)]
        return table[np.isin(codes, np.concatenate([known, *chosen]))]

    def _swept(self, acq: Acquisition, X: Array, inner: bool) -> Array:
        """Replace the value of each discrete parameter with the best one in its table.

        Each table is evaluated for all points in a single call. Points that have been
        proposed before are skipped unless `inner` is True.
        """
        X = X.copy()
        for columns, table in self._tables:
            trials = np.repeat(X[:, None], len(table), axis=1)
            trials[:, :, columns] = table
            flat = trials.reshape(-1, X.shape[1])
            values = acq(flat).reshape(trials.shape[:2])
            if self.domain.constrained:
                values[~self.domain.allows(flat).reshape(values.shape)] = -np.inf
            # The present row wins ties; otherwise, the alternation might not end.
            present = (table == X[:, None, columns]).all(axis=2)
            values[present] = np.nextafter(values[present], np.inf)
            for i, order in enumerate(np.argsort(-values, axis=1, kind="stable")):
                order = order[values[i, order] > -np.inf]
                free = (x for x in trials[i, order] if inner or self.free(x))
                X[i] = next(free, X[i])
        return X


def _ranked(values: Array) -> Array:
    """Replace inf with a finite maximum, and nan and -inf with a finite minimum."""
    if np.isfinite(values).all():
        return values
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    step = (high - low) or 1.0
    ranked: Array = np.where(values == np.inf, high + step, values)
    return np.where(np.isfinite(ranked), ranked, low - step)


# Functions of distance ----------------------------------------------------------------


#: In the search for the farthest point: number of points kept, number of steps around
#: each, and their lengths in units of the distance reached.
_KEPT, _TRIED, _SHARES = 8, 16, (0.3, 0.1, 0.03, 0.01)
#: Loss at a point that is outside a box by half the box's side.
_STEEP = 500.0


def distances(X: Array, Y: Array) -> Array:
    """Return the distances between the rows of `X` and `Y`, clipped at 1.

    The distance between two encoded points is the largest difference in any column.
    Because of the clipping, all pairs of different choices have the same distance,
    whatever their codes are.
    """
    return np.minimum(cdist(X, Y, "chebyshev"), 1.0)


@dataclass(frozen=True, eq=False)
class Uncovered:
    """Distance to the nearest seen point, or twice the distance to the boundary.

    The smaller of the two values is used. Distances to the boundary count twice,
    because a point on the boundary covers at most half of the volume that it would
    cover in the middle.
    """

    seen: Array
    continuous: Indices

    def __call__(self, Z: Array) -> Array:
        """Return the values at points of shape (m, n_columns)."""
        nearest = distances(Z, self.seen).min(axis=1, initial=1.0)
        border = np.minimum(Z, 1 - Z)[:, self.continuous].min(axis=1, initial=1.0)
        return np.minimum(nearest, 2 * border)

    def ascend(self, X: Array, domain: Space, rng: np.random.Generator) -> Array:
        """Improve the best of the given points by small random steps.

        Distance functions have edges where gradients are not helpful. Random steps of
        decreasing size are therefore more efficient.
        """
        for share in _SHARES:
            values = self(X)
            best = X[np.argsort(-values, kind="stable")[:_KEPT]]
            around, reach = np.repeat(best, _TRIED, axis=0), share * values.max()
            steps = reach * rng.uniform(-1, 1, (len(around), len(self.continuous)))
            moved = np.clip(around[:, self.continuous] + steps, 0.0, 1.0)
            around[:, self.continuous] = moved
            around = domain.snap(around)
            X = np.concatenate([best, around[domain.allows(around)]])
        return X


@dataclass(frozen=True, eq=False)
class Within:
    """Acquisition function with a steep penalty outside a box."""

    acq: Acquisition
    centre: Array
    radius: float

    @property
    def length_scales(self) -> Array:
        """Distance over which the function varies in each column."""
        return reach_of(self.acq)

    def __call__(self, Z: Array) -> Array:
        """Return the values at points of shape (m, n_columns)."""
        return self.acq(Z) - self._loss(self._excess(Z))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the values and their gradients with respect to x."""
        values, slopes = self.acq.with_gradient(Z)
        excess = self._excess(Z)
        inwards = -2 * _STEEP * excess * np.sign(Z - self.centre) / self.radius
        return values - self._loss(excess), slopes + inwards

    @staticmethod
    def _loss(excess: Array) -> Array:
        return _STEEP * (excess**2).sum(axis=1)

    def _excess(self, Z: Array) -> Array:
        """Return how far each coordinate is outside the box, in units of the radius."""
        return np.maximum(np.abs(Z - self.centre) / self.radius - 1, 0.0)
