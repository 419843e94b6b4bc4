"""The pictures of the page on displays: one search, drawn in every way."""

from functools import cache

from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skrobustbo import Integer, Optimizer, Real, Resource, RobustBayesSearchCV
from skrobustbo.displays import (
    ConvergenceDisplay,
    EvaluationsDisplay,
    ImportanceDisplay,
    LengthScaleDisplay,
    ObjectiveDisplay,
    ParallelCoordinatesDisplay,
    ResetDisplay,
    ResourceDisplay,
    SensitivityDisplay,
)

SPACE = {
    "C": Real(1e-2, 1e3, log=True),
    "gamma": Real(1e-6, 1e-1, log=True),
    "kernel": ["rbf", "sigmoid"],
}


@cache
def search(policy):
    """Return the page's search, with more candidates."""
    X, y = load_digits(return_X_y=True)
    return RobustBayesSearchCV(
        SVC(), SPACE, n_iter=30, cv=3, policy=policy, random_state=0
    ).fit(X[:300], y[:300])


def convergence():
    """Return two searches compared."""
    both = {"robust": search("robust"), "random": search("random")}
    return ConvergenceDisplay.from_search(both).figure_


def length_scales():
    """Return a policy that holds several models side by side."""
    return LengthScaleDisplay.from_search(search("lb-gp-ucb")).figure_


def objective():
    """Return what the model believes."""
    return ObjectiveDisplay.from_search(search("robust")).figure_


def evaluations():
    """Return where the search looked."""
    return EvaluationsDisplay.from_search(search("robust")).figure_


def parallel():
    """Return what the good candidates have in common."""
    return ParallelCoordinatesDisplay.from_search(search("robust")).figure_


def importance():
    """Return which parameters matter."""
    return ImportanceDisplay.from_search(search("robust")).figure_


def sensitivity():
    """Return how exactly the optimum must be met."""
    return SensitivityDisplay.from_search(search("robust"), max_eps=0.1).figure_


def branches():
    """Return a search among three estimators, a line for each."""
    X, y = load_digits(return_X_y=True)
    pipe = Pipeline([("scale", StandardScaler()), ("clf", SVC())])
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    space = [
        {"clf": [SVC()], "clf__C": Real(1e-2, 1e3, log=True)},
        {"clf": [KNeighborsClassifier()], "clf__n_neighbors": Integer(1, 40)},
        {
            "clf": [boosting],
            "clf__learning_rate": Real(1e-2, 1, log=True),
            "clf__max_leaf_nodes": Integer(2, 30),
        },
    ]
    found = RobustBayesSearchCV(
        pipe, space, n_iter=30, cv=3, scoring="accuracy", random_state=0
    ).fit(X[:300], y[:300])
    return ConvergenceDisplay.from_search(found, branch="all").figure_


def reset():
    """Return an objective that jumps, and a policy that notices."""
    optimizer = Optimizer({"x": Real(0, 1)}, "et-gp-ucb", random_state=0)
    for t in range(30):
        params = optimizer.ask()
        optimum = 0.2 if t < 15 else 0.8
        optimizer.tell(params, -((params["x"] - optimum) ** 2))
    return ResetDisplay.from_optimizer(optimizer).figure_


def resource():
    """Return a search that looks at few rows first."""
    X, y = load_digits(return_X_y=True)
    found = RobustBayesSearchCV(
        SVC(),
        SPACE,
        n_iter=30,
        cv=3,
        resource=Resource("n_samples", min=34),
        random_state=0,
    ).fit(X[:300], y[:300])
    return ResourceDisplay.from_search(found).figure_


FIGURES = {
    f"display_{make.__name__}": make
    for make in (
        convergence,
        length_scales,
        objective,
        evaluations,
        parallel,
        importance,
        sensitivity,
        reset,
        resource,
        branches,
    )
}
