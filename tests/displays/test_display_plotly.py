"""The interactive versions hold the data of the displays, and show params."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import RobustScaler, StandardScaler

from skrobustbo import Integer, Optimizer, Real
from skrobustbo.displays import (
    ConvergenceDisplay,
    ObjectiveDisplay,
    ParallelCoordinatesDisplay,
)
from skrobustbo.displays._plotly import _axis
from skrobustbo.displays._scales import scale_of

pytest.importorskip("matplotlib")

SPACE = {
    "clf__C": Real(0.01, 100, log=True),
    "n": Integer(1, 9),
    "scaler": [StandardScaler(), RobustScaler(with_centering=False), "a<b"],
}
THREE = (ConvergenceDisplay, ObjectiveDisplay, ParallelCoordinatesDisplay)


@pytest.fixture(scope="module")
def optimizer():
    made = Optimizer(SPACE, "random", random_state=0)
    points = made.space.sample(9, random_state=1)
    values = [math.nan if i == 4 else p["n"] / 10 for i, p in enumerate(points)]
    made.tell(points, values)
    return made


@pytest.fixture(scope="module")
def shown(optimizer):
    """Return the displays, each drawn once."""
    return {cls: cls.from_optimizer(optimizer) for cls in THREE}


@pytest.mark.parametrize("cls", THREE)
def test_missing_plotly_names_the_remedy(cls, shown, monkeypatch):
    display = shown[cls]
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[interactive\]"'):
        display.to_plotly()


class TestFigures:
    @pytest.fixture(autouse=True)
    def _plotly(self):
        pytest.importorskip("plotly")

    def test_convergence(self, shown, optimizer):
        display = shown[ConvergenceDisplay]
        line, dots = display.to_plotly().data
        np.testing.assert_array_equal(line.y, display.best)
        assert line.line.shape == "hv"
        kept = ~np.isnan(display.values)
        np.testing.assert_array_equal(np.array(dots.y)[kept], display.values[kept])
        np.testing.assert_array_equal(dots.x, np.arange(9))
        assert dots.marker.symbol.index("x") == 4
        assert "value: failed" in dots.text[4]
        params = optimizer.history_[0]["params"]
        lines = dots.text[0].split("<br>")
        assert lines[:2] == ["<b>candidate 0</b>", f"value: {display.values[0]:.6g}"]
        assert f"clf__C = {params['clf__C']:.6g}" in lines
        assert f"n = {params['n']}" in lines

    def test_band(self, shown):
        display = shown[ConvergenceDisplay]
        assert not display.to_plotly().layout.shapes
        (curve,) = display.curves
        bounded = ConvergenceDisplay(curves=[replace(curve, bound=0.25)])
        (band,) = bounded.to_plotly().layout.shapes
        assert (band.y0, band.y1) == (curve.best[-1], curve.best[-1] + 0.25)
        assert (band.x0, band.x1) == (int(np.nanargmax(curve.values)), 8.5)

    def test_curves_by_branch(self):
        space = [{"m": ["a"], "x": Real(0, 1)}, {"m": ["b"], "y": Real(0, 1)}]
        made = Optimizer(space, "random", random_state=0)
        made.tell([{"m": "a", "x": 0.5}, {"m": "b", "y": 0.1}], [1.0, 2.0])
        display = ConvergenceDisplay.from_optimizer(made, branch="all")
        data = display.to_plotly().data
        assert [list(trace.x) for trace in data] == [[0], [0], [1], [1]]
        assert "y = 0.1" in data[3].text[0]
        assert data[2].name == "m=b: best so far"

    def test_slices(self, shown):
        display = shown[ObjectiveDisplay]
        figure = display.to_plotly()
        lines = [trace for trace in figure.data if trace.customdata is not None]
        for one, line in zip(display.slices, lines, strict=True):
            np.testing.assert_array_equal(line.x, one.positions[0])
            np.testing.assert_array_equal(line.y, one.mean)
            np.testing.assert_array_equal(line.customdata, 2 * one.std)
        trials = [trace for trace in figure.data if trace.text is not None]
        for one, dots in zip(display.slices, trials, strict=True):
            at = display.scales[one.names[0]].positions(display.trials)
            np.testing.assert_array_equal(dots.x, at)
            kept = ~np.isnan(display.values)
            np.testing.assert_array_equal(np.array(dots.y)[kept], display.values[kept])
            assert dots.marker.symbol[4] == "x"
        assert figure.layout.xaxis.type == "log"
        ticks = figure.layout.xaxis3.ticktext
        assert ticks == ("StandardScaler", "RobustScaler", "a&lt;b")
        dashed = [shape.x0 for shape in figure.layout.shapes]
        assert dashed == [
            display.scales[one.names[0]].position(display.params)
            for one in display.slices
        ]

    def test_maps(self, optimizer):
        display = ObjectiveDisplay.from_optimizer(
            optimizer, parameters=["n", ("clf__C", "n")]
        )
        figure = display.to_plotly()
        mean, std = (trace for trace in figure.data if trace.type == "heatmap")
        np.testing.assert_array_equal(mean.z, display.slices[1].mean.T)
        np.testing.assert_array_equal(std.z, display.slices[1].std.T)
        np.testing.assert_array_equal(mean.x, display.slices[1].positions[0])

    def test_parallel_coordinates(self, shown):
        display = shown[ParallelCoordinatesDisplay]
        figure = display.to_plotly()
        found = {t.name: t for t in figure.data if t.mode == "lines+markers"}
        assert len(found) == 9
        for i, params in enumerate(display.params):
            trace = found[f"candidate {i}"]
            np.testing.assert_array_equal(trace.y, display.positions[i])
            assert f"n = {params['n']}" in trace.text
        assert found["candidate 4"].line.dash == "dot"
        best = int(np.nanargmax(display.values))
        drawn = [t.name for t in figure.data if t.mode == "lines+markers"]
        assert drawn[0] == "candidate 4"  # failures below all
        assert display.values[int(drawn[-1].split()[1])] == display.values[best]

    def test_categories_stand_at_their_places(self, shown):
        display = shown[ParallelCoordinatesDisplay]
        (rail,) = [t for t in display.to_plotly().data if t.name == "scaler"]
        assert list(rail.text) == [" StandardScaler", " RobustScaler", " a&lt;b"]
        np.testing.assert_allclose(rail.y, [1 / 6, 0.5, 5 / 6])
        assert rail.x == (2, 2, 2)

    def test_a_line_is_interrupted_where_a_parameter_is_absent(self):
        space = [{"m": ["a"], "x": Real(0, 1)}, {"m": ["b"], "y": Real(0, 1)}]
        made = Optimizer(space, "random", random_state=0)
        made.tell([{"m": "a", "x": 0.5}, {"m": "b", "y": 0.1}], [1.0, 2.0])
        display = ParallelCoordinatesDisplay.from_optimizer(made)
        data = display.to_plotly().data
        (worse,) = [trace for trace in data if trace.name == "candidate 0"]
        assert display.names == ["m", "x", "y"]
        assert worse.y[1] == pytest.approx(0.5)
        assert math.isnan(worse.y[2])

    def test_all_of_a_value_is_shown(self):
        long = HistGradientBoostingClassifier(
            learning_rate=0.05, max_leaf_nodes=7, min_samples_leaf=3
        )
        made = Optimizer({"clf": [long], "x": Real(0, 1)}, random_state=0)
        made.tell({"clf": long, "x": 0.5}, 1.0)
        display = ConvergenceDisplay.from_optimizer(made)
        text = display.to_plotly().data[1].text[0]
        for part in ("learning_rate=0.05", "max_leaf_nodes=7", "min_samples_leaf=3"):
            assert part in text.replace("<br>", "")
        assert max(len(line) for line in text.split("<br>")) <= 60

    @pytest.mark.parametrize("cls", THREE)
    def test_figures_are_whole_documents_on_any_background(self, cls, shown):
        figure = shown[cls].to_plotly()
        found = json.loads(figure.to_json())
        assert found["layout"]["paper_bgcolor"] == "rgba(0,0,0,0)"
        assert found["layout"]["font"]["color"] == "#7a7a7a"


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1e-3, 1e3),
        (0.01, 100),
        (2, 30),
        (2, 9),
        (0.5, 5),
        (3e-9, 4e-9),
        (1e-200, 1),
    ],
)
def test_ticks_of_log_axes_are_whole_numbers(low, high):
    scale = scale_of("a", "a", Real(low, high, log=True))
    axis = _axis(scale)
    assert axis["type"] == "log"
    places = list(map(float, axis["ticktext"]))
    assert places == pytest.approx(axis["tickvals"])
    assert 2 <= len(places) <= 9
