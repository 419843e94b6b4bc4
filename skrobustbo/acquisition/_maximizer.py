"""Maximise an acquisition function over a mixed space.

The maximiser samples points and chooses starts among them. It then alternates between
climbing the continuous columns by gradient and sweeping each discrete parameter,
whether integer or categorical, through its table of encoded rows. Small finite spaces
are evaluated exhaustively.
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
    """Return a point near each point of `X`: some columns move, others are redrawn."""
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
    """Maximises over the feasible points of one space, during one `ask`.

    All calls of one object use the same sample, so values that a policy derives from
    several maxima depend only on the object's arguments.

    Parameters
    ----------
    domain : Space
        The space.
    taken : callable, optional
        A function that returns whether a point, shape (n_columns,), must not be
        proposed again.
    rng : numpy.random.Generator
        Random generator for the sample and the choice of starts.
    incumbents : array of shape (k, n_columns), optional
        Incumbents; the sample includes points around them.
    pool : array of shape (p, n_columns), optional
        Known feasible points, if the space has constraints.
    seen : array of shape (n, n_columns), optional
        Points that the models have seen. With many unordered choices, only these
        points' choices and a few new ones are swept.
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
        """The sample, or the whole space, shape (m, n_columns)."""
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
        """Random numbers that select starting points, the same in every call."""
        rng = np.random.default_rng(self._luck_seed)
        return 0.3 * rng.gumbel(size=len(self.sample))

    def _neighbours(self) -> Array:
        """Return points around the incumbents."""
        if not len(self._incumbents):
            return self._incumbents
        X = self._incumbents[np.arange(_AROUND) % len(self._incumbents)]
        return neighbours(self.domain, X, self._rng(self._sample_seed))

    def _feasible(self, X: Array) -> Array:
        """Return the feasible points; if there are few, also others near known ones."""
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
        """Return the feasible point with the highest value, and this value.

        Parameters
        ----------
        acq : Acquisition
            The function to maximise.
        inner : bool, default=False
            Whether to include points that have been tried before.

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
        """Return the feasible point that is farthest from all points seen."""
        X, uncovered = self.sample, Uncovered(self._seen, self.domain.climbed)
        if not self.whole:
            X = uncovered.ascend(X, self.domain, self._rng(self._step_seed))
        ranked = X[np.argsort(-uncovered(X), kind="stable")]
        found = next(filter(self.free, ranked), None)
        return self.random() if found is None else found

    def within(self, acq: Acquisition, x: Array, radius: float) -> Array:
        """Return the maximiser of `acq` in the box around `x` with half-side `radius`.

        If no point in the box is left, return one nearby.
        """
        local = copy.copy(self)
        for drawn in ("sample", "_roulette", "_tables"):
            vars(local).pop(drawn, None)
        local._incumbents = x[None, :]
        return local(Within(acq, x, radius))[0]

    def free(self, x: Array) -> bool:
        """Return whether a point, shape (n_columns,), may still be proposed."""
        return self._taken is None or not self._taken(x)

    def random(self) -> Array:
        """Return a random feasible point that is not taken, shape (n_columns,)."""
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
        """Return the best sampled point, and others drawn according to their values.

        Gumbel noise on standardised values draws without replacement, with odds that
        grow exponentially with the value.
        """
        order: Indices = np.argsort(-values - self._roulette)[:_STARTS]
        best = int(np.argmax(values))
        return np.array([best, *order[order != best][: _STARTS - 1]])

    def _improved(
        self, acq: Acquisition, X: Array, values: Array, tolerance: float, inner: bool
    ) -> tuple[Array, Array]:
        """Alternate climbs and sweeps until no sweep changes a point."""
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
        """Return points improved by climbs in the continuous columns, then snapped."""
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
        """Return the best feasible points on the way to the ends, and around them.

        A climb ignores constraints, so it is cut back to where it left the feasible
        set. Small steps in all directions then follow the border.
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
        """Return each point, or its best feasible trial if that is better."""
        k = trials.shape[1]
        flat = self.domain.snap(trials.reshape(-1, X.shape[1]))
        values = np.where(self.domain.allows(flat), acq(flat), -np.inf).reshape(-1, k)
        best = np.nanargmax(np.where(np.isnan(values), -np.inf, values), axis=1)
        rows = np.arange(len(X))
        better = values[rows, best] > acq(X)
        return np.where(better[:, None], flat.reshape(-1, k, X.shape[1])[rows, best], X)

    def _alike(self, columns: Indices) -> bool:
        """Return whether new rows of a table look alike to models."""
        return len(columns) == 1 and columns[0] in self.domain.nominal

    @cached_property
    def _tables(self) -> list[tuple[Indices, Array]]:
        """Columns and rows of each parameter to sweep."""
        return [
            (columns, self._told_apart(columns, table))
            if self._alike(columns)
            else (columns, table)
            for columns, table in self.domain.swept
        ]

    def _told_apart(self, columns: Indices, table: Array) -> Array:
        """Return the rows of the codes seen, and rows of a few other codes.

        For codes in the sample, a feasible point is known.
        """
        codes, known = table[:, 0], self._seen[:, columns[0]]
        fresh = np.setdiff1d(codes, known)
        sampled = np.intersect1d(self.sample[:, columns[0]], fresh)
        rng = self._rng(self._table_seed)
        chosen = [rng.permutation(some)[:_FRESH] for some in (sampled, fresh)]
        return table[np.isin(codes, np.concatenate([known, *chosen]))]

    def _swept(self, acq: Acquisition, X: Array, inner: bool) -> Array:
        """Try the rows of each discrete parameter's table, for all points in one call.

        Unless `inner`, points avoid taken ones, which tend to lie where values are
        high.
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
    """Return values, with infinities just above finite ones and nan among the low."""
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
    """Return the distances of all rows of `X` from all rows of `Y`, at most 1.

    The distance between two encoded points is the largest difference in any column, so
    two unordered choices have the same distance whatever their codes.
    """
    return np.minimum(cdist(X, Y, "chebyshev"), 1.0)


@dataclass(frozen=True, eq=False)
class Uncovered:
    """Distance from the nearest point seen, or twice the distance from the border.

    Distances from the border count twice because a point there covers at most half of
    what it would cover in the middle.
    """

    seen: Array
    continuous: Indices

    def __call__(self, Z: Array) -> Array:
        """Return the values at points of shape (m, n_columns)."""
        nearest = distances(Z, self.seen).min(axis=1, initial=1.0)
        border = np.minimum(Z, 1 - Z)[:, self.continuous].min(axis=1, initial=1.0)
        return np.minimum(nearest, 2 * border)

    def ascend(self, X: Array, domain: Space, rng: np.random.Generator) -> Array:
        """Return the best of some points, moved to higher feasible points.

        A distance function has edges where gradients do not help; steps of decreasing
        size approach the top at lower cost.
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
    """A function with a steep penalty outside a box."""

    acq: Acquisition
    centre: Array
    radius: float

    @property
    def length_scales(self) -> Array:
        """Distance over which the function varies."""
        return reach_of(self.acq)

    def __call__(self, Z: Array) -> Array:
        """Return the values at points of shape (m, n_columns)."""
        return self.acq(Z) - self._loss(self._excess(Z))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the values and their gradient in x."""
        values, slopes = self.acq.with_gradient(Z)
        excess = self._excess(Z)
        inwards = -2 * _STEEP * excess * np.sign(Z - self.centre) / self.radius
        return values - self._loss(excess), slopes + inwards

    @staticmethod
    def _loss(excess: Array) -> Array:
        return _STEEP * (excess**2).sum(axis=1)

    def _excess(self, Z: Array) -> Array:
        """Return how far each coordinate is outside, in units of the radius."""
        return np.maximum(np.abs(Z - self.centre) / self.radius - 1, 0.0)
