"""The search within one branch: its points, models and policy state."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._sobol import sobol
from skrobustbo._trials import BranchTrials, Trial, Trials
from skrobustbo.acquisition import UCB, Maximizer, SpaceExhausted
from skrobustbo.optimizer._balancer import BETA, OptimisticBound
from skrobustbo.optimizer._design import Design, Purpose, stream
from skrobustbo.optimizer._gains import (
    DRAWS,
    MOST_POINTS,
    Band,
    Outlook,
    bands,
    outlook,
)
from skrobustbo.optimizer._rungs import Rungs
from skrobustbo.policies import Policy, Setup, numbered
from skrobustbo.space import Space
from skrobustbo.surrogate import (
    NUMERICAL,
    FactorCache,
    IncrementalGPR,
    Models,
    ReferencePoints,
    View,
)

Array = NDArray[np.float64]
Params = dict[str, Any]

#: Label of a replacement query, chosen after a model failed.
FALLBACK = "fallback"
#: Metadata stored as fields of a trial, and metadata removed from it afterwards.
_PREDICTED = ("label", "length_scales", "divisor", "mean", "std")
_NOT_KEPT = ("length_scales", "divisor")
#: The fallback model for predictions if the policy's kernel fails: Matern-5/2.
_DEFAULT = Policy()
#: Finite spaces up to this size are searched exhaustively, others by a Sobol sample.
_MOST_LISTED, _SAMPLE = 4096, 512


def warn_of_failure(error: Exception) -> None:
    """Warn that a model failed and that a design point is used instead."""
    warnings.warn(
        f"A model failed ({error}): a point of the initial design is used instead. "
        "If this happens repeatedly, use another kernel or more noise.",
        stacklevel=2,
    )


class Branch:
    """The search within one branch.

    A branch uses only its own points and values, so it proposes the same points as a
    search of this branch alone, and outliers in other branches do not change its scale.
    If all its values are equal, it uses the scale of the values of all branches.
    """

    def __init__(
        self,
        index: int,
        space: Space,
        region: Space,
        policy: Policy,
        seed: int,
        trials: Trials,
        rungs: Rungs,
    ) -> None:
        self.index, self.space, self.region = index, space, region
        self.policy, self._every, self._rungs = policy, trials, rungs
        self._stream = partial(stream, seed, index)
        self.history = BranchTrials()
        self.design = Design(region, seed, index)
        self.state: Any = None
        self._cache = FactorCache(policy.noise, space.nominal)
        self._optimistic_bound: tuple[object, OptimisticBound] | None = None

    # Points --------------------------------------------------------------------------

    def learn(self, trial: Trial) -> None:
        if trial.metadata is not None:
            learnt = self.policy.learn(self.state, trial.metadata, self.history)
            trial.reset = bool(learnt)

    def forget(self, full: Sequence[Trial]) -> None:
        """Restrict the branch to trials with values at full resource.

        If the branch used other trials before, its policy restarts.
        """
        forgets = len(full) < len(self.history)
        self.history.keep(full)
        if forgets:
            for trial in self.history.trials:
                trial.metadata = None
            self.state = self._optimistic_bound = None
            self._cache = FactorCache(self.policy.noise, self.space.nominal)

    @property
    def share(self) -> int:
        """Default number of initial points of the branch."""
        return max(3, 2 * len(self.space.groups) + 2)

    @cached_property
    def is_empty(self) -> bool:
        """Whether the branch has no known feasible point."""
        if self.region.constrained:
            return not len(self.design.pool)
        return self.region.size == 0

    @property
    def failing(self) -> bool:
        return self.history.best is None

    def initial_point(self, position: int, n_asked: int) -> Array:
        """Return a new initial point, or raise SpaceExhausted if none is left."""
        try:
            x = self.design[max(position, 0)]
        except IndexError:
            return self._random_point(n_asked)
        return self._random_point(n_asked) if self.history.seen(x) else x

    def _random_point(self, n_asked: int) -> Array:
        """Return a random point, preferably one that has not been asked before."""
        try:
            return self.maximizer(n_asked, repeats=False).random()
        except SpaceExhausted:
            return self.maximizer(n_asked, repeats=self.policy.repeats).random()

    def trial(self, x: Array, kind: str, **others: Any) -> Trial:
        """Return a trial of this branch, labelled with its kind by default."""
        others = {"params": self.space.decode(x), "label": kind, **others}
        return Trial(x=x, branch=self.index, kind=kind, **others)

    @property
    def is_consistent(self) -> bool:
        """Whether the restored state is consistent with the trials."""
        pending = self.history.pending_metadata
        if self.state is None:
            return all(trial.metadata is None for trial in self.history.trials)
        formed = all(map(self.policy.has_metadata, pending))
        facts = pending, self.setup, len(self.history)
        return formed and self.policy.consistent(self.state, *facts)

    @property
    def remembered(self) -> list[Trial]:
        """The evaluated trials that the policy currently uses."""
        told = self.history.told
        if self.state is None:
            return list(told)
        return told[self.policy.oldest(self.state, len(told)) :]

    # Models --------------------------------------------------------------------------

    def models(
        self,
        n_asked: int,
        *,
        pending: bool = True,
        shaped: bool = True,
    ) -> Models:
        """Return the surrogate of the branch, with values scaled by the policy."""
        z, shift, scale, has_unit = self._units(shaped)
        X, history, n = self._seen, self.history, len(z)
        view = View(
            X[:n],
            z,
            X_pending=X[n:] if pending else X[:0],
            shift=shift,
            scale=scale,
            has_unit=has_unit,
            groups=self.space.groups,
            values=history.values,
            reference_points=self._reference_points,
            ball=self.region.ball,
            n_elsewhere=len(self._every.trials) - len(X),
            horizon=self._rungs.n_candidates(self._rungs.budget),
            value_stds=history.value_stds,
        )
        rng = partial(self._stream, n_asked, Purpose.MODELS)
        return Models(self._cache, view, rng)

    @property
    def _seen(self) -> Array:
        every = [*self.history.told, *self.history.pending]
        return np.array([trial.x for trial in every]).reshape(-1, self.space.n_columns)

    def _units(self, shaped: bool) -> tuple[Array, float, float, bool]:
        """Return the scaled values, shift and scale, and whether the scale is known.

        If all values of the branch are equal, the scale comes from the values of all
        branches. If all evaluations of the branch failed, the shift also comes from the
        values of all branches, and each failure counts as the worst of these values. A
        fixed scale of 1 would make the result depend on the units of the objective. The
        scale is unknown if all values of all branches are equal.
        """
        shape = self.policy.targets if shaped else self.policy.outcomes
        z, shift, scale = shape(self.history.values)
        if len(z) and z.min() < z.max():
            return z, shift, scale, True
        every, common, unit = shape(self._every.values)
        differ = len(every) > 0 and bool(every.min() < every.max())
        has_unit = differ or self.policy.normalize_y is not True
        if self.failing:
            worst = every.min() if len(every) else 0.0
            return np.full(len(z), worst), common, unit, has_unit
        z = z if scale == unit else z * scale / unit
        return z, shift if has_unit else common, unit, has_unit

    @cached_property
    def setup(self) -> Setup:
        """The description of the branch that is passed to the policy at the start."""
        size = self.region.size
        return Setup(
            len(self.space.groups),
            self._rungs.n_candidates(self._rungs.first_budget),
            n_points=int(size) if math.isfinite(size) else None,
            n_columns=self.space.n_columns,
        )

    @cached_property
    def _reference_points(self) -> ReferencePoints:
        """All feasible points of a small region, or a sample of a larger one."""
        region, n_points = self.region, self.setup.n_points
        if n_points is not None and n_points <= _MOST_LISTED:
            return ReferencePoints(region.enumerate(), n_points)
        X = region.from_uniform(sobol(_SAMPLE, region.n_uniform, 0))
        if region.constrained:
            X = np.concatenate([X[region.allows(X)], self.design.pool])
        return ReferencePoints(X, n_points)

    # Proposals -----------------------------------------------------------------------

    def maximizer(self, n_asked: int, *, repeats: bool) -> Maximizer:
        history = self.history
        best = history.incumbent
        return Maximizer(
            self.region,
            history.is_pending if repeats else history.seen,
            rng=self._stream(n_asked),
            incumbents=None if best is None else history.told[best].x[None],
            pool=self.design.pool if self.region.constrained else None,
            seen=self._seen,
        )

    def propose(self, n_asked: int) -> Trial:
        """Return the policy's next trial, or raise SpaceExhausted if no point is left.

        If the models fail, the trial is a point of the initial design.
        """
        try:
            return self._chosen(n_asked)
        except NUMERICAL as error:
            warn_of_failure(error)
            x = self.initial_point(len(self.history.trials), n_asked)
            return self.trial(x, FALLBACK)

    def _chosen(self, n_asked: int) -> Trial:
        models, state = self.models(n_asked), self.state
        if state is None:
            told = self.models(n_asked, pending=False)
            state = self.policy.start(self.setup, told)
        pending = self.history.pending_metadata
        argmax = self.maximizer(n_asked, repeats=self.policy.repeats)
        x, metadata = self.policy.suggest(state, models, argmax, pending)
        self.state = state  # only now, because a failed ask must not change anything
        return self.trial(
            x,
            "model",
            **{key: metadata[key] for key in _PREDICTED if key in metadata},
            metadata={key: v for key, v in metadata.items() if key not in _NOT_KEPT},
            alive=self.policy.alive(self.state),
        )

    def recommend(self, n_asked: int) -> Array:
        """Return the point that the policy recommends in this branch."""
        models = self.models(n_asked, pending=False)
        told = self.history.measured
        try:
            return self.policy.recommend(self.state, models, told)
        except NUMERICAL:
            return _DEFAULT.recommend(None, models, told)

    # For the balancer of branches ----------------------------------------------------

    def predict(self, X: Array, *, shaped: bool = False) -> tuple[Array, Array]:
        """Return the mean and standard deviation predicted by a MAP model.

        The predictions are in units of the objective. If `shaped` is True, the model is
        fitted to the values as transformed by the policy.
        """
        models = self.models(0, pending=False, shaped=shaped)
        try:
            mu, sigma = models[self.policy.map_model(models)].predict(X)
        except NUMERICAL:
            mu, sigma = models[_DEFAULT.map_model(models)].predict(X)
        return mu * models.scale + models.shift, sigma * models.scale

    def bands(self, n_asked: int, delta: float, calibrated: bool = False) -> list[Band]:
        """Return the confidence bands of the models, if there are any yet."""
        if self.state is None or not len(self.history):
            return []
        models = self.models(n_asked, pending=False)
        return bands(
            self.policy.plausible(self.state, models),
            models,
            self.maximizer(n_asked, repeats=True),
            delta=delta,
            norm_bounded=self.policy.norm_bounded,
            calibrated=calibrated,
        )

    def outlooks(self, n_asked: int, n: int, noise: float) -> list[Outlook]:
        """Return draws of the best value after `n` more points, for each model.

        Only models of the whole branch are used. The standard deviation of the errors
        of the values is `noise`. If there is no model yet, the result is empty.
        """
        if self.state is None or not len(self.history):
            return []
        models = self.models(n_asked, pending=False)
        models = models.with_errors(noise) if noise > 0 else models
        rng = self._stream(n_asked, Purpose.DRAWS)
        told = {trial.x.tobytes() for trial in self.history.told}
        X = self.maximizer(n_asked, repeats=True).sample
        X = rng.permutation(X[[x.tobytes() not in told for x in X]])[:MOST_POINTS]
        # Each row is a draw: further rows add points and leave the earlier ones
        # unchanged.
        normals = rng.standard_normal((DRAWS + min(n, MOST_POINTS), len(X) + 1)).T
        spanning = self.policy.spanning(self.state, models)
        return [outlook(models[each], models, X, normals) for each in spanning]

    def beliefs(self, x: Array, n_asked: int) -> list[tuple[float, float]]:
        """Return predictions of the objective at a pending point.

        There is one pair of mean and standard deviation for each plausible model, in
        units of the objective and without noise. The list is empty if there is no model
        yet, if the policy uses no models, or if the models fail.
        """
        if self.state is None or not (len(self.history) and self.policy.has_model):
            return []
        models = self.models(n_asked, pending=False)
        try:
            plausible = self.policy.plausible(self.state, models)
            posteriors = [models[candidate] for candidate in plausible]
            found = [posterior.predict(x[None, :]) for posterior in posteriors]
        except NUMERICAL:
            return []
        return [
            (float(mean[0]) * models.scale + models.shift, float(std[0]) * models.scale)
            for mean, std in found
        ]

    def regressors(self, n_asked: int) -> dict[str, IncrementalGPR]:
        """Return a dict from labels to copies of the current regressors."""
        if self.state is None or not len(self.history):
            return {}
        models = self.models(n_asked, pending=False)
        try:
            posteriors = self.policy.posteriors(self.state, models)
        except NUMERICAL:
            posteriors = [models[_DEFAULT.map_model(models)]]
        labels = numbered([posterior.candidate.label for posterior in posteriors])
        copies = [copy.deepcopy(posterior.regressor) for posterior in posteriors]
        for regressor in copies:
            regressor.shift_, regressor.scale_ = models.shift, models.scale
        return dict(zip(labels, copies, strict=True))

    def mean_at(self, x: Array) -> float:
        """Return the mean at a point, or the lowest mean among its perturbations."""
        X = self.policy.perturbations(x, self.models(0, pending=False))
        return float(self.predict(X, shaped=True)[0].min())

    def optimistic_bound(self) -> OptimisticBound:
        """Return the optimistic bound of the branch, from a MAP model of its values.

        The bound is cached until a value, its error or the scale changes.
        """
        z, *units = self._units(shaped=True)
        stds = self.history.value_stds
        key = (z.tobytes(), None if stds is None else stds.tobytes(), *units)
        if self._optimistic_bound is None or self._optimistic_bound[0] != key:
            self._optimistic_bound = key, self._new_optimistic_bound(len(z))
        return self._optimistic_bound[1]

    def _new_optimistic_bound(self, n_told: int) -> OptimisticBound:
        models = self.models(n_told, pending=False)
        posterior = models[self.policy.map_model(models)]
        argmax = self.maximizer(n_told, repeats=True)
        _, upper = argmax(UCB(posterior, BETA), inner=True)  # line 3
        mu, _ = posterior.predict(models.X)
        reached = mu.max(where=np.isfinite(models.values), initial=-np.inf)
        shift, scale = models.shift, models.scale
        return OptimisticBound(
            upper * scale + shift,
            float(reached) * scale + shift,  # line 4
            posterior,
            shift,
            scale,
            models.unit,
        )
