"""Bayesian hyperparameter search as a scikit-learn estimator."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
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
from skrobustbo.model_selection._bootstrap import Honest
from skrobustbo.model_selection._checks import check_shape, shape_of
from skrobustbo.model_selection._default import default_among, gain_over_default
from skrobustbo.model_selection._failures import Outcome
from skrobustbo.model_selection._findings import Findings, missing_columns
from skrobustbo.model_selection._honest import collector, honest
from skrobustbo.model_selection._html import account
from skrobustbo.model_selection._listening import listening, record_of, table_of
from skrobustbo.model_selection._report import report, summary
from skrobustbo.model_selection._settings import Data, Search
from skrobustbo.model_selection._softly import softly
from skrobustbo.model_selection._source import OptimizerSource, prepared

Params = dict[str, Any]
#: Called with the identity of a search.
Begin = Callable[[str], None]


_HONEST = (
    *("honest_score_", "honest_interval_", "honest_optimism_"),
    *("gain_", "gain_interval_"),
)


class RobustBayesSearchCV(HTMLReprMixin, Search):
    """Robust Bayesian hyperparameter search with cross-validation.

    Use this class like `GridSearchCV`. The candidates are chosen by Bayesian
    optimisation, with a policy that works even if the length scales of the Gaussian
    process are unknown.

    Parameters
    ----------
    estimator : estimator
        The estimator to tune. It must have a `score` method, unless `scoring` is given.
    param_space : dict, list of dict, Space or "suggested"
        Maps each parameter name to a `Real`, `Integer` or `Categorical`, a sequence of
        values to choose from, or a frozen `scipy.stats` distribution. A list of dicts
        defines branches with different parameters, for example to choose between
        several models. Promising branches receive more of the budget. With "suggested",
        the search uses the most important parameters from `suggested_space`; a larger
        `n_iter` allows more parameters.
    n_iter : int, default=50
        Number of candidates to evaluate, including the initial candidates.
    policy : str or Policy, default="robust"
        Policy that chooses the candidates: a name from `skrobustbo.policies.available`
        or a policy object.
    n_initial_points : int, default=None
        Number of candidates to evaluate before the model chooses them, not counting an
        untuned estimator outside the space. The `initial_params` come first, followed
        by points that cover the space (see `Space.sample`). The default is 2 d + 2 for
        d parameters, but at least 3 and at most a third of `n_iter`.
    initial_params : list of dict, default=None
        Candidates to evaluate first. Parameters that are missing from a dict keep their
        current values in the estimator or in the component that the dict sets.
    include_default : bool, default=True
        Whether to evaluate the untuned estimator as the first candidate. It counts
        towards `n_iter` and is always evaluated in full on every fold. The best score
        is therefore at least as high as the score of the untuned estimator, unless its
        fit fails. See the notes.
    previous : search, str, dict, DataFrame or PreviousCandidates, default=None
        Candidates from an earlier search, for example over a narrower space. Pass a
        fitted search, the path of a checkpoint, a ``cv_results_`` dict or table (also
        from `GridSearchCV`), or the result of a function in `skrobustbo.previous`. The
        model learns from the candidates that are in the space, and only the best of
        them is evaluated again, as the first candidate. The fitted attributes describe
        only the candidates evaluated in this call. See the notes.
    batch_size : int, default=1
        Number of candidates to evaluate in parallel. A larger value keeps more workers
        busy, but candidates are then chosen with less information.
    schedule : {"rounds", "window", "free"}, default="rounds"
        When to propose the next candidate. With "rounds", new candidates are proposed
        when the whole round has finished. With "window", a candidate is proposed when
        the oldest of the `batch_size` running candidates has finished. Workers rarely
        wait, and the model receives scores in a fixed order, so the search is the same
        for every `n_jobs`. With "free", a candidate is proposed when any running
        candidate has finished. Workers never wait, but the candidates then depend on
        how long the fits take.
    racing : bool, "confident" or Racing, default=None
        Whether to stop poor candidates early. With True or "confident", a candidate is
        stopped after some of its folds if the models and the scores of these folds show
        that it is very unlikely to become the best. Pass a `skrobustbo.Racing` object
        to change the settings.
    resource : str or Resource, default=None
        Resource that is limited at first, so that only the better candidates are
        evaluated with all of it: "n_samples" or an integer parameter of the estimator,
        such as "n_estimators" or "max_iter". A `skrobustbo.Resource` also sets the
        smallest and the full amount. With a resource, `n_iter` counts full evaluations,
        measured by the resource instead of time. See the notes.
    constraints : callable, default=None
        Function that takes the parameters of a candidate and returns whether to allow
        it. It is called before any fit of the candidate.
    search_metric : str, default=None
        The metric to maximise, if there are several. The default is `refit` if that is
        the name of a metric; otherwise, this parameter is required.
    max_time : float, default=None
        Time limit for the search in seconds, excluding the refit. The search exceeds
        the limit by at most one fold, and only starts candidates that it expects to
        finish. If there is not enough time for `n_iter` candidates, the "robust" policy
        plans for a smaller number and refines the best candidates at the end.
    fit_timeout : float, default=None
        Time limit for each fold in seconds, including scoring. A fold that takes longer
        is terminated and counts as failed. With a limit, folds run in separate worker
        processes on this machine or on a Dask cluster, even if there is only one job.
    tol : float or "noise", default=None
        Tolerance for ending the search early. With "noise", the search ends when the
        expected gain from 20 more candidates is at most the standard error of the
        difference between two mean scores on the same folds, but not before there are
        15 candidates per parameter. The report shows both numbers. With a number in
        score units, the search ends when `optimizer_.regret_bound()` is at most `tol`.
        This is an upper bound on the remaining gain under the assumptions of the
        policy. With ``RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0)``, the
        bound decreases faster than with "robust".
    checkpoint : str or path, default=None
        File that stores the progress of the search: the splits, the seed, the
        candidates, and the result of each fold as soon as it is available. To resume
        the search after an interruption or a crash, or with a larger `n_iter`, repeat
        the call. The results are the same as without an interruption. A call with
        different data, a different estimator or different settings raises an error. See
        the notes.
    scoring : str, callable, list, tuple or dict, default=None
        See `GridSearchCV`.
    n_jobs : int, default=None
        Number of folds to run in parallel. This does not affect the results.
    refit : bool, str or callable, default=True
        See `GridSearchCV`. The package provides three callables for this parameter:
        `skrobustbo.best_posterior_mean`, `skrobustbo.one_standard_error` and
        `skrobustbo.default_unless_better`.
    cv : int, cross-validation generator or iterable, default=None
        See `GridSearchCV`. The splits are generated once and are the same for all
        candidates.
    verbose : int, default=0
        With 1, a progress line and the contents of a checkpoint are shown. With larger
        numbers, a line is printed for each fold, as in `GridSearchCV`.
    pre_dispatch : int or str, default="2*n_jobs"
        See `GridSearchCV`.
    random_state : int, RandomState or None, default=None
        Seed for all random numbers in the search.
    error_score : "raise" or float, default=nan
        Score to assign to a fold if its fit fails. With nan, the candidate counts as
        failed, and the search avoids similar candidates.
    return_train_score : bool, default=False
        Whether `cv_results_` includes training scores.
    retry_failed : bool, default=False
        Whether to repeat folds in the checkpoint that raised an error or have no finite
        score. Use this after you have fixed the problem. The candidates stay the same.
    honest_score : bool or "folds", default=False
        Whether to estimate the score of the best candidate on new rows. `best_score_`
        is too optimistic, because it is the best of many noisy scores. With True, its
        optimism is estimated by bootstrapping the predictions for the test rows of all
        folds. This needs no further fits, but requires a metric that compares targets
        with predictions (a name, or a scorer from `make_scorer`). With "folds", the
        bias is estimated from the scores of the folds (Tibshirani and Tibshirani, 2009,
        equation 4). This works with any `scoring`, but does not provide an interval.
        See the notes.
    on_trial : callable, default=None
        Function that is called in the main process with a dict for each finished
        candidate. The keys are ``number``, ``status`` ("complete", "failed", "stopped"
        by a race, or "partial" if it used part of a resource), ``params``, ``branch``
        (-1 for an untuned estimator outside the space), ``score``, ``split_scores`` (a
        dict of lists if there are several metrics), ``fit_time`` and ``score_time``
        (seconds, over all folds), ``failure`` (one line, or None), and ``model_label``,
        ``model_mean`` and ``model_std`` as in `cv_results_`. If the function raises an
        exception, a warning is issued. It is not called for candidates that are already
        complete in the checkpoint. For MLflow, pass a
        `skrobustbo.integrations.mlflow.MLflowCallback`.

    Attributes
    ----------
    cv_results_ : dict of arrays
        Same as in `GridSearchCV`, with additional columns: ``model_label`` (the model
        that chose the candidate; "initial" for the initial design; "fallback" for a
        design point used because a model failed; "default" for the untuned estimator),
        ``model_mean`` and ``model_std`` (the prediction of this model before the fits,
        in score units; nan for initial points), and ``posterior_mean`` and
        ``posterior_std`` (predictions of a MAP model of all the data).
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, \
    refit_time_, multimetric_, classes_, n_features_in_, feature_names_in_
        See `GridSearchCV`.
    optimizer_ : Optimizer
        The optimizer used by the search. You can inspect it or ask it for more
        candidates.
    n_iter_ : int
        Number of evaluated candidates or, with `resource`, number of evaluations.
    n_resources_, n_candidates_, min_resources_, max_resources_
        Only available with `resource`, as in `HalvingRandomSearchCV`: the amounts in
        ascending order, the number of candidates evaluated with each amount, the
        smallest amount and the full amount.
    tuner_time_ : float
        Seconds spent choosing candidates.
    gain_ : float
        Difference between the best score and the score of the untuned estimator. With
        `honest_score`, it is corrected for the optimism of the best score. Only
        available if the untuned estimator is a candidate.
    gain_interval_ : tuple of two floats
        Ends of the 95% interval for `gain_`; nan unless `honest_score=True`.
    honest_score_ : float
        Estimated score of the best candidate's models on new rows. Only available with
        `honest_score`. If the score cannot be computed, it is nan, and a warning states
        the cause.
    honest_interval_ : tuple of two floats
        Ends of the 95% interval for `honest_score_`; nan with ``honest_score="folds"``.
    honest_optimism_ : float
        Difference between `best_score_` and `honest_score_`. Only available if both
        are.
    stop_reason_ : {"n_iter", "max_time", "tol", "interrupted", "space_exhausted", \
    "callback"}
        Reason why the search ended.

    Notes
    -----
    Each fold uses one inner thread, so the scores do not depend on `n_jobs`. To use all
    cores, set `n_jobs` of the search. The `n_jobs` or number of threads of the
    estimator applies only to the refit. To allow more threads in a fold, call `fit` in
    the context ``joblib.parallel_config("loky", inner_max_num_threads=...)``.

    Pressing Ctrl-C (or sending SIGTERM) ends the search with the candidates finished so
    far. Doing so again aborts the search. Candidates with unfinished folds are not
    included in the results, but remain pending in `optimizer_`.

    With `include_default`, the untuned estimator is candidate 0. If its current values
    for the searched parameters form a point in a branch, this point becomes the first
    of the `initial_params`. Otherwise, for example if ``gamma="scale"`` and the space
    has a range for ``gamma``, the models do not learn from its score. In this case,
    `params` contains the current values of all searched parameters that `get_params`
    lists, and ``posterior_mean`` is the score itself. If it is the best candidate, the
    refit uses a clone of the estimator, in which even a parameter used as the
    `resource` keeps its value. A callable `refit` may choose it like any other
    candidate. With ``n_iter=1``, the untuned estimator is the only candidate. It is
    omitted, with a note in the report, if `previous` contains its score or if a
    searched pipeline step has no estimator yet.

    A `checkpoint` is a database file without pickles. Opening it does not execute any
    code, even if the file comes from an untrusted source. `fit` validates everything
    that it reads except the scores. Functions are compared by name, and random number
    generators by type. The file is locked while `fit` runs. Between calls, you may
    change `n_jobs`, `pre_dispatch`, `verbose`, `refit`, `max_time` and `tol`, and
    increase `n_iter`.

    With `racing`, the scores of folds that did not run are nan in `cv_results_`. The
    mean score of a stopped candidate is also nan, so it ranks last and is never the
    best. There are four additional columns: ``n_splits_evaluated``, ``raced``,
    ``race_mean`` and ``race_std``. The last two contain the mean and standard deviation
    of the score predicted from the folds of a stopped candidate. With several metrics,
    racing uses `search_metric`. A candidate is stopped when one of its folds fails.

    With `resource`, each evaluation is a row of `cv_results_`, with the additional
    columns ``n_resources`` (the amount), ``iter`` (the position of the amount) and
    ``resource_score`` (the mean test score with this amount). Only full evaluations
    have a ``mean_test_score``, so only they can be the best. See the user guide for
    details.

    The scores in `previous` must come from the same data, estimator and metric, because
    the model treats them like new scores. The best earlier candidate is evaluated
    again, so the winner has always been fitted in this call. For scores from other
    data, pass a `PreviousCandidates` with ``same_data=False``. The search then
    evaluates the three best candidates first and ignores the scores. This happens
    automatically if a checkpoint comes from other data, or if a fitted search used a
    different number of rows or columns.

    The honest score uses the metric of `best_score_`, or `search_metric` if there are
    several metrics and `refit` is not the name of one. It refers to the candidate with
    the highest score, even if a callable `refit` chooses another one, and to models
    trained on as many rows as in cross-validation. With ``honest_score=True``, the
    bootstrap draws rows, or whole groups if you pass `groups` to `fit`. Sample weights
    are used if the metric accepts them. The user guide describes the estimate and the
    memory required for the predictions. A checkpoint stores the predictions, so you may
    set ``honest_score=True`` for an existing checkpoint only if the first call did so
    too. Uncommon metrics can take a minute; set `verbose` to see the progress.

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
        """Run the search and refit the best candidate on all the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target values.
        **params : dict
            Parameters passed to the estimator, scorer and splitter, as in
            `GridSearchCV`.

        Returns
        -------
        self : RobustBayesSearchCV

        Raises
        ------
        ValueError
            If the space, the policy, a metric or an initial point is invalid, or if
            `honest_score=True` has no predictions to use or the splits are in time
            order. These errors are raised before any fit. An error is also raised if
            all fits fail: after three candidates if all fits raise the same error,
            otherwise after the initial design. With a numeric `error_score`, the search
            continues instead. If the checkpoint cannot be read or written, belongs to
            another search, or is in use, the error is a
            `skrobustbo.checkpoint.CheckpointError`.
        TimeoutError
            If no candidate finishes within `max_time`.
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
        """Return a short report on the fitted search.

        The report shows the best candidate and the uncertainty of its score, parameters
        whose best value is at the end of their range, failures and their causes, the
        time used, the reason why the search ended, and recommended next steps.
        Notebooks display it below the diagram of the estimator. If a section cannot be
        written, the report says so, and a warning states the cause.

        Parameters
        ----------
        details : bool, default=False
            Whether to include the predictions of the models and how well the candidates
            cover the space.
        format : {"text", "json"}, default="text"
            Output format. With "json", the same facts are returned as a JSON object,
            with all digits of scores and intervals, and with null for unknown facts.

        Returns
        -------
        text : str
            The report.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        ValueError
            If columns that the report needs are missing from `cv_results_`.

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
        is_text, missing = format == "text", list[str]()
        name = type(self).__name__
        text = f"{name}: no report could be written" if is_text else "null"
        with softly() as attempt, attempt("the report"):
            missing = missing_columns(self, self._notes)
            if not missing:
                found = Findings(self, self._notes)
                if is_text:
                    text = report(found, attempt, details=details)
                else:
                    text = summary(found, attempt)
        if missing:
            raise ValueError(
                "The 'cv_results_' of a search must have all its columns for a report. "
                f"Got none for {missing}; fit again, and drop them from a copy."
            )
        return text

    def plot(self) -> Any:
        """Plot the progress of the search and the importance of the parameters.

        The figure contains a `ConvergenceDisplay` and, if the policy has a model, an
        `ImportanceDisplay`.

        Returns
        -------
        figure : matplotlib figure
            A new figure.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
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
            Table with one row per candidate, sorted by number. The columns are
            ``status``, ``branch``, ``score``, ``fit_time``, ``score_time``,
            ``failure``, ``model_label``, ``model_mean``, ``model_std``, and one column
            for each parameter (such as ``param_C``) and each split (such as
            ``split0_test_score``). Scores of folds that did not run, and parameters
            that do not exist in a branch, are missing values. The index is the number
            of the candidate.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
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
        shown: str = f"<pre>{type(self).__name__}</pre>"
        with softly() as attempt, attempt("the HTML"):
            shown = super()._html_repr()
        return shown  # noqa: RET504 - the block above may fail

    def _more_html(self) -> str:
        if not hasattr(self, "_notes"):
            return ""
        with softly() as attempt, attempt("the report"):
            if not missing_columns(self, self._notes):
                return account(Findings(self, self._notes), attempt)
        return ""

    # The estimator is not validated yet, so do not skip its validation.
    @fit_context(prefer_skip_nested_validation=False)
    def resume(self, X: Any, y: Any = None, *, n_iter: int, **params: Any) -> Self:
        """Evaluate more candidates in a fitted search, and refit the best one.

        The splits, the seed, the candidates and their scores are kept, so only the new
        candidates and the refit require fits. A `checkpoint` is not required; if there
        is one, it is extended too. Afterwards, the fitted attributes describe the whole
        search: `n_iter_` counts all candidates, while the setting `n_iter` does not
        change.

        Parameters
        ----------
        X, y : array-like
            The same data as in `fit`, because the search does not store the data.
            Without a checkpoint, only the shape of the data is checked.
        n_iter : int
            Number of additional candidates. Candidates left unfinished by an
            interruption are completed first and count towards this number.
        **params : dict
            Additional parameters, as in `fit`.

        Returns
        -------
        self : RobustBayesSearchCV

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        ValueError
            If the shape of the data is different, or a setting that affects the
            candidates has changed. If the checkpoint cannot be used, the error is a
            `skrobustbo.checkpoint.CheckpointError`.

        Notes
        -----
        ``fit`` with ``n_iter=20`` and then ``resume(X, y, n_iter=10)`` evaluates the
        same candidates as ``fit`` with ``n_iter=30`` under two conditions. First, the
        initial design must have the same size. By default, it is at most a third of
        `n_iter`, so you may have to set `n_initial_points`. Second, the policy must use
        the planned number of candidates in the same way. The plan from `fit` remains in
        effect: the "robust" policy spends the last of its 20 candidates on refining the
        best one, whereas the longer search does so later. With a checkpoint, the result
        is the same as when you repeat `fit` with a larger `n_iter`.

        Changes that you make to `optimizer_` with `ask` or `tell` are ignored. The time
        limit `max_time` starts again, and the "robust" policy plans a new number of
        candidates for it. The optimizer proposes the earlier candidates again, which
        takes time but requires no fits. If `resume` raises an error, the earlier
        results are kept. With `honest_score=True`, a fitted search without a checkpoint
        keeps the predictions in memory.

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
        """Check the settings, run the search, and set the fitted attributes.

        `begin` is called with the identity of the search just before the first fit.
        `n_iter` is only given when a search is resumed.
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
        """Return a context manager for the journal, which is in a file or in memory."""
        if self.checkpoint is not None:
            return open_journal(self.checkpoint, retry_failed=self.retry_failed)
        kept = self._memory if resuming else None
        return nullcontext(Journal() if kept is None else kept)

    def _conclude(
        self, source: OptimizerSource, reason: str, kept: OutOfFold | None, data: Data
    ) -> None:
        """Set the fitted attributes that are not set by the run itself."""
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
                self._memory.shape = None
                with attempt("the shape of X, for 'resume'"):
                    self._memory.shape = shape_of(data["X"])
            raw = Honest(gain_over_default(source.trials, source.metric))
            self._set_honest_score(Honest(), raw)
            if self.honest_score:
                found = Honest(), Honest()
                with attempt("honest_score_"):
                    found = honest(self, source.trials, kept, data.get("groups"))
                self._set_honest_score(*found)

    def _set_honest_score(self, found: Honest, gain: Honest) -> None:
        if default_among(self._notes.trials) is not None:
            self.gain_, self.gain_interval_ = gain.score, gain.interval
        if self.honest_score:
            self.honest_score_, self.honest_interval_ = found.score, found.interval
            if hasattr(self, "best_score_"):
                self.honest_optimism_ = float(self.best_score_ - found.score)
