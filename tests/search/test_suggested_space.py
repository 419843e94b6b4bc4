"""Suggested ranges are valid for every estimator, and in order of importance."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, SelectPercentile
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skrobustbo import RobustBayesSearchCV, Space, suggested_space

X, y = make_classification(120, 8, n_informative=4, random_state=0)
Xr, yr = make_regression(120, 8, noise=10, random_state=0)
FEW = {"max_iter": 20, "random_state": 0}
PREDICTORS = [
    *(Ridge(), RidgeClassifier(), KernelRidge(), Lasso(), ElasticNet()),
    *(LogisticRegression(), LinearSVC(), LinearSVR(), SVC(max_iter=999)),
    *(SVR(max_iter=999), KNeighborsClassifier(), KNeighborsRegressor()),
    *(DecisionTreeClassifier(random_state=0), DecisionTreeRegressor(random_state=0)),
    *(RandomForestClassifier(5), RandomForestRegressor(5)),
    *(ExtraTreesClassifier(5), ExtraTreesRegressor(5, bootstrap=True)),
    HistGradientBoostingClassifier(max_iter=5),
    HistGradientBoostingRegressor(max_iter=5),
    *(GradientBoostingClassifier(), GradientBoostingRegressor()),
    *(MLPClassifier(**FEW), MLPRegressor(**FEW), SGDClassifier(), SGDRegressor()),
]


def name_of(estimator):
    return type(estimator).__name__


def ends(space):
    """Return the two points with all numbers at one end of their ranges."""
    return [
        {
            name: getattr(values, end)
            if hasattr(values, end)
            else Space({name: values}).sample(1, random_state=0)[0][name]
            for name, values in space.items()
        }
        for end in ("low", "high")
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", PREDICTORS, ids=name_of)
def test_all_values_are_legal(estimator):
    """The ends of ranges, and points inside, checked by constraints and fit."""
    data = (X, y) if isinstance(estimator, ClassifierMixin) else (Xr, yr)
    for given in ((), data):
        space = suggested_space(estimator, *given)
        assert space
        for values in [*ends(space), *Space(space).sample(4, random_state=0)]:
            fitted = clone(estimator).set_params(**values)
            getattr(fitted, "_validate_params", lambda: None)()
            few = {"max_iter", "n_estimators"} & values.keys()
            fitted.set_params(**dict.fromkeys(few, 3)).fit(*data)


def test_ends_depend_on_the_data():
    assert suggested_space(KNeighborsClassifier(), X, y)["n_neighbors"].high == 48
    wide, narrow = (suggested_space(SVC(), s * X)["gamma"] for s in (10, 1))
    assert narrow.high == pytest.approx(100 * wide.high)
    assert narrow.low < SVC(gamma="scale").fit(X, y)._gamma < narrow.high
    tube = suggested_space(SVR(), Xr, 1000 * yr)["epsilon"]
    assert tube.high == pytest.approx(1000 * np.std(yr))
    few = suggested_space(make_pipeline(SelectKBest(), SVC()), X)
    assert few["selectkbest__k"].high == 8
    assert "selectkbest__k" not in suggested_space(make_pipeline(SelectKBest(), SVC()))


def test_settings_decide_what_is_there():
    assert "gamma" not in suggested_space(SVC(kernel="linear"))
    assert "max_samples" not in suggested_space(ExtraTreesClassifier())
    assert "max_samples" in suggested_space(ExtraTreesClassifier(bootstrap=True))
    assert "batch_size" not in suggested_space(MLPClassifier(solver="lbfgs"))
    weighted = LogisticRegression(class_weight={0: 1, 1: 3})
    assert "class_weight" not in suggested_space(weighted)
    assert list(suggested_space(PCA_THEN_SVC, n_params=3)) == [
        "svc__gamma",
        "svc__C",
        "pca__n_components",
    ]
    arpack = make_pipeline(PCA(svd_solver="arpack"), SVC())
    assert "pca__n_components" not in suggested_space(arpack)


PCA_THEN_SVC = make_pipeline(StandardScaler(), PCA(), SVC())


def test_parts_are_found_wherever_they_are():
    prepare = ColumnTransformer(
        [
            ("numbers", make_pipeline(StandardScaler(), SelectPercentile()), [0, 1]),
            ("words", TfidfVectorizer(), 2),
            ("rest", OneHotEncoder(), [3]),
        ]
    )
    model = make_pipeline(prepare, RandomForestClassifier())
    names = list(suggested_space(model))
    assert names[0] == "randomforestclassifier__max_features"
    assert "columntransformer__words__ngram_range" in names
    assert "columntransformer__numbers__selectpercentile__percentile" in names
    turned = TransformedTargetRegressor(Ridge())
    assert list(suggested_space(turned)) == ["regressor__alpha"]
    voting = VotingClassifier([("a", SVC()), ("b", KNeighborsClassifier())])
    assert list(suggested_space(voting, n_params=2)) == ["a__gamma", "b__n_neighbors"]


def test_words():
    texts = ["one two", "two three four", "four one", "five two six"] * 30
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    space = suggested_space(model, texts, [0, 1] * 60)
    assert "countvectorizer__sublinear_tf" not in space
    for values in Space(space).sample(10, random_state=0):
        clone(model).set_params(**values).fit(texts, [0, 1] * 60)


def test_classes_of_users_are_those_that_they_derive_from():
    class Own(SVC):
        pass

    assert list(suggested_space(Own())) == list(suggested_space(SVC()))


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("lightgbm", "LGBMClassifier"),
        ("lightgbm", "LGBMRegressor"),
        ("xgboost", "XGBClassifier"),
        ("xgboost", "XGBRegressor"),
        ("catboost", "CatBoostClassifier"),
        ("catboost", "CatBoostRegressor"),
    ],
)
def test_boosting_libraries(package, name):
    module = pytest.importorskip(package)
    quiet = {"lightgbm": {"verbose": -1, "n_jobs": 1}, "xgboost": {"n_jobs": 1}}
    quiet["catboost"] = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
    quiet["catboost"]["iterations"] = 5
    model = getattr(module, name)(**quiet[package])
    data = (X, y) if "Class" in name else (Xr, yr)
    space = suggested_space(model, *data)
    assert next(iter(space)) == "learning_rate"
    for values in Space(space).sample(4, random_state=0):
        few = {"n_estimators": 5} if "n_estimators" in values else {}
        clone(model).set_params(**values | few).fit(*data)


def test_a_search_takes_it():
    space = suggested_space(PCA_THEN_SVC, X, y)
    search = RobustBayesSearchCV(PCA_THEN_SVC, space, n_iter=6, random_state=0)
    assert search.fit(X, y).n_iter_ == 6


def suggested(n_iter=9, *, model=None, **settings):
    """Return a search of the suggested space."""
    model = HistGradientBoostingClassifier(max_iter=3) if model is None else model
    return RobustBayesSearchCV(
        *(model, "suggested"), n_iter=n_iter, cv=2, random_state=0, **settings
    )


def test_the_word_is_the_most_important_part_of_the_dict():
    model = HistGradientBoostingClassifier(max_iter=3)
    space = suggested_space(model, X, y, n_params=4)
    by_hand = clone(suggested()).set_params(param_space=space).fit(X, y)
    search = suggested().fit(X, y)
    assert search.cv_results_["params"] == by_hand.cv_results_["params"]
    assert search.param_space == "suggested"
    everything = suggested_space(model, X, y)
    assert set(suggested(40).fit(X, y).best_params_) == set(everything)


def test_what_is_used_as_the_resource_is_left_out():
    boosting = GradientBoostingClassifier(n_estimators=18)
    search = suggested(18, model=boosting, resource="n_estimators").fit(X, y)
    names = ["learning_rate", "max_depth", "subsample", "min_samples_leaf"]
    assert list(search.best_params_) == names


def test_more_candidates_later_do_not_change_the_space(tmp_path):
    search = suggested(6).fit(X, y)
    names = set(search.best_params_)
    assert set(search.resume(X, y, n_iter=34).best_params_) == names
    path = tmp_path / "search.ckpt"
    for n_iter in (6, 40):
        search = suggested(n_iter, checkpoint=path).fit(X, y)
        assert search.n_iter_ == n_iter
        assert set(search.best_params_) == names


def test_what_is_not_known():
    class Custom(ClassifierMixin, BaseEstimator):
        def __init__(self, strength=1.0):
            self.strength = strength

    with pytest.raises(ValueError, match="contain, one of CatBoostClassifier") as error:
        suggested_space(make_pipeline(PCA(), Custom()))
    assert "Got Custom instead" in str(error.value)
    assert "{'custom__strength': Real(1e-3, 1e3, log=True)}" in str(error.value)
    with pytest.raises(ValueError, match=r"\{'strength': Real\(1e-3, 1e3, log=True\)"):
        suggested_space(Custom())
    with pytest.raises(ValueError, match="Got GaussianNB instead"):
        suggested_space(GaussianNB())
    with pytest.raises(ValueError, match="Got GaussianNB instead"):
        suggested(model=GaussianNB()).fit(X, y)
    with pytest.raises(ValueError, match=r"among \{'suggested'\}. Got 'sugested'"):
        suggested().set_params(param_space="sugested").fit(X, y)
    with pytest.raises(TypeError, match=r"must be an estimator.*Got 'SVC'"):
        suggested_space("SVC")
    for wrong in (0, 2.0, True):
        with pytest.raises(ValueError, match="'n_params' of suggested_space"):
            suggested_space(SVC(), n_params=wrong)
