"""The report of a search, in text and below its diagram."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

from skrobustbo._sklearn_compat import HTMLReprMixin
from skrobustbo.model_selection._failures import Notes
from skrobustbo.model_selection._findings import Findings, missing_columns
from skrobustbo.model_selection._html import account
from skrobustbo.model_selection._listening import record_of, table_of
from skrobustbo.model_selection._report import report
from skrobustbo.model_selection._softly import Attempt, softly


class ReportMixin(HTMLReprMixin):
    """Gives a search its `report`, once `fit` has left its notes."""

    cv_results_: dict[str, Any]
    _notes: Notes

    def report(self) -> str:
        """Return a short account of the fitted search, as plain text.

        It shows the best candidate and the uncertainty of its score, the parameters at
        an end of their range, what failed and why, where the time went, why the search
        ended, and what to do next. Notebooks show it below the estimator's diagram.
        If a section cannot be written, it says so, and a warning names the cause.

        Returns
        -------
        text : str
            Lines to print.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If columns of `cv_results_` that the report needs have been dropped.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skrobustbo import Real, RobustBayesSearchCV
        >>> X, y = load_iris(return_X_y=True)
        >>> model, space = LogisticRegression(), {"C": Real(1e-4, 0.1, log=True)}
        >>> search = RobustBayesSearchCV(model, space, n_iter=8, random_state=0)
        >>> print(search.fit(X, y).report())
        RobustBayesSearchCV of LogisticRegression: 8 candidates, 5 folds each
        <BLANKLINE>
        Best        score 0.947 ± 0.023, candidate 3
                      C = 0.1
        ...
        At an edge  C is at its upper bound 0.1: widen it
        ...
        """
        check_is_fitted(self, "_notes")
        with softly() as attempt:
            nothing = f"{type(self).__name__}: no report could be written"
            missing: list[str] | None = attempt("the report", self._missing, None)
            if missing is None:
                return nothing
            if missing:
                raise ValueError(
                    "The 'cv_results_' of a search must have all its columns for a "
                    f"report. Got none for {missing}; fit again, and drop them from a "
                    "copy."
                )
            return attempt("the report", partial(self._told, report, attempt), nothing)

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

    def _told(self, how: Callable[[Findings, Attempt], str], attempt: Attempt) -> str:
        return how(Findings(self, self._notes), attempt)
