"""Every display can be drawn for any run, and its texts do not overlap."""

import math

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from picture_texts import collisions, outside, overlap
from skrobustbo import Candidate, Integer, Optimizer, Real, Space, displays, policies

plt = pytest.importorskip("matplotlib.pyplot")

#: BranchesDisplay holds some of the others; it and ResourceDisplay have their own
#: tests.
NAMES = sorted({*displays.__all__} - {"BranchesDisplay", "ResourceDisplay"})
DISPLAYS = [getattr(displays, name) for name in NAMES]
NEED_A_MODEL = (
    displays.ImportanceDisplay,
    displays.ObjectiveDisplay,
    displays.SensitivityDisplay,
)
PARALLEL = displays.ParallelCoordinatesDisplay
COLUMN, SLIDE = 3.3, 10.0


def asked(space, policy, n, f):
    optimizer = Optimizer(space, policy, horizon=n, random_state=0)
    for i in range(n):
        params = optimizer.ask()
        optimizer.tell(params, math.nan if i == 2 else f(params))
    return optimizer


def told(space, n, f, failures=()):
    """Return an optimizer that was told the points a model would have asked."""
    optimizer = Optimizer(space, "random", random_state=0)
    points = optimizer.space.sample(n, random_state=1)
    values = [math.nan if i in failures else f(p) for i, p in enumerate(points)]
    optimizer.tell(points, values)
    return optimizer


def long_names():
    robust = RobustScaler(quantile_range=(10.0, 90.0), with_centering=False)
    space = {
        "columntransformer__num__imputer__strategy": [
            "mean",
            "median",
            "most_frequent",
        ],
        "columntransformer__cat__imputer__strategy": ["constant", "most_frequent"],
        "columntransformer__num__scaler": [
            StandardScaler(),
            MinMaxScaler(feature_range=(0, 2)),
            robust,
            "passthrough",
        ],
        "svc__C": Real(1e-3, 1e3, log=True),
        "pca__n_components": Integer(2, 60),
        "constant": ["only"],
    }
    return told(
        space, 20, lambda p: math.log10(p["svc__C"]) / 1e3 + 0.9731, failures=(3, 17)
    )


def twenty():
    space = {
        f"pipe__step_{i}__parameter_{i}": Real(1e-3, 1, log=True) for i in range(14)
    }
    space |= {f"n_{i}": Integer(1, 10 ** (i + 1)) for i in range(4)}
    space |= {f"choice_{i}": ["a", "b", "some_long_category"] for i in range(2)}
    return told(space, 25, lambda p: p["pipe__step_3__parameter_3"] + p["n_0"])


def many_categories():
    space = {
        "letter": [f"category_{i:02d}" for i in range(26)],
        "price": [r"$5", r"$10", "a_b^c", "", "two\nlines"],
        "rank": [1, 2, 5, 1000, 10**6],
    }
    return told(space, 15, lambda p: p["rank"], failures=range(5))


CASES = {
    "long names": long_names,
    "twenty parameters": twenty,
    "many categories": many_categories,
    "one parameter": lambda: told({"x": Real(0, 1)}, 9, lambda p: p["x"]),
    "one value": lambda: told({"x": Real(-1, 1), "c": ["a", "b"]}, 1, lambda p: 1.0),
    "equal values": lambda: told({"x": Integer(1, 3)}, 3, lambda p: 0.5),
    "constants": lambda: told({"x": [1.5], "y": ["only"]}, 1, lambda p: 2.0),
    "failures": lambda: told(
        {"x": Real(0, 1), "c": ["a", "b"]}, 6, lambda p: 1.0, failures=range(6)
    ),
    "huge values": lambda: told(
        {"x": Real(1e-300, 1e300, log=True), "y": Real(-1e12, 1e12)},
        12,
        lambda p: 1e300 if p["y"] > 0 else -1e300,
    ),
    "tiny differences": lambda: told(
        {"x": Real(0.1, 0.1000001)}, 8, lambda p: 1e9 + p["x"]
    ),
    "outliers": lambda: told(
        {"x": Real(0, 1)}, 12, lambda p: -1e7 if p["x"] < 0.2 else p["x"]
    ),
    "points": lambda: told(
        Space.from_points(
            [{"u": 0.1 * 2.0**i, "v": i % 4, "w": "pq"[i % 2]} for i in range(14)]
        ),
        10,
        lambda p: p["u"],
    ),
}


def drawn(cls, optimizer, width):
    with plt.rc_context({"figure.figsize": (width, 0.75 * width)}):
        return cls.from_optimizer(optimizer).figure_


@pytest.fixture(scope="module")
def run_of():
    """Return the runs by name, each made once."""
    runs = {}

    def get(name):
        if name not in runs:
            runs[name] = CASES[name]()
        return runs[name]

    return get


def some(names, fast):
    """Mark all names except some as slow."""
    return [
        name if name in fast else pytest.param(name, marks=pytest.mark.slow)
        for name in names
    ]


FAST = ("long names", "twenty parameters")


@pytest.mark.parametrize("case", some(CASES, FAST))
@pytest.mark.parametrize("cls", DISPLAYS, ids=NAMES)
def test_texts_do_not_collide_in_one_column(cls, case, run_of):
    if case == "failures" and cls in NEED_A_MODEL:
        with pytest.raises(ValueError, match="at least one finite value"):
            cls.from_optimizer(run_of(case))
        return
    figure = drawn(cls, run_of(case), COLUMN)
    assert collisions(figure) == []
    assert outside(figure) == []


def tick_texts(axis):
    """Return the tick labels without line breaks and spaces."""
    texts = [label.get_text() for label in axis.get_ticklabels()]
    return ["".join(text.split()) for text in texts]


@pytest.mark.parametrize("case", ["long names", "many categories"])
@pytest.mark.parametrize("cls", [displays.ObjectiveDisplay, PARALLEL])
def test_every_category_has_its_whole_label(cls, case, run_of):
    """Even 26 of them in one column."""
    with plt.rc_context({"figure.figsize": (COLUMN, 2.5)}):
        display = cls.from_optimizer(run_of(case))
    if cls is PARALLEL:
        names = display.names
        axes = [rail.yaxis for rail in display.ax_.child_axes]
    else:
        names = [one.names[0] for one in display.slices]
        axes = [ax.xaxis for ax in display.axes_]
    seen = 0
    for name, axis in zip(names, axes, strict=True):
        labels = display.scales[name].labels
        if labels:
            expected = ["".join(label.split()) for label in labels]
            assert tick_texts(axis) == expected
            seen += 1
    assert seen >= 2


def test_each_candidate_is_one_unbroken_line_across_vertical_axes(run_of):
    display = PARALLEL.from_optimizer(run_of("long names"))
    ax = display.ax_
    drawn = [line.get_ydata() for line in ax.lines if line.get_xdata().size]
    assert len(drawn) == 20
    np.testing.assert_array_equal(
        np.unique(drawn, axis=0), np.unique(display.positions, axis=0)
    )
    # Labels stand on top of the lines, with an outline.
    labels = [label for rail in ax.child_axes for label in rail.get_yticklabels()]
    assert len(labels) > 12
    assert all(label.get_path_effects() for label in labels)


def test_a_long_metric_is_whole_on_the_axis(run_of):
    name = "neg_mean_absolute_percentage_error_of_the_validation_set"
    for cls in (displays.ConvergenceDisplay, PARALLEL):
        with plt.rc_context({"figure.figsize": (COLUMN, 2.5)}):
            display = cls.from_optimizer(run_of("long names"), value_name=name)
        axes = display.figure_.axes
        texts = [ax.get_ylabel().replace("\n", "") for ax in axes]
        assert name in texts
        assert outside(display.figure_) == []


METRIC = "neg_mean_absolute_percentage_error"


@pytest.mark.parametrize("cls", [cls for cls in DISPLAYS if cls.shows_values])
def test_a_long_metric_with_a_unit_is_not_cut_off(cls, run_of):
    """The values are millions, as the label says."""
    with plt.rc_context({"figure.figsize": (4.0, 3.0)}):
        figure = cls.from_optimizer(run_of("many categories"), value_name=METRIC)
    assert outside(figure.figure_) == []


@pytest.mark.parametrize("case", ["long names", "many categories", "one value"])
def test_the_key_is_clear_of_a_long_metric(case, run_of):
    with plt.rc_context({"figure.figsize": (4.0, 3.0)}):
        display = displays.EvaluationsDisplay.from_optimizer(
            run_of(case), value_name=METRIC
        )
    figure = display.figure_
    assert outside(figure) == []
    (key,) = figure.legends
    (label,) = [ax.xaxis.label for ax in figure.axes if METRIC in bar_label(ax)]
    box = label.get_window_extent()
    assert not any(overlap(box, text.get_window_extent()) for text in key.get_texts())


def bar_label(ax):
    """Return the label above a colour bar without line breaks."""
    return "".join(ax.get_xlabel().split())


TRANSPARENT = {"figure.facecolor": "none", "axes.facecolor": "none"}


def luminance(colour):
    from matplotlib.colors import to_rgb

    linear = np.array(to_rgb(colour))
    linear = np.where(linear <= 0.04, linear / 12.9, ((linear + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


def test_on_a_transparent_background_all_is_read_on_white_and_black(run_of):
    with plt.rc_context(TRANSPARENT):
        display = displays.ConvergenceDisplay.from_optimizer(run_of("long names"))
    figure, ax = display.figure_, display.ax_
    assert figure.get_facecolor()[3] == ax.get_facecolor()[3] == 0
    texts = [ax.xaxis.label, ax.yaxis.label, *ax.get_legend().get_texts()]
    texts += [*ax.get_xticklabels(), *ax.get_yticklabels()]
    colours = {text.get_color() for text in texts}
    colours |= {line.get_color() for line in ax.lines}
    assert len(texts) > 8
    for colour in colours:
        assert contrast(colour, "white") > 2.5, colour
        assert contrast(colour, "black") > 2.5, colour


@pytest.mark.slow
@pytest.mark.parametrize("case", FAST)
@pytest.mark.parametrize("cls", DISPLAYS, ids=NAMES)
def test_texts_do_not_collide_on_a_dark_slide(cls, case, run_of):
    with plt.style.context("dark_background"):
        figure = drawn(cls, run_of(case), SLIDE)
    assert collisions(figure) == []
    assert outside(figure) == []


def draw_all(name, classes):
    space = {"a": Real(1e-3, 1, log=True), "c": ["r", "g", "b"]}
    optimizer = asked(space, name, 7, lambda p: p["a"] + len(p["c"]))
    for cls in classes:
        _, ax = plt.subplots(figsize=(5, 4))
        assert cls.from_optimizer(optimizer, ax=ax).figure_ is ax.figure


# The data of the other displays have the same form for all policies.
OF_THE_POLICY = (displays.LengthScaleDisplay, displays.ResetDisplay)


@pytest.mark.parametrize("name", policies.available())
def test_records_of_every_policy_can_be_drawn(name):
    draw_all(name, OF_THE_POLICY)


@pytest.mark.parametrize("name", some(policies.available(), ("robust", "random")))
def test_everything_of_every_policy_can_be_drawn(name):
    draw_all(name, [cls for cls in DISPLAYS if cls not in OF_THE_POLICY])


def test_collisions_are_found():
    """The tests above can fail."""
    figure, ax = plt.subplots(figsize=(4, 4))
    ax.set_xticks([0, 0.1, 1], ["wide left", "wide right", "far"])
    assert collisions(figure) == [("wide left", "wide right")]
    assert outside(figure) == []
    text = "a label that is much too long for a figure of four inches, by a good deal"
    ax.set_xlabel(text)
    assert outside(figure) == [text]


@pytest.mark.parametrize("width", [COLUMN, SLIDE])
@pytest.mark.parametrize("label", ["theta={}", "model number {}"])
def test_many_models(width, label):
    """Labels of many candidate models are thinned, and elimination is drawn."""
    from sklearn.gaussian_process.kernels import RBF

    models = [
        Candidate(RBF(0.9**i), label=label.format(round(0.9**i, 4))) for i in range(24)
    ]
    policy = policies.HEGPUCB(candidates=models, noise=0.1, beta=3.0)
    optimizer = asked({"x": Real(0, 1)}, policy, 12, lambda p: math.sin(9 * p["x"]))
    figure = drawn(displays.LengthScaleDisplay, optimizer, width)
    assert collisions(figure) == []
    assert outside(figure) == []


def test_a_legend_as_wide_as_its_axes_stays_inside_the_figure():
    optimizer = Optimizer({"a": Real(0, 1)}, random_state=0)
    points = [{"a": a} for a in (0.1, 0.5, 0.9, 0.3, 0.7)]
    optimizer.tell(points, [-1e3, 0.5, math.nan, 0.4, 0.45])
    optimizer.ask()  # with a model, there is a bound, and one entry more
    for width in np.arange(6.0, 6.5, 0.05):
        figure = drawn(displays.ConvergenceDisplay, optimizer, width)
        assert outside(figure) == [], width
        plt.close(figure)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_lines_stand_out_from_the_background(style):
    """Data colours contrast with either background, good values most."""
    from matplotlib.colors import to_rgb

    from skrobustbo.displays._style import look_of

    def luminance(colour):
        linear = np.array(to_rgb(colour))
        linear = np.where(
            linear <= 0.04, linear / 12.9, ((linear + 0.055) / 1.055) ** 2.4
        )
        return linear @ [0.2126, 0.7152, 0.0722]

    with plt.style.context(style):
        look = look_of(None)
    back = luminance(look.paper)

    def contrast(colour):
        low, high = sorted([luminance(colour[:3]), back])
        return (high + 0.05) / (low + 0.05)

    assert min(contrast(to_rgb(colour)) for colour in look.palette) > 1.9
    assert contrast(to_rgb(look.ink)) > 10
    assert contrast(look.colours(1.0)) > 10 > contrast(look.colours(0.0)) > 1.5
