"""`resume`: a fitted search that continues like a longer one."""

import pickle
import signal
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ShuffleSplit
from sklearn.naive_bayes import GaussianNB

from fake_estimators import Fake, Noisy
from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo.checkpoint import CheckpointError
from skrobustbo.evaluation import Stops

X, y = load_iris(return_X_y=True)
SPACE = {"a": Real(-1, 1)}


class Counted(Noisy):
    """Counts its fits."""

    n_fits = 0

    def fit(self, X, y=None):
        Counted.n_fits += 1
        return super().fit(X, y)


class Stopped(Counted):
    """Does something else in one of its fits."""

    stop_at = stop = None

    def fit(self, X, y=None):
        if Counted.n_fits == Stopped.stop_at:
            Stopped.stop_at = None
            Stopped.stop()
        return super().fit(X, y)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def fail():
    raise RuntimeError("stopped")


@pytest.fixture(autouse=True)
def fresh():
    Counted.n_fits, Stopped.stop_at = 0, None


def make(n_iter=9, estimator=None, space=SPACE, **settings):
    given = {"n_initial_points": 4, "cv": 3, "policy": "gp-ucb", "random_state": 0}
    estimator = Counted() if estimator is None else estimator
    return RobustBayesSearchCV(estimator, space, n_iter=n_iter, **{**given, **settings})


def assert_equal(ours, other):
    """Compare everything except measured times."""
    assert ours.cv_results_.keys() == other.cv_results_.keys()
    for name, column in ours.cv_results_.items():
        if not name.endswith("_time"):
            np.testing.assert_array_equal(
                np.asarray(column), np.asarray(other.cv_results_[name]), name
            )
    assert ours.best_params_ == other.best_params_
    assert ours.n_iter_ == other.n_iter_
    told = [
        {k: v for k, v in record.items() if k != "time"}
        for search in (ours, other)
        for record in search.optimizer_.history_
    ]
    half = len(told) // 2
    assert repr(told[:half]) == repr(told[half:])


SETTINGS = {
    "plain": {},
    "batches": {"batch_size": 3},
    "window": {"batch_size": 3, "schedule": "window"},
    "free": {"batch_size": 3, "schedule": "free"},
    "failures": {"estimator": Counted(fail_above=0.5)},
    "two metrics": {"scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy"},
    "branches": {"space": [{"a": Real(-1, 0)}, {"a": Real(0, 1), "seconds": [0.0]}]},
    "honest": {"honest_score": "folds"},
    "train scores": {"return_train_score": True},
    "random splits": {
        "cv": ShuffleSplit(3, test_size=0.5, random_state=np.random.RandomState(1))
    },
    "all of a list": {"space": {"a": [-1.0, -0.5, 0.0, 0.2, 0.3, 0.5]}},
}
SETTINGS["two metrics"] |= {
    "estimator": GaussianNB(),
    "space": {"var_smoothing": Real(1e-9, 1, log=True)},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:.*non-finite")
@pytest.mark.parametrize("kind", SETTINGS)
def test_it_ends_where_the_longer_search_does(kind):
    settings = SETTINGS[kind]
    ours = make(**deepcopy(settings)).fit(X, y)
    n_fits = Counted.n_fits
    assert ours.resume(X, y, n_iter=6) is ours
    again = Counted.n_fits - n_fits
    assert ours.n_iter == 9
    longer = make(n_iter=15, **deepcopy(settings)).fit(X, y)
    assert_equal(ours, longer)
    if kind != "two metrics":  # and is of another estimator
        assert again == 3 * max(0, ours.n_iter_ - 9) + 1
    assert len(ours.trials_dataframe()) == ours.n_iter_
    assert f"{ours.n_iter_} candidates" in ours.report()


@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_it_goes_on_with_races(schedule):
    """The error budget is that of the first plan, as with a checkpoint."""
    settings = {"racing": "confident", "schedule": schedule, "batch_size": 2, "cv": 5}
    ours = make(12, **settings).fit(X, y)
    assert ours.cv_results_["raced"].any()
    n_fits = Counted.n_fits
    ours.resume(X, y, n_iter=8)
    new = ours.cv_results_["n_splits_evaluated"][12:].sum() + 1
    assert Counted.n_fits - n_fits == new
    assert ours.cv_results_["raced"][12:].any()


@pytest.mark.parametrize("schedule", ["rounds", "window"])
@pytest.mark.parametrize("racing", [None, "confident"])
def test_a_checkpoint_goes_on_to_the_same(tmp_path, schedule, racing):
    settings = {"racing": racing, "schedule": schedule, "batch_size": 2, "cv": 4}
    settings["policy"] = "robust"
    ours = make(**settings).fit(X, y).resume(X, y, n_iter=5)
    path = tmp_path / "search.ckpt"
    kept = make(checkpoint=path, **settings).fit(X, y)
    kept.resume(X, y, n_iter=5)
    assert_equal(ours, kept)
    repeated = make(14, checkpoint=path, **settings).fit(X, y)
    assert_equal(ours, repeated)
    assert "from the checkpoint" in kept.report()
    assert "from the checkpoint" not in ours.report()


def test_again_and_again():
    ours = make().fit(X, y)
    for n in (1, 2, 3):
        ours.resume(X, y, n_iter=n)
    assert_equal(ours, make(15).fit(X, y))
    assert ours.stop_reason_ == "n_iter"
    assert "15 candidates" in ours.report()


@pytest.mark.parametrize("copied", [deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_a_copy_goes_on_by_itself(copied, schedule):
    ours = make(schedule=schedule).fit(X, y)
    other = copied(ours).resume(X, y, n_iter=6)
    assert ours.n_iter_ == 9
    assert len(ours.cv_results_["params"]) == 9
    assert_equal(other, ours.resume(X, y, n_iter=6))


def test_a_clone_is_not_fitted():
    ours = make().fit(X, y)
    with pytest.raises(NotFittedError):
        clone(ours).resume(X, y, n_iter=3)
    with pytest.raises(NotFittedError):
        make().resume(X, y, n_iter=3)


@pytest.mark.parametrize("used", ["ask", "tell"])
def test_an_optimizer_used_from_outside_is_not_gone_on_with(used):
    ours = make().fit(X, y)
    if used == "ask":
        ours.optimizer_.ask()
    else:
        ours.optimizer_.tell({"a": 0.123}, 5.0)
    assert_equal(ours.resume(X, y, n_iter=6), make(15).fit(X, y))


def test_what_was_interrupted_is_finished_first():
    Stopped.stop_at, Stopped.stop = 3 * 6 + 1, interrupt
    with pytest.warns(UserWarning, match="interrupted after 6 of 9"):
        ours = make(estimator=Stopped(), verbose=0).fit(X, y)
    assert (ours.n_iter_, ours.stop_reason_) == (6, "interrupted")
    n_fits = Counted.n_fits
    ours.resume(X, y, n_iter=3)
    assert Counted.n_fits - n_fits == 3 * 3 - 1 + 1
    assert ours.stop_reason_ == "n_iter"
    assert_equal(ours, make(estimator=Stopped()).fit(X, y))


@pytest.mark.parametrize("schedule", ["rounds", "free"])
def test_what_raises_leaves_the_results_and_what_it_has_fitted(schedule):
    settings = {"estimator": Stopped(), "error_score": "raise", "schedule": schedule}
    ours = make(**settings).fit(X, y)
    before = ours.cv_results_
    n_fits = Counted.n_fits
    Stopped.stop_at, Stopped.stop = n_fits + 7, fail
    with pytest.raises(RuntimeError, match="stopped"):
        ours.resume(X, y, n_iter=6)
    assert ours.cv_results_ is before
    assert ours.n_iter_ == 9
    ours.report()
    ours.resume(X, y, n_iter=6)
    assert Counted.n_fits - n_fits == 3 * 6 + 1
    assert_equal(ours, make(15, **settings).fit(X, y))


def test_the_honest_score_is_of_all():
    settings = {"honest_score": True, "scoring": "accuracy"}
    settings |= {"estimator": GaussianNB()}
    settings |= {"space": {"var_smoothing": Real(1e-9, 1, log=True)}}
    ours = make(**settings).fit(X, y).resume(X, y, n_iter=4)
    longer = make(13, **settings).fit(X, y)
    assert ours.honest_score_ == longer.honest_score_
    assert ours.honest_interval_ == longer.honest_interval_


def test_listeners_hear_of_new_candidates_only():
    heard = []
    ours = make(on_trial=lambda trial: heard.append(trial["number"])).fit(X, y)
    ours.resume(X, y, n_iter=3)
    assert heard == list(range(12))


def test_what_may_change_in_between():
    ours = make().fit(X, y)
    ours.set_params(refit=False, pre_dispatch=3, max_time=1e3, n_iter=7)
    ours.resume(X, y, n_iter=6)
    assert ours.n_iter == 7
    assert_equal(ours, make(15).fit(X, y))


def test_a_seed_that_was_drawn_is_kept():
    rng = np.random.RandomState(3)
    ours = make(random_state=rng).fit(X, y).resume(X, y, n_iter=6)
    longer = make(15, random_state=np.random.RandomState(3)).fit(X, y)
    assert_equal(ours, longer)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"param_space": {"a": Real(-2, 1)}}, "the space of a was Real(low=-1"),
        ({"estimator__seconds": 0.01}, "the estimator parameter seconds was 0.0"),
        ({"batch_size": 2}, "the setting batch_size was 1 and is now 2"),
        ({"random_state": 5}, "the setting random_state was 0 and is now 5"),
        ({"policy": "robust"}, "the setting policy was"),
        ({"scoring": "accuracy"}, "the scoring was None"),
    ],
)
def test_what_may_not(changed, says):
    ours = make().fit(X, y)
    n_fits, before = Counted.n_fits, ours.cv_results_
    with pytest.raises(ValueError, match="with previous= to reuse this") as caught:
        ours.set_params(**changed).resume(X, y, n_iter=6)
    assert says in str(caught.value)
    assert Counted.n_fits == n_fits
    assert ours.cv_results_ is before


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ((X[:-1], y[:-1]), "150 rows of 4 columns. Got 149 rows of 4 columns"),
        ((X[:, :3], y), "Got 150 rows of 3 columns"),
        ((X[:, :3].tolist(), y), "Got 150 rows of 3 columns"),
        ((list("a" * 150), y), "Got 150 rows instead"),
    ],
)
def test_other_data_are_refused(data, says):
    ours = make().fit(X, y)
    with pytest.raises(ValueError, match="must be that of fit") as caught:
        ours.resume(*data, n_iter=3)
    assert says in str(caught.value)


@pytest.mark.parametrize("n_iter", [0, -1, 1.5, "3", None, True])
def test_the_number_of_candidates_is_checked(n_iter):
    ours = make().fit(X, y)
    with pytest.raises(ValueError, match="'n_iter' of RobustBayesSearchCV"):
        ours.resume(X, y, n_iter=n_iter)


def test_a_checkpoint_has_to_stay(tmp_path):
    path = tmp_path / "search.ckpt"
    ours = make(checkpoint=path).fit(X, y)
    with pytest.raises(ValueError, match="the file has the earlier candidates"):
        deepcopy(ours).set_params(checkpoint=None).resume(X, y, n_iter=3)
    with pytest.raises(CheckpointError, match="another search, because the data X"):
        ours.resume(X[:-1], y[:-1], n_iter=3)
    path.rename(tmp_path / "moved.ckpt")
    with pytest.raises(CheckpointError, match="give the path of the file that fit"):
        ours.resume(X, y, n_iter=3)
    assert not path.exists()
    ours.set_params(checkpoint=tmp_path / "moved.ckpt").resume(X, y, n_iter=3)
    assert ours.n_iter_ == 12


def test_splits_are_kept_in_little_space():
    """Training rows are stored only if they are not all other rows."""
    n = 10_000
    ours = make(4, cv=5, estimator=Fake()).fit(np.zeros((n, 1)), np.arange(n) % 2)
    assert len(pickle.dumps(ours._memory)) < 2.2 * 8 * n
    overlapping = [(np.arange(8), np.arange(4, 12)), (np.arange(3, 15), [0, 1, 2])]
    ours = make(4, cv=overlapping).fit(X, y).resume(X, y, n_iter=3)
    assert_equal(ours, make(7, cv=overlapping).fit(X, y))


def test_too_little_time_leaves_the_results(monkeypatch):
    ours = make(schedule="window").fit(X, y)
    before = ours.cv_results_
    ours.set_params(max_time=1e-9)
    with pytest.raises(TimeoutError, match="No candidate was finished"):
        ours.resume(X, y, n_iter=3)
    assert ours.cv_results_ is before
    asked = []

    def over(stops):
        asked.append(stops)
        stops._out_of_time = len(asked) > 5
        return bool(stops.reason)

    with monkeypatch.context() as patched:
        patched.setattr(Stops, "over", over)
        with pytest.warns(UserWarning, match="its results are those of before"):
            ours.resume(X, y, n_iter=3)
    assert ours.cv_results_ is before
    assert (ours.n_iter_, ours.stop_reason_) == (9, "max_time")
    ours.set_params(max_time=None).resume(X, y, n_iter=3)
    assert_equal(ours, make(12).fit(X, y))
