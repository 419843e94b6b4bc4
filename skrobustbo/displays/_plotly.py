"""Interactive versions of the displays, drawn with Plotly."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skrobustbo.displays._scales import Array, Scale, drawable, filled_range
from skrobustbo.displays._style import importing
from skrobustbo.displays._text import broken, full_text

# Readable on light and dark pages, because the background is transparent.
_INK, _GRID = "#7a7a7a", "rgba(128,128,128,0.25)"
_PALETTE = ("#2F8CD0", "#009E73", "#CC79A7", "#C98A00", "#4A9CCB", "#D55E00")
_FAILED = "#D55E00"
#: From the worst value to the best, which stands out on any background.
_SHARES, _RGB = (0.0, 0.5, 1.0), ((150, 150, 150), (86, 165, 220), (0, 90, 181))
#: Maximum characters per line of a category, and of a name or value on hover.
_WRAP, _HOVER = 14, 60
#: Maximum number of numeric ticks.
_TICKS = 7


def new_figure(n_rows: int = 1, n_columns: int = 1) -> Any:
    """Return a figure with a grid of panels."""
    with importing("plotly", "interactive"):
        from plotly import subplots
    return subplots.make_subplots(n_rows, n_columns, horizontal_spacing=0.12)


def _colour(share: float) -> str:
    """Return the colour for a position in the range of values, from 0 to 1."""
    parts = [np.interp(share, _SHARES, part) for part in zip(*_RGB, strict=True)]
    return f"rgb({','.join(str(round(part)) for part in parts)})"


def _colours() -> list[list[Any]]:
    return [[share, _colour(share)] for share in _SHARES]


def hover(
    params: Mapping[str, Any], value: float, name: str, number: int | None = None
) -> str:
    """Return the hover text of a candidate."""
    head = [] if number is None else [f"<b>candidate {number}</b>"]
    found = f"{value:.6g}" if math.isfinite(value) else "failed"
    pairs = [f"{key} = {full_text(value)}" for key, value in params.items()]
    lines = [f"{name}: {found}", *pairs]
    return "<br>".join([*head, *map(_lines, lines)])


def _lines(text: str, most: int = _HOVER) -> str:
    """Return a text as HTML, broken into several lines."""
    return html.escape(broken(text, most)).replace("\n", "<br>")


def _label(text: str, most: int = _WRAP) -> str:
    return _lines(text.replace("\\$", "$"), most)


def _dressed(figure: Any) -> Any:
    """Set a transparent background and colours that suit any page."""
    clear = "rgba(0,0,0,0)"
    figure.update_layout(
        paper_bgcolor=clear,
        plot_bgcolor=clear,
        font={"color": _INK},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        margin={"t": 60},
    )
    line = {"gridcolor": _GRID, "zeroline": False, "linecolor": _INK}
    figure.update_xaxes(automargin=True, **line)
    figure.update_yaxes(automargin=True, **line)
    return figure


def _axis(scale: Scale) -> dict[str, Any]:
    ends = [float(end) for end in scale.limits]
    axis: dict[str, Any] = {"title": {"text": _label(scale.short, 30)}, "range": ends}
    if scale.kind == "log":
        axis |= {"type": "log", "range": [math.log10(end) for end in ends]}
    if scale.kind != "linear":
        axis["tickvals"], axis["ticktext"] = _ticks(scale)
    return axis


def _ticks(scale: Scale) -> tuple[list[float], list[str]]:
    """Return the tick positions of a parameter and their labels.

    By default, Plotly labels numbers between powers of ten with only their first digit,
    which is easily misread.
    """
    places, labels = scale.ticks(max(_TICKS, len(scale.labels)))
    if scale.kind == "category":
        return places, [_label(label) for label in labels]
    return places, [f"{place:.6g}" for place in places]


def _add_dots(figure: Any, x: Any, y: Any, texts: Sequence[str], **more: Any) -> None:
    dots = {"mode": "markers", "text": list(texts), "hoverinfo": "text"}
    figure.add_scatter(x=x, y=y, **{**dots, **more})


def _add_values(
    figure: Any, x: Any, values: Array, floor: float, colour: str, **more: Any
) -> None:
    """Add values as dots, and failures as crosses at the bottom."""
    values = drawable(values)
    failed = np.isnan(values)
    marks = {
        "color": np.where(failed, _FAILED, colour).tolist(),
        "symbol": np.where(failed, "x", "circle").tolist(),
        "opacity": 0.7,
    }
    _add_dots(figure, x, np.where(failed, floor, values), marker=marks, **more)


# Convergence --------------------------------------------------------------------------


def convergence(display: Any) -> Any:
    """Return a figure of the best values so far, with candidates as dots."""
    figure, name, limits = new_figure(), display.value_name, display.limits
    for i, curve in enumerate(display.curves):
        _add_curve(figure, curve, i, name, limits[0])
    figure.update_layout(
        xaxis={"title": {"text": "candidate"}},
        yaxis={"title": {"text": _label(name, 40)}, "range": list(limits)},
    )
    return _dressed(figure)


def _add_curve(figure: Any, curve: Any, i: int, name: str, floor: float) -> None:
    colour, group = _PALETTE[i % len(_PALETTE)], {"legendgroup": curve.name}
    # Identical lines must not hide each other.
    dash = ("solid", "dash", "dashdot", "dot")[i % 4]
    figure.add_scatter(
        x=curve.numbers,
        y=drawable(curve.best),
        mode="lines",
        line={"color": colour, "shape": "hv", "dash": dash},
        name=_label(f"{curve.name}: best so far", 40),
        hoverinfo="skip",
        **group,
    )
    if curve.gain is not None:
        band = {"fillcolor": colour, "opacity": 0.15, "line_width": 0}
        figure.add_shape(type="rect", **curve.gain, **band)
    triples = zip(curve.params, curve.values, curve.numbers.tolist(), strict=True)
    spread = 2 * curve.value_stds
    _add_values(
        figure,
        curve.numbers,
        curve.values,
        floor,
        colour,
        texts=[hover(params, value, name, number) for params, value, number in triples],
        error_y={"array": spread, "visible": bool(spread.any())},
        name=_label(f"{curve.name}: candidates", 40),
        **group,
    )


# Objective ----------------------------------------------------------------------------


def objective(display: Any) -> Any:
    """Return a figure of the posterior along parameters, with trials as dots."""
    n = sum(len(one.names) for one in display.slices)
    n_columns = min(n, 2 if any(len(s.names) == 2 for s in display.slices) else 3)
    n_rows = math.ceil(n / n_columns)
    figure = new_figure(n_rows, n_columns)
    panels = [(one, part) for one in display.slices for part in range(len(one.names))]
    for place, (one, part) in enumerate(panels):
        row, column = divmod(place, n_columns)
        at = {"row": row + 1, "col": column + 1}
        if len(one.names) == 1:
            _add_line(figure, display, one, at)
        else:
            _add_map(figure, display, one, part, at)
    figure.update_layout(height=330 * n_rows + 60, showlegend=False)
    return _dressed(figure)


def _texts(display: Any) -> list[str]:
    trials = zip(display.trials, display.values, strict=True)
    return [hover(p, v, display.value_name) for p, v in trials]


def _add_line(figure: Any, display: Any, one: Any, at: dict[str, int]) -> None:
    """Add the posterior along one parameter, and the trials."""
    limits = display.limits
    scale, x = display.scales[one.names[0]], one.positions[0]
    mean, spread = drawable(one.mean), 2 * drawable(one.std)
    line = {"color": _PALETTE[0]}
    if one.connected and scale.kind != "category":
        band = np.concatenate([mean + spread, (mean - spread)[::-1]])
        outline = {"x": np.concatenate([x, x[::-1]]), "y": band, "line": {"width": 0}}
        shade = {"fill": "toself", "fillcolor": "rgba(47,140,208,0.2)"}
        figure.add_scatter(mode="lines", hoverinfo="skip", **outline, **shade, **at)
        form: dict[str, Any] = {"mode": "lines", "line": line}
    else:
        form = {"mode": "markers", "marker": line, "error_y": {"array": spread}}
    about = f"{display.value_name} expected: %{{y:.5g}} ± %{{customdata:.3g}}"
    form["hovertemplate"] = f"{about}<extra></extra>"
    figure.add_scatter(x=x, y=mean, customdata=spread, **form, **at)
    places = scale.positions(display.trials)
    _add_values(
        figure, places, display.values, limits[0], _INK, texts=_texts(display), **at
    )
    figure.add_vline(
        scale.position(display.params), line={"dash": "dash", "color": _INK}, **at
    )
    figure.update_xaxes(**_axis(scale), **at)
    title = {"text": _label(display.value_name, 30) if at["col"] == 1 else None}
    figure.update_yaxes(range=list(limits), title=title, **at)


def _add_map(
    figure: Any, display: Any, one: Any, part: int, at: dict[str, int]
) -> None:
    """Add the map of the mean or standard deviation along two parameters."""
    across, up = (display.scales[name] for name in one.names)
    surface, name = ((one.mean, display.value_name), (one.std, "deviation"))[part]
    domain = figure.get_subplot(at["row"], at["col"])
    figure.add_heatmap(
        x=one.positions[0],
        y=one.positions[1],
        z=drawable(surface).T,
        colorscale=_colours() if part == 0 else "Greys",
        colorbar={
            "title": {"text": _label(name, 20)},
            "x": domain.xaxis.domain[1],
            "y": sum(domain.yaxis.domain) / 2,
            "len": domain.yaxis.domain[1] - domain.yaxis.domain[0],
            "thickness": 10,
        },
        hovertemplate=f"{name}: %{{z:.5g}}<extra></extra>",
        **at,
    )
    dots = {"color": "white", "line": {"color": "black", "width": 1}}
    places = across.positions(display.trials), up.positions(display.trials)
    _add_dots(figure, *places, _texts(display), marker=dots, **at)
    star = {"symbol": "star", "size": 14, "color": _FAILED}
    place = [across.position(display.params)], [up.position(display.params)]
    _add_dots(figure, *place, [_lines(display.point_name)], marker=star, **at)
    figure.update_xaxes(**_axis(across), **at)
    figure.update_yaxes(**_axis(up), **at)


# Parallel coordinates -----------------------------------------------------------------


def parallel(display: Any) -> Any:
    """Return a parallel coordinates figure with the best candidates on top."""
    figure = new_figure()
    values = drawable(display.values)
    low, high = filled_range(values)
    for place, name in enumerate(display.names):
        _add_ticks(figure, display.scales[name], place)
    order = np.argsort(np.where(np.isnan(values), -np.inf, values), kind="stable")
    for i in order.tolist():
        failed = bool(np.isnan(values[i]))
        colour = _FAILED if failed else _colour((values[i] - low) / (high - low))
        figure.add_scatter(
            y=display.positions[i],
            mode="lines+markers",
            line={"color": colour, "dash": "dot" if failed else "solid"},
            marker={"symbol": "x" if failed else "circle", "color": colour},
            text=hover(display.params[i], values[i], display.value_name, i),
            hoverinfo="text",
            name=f"candidate {i}",
            showlegend=False,
        )
    bar = {"cmin": low, "cmax": high, "colorscale": _colours(), "showscale": True}
    title = {"title": {"text": _label(display.value_name, 20)}}
    none = {"x": [None], "y": [None], "mode": "markers", "hoverinfo": "skip"}
    marker = {"color": [low], "colorbar": title, **bar}
    figure.add_scatter(marker=marker, showlegend=False, **none)
    names = [_label(display.scales[name].short) for name in display.names]
    figure.update_layout(
        height=500,
        xaxis={"tickvals": list(range(len(names))), "ticktext": names},
        yaxis={"visible": False, "range": [0, 1]},
    )
    figure = _dressed(figure)
    figure.update_xaxes(gridwidth=2, showline=False)  # the grid lines are the axes
    return figure


def _add_ticks(figure: Any, scale: Scale, place: int) -> None:
    places, labels = _ticks(scale)
    figure.add_scatter(
        x=[place] * len(places),
        y=scale.unit(places),
        mode="text",
        text=[f" {label}" for label in labels],
        textposition="middle right",
        hoverinfo="skip",
        name=scale.name,
        showlegend=False,
    )
