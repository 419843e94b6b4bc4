"""
================================
Which parameters belong together
================================

Six parameters are a lot for a Gaussian process, because in six dimensions all points
are far apart. If the objective is a sum of functions of two parameters each, the
problem is hardly more difficult than three two-dimensional problems, provided that the
model is such a sum as well. But which parameters belong together?

``AdditiveKernel`` models a sum over groups of parameters. ``HEGPUCB`` takes a list of
candidate models and eliminates the ones that the values contradict.
"""

# %%
# Sums of three functions
# -----------------------
# The objectives are random. Each is a sum of three functions of two parameters. The
# functions are drawn from a Gaussian process with length scale 0.3, which is
# approximated by random features.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF

from skrobustbo import Candidate, Optimizer, Real
from skrobustbo.kernels import AdditiveKernel
from skrobustbo.policies import GPUCB, HEGPUCB

NAMES = [f"x{i}" for i in range(1, 7)]
THETA, NOISE, N_ITER, N_FEATURES = 0.3, 0.05, 50, 300


class ThreePairs:
    """The sum of random functions of (x1, x2), (x3, x4) and (x5, x6)."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.frequencies = rng.normal(0, 1 / THETA, (3, N_FEATURES, 2))
        self.phases = rng.uniform(0, 2 * np.pi, (3, N_FEATURES))
        self.weights = rng.normal(0, np.sqrt(2 / N_FEATURES / 3), (3, N_FEATURES))
        line = np.linspace(0, 1, 101)
        square = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
        self.optimum = sum(self.part(i, square).max() for i in range(3))

    def part(self, i, pairs):
        """Return the function of the i-th pair of parameters at points (n, 2)."""
        waves = np.cos(pairs @ self.frequencies[i].T + self.phases[i])
        return waves @ self.weights[i]

    def __call__(self, params):
        """Return the value at a point."""
        x = np.array([params[name] for name in NAMES]).reshape(3, 1, 2)
        return float(sum(self.part(i, pair)[0] for i, pair in enumerate(x)))


# %%
# Four decompositions
# -------------------
# A group is a list of columns of the encoded points, counted from 0. Each number has
# one column. For other parameters, use ``Space.columns(name)``.

groups = {
    "(12)(34)(56)": [(0, 1), (2, 3), (4, 5)],
    "(13)(25)(46)": [(0, 2), (1, 4), (3, 5)],
    "(16)(24)(35)": [(0, 5), (1, 3), (2, 4)],
    "each alone": [(0,), (1,), (2,), (3,), (4,), (5,)],
}
candidates = [
    Candidate(AdditiveKernel(RBF(THETA), group), label=label)
    for label, group in groups.items()
]
settings = {"beta": 2.0, "noise": NOISE, "normalize_y": False}
policies = {
    "decomposition known": GPUCB(candidates[0].kernel, **settings),
    "one of four": HEGPUCB(candidates, **settings),
    "not decomposed": GPUCB(RBF(THETA), **settings),
    "each alone": GPUCB(candidates[3].kernel, **settings),
}


def run(policy, seed):
    """Return the optimizer after its evaluations, and the regret after each."""
    function, rng = ThreePairs(seed), np.random.default_rng(seed)
    space = {name: Real(0, 1) for name in NAMES}
    optimizer = Optimizer(space, policy, horizon=N_ITER, random_state=seed)
    values = []
    for _ in range(N_ITER):
        params = optimizer.ask()
        values.append(function(params))
        optimizer.tell(params, values[-1] + NOISE * rng.standard_normal())
    return optimizer, function.optimum - np.maximum.accumulate(values)


runs = {
    name: [run(policy, seed) for seed in range(6)] for name, policy in policies.items()
}

# %%
# What became of the candidates
# -----------------------------
# The plot shows one run. A line shows how long a candidate survives, a dot marks an
# evaluation that it asked for, and a cross marks its elimination. The true
# decomposition survives in all six runs.

optimizer, _ = runs["one of four"][2]
told = optimizer.history_
fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for row, label in enumerate(groups):
    asked = [i for i, r in enumerate(told, 1) if r["model_label"] == label]
    alive = [i for i, r in enumerate(told, 1) if label in (r["alive"] or [label])]
    ax.plot([0, alive[-1]], [row, row], color=f"C{row}", lw=1)
    ax.plot(asked, [row] * len(asked), "o", color=f"C{row}", markersize=5)
    if alive[-1] < N_ITER:
        ax.plot(alive[-1], row, "x", color=f"C{row}", markersize=10)
ax.set_yticks(range(len(groups)), groups)
ax.set(xlabel="evaluation", xlim=(0, N_ITER + 1), ylim=(3.5, -0.5))
plt.show()

for seed, (optimizer, _) in enumerate(runs["one of four"]):
    print(f"seed {seed}, alive at the end:", *optimizer.history_[-1]["alive"])

# %%
# What it is worth
# ----------------
# The plot shows the median regret over six objectives. The regret is the optimum minus
# the best value so far.

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
colours = ("#009e73", "#0072b2", "#d55e00", "#cc79a7")
for (name, several), colour in zip(runs.items(), colours, strict=True):
    regret = np.array([curve for _, curve in several])
    ax.plot(range(1, N_ITER + 1), np.median(regret, axis=0), color=colour, label=name)
    print(f"{name:<20} mean regret at the end {regret[:, -1].mean():.2f}")
ax.set(xlabel="evaluations", ylabel="regret", ylim=(0, None), xlim=(1, N_ITER))
ax.legend()
plt.show()

# %%
# Knowing the decomposition helps a lot. A list that contains the right decomposition is
# nearly as good, after some evaluations have been spent on the other candidates. A
# wrong decomposition is worse than none.
#
# Do not include a single model of all parameters in such a list. It can explain all
# values, so its upper bound is the highest nearly everywhere. It therefore asks for
# nearly all points, and no value ever contradicts it.
