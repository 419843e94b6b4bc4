"""Displays hold the correct numbers."""

import inspect
import math
import subprocess
import sys

import numpy as np
import pytest

import inside
from runs import run

pytest.importorskip("matplotlib")

from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from skrobustbo import (
    Categorical,
    Integer,
    Optimizer,
    Real,
    RobustBayesSearchCV,
    Space,
    displays,
)
from skrobustbo.displays import (
    ConvergenceDisplay,
    EvaluationsDisplay,
    ImportanceDisplay,
    LengthScaleDisplay,
    ObjectiveDisplay,
    ParallelCoordinatesDisplay,
    ResetDisplay,
    SensitivityDisplay,
)

#: Displays made from a search; BranchesDisplay holds one of them for each branch.
NAMES = sorted({*displays.__all__} - {"BranchesDisplay", "ResourceDisplay"})


def told(values, space=None, policy="random"):
    optimizer = Optimizer(space or {"x": Real(0, 10)}, policy, random_state=0)
    points = [{"x": float(i)} for i in range(len(values))]
    optimizer.tell(points, values)
    return optimizer


class Known(Optimizer):
    """An optimizer with a known function as its model, or with known records."""

    f = None
    at = None
    records = None

    def predict(self, params, return_std=False):
        single = isinstance(params, dict)
        mean = np.array([type(self).f(p) for p in ([params] if single else params)])
        mean = float(mean[0]) if single else mean
        return (mean, 0.5 + 0 * mean) if return_std else mean

    def recommend(self):
        return dict(self.at)

    @property
    def history_(self):
        return super().history_ if self.records is None else self.records


def known(space, f=None, at=None, records=None):
    kind = type("KnownHere", (Known,), {"f": f, "at": at, "records": records})
    optimizer = kind(space, "random", random_state=0)
    if at is not None:
        optimizer.tell(at, 1.0)
    return optimizer


def record(value=0.0, label="random", params=None, **fields):
    return {
        "params": params or {"x": 1.0},
        "value": value,
        "value_std": 0.0,
        "time": None,
        "model_label": label,
        "kind": "model",
        "length_scales": None,
        "divisor": None,
        "alive_length_scales": [],
        "model_mean": math.nan,
        "model_std": math.nan,
        "alive": [],
        "pending": value is None,
        "failed_reason": None,
        "reset": False,
        **fields,
    }


@pytest.fixture(scope="module")
def search():
    X = np.arange(40.0).reshape(-1, 1)
    y = (X[:, 0] > 20).astype(int)
    space = {"max_depth": Integer(1, 3), "criterion": ["gini", "entropy"]}
    tree = DecisionTreeClassifier(random_state=0)
    return RobustBayesSearchCV(tree, space, n_iter=5, cv=2, random_state=0).fit(X, y)


class TestConvention:
    @pytest.mark.parametrize("name", NAMES)
    def test_from_search_draws_at_once_and_plot_again(self, search, name):
        import matplotlib.pyplot as plt

        cls = getattr(displays, name)
        display = cls.from_search(search)
        first = display.figure_
        assert type(display) is cls
        assert hasattr(display, "ax_") != hasattr(display, "axes_")
        if cls.shows_values:
            assert display.value_name == "score"

        figure, ax = plt.subplots()
        assert display.plot(ax=ax) is display
        assert display.figure_ is figure
        assert first is not figure
        assert len(figure.axes) > (0 if hasattr(display, "ax_") else 1)

    @pytest.mark.parametrize("name", [*NAMES, "ResourceDisplay"])
    def test_options_stand_in_the_signature(self, name):
        cls = getattr(displays, name)
        options = list(inspect.signature(cls.from_optimizer).parameters)
        assert options[:3] == ["optimizer", "ax", "branch"]
        assert ("value_name" in options) is cls.shows_values

    @pytest.mark.parametrize(
        ("settings", "name"),
        [
            ({}, "score"),
            ({"scoring": "neg_log_loss"}, "neg_log_loss"),
            ({"scoring": lambda est, X, y: est.score(X, y)}, "score"),
            ({"scoring": ["accuracy", "f1"], "refit": "f1"}, "f1"),
            (
                {
                    "scoring": {"mine": "accuracy", "f1": "f1"},
                    "refit": "f1",
                    "search_metric": "mine",
                },
                "mine",
            ),
        ],
    )
    def test_values_have_the_name_of_the_metric(self, settings, name):
        tree, space = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}
        X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) % 2
        search = RobustBayesSearchCV(
            tree, space, n_iter=2, cv=2, random_state=0, **settings
        ).fit(X, y)
        display = ConvergenceDisplay.from_search(search)
        assert display.value_name == display.ax_.get_ylabel() == name

    @pytest.mark.parametrize("name", NAMES)
    def test_unfitted_searches_and_untold_optimizers_are_refused(self, name):
        cls = getattr(displays, name)
        space = {"max_depth": Integer(1, 3)}
        with pytest.raises(NotFittedError):
            cls.from_search(RobustBayesSearchCV(DecisionTreeClassifier(), space))
        with pytest.raises(ValueError, match="tell one first"):
            cls.from_optimizer(Optimizer(space))
        other = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]})
        with pytest.raises(
            TypeError, match=r"RobustBayesSearchCV, got .* GridSearchCV"
        ):
            cls.from_search(other)

    @pytest.mark.process
    def test_matplotlib_is_imported_when_something_is_drawn(self):
        code = "import sys, skrobustbo.displays; print('matplotlib' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "False"

    def test_missing_matplotlib_names_the_remedy(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(ImportError, match=r'pip install "\.\[plot\]"'):
            ConvergenceDisplay.from_optimizer(told([1.0]))

    def test_one_axes_without_a_place_in_a_grid_is_refused(self):
        import matplotlib.pyplot as plt

        ax = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
        with pytest.raises(ValueError, match="leave it out for a new figure"):
            LengthScaleDisplay.from_optimizer(told([1.0]), ax=ax)

    def test_subfigures_and_given_panels_are_drawn_on(self):
        import matplotlib.pyplot as plt

        figure = plt.figure()
        axes = figure.subfigures(1, 2)[0].subplots(1, 2)
        display = LengthScaleDisplay.from_optimizer(told([1.0]), ax=axes)
        assert display.figure_ is figure
        assert list(display.axes_) == list(axes)


def band(display):
    """Return the drawn band of what may be left to gain."""
    label = "what may be left to gain"
    return [one for one in display.ax_.collections if one.get_label() == label]


class TestConvergence:
    def test_data(self):
        optimizer = told([1.0, math.nan, 3.0, -math.inf, 2.0])
        optimizer.ask()  # pending: not drawn
        display = ConvergenceDisplay.from_optimizer(optimizer)
        nan = math.nan
        np.testing.assert_array_equal(display.values, [1.0, nan, 3.0, nan, 2.0])
        np.testing.assert_array_equal(display.best, [1.0, 1.0, 3.0, 3.0, 3.0])
        assert display.curves[0].n_initial == 0
        assert display.ax_.get_xlim() == (-0.5, 4.5)

    def test_best_before_the_first_success_is_unknown(self):
        display = ConvergenceDisplay.from_optimizer(told([math.nan, 1.0]))
        np.testing.assert_array_equal(display.best, [math.nan, 1.0])

    def test_initial_design_ends_with_its_last_point(self):
        optimizer = Optimizer({"x": Real(0, 1)}, n_initial_points=3, random_state=0)
        run(optimizer, 5, lambda params: params["x"])
        curve = ConvergenceDisplay.from_optimizer(optimizer).curves[0]
        assert curve.n_initial == 3

    def test_failures_lie_on_a_rug(self):
        display = ConvergenceDisplay.from_optimizer(told([1.0, math.nan, 3.0]))
        (rug,) = [o for o in display.ax_.lines if o.get_label() == "failed"]
        np.testing.assert_array_equal(rug.get_xdata(), [1])
        assert rug.get_ydata()[0] < 0.1  # in fractions of the axes' height

    def test_values_far_below_are_marked_at_the_edge(self):
        values = [1.0, 1.1, 1.2, 1.3, -1e6]
        display = ConvergenceDisplay.from_optimizer(told(values))
        (rug,) = [o for o in display.ax_.lines if o.get_label() == "below the axis"]
        np.testing.assert_array_equal(rug.get_xdata(), [4])
        assert display.ax_.get_ylim()[0] > -10
        np.testing.assert_array_equal(display.values, values)  # the data are complete

    def test_several_searches_are_overlaid_in_different_colours(self):
        pair = {"first": told([1.0, 2.0]), "second": told([3.0, 0.0, 4.0])}
        display = ConvergenceDisplay.from_optimizer(pair)
        assert [curve.name for curve in display.curves] == ["first", "second"]
        later = ConvergenceDisplay.from_optimizer(
            told([0.5]), ax=display.ax_, names="third"
        )
        assert later.ax_ is display.ax_
        lines = [o for o in display.ax_.lines if o.get_gid() == "skrobustbo-best"]
        assert len({line.get_color() for line in lines}) == 3
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts[:3] == ["first", "second", "third"]
        low, high = display.ax_.get_ylim()
        assert low < 0
        assert high > 4

    def test_marks_of_several_searches_are_explained(self):
        def texts(*optimizers):
            display = ConvergenceDisplay.from_optimizer(list(optimizers))
            labels = [t.get_text() for t in display.ax_.get_legend().get_texts()]
            return [label.replace("\n", "") for label in labels][2:]

        plain, low = told([1.0, 2.0]), told([1.0, 1.1, 1.2, 1.3, -1e6])
        assert texts(plain, plain) == ["line: best so far"]
        assert texts(plain, low) == ["below the axis", "line: best so far"]
        plain.regret_bound = lambda calibrated: 0.5
        assert texts(plain, low) == ["what may be left to gain", "below the axis"]
        assert texts(*[plain] * 6) == [f"RandomPolicy #{i}" for i in (3, 4, 5, 6)]

    def test_equal_searches_do_not_hide_each_other(self):
        pair = {"first": told([1.0, 2.0]), "second": told([1.0, 2.0])}
        display = ConvergenceDisplay.from_optimizer(pair)
        lines = [o for o in display.ax_.lines if o.get_gid() == "skrobustbo-best"]
        assert [line.get_linestyle() for line in lines] == ["-", "--"]

    def test_a_search_keeps_its_name_when_another_is_drawn_over_it(self):
        first = ConvergenceDisplay.from_optimizer(told([1.0, 2.0]), names="first")
        texts = first.ax_.get_legend().get_texts()
        assert [text.get_text() for text in texts] == ["first: best so far"]
        ConvergenceDisplay.from_optimizer(told([0.5]), ax=first.ax_, names="second")
        texts = first.ax_.get_legend().get_texts()
        assert [t.get_text() for t in texts][:2] == ["first: best so far", "second"]

    def test_candidates_of_an_earlier_search_are_left_out(self):
        def fit(high, previous=None):
            space = {"max_depth": Integer(1, high)}
            tree = DecisionTreeClassifier(random_state=0)
            given = {"n_iter": 4, "cv": 2, "random_state": 0, "include_default": False}
            search = RobustBayesSearchCV(tree, space, previous=previous, **given)
            return search.fit(*load_iris(return_X_y=True))

        search = fit(9, previous=fit(5))
        own = search.cv_results_["mean_test_score"]
        shown = ConvergenceDisplay.from_search(search).values
        np.testing.assert_array_equal(shown, own)
        plain = ConvergenceDisplay.from_optimizer(search.optimizer_)
        assert len(plain.values) == 7
        with_all = ConvergenceDisplay.from_search(search, earlier=True)
        np.testing.assert_array_equal(with_all.values, plain.values)

    @pytest.mark.parametrize("low", [1, 5])
    def test_all_candidates_have_the_numbers_of_the_report(self, low):
        """The untuned estimator may be inside or outside the space."""
        tree = DecisionTreeClassifier(min_samples_leaf=3, random_state=0)
        space = {"min_samples_leaf": Integer(low, 40)}
        search = RobustBayesSearchCV(tree, space, n_iter=6, cv=2, random_state=0)
        search.fit(*load_iris(return_X_y=True))
        display = ConvergenceDisplay.from_search(search)
        (curve,) = display.curves
        np.testing.assert_array_equal(curve.numbers, np.arange(6))
        np.testing.assert_array_equal(
            display.values, search.cv_results_["mean_test_score"]
        )
        assert display.best[-1] == search.best_score_
        labels = search.cv_results_["model_label"]
        assert curve.n_initial == np.flatnonzero(labels == "initial")[-1] + 1

    def test_each_search_has_its_untuned_estimator(self):
        pair = [told([1.0, 2.0]), told([3.0, 0.0])]
        display = ConvergenceDisplay.from_optimizer(pair, untuned=[5.0, math.nan])
        best = [curve.best.tolist() for curve in display.curves]
        assert best == [[5.0, 5.0, 5.0], [3.0, 3.0]]
        branch = ConvergenceDisplay.from_optimizer(pair[0], untuned=5.0, branch=0)
        assert branch.values.tolist() == [1.0, 2.0]

    def test_a_bound_counts_from_an_untuned_estimator_that_is_better(self):
        optimizer = told([1.0, 2.0])
        optimizer.__dict__["regret_bound"] = lambda calibrated: 3.0
        for untuned, largest, bound in [
            (1.5, None, 3.0),
            (4.0, None, 1.0),
            (9.0, None, 0.0),
            (4.0, 4.5, 0.5),
        ]:
            (curve,) = ConvergenceDisplay.from_optimizer(
                optimizer, untuned=untuned, largest=largest
            ).curves
            assert curve.bound == bound

    def test_equal_policies_get_different_names(self):
        display = ConvergenceDisplay.from_optimizer([told([1.0]), told([2.0])])
        names = [curve.name for curve in display.curves]
        assert names == ["RandomPolicy #1", "RandomPolicy #2"]

    def test_names_must_match(self):
        with pytest.raises(ValueError, match="one for each of the 2 searches"):
            ConvergenceDisplay.from_optimizer([told([1.0]), told([2.0])], names="one")

    @pytest.mark.parametrize("bound", [0.5, math.inf, None])
    def test_certificate_is_a_band_above_the_best(self, bound):
        optimizer = told([1.0, 2.0])

        def regret_bound(calibrated):
            if bound is None:
                raise ValueError("this policy has no bound")
            return bound

        optimizer.regret_bound = regret_bound
        display = ConvergenceDisplay.from_optimizer(optimizer)
        assert display.curves[0].bound == bound
        bands = [one.get_datalim(display.ax_.transData) for one in band(display)]
        ends = [(box.y0, box.y1) for box in bands]
        assert ends == ([pytest.approx((2.0, 2.5))] if bound == 0.5 else [])

    def test_the_band_begins_where_the_best_was_found(self):
        optimizer = told([1.0, 2.0, 1.5, 0.5])
        optimizer.regret_bound = lambda calibrated: 0.5
        display = ConvergenceDisplay.from_optimizer(optimizer)
        (box,) = [one.get_datalim(display.ax_.transData) for one in band(display)]
        assert (box.x0, box.x1) == pytest.approx((1.0, 3.5))

    @pytest.mark.parametrize(("largest", "top"), [(2.25, 2.25), (1.5, 2.0), (9, 2.5)])
    def test_the_band_ends_at_the_largest_value_there_can_be(self, largest, top):
        optimizer = told([1.0, 2.0])
        optimizer.regret_bound = lambda calibrated: 0.5
        for given in (largest, [largest]):
            display = ConvergenceDisplay.from_optimizer(optimizer, largest=given)
            assert 2.0 + display.curves[0].bound == top

    def test_the_band_of_an_accuracy_ends_at_one(self):
        X, y = np.arange(40.0).reshape(-1, 1), np.repeat([0, 1], 20)
        search = RobustBayesSearchCV(
            DecisionTreeClassifier(random_state=0),
            {"max_depth": Integer(1, 5)},
            n_iter=3,
            random_state=0,
        ).fit(X, y)
        search.optimizer_.regret_bound = lambda calibrated: 10.0
        (curve,) = ConvergenceDisplay.from_search(search).curves
        assert curve.bound == pytest.approx(1 - search.best_score_)
        search.set_params(scoring=lambda estimator, X, y: 0.5).fit(X, y)
        search.optimizer_.regret_bound = lambda calibrated: 10.0
        assert ConvergenceDisplay.from_search(search).curves[0].bound == 10.0


def chosen(label, theta=None, alive=(), divisor=None):
    """Return a record of a model's query; `alive` are pairs of a label and scales."""
    return record(
        label=label,
        length_scales=theta,
        divisor=divisor,
        alive=[name for name, _ in alive],
        alive_length_scales=[scales for _, scales in alive],
    )


class TestLengthScale:
    def display(self, *records):
        space = {"x": Real(0, 10)}
        return LengthScaleDisplay.from_optimizer(known(space, records=list(records)))

    def test_models_held_side_by_side(self):
        a, b = ("long", [0.5]), ("short", [0.25])
        display = self.display(
            record(label="initial", kind="initial"),
            chosen(*a, [a]),
            chosen(*b, [a, b]),
            record(label="told", kind="told"),
            chosen(*b, [b]),
            chosen(*b, [b]),
        )
        np.testing.assert_array_equal(display.numbers, [1, 2, 4, 5])
        assert display.labels == ["long", "short", "short", "short"]
        np.testing.assert_array_equal(display.length_scales, [0.5, 0.25, 0.25, 0.25])
        assert display.axis == "length scale"
        assert display.share == {"long": 0.25, "short": 0.75}
        assert display.introduced_at == {"long": 1, "short": 2}
        assert display.eliminated_at == {"long": 4}

    def test_a_model_that_never_chose_has_a_height(self):
        a, b = ("long", [0.5]), ("short", [0.25])
        display = self.display(chosen(*a, [a, b]))
        assert display.length_scale_of == {"long": 0.5, "short": 0.25}

    def test_one_moving_estimate_eliminates_nothing(self):
        display = self.display(
            chosen("a", [0.5]),
            chosen("b", [0.4], [("a", [0.5])]),
            chosen("b", [0.4], [("b", [0.4])]),
        )
        assert display.introduced_at == display.eliminated_at == {}

    def test_several_length_scales_are_averaged(self):
        display = self.display(chosen("a", [0.1, 0.4]), chosen("b", [1e-5]))
        np.testing.assert_allclose(display.length_scales, [0.2, 1e-5])

    def test_divisors_of_the_estimate(self):
        records = [chosen("a", [0.8], divisor=1.0), chosen("b", [0.2], divisor=4.0)]
        display = self.display(*records)
        np.testing.assert_allclose(display.length_scales, [1.0, 0.25])
        assert display.axis == "length scale / estimate"

    def test_models_of_another_kind_are_names(self):
        display = self.display(chosen("theta=0.2", [0.2]), chosen("my model"))
        assert display.axis == "model"
        texts = [t.get_text() for t in display.axes_[0].get_yticklabels()]
        assert texts == ["theta=0.2", "my model"]
        assert np.isnan(display.length_scales).all()

    def test_bars_are_the_shares(self):
        display = self.display(*[chosen("a")] * 3, chosen("b"))
        widths = [bar.get_width() for bar in display.axes_[1].patches]
        assert widths == [75.0, 25.0]

    def test_no_queries_yet(self):
        display = self.display(record(label="initial", kind="initial"))
        assert display.share == {}
        assert display.axes_[0].texts[0].get_text() == "no model has chosen yet"

    @pytest.mark.parametrize(
        ("policy", "axis"),
        [
            ("robust", "length scale / estimate"),
            ("lb-gp-ucb", "length scale"),
            ("mcmc-gp-ucb", "length scale"),
            ("ui-tvbo", "length scale"),
            ("lnb-gp-ucb", "model"),
            ("random", "model"),
        ],
    )
    def test_what_policies_say_of_their_models(self, policy, axis):
        optimizer = Optimizer(
            {"x": Real(0, 1), "y": Real(0, 1)}, policy, random_state=0
        )
        for _ in range(9):
            params = optimizer.ask()
            optimizer.tell(params, params["x"] - params["y"])
        display = LengthScaleDisplay.from_optimizer(optimizer)
        assert display.axis == axis
        labels = [r["model_label"] for r in optimizer.history_ if r["kind"] == "model"]
        assert display.labels == labels
        if policy == "lb-gp-ucb":  # one length scale for all parameters
            for label, theta in display.length_scale_of.items():
                assert label == f"theta={theta:.3g}"


class TestReset:
    def test_data(self):
        optimizer = Optimizer({"x": Real(0, 1)}, "et-gp-ucb", random_state=0)
        for i in range(14):
            params = optimizer.ask()
            optimizer.tell(params, -((params["x"] - 0.2) ** 2) - 5.0 * (i >= 9))
        display = ResetDisplay.from_optimizer(optimizer)
        flags = [r["reset"] for r in optimizer.history_]
        assert any(flags)
        np.testing.assert_array_equal(display.resets, np.flatnonzero(flags))
        last = display.resets[-1]
        np.testing.assert_array_equal(display.remembered, np.arange(14) >= last)
        means = [r["model_mean"] for r in optimizer.history_]
        np.testing.assert_array_equal(display.expected, means)
        lines = [o for o in display.ax_.lines if list(o.get_ydata()) == [0, 1]]
        assert len(lines) == len(display.resets)

    def test_window(self):
        from skrobustbo.policies import SWGPUCB

        optimizer = Optimizer({"x": Real(0, 1)}, SWGPUCB(window=3), random_state=0)
        run(optimizer, 8, lambda params: params["x"])
        optimizer.ask()
        display = ResetDisplay.from_optimizer(optimizer)
        np.testing.assert_array_equal(display.remembered, [False] * 5 + [True] * 3)
        assert display.resets.size == 0

    def test_the_value_that_caused_a_reset_is_not_cut_off(self):
        display = ResetDisplay(
            values=np.array([0.0, 0.001, 0.0, 0.002, -1.0]),
            resets=np.array([5]),
            remembered=np.arange(5) == 4,
            expected=np.zeros(5),
            deviation=np.full(5, 0.3),
        ).plot()
        low, high = display.ax_.get_ylim()
        assert low < -1.0
        assert high > 0.6

    def test_other_policies_remember_all(self):
        assert ResetDisplay.from_optimizer(told([1.0, math.nan])).remembered.all()


class TestObjective:
    SPACE = {"C": Real(0.01, 100, log=True), "n": Integer(1, 5), "kind": ["a", "b"]}  # noqa: RUF012

    def make(self, **options):
        def f(p):
            return math.log10(p["C"]) + 10 * p["n"] + 100 * (p["kind"] == "b")

        at = {"C": 1.0, "n": 2, "kind": "b"}
        optimizer = known(self.SPACE, f, at)
        return ObjectiveDisplay.from_optimizer(optimizer, **options)

    def test_slices_pass_through_the_recommended_point(self):
        display = self.make()
        C, n, kind = display.slices
        assert (C.names, n.names, kind.names) == (("C",), ("n",), ("kind",))
        assert C.positions[0][[0, -1]] == pytest.approx([0.01, 100])
        np.testing.assert_allclose(C.mean, np.log10(C.positions[0]) + 120, atol=1e-9)
        np.testing.assert_array_equal(n.positions[0], [1, 2, 3, 4, 5])
        np.testing.assert_array_equal(n.mean, [110, 120, 130, 140, 150])
        np.testing.assert_array_equal(kind.positions[0], [0, 1])
        np.testing.assert_array_equal(kind.mean, [20, 120])
        assert (kind.std == 0.5).all()
        assert [ax.get_xscale() for ax in display.axes_] == ["log", "linear", "linear"]

    def test_pairs(self):
        display = self.make(parameters=[("n", "kind")])
        (one,) = display.slices
        np.testing.assert_array_equal(
            one.mean, [[10 * n + 100 * kind for kind in (0, 1)] for n in range(1, 6)]
        )
        assert len(display.axes_) == 2

    def test_a_parameter_of_one_value_has_a_map(self):
        optimizer = Optimizer({"x": Real(0, 1), "c": ["only"]}, random_state=0)
        optimizer.tell([{"x": x, "c": "only"} for x in (0.1, 0.9)], [1.0, 2.0])
        pair = [("x", "c")]
        ax = ObjectiveDisplay.from_optimizer(optimizer, parameters=pair).axes_[0]
        (mesh,) = [one for one in ax.collections if one.get_array() is not None]
        box = mesh.get_datalim(ax.transData)
        assert (box.y0, box.y1) == (-0.5, 0.5)

    def test_both_maps_of_a_pair_are_in_one_row(self):
        display = self.make(parameters=["C", ("n", "kind")])
        rows = [ax.get_subplotspec().rowspan.start for ax in display.axes_]
        assert rows == [0, 1, 1]

    def test_marks_are_explained(self):
        def texts(display):
            (legend,) = display.figure_.legends
            return [text.get_text() for text in legend.get_texts()]

        line = "expected \N{PLUS-MINUS SIGN} 2 deviations"
        held = "recommended, where the others are held"
        assert texts(self.make()) == [line, "a trial", held]
        pairs = self.make(parameters=[("n", "kind")])
        assert texts(pairs) == ["a trial", f"{held}: C = 1"]
        single = self.make(parameters="C")
        assert texts(single)[-1].replace("\n", " ") == f"{held}: n = 2, kind = b"
        failed = ObjectiveDisplay.from_optimizer(told([1.0, math.nan]))
        assert texts(failed)[-1] == "failed"
        low = ObjectiveDisplay.from_optimizer(told([1.0, 1.1, 1.2, 1.3, -1e6]))
        assert texts(low)[-1] == "below the axis"

    def test_figures_of_others_get_no_legend(self):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 2)
        ObjectiveDisplay.from_optimizer(told([1.0, 2.0]), ax=axes[0])
        assert not figure.legends

    def test_predictions_are_the_optimizers(self):
        optimizer = told([1.0, 3.0, 2.0, 0.5])
        (one,) = ObjectiveDisplay.from_optimizer(optimizer, parameters="x").slices
        points = [{"x": float(x)} for x in one.positions[0]]
        mean, std = optimizer.predict(points, return_std=True)
        np.testing.assert_allclose(one.mean, mean)
        np.testing.assert_allclose(one.std, std)

    def test_tables_of_points_have_no_slices(self):
        space = Space.from_points([{"u": u, "v": u**2} for u in (0.0, 1.0, 2.5, 4.0)])
        optimizer = Optimizer(space, "random", random_state=0)
        optimizer.tell({"u": 1.0, "v": 1.0}, 1.0)
        u, v = ObjectiveDisplay.from_optimizer(optimizer).slices
        assert not u.connected
        np.testing.assert_array_equal(np.sort(u.positions[0]), [0.0, 1.0, 2.5, 4.0])
        np.testing.assert_array_equal(v.positions[0], u.positions[0] ** 2)

    @pytest.mark.parametrize("wrong", [["D"], [("C", "C")], [("C", "n", "kind")], []])
    def test_wrong_parameters(self, wrong):
        with pytest.raises(ValueError, match="'parameters' of ObjectiveDisplay"):
            self.make(parameters=wrong)

    def test_nothing_to_predict_from(self):
        with pytest.raises(ValueError, match="at least one finite value"):
            ObjectiveDisplay.from_optimizer(told([math.nan]))


class TestWhereItLooked:
    SPACE = {"C": Real(0.01, 100, log=True), "kind": ["a", "b"], "one": ["only"]}  # noqa: RUF012
    POINTS = [  # noqa: RUF012
        {"C": 0.01, "kind": "b", "one": "only"},
        {"C": 1.0, "kind": "a", "one": "only"},
        {"C": 100.0, "kind": "a", "one": "only"},
    ]

    def optimizer(self):
        optimizer = Optimizer(self.SPACE, "random", random_state=0)
        optimizer.tell(self.POINTS, [1.0, math.nan, 3.0])
        return optimizer

    def test_evaluations(self):
        display = EvaluationsDisplay.from_optimizer(self.optimizer())
        assert display.names == ["C", "kind"]
        expected = [[0.01, 1], [1.0, 0], [100.0, 0]]
        np.testing.assert_array_equal(display.positions, expected)
        np.testing.assert_array_equal(display.values, [1.0, math.nan, 3.0])
        assert display.axes_[0, 1] is None
        heights = [bar.get_height() for bar in display.axes_[1, 1].patches]
        assert heights == [2, 1]

    @pytest.mark.parametrize(("std", "best"), [(0.0, 0.9), (0.1, 0.5)])
    def test_a_candidate_that_was_stopped_is_not_the_best(self, std, best):
        optimizer = Optimizer({"a": Real(0, 1), "b": Real(0, 1)}, random_state=0)
        optimizer.tell([{"a": 0.5, "b": 0.1}, {"a": 0.2, "b": 0.3}], [2.0, 1.0])
        inside.tell(optimizer, {"a": 0.9, "b": 0.7}, 3.0, std)
        display = EvaluationsDisplay.from_optimizer(optimizer)
        panel = display.axes_[1, 0]
        (ring,) = [c for c in panel.collections if not len(c.get_facecolor())]
        assert ring.get_offsets()[0][0] == best

    def test_parallel_coordinates(self):
        display = ParallelCoordinatesDisplay.from_optimizer(self.optimizer())
        assert display.names == ["C", "kind"]
        np.testing.assert_array_equal(display.positions[:, 1], [0.75, 0.25, 0.25])
        at = display.positions[:, 0]
        assert at[0] == pytest.approx(1 - at[2])
        assert at[1] == pytest.approx(0.5)
        assert 0 < at[0] < 0.1

    def test_parameters_may_be_chosen(self):
        for cls in (EvaluationsDisplay, ParallelCoordinatesDisplay):
            display = cls.from_optimizer(self.optimizer(), parameters=["one", "C"])
            assert display.names == ["one", "C"]
            with pytest.raises(ValueError, match=f"'parameters' of {cls.__name__}"):
                cls.from_optimizer(self.optimizer(), parameters=["D"])

    def test_of_many_parameters_those_that_matter_are_drawn(self):
        space = {f"p{i}": Real(0, 1) for i in range(8)}
        at = dict.fromkeys(space, 0.5)
        optimizer = known(space, lambda p: p["p1"] + p["p6"] + 0.1 * p["p7"], at)
        display = EvaluationsDisplay.from_optimizer(optimizer)
        assert len(display.names) == 5
        assert {"p1", "p6", "p7"} <= set(display.names)
        assert display.names == sorted(display.names)
        assert set(display.names) | set(display.left_out) == set(space)

    @pytest.mark.parametrize("cls", [EvaluationsDisplay, ParallelCoordinatesDisplay])
    def test_a_parameter_may_be_absent(self, cls):
        space = {"model": ["svc", "knn"], "C": Real(0.1, 10, log=True)}
        records = [
            record(1.0, params={"model": "svc", "C": 1.0}),
            record(2.0, params={"model": "knn"}),
        ]
        optimizer = known(space, records=records)
        positions = cls.from_optimizer(optimizer).positions
        np.testing.assert_array_equal(np.isnan(positions), [[0, 0], [0, 1]])


def known_branches():
    """Return two branches with a known function, which is 0 in the first."""
    space = [
        {"kind": ["a"], "x": Real(0, 1)},
        {"kind": ["b"], "y": Real(0, 1), "z": Real(0, 1)},
    ]

    def f(p):
        return 3 * p["y"] + p["z"] if p["kind"] == "b" else 0.0

    return known(space, f, {"kind": "b", "y": 0.5, "z": 0.5})


class TestSensitivity:
    def test_linear_function(self):
        """Moves of all parameters add up; variance shares follow the squares."""
        space = {
            "x": Real(0, 1),
            "y": Real(1, 100, log=True),
            "kind": Categorical(["a", "b", "c"]),
        }

        def f(p):
            return 3 * p["x"] + math.log10(p["y"]) / 2

        at = {"x": 0.5, "y": 10.0, "kind": "a"}
        display = SensitivityDisplay.from_optimizer(known(space, f, at))
        assert display.params == at
        assert display.mean == pytest.approx(2.0)
        assert display.eps[[0, -1]].tolist() == [0.0, 0.2]
        np.testing.assert_allclose(display.worst, 2.0 - 4 * display.eps, atol=1e-6)
        assert list(display.worst_of) == ["x", "y"]
        np.testing.assert_allclose(display.worst_of["y"], 2.0 - display.eps, atol=1e-6)
        effects = ImportanceDisplay.from_optimizer(known(space, f, at))
        assert effects.alone["x"] == pytest.approx(0.9, abs=0.01)
        assert effects.alone["y"] == pytest.approx(0.1, abs=0.01)
        assert effects.alone["kind"] == pytest.approx(0.0, abs=0.01)
        assert effects.together == {}
        assert effects.rest < 0.01

    def test_of_several_branches_that_of_the_point_is_moved(self):
        display = SensitivityDisplay.from_optimizer(known_branches())
        np.testing.assert_allclose(display.worst, 2.0 - 4 * display.eps, atol=1e-6)
        assert list(display.worst_of) == ["y", "z"]

    def test_worst_case_never_rises(self):
        at = {"x": 0.5}
        wavy = known({"x": Real(0, 1)}, lambda p: math.cos(40 * (p["x"] - 0.5)), at)
        display = SensitivityDisplay.from_optimizer(wavy, max_eps=0.5)
        assert (np.diff(display.worst) <= 0).all()
        assert display.worst[-1] == pytest.approx(-1.0, abs=0.05)

    @pytest.mark.parametrize("wrong", [0, -0.1, 1.5])
    def test_wrong_distance(self, wrong):
        with pytest.raises(ValueError, match="'max_eps' of SensitivityDisplay"):
            SensitivityDisplay.from_optimizer(told([1.0]), max_eps=wrong)


class TestImportance:
    def test_ishigami(self):
        """The textbook case with interaction; its indices are known in closed form."""

        def f(p):
            x1, x2, x3 = (math.pi * (2 * p[k] - 1) for k in "abc")
            return (1 + 0.1 * x3**4) * math.sin(x1) + 7 * math.sin(x2) ** 2

        at = dict.fromkeys("abc", 0.5)
        optimizer = known({k: Real(0, 1) for k in "abc"}, f, at)
        found = ImportanceDisplay.from_optimizer(optimizer)
        assert list(found.alone.values()) == pytest.approx([0.314, 0.442, 0], abs=0.02)
        assert list(found.together) == [("a", "c")]
        assert found.together["a", "c"] == pytest.approx(0.244, abs=0.06)
        assert found.rest < 0.06

    @pytest.mark.parametrize(("n", "is_rough"), [(19, True), (20, False)])
    def test_the_axis_says_if_there_are_few_candidates(self, n, is_rough):
        space = {"x": Real(0, 1), "y": Real(0, 1)}
        optimizer = Optimizer(space, "random", random_state=0)
        run(optimizer, n, lambda params: params["x"] + params["y"] ** 2)
        params = optimizer.ask()
        optimizer.tell(params, math.nan)  # a failure does not count
        found = ImportanceDisplay.from_optimizer(optimizer)
        assert found.is_rough is is_rough
        assert ("rough" in found.ax_.get_xlabel()) is is_rough

    def test_what_three_parameters_do_only_together_is_the_rest(self):
        space = {name: Real(-1, 1) for name in "xyz"}
        at = dict.fromkeys("xyz", 0.5)

        def f(p):
            return p["x"] * p["y"] * p["z"] + 0.5 * p["x"]

        found = ImportanceDisplay.from_optimizer(known(space, f, at))
        # Variances 1 / 27 and 1 / 12.
        assert found.rest == pytest.approx(4 / 13, abs=0.03)
        assert found.alone["x"] == pytest.approx(9 / 13, abs=0.02)
        assert max([*found.together.values(), 0]) < 0.02

    def test_categories_and_interactions(self):
        space = {"kind": ["a", "b"], "flag": [True, False], "idle": Integer(1, 9)}

        def f(p):
            return 1.0 * ((p["kind"] == "a") == p["flag"])  # interaction only

        at = {"kind": "a", "flag": True, "idle": 5}
        found = ImportanceDisplay.from_optimizer(known(space, f, at))
        assert max(found.alone.values()) < 0.01
        assert found.together == {("kind", "flag"): pytest.approx(1.0, abs=0.01)}

    def test_bars(self):
        space = {f"step__p{i}": Real(0, 1) for i in range(14)}

        def f(p):
            a, b, *others = (value - 0.5 for value in p.values())
            return 8 * a * b + sum(others)

        found = ImportanceDisplay.from_optimizer(
            known(space, f, dict.fromkeys(space, 0.5))
        )
        labels = [tick.get_text() for tick in found.ax_.get_yticklabels()]
        assert len(labels) <= 12
        assert len(found.ax_.patches) == len(labels)
        assert {label.split(" ")[0] for label in labels} <= {
            *(f"p{i}" for i in range(14)),
            "rest",
        }

    def test_branches_share_the_axis(self):
        alone = ImportanceDisplay.from_optimizer(known_branches()).alone
        assert list(alone) == ["x", "y", "z"]
        assert alone["y"] > alone["z"]

    def test_flat_functions_explain_nothing(self):
        flat = known({"x": Real(0, 1)}, lambda p: 1e300, {"x": 0.5})
        found = ImportanceDisplay.from_optimizer(flat)
        assert (found.alone, found.together, found.rest) == ({"x": 0.0}, {}, 0.0)

    def test_equal_calls_give_equal_numbers(self):
        optimizer = told([1.0, 3.0, 2.0, 0.5])
        first, second = (
            ImportanceDisplay.from_optimizer(optimizer).alone for _ in range(2)
        )
        assert first == second


class TestOverview:
    @pytest.mark.parametrize(("policy", "n_axes"), [("robust", 2), ("random", 1)])
    def test_both_where_there_is_a_model(self, policy, n_axes):
        X, y = load_iris(return_X_y=True)
        space = {"max_depth": Integer(1, 9), "min_samples_leaf": Integer(1, 40)}
        tree = DecisionTreeClassifier(random_state=0)
        search = RobustBayesSearchCV(tree, space, n_iter=7, policy=policy, cv=3)
        with pytest.raises(NotFittedError):
            search.plot()
        figure = search.fit(X, y).plot()
        labels = [ax.get_xlabel() for ax in figure.axes]
        rough = "importance (%), rough: few candidates"
        assert labels == ["candidate", rough][:n_axes]
        assert figure.axes[0].get_ylabel() == "score"
