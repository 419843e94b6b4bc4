"""
==========================
When the period is unknown
==========================

Some objectives are almost periodic, for example because of a rotating machine or a
daily or yearly cycle. A model that knows the period can predict the values at many
points from a single value. Here, the period is unknown, but there is a short list of
candidates.

``HEGPUCB`` accepts such a list. The candidate with the highest upper bound asks for the
next point, and the value is compared with the prediction of this candidate. A candidate
is eliminated if the sum of its errors is larger than its bands and the noise allow.
"""

# %%
# Objectives of a known kind
# --------------------------
# Kernels work on the unit cube, so a period in units of ``x`` is divided by the width
# of its range. The factor ``RBF`` lets the shape change slowly from one period to the
# next. The true period is 1.25. The objectives are samples of this model, so the
# assumption of the policy that one of the candidates is right is satisfied.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared

from skrobustbo import Candidate, Optimizer, Real
from skrobustbo.policies import GPUCB, HEGPUCB, RobustUCB

WIDTH, NOISE, N_ITER = 10.0, 0.1, 30
PERIODS = (0.8, 1.0, 1.25, 1.6, 2.0)


def kernel(period):
    """Return the model for a period."""
    return ExpSineSquared(1.0, periodicity=period / WIDTH) * RBF(0.3)


candidates = [Candidate(kernel(period), label=f"{period}") for period in PERIODS]
grid = np.linspace(0, 1, 1001)


def draw_function(seed):
    """Return the values of an objective with period 1.25 on the grid."""
    process = GaussianProcessRegressor(kernel(1.25))
    return process.sample_y(grid[:, None], random_state=seed)[:, 0]


def run(policy, seed):
    """Return the optimizer after its evaluations, and the regret after each."""
    truth, rng = draw_function(seed), np.random.default_rng(seed)
    optimizer = Optimizer(
        {"x": Real(0, WIDTH)}, policy, horizon=N_ITER, random_state=seed
    )
    values = []
    for _ in range(N_ITER):
        params = optimizer.ask()
        values.append(np.interp(params["x"] / WIDTH, grid, truth))
        optimizer.tell(params, values[-1] + NOISE * rng.standard_normal())
    return optimizer, truth.max() - np.maximum.accumulate(values)


# %%
# Which candidates ask, and which survive
# ---------------------------------------
# The values already have unit variance. With ``normalize_y=False``, the models use them
# without scaling, which the guarantee of the policy requires. For each point,
# ``history_`` contains the label of the candidate that asked for it, and the candidates
# that were alive at that time. In the lower plot, a line shows how long a candidate
# survives, a dot marks an evaluation that it asked for, and a cross marks its
# elimination.

policy = HEGPUCB(candidates, noise=NOISE, normalize_y=False)
SEED = 6
optimizer, _ = run(policy, SEED)
told = optimizer.history_
labels = ["initial", *map(str, PERIODS)]
shades = ["0.5", "#e69f00", "#d55e00", "#0072b2", "#009e73", "#cc79a7"]

fig, (above, below) = plt.subplots(
    2, 1, figsize=(7.5, 5.6), layout="constrained", height_ratios=(3, 2)
)
above.plot(WIDTH * grid, draw_function(SEED), color="grey", lw=1, label="truth")
for row, (label, colour) in enumerate(zip(labels, shades, strict=True)):
    asked = [i for i, r in enumerate(told, 1) if r["model_label"] == label]
    x = [told[i - 1]["params"]["x"] for i in asked]
    y = [told[i - 1]["value"] for i in asked]
    above.plot(x, y, "o", color=colour, markersize=5)
    below.plot(asked, [row] * len(asked), "o", color=colour, markersize=5)
    if label == "initial":
        continue
    alive = [i for i, r in enumerate(told, 1) if label in (r["alive"] or [label])]
    below.plot([0, alive[-1]], [row, row], color=colour, lw=1)
    if alive[-1] < N_ITER:
        below.plot(alive[-1], row, "x", color=colour, markersize=10)
above.set(xlabel="x", ylabel="value")
below.set(xlabel="evaluation", ylabel="period")
below.set_yticks(range(len(labels)), labels)
below.set_ylim(-0.5, len(labels) - 0.5)
plt.show()

print("alive at the end:", told[-1]["alive"])

# %%
# What it is worth
# ----------------
# The plot shows the regret (the optimum minus the best value so far) for eight
# objectives. For comparison, it also shows GP-UCB with the right period, and the
# default policy, which knows nothing about periods. The lines are medians, and the
# bands range from the second best to the second worst run.

policies = {
    "period known": GPUCB(kernel(1.25), beta=2.0, noise=NOISE, normalize_y=False),
    "period from a list": policy,
    "nothing known of periods": RobustUCB(noise=NOISE),
}
fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
steps = np.arange(1, N_ITER + 1)
for (name, one), colour in zip(policies.items(), shades[4:1:-1], strict=True):
    regret = np.sort([run(one, seed)[1] for seed in range(8)], axis=0)
    ax.fill_between(steps, regret[1], regret[-2], color=colour, alpha=0.15, lw=0)
    ax.plot(steps, np.median(regret, axis=0), color=colour, label=name)
    print(f"{name:<25} mean regret at the end {regret[:, -1].mean():.3f}")
ax.set(xlabel="evaluations", ylabel="regret", ylim=(0, 2), xlim=(1, N_ITER))
ax.legend()
plt.show()

# %%
# A list of periods costs some evaluations, but leads to the same result as the known
# period. Ignoring the period costs far more. The guarantee holds if one candidate is
# right, but not if all candidates are slightly wrong. If the values contradict all of
# them, the policy issues a warning.
