"""Displays of searches over several branches, together and one by one."""

import math
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from picture_texts import collisions, outside
from skrobustbo import Integer, Optimizer, Real, RobustBayesSearchCV, Space, displays
from skrobustbo.displays import (
    BranchesDisplay,
    ConvergenceDisplay,
    EvaluationsDisplay,
    ImportanceDisplay,
    LengthScaleDisplay,
    ObjectiveDisplay,
    ParallelCoordinatesDisplay,
    ResetDisplay,
    SensitivityDisplay,
)
from skrobustbo.displays._base import branch_names

plt = pytest.importorskip("matplotlib.pyplot")

COLUMN, SLIDE = 3.3, 10.0
ALL = [getattr(displays, n) for n in displays.__all__ if n != "ResourceDisplay"]
IN_PANELS = [c for c in ALL if c not in (BranchesDisplay, ConvergenceDisplay)]
BOOSTING = HistGradientBoostingClassifier(max_iter=3)
SPACE = [
    {
        "clf": [SVC()],
        "clf__C": Real(0.01, 100, log=True),
        "weight": ["none", "balanced"],
        "rate": Real(0.1, 1),
    },
    {
        "clf": [BOOSTING],
        "clf__max_leaf_nodes": Integer(2, 30),
        "weight": ["balanced", "by_class_frequency"],
        "rate": Real(1, 3),
    },
]
NAMES = ["SVC", "HistGradientBoostingClassifier"]


@pytest.fixture(scope="module")
def optimizer():
    """Return an optimizer that was told points of two branches alternately."""
    made = Optimizer(SPACE, "random", random_state=0)
    points = [branch.sample(6, random_state=i) for i, branch in enumerate(SPACES)]
    for i, params in enumerate(p for pair in zip(*points, strict=True) for p in pair):
        made.tell(params, math.nan if i == 3 else params["rate"])
    return made


@pytest.fixture(scope="module")
def panels_of(optimizer):
    """Return the displays of all branches in one column, each drawn once."""

    @cache
    def get(cls):
        with plt.rc_context({"figure.figsize": (COLUMN, 0.75 * COLUMN)}):
            return cls.from_optimizer(optimizer, branch="all")

    return get


SPACES = Space(SPACE).branches


def of_branch(optimizer, i):
    return [r for r in optimizer.history_ if optimizer.space.owner(r["params"]) == i]


class TestNames:
    def names(self, *dicts):
        return branch_names(Space(list(dicts)))

    def test_estimators_are_named_by_their_class(self):
        assert branch_names(Space(SPACE)) == NAMES

    def test_estimators_of_one_class_by_their_settings(self):
        found = self.names(
            {"m": [Ridge(alpha=1.5)], "x": Real(0, 1)},
            {"m": [Ridge()], "x": Real(0, 1)},
        )
        assert found == ["Ridge(alpha=1.5)", "Ridge()"]

    def test_other_constants_by_name_and_value(self):
        found = self.names(
            {"svc__kernel": ["rbf"], "svc__gamma": Real(0, 1), "n": [3]},
            {"svc__kernel": ["poly"], "svc__degree": Integer(1, 3), "n": [3]},
        )
        assert found == ["kernel=rbf", "kernel=poly"]

    def test_equal_constants_are_not_numbered(self):
        found = self.names(
            {"m": [SVC()], "k": ["a"], "x": Real(0, 1)},
            {"m": [SVC()], "k": ["b"], "x": Real(0, 1)},
            {"m": [Ridge()], "k": ["b"], "x": Real(0, 1)},
        )
        assert found == ["SVC, k=a", "SVC, k=b", "Ridge, k=b"]

    def test_else_by_parameters_and_numbers(self):
        assert self.names({"x": Real(0, 1)}, {"y": Real(0, 1)}) == ["x", "y"]
        assert self.names({"x": Real(0, 1)}, {"x": Real(2, 3)}) == ["x #1", "x #2"]


@pytest.mark.parametrize("cls", [*IN_PANELS, ConvergenceDisplay])
@pytest.mark.parametrize("wrong", ["SVM", 2, -1, 0.5, True, [0]])
def test_wrong_branches(cls, wrong, optimizer):
    with pytest.raises(ValueError, match=f"The 'branch' of {cls.__name__}") as caught:
        cls.from_optimizer(optimizer, branch=wrong)
    for part in (repr(wrong), "'all'", *NAMES, "0 to 1"):
        assert part in str(caught.value)


def test_branches_without_candidates():
    empty = Optimizer(SPACE, "random", random_state=0)
    empty.tell(SPACES[0].sample(1, random_state=0), [1.0])
    with pytest.raises(ValueError, match="none so far"):
        ParallelCoordinatesDisplay.from_optimizer(empty, branch=NAMES[1])
    display = ParallelCoordinatesDisplay.from_optimizer(empty, branch="all")
    assert list(display.displays) == NAMES[:1]


def test_the_display_of_all_branches_is_made_by_the_others_only(panels_of):
    both = panels_of(ParallelCoordinatesDisplay)
    assert both.plot() is both
    assert not hasattr(both, "from_search")


def test_branches_that_only_failed():
    failed = Optimizer(SPACE, "random", random_state=0)
    for i, branch in enumerate(SPACES):
        failed.tell(branch.sample(1, random_state=0), [math.nan if i else 1.0])
    with pytest.raises(ValueError, match="finite value"):
        ObjectiveDisplay.from_optimizer(failed, branch=1)
    assert ResetDisplay.from_optimizer(failed, branch=1).values.size == 1
    display = ObjectiveDisplay.from_optimizer(failed, branch="all")
    assert list(display.displays) == NAMES[:1]


def test_spaces_without_branches_have_one():
    plain = Optimizer({"x": Real(0, 1)}, "random", random_state=0)
    plain.tell([{"x": 0.1}, {"x": 0.7}], [1.0, 2.0])
    for branch in (None, 0, "all", "branch 0"):
        display = EvaluationsDisplay.from_optimizer(plain, branch=branch)
        np.testing.assert_array_equal(display.positions, [[0.1], [0.7]])


class TestOneBranch:
    @pytest.mark.parametrize("branch", [1, np.int64(1), NAMES[1]])
    def test_only_its_candidates(self, branch, optimizer):
        own = [r["value"] for r in of_branch(optimizer, 1)]
        display = ResetDisplay.from_optimizer(optimizer, branch=branch)
        np.testing.assert_array_equal(display.values, own)

    def test_its_own_range_and_choices(self, optimizer):
        for i, low, choices, cls in (
            (0, 0.1, "none", EvaluationsDisplay),
            (1, 1.0, "balanced", ParallelCoordinatesDisplay),
        ):
            scales = cls.from_optimizer(optimizer, branch=i).scales
            assert scales["rate"].low == low
            assert scales["weight"].labels[0] == choices
            assert "clf" not in scales

    def test_slices_lie_in_it(self, optimizer):
        for i in (0, 1):
            display = ObjectiveDisplay.from_optimizer(optimizer, branch=i)
            assert optimizer.space.owner(display.params) == i
            rate = next(s for s in display.slices if s.names == ("rate",))
            ends = SPACES[i].dimensions["rate"]
            assert rate.positions[0][[0, -1]].tolist() == [ends.low, ends.high]
            assert np.isfinite(rate.mean).all()
            assert len(display.trials) == len(of_branch(optimizer, i))

    def test_its_point_is_the_best_expected_of_those_evaluated(self, optimizer):
        lesser = 1 - optimizer.space.owner(optimizer.recommend())
        own = [r for r in of_branch(optimizer, lesser) if math.isfinite(r["value"])]
        means = optimizer.predict([r["params"] for r in own])
        display = SensitivityDisplay.from_optimizer(optimizer, branch=lesser)
        assert display.params == own[int(np.argmax(means))]["params"]
        alone = ImportanceDisplay.from_optimizer(optimizer, branch=lesser).alone
        assert set(alone) == set(SPACES[lesser].names) - {"clf"}

    def test_name_stands_above(self, optimizer):
        display = ResetDisplay.from_optimizer(optimizer, branch=1)
        assert display.figure_.get_suptitle() == NAMES[1]
        assert display.ax_.get_xlabel() == "candidate of the branch"
        whole = ResetDisplay.from_optimizer(optimizer)
        assert whole.figure_.get_suptitle() == ""

    def test_parameters_must_be_of_it(self, optimizer):
        for cls in (EvaluationsDisplay, ObjectiveDisplay, ParallelCoordinatesDisplay):
            with pytest.raises(ValueError, match="clf__max_leaf_nodes"):
                cls.from_optimizer(optimizer, branch=1, parameters=["clf__C"])

    def test_remembered_are_its_own(self):
        made = Optimizer(SPACE, "sw-gp-ucb", horizon=12, random_state=0)
        for _ in range(12):
            params = made.ask()
            made.tell(params, params["rate"])
        kept = ResetDisplay.from_optimizer(made).remembered
        parts = [ResetDisplay.from_optimizer(made, branch=i).remembered for i in (0, 1)]
        owners = [made.space.owner(r["params"]) for r in made.history_]
        for i, part in enumerate(parts):
            np.testing.assert_array_equal(part, kept[np.array(owners) == i])


class TestConvergence:
    def test_a_curve_for_each_at_the_numbers_of_the_search(self, optimizer):
        display = ConvergenceDisplay.from_optimizer(optimizer, branch="all")
        assert [curve.name for curve in display.curves] == NAMES
        for i, curve in enumerate(display.curves):
            np.testing.assert_array_equal(curve.numbers, np.arange(i, 12, 2))
            own = [r["value"] for r in of_branch(optimizer, i)]
            np.testing.assert_array_equal(curve.values, own)
            assert curve.params == [r["params"] for r in of_branch(optimizer, i)]
        assert display.ax_.get_xlim() == (-0.5, 11.5)
        lines = [o for o in display.ax_.lines if o.get_gid() == "skrobustbo-best"]
        np.testing.assert_array_equal(lines[1].get_xdata(), np.arange(1, 12, 2))

    def test_one(self, optimizer):
        display = ConvergenceDisplay.from_optimizer(optimizer, branch="SVC")
        assert [curve.name for curve in display.curves] == ["SVC"]
        assert display.figure_.get_suptitle() == "SVC"

    def test_failures_lie_at_their_numbers(self, optimizer):
        display = ConvergenceDisplay.from_optimizer(optimizer, branch="all")
        crosses = [o for o in display.ax_.lines if o.get_label() == "failed"]
        assert [list(o.get_xdata()) for o in crosses] == [[3]]

    def test_of_one_search_only(self, optimizer):
        with pytest.raises(ValueError, match="one search at a time"):
            ConvergenceDisplay.from_optimizer([optimizer] * 2, branch="all")
        with pytest.raises(ValueError, match="one for each of the 2 branches"):
            ConvergenceDisplay.from_optimizer(optimizer, branch="all", names=["a"])


class TestAllTogether:
    """Without `branch`, parameters that branches define differently share an axis."""

    @pytest.mark.parametrize(
        "cls", [ObjectiveDisplay, ImportanceDisplay, SensitivityDisplay]
    )
    def test_can_be_drawn(self, cls, optimizer):
        cls.from_optimizer(optimizer)

    def test_the_estimator_is_one_of_the_axes(self, optimizer):
        display = ParallelCoordinatesDisplay.from_optimizer(optimizer)
        assert display.names[0] == "clf"
        assert display.scales["clf"].labels == tuple(NAMES)
        np.testing.assert_array_equal(display.positions[:, 0], [0.25, 0.75] * 6)

    def test_ranges_and_choices_of_all(self, optimizer):
        scales = ParallelCoordinatesDisplay.from_optimizer(optimizer).scales
        assert (scales["rate"].low, scales["rate"].high) == (0.1, 3.0)
        labels = ("none", "balanced", "by_class_frequency")
        assert scales["weight"].labels == labels

    def test_empty_panels_say_why(self, optimizer):
        names = ["clf__C", "clf__max_leaf_nodes"]
        display = EvaluationsDisplay.from_optimizer(optimizer, parameters=names)
        (text,) = display.axes_[1, 0].texts
        assert text.get_text() == "no candidate\nhas both"
        display = EvaluationsDisplay.from_optimizer(
            optimizer, parameters=["clf__C", "rate"]
        )
        assert not display.axes_[1, 0].texts


#: Displays with panels that are drawn in every test run.
FAST = (ConvergenceDisplay, ObjectiveDisplay, ParallelCoordinatesDisplay)


def some(classes):
    """Mark all classes except some as slow."""
    return [
        cls if cls in FAST else pytest.param(cls, marks=pytest.mark.slow)
        for cls in classes
    ]


class TestPanels:
    @pytest.mark.parametrize("cls", some([*IN_PANELS, ConvergenceDisplay]))
    def test_texts_do_not_collide_in_one_column(self, cls, panels_of):
        figure = panels_of(cls).figure_
        assert collisions(figure) == []
        assert outside(figure) == []

    @pytest.mark.slow
    @pytest.mark.parametrize("cls", [*IN_PANELS, ConvergenceDisplay])
    def test_texts_do_not_collide_on_a_slide(self, cls, optimizer):
        with plt.rc_context({"figure.figsize": (SLIDE, 0.75 * SLIDE)}):
            display = cls.from_optimizer(optimizer, branch="all")
        assert collisions(display.figure_) == []
        assert outside(display.figure_) == []

    @pytest.mark.parametrize("cls", some(IN_PANELS))
    def test_each_is_the_display_of_its_branch(self, cls, panels_of, optimizer):
        display = panels_of(cls)
        assert isinstance(display, BranchesDisplay)
        assert list(display.displays) == NAMES
        titles = [part.get_suptitle() for part in display.figure_.subfigs]
        assert [title.replace("\n", "") for title in titles] == NAMES
        for i, one in enumerate(display.displays.values()):
            assert type(one) is cls
            if hasattr(one, "values"):
                own = [r["value"] for r in of_branch(optimizer, i)]
                np.testing.assert_array_equal(one.values, own)
        assert all(ax.figure.figure is display.figure_ for ax in display.axes_)

    def test_plotted_again_in_a_place_of_a_grid(self, optimizer):
        display = ResetDisplay.from_optimizer(optimizer, branch="all")
        figure, axes = plt.subplots(1, 2, layout="constrained", figsize=(12, 5))
        assert display.plot(ax=axes[1]) is display
        assert display.figure_ is figure
        assert outside(figure) == []
        free = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
        with pytest.raises(ValueError, match="which the branches then divide"):
            display.plot(ax=free)

    def test_of_a_search(self):
        X, y = load_iris(return_X_y=True)
        pipe = Pipeline([("scale", StandardScaler()), ("clf", SVC())])
        space = [
            {"clf": [LogisticRegression()], "clf__C": Real(0.01, 10, log=True)},
            {
                "clf": [DecisionTreeClassifier(random_state=0)],
                "clf__max_depth": Integer(1, 5),
                "scale": [MinMaxScaler(), StandardScaler()],
            },
        ]
        search = RobustBayesSearchCV(
            pipe, space, n_iter=6, cv=2, scoring="accuracy", random_state=0
        ).fit(X, y)
        names = ["LogisticRegression", "DecisionTreeClassifier"]
        display = ObjectiveDisplay.from_search(search, branch="all")
        assert list(display.displays) == names
        display = ConvergenceDisplay.from_search(search, branch="all")
        assert [curve.name for curve in display.curves] == names
        display = ConvergenceDisplay.from_search(search, branch=names[1])
        assert display.value_name == display.ax_.get_ylabel() == "accuracy"


def test_length_scales_of_a_branch_are_its_own():
    made = Optimizer(SPACE, "lb-gp-ucb", horizon=14, random_state=0)
    for _ in range(14):
        params = made.ask()
        made.tell(params, params["rate"])
    for i in (0, 1):
        own = [r["model_label"] for r in of_branch(made, i) if r["kind"] == "model"]
        assert LengthScaleDisplay.from_optimizer(made, branch=i).labels == own
