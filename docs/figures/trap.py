"""A search in a trap, panel by panel: the model that chose, at the moment it chose.

Every picture is of a real run with a fixed seed; nothing is drawn by hand.
"""

import matplotlib.pyplot as plt
import numpy as np

from skrobustbo import Optimizer, Real
from skrobustbo.policies import LBGPUCB, MLEGPUCB, RobustUCB

SEED, N_ITER = 0, 40
#: Three points on the slope, drawn once.
STARTS = (0.5365262611303478, 0.936994924210012, 0.5152064631693065)
GRID = np.linspace(0, 1, 401)
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#777777"


class View:
    """A model at one query: mean, one deviation around it, and the point it chose."""

    def __init__(self, models, posterior, compressed, x, label):
        def shown(z):
            return as_values(z, models, compressed)

        mean, std = posterior.predict(GRID[:, None])
        self.mean = shown(mean)
        self.low, self.high = shown(mean - std), shown(mean + std)
        self.x, self.label, self.n_seen = float(x[0]), label, models.n
        self.seen_x = models.X[:, 0]
        self.seen = shown(posterior.told_targets)


def as_values(z, models, compressed):
    """Return what a model sees in the units of the values."""
    if not compressed:
        return z * models.scale + models.shift
    gaps = models.values.max() - models.values
    unit = max(np.quantile(gaps, 0.25), gaps[gaps > 0].min())
    logs = np.log(gaps + unit)
    return models.values.max() + unit - np.exp(logs.mean() - z * logs.std())


class Watch:
    """A maximiser that notes what it is asked to maximise."""

    def __init__(self, argmax):
        self.argmax, self.asked = argmax, []

    def __call__(self, acquisition, **settings):
        """Note it, and return its maximum."""
        self.asked.append(acquisition)
        return self.argmax(acquisition, **settings)

    def within(self, acquisition, x, radius):
        """Note it, and return its maximum in a box."""
        self.asked.append(acquisition)
        return self.argmax.within(acquisition, x, radius)

    def farthest(self):
        """Return the farthest point: no model is asked."""
        return self.argmax.farthest()


def watched(kind):
    """Return a policy that is `kind` and keeps a view of each of its queries."""

    class Watched(kind):
        def suggest(self, state, models, argmax, pending):
            watch = Watch(argmax)
            x, metadata = super().suggest(state, models, watch, pending)
            compressed = bool(watch.asked) and metadata.get("compressed", False)
            if watch.asked:
                posterior = watch.asked[-1].posterior
            else:  # the model rests
                posterior = self.posteriors(state, models)[0]
            VIEWS.append(View(models, posterior, compressed, x, metadata["label"]))
            return x, metadata

    return Watched()


VIEWS = []


def slope(params):
    """Return the value at a point: a slope, and a peak that is a little higher."""
    x = params["x"]
    return 0.6 * x + 0.62335 * np.exp(-0.5 * ((x - 0.2) / 0.08) ** 2)


def run(kind):
    """Return the optimizer of a finished run in the trap, and its views."""
    VIEWS.clear()
    optimizer = Optimizer(
        {"x": Real(0.0, 1.0)},
        watched(kind),
        initial_params=[{"x": x} for x in STARTS],
        n_initial_points=3,
        horizon=N_ITER,
        random_state=SEED,
    )
    for _ in range(N_ITER):
        params = optimizer.ask()
        optimizer.tell(params, slope(params))
    return optimizer, list(VIEWS)


def draw(ax, optimizer, view):
    """Draw one moment: the truth, what was known, and what the model made of it."""
    told = optimizer.history_[: view.n_seen]
    ax.plot(GRID, [slope({"x": x}) for x in GRID], ":", color=GREY, label="truth")
    ax.fill_between(GRID, view.low, view.high, color=BLUE, alpha=0.2, linewidth=0)
    ax.plot(GRID, view.mean, color=BLUE, label="model, with its band")
    values = np.array([record["value"] for record in told])
    raised = view.seen > values + 0.01
    xs = view.seen_x[raised]
    ax.vlines(xs, values[raised], view.seen[raised], color="k", linewidth=0.5)
    ax.plot(xs, view.seen[raised], "ko", markersize=3.5, markerfacecolor="white")
    ax.plot(view.seen_x, values, "k.", label="evaluated")
    ax.axvline(view.x, color=ORANGE, linestyle="--", label="next")
    ax.set(xlim=(0, 1), ylim=(-0.15, 0.95), xlabel="x")


def panels(optimizer, chosen, titles):
    """Return a figure with one panel for each of the chosen views."""
    figure, axes = plt.subplots(
        1, len(chosen), figsize=(8, 2.6), sharey=True, layout="constrained"
    )
    for ax, view, title in zip(axes, chosen, titles, strict=True):
        draw(ax, optimizer, view)
        ax.set_title(title, fontsize=9)
    axes[0].set_ylabel("value")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def likelihood():
    """One length scale, fitted by likelihood, stays on the slope."""
    optimizer, views = run(MLEGPUCB)
    chosen = [views[0], views[4], views[-1]]
    titles = [f"after {v.n_seen} evaluations: {v.label}" for v in chosen]
    return panels(optimizer, chosen, titles)


def default():
    """The default fills where the model expects nothing more."""
    optimizer, views = run(RobustUCB)
    peak = next(i for i, view in enumerate(views) if 0.1 < view.x < 0.3)
    chosen = [views[0], views[peak], views[peak + 2]]
    titles = [f"after {v.n_seen} evaluations: {v.label}" for v in chosen]
    return panels(optimizer, chosen, titles)


def balancing():
    """Length scales come and go in length-scale balancing."""
    from skrobustbo.displays import LengthScaleDisplay

    optimizer, _ = run(LBGPUCB)
    return LengthScaleDisplay.from_optimizer(optimizer).figure_


FIGURES = {
    "stuck_likelihood": likelihood,
    "stuck_default": default,
    "stuck_balancing": balancing,
}
