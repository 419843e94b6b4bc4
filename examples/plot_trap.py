"""
======================================
A trap for tuners, and a way out of it
======================================

The objective has a long slope and a narrow peak that is a little higher. The three
initial points happen to lie on the slope. Their values look smooth, so a length scale
fitted by maximum likelihood is long. With a long length scale, the model expects unseen
points to resemble the known ones, and only the upper end of the slope seems worth
evaluating.

The function comes from Berkenkamp, Schoellig and Krause (2019). Two policies start from
the same three points: ``"mle-gp-ucb"``, which trusts the fitted length scale, and
``"robust"``, the default, which also uses shorter length scales.
"""

# %%
# Two runs
# --------
# The points in ``initial_params`` are evaluated first. The policy chooses all other
# points.

import matplotlib.pyplot as plt
import numpy as np

from skrobustbo import Optimizer, Real

N_ITER = 40


def slope(params):
    """Return the value at a point: a slope, and a peak that is a little higher."""
    x = params["x"]
    return 0.6 * x + 0.62335 * np.exp(-0.5 * ((x - 0.2) / 0.08) ** 2)


def first_points(seed):
    """Return three points in the right half, where the peak cannot be seen."""
    x = np.random.default_rng(seed).uniform(0.5, 1.0, 3)
    return [{"x": float(value)} for value in x]


def start(policy, seed):
    """Return an optimizer that starts with the three points of a seed."""
    return Optimizer(
        {"x": Real(0.0, 1.0)},
        policy,
        initial_params=first_points(seed),
        n_initial_points=3,
        horizon=N_ITER,
        random_state=seed,
    )


def advance(optimizer, n):
    """Let the optimizer make `n` evaluations."""
    for _ in range(n):
        params = optimizer.ask()
        optimizer.tell(params, slope(params))


# %%
# Step by step
# ------------
# The upper row shows the run of ``"mle-gp-ucb"``. The result of ``optimizer.predict``
# is shown in blue. It comes from a model with an estimated length scale, with a band of
# two standard deviations. On the left, where nothing has been evaluated, the model
# predicts lower values than at the right end. The next points are therefore at the
# right end, which seems to confirm that the objective is smooth. A later value at the
# left end also agrees with the model.
#
# The lower row shows the default policy. ``history_`` records which model asked for a
# point. This is either the model with the estimated length scale, ``"theta/1"``, or one
# with a shorter length scale, such as ``"theta/2.6"``. The first model finds the end of
# the slope immediately and then expects no further improvement, so it passes its turns
# to the others. These models explore the gaps between the points, starting with the
# largest gap. One of their points lies on the flank of the peak, and then all models
# climb the peak.

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#777777"
grid = np.linspace(0, 1, 301)
points = [{"x": x} for x in grid]
truth = [slope(point) for point in points]


def asked_by(record):
    """Return the name of the model that asked for a point."""
    label = record["model_label"]
    if label == "initial":
        return "initial"
    shorter = "/" in label and label != "theta/1"
    return "shorter" if shorter else "estimated"


LOOKS = {
    "initial": ("first points", "s", "black"),
    "estimated": ("asked by the estimated length scale", "o", BLUE),
    "shorter": ("asked by a shorter one", "^", ORANGE),
}


def draw(ax, optimizer):
    """Draw the true function, and the values by the model that asked for them."""
    ax.plot(grid, truth, ":", color=GREY, label="truth")
    for who, (label, marker, colour) in LOOKS.items():
        told = [r for r in optimizer.history_ if asked_by(r) == who]
        x, y = [r["params"]["x"] for r in told], [r["value"] for r in told]
        ax.plot(x, y, marker, color=colour, markersize=5, label=label)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.1, 0.95))


def draw_model(ax, optimizer):
    """Draw the prediction of a model with an estimated length scale."""
    mean, std = optimizer.predict(points, return_std=True)
    ax.fill_between(grid, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.2, lw=0)
    ax.plot(grid, mean, color=BLUE)


moments = (4, 12, N_ITER)
fig, axes = plt.subplots(
    2, 3, figsize=(8, 4.8), sharex=True, sharey=True, layout="constrained"
)
for row, policy in zip(axes, ("mle-gp-ucb", "robust"), strict=True):
    optimizer = start(policy, seed=0)
    for ax, moment in zip(row, moments, strict=True):
        advance(optimizer, moment - len(optimizer.history_))
        if policy == "mle-gp-ucb":
            draw_model(ax, optimizer)
        draw(ax, optimizer)
        ax.set_title(f"{policy}, {moment} evaluations", fontsize=9)
    row[0].set_ylabel("value")
for ax in axes[-1]:
    ax.set_xlabel("x")
handles, labels = axes[0, 0].get_legend_handles_labels()
fig.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %%
# Is this luck?
# -------------
# We use ten seeds with different initial points. A run is stuck if it ends below 0.61,
# which is only slightly more than the value at the right end.

n_seeds = 10
best = {}
for policy in ("mle-gp-ucb", "robust"):
    runs = [start(policy, seed) for seed in range(n_seeds)]
    for run in runs:
        advance(run, N_ITER)
    values = [[record["value"] for record in run.history_] for run in runs]
    best[policy] = np.maximum.accumulate(values, axis=1)
    stuck = (best[policy][:, -1] < 0.61).sum()
    print(f"{policy:<11} stuck in {stuck} of {n_seeds} runs")

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
looks = {"mle-gp-ucb": (BLUE, 4, 0.3), "robust": (ORANGE, 1.2, 0.8)}
steps = np.arange(1, N_ITER + 1)
for policy, (colour, width, alpha) in looks.items():
    lines = ax.step(steps, best[policy].T, where="post")
    plt.setp(lines, color=colour, linewidth=width, alpha=alpha)
    lines[0].set_label(policy)
ax.axhline(0.7452, color=GREY, linestyle=":", label="optimum")
ax.set(xlabel="evaluations", ylabel="best value so far", xlim=(1, N_ITER))
ax.legend(loc="center right")
plt.show()

# %%
# More evaluations do not help ``"mle-gp-ucb"``. It spends them where its model expects
# the best values, and in this region the model is right. The guide explains in more
# detail :doc:`why a tuner gets stuck </stuck>`.
