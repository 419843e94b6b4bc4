"""
========================
Evaluate with less first
========================

With ``resource="n_samples"``, a search evaluates candidates on few rows first. Only the
better ones are evaluated on more rows, and only those evaluated on all rows can win.
"""

# %%
# A search with a resource
# ------------------------
# The search tunes a support vector machine with the work of 12 full evaluations.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skrobustbo import Real, RobustBayesSearchCV

X, y = load_digits(return_X_y=True)
space = {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-6, 1, log=True)}
search = RobustBayesSearchCV(
    SVC(), space, n_iter=12, cv=3, resource="n_samples", random_state=0
).fit(X, y)
print(search.report())

# %%
# Learning curves
# ---------------
# Each evaluation has a row in the table of results. The rows of one candidate, in the
# order of their amounts, are its learning curve.

results = search.cv_results_
curves = {}
for params, amount, score in zip(
    results["params"], results["n_resources"], results["resource_score"], strict=True
):
    curves.setdefault(tuple(params.values()), []).append((amount, score))

fig, ax = plt.subplots(layout="constrained")
for curve in curves.values():
    amounts, scores = zip(*curve, strict=True)
    ax.plot(amounts, scores, marker="o", markersize=4, alpha=0.7)
ax.set_xscale("log")
ax.set_xticks(search.n_resources_, search.n_resources_)
ax.minorticks_off()
ax.set_xlabel("rows")
ax.set_ylabel("mean test score")
ax.set_title("Only the better candidates get more rows")
plt.show()
