"""Races: candidates that can hardly win are stopped before all their folds."""

import math
import pickle

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from fake_estimators import Noisy, search_of
from runs import assert_same
from skrobustbo import (
    Racing,
    Real,
    Resource,
    RobustBayesSearchCV,
    best_posterior_mean,
    one_standard_error,
)
from skrobustbo._trials import Evaluation, Trial
from skrobustbo.evaluation._racing import FoldEffects, Race, Races

X, y = load_iris(return_X_y=True)
SPACE = {"a": Real(-1, 1)}
K = 5


def search(estimator=None, racing="confident", **settings):
    given = {"n_iter": 16, "refit": False, "cv": KFold(K), "racing": racing, **settings}
    return search_of(estimator or Noisy(), SPACE, **given)


def splits(results, metric="score"):
    return np.array([results[f"split{k}_test_{metric}"] for k in range(K)]).T


# The table of folds -------------------------------------------------------------------


def made_table(n=8, seed=0):
    rng = np.random.default_rng(seed)
    effects = np.array([0.3, -0.1, 0.1, -0.2, -0.1])
    scores = rng.normal(size=(n, 1)) + effects + 0.1 * rng.normal(size=(n, K))
    return scores, effects


def test_effects_and_variance_are_those_of_the_better_half():
    scores, _ = made_table(8)
    means = [sum(row) / K for row in scores]
    better = [scores[i] for i in sorted(range(8), key=means.__getitem__)[4:]]
    effects = [
        sum(row[k] - sum(row) / K for row in better) / len(better) for k in range(K)
    ]
    rest = sum(
        (row[k] - sum(row) / K - effects[k]) ** 2 for row in better for k in range(K)
    )
    found = FoldEffects.of(scores)
    assert found.effects == pytest.approx(effects)
    assert found.effects.sum() == pytest.approx(0)
    assert found.df == 3 * (K - 1)
    assert found.variance == pytest.approx(rest / found.df)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_three_candidates_at_least_are_looked_at(n):
    assert FoldEffects.of(made_table(n)[0]).df == 2 * (K - 1)


def test_no_effects_of_too_few_candidates_or_without_variance():
    scores, effects = made_table()
    assert FoldEffects.of(scores[:2]) is None
    assert FoldEffects.of(scores[:, :1]) is None
    assert FoldEffects.of(np.arange(5.0)[:, None] + effects) is None
    assert FoldEffects.of(np.ones((4, K))) is None


def test_the_estimate_is_the_mean_without_the_effects_of_the_folds():
    folds = FoldEffects(np.array([0.3, -0.1, 0.1, -0.2, -0.1]), 0.04, 12)
    mean, std = folds.estimate([1.0, 2.0])
    assert mean == pytest.approx((1.0 - 0.3 + 2.0 + 0.1) / 2)
    assert std == pytest.approx(math.sqrt(0.04 * (1 / 2 - 1 / K)))
    scores = [1.0, 2.0, 0.5, 0.7, 0.1]
    assert folds.estimate(scores) == (pytest.approx(np.mean(scores)), 0.0)


def test_its_error_is_as_stated():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, K))
    for j in (1, 3):
        errors = rows[:, :j].mean(axis=1) - rows.mean(axis=1)
        assert errors.var() == pytest.approx(1 / j - 1 / K, rel=0.05)


# The decision -------------------------------------------------------------------------

FOLDS = FoldEffects(np.zeros(K), 0.04, 12)


def test_without_models_the_chance_is_students():
    race = Race(FOLDS, [], to_beat=0.5, allowance=0.01)
    mean, std = FOLDS.estimate([0.1, 0.3])
    expected = stats.t(12, mean, std).sf(0.5)
    assert race.chance([0.1, 0.3]) == pytest.approx(expected)


def test_a_model_is_updated_by_the_folds():
    folds = FoldEffects(np.zeros(K), 0.04, 10**6)  # almost normal
    race = Race(folds, [(0.4, 0.1)], to_beat=0.5, allowance=0.01)
    mean, std = folds.estimate([0.1, 0.3])

    # A mean over K folds is the objective, which the model predicts, plus noise.
    of_a_mean = math.sqrt(0.1**2 + 0.04 / K)

    def density(score):
        prior = stats.norm.pdf(score, 0.4, of_a_mean)
        return prior * stats.norm.pdf(mean, score, std)

    above, _ = integrate.quad(density, 0.5, 2.0)
    whole, _ = integrate.quad(density, -2.0, 2.0)
    assert race.chance([0.1, 0.3]) == pytest.approx(above / whole, rel=1e-3)


def test_the_most_hopeful_model_counts():
    beliefs = [(0.0, 0.1), (0.6, 0.1), (0.3, 0.2)]
    chances = [Race(FOLDS, [b], 0.5, 0.01).chance([0.2]) for b in beliefs]
    assert Race(FOLDS, beliefs, 0.5, 0.01).chance([0.2]) == max(chances)


def racing(n_planned=50, beliefs=lambda trial: []):
    of_folds = {"score": lambda fold: fold, "beliefs": beliefs}
    return Races(0.05, 0.25, n_planned, **of_folds)


def test_there_is_no_race_before_three_candidates_are_complete():
    races, (scores, _) = racing(), made_table()
    assert races.race(Evaluation(Trial({}))) is None
    races.complete(None, scores[0])
    races.complete(None, scores[1])
    races.complete(None, [math.nan] * K)  # a failure is none
    assert races.race(Evaluation(Trial({}))) is None
    races.complete(None, scores[2])
    race = races.race(Evaluation(Trial({})))
    means = scores[:3].mean(axis=1)
    margin = 0.25 * math.sqrt(FoldEffects.of(scores[:3]).variance / K)
    assert race.to_beat == pytest.approx(means.max() + margin)


def test_the_budget_is_never_overspent():
    rng = np.random.default_rng(0)
    for planned in rng.integers(5, 40, size=50):
        races, width = racing(int(planned)), int(rng.integers(1, 8))
        for row in made_table(3, int(planned))[0]:
            races.complete(None, row)
        spent, in_flight = 0.0, []
        for _ in range(60):
            in_flight.append(races.race(Evaluation(Trial({}))))
            if len(in_flight) == width:
                race = in_flight.pop(int(rng.integers(width)))
                taken = race.allowance * rng.choice([0.0, 1e-3, 1.0, 1.0])
                races.stopped(race, taken)
                spent += taken
        spent += sum(race.allowance for race in in_flight)
        assert 0.02 < spent <= 0.05 * (1 + 1e-9)


def test_what_is_not_spent_comes_back():
    races = racing(10)
    for row in made_table(3)[0]:
        races.race(Evaluation(Trial({})))
        races.complete(None, row)
    first = races.race(Evaluation(Trial({})))
    assert first.allowance == pytest.approx(0.05 / 7)
    races.stopped(first, 0.0)
    assert races.race(Evaluation(Trial({}))).allowance == pytest.approx(0.05 / 6)


def test_better_candidates_are_rarely_stopped():
    """The promise: under the model, in at most 5% of searches."""
    rng, n, prior = np.random.default_rng(0), 40, (0.0, 0.3)
    n_searches, wrong, stopped = 300, 0, 0
    for _ in range(n_searches):
        races = racing(n, lambda trial: [prior])
        scores = 0.2 * rng.normal(size=(n, K)) + rng.normal(size=K)
        # The model predicts mean scores.
        means = rng.normal(*prior, size=n)
        scores += (means - scores.mean(axis=1))[:, None]
        dropped = [run(races, row) for row in scores]
        wrong += any(np.array(dropped) < 0)
        stopped += np.count_nonzero(dropped)
    assert stopped > n_searches * n / 4
    assert wrong <= stats.binom(n_searches, 0.05).ppf(0.99)


@pytest.mark.parametrize("times", [10, 30, 1000])
def test_the_winner_is_not_lost_where_folds_differ(times):
    """Effects of a fold on all candidates change no race."""
    rng, n, n_searches, lost, stopped = np.random.default_rng(0), 40, 100, 0, 0
    for _ in range(n_searches):
        alike = rng.normal(size=(n, 1)) + rng.normal(size=(n, K))
        apart = alike + times * rng.normal(size=K)
        both = (racing(n), alike), (racing(n), apart)
        fates = [[run(races, row) for row in scores] for races, scores in both]
        assert fates[0] == fates[1]
        lost += fates[1][int(np.argmax(apart.mean(axis=1)))] != 0
        stopped += np.count_nonzero(fates[1])
    assert lost <= 0.02 * n_searches
    assert stopped > n_searches * n / 4


@pytest.mark.parametrize("unit", [2.0**-830, 2.0**830, 2.0**-1000, 2.0**1000])
def test_races_are_the_same_in_any_unit(unit):
    def chances(unit):
        races = racing(20, lambda trial: [(0.1 * unit, 0.2 * unit)])
        for row in made_table(20)[0] * unit:
            race = races.race(Evaluation(Trial({})))
            if race is not None:
                yield race.chance(row[:2]), race.chance(row[:4])
            races.complete(race, row)

    assert list(chances(unit)) == list(chances(1.0))


def run(races, scores):
    """Return 0 for a candidate that is not stopped, 1 if it is, -1 if wrongly."""
    race = races.race(Evaluation(Trial({})))
    for j in range(1, K if race else 0):
        if (chance := race.chance(scores[:j])) <= race.allowance:
            races.stopped(race, chance)
            return -1 if scores.mean() > race.to_beat else 1
    races.complete(race, scores)
    return 0


# The search ---------------------------------------------------------------------------


def test_raced_candidates_in_the_table():
    results = search().fit(X, y).cv_results_
    raced, n_used = results["raced"], results["n_splits_evaluated"]
    assert 0 < raced.sum() < len(raced) - 3
    scores = splits(results)
    np.testing.assert_array_equal(np.isfinite(scores).sum(axis=1), n_used)
    assert (n_used[raced] < K).all()
    assert (n_used[~raced] == K).all()
    assert np.isnan(results["mean_test_score"][raced]).all()
    assert np.isfinite(results["mean_test_score"][~raced]).all()
    assert np.isfinite(results["race_mean"][raced]).all()
    assert (results["race_std"][raced] > 0).all()
    assert np.isnan(results["race_mean"][~raced]).all()
    ranks = results["rank_test_score"]
    assert ranks[raced].min() > ranks[~raced].max()
    for name in ("mean_fit_time", "std_fit_time", "mean_score_time"):
        assert np.isfinite(results[name]).all()


@pytest.mark.filterwarnings("error")
def test_racing_warns_of_nothing():
    search().fit(X, y)


def test_only_complete_candidates_are_best():
    found = search(refit=True).fit(X, y)
    assert not found.cv_results_["raced"][found.best_index_]
    assert found.best_score_ == np.nanmax(found.cv_results_["mean_test_score"])
    assert found.optimizer_.best_value_ == found.best_score_


@pytest.mark.parametrize("refit", [best_posterior_mean, one_standard_error("a")])
def test_what_chooses_the_best_leaves_raced_ones_out(refit):
    found = search(refit=refit).fit(X, y)
    assert not found.cv_results_["raced"][found.best_index_]


def test_without_racing_there_is_no_new_column():
    new = {"raced", "n_splits_evaluated", "race_mean", "race_std"}
    assert not new & set(search(racing=None, n_iter=5).fit(X, y).cv_results_)
    assert new <= set(search(n_iter=5).fit(X, y).cv_results_)


def test_a_race_that_nobody_loses_changes_nothing():
    raced = search(racing=Racing(delta=1e-300)).fit(X, y).cv_results_
    plain = search(racing=None).fit(X, y).cv_results_
    assert not raced["raced"].any()
    for key in plain:
        if "time" not in key:
            np.testing.assert_array_equal(raced[key], plain[key])


@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_races_do_not_depend_on_the_number_of_jobs(schedule):
    settings = {"batch_size": 3, "schedule": schedule}
    one = search(**settings).fit(X, y).cv_results_
    two = search(**settings, n_jobs=2).fit(X, y).cv_results_
    for key in one:
        if "time" not in key:
            np.testing.assert_array_equal(one[key], two[key], err_msg=key)


@pytest.mark.filterwarnings("ignore:[\\s\\S]*fits failed")
@pytest.mark.filterwarnings("ignore:One or more")
def test_a_fold_that_fails_ends_its_candidate():
    with pytest.warns(UserWarning, match="fits failed|non-finite"):
        results = search(Noisy(fail_above=0.5)).fit(X, y).cv_results_
    failed = np.array(results["param_a"], dtype=float) > 0.5
    assert failed.any()
    assert (results["n_splits_evaluated"][failed] == 1).all()
    assert not results["raced"][failed].any()


def test_with_several_metrics_the_race_is_on_the_one_searched_for():
    scoring = {"s": Noisy.score, "rows": lambda e, X, y: len(X)}
    found = search(scoring=scoring, search_metric="s").fit(X, y)
    alone = search().fit(X, y)
    results = found.cv_results_
    np.testing.assert_array_equal(results["raced"], alone.cv_results_["raced"])
    np.testing.assert_array_equal(
        np.isnan(splits(results, "rows")), np.isnan(splits(results, "s"))
    )


@pytest.mark.parametrize(
    "policy",
    ["random", "lb-gp-ucb", "he-gp-ucb", "hb-gp-ucb", "et-gp-ucb"],
)
def test_other_policies_race_as_well(policy):
    results = search(policy=policy, n_iter=12).fit(X, y).cv_results_
    assert results["n_splits_evaluated"].min() < K
    assert np.isfinite(results["mean_test_score"]).sum() >= 3


def test_branches_race_each_with_its_models():
    branches = [{"a": Real(-1, 0)}, {"a": Real(0, 1)}]
    found = search_of(
        Noisy(), branches, n_iter=20, refit=False, cv=KFold(K), racing="confident"
    ).fit(X, y)
    assert found.cv_results_["raced"].any()
    assert 0 < found.best_params_["a"] < 1


def test_a_single_fold_is_not_raced():
    cv = [(np.arange(100), np.arange(100, 150))]
    results = search(cv=cv).fit(X, y).cv_results_
    assert not results["raced"].any()


@pytest.mark.parametrize(
    "given",
    [
        {"racing": "bold"},
        {"racing": 2},
        {"schedule": "never"},
    ],
)
def test_settings_out_of_range_are_refused(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        search(**given).fit(X, y)


@pytest.mark.parametrize("racing", [True, Racing()])
def test_confident_is_another_word_for_true(racing, tmp_path):
    expected = search(checkpoint=tmp_path / "c").fit(X, y)
    ours = search(racing=racing, checkpoint=tmp_path / "c").fit(X, y)
    assert "folds of 16 candidates from the checkpoint" in ours.report()
    assert_same(ours, expected)
    assert_same(search(racing=racing).fit(X, y), expected)


def test_false_is_another_word_for_none():
    ours = search(racing=False, n_iter=5).fit(X, y)
    assert "raced" not in ours.cv_results_
    assert "stopped early" not in ours.report()


@pytest.mark.parametrize(
    "settings",
    [{"racing": Racing(delta=0.2)}, {"resource": Resource("n_samples", min=20)}],
)
def test_settings_that_are_objects(settings):
    ((name, given),) = settings.items()
    ours = search(racing=None).set_params(**settings)
    for copied in (clone(ours), pickle.loads(pickle.dumps(ours))):
        assert copied.get_params()[name].get_params() == given.get_params()
        assert repr(given) in " ".join(repr(copied).split())
    inner, value = next(iter(given.get_params().items()))
    assert ours.get_params()[f"{name}__{inner}"] == value
    other = clone(ours).set_params(**{f"{name}__{inner}": 0.4})
    assert getattr(other.get_params()[name], inner) == 0.4
    assert getattr(given, inner) == value


# With other settings ------------------------------------------------------------------


@pytest.mark.parametrize("honest_score", [True, "folds"])
@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_an_honest_score_goes_by_complete_candidates(honest_score, schedule):
    X, y = load_diabetes(return_X_y=True)
    search = RobustBayesSearchCV(
        Ridge(),
        {"alpha": Real(1e-4, 1e3, log=True)},
        n_iter=14,
        cv=5,
        policy="random",
        racing="confident",
        schedule=schedule,
        batch_size=2,
        honest_score=honest_score,
        random_state=0,
    ).fit(X, y)
    assert search.cv_results_["raced"].any()
    assert 0.3 < search.honest_score_ < 0.6
    told = search._notes.trials
    assert not any(f.predictions is not None for trial in told for f in trial.folds)


class FailsLater(Noisy):
    """Fails for large values, except on the rows of the first fold."""

    def fit(self, X, y=None):
        first = load_iris().data[next(KFold(K).split(range(150)))[0]].sum()
        self.classes_ = np.unique(y)
        if self.a > self.fail_above and X.sum() != first:
            raise RuntimeError("too large")
        return self


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_the_honest_score_does_without_a_candidate_that_fails_later():
    settings = {"honest_score": True, "scoring": "accuracy", "n_iter": 8}
    failing = FailsLater(fail_above=0.8)
    with pytest.warns(FitFailedWarning):
        found = search(failing, initial_params=[{"a": 0.9}], **settings).fit(X, y)
    assert found.cv_results_["n_splits_evaluated"][0] == 2
    assert np.isnan(found.cv_results_["mean_test_score"][0])
    assert 0 < found.honest_score_ < 1


def test_a_metric_that_a_callable_names_is_raced_from_the_first_fold():
    def one(estimator, X, y):
        return {"only": estimator.score(X, y)}

    found = search(scoring=one).fit(X, y)
    plain = search().fit(X, y)
    n_folds = found.cv_results_["n_splits_evaluated"]
    assert n_folds.tolist() == plain.cv_results_["n_splits_evaluated"].tolist()
    best = np.nanmax(found.cv_results_["mean_test_only"])
    assert found.optimizer_.best_value_ == best


@pytest.mark.parametrize("seed", range(4))
def test_only_complete_candidates_are_recommended(seed):
    found = search(racing=Racing(delta=0.4), random_state=seed).fit(X, y)
    raced = found.cv_results_["raced"]
    assert raced.any()
    recommended = found.optimizer_.recommend()
    candidates = zip(found.cv_results_["params"], raced, strict=True)
    assert recommended in [params for params, was_raced in candidates if not was_raced]


def test_policies_without_a_model_go_by_the_folds_alone():
    found = search(policy="random").fit(X, y)
    trial = found.optimizer_._trials.trials[-1]
    assert found.optimizer_._beliefs(trial) == []
