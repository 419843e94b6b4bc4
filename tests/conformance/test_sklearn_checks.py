"""scikit-learn's checks of estimators and meta-estimators, on our search."""

import importlib
import warnings

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from skrobustbo import RobustBayesSearchCV

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # they build every estimator there is
    delegation = importlib.import_module("sklearn.tests.test_metaestimators")
    routing = importlib.import_module(
        "sklearn.tests.test_metaestimators_metadata_routing"
    )

GRID = {"alpha": [0.1, 0.2]}


def _scored_by_nothing(estimator, X, y=None):
    return float(estimator.n_bins)


INNER = {
    "classifier": (LogisticRegression(max_iter=30), {"C": [0.1, 0.3, 1.0, 3.0]}, {}),
    "regressor": (Ridge(), {"alpha": [0.1, 0.3, 1.0, 3.0]}, {}),
    "transformer": (
        KBinsDiscretizer(quantile_method="averaged_inverted_cdf")
        if "quantile_method" in KBinsDiscretizer().get_params()
        else KBinsDiscretizer(),
        {"n_bins": [2, 3, 4, 5]},
        {"scoring": _scored_by_nothing},
    ),
}


class TaggedGridSearchCV(GridSearchCV):
    """A grid search that may be checked with a transformer inside."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags = get_tags(self.estimator).transformer_tags
        return tags


def _failed(search):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from the checks themselves
        results = check_estimator(search, on_fail=None, on_skip=None)
    assert len(results) > 40
    return {r["check_name"] for r in results if r["status"] == "failed"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", INNER)
def test_no_check_fails_that_passes_for_a_grid_search(kind):
    estimator, values, settings = INNER[kind]
    ours = RobustBayesSearchCV(estimator, values, n_iter=4, cv=2, **settings)
    theirs = TaggedGridSearchCV(estimator, values, cv=2, **settings)
    assert _failed(ours) <= _failed(theirs)
    if kind == "classifier":
        assert not _failed(ours)


# The tables of scikit-learn's tests, with a row for our search ------------------------

ROW = {
    **next(r for r in routing.METAESTIMATORS if r["metaestimator"] is GridSearchCV),
    "metaestimator": RobustBayesSearchCV,
    "init_args": {"param_space": GRID, "n_iter": 2},
}
ROUTING = [
    routing.test_default_request,
    routing.test_error_on_missing_requests_for_sub_estimator,
    routing.test_setting_request_on_sub_estimator_removes_error,
    routing.test_non_consuming_estimator_works,
    routing.test_metadata_is_routed_correctly_to_scorer,
    routing.test_metadata_is_routed_correctly_to_splitter,
    routing.test_metadata_routed_to_group_splitter,
]
if hasattr(routing, "test_metadata_routed_to_sub_estimator_in_pipeline"):
    ROUTING.append(routing.test_metadata_routed_to_sub_estimator_in_pipeline)


@pytest.mark.parametrize("test", ROUTING, ids=lambda test: test.__name__)
def test_metadata_routing(test):
    test(ROW)


def test_delegation(monkeypatch):
    row = delegation.DelegatorData(
        "RobustBayesSearchCV",
        lambda est: RobustBayesSearchCV(est, {"param": [5]}, n_iter=1, cv=2),
        skip_methods=["score"],
    )
    monkeypatch.setattr(delegation, "DELEGATING_METAESTIMATORS", [row])
    delegation.test_metaestimator_delegation()
