"""The effort to add a criterion, with a setting, that ends a search."""

from changed_package import output_with

#: The changes by file: the setting, and the criterion with its texts.
CHANGES = {
    "model_selection/_settings.py": {
        '        "tol": [': (
            '        "patience": [Interval(Integral, 1, None, closed="left"), None],\n'
            '        "tol": ['
        ),
        "        tol: float": (
            "        patience: int | None = None,\n        tol: float"
        ),
        "        self.tol = tol\n": (
            "        self.tol = tol\n        self.patience = patience\n"
        ),
    },
    "model_selection/_ends.py": {
        "#: Criteria that may end a search before": '''\
def _out_of_patience(search, optimizer, trials, metric):
    """End the search where the latest candidates have not improved the best."""
    scores = [trial.mean_score(metric) for trial in trials]
    n = search.patience or len(scores)
    return len(scores) > n and max(scores[-n:]) <= max(scores[:-n]), ""


#: Criteria that may end a search before''',
        '{"tol": _within_tol}': '{"tol": _within_tol, "patience": _out_of_patience}',
        '    "callback": ': (
            '    "patience": "no candidate was better for a while",\n    "callback": '
        ),
    },
}

USE = """
import sys
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from skrobustbo import Integer, RobustBayesSearchCV, load_checkpoint
from skrobustbo.watching import main

X, y = load_iris(return_X_y=True)


def make(n_iter=30, patience=3, **settings):
    space = {"n_neighbors": Integer(1, 60)}
    settings = {"n_initial_points": 3, "random_state": 0, **settings}
    estimator = KNeighborsClassifier()
    return RobustBayesSearchCV(
        estimator, space, n_iter=n_iter, patience=patience, **settings
    )


def check(search):
    assert search.stop_reason_ == "patience"
    assert "no candidate was better for a while" in search.report()


for i, racing in enumerate((None, "confident")):
    path = f"{sys.argv[1]}.{i}"
    search = make(checkpoint=path, racing=racing).fit(X, y)
    check(search)
    n = search.n_iter_
    assert 3 < n < 30
    loaded = load_checkpoint(path)
    assert (loaded.status, loaded.stop_reason) == ("finished", "patience")
    assert len(loaded.trials) == n
    assert main(["watch", path]) == 0
    again = make(checkpoint=path, racing=racing).fit(X, y)
    check(again)
    assert again.n_iter_ == n
    memory = make(racing=racing).fit(X, y)
    assert memory.n_iter_ == n
    check(memory.resume(X, y, n_iter=2))
    assert memory.n_iter_ == n
assert make(6, None).fit(X, y).stop_reason_ == "n_iter"
"""


def test_a_new_criterion_takes_changes_of_two_files(tmp_path):
    """The report, checkpoints, `resume`, `load_checkpoint` and `watch` support it."""
    printed = output_with(CHANGES, USE, tmp_path)
    assert printed.count("Finished: no candidate was better for a while") == 2
