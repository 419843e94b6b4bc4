"""What an optimizer says of all that it has been told: it changes nothing."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._arguments import checked_probability
from skrobustbo._trials import Trial, Trials
from skrobustbo.optimizer._branch import Branch
from skrobustbo.optimizer._checks import listed_params, plain_params
from skrobustbo.optimizer._determinism import one_blas_thread
from skrobustbo.optimizer._regret_bound import regret_bound
from skrobustbo.optimizer._rungs import Rungs
from skrobustbo.optimizer._state import history_record
from skrobustbo.policies import Policy
from skrobustbo.space import Space, fresh
from skrobustbo.surrogate import IncrementalGPR

Array = NDArray[np.float64]
Params = dict[str, Any]


class Views:
    """The half of `Optimizer` that only looks."""

    space: Space
    policy: Policy
    _branches: list[Branch]
    _trials: Trials
    _rungs: Rungs | None
    _n_asked: int
    _lock: threading.RLock

    def _place(self, params: Mapping[str, Any]) -> Trial:
        """Return a trial of a params dict; ValueError if it is not of the space."""
        branch, x = self.space.place(params)
        return Trial(self.space.branches[branch].own(params), x, branch)

    def _beliefs(self, trial: Trial) -> list[tuple[float, float]]:
        """Return what each plausible model says of a pending trial's value."""
        with self._lock, one_blas_thread():
            return self._branches[trial.branch].beliefs(trial.x, self._n_asked)

    @property
    def best_params_(self) -> Params:
        """The point with the best value told."""
        return fresh(self._best().params)

    @property
    def best_value_(self) -> float:
        """The best value told, in units of the objective."""
        value = self._best().value
        return float(value)  # type: ignore[arg-type]

    def _best(self) -> Trial:
        best = self._trials.best
        if best is None:
            raise ValueError(
                "Expected at least one finite value, got none so far; tell one first."
            )
        return self._trials.told[best]

    @property
    def history_(self) -> list[dict[str, Any]]:
        """Records of all points, in the order in which they came."""
        amounts = () if self._rungs is None else self._rungs.amounts
        return [history_record(trial, amounts) for trial in self._trials.trials]

    @property
    def remembered_(self) -> list[int]:
        """Positions in `history_` of the values that the policy currently uses.

        These are all values told, except for policies that drop values: those for
        changing objectives with resets or a window.
        """
        with self._lock:
            kept = [trial for b in self._branches for trial in b.remembered]
            first = self._trials.n_before
            return sorted(trial.number + first for trial in kept)

    def recommend(self) -> Params:
        """Return the point to deploy: for most policies the told one of best mean.

        The mean comes from a model with MAP length scales on all the data, which does
        not rely on a single lucky value. Policies for perturbed or changing objectives
        have their own rules.

        Returns
        -------
        params : dict

        Raises
        ------
        ValueError
            If no finite value has been told.
        """
        best = self._best()
        with self._lock, one_blas_thread():
            found = [b for b in self._branches if b.history.best is not None]
            if not found:  # all full values have failed, and the others are forgotten
                return fresh(best.params)
            points = [branch.recommend(self._n_asked) for branch in found]
            i = 0
            if len(found) > 1:
                means = [b.mean_at(x) for b, x in zip(found, points, strict=True)]
                i = int(np.argmax(means))
            return _as_told(found[i], points[i])

    @property
    def models_(self) -> dict[str, IncrementalGPR]:
        """Copies of the Gaussian processes in use, by label.

        Each is a scikit-learn `GaussianProcessRegressor`, fitted to the values that the
        policy uses. These are the models that survive, for "robust" those of its
        levels, and the model with MAP length scales if a policy estimates or draws
        them. Labels are as in the results, such as ``"theta=0.25"``; with several
        branches, ``"branch 0: theta=0.25"``. Empty during the initial design. Changing
        the copies does not affect the optimizer.

        Notes
        -----
        They use the units of the search. Points are encoded, as by ``space.encode`` (of
        the branch, if there are several). In models of time ("tv-gp-ucb", "ui-tvbo"),
        the last column is time, counted in values told from 1. Targets are values as
        transformed and standardised by the policy, minus the prior mean if a candidate
        has one. In units of the objective, a mean is ``mean * scale_ + shift_`` and a
        standard deviation ``std * scale_``, with the attributes of the regressor.

        Examples
        --------
        >>> from skrobustbo import Optimizer, Real
        >>> optimizer = Optimizer({"x": Real(-1, 1)}, "map-gp-ucb", random_state=0)
        >>> for _ in range(12):
        ...     params = optimizer.ask()
        ...     optimizer.tell(params, -(params["x"] - 0.3) ** 2)
        >>> (gpr,) = optimizer.models_.values()
        >>> mean, std = gpr.predict([optimizer.space.encode({"x": 0.3})], True)
        >>> bool(abs(mean[0] * gpr.scale_ + gpr.shift_) < 0.01)
        True
        """
        with self._lock, one_blas_thread():
            found = [branch.regressors(self._n_asked) for branch in self._branches]
        if len(found) == 1:
            return found[0]
        return {
            f"branch {i}: {label}": regressor
            for i, regressors in enumerate(found)
            for label, regressor in regressors.items()
        }

    def predict(
        self,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        return_std: bool = False,
    ) -> Any:
        """Return the mean of a MAP model on all the data, in units of the objective.

        This model uses the values as they are, even if the policy transforms them for
        its search. Under the default policy, only a value far below all others, as from
        a diverged fit, is raised. In a branch without values, the prediction is the
        mean and the standard deviation of all values.

        Parameters
        ----------
        params : dict or list of dict
            Points of the space.
        return_std : bool, default=False
            Whether to return the standard deviation of the function as well.

        Returns
        -------
        mean : float or array of shape (n,)
        std : float or array of shape (n,)
            Only if `return_std`.

        Raises
        ------
        ValueError
            If a point is outside the space, or no finite value has been told.
        """
        self._best()
        single = isinstance(params, Mapping)
        given = [plain_params(params)] if single else listed_params(params)
        points = [self._place(point) for point in given]
        mean, std = np.empty(len(points)), np.empty(len(points))
        with self._lock, one_blas_thread():
            for i in {point.branch for point in points}:
                rows = [row for row, p in enumerate(points) if p.branch == i]
                X = np.array([points[row].x for row in rows])
                mean[rows], std[rows] = self._branches[i].predict(X)
        if single:
            return (float(mean[0]), float(std[0])) if return_std else float(mean[0])
        return (mean, std) if return_std else mean

    def regret_bound(self, delta: float = 0.05, *, calibrated: bool = False) -> float:
        """Return an upper bound on what is left to gain.

        With probability at least 1 - `delta`, the maximum of the objective exceeds its
        best value at the points told by no more than the bound, *if* the policy's
        assumption is true: the objective is drawn from one of its surviving models, or,
        for policies or a `beta` with norms, is within the norm bound of one. A policy
        without its own model uses that of `predict`. For "robust", the right length
        scales have to be the estimated ones, or half of them.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound may fail.
        calibrated : bool, default=False
            Whether to widen the band of a model that errs more than it expects: its
            deviations are multiplied by the root mean square of its leave-one-out
            errors, each in units of the deviation predicted for it, where that is more
            than 1. `tol` of a search goes by the bound as it is, reports and displays
            show the calibrated one.

        Returns
        -------
        bound : float
            In units of the objective; infinite during the initial design, and as long
            as no model has chosen a point of some branch.

        Raises
        ------
        ValueError
            If `delta` is out of range, no value has been told, or the policy is for
            objectives that change or that are perturbed.

        Notes
        -----
        Failed evaluations count as the worst value seen. A branch that has only failed
        uses the worst value, the mean and the scale of all branches. The bound is then
        finite, but it assumes that points between failures fail as well. The bands are
        those of the theory: the self-normalised one for norms, the Bayesian ones
        otherwise. They are wider than the bands that choose the points.

        Examples
        --------
        >>> from skrobustbo import Optimizer, Real
        >>> optimizer = Optimizer({"x": Real(-1, 1)}, random_state=0)
        >>> for _ in range(25):
        ...     params = optimizer.ask()
        ...     optimizer.tell(params, -(params["x"] - 0.3) ** 2)
        >>> 0 - optimizer.best_value_ <= optimizer.regret_bound() < 0.5
        True
        """
        delta = checked_probability("delta", delta, "regret_bound")
        if not self.policy.seeks_maximum:
            raise ValueError(
                "The 'policy' of an Optimizer must look for the maximum of a fixed "
                f"objective to have a regret bound. Got {self.policy!r} instead."
            )
        self._best()
        with self._lock, one_blas_thread():
            branches = [branch for branch in self._branches if not branch.is_empty]
            how = self._n_asked, delta / len(branches)
            found = [branch.bands(*how, calibrated=calibrated) for branch in branches]
        known = [models for models in found if models is not None]
        return regret_bound(known) if len(known) == len(found) else math.inf


def _as_told(branch: Branch, x: Array) -> Params:
    """Return a point as the user sees it, as it was told if it was."""
    trials = branch.history.trials
    known = next((t for t in trials if np.array_equal(t.x, x)), None)
    return fresh(branch.space.decode(x) if known is None else known.params)
