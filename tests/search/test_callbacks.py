"""scikit-learn's callbacks (1.9 and later) on our search."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fake_estimators import Fake, search_of
from skrobustbo import Integer, Real, Resource, RobustBayesSearchCV

X, y = load_iris(return_X_y=True)
has_callbacks = hasattr(GridSearchCV, "set_callbacks")
needs_callbacks = pytest.mark.skipif(not has_callbacks, reason="before callbacks")


class Weighted(Fake):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)

    def score(self, X, y=None, sample_weight=None):
        return super().score(X, y)


class Recorder:
    """Records its calls; asks to stop after a number of rounds."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.begun, self.ended = [], []
        self.n_setups = self.n_teardowns = 0

    def setup(self, estimator, context):
        self.n_setups += 1

    def teardown(self, estimator, context):
        self.n_teardowns += 1

    def on_fit_task_begin(self, estimator, context, *, metadata=None):
        self.begun.append((context.task_name, context, estimator, metadata))

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.ended.append((context.task_name, context, estimator, metadata))
        rounds = sum(name == "round" for name, *_ in self.ended)
        return context.task_name == "round" and rounds == self.stop_after

    def count(self, name):
        return sum(task == name for task, *_ in self.begun)


def search(estimator=None, **settings):
    return search_of(estimator or Weighted(), **{"n_iter": 7, **settings})


@needs_callbacks
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_the_tree_of_tasks(batch_size, refit):
    recorder = Recorder()
    ours = search(batch_size=batch_size, refit=refit).set_callbacks(recorder)
    ours.fit(X, y)
    rounds = -(-7 // batch_size)
    assert recorder.count("fit") == recorder.count("search") == 1
    assert recorder.count("round") == rounds
    assert recorder.count("candidate-split-evaluation") == 7 * 3
    assert recorder.count("refit-with-best-params") == refit
    assert len(recorder.begun) == len(recorder.ended)
    assert recorder.n_setups == recorder.n_teardowns == 1
    for name, context, estimator, _ in recorder.begun:
        assert estimator is ours
        parent = context.parent.task_name if context.parent else None
        assert (
            parent
            == {
                "fit": None,
                "search": "fit",
                "refit-with-best-params": "fit",
                "round": "search",
                "candidate-split-evaluation": "round",
            }[name]
        )


@needs_callbacks
def test_the_rounds_announced_are_those_of_the_whole_search(tmp_path):
    settings = {"checkpoint": tmp_path / "c", "batch_size": 2}
    search(n_iter=4, **settings).fit(X, y)
    recorder = Recorder()
    search(n_iter=7, **settings).set_callbacks(recorder).fit(X, y)
    (announced,) = [c for name, c, *_ in recorder.begun if name == "search"]
    assert announced.max_subtasks == 4  # two of them are known


@needs_callbacks
@pytest.mark.parametrize("warm_start", [True, False])
def test_folds_with_a_part_of_a_resource_are_tasks_too(warm_start):
    inner, outer = Recorder(), Recorder()
    forest = RandomForestClassifier(6, warm_start=warm_start, random_state=0)
    pipe = make_pipeline(StandardScaler().set_callbacks(inner), forest)
    ours = RobustBayesSearchCV(
        pipe,
        {"randomforestclassifier__max_depth": Integer(1, 9)},
        n_iter=3,
        cv=3,
        resource=Resource("randomforestclassifier__n_estimators", min=2),
        random_state=0,
    )
    ours.set_callbacks(outer).fit(X, y)
    n_evaluations = len(ours.cv_results_["params"])
    assert "promoted" in ours.cv_results_["model_label"]
    assert outer.count("round") == n_evaluations
    assert outer.count("candidate-split-evaluation") == 3 * n_evaluations
    assert len(outer.begun) == len(outer.ended)
    assert len(inner.begun) == len(inner.ended) == 3 * n_evaluations + 1


@needs_callbacks
def test_the_best_so_far_is_in_the_metadata():
    recorder = Recorder()
    weights = np.ones(len(y))
    ours = search().set_callbacks(recorder).fit(X, y, sample_weight=weights)
    told = [metadata for name, _, _, metadata in recorder.ended if name == "round"]
    scores = ours.cv_results_["mean_test_score"]
    for n, metadata in enumerate(told, 1):
        assert metadata["n_candidates"] == n
        assert metadata["best_score"] == scores[:n].max()
        best = ours.cv_results_["params"][int(np.argmax(scores[:n]))]
        assert metadata["best_params"] == best
        assert metadata["sample_weight"] is weights


@needs_callbacks
def test_a_callback_may_stop_the_search():
    recorder = Recorder(stop_after=2)
    ours = search(batch_size=2).set_callbacks(recorder).fit(X, y)
    assert ours.stop_reason_ == "callback"
    assert ours.n_iter_ == len(ours.cv_results_["params"]) == 4
    assert hasattr(ours, "best_estimator_")
    assert recorder.n_teardowns == 1


@needs_callbacks
def test_callbacks_are_torn_down_after_an_error():
    recorder = Recorder()
    ours = search(scoring=lambda *args: 1 / 0, error_score="raise")
    with pytest.raises(ZeroDivisionError):
        ours.set_callbacks(recorder).fit(X, y)
    assert recorder.n_setups == recorder.n_teardowns == 1


@needs_callbacks
def test_callbacks_inside_are_heard_in_workers(tmp_path):
    class Marker(Recorder):
        def __init__(self, folder):
            super().__init__()
            self.folder = folder

        def on_fit_task_end(self, estimator, context, *, metadata=None):
            path = [context.task_name]
            while context.parent is not None:
                context = context.parent
                path.append(context.task_name)
            with (self.folder / "heard").open("a") as file:
                file.write(" ".join(reversed(path)) + "\n")

    inner = LogisticRegression(max_iter=999).set_callbacks(Marker(tmp_path))
    space = {"C": Real(0.1, 1)}
    settings = {"n_iter": 3, "cv": 2, "n_jobs": 2, "refit": False}
    RobustBayesSearchCV(inner, space, **settings).fit(X, y)
    heard = (tmp_path / "heard").read_text().splitlines()
    folds = [path for path in heard if path.startswith("fit search round")]
    assert len(folds) >= 6


@needs_callbacks
def test_a_progress_bar_shows_rounds(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    space = {"C": Real(0.1, 1)}
    ours = RobustBayesSearchCV(LogisticRegression(max_iter=999), space, n_iter=3, cv=2)
    ours.set_callbacks(ProgressBar()).fit(X, y)
    shown = capsys.readouterr().out
    assert "search" in shown
    assert "round" in shown


@needs_callbacks
def test_a_search_inside_another_hangs_its_tree_there():
    recorder = Recorder()
    inner = search(n_iter=3).set_callbacks(recorder)
    cross_val_score(inner, X, y, cv=2)
    assert recorder.count("round") == 2 * 3


@pytest.mark.skipif(has_callbacks, reason="with callbacks")
def test_without_callbacks_in_scikit_learn_there_are_none():
    assert not hasattr(search(), "set_callbacks")
