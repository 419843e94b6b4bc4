"""Parameters of the boosting libraries, some of which `get_params` does not list."""

import warnings

import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from skrobustbo import Integer, Real, Resource, RobustBayesSearchCV
from skrobustbo._names import slip_of

X, y = make_classification(60, 5, n_informative=3, random_state=0)

#: A package, its classifier with few trees, an unlisted parameter and a misspelling.
MAKERS = {
    "catboost": (
        "CatBoostClassifier",
        {"verbose": 0, "thread_count": 1, "allow_writing_files": False},
        "iterations",
        {"depth": Integer(2, 4)},
        {"dept": "depth", "iteration": "iterations", "n_estimator": "n_estimators"},
    ),
    "lightgbm": (
        "LGBMClassifier",
        {"verbose": -1, "n_jobs": 1, "n_estimators": 3},
        "n_estimators",
        {"min_data_in_leaf": Integer(2, 9)},
        {"num_leafs": "num_leaves", "n_estimator": "n_estimators"},
    ),
    "xgboost": (
        "XGBClassifier",
        {"verbosity": 0, "n_jobs": 1, "n_estimators": 3},
        "n_estimators",
        {"rate_drop": Real(0.1, 0.5)},
        {"max_dept": "max_depth", "colsample_by_tree": "colsample_bytree"},
    ),
}

#: Names that the libraries document elsewhere, or treat as others.
LEGAL = {
    "catboost": "depth max_depth n_estimators num_trees num_boost_round eta rsm "
    "colsample_bylevel l2_leaf_reg reg_lambda num_leaves max_leaves max_bin "
    "border_count min_data_in_leaf min_child_samples random_state random_seed "
    "subsample bagging_temperature",
    "lightgbm": "num_leaf max_leaf max_leaves max_leaf_nodes num_iterations num_trees "
    "num_rounds n_iter nrounds max_iter eta shrinkage_rate min_data_in_leaf min_data "
    "min_data_per_leaf min_samples_leaf min_sum_hessian_in_leaf min_hessian "
    "bagging_fraction bagging_freq sub_row bagging feature_fraction sub_feature "
    "colsample_bynode feature_fraction_bynode lambda_l1 lambda_l2 l1_regularization "
    "min_gain_to_split max_bin max_bins min_data_in_bin path_smooth extra_trees "
    "linear_tree boosting boost device device_type num_threads nthread nthreads "
    "num_thread seed random_seed drop_rate rate_drop skip_drop max_drop cat_smooth "
    "cat_l2 max_cat_threshold scale_pos_weight is_unbalance early_stopping_round "
    "early_stopping_rounds objective_type monotone_constraint",
    "xgboost": "eta alpha lambda min_split_loss nthread seed rate_drop one_drop "
    "skip_drop sample_type normalize_type process_type refresh_leaf updater top_k "
    "feature_selector max_cached_hist_node tweedie_variance_power huber_slope "
    "quantile_alpha aft_loss_distribution aft_loss_distribution_scale num_class "
    "lambdarank_pair_method lambdarank_num_pair_per_sample seed_per_iteration "
    "disable_default_eval_metric silent",
}


def make(package, **more):
    module = pytest.importorskip(package)
    name, settings = MAKERS[package][:2]
    amount = {"iterations": 3} if package == "catboost" else {}
    return getattr(module, name)(**{**settings, **amount, **more})


def search(estimator, space, **more):
    given = {"n_iter": 2, "cv": 2, "random_state": 0, "include_default": False, **more}
    return RobustBayesSearchCV(estimator, space, **given)


@pytest.fixture(params=sorted(MAKERS))
def package(request):
    pytest.importorskip(request.param)
    with warnings.catch_warnings():
        # The libraries' own warnings are not ours.
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="In 'param_space'")
        yield request.param


@pytest.mark.parametrize("place", ["step", "vote", "stack", "part of a step"])
def test_unlisted_parameters_below_a_searched_component(package, place):
    model, inside = make(package), MAKERS[package][3]
    parts = [("clf", DummyClassifier()), ("other", LogisticRegression())]
    whole, above = {
        "step": (
            Pipeline(parts[:1]),
            {"clf": [model, make(package, learning_rate=0.2)]},
        ),
        "vote": (VotingClassifier(parts), {"clf": [model]}),
        "stack": (StackingClassifier(parts, cv=2), {"clf": [model]}),
        "part of a step": (
            Pipeline([("all", DummyClassifier())]),
            {"all": [VotingClassifier(parts)], "all__clf": [model]},
        ),
    }[place]
    owner = max(above, key=len)
    space = {**above, **{f"{owner}__{name}": d for name, d in inside.items()}}
    ours = search(whole, space).fit(X, y)
    (name,) = inside
    set_to = ours.best_params_[f"{owner}__{name}"]
    fitted = ours.best_estimator_.get_params()[f"{owner}__{name}"]
    assert fitted == set_to
    assert name not in model.get_params()


def test_misspelt_names_get_one_warning(package):
    for name, near in MAKERS[package][4].items():
        space = {"clf": [make(package)], f"clf__{name}": [2, 3]}
        never = search(Pipeline([("clf", DummyClassifier())]), space)
        never.set_params(constraints=lambda params: False)
        with (
            pytest.warns(UserWarning, match=f"did you mean 'clf__{near}'") as caught,
            pytest.raises(ValueError, match="must allow"),
        ):
            never.fit(X, y)
        assert len(caught) == 1


def test_legal_names_get_none(package):
    space = {name: [1] for name in LEGAL[package].split()}
    never = search(make(package), space, constraints=lambda params: False)
    with pytest.raises(ValueError, match="must allow"):
        never.fit(X, y)


def test_the_names_that_lightgbm_takes_for_others_are_no_slips():
    basic = pytest.importorskip("lightgbm.basic")
    listed = set(type(make("lightgbm"))().get_params())
    names = basic._ConfigAliases._get_all_param_aliases()
    others = {name for both in names.items() for name in (both[0], *both[1])} - listed
    assert len(others) > 200
    assert not {name for name in others if slip_of(name, listed)}


def test_the_resource_and_what_it_needs(package):
    name, inside = MAKERS[package][2:4]
    model = make(package, **{name: 9})
    space = {"clf": [model], **{f"clf__{k}": v for k, v in inside.items()}}
    whole = Pipeline([("clf", DummyClassifier())])
    ours = search(whole, space, resource=f"clf__{name}").fit(X, y)
    assert ours.n_resources_ == [1, 3, 9]


def test_catboost_without_iterations():
    bare = pytest.importorskip("catboost").CatBoostClassifier(
        **MAKERS["catboost"][1], learning_rate=0.1
    )
    space = {"depth": Integer(2, 4)}
    with pytest.raises(ValueError, match=r"'iterations' is not a positive.*not set"):
        search(bare, space, resource="iterations").fit(X, y)
    ours = search(bare, space, resource=Resource("iterations", max=9)).fit(X, y)
    assert ours.n_resources_ == [1, 3, 9]


def test_catboost_with_columns_raises_what_clone_raises():
    model = make("catboost", cat_features=[0])
    for whole, space in (
        (model, {"depth": Integer(2, 4)}),
        (Pipeline([("clf", DummyClassifier())]), {"clf": [DummyClassifier(), model]}),
    ):
        with pytest.raises(RuntimeError, match="Cannot clone object"):
            search(whole, space).fit(X, y)


def test_catboost_begins_with_what_it_was_given():
    space = {"depth": Integer(2, 4), "l2_leaf_reg": Real(1, 9)}
    earlier = search(make("catboost"), {"depth": [3]}).fit(X, y)
    partial = {"initial_params": [{"depth": 3}]}
    for more in (partial, {"previous": earlier}):
        ours = search(make("catboost", l2_leaf_reg=2.0), space, **more).fit(X, y)
        assert ours.cv_results_["params"][0] == {"depth": 3, "l2_leaf_reg": 2.0}
    with pytest.raises(ValueError, match="'l2_leaf_reg' is unknown"):
        search(make("catboost"), space, **partial).fit(X, y)
    with pytest.warns(UserWarning, match="'l2_leaf_reg' is unknown"):
        search(make("catboost"), space, previous=earlier).fit(X, y)
