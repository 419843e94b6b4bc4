"""The effort to add a column that is known when a candidate is asked."""

from changed_package import output_with

#: The change: a field of a trial and its column, in one file.
CHANGES = {
    'COLUMNS = {"model_label"': 'COLUMNS = {"asked_at": "asked_at", "model_label"',
    "    reset: bool = False\n": (
        "    reset: bool = False\n"
        "    asked_at: float = field(default_factory=__import__('time').time)\n"
    ),
}

USE = """
import sys
import numpy as np
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from skrobustbo import Integer, Optimizer, RobustBayesSearchCV, load_checkpoint
from skrobustbo.watching import main

X, y = load_iris(return_X_y=True)
path = sys.argv[1]


def make(n_iter, estimator=None, **settings):
    space = {"n_neighbors": Integer(1, 30)}
    estimator = estimator or KNeighborsClassifier()
    settings = {"n_iter": n_iter, "n_initial_points": 3, "random_state": 0, **settings}
    return RobustBayesSearchCV(estimator, space, **settings)


def column(search):
    return list(search.cv_results_["asked_at"])


told = []
first = column(make(4, checkpoint=path, on_trial=told.append).fit(X, y))
assert len(set(first)) == 4
assert [record["asked_at"] for record in told] == first
again = make(6, checkpoint=path).fit(X, y)
assert column(again)[:4] == first
loaded = load_checkpoint(path)
assert [record["asked_at"] for record in loaded.trials] == column(again)
assert list(loaded.trials_dataframe()["asked_at"]) == column(again)
for racing in (None, "confident"):
    search = make(4, racing=racing).fit(X, y)
    first = column(search)
    assert column(search.resume(X, y, n_iter=2))[:4] == first
assert len(column(make(4, previous=path).fit(X, y))) == 4
outside = make(4, estimator=KNeighborsClassifier(40), include_default=True).fit(X, y)
assert outside.cv_results_["params"][0] == {"n_neighbors": 40}
first = column(outside)
assert column(outside.resume(X, y, n_iter=2))[:4] == first
optimizer = Optimizer.from_dict(again.optimizer_.to_dict())
assert len(optimizer.history_) == 6
assert main(["watch", path]) == 0
"""


def test_a_new_column_takes_a_change_of_one_file(tmp_path):
    """Checkpoints, `resume`, `load_checkpoint`, `watch` and `previous` support it."""
    output_with({"_trials.py": CHANGES}, USE, tmp_path)
