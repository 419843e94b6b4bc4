"""Strategies for choosing the candidate to refit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from skrobustbo._names import shown, wrong
from skrobustbo.evaluation import FoldEffects
from skrobustbo.model_selection._default import DEFAULT

Results = Mapping[str, Any]
Array = NDArray[np.float64]

#: Probability of declaring a candidate better when all are equally good.
_ALPHA = 0.05


def best_posterior_mean(cv_results: Results) -> int:
    """Return the index of the candidate with the highest posterior mean.

    Pass this function as `refit`. The candidate with the highest score has often just
    been lucky. The posterior mean of the model also takes the scores of similar
    candidates into account.

    Parameters
    ----------
    cv_results : dict
        The `cv_results_` attribute of a fitted `RobustBayesSearchCV`.

    Returns
    -------
    index : int
        Index of the best candidate, excluding candidates with failed fits.

    Raises
    ------
    ValueError
        If the results contain no finite posterior mean.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skrobustbo import Real, RobustBayesSearchCV, best_posterior_mean
    >>> X, y = load_iris(return_X_y=True)
    >>> search = RobustBayesSearchCV(
    ...     SVC(),
    ...     {"C": Real(1e-2, 1e3, log=True)},
    ...     n_iter=8,
    ...     refit=best_posterior_mean,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> means = search.cv_results_["posterior_mean"]
    >>> bool(means[search.best_index_] == means.max())
    True
    """
    if "posterior_mean" not in cv_results:
        raise ValueError(
            "Expected the results of a RobustBayesSearchCV, got some without "
            "'posterior_mean'; pass another 'refit'."
        )
    failed = np.any(
        [~np.isfinite(v) for k, v in cv_results.items() if k.startswith("mean_test_")],
        axis=0,
    )
    means = np.where(failed, np.nan, cv_results["posterior_mean"])
    if not np.isfinite(means).any():
        raise ValueError("Expected a candidate whose fits all succeeded, got none.")
    return int(np.nanargmax(means))


class one_standard_error:
    """Choose the simplest candidate within one standard error of the best.

    Pass an instance as `refit`. The standard error of the best candidate's mean test
    score is s / sqrt(k), where s is the sample standard deviation over its k folds.

    Parameters
    ----------
    simplest : str or callable
        Measure of complexity: the name of a numeric parameter, or a callable that takes
        the parameters of a candidate and returns a number.
    metric : str, default=None
        Name of the metric to compare, if there are several metrics.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skrobustbo import Real, RobustBayesSearchCV, one_standard_error
    >>> X, y = load_iris(return_X_y=True)
    >>> search = RobustBayesSearchCV(
    ...     SVC(),
    ...     {"C": Real(1e-2, 1e3, log=True)},
    ...     n_iter=8,
    ...     refit=one_standard_error("C"),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> bool(search.best_params_["C"] < 10)
    True
    """

    def __init__(
        self,
        simplest: str | Callable[[Mapping[str, Any]], float],
        metric: str | None = None,
    ) -> None:
        if not (isinstance(simplest, str) or callable(simplest)):
            raise ValueError(
                "The 'simplest' of one_standard_error must be the name of a parameter "
                f"or a callable. Got {simplest!r} instead."
            )
        self.simplest = simplest
        self.metric = metric

    def __repr__(self) -> str:
        more = "" if self.metric is None else f", metric={self.metric!r}"
        return f"one_standard_error({self.simplest!r}{more})"

    def __call__(self, cv_results: Results) -> int:
        """Return the index of the chosen candidate.

        Parameters
        ----------
        cv_results : dict
            The `cv_results_` attribute of a fitted search.

        Returns
        -------
        index : int
            Index of the simplest candidate within one standard error of the best. Among
            equally simple candidates, the one with the highest score is chosen. The
            untuned estimator counts as the most complex candidate if its complexity is
            undefined.
        """
        mean, folds = _scores(cv_results, self.metric, "one_standard_error")
        best = int(np.nanargmax(mean))
        # A single fold has no standard error.
        error = standard_error(folds[best])
        least = mean[best] - np.nan_to_num(error, posinf=np.inf)
        params, labels = cv_results["params"], cv_results.get("model_label")

        def order(i: int) -> tuple[float, float]:
            try:
                return self._complexity(params[i]), -mean[i]
            except Exception:
                if labels is None or labels[i] != DEFAULT:
                    raise
                return np.inf, -mean[i]  # the values may not be numbers

        return min(map(int, np.flatnonzero(mean >= least)), key=order)

    def _complexity(self, params: Mapping[str, Any]) -> float:
        if callable(self.simplest):
            return float(self.simplest(params))
        value = params.get(self.simplest)
        try:
            return float(value)  # type: ignore[arg-type] # float may fail here
        except (TypeError, ValueError):
            raise ValueError(
                "The 'simplest' of one_standard_error must name a parameter with "
                f"numbers, or be a callable. Got {self.simplest!r}, which is "
                f"{value!r} in {shown(dict(params))}."
            ) from None


def default_unless_better(cv_results: Results, metric: str | None = None) -> int:
    """Choose the untuned estimator unless the best candidate is clearly better.

    Pass this function as `refit`. The best of many candidates is often ahead only by
    chance, and may be worse on new data. With this function, the search refits the best
    candidate only if it is significantly better than the untuned estimator, which is
    candidate 0 if ``include_default=True``.

    The significance level is 5%, with a Bonferroni correction for the number of
    candidates. With 30 candidates, the best one must be ahead by at least 2.9 standard
    errors of the difference between two mean scores on the same folds. The standard
    error is the larger of two estimates: one from the better half of all candidates,
    with the effects of the folds removed, and one from the two compared candidates
    alone.

    Parameters
    ----------
    cv_results : dict
        The `cv_results_` attribute of a fitted `RobustBayesSearchCV`.
    metric : str, default=None
        Name of the metric to compare, if there are several metrics. To set it, use
        ``refit=functools.partial(default_unless_better, metric="roc_auc")``.

    Returns
    -------
    index : int
        Index of the best candidate or of the untuned estimator. With a single fold, it
        is always the untuned estimator. If the untuned estimator is not a candidate or
        has failed, the best candidate is chosen.

    Raises
    ------
    ValueError
        If no candidate has a finite score, or the metric is unknown.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skrobustbo import Real, RobustBayesSearchCV, default_unless_better
    >>> X, y = load_iris(return_X_y=True)
    >>> search = RobustBayesSearchCV(
    ...     SVC(),
    ...     {"C": Real(1e-2, 1e3, log=True)},
    ...     n_iter=8,
    ...     refit=default_unless_better,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_index_, search.best_params_
    (0, {'C': 1.0})
    """
    mean, folds = _scores(cv_results, metric, "default_unless_better")
    best = int(np.nanargmax(mean))
    labels = list(cv_results.get("model_label", ()))
    default = labels.index(DEFAULT) if DEFAULT in labels else best
    if best == default or not np.isfinite(mean[default]):
        return best
    effects = FoldEffects.of(folds[np.isfinite(mean)])
    errors = [
        0.0 if effects is None else effects.error_of_difference,
        standard_error(folds[best] - folds[default]),
    ]
    n_others = np.isfinite(mean).sum() - 1
    is_better = mean[best] - mean[default] > ndtri(1 - _ALPHA / n_others) * max(errors)
    return best if is_better and len(folds[best]) > 1 else default


def _scores(cv_results: Results, metric: str | None, whose: str) -> tuple[Array, Array]:
    """Return the mean scores and the fold scores of all candidates."""
    given = "mean_test_"
    names = [key[len(given) :] for key in cv_results if key.startswith(given)]
    metric = names[0] if metric is None and len(names) == 1 else metric
    if metric not in names:
        raise wrong("metric", whose, f"one of {sorted(names)}", metric)
    mean = np.array(cv_results[f"{given}{metric}"], dtype=float)
    folds = [
        values
        for key, values in cv_results.items()
        if key.startswith("split") and key.endswith(f"_test_{metric}")
    ]
    if not np.isfinite(mean).any():
        raise ValueError("Expected a candidate whose fits all succeeded, got none.")
    return mean, np.array(folds, dtype=float).T


def standard_error(scores: Any) -> float:
    """Return the standard error of the mean over folds, or nan for a single fold."""
    n = len(scores)
    if n < 2:
        return np.nan
    # Scaled by a power of two, which is exact, because squares may over- or underflow.
    _, exponent = np.frexp(np.abs(scores).max())
    error = np.std(np.ldexp(scores, -exponent), ddof=1) / np.sqrt(n)
    return float(np.ldexp(error, exponent))
