"""
====================================
A policy of your own, in forty lines
====================================

A policy decides which point to evaluate next. It is a small object that follows
scikit-learn's conventions. The constructor stores settings, and at most three methods
do the work. The package takes care of factorisations, the maximisation over mixed
spaces, pending points, failures, checkpoints and resuming. All of this works with your
policy.
"""

# %%
# Impatience
# ----------
# This policy uses expected improvement with an estimated length scale, as many tuners
# do. After ``patience`` queries in a row without an improvement, it asks for the point
# where the model is most uncertain.
#
# - ``state_type`` is the class of its state, a dataclass of numbers, strings and lists
#   of these, which can be written as JSON. ``start`` returns the initial state. Here,
#   the inherited method is sufficient, which uses all defaults.
# - ``suggest`` returns a point and metadata, and has no side effects. ``models.fit``
#   returns the most likely length scales, ``models[candidate]`` is a posterior, and
#   ``argmax`` maximises an acquisition function.
# - ``learn`` changes the state once the value of that point is in the history. In the
#   history, failed evaluations are nan.

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrobustbo import Candidate, Optimizer, Real, RobustBayesSearchCV, minimize
from skrobustbo.acquisition import EI, UCB
from skrobustbo.kernels import with_length_scale
from skrobustbo.policies import Policy
from skrobustbo.surrogate import LogNormalPrior


@dataclass
class Mood:
    """What an impatient policy remembers."""

    best: float = -np.inf
    in_vain: int = 0


class Impatient(Policy):
    """Expected improvement that looks elsewhere after several fruitless queries."""

    state_type = Mood

    def __init__(self, kernel=None, *, patience=4, noise=0.01):
        self.kernel = kernel
        self.patience = patience
        self.noise = noise

    def suggest(self, state, models, argmax, pending):
        """Return an encoded point, and metadata with a label for the history."""
        prior, bounds = LogNormalPrior(median=0.7, sigma=1.5), (0.005, 20.0)
        kernel = self.base_kernel()
        theta = models.fit(kernel, prior, bounds, [0.5], per_parameter=True)
        scaled = with_length_scale(kernel, models.spread(theta))
        posterior = models[Candidate(scaled)]
        if state.in_vain >= self.patience:
            x, _ = argmax(UCB(posterior, beta=1e3))
            return x, {"label": "elsewhere"}
        x, _ = argmax(EI(posterior, incumbent=models.z.max()))
        return x, {"label": "improvement"}

    def learn(self, state, metadata, history):
        """Count the queries without an improvement."""
        best = np.nanmax(history.values)
        if best > state.best or metadata["label"] == "elsewhere":
            state.in_vain = 0
        else:
            state.in_vain += 1
        state.best = float(best)


# %%
# In the trap
# -----------
# The problem has a narrow peak, and the three initial points are on the slope next to
# it (see :ref:`sphx_glr_gallery_plot_trap.py`). With ``patience=10**6``, the policy is
# the standard one.


def trap(params):
    """Return the value at a point of the slope with the peak."""
    x = params["x"]
    return 0.6 * x + 0.62335 * np.exp(-0.5 * ((x - 0.2) / 0.08) ** 2)


def run_trap(policy, seed, n_iter=30):
    """Return the optimizer after a run from three points of the slope."""
    x = np.random.default_rng(seed).uniform(0.5, 1.0, 3)
    optimizer = Optimizer(
        {"x": Real(0.0, 1.0)},
        policy,
        initial_params=[{"x": float(value)} for value in x],
        n_initial_points=3,
        horizon=n_iter,
        random_state=seed,
    )
    for _ in range(n_iter):
        params = optimizer.ask()
        optimizer.tell(params, trap(params))
    return optimizer


policies = {"patient": Impatient(patience=10**6), "impatient": Impatient()}
fig, axes = plt.subplots(1, 2, figsize=(8, 3.3), sharey=True, layout="constrained")
line = np.linspace(0, 1, 301)
looks = {
    "initial": ("s", "k"),
    "improvement": ("o", "#0072b2"),
    "elsewhere": ("^", "#d55e00"),
}
for ax, (name, policy) in zip(axes, policies.items(), strict=True):
    told = run_trap(policy, seed=0).history_
    ax.plot(line, [trap({"x": x}) for x in line], ":", color="0.5")
    for label, (marker, colour) in looks.items():
        some = [record for record in told if record["model_label"] == label]
        x, y = [r["params"]["x"] for r in some], [r["value"] for r in some]
        ax.plot(x, y, marker, color=colour, markersize=5, label=label)
    ax.set(title=name, xlabel="x")
axes[0].set_ylabel("value")
axes[0].legend(loc="lower right")
plt.show()

# %%
# Compared
# --------
# We run ten seeds on the trap, and five seeds on a function without a trap, where
# impatience can only waste evaluations. The table shows the regret after 30
# evaluations.

policies["the default"] = "robust"
row = "{:<14}{:>14}{:>28}"
print(row.format("", "stuck in trap", "regret on branin (worst)"))


def branin(params):
    """Return the value of Branin's function; its minimum is 0.3979."""
    x, y = params["x"], params["y"]
    bend = y - 5.1 * x**2 / (4 * np.pi**2) + 5 * x / np.pi - 6
    return bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10


ranges = {"x": Real(-5.0, 10.0), "y": Real(0.0, 15.0)}
for name, policy in policies.items():
    found = [run_trap(policy, seed).best_value_ for seed in range(10)]
    stuck = sum(value < 0.61 for value in found)
    lost = [
        minimize(branin, ranges, n_iter=30, policy=policy, random_state=seed).fun
        - 0.397887
        for seed in range(5)
    ]
    regrets = f"{np.median(lost):.4f} ({max(lost):.4f})"
    print(row.format(name, f"{stuck} of 10", regrets))

# %%
# Everywhere
# ----------
# You can save an optimizer with this policy as JSON and restore it. The policy is not
# part of the package, so you have to pass it again.

first = run_trap(Impatient(patience=2), seed=0, n_iter=12)
again = Optimizer.from_dict(first.to_dict(), policy=Impatient(patience=2))
assert again.ask() == first.ask()

# %%
# You can also use the policy in a search, here with rounds of two candidates:

search = RobustBayesSearchCV(
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    {"logisticregression__C": Real(1e-4, 1e4, log=True)},
    n_iter=12,
    batch_size=2,
    policy=Impatient(),
    scoring="neg_log_loss",
    random_state=0,
).fit(*load_wine(return_X_y=True))
print(search.best_params_, round(search.best_score_, 4))
print("chosen by:", *search.cv_results_["model_label"])

# %%
# The impatient policy escapes from the trap. On ``branin``, impatience costs nothing,
# and five seeds show no difference between the three policies. The code of the policy
# has forty lines.
