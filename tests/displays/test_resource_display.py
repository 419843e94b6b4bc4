"""`ResourceDisplay`: its data and its plots."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from picture_texts import collisions, outside
from skrobustbo import Integer, Optimizer, Real, Resource, RobustBayesSearchCV
from skrobustbo.displays import BranchesDisplay, ResourceDisplay

plt = pytest.importorskip("matplotlib.pyplot")

COLUMN, SLIDE = 3.3, 10.0


def told(values, space=None, amounts=(10, 30, 90)):
    """Return an optimizer that was told values by point and amount."""
    optimizer = Optimizer(
        space or {"x": Real(0, 10)}, "random", resources=amounts, random_state=0
    )
    for x, of_point in values.items():
        point = x if isinstance(x, dict) else {"x": float(x)}
        for amount, value in of_point.items():
            optimizer.tell(point, value, resource=amount)
    return optimizer


CURVES = {1: {10: 0.1, 30: 0.4, 90: 0.5}, 2: {10: 0.2}, 3: {10: 0.3, 90: 0.9}}


def test_a_row_is_a_candidate_and_a_column_an_amount():
    display = ResourceDisplay.from_optimizer(told(CURVES))
    assert display.amounts == [10, 30, 90]
    wanted = [[0.1, 0.4, 0.5], [0.2, math.nan, math.nan], [0.3, math.nan, 0.9]]
    np.testing.assert_array_equal(display.values, wanted)
    assert not display.failed.any()


def test_lines_join_the_amounts_that_a_candidate_had():
    display = ResourceDisplay.from_optimizer(told(CURVES))
    drawn = [
        (line.get_label(), line.get_xdata().tolist(), line.get_ydata().tolist())
        for line in display.ax_.lines
    ]
    assert drawn == [
        ("partial", [0], [0.2]),
        ("full", [0, 1, 2], [0.1, 0.4, 0.5]),
        ("best", [0, 2], [0.3, 0.9]),
    ]
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["10", "30", "90"]
    assert display.ax_.get_xlabel() == "resource"


def test_failures_are_marked_below_their_amount():
    display = ResourceDisplay.from_optimizer(told({**CURVES, 4: {10: math.nan}}))
    assert display.failed.tolist() == [[False] * 3] * 3 + [[True, False, False]]
    failed = [line for line in display.ax_.lines if line.get_label() == "failed"]
    assert [line.get_xdata().tolist() for line in failed] == [[0]]


def test_pending_amounts_are_no_failures():
    optimizer = told(CURVES)
    optimizer.tell({"x": 2.0}, 0.25, resource=30)
    asked, amount = optimizer.ask(return_resource=True)
    record = next(r for r in optimizer.history_ if r["params"] == asked)
    assert record["resource_values"][amount] is None
    display = ResourceDisplay.from_optimizer(optimizer)
    assert not display.failed.any()


def test_without_a_full_evaluation_none_is_the_best():
    display = ResourceDisplay.from_optimizer(told({1: {10: 0.1}, 2: {10: 0.2}}))
    assert display.amounts == [10, 30, 90]
    labels = {line.get_label() for line in display.ax_.lines}
    assert "best" not in labels


def test_without_a_resource_it_says_so():
    optimizer = Optimizer({"x": Real(0, 10)}, "random", random_state=0)
    optimizer.tell({"x": 1.0}, 1.0)
    with pytest.raises(ValueError, match="with a resource, got one without"):
        ResourceDisplay.from_optimizer(optimizer)
    assert "resource_values" not in optimizer.history_[0]


@pytest.fixture(scope="module")
def search():
    tree = DecisionTreeClassifier(random_state=0)
    space = {"min_samples_leaf": Integer(1, 30), "max_depth": Integer(1, 6)}
    settings = {"resource": Resource("n_samples", min=17), "scoring": "accuracy"}
    settings |= {"n_iter": 6, "cv": 3, "include_default": False}
    return RobustBayesSearchCV(tree, space, random_state=0, **settings).fit(
        *load_iris(return_X_y=True)
    )


def test_a_search_names_its_resource_and_metric(search):
    display = ResourceDisplay.from_search(search)
    assert display.resource_name == display.ax_.get_xlabel() == "n_samples"
    assert display.value_name == display.ax_.get_ylabel() == "accuracy"
    results = search.cv_results_
    finite = display.values[np.isfinite(display.values)]
    assert sorted(finite) == sorted(results["resource_score"])
    best = np.nanmax(display.values[:, -1])
    assert best == search.best_score_


def test_a_search_without_a_resource_says_so():
    tree = DecisionTreeClassifier(random_state=0)
    plain = RobustBayesSearchCV(tree, {"max_depth": Integer(1, 6)}, n_iter=3, cv=2)
    plain.fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="ConvergenceDisplay shows its values"):
        ResourceDisplay.from_search(plain)


def test_each_branch_has_curves_of_its_own():
    space = [{"kind": ["a"], "x": Real(0, 1)}, {"kind": ["b"], "x": Real(0, 1)}]
    first, second = ({"kind": kind, "x": 0.5} for kind in "ab")
    optimizer = Optimizer(space, "random", resources=[1, 3], random_state=0)
    for point, value in ((first, 0.1), (second, 0.2)):
        optimizer.tell(point, value, resource=1)
    optimizer.tell(first, 0.4, resource=3)
    every = ResourceDisplay.from_optimizer(optimizer, branch="all")
    assert isinstance(every, BranchesDisplay)
    assert every.displays.keys() == {"kind=a", "kind=b"}
    for name, wanted in (("kind=a", [0.1, 0.4]), ("kind=b", [0.2, math.nan])):
        np.testing.assert_array_equal(every.displays[name].values, [wanted])


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("width", [COLUMN, SLIDE])
def test_texts_do_not_collide(search, width, style):
    with plt.style.context(style), plt.rc_context({"figure.figsize": (width, 3)}):
        figure = ResourceDisplay.from_search(search).figure_
        figure.canvas.draw()
        assert collisions(figure) == []
        assert outside(figure) == []
        plt.close(figure)


def test_large_amounts_have_all_their_digits():
    display = ResourceDisplay.from_optimizer(told({1: {1234567: 0.1}}, None, [1234567]))
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["1234567"]
    halves = ResourceDisplay.from_optimizer(told({1: {0.5: 0.1}}, None, [0.5, 1.5]))
    ticks = [text.get_text() for text in halves.ax_.get_xticklabels()]
    assert ticks == ["0.5", "1.5"]


def test_many_large_amounts_are_readable():
    amounts = [1e3 * 2**i for i in range(12)]
    curves = {x: {amount: amount * x for amount in amounts} for x in range(1, 4)}
    with plt.rc_context({"figure.figsize": (COLUMN, 2.4)}):
        display = ResourceDisplay.from_optimizer(told(curves, amounts=amounts))
        display.figure_.canvas.draw()
        assert collisions(display.figure_) == []
        assert outside(display.figure_) == []
