"""`RobustBayesSearchCV`: the search as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import get_tags

from skrobustbo._arguments import LARGEST_COUNT
from skrobustbo._sklearn_compat import (
    BaseSearchCV,
    HasMethods,
    Interval,
    StrOptions,
    clone_parametrized,
    fit_context,
    nested_params,
)
from skrobustbo.evaluation import run_search
from skrobustbo.model_selection._going_on import GoingOnMixin
from skrobustbo.model_selection._reported import ReportMixin
from skrobustbo.policies import Policy
from skrobustbo.previous import PreviousCandidates
from skrobustbo.space import Space

Params = dict[str, Any]


class RobustBayesSearchCV(GoingOnMixin, ReportMixin, BaseSearchCV):
    """Bayesian search over parameters, with cross-validation, that does not get stuck.

    Used like `GridSearchCV`. Candidates are chosen by Bayesian optimisation with a
    policy that stays sound when the length scales of its Gaussian process are unknown.

    Parameters
    ----------
    estimator : estimator
        What is tuned. Either it has a `score` method or `scoring` must be given.
    param_space : dict, list of dict or Space
        For each parameter a `Real`, `Integer` or `Categorical`; a sequence, whose
        values are the only ones ever tried; or a frozen `scipy.stats` distribution. The
        dicts of a list are branches of one search, such as the models to choose from,
        each with parameters of its own: the more a branch promises, the more of the
        budget it gets.
    n_iter : int, default=50
        Candidates to evaluate, the initial ones included.
    policy : str or Policy, default="robust"
        How candidates are chosen: a name of `skrobustbo.policies.available` or an
        object.
    n_initial_points : int, default=None
        Candidates before the model takes over, `initial_params` included; the rest is
        a scrambled Sobol sequence. Default: 2 d + 2 for d parameters, at least 3, at
        most a third of `n_iter`.
    initial_params : list of dict, default=None
        Candidates to try first. What a dict leaves out is taken from the estimator's
        present settings.
    previous : search, str, dict, DataFrame or PreviousCandidates, default=None
        Candidates of an earlier search, such as of a narrower space: a fitted search,
        the path of a checkpoint, a ``cv_results_`` (also of `GridSearchCV`), a table of
        it, or what `skrobustbo.previous` makes of others. Those that fit the space are
        told to the model, at no cost; only the best is evaluated again, as the first
        candidate. The fitted attributes are of the candidates of this call alone. See
        the notes.
    batch_size : int, default=1
        Candidates evaluated side by side with their folds. More of them keep more
        workers busy, and the search learns a little less from each.
    schedule : {"rounds", "window", "free"}, default="rounds"
        When the next candidate is proposed. "rounds": when all of a round are finished.
        "window": as soon as the oldest of the `batch_size` candidates under way is
        finished, so that workers rarely wait; the scores are told in the order of the
        proposals, so that the search is the same for every `n_jobs`. "free": as soon as
        any of them is finished; workers never wait, but which candidates are proposed
        then depends on how long fits take.
    racing : {"confident"} or None, default=None
        "confident": a candidate is stopped after some of its folds when it can hardly
        become the best any more, by the models and the folds so far. None: every
        candidate runs on every fold.
    racing_delta : float, default=0.05
        Probability that racing may stop a candidate that is better than the best by
        more than the margin, in the whole search and under the models that the policy
        holds plausible.
    racing_margin : float, default=0.25
        The margin, in standard errors of the best candidate's mean score.
    constraints : callable, default=None
        Takes a params dict and returns whether it may be tried; asked before any fit.
    search_metric : str, default=None
        With several metrics, the one that the search maximises. Default: `refit`, where
        that is a name; otherwise it must be given.
    max_time : float, default=None
        Seconds for the search without the refit, met to within one fold. A candidate
        that would not be finished by then, going by the folds so far, is not started.
    fit_timeout : float, default=None
        Seconds for one fold, scoring included; past them it is ended and counts as
        failed. Folds then run in worker processes of their own, also with one job, on
        this machine or a Dask cluster.
    tol : float or "noise", default=None
        End when `optimizer_.regret_bound()`, what is left to gain under the policy's
        assumptions, falls to it, in score units. "noise": to the standard error of the
        best candidate's mean score. Policy "robust" then is
        ``RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0)``, under which the
        bound falls sooner.
    checkpoint : str or path, default=None
        File that keeps what is done: splits, seed, candidates and the results of every
        fold, as soon as they are there. The same call, after an interruption, a crash
        or with a larger `n_iter`, goes on from it, and ends as if it had not been
        interrupted. A call with other data, another estimator or other settings is
        refused. See the notes.
    scoring : str, callable, list, tuple or dict, default=None
        As in `GridSearchCV`.
    n_jobs : int, default=None
        Folds to run side by side. It has no influence on what the search
        does.
    refit : bool, str or callable, default=True
        As in `GridSearchCV`. Two callables are at hand:
        `skrobustbo.best_posterior_mean` and `skrobustbo.one_standard_error`.
    cv : int, cross-validation generator or iterable, default=None
        As in `GridSearchCV`; the splits are drawn once and are the same for all
        candidates.
    verbose : int, default=0
        As in `GridSearchCV`.
    pre_dispatch : int or str, default="2*n_jobs"
        As in `GridSearchCV`.
    random_state : int, RandomState or None, default=None
        Seeds everything random in the search.
    error_score : "raise" or float, default=nan
        Score of a fold whose fit fails. With nan, the candidate is remembered as failed
        and its like avoided.
    return_train_score : bool, default=False
        Whether `cv_results_` has training scores.
    retry_failed : bool, default=False
        Whether folds of the checkpoint that raised, or got no finite score, are fitted
        again, as after the fixing of what failed. The candidates there stay.
    honest_score : bool or "folds", default=False
        Whether to estimate what the winner scores on new rows, which is less than
        `best_score_` promises: that is the best of many noisy scores. True bootstraps
        the predictions for the test rows of all folds, after Tsamardinos et al. (2018).
        It needs no more fits, but a metric of predictions (a name, or `make_scorer`).
        "folds" subtracts the bias that the scores of the folds show (Tibshirani and
        Tibshirani, 2009, equation 4); it works with any `scoring`, and has no interval.
        See the notes.
    on_trial : callable, default=None
        Called with a dict for each candidate as soon as it is finished, in this
        process: ``number``, ``status`` ("complete", "failed" or "stopped", by a race),
        ``params``, ``branch``, ``score``, ``split_scores`` (with several metrics a dict
        of lists), ``fit_time`` and ``score_time`` (seconds, of all folds), ``failure``
        (a line, or None), and ``model_label``, ``model_mean`` and ``model_std`` as in
        `cv_results_`. What it raises is a warning. A candidate that a checkpoint has in
        full is not told again.

    Attributes
    ----------
    cv_results_ : dict of arrays
        As in `GridSearchCV`, and for each candidate ``model_label`` (the model that
        chose it, "initial" for the initial design, "fallback" for a point of it that
        took the place of a model's, which had failed), ``model_mean`` and ``model_std``
        (its prediction before the fits, in score units; nan for initial points), and
        ``posterior_mean`` and ``posterior_std`` (a MAP model on all the data).
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, \
refit_time_, multimetric_, classes_, n_features_in_, feature_names_in_
        As in `GridSearchCV`.
    optimizer_ : Optimizer
        The optimizer, to look into or to go on asking.
    n_iter_ : int
        Candidates evaluated.
    tuner_time_ : float
        Seconds spent choosing candidates.
    honest_score_ : float
        With `honest_score`: the estimate of what models of the winner score on new
        rows. nan where it cannot be told.
    honest_interval_ : tuple of two floats
        With `honest_score`: the ends of its 95% interval; nan with "folds".
    honest_optimism_ : float
        With `honest_score`: `best_score_` less `honest_score_`. Only there if
        `best_score_` is.
    stop_reason_ : {"n_iter", "max_time", "tol", "interrupted", "space_exhausted", \
"callback"}
        Why the search ended.

    Notes
    -----
    Folds run with one inner thread (BLAS, OpenMP) for every `n_jobs`, so that scores
    do not depend on it: use the cores through `n_jobs`.

    The first Ctrl-C (or SIGTERM) finishes a search with what is there so far, the
    second aborts it. Candidates of which not all folds are finished are left out of
    the results, and stay pending in `optimizer_`.

    A `checkpoint` is a database without pickles: opening one executes nothing, whoever
    wrote it, and what is read is checked. Its scores are believed, though. Functions
    are compared by their names, random generators by their kind. It is locked while
    `fit` runs. `n_jobs`, `pre_dispatch`, `verbose`, `refit`, `max_time`, `tol` and a
    larger `n_iter` may change from call to call; under policy "robust", `tol` may not
    come or go.

    With `racing`, scores of folds that did not run are nan in `cv_results_`, and so is
    the mean score of a stopped candidate: it ranks last, and is never the best. There
    are four more columns: ``n_splits_evaluated``, ``raced``, and ``race_mean`` and
    ``race_std``, what the folds of a stopped candidate let expect of its score. With
    several metrics the race is on `search_metric`. A fold that fails ends its
    candidate.

    The scores of `previous` must be of the same data, estimator and metric: the model
    learns from them as if they were its own. As the best of them is evaluated again,
    the winner has been fitted in this call, and is hardly worse than what was known.
    For scores of other data, pass a `PreviousCandidates` with ``same_data=False``: its
    best three candidates are tried first, and nothing else is made of them. The search
    finds out by itself where a checkpoint has other data, or a fitted search another
    number of rows or columns.

    The honest score is of the metric of `best_score_`; where `refit` names none of
    several, of `search_metric`. It is about the candidate of the highest score, also if
    a callable `refit` chooses another, and about models fitted to as many rows as in
    one fold. With True, rows are drawn, or whole groups where `groups` is passed to
    `fit`. Sample weights count if the metric takes them. The user guide says how the
    bootstrap works, and what memory the predictions take. A checkpoint keeps them, so
    True may not come or go there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skrobustbo import Real, RobustBayesSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-4, 10, log=True)}
    >>> search = RobustBayesSearchCV(SVC(), space, n_iter=15, random_state=0).fit(X, y)
    >>> bool(search.best_score_ > 0.97)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - as sklearn's
        **BaseSearchCV._parameter_constraints,
        "param_space": [Mapping, list, Space],
        "n_iter": [Interval(Integral, 1, LARGEST_COUNT, closed="both")],
        "policy": [str, Policy],
        "n_initial_points": [Interval(Integral, 1, None, closed="left"), None],
        "initial_params": [list, tuple, None],
        "previous": [
            *(str, os.PathLike, Mapping, PreviousCandidates, HasMethods("fit")),
            *(HasMethods(["keys", "to_dict"]), None),
        ],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "schedule": [StrOptions({"rounds", "window", "free"})],
        "racing": [StrOptions({"confident"}), None],
        "racing_delta": [Interval(Real, 0, 1, closed="neither")],
        "racing_margin": [Interval(Real, 0, None, closed="left")],
        "constraints": [callable, None],
        "search_metric": [str, None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "fit_timeout": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left"), StrOptions({"noise"}), None],
        "checkpoint": [str, os.PathLike, None],
        "retry_failed": ["boolean"],
        "honest_score": ["boolean", StrOptions({"folds"})],
        "on_trial": [callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        param_space: Mapping[str, Any] | Sequence[Mapping[str, Any]] | Space,
        *,
        n_iter: int = 50,
        policy: str | Policy = "robust",
        n_initial_points: int | None = None,
        initial_params: Sequence[Mapping[str, Any]] | None = None,
        previous: Any = None,
        batch_size: int = 1,
        schedule: str = "rounds",
        racing: str | None = None,
        racing_delta: float = 0.05,
        racing_margin: float = 0.25,
        constraints: Callable[[Params], bool] | None = None,
        search_metric: str | None = None,
        max_time: float | None = None,
        fit_timeout: float | None = None,
        tol: float | str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        retry_failed: bool = False,
        honest_score: bool | str = False,
        on_trial: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_space = param_space
        self.n_iter = n_iter
        self.policy = policy
        self.n_initial_points = n_initial_points
        self.initial_params = initial_params
        self.previous = previous
        self.batch_size = batch_size
        self.schedule = schedule
        self.racing = racing
        self.racing_delta = racing_delta
        self.racing_margin = racing_margin
        self.constraints = constraints
        self.search_metric = search_metric
        self.max_time = max_time
        self.fit_timeout = fit_timeout
        self.tol = tol
        self.checkpoint = checkpoint
        self.retry_failed = retry_failed
        self.honest_score = honest_score
        self.on_trial = on_trial
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> Params:
        """Return the settings, and with `deep` those of estimators among them.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the settings of `estimator`, too. What `previous` was
            fitted with is none of ours.

        Returns
        -------
        params : dict
        """
        found: Params = super().get_params(deep=False)
        if deep:
            own = {**found, "previous": None}
            found |= nested_params(own)
        return found

    def __sklearn_clone__(self) -> Any:
        bare = copy(self)
        bare.previous = None
        cloned = clone_parametrized(bare)
        # Clones of fitted searches are not fitted.
        cloned.previous = self.previous
        return cloned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.transformer_tags = deepcopy(inner.transformer_tags)
        return tags

    # The estimator is not validated before the search itself is.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search, then fit the best candidate on all the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **params : dict
            Passed to `fit` of the estimator, the scorer and the splitter, as in
            `GridSearchCV`.

        Returns
        -------
        self : RobustBayesSearchCV

        Raises
        ------
        ValueError
            Before any fit if the space, the policy, a metric or an initial point is not
            understood, or `honest_score=True` has no predictions to go by; if all fits
            fail: after three candidates where all raise the same, else after the
            initial design (a numeric `error_score` lets the search go on). As
            `skrobustbo.checkpoint.CheckpointError` if the checkpoint cannot be read, is
            of another search, in use, or cannot be written.
        TimeoutError
            If no candidate was finished within `max_time`.
        """
        data = {"X": X, "y": y, **params}
        with self._set_up(data) as run:
            reason = run_search(self, run.source, X, y, params, **run.settings)
        self._conclude(run, reason, data)
        return self
