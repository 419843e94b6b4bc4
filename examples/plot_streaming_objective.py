"""
===================================
An objective that changes under way
===================================

A machine runs day and night, and its speed is tuned while it runs. The yield is best at
a certain speed, until the material changes without notice. An ordinary search continues
to rely on what it has learned. ``ETGPUCB`` compares each value with the prediction of
its model. When a value contradicts the model, the policy forgets all data except this
value.
"""

# %%
# A stream of evaluations
# -----------------------
# In production, the loop of ask, evaluate and tell never ends. Here we run it for 120
# steps, with new material after 40 and after 80 steps. Every step is part of
# production, so the cost is the total yield lost over all steps.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import Matern

from skrobustbo import Optimizer, Real
from skrobustbo.displays import ResetDisplay
from skrobustbo.policies import ETGPUCB, GPUCB, TVGPUCB

N_STEPS, NOISE = 120, 0.05


def best_speed(t):
    """Return the best speed at a step."""
    return 30.0 if t <= 40 else 75.0 if t <= 80 else 50.0


def yield_at(speed, t):
    """Return the yield of a speed at a step, without noise: 1 at best."""
    return float(np.exp(-0.5 * ((speed - best_speed(t)) / 12) ** 2))


def stream(policy, seed):
    """Return the optimizer after the stream, and the yield lost at each step."""
    rng = np.random.default_rng(seed)
    optimizer = Optimizer({"speed": Real(0, 100)}, policy, random_state=seed)
    lost = []
    for t in range(1, N_STEPS + 1):
        params = optimizer.ask()
        value = yield_at(params["speed"], t)
        optimizer.tell(params, value + NOISE * rng.standard_normal())
        lost.append(1 - value)
    return optimizer, np.array(lost)


# %%
# Three policies, one model
# -------------------------
# ``normalize_y=(0.5, 0.5)`` means that the model uses the values (yield - 0.5) / 0.5.
# The scale is fixed, because the guarantee against false alarms requires a fixed scale.
# ``noise`` is in units of these values. ``TVGPUCB`` forgets gradually, at a given rate.
# ``GPUCB`` never forgets.

model = Matern(length_scale=0.2, nu=2.5)
settings = {"noise": NOISE / 0.5, "normalize_y": (0.5, 0.5)}
policies = {
    "ETGPUCB": ETGPUCB(model, **settings),
    "TVGPUCB": TVGPUCB(model, epsilon=0.03, **settings),
    "GPUCB": GPUCB(model, repeats=True, **settings),
}
runs = {
    name: [stream(policy, seed) for seed in range(5)]
    for name, policy in policies.items()
}

# %%
# What it remembers
# -----------------
# ``ResetDisplay`` plots one run. A grey bar shows the prediction for a value. The first
# value after each change of material lies outside its bar.

optimizer, _ = runs["ETGPUCB"][0]
with plt.rc_context({"figure.figsize": (7.5, 4.5)}):
    display = ResetDisplay.from_optimizer(optimizer, value_name="yield")
plt.show()
print("resets at steps", display.resets)

# %%
# Where it runs
# -------------
# The plot shows the speeds that each policy asked for, and the best speed.

fig, axes = plt.subplots(1, 3, figsize=(8, 3), sharey=True, layout="constrained")
steps = np.arange(1, N_STEPS + 1)
for ax, (name, several) in zip(axes, runs.items(), strict=True):
    speeds = [record["params"]["speed"] for record in several[0][0].history_]
    ax.step(steps, [best_speed(t) for t in steps], where="mid", color="0.7", lw=4)
    ax.plot(steps, speeds, ".", color="#0072b2")
    ax.set(title=name, xlabel="step")
axes[0].set_ylabel("speed")
plt.show()

# %%
# What it costs
# -------------
# The plot shows the total yield lost so far, with one line for each of five seeds.

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (name, several), colour in zip(
    runs.items(), ("#0072b2", "#e69f00", "#777777"), strict=True
):
    lost = np.cumsum([lost for _, lost in several], axis=1)
    lines = ax.plot(steps, lost.T, color=colour, lw=1.2)
    lines[0].set_label(name)
    print(f"{name:<8} yield lost", *(f"{total:5.1f}" for total in lost[:, -1]))
ax.set(xlabel="step", ylabel="yield lost so far", xlim=(1, N_STEPS), ylim=(0, None))
ax.legend(loc="upper left")
plt.show()

# %%
# ``ETGPUCB`` is designed for sudden changes at unknown times. Each change costs only a
# few steps, and nothing is lost while the objective does not change. For an objective
# that drifts steadily at a known rate, :doc:`other policies </choosing>` are more
# suitable.
