"""The path of a candidate through the layers, as in docs/architecture.md."""

import inspect
import re
from pathlib import Path
from typing import ClassVar

import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from skrobustbo import Integer, RobustBayesSearchCV
from skrobustbo.policies import RobustUCB

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
ONE = {"n_neighbors": Integer(1, 30)}
TWO = [{**ONE, "weights": ["uniform"]}, {**ONE, "weights": ["distance"]}]


class Watched(RobustUCB):
    """Records the functions of the package that called `suggest`, outermost first."""

    calls: ClassVar = []

    def suggest(self, state, models, argmax, pending):
        frames = inspect.stack()
        ours = [f for f in frames if "skrobustbo" in f.frame.f_globals["__name__"]]
        self.calls.append([frame.function for frame in reversed(ours)])
        return super().suggest(state, models, argmax, pending)


@pytest.mark.parametrize(("space", "drawn"), [(ONE, True), (TWO, False)])
def test_few_functions_lie_between_fit_and_suggest(space, drawn, tmp_path):
    Watched.calls.clear()
    X, y = load_iris(return_X_y=True)
    RobustBayesSearchCV(
        KNeighborsClassifier(),
        space,
        n_iter=9,
        n_initial_points=4,
        policy=Watched(),
        checkpoint=tmp_path / "journal",
        random_state=0,
    ).fit(X, y)
    assert Watched.calls
    for calls in Watched.calls:
        calls = calls[calls.index("fit") + 1 :]
        assert len(calls) <= 12
        if drawn:
            way = re.search(r"```text\nfit\n(.*?)```", PAGE.read_text(), re.DOTALL)
            steps = re.findall(r"^ *-> (?:\w+\.)?(\w+)", way[1], re.MULTILINE)
            assert steps[: len(calls)] == calls
