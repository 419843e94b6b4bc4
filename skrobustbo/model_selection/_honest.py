"""Correct the score of the best candidate for the optimism of choosing it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer

from skrobustbo._sklearn_compat import (
    is_own_score,
    is_row_wise,
    metric_names,
    num_samples,
    score_function,
    score_settings,
    score_sign,
    scorer_of,
)
from skrobustbo._trials import Evaluation
from skrobustbo.checkpoint import Journal
from skrobustbo.evaluation import OutOfFold, Recorder, counter, flat
from skrobustbo.model_selection._bootstrap import (
    FoldScores,
    Honest,
    Metric,
    bootstrapped,
    effective,
    first_best,
    score_of_winner,
    without_one,
)
from skrobustbo.model_selection._checks import (
    keeps_predictions,
    kept_metric,
    score_metric,
)
from skrobustbo.model_selection._default import default_among
from skrobustbo.model_selection._limits import largest_score
from skrobustbo.model_selection._settings import Search
from skrobustbo.space import Space

Array = NDArray[Any]

#: Separates the random numbers from the search's own.
_STREAM = 2018
#: Metrics that `score` methods return. Most of these methods come from scikit-learn's
#: mixins, which compare y with `predict`, and others do the same. CatBoost's regressor
#: does not, because it averages over targets differently.
_SCORES = {
    "sklearn.base.ClassifierMixin.score": "accuracy",
    "sklearn.base.RegressorMixin.score": "r2",
    "sklearn.dummy.DummyClassifier.score": "accuracy",
    "sklearn.dummy.DummyRegressor.score": "r2",
    "sklearn.neighbors._classification.KNeighborsClassifier.score": "accuracy",
    "sklearn.neighbors._classification.RadiusNeighborsClassifier.score": "accuracy",
    "catboost.core.CatBoostClassifier.score": "accuracy",
}


# Before the first fit -----------------------------------------------------------------


def collector(
    search: Search, space: Space, y: Any, journal: Journal
) -> OutOfFold | None:
    """Return a collector of predictions, or None if no predictions are needed.

    If an earlier run stored predictions, they are stored for all folds.

    Raises
    ------
    ValueError
        If predictions are needed but the metric cannot score them.
    """
    is_on = keeps_predictions(search)
    earlier = journal.described.get("settings", {}).get("honest_score")
    if not is_on and earlier is None:
        return None
    scorers, _ = search._get_scorers()
    names = metric_names(scorers)
    metric = (
        score_metric(search, names) if is_on else kept_metric(search, names, earlier)
    )
    if names and metric not in names:
        return None  # the search raises its own error
    scorer = scorer_of(scorers, metric)
    if is_own_score(scorer):
        scorer = _scorer_like_own(search.estimator, space)
    if scorer is None or not is_row_wise(scorer) or y is None or issparse(y):
        raise _refusal(search, y)
    return OutOfFold(Recorder(scorer, metric, _classes(search.estimator, y)))


def _refusal(search: Search, y: Any) -> ValueError:
    if y is None or issparse(y):
        got = "no y" if y is None else "a sparse y"
    elif search.scoring is None:
        got = f"the estimator's own score, {type(search.estimator).__name__}.score"
    else:
        got = f"the scoring {search.scoring!r}"
    return ValueError(
        "The 'honest_score' of RobustBayesSearchCV can only be True if a metric "
        "compares an array y with predictions: 'scoring' must be a name or a scorer "
        f"of make_scorer. Got {got} instead; pass honest_score='folds', which needs "
        "only the scores of the folds."
    )


def _scorer_like_own(estimator: Any, space: Space) -> Any:
    """Return a scorer equivalent to the estimator's `score`, or None if unknown."""
    found = {
        _SCORES.get(_full_name(getattr(type(last), "score", None)))
        for branch in space.branches
        for last in _last_steps(estimator, branch)
    }
    (name, *others) = found
    return None if others or name is None else get_scorer(name)


def _full_name(function: Any) -> str:
    module, name = (getattr(function, k, "") for k in ("__module__", "__qualname__"))
    return f"{module}.{name}"


def _last_steps(estimator: Any, branch: Space, prefix: str = "") -> list[Any]:
    """Return all values that the last step of a pipeline can take in a branch."""
    steps = getattr(estimator, "steps", None)
    if not steps:
        return [estimator]
    name, last = steps[-1]
    values = getattr(branch.dimensions.get(prefix + name), "choices", [last])
    inside = f"{prefix}{name}__"
    return [step for value in values for step in _last_steps(value, branch, inside)]


def _classes(estimator: Any, y: Any) -> Array:
    if not is_classifier(estimator):
        return np.empty(0)
    try:
        return np.unique(np.asarray(y))
    except TypeError:  # labels of different types
        return np.empty(0)


# After the last fit -------------------------------------------------------------------


def honest(
    search: Search,
    trials: Sequence[Evaluation],
    predictions: OutOfFold | None,
    groups: Any,
) -> tuple[Honest, Honest]:
    """Return the honest score and the honest gain of a finished search.

    The gain over the untuned estimator is nan if this is not a candidate.
    """
    metric = score_metric(search, trials[0].metrics)
    finished = [t for t in trials if _is_complete(t, metric, search.error_score)]
    if not finished:
        return Honest(), Honest()
    default = default_among(finished)
    by_folds = not keeps_predictions(search)
    if by_folds or predictions is None or predictions.recorder is None:
        scores = np.array([t.scores(metric) for t in finished])
        ahead = (
            Honest() if default is None else Honest(corrected(scores - scores[default]))
        )
        return Honest(corrected(scores)), ahead
    kept = [predictions.kept[trial.number] for trial in finished]
    if any(fold is None for folds in kept for fold in folds):
        warn(
            "The honest score is nan, because some predictions of candidates are not "
            "arrays of finite numbers or of labels in y; pass honest_score='folds', "
            "which does not need them.",
            stacklevel=7,
        )
        return Honest(), Honest()
    folds = fold_scores(predictions.job, predictions.recorder, kept, groups)
    n_units = 1 + max(int(fold.units.max()) for fold in folds)
    if n_units < 2:
        return Honest(), Honest()  # all bags with a single row or group are equal
    seed = search.optimizer_._seed
    stream = np.random.SeedSequence(seed, spawn_key=(_STREAM,))
    rng = np.random.default_rng(stream)
    tell = counter("samples scored for the honest score", search.verbose)
    of_all, bags = bootstrapped(folds, n_units, rng, tell)
    winner = int(first_best(of_all))
    chosen = [winner] if default is None else [winner, default]
    without = without_one([fold.of(chosen) for fold in folds], n_units, rng)
    score = score_of_winner(of_all, bags, effective(n_units, without[:, 0]))
    largest = largest_score(predictions.recorder.scorer, search.estimator)
    if largest is not None and score.interval[1] > largest:
        score = score._replace(interval=(score.interval[0], largest))
    if default is None:
        return score, Honest()
    if default == winner:
        return score, Honest(0.0, (0.0, 0.0))
    # Effects common to all candidates cancel, and most of the noise with them.
    ahead, in_bags = of_all - of_all[default], bags - bags[:, [default]]
    known_from = effective(n_units, without[:, 0] - without[:, 1])
    return score, score_of_winner(ahead, in_bags, known_from)


def _is_complete(trial: Evaluation, metric: str | None, error_score: Any) -> bool:
    """Return whether all folds of a candidate were fitted successfully."""
    scores = trial.scores(metric)
    return (
        not trial.is_partial
        and not trial.errors
        and all(math.isfinite(score) and score != error_score for score in scores)
    )


def corrected(scores: Array) -> float:
    """Return the best mean score minus a bias estimated from the fold scores.

    See equation 4 in Tibshirani and Tibshirani (2009), A bias correction for the
    minimum error rate in cross-validation. Annals of Applied Statistics 3. Here, larger
    scores are better.

    Parameters
    ----------
    scores : array of shape (n_candidates, n_folds)
        Finite scores of all candidates in all folds.
    """
    means = scores.mean(axis=1)
    winner = int(np.argmax(means))
    if scores.shape[1] < 2:
        return math.nan  # with a single fold, its best is the winner
    return float(means[winner] - np.mean(scores.max(axis=0) - scores[winner]))


def fold_scores(
    job: Any, recorder: Recorder, kept: Sequence[Sequence[Any]], groups: Any
) -> list[FoldScores]:
    """Return a `FoldScores` object for each fold."""
    y = flat(job.y)  # the shape that scikit-learn's metrics expect
    tests = [np.arange(len(y))[test] for _, test in job.splits]
    units = _units(tests, np.arange(len(y)) if groups is None else flat(groups))
    metric = _metric(job, recorder)
    return [
        FoldScores(
            metric.at(test),
            y[test],
            [recorder.decoded(folds[k]) for folds in kept],
            units[test],
        )
        for k, test in enumerate(tests)
    ]


def _units(tests: Sequence[Array], labels: Array) -> Array:
    """Return the sampling unit of each row; -1 for rows that are in no test set."""
    tested = np.unique(np.concatenate(tests))
    units = np.full(len(labels), -1)
    units[tested] = np.unique(labels[tested], return_inverse=True)[1]
    return units


def _metric(job: Any, recorder: Recorder) -> Metric:
    """Return the metric of a search with its arguments for all rows."""
    scorer, given = recorder.scorer, job.settings
    settings, passed = score_settings(
        scorer, given["scorer"], recorder.metric, given["score_params"]
    )
    n = num_samples(job.X)
    of_rows = {
        name: np.asarray(value)
        for name, value in passed.items()
        if np.ndim(value) and num_samples(value) == n
    }
    rest = {k: v for k, v in passed.items() if k not in of_rows and v is not None}
    function, sign = score_function(scorer), score_sign(scorer)
    return Metric(function, sign, {**settings, **rest}, of_rows)
