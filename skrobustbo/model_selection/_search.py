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
    """Bayesian search over parameters, with cross-validation, that is hard to trap.

    Use it like `GridSearchCV`. Bayesian optimisation chooses the candidates, with a
    policy that works even if the length scales of its Gaussian process are unknown.

    Parameters
    ----------
    estimator : estimator
        The estimator to tune. It needs a `score` method, unless `scoring` is given.
    param_space : dict, list of dict, Space or "suggested"
        For each parameter a `Real`, `Integer` or `Categorical`; a sequence of values,
        the only ones that are tried; or a frozen `scipy.stats` distribution. A list of
        dicts defines branches of one search, each with its own parameters, for example
        the models to choose from. Promising branches get more of the budget.
        "suggested": the most important parameters of `suggested_space`; the more
        candidates, the more parameters.
    n_iter : int, default=50
        Number of candidates to evaluate, including the initial ones.
    policy : str or Policy, default="robust"
        How to choose candidates: a name from `skrobustbo.policies.available` or an
        object.
    n_initial_points : int, default=None
        Number of candidates before the model takes over, not counting an estimator as
        given outside the space. `initial_params` come first; the others cover the space
        (see `Space.sample`). Default: 2 d + 2 for d parameters, at least 3, at most a
        third of `n_iter`.
    initial_params : list of dict, default=None
        Candidates to try first. Parameters missing from a dict keep the current values
        of the estimator, or of the component that the dict sets.
    include_default : bool, default=True
        Whether the first candidate is the estimator as given. It counts towards
        `n_iter`, and is evaluated on every fold and in full. So no search ends below
        the score of the untuned estimator, unless that cannot be fitted. See the notes.
    previous : search, str, dict, DataFrame or PreviousCandidates, default=None
        Candidates of an earlier search, for example of a narrower space: a fitted
        search, the path of a checkpoint, a ``cv_results_`` (also of `GridSearchCV`), a
        table of it, or the result of a function of `skrobustbo.previous`. The model
        learns from those that fit the space, at no cost. Only the best one is evaluated
        again, as the first candidate. The fitted attributes contain only the candidates
        of this call. See the notes.
    batch_size : int, default=1
        Number of candidates evaluated in parallel, each with its folds. A larger value
        keeps more workers busy, but the search learns less from each candidate.
    schedule : {"rounds", "window", "free"}, default="rounds"
        When to propose the next candidate. "rounds": when all of a round are finished.
        "window": when the oldest of the `batch_size` running candidates is finished.
        Workers rarely wait. Scores are told in the order of the proposals, so the
        search is the same for every `n_jobs`. "free": when any running candidate is
        finished. Workers never wait, but the candidates then depend on how long fits
        take.
    racing : bool, "confident" or Racing, default=None
        True (or "confident", or a `skrobustbo.Racing` with other settings): stop a
        candidate after some of its folds if, according to the models and these folds,
        it is very unlikely to become the best. None (or False): run every candidate on
        every fold.
    resource : str or Resource, default=None
        Evaluate candidates first with a part of this resource, and only the better ones
        with all of it: "n_samples", or an integer parameter of the estimator such as
        "n_estimators" or "max_iter". A `skrobustbo.Resource` also sets the smallest and
        the full amount. `n_iter` then counts full evaluations, in units of the
        resource, not of time. None: all evaluations are full. See the notes.
    constraints : callable, default=None
        Takes a params dict and returns whether it may be tried. Called before any fit.
    search_metric : str, default=None
        The metric to maximise, if there are several. Default: `refit` if it is a name;
        otherwise you must set it.
    max_time : float, default=None
        Time limit of the search in seconds, without the refit. The search ends within
        one fold of it. A candidate does not start if it is not expected to finish. If
        the time allows fewer than `n_iter` candidates, "robust" plans for that number
        and refines the best ones at the end of the time.
    fit_timeout : float, default=None
        Time limit of one fold in seconds, including scoring. A fold that takes longer
        is killed and counts as failed. Folds then run in separate worker processes,
        even with one job, on this machine or on a Dask cluster.
    tol : float or "noise", default=None
        "noise": end the search when the expected gain of 20 more candidates is at most
        the standard error of the difference of two mean scores on the same folds, but
        not before 15 candidates per parameter. The report shows both numbers. A number:
        end the search when `optimizer_.regret_bound()`, an upper bound on what is left
        to gain under the policy's assumptions, is at most `tol`, in score units. With
        ``RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0)``, this bound falls
        sooner than with "robust".
    checkpoint : str or path, default=None
        File that stores the progress of the search: splits, seed, candidates and the
        results of every fold, as soon as they are available. After an interruption or a
        crash, or with a larger `n_iter`, the same call resumes the search. The results
        are those of an uninterrupted search. A call with other data, another estimator
        or other settings raises an error. See the notes.
    scoring : str, callable, list, tuple or dict, default=None
        As in `GridSearchCV`.
    n_jobs : int, default=None
        Number of folds to run in parallel. It does not change the result of the
        search.
    refit : bool, str or callable, default=True
        As in `GridSearchCV`. The package provides three callables:
        `skrobustbo.best_posterior_mean`, `skrobustbo.one_standard_error` and
        `skrobustbo.default_unless_better`.
    cv : int, cross-validation generator or iterable, default=None
        As in `GridSearchCV`. The splits are drawn once and are the same for all
        candidates.
    verbose : int, default=0
        1 shows one line of progress and what a checkpoint holds; larger numbers print a
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
        Whether to fit folds in the checkpoint again if they raised or got no finite
        score. Use it after you have fixed the problem. The candidates stay the same.
    honest_score : bool or "folds", default=False
        Whether to estimate the winner's score on new rows. `best_score_` is too
        optimistic, because it is the best of many noisy scores. True subtracts the luck
        of the best candidate, estimated by a bootstrap of the predictions for the test
        rows of all folds. It needs no further fits, but a metric of predictions (a
        name, or `make_scorer`). "folds" subtracts a bias estimated from the scores of
        the folds (Tibshirani and Tibshirani, 2009, equation 4). It works with any
        `scoring`, but gives no interval. See the notes.
    on_trial : callable, default=None
        Called in this process with a dict for each finished candidate: ``number``,
        ``status`` ("complete", "failed", "stopped" by a race, or "partial" with a part
        of a resource), ``params``, ``branch`` (-1 for an estimator as given outside the
        space), ``score``, ``split_scores`` (with several metrics a dict of lists),
        ``fit_time`` and ``score_time`` (seconds, over all folds), ``failure`` (a line,
        or None), and ``model_label``, ``model_mean`` and ``model_std`` as in
        `cv_results_`. If it raises, you get a warning. It is not called for candidates
        that are complete in the checkpoint. For MLflow, pass a
        `skrobustbo.integrations.mlflow.MLflowCallback`.

    Attributes
    ----------
    cv_results_ : dict of arrays
        As in `GridSearchCV`, with extra columns: ``model_label`` (the model that chose
        the candidate; "initial" for the initial design; "fallback" for a point of the
        design used because a model failed; "default" for the estimator as given),
        ``model_mean`` and ``model_std`` (its prediction before the fits, in score
        units; nan for initial points), and ``posterior_mean`` and ``posterior_std``
        (from a MAP model of all the data).
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, \
    refit_time_, multimetric_, classes_, n_features_in_, feature_names_in_
        As in `GridSearchCV`.
    optimizer_ : Optimizer
        The optimizer. You can inspect it, or ask it for more candidates.
    n_iter_ : int
        Number of evaluated candidates; with `resource`, of evaluations.
    n_resources_, n_candidates_, min_resources_, max_resources_
        With `resource`, as in `HalvingRandomSearchCV`: its amounts in ascending order,
        the number of candidates evaluated with each, the smallest amount and the full
        one.
    tuner_time_ : float
        Seconds spent choosing candidates.
    gain_ : float
        By how much the best score exceeds that of the estimator as given; with
        `honest_score`, without the optimism of the choice. Exists only if the estimator
        as given is a candidate.
    gain_interval_ : tuple of two floats
        With `honest_score=True`: the ends of the 95% interval of `gain_`; else nan.
    honest_score_ : float
        With `honest_score`: the estimated score of the winner's models on new rows. nan
        if it cannot be computed, with a warning that names the cause.
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
    threads applies only to the refit. To allow more threads in a fold, call `fit` under
    ``joblib.parallel_config("loky", inner_max_num_threads=...)``.

    The first Ctrl-C (or SIGTERM) ends the search with the candidates finished so far.
    The second one aborts it. Candidates with unfinished folds are left out of the
    results, and stay pending in `optimizer_`.

    The estimator as given is candidate 0 (`include_default`). If its current values of
    the searched parameters are a point of a branch, it is the first of
    `initial_params`. Otherwise, as with ``gamma="scale"`` for a range, no model learns
    from it. Its `params` are then its current values of all searched parameters that
    its `get_params` lists, and its ``posterior_mean`` is its score. If it wins, the
    refit fits a clone of the estimator. A parameter that is a `resource` also keeps its
    value. A callable `refit` sees its row like any other. With ``n_iter=1``, it is the
    only candidate. It is left out if `previous` contains its score, or if a searched
    step of a pipeline has no estimator yet; the report says so.

    A `checkpoint` is a database without pickles. Opening one runs no code, whoever
    wrote it, and everything read is checked. Its scores are trusted, though. Functions
    are compared by name, random generators by type. The file is locked while `fit`
    runs. Between calls, you may change `n_jobs`, `pre_dispatch`, `verbose`, `refit`,
    `max_time` and `tol`, and increase `n_iter`.

    With `racing`, the scores of folds that did not run are nan in `cv_results_`. So is
    the mean score of a stopped candidate: it ranks last, and is never the best. There
    are four more columns: ``n_splits_evaluated``, ``raced``, and ``race_mean`` and
    ``race_std``, the score predicted from the folds of a stopped candidate. With
    several metrics, the race uses `search_metric`. A candidate ends when a fold fails.

    With `resource`, each evaluation is a row of `cv_results_`, with the extra columns
    ``n_resources``, ``iter`` (the position of this amount) and ``resource_score`` (the
    mean test score with this amount). Only full evaluations have a ``mean_test_score``,
    so only they can win. The user guide explains the rest.

    The scores of `previous` must come from the same data, estimator and metric, because
    the model treats them like its own. The best earlier candidate is evaluated again,
    so the winner is always fitted in this call. For scores of other data, pass a
    `PreviousCandidates` with ``same_data=False``. The search then only tries its best
    three candidates first. It detects by itself if a checkpoint belongs to other data,
    or if a fitted search had another number of rows or columns.

    The honest score uses the metric of `best_score_`, or `search_metric` if `refit`
    names none of several metrics. It estimates the score of the candidate with the
    highest score, even if a callable `refit` chooses another one, for models fitted to
    as many rows as in one fold. With True, the bootstrap draws rows, or whole groups if
    you pass `groups` to `fit`. Sample weights count if the metric accepts them. The
    user guide explains the estimate and how much memory the predictions take. A
    checkpoint stores them, so you may set True there only if its first call did.
    Uncommon metrics can take a minute; `verbose` shows the progress.

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
    #: The record of the run for `resume`; None with a checkpoint.
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
            are in time order. If all fits fail: after three candidates if all raise the
            same error, otherwise after the initial design (with a numeric
            `error_score`, the search continues). As
            `skrobustbo.checkpoint.CheckpointError` if the checkpoint cannot be read or
            written, belongs to another search, or is in use.
        TimeoutError
            If no candidate was finished within `max_time`.
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

        It shows the best candidate and the uncertainty of its score, parameters at an
        end of their range, failures and their causes, where the time went, why the
        search ended, and what to do next. Notebooks show it below the estimator's
        diagram. If a section cannot be written, it says so, and a warning names the
        cause.

        Parameters
        ----------
        details : bool, default=False
            Whether to add what the models predict, and how well the candidates cover
            the space.
        format : {"text", "json"}, default="text"
            "json": the same facts as a JSON object, for programs. Its scores and
            intervals have all digits, and unknown facts are null.

        Returns
        -------
        text : str
            The report.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If columns of `cv_results_` that the report needs are missing.

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
        """Plot how the search went, and which parameters matter.

        These are `ConvergenceDisplay` and, if the policy has a model,
        `ImportanceDisplay`, both of `skrobustbo.displays`.

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
        # Displays are above the search: they are looked up when they are asked for.
        return import_module("skrobustbo.displays").overview(self)

    def trials_dataframe(self) -> Any:
        """Return a table of the candidates, as a pandas DataFrame.

        Returns
        -------
        table : DataFrame
            A row for each candidate, in the order asked, with the fields of `on_trial`:
            ``status``, ``branch``, ``score``, ``fit_time``, ``score_time``,
            ``failure``, ``model_label``, ``model_mean``, ``model_std``, and a column
            for each parameter (``param_C``) and each split (``split0_test_score``).
            Scores of folds that did not run, and parameters that a branch does not
            have, are missing. The index is the number of the candidate.

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

        The splits, the seed, the candidates and their scores are kept: only new
        candidates and the refit need fits. No `checkpoint` is needed; if there is one,
        it is continued too. The fitted attributes then describe the whole search:
        `n_iter_` counts all candidates, while the setting `n_iter` does not change.

        Parameters
        ----------
        X, y : array-like
            The same data as in `fit`, because the search does not store them. Without a
            checkpoint, only their shape is checked.
        n_iter : int
            Number of further candidates. Candidates that were unfinished when the
            search was interrupted are finished first, and count.
        **params : dict
            The further arguments of `fit`.

        Returns
        -------
        self : RobustBayesSearchCV

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the data have another shape, or a setting has changed that the candidates
            depend on. As `skrobustbo.checkpoint.CheckpointError` if the checkpoint
            cannot be used.

        Notes
        -----
        ``fit`` with ``n_iter=20`` and then ``resume(X, y, n_iter=10)`` evaluates the
        same candidates as ``fit`` with ``n_iter=30``, if two things are equal: the size
        of the initial design, which by default is at most a third of `n_iter` (set
        `n_initial_points`), and how the policy uses the planned number of candidates.
        The plan stays that of `fit`: "robust" spends the last of its 20 candidates on
        refining the best, which the longer search would do later. With a checkpoint,
        the result equals that of repeating `fit` with a larger `n_iter`.

        Changes that you made to `optimizer_` with `ask` or `tell` are ignored.
        `max_time` starts again, and so does the number of candidates that it allows,
        for which "robust" plans. The earlier candidates are asked once more, which
        takes time in the tuner but needs no fits. If `resume` raises, the earlier
        results stay; with `honest_score=True`, a fitted search without a checkpoint
        keeps the predictions.

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
        """Return the total `n_iter` with `more` further candidates."""
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
        """Run the search after all checks without fits, and set the attributes.

        `begin` is called with the identity of the search just before the first fit.
        `n_iter` is set when resuming.
        """
        resuming = n_iter is not None
        data = {"X": X, "y": y, **params}
        stops = Stops(self.max_time, self.fit_timeout, interruptible=True)
        with self._journal(resuming) as journal:
            source = prepared(self, journal, data, n_iter or self.n_iter, stops)
            kept = collector(self, source.optimizer.space, y, journal)
            given = X, y, params, stops, journal, kept or OutOfFold()
            run = SearchRun(self, source, *given)
            # When resuming, earlier results stay until there are new ones.
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
        """Return the journal as a context, from the file or from memory."""
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
        for name in _HONEST:  # from before a `resume`, which may not set them
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
