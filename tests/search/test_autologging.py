"""MLflow's autologging is off inside folds and on outside, whoever runs them."""

import sys
from contextlib import contextmanager
from types import ModuleType

import pytest
from joblib import parallel_config
from sklearn.datasets import load_iris

from fake_estimators import Fake, search_of
from skrobustbo import Real

X, y = load_iris(return_X_y=True)
NAME = "mlflow.utils.autologging_utils"


class Seen(Fake):
    """Records whether autologging is on during its fits."""

    def __init__(self, a=0.0, seconds=0.0):
        super().__init__(a)
        self.seconds = seconds

    def fit(self, X, y=None):
        on = not sys.modules[NAME]._AUTOLOGGING_GLOBALLY_DISABLED
        sys.modules[NAME].seen.append((len(X), on))
        if self.a > 0.9:
            raise RuntimeError("too large")
        return super().fit(X, y)


@pytest.fixture
def mlflow(monkeypatch):
    """Replace MLflow by a module with the same switch."""
    module = ModuleType(NAME)
    module._AUTOLOGGING_GLOBALLY_DISABLED, module.seen = False, []

    @contextmanager
    def disable_autologging():
        module._AUTOLOGGING_GLOBALLY_DISABLED = True
        try:
            yield
        finally:
            module._AUTOLOGGING_GLOBALLY_DISABLED = False

    module.disable_autologging = disable_autologging
    monkeypatch.setitem(sys.modules, NAME, module)
    return module


def fit(**settings):
    with parallel_config(backend="threading"):
        return search_of(Seen(), n_iter=8, **settings).fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("honest_score", [False, True])
@pytest.mark.parametrize("n_jobs", [None, 3])
def test_it_is_off_in_all_folds_and_on_in_the_refit(n_jobs, honest_score, mlflow):
    scoring = "accuracy" if honest_score else None
    fit(n_jobs=n_jobs, honest_score=honest_score, scoring=scoring)
    assert len(mlflow.seen) == 8 * 3 + 1
    assert [on for n, on in mlflow.seen if n < len(X)] == [False] * 24
    assert [on for n, on in mlflow.seen if n == len(X)] == [True]
    assert not mlflow._AUTOLOGGING_GLOBALLY_DISABLED


def test_it_stays_off_where_the_user_has_turned_it_off(mlflow):
    with mlflow.disable_autologging():
        fit(space={"a": Real(0, 0.9)})
        assert mlflow._AUTOLOGGING_GLOBALLY_DISABLED
    assert {on for _, on in mlflow.seen} == {False}


def test_a_search_in_a_fold_does_not_turn_it_on(mlflow):
    search_of(search_of(Seen(), n_iter=2, cv=2), {"n_iter": [1, 2]}, n_iter=2).fit(X, y)
    # The refit of the outer search is also a search, whose refit has all rows.
    assert [n for n, on in mlflow.seen if on] == [len(X)]


def test_a_module_without_the_switch_costs_nothing(mlflow):
    del mlflow.disable_autologging, mlflow._AUTOLOGGING_GLOBALLY_DISABLED
    found = search_of(Fake(), n_iter=3).fit(X, y)
    assert found.n_iter_ == 3
    assert (found.cv_results_["mean_test_score"] <= 0).all()
