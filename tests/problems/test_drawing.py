"""`Problem.plot` draws what the problem is."""

import sys

import numpy as np
import pytest

from skrobustbo import problems

plt = pytest.importorskip("matplotlib.pyplot")


def star(ax):
    (line,) = [line for line in ax.lines if line.get_marker() == "*"]
    return [float(v) for v in np.ravel(line.get_data())]


def test_a_line_is_the_function():
    problem = problems.get("berkenkamp")
    ax = problem.plot(n_grid=21)
    x, y = ax.lines[0].get_data()
    np.testing.assert_allclose(x, np.linspace(0, 1, 21), atol=1e-9)
    assert list(y) == [problem.func({"x": float(v)}) for v in x]
    assert star(ax) == [problem.optimum_params["x"], problem.optimum]
    assert ax.get_xlabel() == "x"
    assert ax.get_title() == "berkenkamp"
    assert not ax.collections  # no noise, no band


def test_the_band_is_the_noise():
    problem = problems.get("slow-change")
    ax = problem.plot(t=500, n_grid=11)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(ax.lines[0].get_ydata().max() + 0.2)
    assert star(ax) == pytest.approx([0.7, 1.0])
    assert ax.get_title() == "slow-change, t = 500"


def test_a_map_has_the_given_axes():
    _, given = plt.subplots()
    ax = problems.get("branin").plot(given, n_grid=9)
    assert ax is given
    assert (ax.get_xlim(), ax.get_ylim()) == ((-5, 10), (0, 15))
    assert star(ax) == pytest.approx([np.pi, 2.275])
    assert len(ax.figure.axes) == 2  # the colours' bar


def test_logarithmic_parameters_have_logarithmic_axes():
    problem = problems.get("enet-diabetes")
    ax = problem.plot(n_grid=3)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert star(ax) == pytest.approx(list(problem.best_known_params.values()))
    assert "best known" in ax.get_legend().get_texts()[0].get_text()


def test_finite_spaces_are_drawn_point_by_point(build):
    grid = problems.get("tv-within-model", n_grid=4)
    ax = grid.plot(t=2)
    assert ax.collections[0].get_offsets().shape == (16, 2)
    assert star(ax)[:2] == list(grid.optimum_params_at(2).values())
    sensors = build("temperature").plot(t=9)
    assert len(sensors.lines[0].get_xdata()) == 50


def test_named_arms_are_bars(build):
    problem = build("stocks", changing=False)
    ax = problem.plot()
    assert len(ax.patches) == 29
    tops = [patch.get_y() + patch.get_height() for patch in ax.patches]
    assert max(tops) == pytest.approx(problem.optimum)


def test_more_than_two_parameters_are_refused():
    with pytest.raises(ValueError, match=r"'hartmann6' must have one or two .*has 6"):
        problems.get("hartmann6").plot()


def test_without_matplotlib_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install \"skrobustbo\[plot\]\""):
        problems.get("berkenkamp").plot()
