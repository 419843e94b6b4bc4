"""
=====================================
Several metrics, and a simpler winner
=====================================

The candidate with the best score is often larger than necessary. The scores of other
candidates are so close that the folds cannot distinguish them. ``one_standard_error``
refits the simplest of these candidates. The search can record several metrics at the
same time, but maximises only one of them.
"""

# %%
# The search
# ----------
# We tune the number of boosted trees, their size and the learning rate. We call a model
# simple if it has few leaves in total, because the number of leaves determines its
# memory and prediction time. ``search_metric`` names the metric to maximise, because
# ``refit`` is not the name of a metric here.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from skrobustbo import Integer, Real, RobustBayesSearchCV, one_standard_error

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

space = {
    "max_iter": Integer(5, 150, log=True),
    "max_leaf_nodes": Integer(2, 16),
    "learning_rate": Real(0.02, 0.5, log=True),
}


def size(params):
    """Return the maximum number of leaves of a model."""
    return params["max_iter"] * params["max_leaf_nodes"]


search = RobustBayesSearchCV(
    HistGradientBoostingClassifier(random_state=0),
    space,
    n_iter=30,
    scoring=["neg_log_loss", "accuracy", "roc_auc"],
    search_metric="neg_log_loss",
    refit=one_standard_error(size, metric="neg_log_loss"),
    cv=5,
    random_state=0,
).fit(X, y)

# %%
# What was chosen, and from what
# ------------------------------
# The plot shows the size and the log loss of every candidate, with the standard error
# of the best candidate as a band. As far as we can tell, all candidates in the band are
# as good as the best. The search refits the leftmost of them.

results = search.cv_results_
loss = -results["mean_test_neg_log_loss"]
folds = [-results[f"split{i}_test_neg_log_loss"] for i in range(5)]
best, chosen = int(np.argmin(loss)), search.best_index_
error = np.std(folds, axis=0, ddof=1)[best] / np.sqrt(5)
sizes = np.array([size(params) for params in results["params"]])

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.axhspan(loss[best], loss[best] + error, color="#0072b2", alpha=0.15, lw=0)
ax.plot(sizes, loss, "o", color="0.45", markersize=5)
for i, colour, label in ((best, "#0072b2", "best"), (chosen, "#d55e00", "refitted")):
    ax.plot(sizes[i], loss[i], "*", color=colour, markersize=15, label=label)
ax.set(xscale="log", xlabel="leaves, at most", ylabel="cross-validated log loss")
ax.set_ylim(0.9 * loss.min(), min(loss.max() * 1.05, 4 * loss.min()))
ax.legend()
plt.show()

# %%
# Both on data that neither has seen
# ----------------------------------

row = "{:<10}{:>8}{:>10}{:>10}{:>10}{:>12}{:>12}"
print(f"{'':<18}{'cross-validated':^30}{'held out':>18}")
print(
    row.format("", "leaves", "log loss", "accuracy", "roc auc", "log loss", "accuracy")
)
for label, i in (("best", best), ("refitted", chosen)):
    params = results["params"][i]
    model = HistGradientBoostingClassifier(random_state=0, **params).fit(X, y)
    held_out = log_loss(y_test, model.predict_proba(X_test))
    right = accuracy_score(y_test, model.predict(X_test))
    means = [results[f"mean_test_{metric}"][i] for metric in ("accuracy", "roc_auc")]
    shown = [f"{value:.3f}" for value in (loss[i], *means, held_out, right)]
    print(row.format(label, sizes[i], *shown))
print("refitted with", search.best_params_)

# %%
# With a small fraction of the leaves, the refitted model does nearly as well in
# cross-validation. However, the held-out rows show that this has a cost. If two
# candidates are within one standard error, five folds cannot distinguish them, but they
# may still differ. Use this rule if a small model is important to you.
