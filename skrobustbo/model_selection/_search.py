"""`RobustBayesSearchCV`: the search as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from skrobustbo._arguments import LARGEST_COUNT
from skrobustbo._sklearn_compat import (
    BaseSearchCV,
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
)
from skrobustbo.evaluation import run_search
from skrobustbo.model_selection._cloning import CloningMixin
from skrobustbo.model_selection._listening import listening
from skrobustbo.model_selection._reported import ReportMixin
from skrobustbo.model_selection._resuming import ResumeMixin
from skrobustbo.policies import Policy
from skrobustbo.previous import PreviousCandidates
from skrobustbo.space import Space

Params = dict[str, Any]


class RobustBayesSearchCV(ResumeMixin, ReportMixin, CloningMixin):
    """Bayesian search over parameters, with cross-validation, that does not get stuck.

    Use it like `GridSearchCV`. Candidates are chosen by Bayesian optimisation with a
    policy that works even if the length scales of its Gaussian process are unknown.

    Parameters
    ----------
    estimator : estimator
        The estimator to tune. It needs a `score` method, unless `scoring` is given.
    param_space : dict, list of dict or Space
        For each parameter a `Real`, `Integer` or `Categorical`; a sequence of values,
        of which only these are tried; or a frozen `scipy.stats` distribution. The dicts
        of a list are branches of one search, each with its own parameters, for example
        the models to choose from. More promising branches get more of the budget.
    n_iter : int, default=50
        Number of candidates to evaluate, including the initial ones.
    policy : str or Policy, default="robust"
        How candidates are chosen: a name from `skrobustbo.policies.available` or an
        object.
    n_initial_points : int, default=None
        Number of candidates before the model takes over. `initial_params` come first;
        the rest is a scrambled Sobol sequence. Default: 2 d + 2 for d parameters, at
        least 3, at most a third of `n_iter`.
    initial_params : list of dict, default=None
        Candidates to try first. Parameters missing from a dict keep the current values
        of the estimator, or of the component that the dict sets.
    previous : search, str, dict, DataFrame or PreviousCandidates, default=None
        Candidates of an earlier search, for example of a narrower space: a fitted
        search, the path of a checkpoint, a ``cv_results_`` (also of `GridSearchCV`), a
        table of it, or the result of a function of `skrobustbo.previous`. The model
        learns from those that fit the space, at no cost. Only the best one is evaluated
        again, as the first candidate. The fitted attributes contain the candidates of
        this call only. See the notes.
    batch_size : int, default=1
        Number of candidates evaluated in parallel, each with its folds. A larger value
        keeps more workers busy, but the search learns less from each candidate.
    schedule : {"rounds", "window", "free"}, default="rounds"
        When the next candidate is proposed. "rounds": when all of a round are finished.
        "window": as soon as the oldest of the `batch_size` running candidates is
        finished. Workers rarely wait. The scores are told in the order of the
        proposals, so the search is the same for every `n_jobs`. "free": as soon as any
        of them is finished. Workers never wait, but the proposed candidates then depend
        on how long fits take.
    racing : {"confident"} or None, default=None
        "confident": stop a candidate after some of its folds if, according to the
        models and these folds, it is very unlikely to become the best. None: run every
        candidate on every fold.
    racing_delta : float, default=0.05
        Upper bound on the probability that racing stops a candidate that is better than
        the best by more than the margin. It holds for the whole search, under the
        models that the policy considers plausible.
    racing_margin : float, default=0.25
        The margin, in standard errors of a mean score. They do not include what makes
        a fold easier or harder for all candidates.
    resource : str, default=None
        Evaluate candidates with a part of this resource first, and only the better ones
        with all of it: "n_samples", or an integer parameter of the estimator such as
        "n_estimators" or "max_iter". `n_iter` then counts full evaluations. None: all
        evaluations are full. See the notes.
    min_resources : int, default=None
        The smallest amount of the resource. Default: a ninth of the full amount (with
        ``factor=3``), and at least 20 rows of each class for "n_samples".
    max_resources : int, default=None
        The full amount. Default: all rows, or the value in the estimator. Required if
        its `get_params` does not list the resource.
    factor : int, default=3
        Each amount of the resource is this many times the amount below it.
    constraints : callable, default=None
        Takes a params dict and returns whether it may be tried. Called before any fit.
    search_metric : str, default=None
        With several metrics, the one to maximise. Default: `refit` if that is a name;
        otherwise you must set it.
    max_time : float, default=None
        Time limit of the search in seconds, without the refit. The search ends within
        one fold of it. A candidate is not started if it is not expected to finish.
    fit_timeout : float, default=None
        Time limit of one fold in seconds, including scoring. A fold that takes longer
        is killed and counts as failed. Folds then run in separate worker processes,
        even with one job, on this machine or on a Dask cluster.
    tol : float or "noise", default=None
        End the search when `optimizer_.regret_bound()`, the most that is left to gain
        under the policy's assumptions, is at most `tol`, in score units. "noise" uses
        the standard error of the best candidate's mean score. With `tol`, "robust" is
        ``RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0)``, under which the
        bound falls sooner.
    checkpoint : str or path, default=None
        File that stores the progress of the search: splits, seed, candidates and the
        results of every fold, as soon as they are available. After an interruption or a
        crash, or with a larger `n_iter`, the same call resumes from it. The results are
        those of an uninterrupted search. A call with other data, another estimator or
        other settings raises an error. See the notes.
    scoring : str, callable, list, tuple or dict, default=None
        As in `GridSearchCV`.
    n_jobs : int, default=None
        Number of folds to run in parallel. It does not change the result of the
        search.
    refit : bool, str or callable, default=True
        As in `GridSearchCV`. The package provides two callables:
        `skrobustbo.best_posterior_mean` and `skrobustbo.one_standard_error`.
    cv : int, cross-validation generator or iterable, default=None
        As in `GridSearchCV`. The splits are drawn once and are the same for all
        candidates.
    verbose : int, default=0
        1 shows one line of progress, and what a checkpoint holds; more prints a line
        for each fold, as in `GridSearchCV`.
    pre_dispatch : int or str, default="2*n_jobs"
        As in `GridSearchCV`.
    random_state : int, RandomState or None, default=None
        Seed of all randomness in the search.
    error_score : "raise" or float, default=nan
        Score of a fold whose fit fails. With nan, the candidate is recorded as failed,
        and the search avoids similar candidates.
    return_train_score : bool, default=False
        Whether `cv_results_` includes training scores.
    retry_failed : bool, default=False
        Whether to fit those folds of the checkpoint again that raised or got no finite
        score. Use it after you have fixed the problem. The candidates stay the same.
    honest_score : bool or "folds", default=False
        Whether to estimate the winner's score on new rows. `best_score_` is too
        optimistic, because it is the best of many noisy scores. True subtracts the
        expected noise of the winner (empirical Bayes; Efron and Morris, 1973), which it
        estimates from the predictions for the test rows of all folds. It needs no more
        fits, but a metric of predictions (a name, or `make_scorer`).
        "folds" subtracts a bias estimated from the scores of the folds (Tibshirani and
        Tibshirani, 2009, equation 4). It works with any `scoring`, but has no interval.
        See the notes.
    on_trial : callable, default=None
        Called with a dict for each candidate as soon as it is finished, in this
        process: ``number``, ``status`` ("complete", "failed", "stopped" by a race, or
        "partial" with a part of a resource), ``params``, ``branch``, ``score``,
        ``split_scores`` (with several metrics a dict of lists), ``fit_time`` and
        ``score_time`` (seconds, of all folds), ``failure``
        (a line, or None), and ``model_label``, ``model_mean`` and ``model_std`` as in
        `cv_results_`. If it raises, you get a warning. It is not called for candidates
        that are complete in the checkpoint. For MLflow, pass a
        `skrobustbo.integrations.mlflow.MLflowCallback`.

    Attributes
    ----------
    cv_results_ : dict of arrays
        As in `GridSearchCV`, with these extra columns: ``model_label`` (the model that
        chose the candidate; "initial" for the initial design; "fallback" for a point of
        the design used because a model failed), ``model_mean`` and ``model_std``
        (its prediction before the fits, in score units; nan for initial points), and
        ``posterior_mean`` and ``posterior_std`` (a MAP model on all the data).
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, \
refit_time_, multimetric_, classes_, n_features_in_, feature_names_in_
        As in `GridSearchCV`.
    optimizer_ : Optimizer
        The optimizer. You can inspect it, or ask it for more candidates.
    n_iter_ : int
        Number of candidates evaluated; with `resource`, of evaluations.
    n_resources_, n_candidates_, min_resources_, max_resources_
        With `resource`, as in `HalvingRandomSearchCV`: its amounts, ascending, how many
        candidates were evaluated with each, the smallest amount and the full one.
    tuner_time_ : float
        Seconds spent choosing candidates.
    honest_score_ : float
        With `honest_score`: the estimated score of the winner's models on new rows.
        nan if it cannot be computed, with a warning that names the cause.
    honest_interval_ : tuple of two floats
        With `honest_score`: the ends of its 95% interval; nan with "folds".
    honest_optimism_ : float
        With `honest_score`: `best_score_` minus `honest_score_`. Exists only if
        `best_score_` exists.
    stop_reason_ : {"n_iter", "max_time", "tol", "interrupted", "space_exhausted", \
"callback"}
        Why the search ended.

    Notes
    -----
    Each fold runs with one inner thread for every `n_jobs`, so scores do not depend on
    `n_jobs`. Set `n_jobs` to use all cores. An estimator's own `n_jobs` or number of
    threads counts for the refit only. To allow more threads in a fold, call `fit` under
    ``joblib.parallel_config("loky", inner_max_num_threads=...)``.

    The first Ctrl-C (or SIGTERM) ends the search with the candidates finished so far.
    The second one aborts it. Candidates with unfinished folds are left out of the
    results, and stay pending in `optimizer_`.

    A `checkpoint` is a database without pickles. Opening one executes no code, whoever
    wrote it, and everything read is checked. Its scores are trusted, though. Functions
    are compared by name, random generators by type. The file is locked while `fit`
    runs. You may change `n_jobs`, `pre_dispatch`, `verbose`, `refit`, `max_time` and
    `tol` from call to call, and increase `n_iter`. With policy "robust", you may not
    add or remove `tol`.

    With `racing`, the scores of folds that did not run are nan in `cv_results_`. So is
    the mean score of a stopped candidate: it ranks last, and is never the best. There
    are four more columns: ``n_splits_evaluated``, ``raced``, and ``race_mean`` and
    ``race_std``, the score predicted from the folds of a stopped candidate. With
    several metrics the race uses `search_metric`. If a fold fails, its candidate
    ends.

    With `resource`, each evaluation is a row of `cv_results_`, with the extra columns
    ``n_resources``, ``iter`` (the position of this amount) and ``resource_score`` (the
    mean test score with this amount). Only full evaluations have a
    ``mean_test_score``, so only they can win. The user guide explains the rest.

    The scores of `previous` must come from the same data, estimator and metric, because
    the model treats them like its own. The best of the earlier candidates is evaluated
    again, so the winner is always fitted in this call. For scores of other data, pass a
    `PreviousCandidates` with ``same_data=False``. The search then only tries its best
    three candidates first. It detects by itself if a checkpoint belongs to other data,
    or if a fitted search had another number of rows or columns.

    The honest score uses the metric of `best_score_`, or `search_metric` if `refit`
    names none of several metrics. It estimates the score of the candidate with the
    highest score, even if a callable `refit` chooses another one, for models fitted to
    as many rows as in one fold. With True, rows are drawn, or whole groups if you pass
    `groups` to `fit`. Sample weights count if the metric accepts them. The user guide
    explains the estimate and how much memory the predictions take. A checkpoint
    stores them, so you may only set True there if its first call did. Metrics other
    than the common ones can take a minute; with `verbose`, you see how far they are.

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
        "resource": [str, None],
        "min_resources": [Interval(Integral, 1, LARGEST_COUNT, closed="both"), None],
        "max_resources": [Interval(Integral, 1, LARGEST_COUNT, closed="both"), None],
        "factor": [Interval(Integral, 2, LARGEST_COUNT, closed="both")],
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
        resource: str | None = None,
        min_resources: int | None = None,
        max_resources: int | None = None,
        factor: int = 3,
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
        self.resource = resource
        self.min_resources = min_resources
        self.max_resources = max_resources
        self.factor = factor
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

    # The estimator is not validated before the search itself is.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Run the search, then fit the best candidate on all the data.

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
            Before any fit if the space, the policy, a metric or an initial point is
            invalid, or if `honest_score=True` has no predictions to use or the splits
            are in the order of time. If all fits
            fail: after three candidates if all raise the same, otherwise after the
            initial design (with a numeric `error_score`, the search continues). As
            `skrobustbo.checkpoint.CheckpointError` if the checkpoint cannot be read or
            written, belongs to another search, or is in use.
        TimeoutError
            If no candidate was finished within `max_time`.
        """
        data = {"X": X, "y": y, **params}
        with listening(self) as begin:
            with self._set_up(data, begin) as run:
                reason = run_search(self, run.source, X, y, params, **run.settings)
                run.journal.end(reason or run.source.reason)
            self._conclude(run, reason, data)
        return self
