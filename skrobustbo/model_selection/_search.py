"""`RobustBayesSearchCV`: the search as a scikit-learn estimator."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import partial
from importlib import import_module
from typing import Any, Literal, Self
from warnings import warn

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skrobustbo._arguments import checked_count
from skrobustbo._sklearn_compat import (
    HTMLReprMixin,
    fit_context,
)
from skrobustbo.checkpoint import CheckpointError, Journal, open_journal
from skrobustbo.evaluation import OutOfFold, SearchRun, Stops
from skrobustbo.model_selection._checks import check_shape, shape_of
from skrobustbo.model_selection._default import default_among, gain_over_default
from skrobustbo.model_selection._failures import Outcome
from skrobustbo.model_selection._findings import Findings, missing_columns
from skrobustbo.model_selection._honest import collector, honest
from skrobustbo.model_selection._html import account
from skrobustbo.model_selection._listening import listening, record_of, table_of
from skrobustbo.model_selection._optimism import Honest
from skrobustbo.model_selection._preparing import prepared
from skrobustbo.model_selection._report import report, summary
from skrobustbo.model_selection._settings import Data, Search
from skrobustbo.model_selection._softly import Attempt, softly
from skrobustbo.model_selection._source import OptimizerSource

Params = dict[str, Any]
#: Returns the report of a search in some form.
How = Callable[[Findings, Attempt], str]
#: Called with the identity of a search.
Begin = Callable[[str], None]


_HONEST = (
    *("honest_score_", "honest_interval_", "honest_optimism_"),
    *("gain_", "gain_interval_"),
)


class RobustBayesSearchCV(HTMLReprMixin, Search):
    """Cross-validated Bayesian hyperparameter search that is hard to trap.

    Use it like `GridSearchCV`. Bayesian optimisation chooses the candidates, with a
    policy that works even if the length scales of its Gaussian process are unknown.

    Parameters
    ----------
    estimator : estimator
        The estimator to tune. It needs a `score` method, unless `scoring` is given.
    param_space : dict, list of dict, Space or "suggested"
        Maps each parameter to a `Real`, `Integer` or `Categorical`, a sequence of
        values to choose from, or a frozen `scipy.stats` distribution. A list of dicts
        defines branches of one search, each with its own parameters, such as the models
        to choose from. Promising branches get more of the budget. "suggested" searches
        the most important parameters from `suggested_space`; more candidates allow more
        parameters.
    n_iter : int, default=50
        Number of candidates to evaluate, including the initial ones.
    policy : str or Policy, default="robust"
        How to choose candidates: a name from `skrobustbo.policies.available` or a
        policy object.
    n_initial_points : int, default=None
        Number of candidates before the model takes over, not counting an untuned
        estimator outside the space. `initial_params` come first; the others cover the
        space (see `Space.sample`). Default: 2 d + 2 for d parameters, but at least 3
        and at most a third of `n_iter`.
    initial_params : list of dict, default=None
        Candidates to try first. A parameter missing from a dict keeps its current value
        in the estimator, or in the component that the dict sets.
    include_default : bool, default=True
        Whether the first candidate is the estimator as given. It counts towards
        `n_iter` and always gets a full evaluation on every fold. The best score is
        therefore never below the untuned estimator's, unless fitting that fails. See
        the notes.
    previous : search, str, dict, DataFrame or PreviousCandidates, default=None
        Candidates from an earlier search, for example over a narrower space: a fitted
        search, the path of a checkpoint, a ``cv_results_`` dict or table (also from
        `GridSearchCV`), or the result of a function in `skrobustbo.previous`. The model
        learns from those that fit the space, at no cost. Only the best one is evaluated
        again, as the first candidate. The fitted attributes cover only the candidates
        from this call. See the notes.
    batch_size : int, default=1
        Number of candidates evaluated in parallel. A larger value keeps more workers
        busy, but the search learns less from each candidate.
    schedule : {"rounds", "window", "free"}, default="rounds"
        When to propose the next candidate. "rounds": when a whole round has finished.
        "window": when the oldest of the `batch_size` running candidates has finished.
        Workers rarely wait, and the model receives scores in the order proposed, so the
        search is the same for every `n_jobs`. "free": when any running candidate has
        finished. Workers never wait, but the candidates then depend on how long fits
        take.
    racing : bool, "confident" or Racing, default=None
        True or "confident": stop a candidate after some of its folds if the models and
        those folds show that it is very unlikely to become the best. A
        `skrobustbo.Racing` changes the settings. None or False: run every candidate on
        every fold.
    resource : str or Resource, default=None
        Evaluate candidates with part of this resource first, and only the better ones
        with all of it: "n_samples", or an integer parameter of the estimator such as
        "n_estimators" or "max_iter". A `skrobustbo.Resource` also sets the smallest and
        the full amount. `n_iter` then counts full evaluations, measured by the resource
        rather than by time. None: all evaluations are full. See the notes.
    constraints : callable, default=None
        Takes a params dict and returns whether to allow it. Called before any fit.
    search_metric : str, default=None
        The metric to maximise, if there are several. Default: `refit`, if that is a
        name; otherwise you must set it.
    max_time : float, default=None
        Time limit of the search in seconds, excluding the refit. The search overruns it
        by at most one fold, and starts no candidate that it does not expect to finish.
        If the time allows fewer than `n_iter` candidates, "robust" plans for that
        number and refines the best ones at the end.
    fit_timeout : float, default=None
        Time limit of one fold in seconds, including scoring. A fold that takes longer
        is killed and counts as failed. With a limit, folds run in separate worker
        processes, even with one job, on this machine or on a Dask cluster.
    tol : float or "noise", default=None
        "noise": end the search when the expected gain from 20 more candidates is at
        most the standard error of the difference between two mean scores on the same
        folds, but not before 15 candidates per parameter. The report shows both
        numbers. A number in score units: end the search when
        `optimizer_.regret_bound()`, an upper bound on the remaining gain under the
        policy's assumptions, is at most `tol`. With
        ``RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0)``, this bound falls
        sooner than with "robust".
    checkpoint : str or path, default=None
        File that stores the progress of the search: the splits, the seed, the
        candidates, and each fold's result as soon as it is available. After an
        interruption or a crash, or with a larger `n_iter`, the same call resumes the
        search and gives the same results as an uninterrupted one. A call with other
        data, another estimator or other settings raises an error. See the notes.
    scoring : str, callable, list, tuple or dict, default=None
        As in `GridSearchCV`.
    n_jobs : int, default=None
        Number of folds to run in parallel. It does not change the result.
    refit : bool, str or callable, default=True
        As in `GridSearchCV`. The package provides three callables:
        `skrobustbo.best_posterior_mean`, `skrobustbo.one_standard_error` and
        `skrobustbo.default_unless_better`.
    cv : int, cross-validation generator or iterable, default=None
        As in `GridSearchCV`. The splits are drawn once and are the same for all
        candidates.
    verbose : int, default=0
        1 shows a progress line and the contents of a checkpoint; larger numbers print a
        line for each fold, as in `GridSearchCV`.
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
        Whether to refit folds in the checkpoint that raised an error or have no finite
        score. Use it after you have fixed the problem. The candidates stay the same.
    honest_score : bool or "folds", default=False
        Whether to estimate the winner's score on new rows. `best_score_` is too
        optimistic, because it is the best of many noisy scores. True subtracts the luck
        of the best candidate, estimated by bootstrapping the predictions for the test
        rows of all folds. It needs no further fits, but requires a metric of
        predictions (a name, or `make_scorer`). "folds" subtracts a bias estimated from
        the scores of the folds (Tibshirani and Tibshirani, 2009, equation 4). It works
        with any `scoring`, but gives no interval. See the notes.
    on_trial : callable, default=None
        Called in this process with a dict for each finished candidate: ``number``,
        ``status`` ("complete", "failed", "stopped" by a race, or "partial" if it used
        part of a resource), ``params``, ``branch`` (-1 for an untuned estimator outside
        the space), ``score``, ``split_scores`` (a dict of lists if there are several
        metrics), ``fit_time`` and ``score_time`` (seconds, over all folds), ``failure``
        (one line, or None), and ``model_label``, ``model_mean`` and ``model_std`` as in
        `cv_results_`. If it raises an error, you get a warning. It skips candidates
        already complete in the checkpoint. For MLflow, pass a
        `skrobustbo.integrations.mlflow.MLflowCallback`.

    Attributes
    ----------
    cv_results_ : dict of arrays
        As in `GridSearchCV`, with extra columns: ``model_label`` (the model that chose
        the candidate; "initial" for the initial design; "fallback" for a design point
        used because a model failed; "default" for the estimator as given),
        ``model_mean`` and ``model_std`` (that model's prediction before the fits, in
        score units; nan for initial points), and ``posterior_mean`` and
        ``posterior_std`` (from a MAP model of all the data).
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, \
    refit_time_, multimetric_, classes_, n_features_in_, feature_names_in_
        As in `GridSearchCV`.
    optimizer_ : Optimizer
        The optimizer. You can inspect it, or ask it for more candidates.
    n_iter_ : int
        Number of evaluated candidates; with `resource`, number of evaluations.
    n_resources_, n_candidates_, min_resources_, max_resources_
        With `resource`, as in `HalvingRandomSearchCV`: the amounts in ascending order,
        the number of candidates evaluated with each, the smallest amount and the full
        one.
    tuner_time_ : float
        Seconds spent choosing candidates.
    gain_ : float
        By how much the best score exceeds that of the estimator as given. With
        `honest_score`, it excludes the optimism of the choice. Exists only if the
        estimator as given is a candidate.
    gain_interval_ : tuple of two floats
        With `honest_score=True`: the ends of the 95% interval for `gain_`; else nan.
    honest_score_ : float
        With `honest_score`: the estimated score of the winner's models on new rows.
        nan, with a warning that names the cause, if it cannot be computed.
    honest_interval_ : tuple of two floats
        The ends of the 95% interval for `honest_score_`; nan with "folds".
    honest_optimism_ : float
        With `honest_score`: `best_score_` minus `honest_score_`. Exists only if
        `best_score_` exists.
    stop_reason_ : {"n_iter", "max_time", "tol", "interrupted", "space_exhausted", \
    "callback"}
        Why the search ended.

    Notes
    -----
    Each fold uses one inner thread, whatever `n_jobs` is, so scores do not depend on
    `n_jobs`. Set `n_jobs` to use all cores. An estimator's own `n_jobs` or number of
    threads applies only to the refit. To allow more threads in a fold, call `fit` under
    ``joblib.parallel_config("loky", inner_max_num_threads=...)``.

    The first Ctrl-C (or SIGTERM) ends the search with the candidates finished so far. A
    second one aborts it. Candidates with unfinished folds are not in the results, but
    stay pending in `optimizer_`.

    The estimator as given is candidate 0 (`include_default`). If its current values for
    the searched parameters form a point in a branch, it becomes the first of the
    `initial_params`. Otherwise, for example if ``gamma="scale"`` and the space has a
    range for ``gamma``, no model learns from it. Its `params` are then the current
    values of all searched parameters that `get_params` lists, and its
    ``posterior_mean`` is its score. If it wins, the refit fits a clone of the
    estimator, in which even a parameter used as a `resource` keeps its value. A
    callable `refit` sees its row like any other. With ``n_iter=1``, it is the only
    candidate. It is left out, and the report says so, if `previous` contains its score
    or a searched pipeline step has no estimator yet.

    A `checkpoint` is a database without pickles. Opening one runs no code, whoever
    wrote it, and `fit` checks everything it reads, but trusts the scores. It compares
    functions by name, and random generators by type. The file is locked while `fit`
    runs. Between calls, you may change `n_jobs`, `pre_dispatch`, `verbose`, `refit`,
    `max_time` and `tol`, and increase `n_iter`.

    With `racing`, the scores of folds that did not run are nan in `cv_results_`. The
    mean score of a stopped candidate is nan too, so it ranks last and is never the
    best. There are four more columns: ``n_splits_evaluated``, ``raced``, and
    ``race_mean`` and ``race_std``, which hold the score predicted from a stopped
    candidate's folds. With several metrics, the race uses `search_metric`. A candidate
    ends when one of its folds fails.

    With `resource`, each evaluation is a row of `cv_results_`, with the extra columns
    ``n_resources``, ``iter`` (the position of that amount) and ``resource_score`` (the
    mean test score with this amount). Only full evaluations have a ``mean_test_score``,
    so only they can win. The user guide explains the rest.

    The scores in `previous` must come from the same data, estimator and metric, because
    the model treats them like its own. The best earlier candidate is evaluated again,
    so the winner has always been fitted in this call. For scores from other data, pass
    a `PreviousCandidates` with ``same_data=False``. The search then only tries the best
    three first. It detects by itself if a checkpoint comes from other data, or a fitted
    search had a different number of rows or columns.

    The honest score uses the metric of `best_score_`, or `search_metric` if there are
    several metrics and `refit` names none. It refers to the candidate with the highest
    score, even if a callable `refit` chooses another one, and to models trained on as
    many rows as in one fold. With True, the bootstrap draws rows, or whole groups if
    you pass `groups` to `fit`. It uses sample weights if the metric accepts them. The
    user guide explains the estimate and how much memory the predictions take. A
    checkpoint stores them, so you may set True only if its first call did. Uncommon
    metrics can take a minute; `verbose` shows the progress.

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

    _notes: Outcome
    #: The record of the run, for `resume`; None if there is a checkpoint.
    _memory: Journal | None = None

    # The estimator is not validated yet, so do not skip its validation.
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
            Passed to the estimator's `fit`, the scorer and the splitter, as in
            `GridSearchCV`.

        Returns
        -------
        self : RobustBayesSearchCV

        Raises
        ------
        ValueError
            Before any fit, if the space, the policy, a metric or an initial point is
            invalid, or if `honest_score=True` has no predictions to use or the splits
            are in time order. If all fits fail: after three candidates if they all
            raise the same error, otherwise after the initial design (with a numeric
            `error_score`, the search continues). A
            `skrobustbo.checkpoint.CheckpointError` if the checkpoint cannot be read or
            written, belongs to another search, or is in use.
        TimeoutError
            If no candidate finished within `max_time`.
        """
        with listening(self) as begin:
            self._run(X, y, params, begin)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.transformer_tags = deepcopy(inner.transformer_tags)
        return tags

    def report(
        self, *, details: bool = False, format: Literal["text", "json"] = "text"
    ) -> str:
        """Return a short report of the fitted search.

        The report shows the best candidate and the uncertainty of its score, parameters
        at an end of their range, failures and their causes, where the time went, why
        the search ended, and what to do next. Notebooks show it below the estimator's
        diagram. If a section cannot be written, the report says so, and a warning names
        the cause.

        Parameters
        ----------
        details : bool, default=False
            Whether to add the models' predictions, and how well the candidates cover
            the space.
        format : {"text", "json"}, default="text"
            "json" returns the same facts as a JSON object, for programs. Scores and
            intervals have all their digits, and unknown facts are null.

        Returns
        -------
        text : str
            The report.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `cv_results_` lacks columns that the report needs.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skrobustbo import Real, RobustBayesSearchCV
        >>> X, y = load_iris(return_X_y=True)
        >>> model, space = LogisticRegression(C=0.01), {"C": Real(1e-4, 0.1, log=True)}
        >>> search = RobustBayesSearchCV(model, space, n_iter=8, random_state=0)
        >>> print(search.fit(X, y).report())
        RobustBayesSearchCV of LogisticRegression: 8 candidates, 5 folds each
        <BLANKLINE>
        Best        score 0.947 ± 0.023, candidate 4
                      C = 0.1
        ...
        At an edge  C is at its upper bound 0.1: widen it
        ...
        """
        check_is_fitted(self, "_notes")
        if format not in ("text", "json"):
            raise ValueError(
                f"The 'format' of a report must be 'text' or 'json'. Got {format!r} "
                "instead."
            )
        how: How = partial(report, details=details)
        nothing = f"{type(self).__name__}: no report could be written"
        if format == "json":
            how, nothing = summary, "null"
        with softly() as attempt:
            missing = attempt("the report", self._missing, None)
            if missing:
                raise ValueError(
                    "The 'cv_results_' of a search must have all its columns for a "
                    f"report. Got none for {missing}; fit again, and drop them from a "
                    "copy."
                )
            told = partial(self._told, how, attempt)
            return nothing if missing is None else attempt("the report", told, nothing)

    def plot(self) -> Any:
        """Plot how the search went and which parameters matter.

        The figure combines a `ConvergenceDisplay` and, if the policy has a model, an
        `ImportanceDisplay`.

        Returns
        -------
        figure : matplotlib figure
            A new figure.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import SVC
        >>> from skrobustbo import Real, RobustBayesSearchCV
        >>> X, y = load_iris(return_X_y=True)
        >>> space = {"C": Real(1e-3, 1e3, log=True), "kernel": ["rbf", "linear"]}
        >>> search = RobustBayesSearchCV(SVC(), space, n_iter=8, random_state=0)
        >>> figure = search.fit(X, y).plot()  # doctest: +SKIP
        """
        check_is_fitted(self, "_notes")
        # The displays depend on the search, so they are imported only when needed.
        return import_module("skrobustbo.displays").overview(self)

    def trials_dataframe(self) -> Any:
        """Return the candidates as a pandas DataFrame.

        Returns
        -------
        table : DataFrame
            One row per candidate, in the order proposed, with the fields of `on_trial`:
            ``status``, ``branch``, ``score``, ``fit_time``, ``score_time``,
            ``failure``, ``model_label``, ``model_mean``, ``model_std``, and a column
            for each parameter (``param_C``) and each split (``split0_test_score``).
            Scores of folds that did not run, and parameters that a branch lacks, are
            missing values. The index is the candidate's number.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import SVC
        >>> from skrobustbo import Real, RobustBayesSearchCV
        >>> X, y = load_iris(return_X_y=True)
        >>> space = {"C": Real(1e-3, 0.3, log=True)}
        >>> search = RobustBayesSearchCV(SVC(), space, n_iter=8, random_state=0)
        >>> table = search.fit(X, y).trials_dataframe()
        >>> table["status"].value_counts().to_dict()
        {'complete': 8}
        """
        check_is_fitted(self, "_notes")
        notes = self._notes
        return table_of(record_of(trial, notes.metric) for trial in notes.trials)

    def _html_repr(self) -> str:
        with softly() as attempt:
            name = f"<pre>{type(self).__name__}</pre>"
            return attempt("the HTML", super()._html_repr, name)

    def _more_html(self) -> str:
        if not hasattr(self, "_notes"):
            return ""
        with softly() as attempt:
            if attempt("the report", self._missing, ["every column"]):
                return ""
            return attempt("the report", partial(self._told, account, attempt), "")

    def _missing(self) -> list[str]:
        return missing_columns(self, self._notes)

    def _told(self, how: How, attempt: Attempt) -> str:
        return how(Findings(self, self._notes), attempt)

    # The estimator is not validated yet, so do not skip its validation.
    @fit_context(prefer_skip_nested_validation=False)
    def resume(self, X: Any, y: Any = None, *, n_iter: int, **params: Any) -> Self:
        """Continue a fitted search: evaluate more candidates and refit the best.

        The splits, the seed, the candidates and their scores are kept, so only new
        candidates and the refit need fits. You do not need a `checkpoint`; if there is
        one, it is extended too. The fitted attributes then describe the whole search:
        `n_iter_` counts all candidates, while the setting `n_iter` does not change.

        Parameters
        ----------
        X, y : array-like
            The same data as in `fit`, because the search does not store them. Without a
            checkpoint, only their shape is checked.
        n_iter : int
            Number of further candidates. Any left unfinished by an interruption are
            completed first and count towards this number.
        **params : dict
            Further arguments of `fit`.

        Returns
        -------
        self : RobustBayesSearchCV

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the data have a different shape, or you changed a setting that the
            candidates depend on. A `skrobustbo.checkpoint.CheckpointError` if the
            checkpoint cannot be used.

        Notes
        -----
        ``fit`` with ``n_iter=20`` and then ``resume(X, y, n_iter=10)`` evaluates the
        same candidates as ``fit`` with ``n_iter=30`` if two things are equal: the size
        of the initial design, which by default is at most a third of `n_iter` (set
        `n_initial_points`), and how the policy uses the planned number of candidates.
        The plan from `fit` stays: "robust" spends the last of its 20 candidates on
        refining the best, which the longer search would do later. With a checkpoint,
        the result is the same as when you repeat `fit` with a larger `n_iter`.

        `resume` ignores your changes to `optimizer_` through `ask` or `tell`.
        `max_time` starts again, as does the number of candidates that "robust" plans
        for within it. The tuner proposes the earlier candidates again, which takes time
        but no fits. If `resume` raises an error, the earlier results stay. With
        `honest_score=True`, a fitted search without a checkpoint keeps the predictions
        in memory.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import SVC
        >>> from skrobustbo import Real, RobustBayesSearchCV
        >>> X, y = load_iris(return_X_y=True)
        >>> space = {"C": Real(1e-2, 1e3, log=True)}
        >>> search = RobustBayesSearchCV(SVC(), space, n_iter=6, random_state=0)
        >>> search.fit(X, y).n_iter_
        6
        >>> search.resume(X, y, n_iter=4).n_iter_
        10
        """
        check_is_fitted(self, "_notes")
        more = checked_count("n_iter", n_iter, "RobustBayesSearchCV.resume")
        self._check_can_resume(X)
        before, n_done = dict(vars(self)), len(self._notes.trials)
        with listening(self) as begin:
            try:
                self._run(X, y, params, begin, self._total(more))
            except BaseException:
                self._restore(before)
                raise
            if self.n_iter_ < n_done:
                reason = self.stop_reason_
                self._restore(before)
                self.stop_reason_ = reason
                warn(
                    "The search ended before the earlier candidates had been asked "
                    "again: its results are those of before.",
                    stacklevel=3,
                )
        return self

    def _total(self, more: int) -> int:
        """Return the total `n_iter` after adding `more` candidates."""
        notes = self._notes
        if self.resource is not None:
            return math.ceil(notes.n_used) + more
        n_asked = notes.n_used if self._memory is None else self._memory.n_asked[1]
        return max(len(notes.trials) + more, int(n_asked))

    def _restore(self, attributes: Params) -> None:
        self.__dict__.clear()
        self.__dict__.update(attributes)

    def _check_can_resume(self, X: Any) -> None:
        if self.checkpoint is not None:
            name = os.fsdecode(self.checkpoint)
            if not os.path.exists(name):
                raise CheckpointError(
                    f"The checkpoint {name!r} is not there, and resume needs it: give "
                    "the path of the file that fit wrote."
                )
        elif self._memory is None:
            raise ValueError(
                "The 'checkpoint' of RobustBayesSearchCV must be that of fit when "
                "resume is called. Got None instead; set it again, as the file has "
                "the earlier candidates."
            )
        else:
            check_shape(X, self._memory.shape)

    def _run(
        self, X: Any, y: Any, params: Data, begin: Begin, n_iter: int | None = None
    ) -> None:
        """Make all checks that need no fits, run the search, and set the attributes.

        `begin` is called with the identity of the search just before the first fit.
        `n_iter` is given when resuming.
        """
        resuming = n_iter is not None
        data = {"X": X, "y": y, **params}
        stops = Stops(self.max_time, self.fit_timeout, interruptible=True)
        with self._journal(resuming) as journal:
            source = prepared(self, journal, data, n_iter or self.n_iter, stops)
            kept = collector(self, source.optimizer.space, y, journal)
            given = X, y, params, stops, journal, kept or OutOfFold()
            run = SearchRun(self, source, *given)
            # When resuming, keep the earlier results until there are new ones.
            if not resuming:
                for name in ("_notes", "_memory", "best_score_", *_HONEST):
                    self.__dict__.pop(name, None)
                self.optimizer_ = source.optimizer
            begin(journal.identity)
            reason = run.run()
            journal.end(reason)
        self._memory = journal if journal.path is None else None
        self._conclude(source, reason, kept, data)

    def _journal(self, resuming: bool) -> AbstractContextManager[Journal]:
        """Return a context with the journal, from the file or from memory."""
        if self.checkpoint is not None:
            return open_journal(self.checkpoint, retry_failed=self.retry_failed)
        kept = self._memory if resuming else None
        return nullcontext(Journal() if kept is None else kept)

    def _conclude(
        self, source: OptimizerSource, reason: str, kept: OutOfFold | None, data: Data
    ) -> None:
        """Set the fitted attributes that a run does not set."""
        self.optimizer_ = source.optimizer
        self.n_iter_ = len(source.trials)
        amounts = source.optimizer._rungs.amounts
        if amounts:  # as in scikit-learn's halving searches
            rungs = self.cv_results_["iter"]
            self.n_candidates_ = np.bincount(rungs, minlength=len(amounts)).tolist()
            self.n_resources_ = list(amounts)
            self.min_resources_, self.max_resources_ = amounts[0], amounts[-1]
        self.tuner_time_ = source.seconds
        self.stop_reason_ = reason
        self._notes = source.notes()
        for name in _HONEST:  # a `resume` may not set these again
            self.__dict__.pop(name, None)
        # The search is complete now, whatever happens next.
        with softly() as attempt:
            if self._memory is not None:
                note = partial(shape_of, data["X"])
                self._memory.shape = attempt("the shape of X, for 'resume'", note, None)
            raw = Honest(gain_over_default(source.trials, source.metric))
            self._set_honest_score(Honest(), raw)
            if self.honest_score:
                compute = partial(honest, self, source.trials, kept, data.get("groups"))
                found = attempt("honest_score_", compute, (Honest(), Honest()))
                self._set_honest_score(*found)

    def _set_honest_score(self, found: Honest, gain: Honest) -> None:
        if default_among(self._notes.trials) is not None:
            self.gain_, self.gain_interval_ = gain.score, gain.interval
        if self.honest_score:
            self.honest_score_, self.honest_interval_ = found.score, found.interval
            if hasattr(self, "best_score_"):
                self.honest_optimism_ = float(self.best_score_ - found.score)
