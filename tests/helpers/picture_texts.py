"""Texts of a figure that overlap or are cut off at its edges."""

import itertools


def boxes_of(figure, ax):
    """Return the extents of tick labels by axis, and those of the legend's texts."""
    axes = {}
    for axis in (ax.xaxis, ax.yaxis):
        labels = axis.get_ticklabels(which="both")
        axes[axis.axis_name] = [
            (label.get_text(), label.get_window_extent())
            for label in labels
            if label.get_visible() and label.get_text()
        ]
    legend = ax.get_legend()
    texts = [] if legend is None else legend.get_texts()
    return axes, [(text.get_text(), text.get_window_extent()) for text in texts]


def collisions(figure):
    """Return pairs of texts of one axes that overlap by more than a pixel."""
    figure.draw_without_rendering()  # a closed figure has no canvas that draws
    found = []
    insets = [child for ax in figure.axes for child in ax.child_axes]
    for ax in [*figure.axes, *insets]:
        # Ticks of axes switched off are not drawn.
        if not (ax.axison and ax.get_visible()):
            continue
        axes, legend = boxes_of(figure, ax)
        pairs = [p for one in axes.values() for p in itertools.combinations(one, 2)]
        pairs += list(itertools.combinations(legend, 2))
        pairs += [p for one in axes.values() for p in itertools.product(one, legend)]
        found += [(a[0], b[0]) for a, b in pairs if overlap(a[1], b[1])]
    return found


def overlap(a, b):
    across = min(a.x1, b.x1) - max(a.x0, b.x0)
    along = min(a.y1, b.y1) - max(a.y0, b.y0)
    return across > 1 and along > 1


def outside(figure):
    """Return the texts cut off at the figure's edges."""
    figure.draw_without_rendering()  # a closed figure has no canvas that draws
    insets = [child for ax in figure.axes for child in ax.child_axes]
    axes = [ax for ax in [*figure.axes, *insets] if ax.axison]
    found = []
    for ax in axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            inside = [t for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
            found += [axis.label, *(tick.label1 for tick in inside)]
        if ax.get_legend() is not None:
            found += ax.get_legend().get_texts()
    width, height = figure.bbox.width, figure.bbox.height
    return [
        text.get_text()
        for text in found
        if text.get_text() and text.get_visible()
        for box in [text.get_window_extent()]
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
