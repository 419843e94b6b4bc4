"""
=================================
Stop when there is little to gain
=================================

How many candidates are enough? With ``tol`` the search ends by itself, when a bound on
what is left to gain has fallen to it. The bound holds with a probability of 95 % under
the policy's assumptions; it is a statement about the whole space, not a guess from the
last few scores.
"""

# %%
# A search without a number of candidates
# ---------------------------------------
# ``n_iter`` is only a limit here. ``tol`` is in units of the score, here the explained
# share of the variance: to be within 0.02 of the best is called enough.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo.displays import ConvergenceDisplay, SensitivityDisplay

X, y = load_diabetes(return_X_y=True)
X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
model = KernelRidge(kernel="rbf")
space = {"alpha": Real(1e-1, 1e2, log=True), "gamma": Real(1e-4, 1e-1, log=True)}
search = RobustBayesSearchCV(model, space, n_iter=100, tol=0.02, random_state=0)
search.fit(X, y)
print(f"{search.n_iter_} candidates; ended by {search.stop_reason_!r}")
print(f"best score {search.best_score_:.4f}")
print(f"left to gain: at most {search.optimizer_.regret_bound():.4f}")

# %%
# The picture of a search has the bound as a band above the best score.

ConvergenceDisplay.from_search(search)
plt.show()

# %%
# How exactly must it be met?
# ---------------------------
# If 0.02 less is good enough, how far may the parameters be from the best? To the same
# model, the score falls by just that if both are missed by a tenth of their ranges (on
# the log scale, here a factor of 2) in the worst direction.

display = SensitivityDisplay.from_search(search, max_eps=0.1)
plt.show()

# %%
# The worst direction is to regularise too little: less ``alpha`` and more ``gamma``. A
# cross-validation there tells whether the model is right.

optimizer = search.optimizer_
corner = {"alpha": display.params["alpha"] / 2, "gamma": display.params["gamma"] * 2}
score = cross_val_score(model.set_params(**corner), X, y).mean()
print(f"worst within a tenth of the ranges, to the model {display.worst[-1]:.4f}")
print(
    f"at the corner, to the model {optimizer.predict(corner):.4f}, in truth {score:.4f}"
)

# %%
# Was it right to stop?
# ---------------------
# ``optimizer_`` is there to go on asking: thirty candidates more, and the bound after
# each of them.

n = search.n_iter_
best, bounds = [search.best_score_], [optimizer.regret_bound()]
for _ in range(30):
    params = optimizer.ask()
    score = cross_val_score(model.set_params(**params), X, y).mean()
    optimizer.tell(params, score)
    best.append(optimizer.best_value_)
    bounds.append(optimizer.regret_bound())

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
steps = np.arange(n, n + 31)
ax.fill_between(
    steps,
    best,
    np.add(best, bounds),
    color="#0072b2",
    alpha=0.2,
    lw=0,
    label="what may be left to gain",
)
ax.plot(steps, best, color="#0072b2", label="best score")
ax.set(xlabel="candidates", ylabel="score (r2)", xlim=(n, n + 30))
ax.legend(loc="center right")
plt.show()
print(f"gained by thirty candidates more: {best[-1] - best[0]:.4f}")
print(f"bound, then and now: {bounds[0]:.4f}, {bounds[-1]:.4f}")

# %%
# The search was within 0.002 of its best score after nine candidates, and the thirty
# after its end have not improved it. But that is hindsight: to know that little is left
# to gain is what the candidates in between were for. The guide says
# :doc:`how often such a bound holds </stopping>`.
