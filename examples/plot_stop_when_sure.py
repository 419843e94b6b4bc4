"""
============================================
Early stopping: when there is little to gain
============================================

How many candidates are enough? If ``tol`` is a number, the search ends when an upper
bound on the remaining gain is at most ``tol``. The bound is valid with a probability of
95 % under the policy's assumptions. It covers the whole space and is not a guess from
the last few scores. With ``tol="noise"``, the search ends sooner, when the expected
gain of more candidates is below the noise (see :doc:`the guide </stopping>`).
"""

# %%
# A search without a number of candidates
# ---------------------------------------
# Here, ``n_iter`` is only an upper limit. ``tol`` is in units of the score, which here
# is the share of the explained variance. We consider a score good enough if it is
# within 0.02 of the best possible score.

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
# The convergence plot shows the bound as a band above the best score.

ConvergenceDisplay.from_search(search)
plt.show()

# %%
# How exactly must it be met?
# ---------------------------
# If a loss of 0.02 is acceptable, how far may the parameters be from their best values?
# According to the same model, the score falls by about this amount if both parameters
# are off by a tenth of their ranges in the worst direction. On the log scale, this is a
# factor of 2.

display = SensitivityDisplay.from_search(search, max_eps=0.1)
plt.show()

# %%
# The worst direction is too little regularisation, with a smaller ``alpha`` and a
# larger ``gamma``. Cross-validation at this corner shows whether the model is right.

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
# To continue the search, use ``optimizer_``. Here we evaluate thirty more candidates,
# and compute the bound after each of them.

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
# candidates evaluated after its end did not improve it. However, we know this only in
# hindsight. The candidates in between were necessary to show that little was left to
# gain. The guide explains :doc:`how often such a bound is valid </stopping>`.
