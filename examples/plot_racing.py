"""
=================================
Racing: stop bad candidates early
=================================

Cross-validation runs every candidate on every fold, even one whose first score is far
below that of the best candidate. With ``racing=True``, a candidate is stopped once it
is very unlikely to win, so the search fits fewer folds.
"""

# %%
# The same search twice
# ---------------------
# The search tunes a support vector machine with ten folds and 30 candidates, once
# without and once with racing.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo.displays import ConvergenceDisplay

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), SVC())
space = {"svc__C": Real(1e-2, 1e3, log=True), "svc__gamma": Real(1e-5, 1, log=True)}
settings = {"n_iter": 30, "cv": 10, "random_state": 0}
full = RobustBayesSearchCV(model, space, **settings).fit(X, y)
raced = RobustBayesSearchCV(model, space, racing=True, **settings).fit(X, y)

n_fitted = raced.cv_results_["n_splits_evaluated"].sum()
print(f"in full: {30 * 10} folds, best score {full.best_score_:.4f}")
print(f"raced:   {n_fitted} folds, best score {raced.best_score_:.4f}")

# %%
# What happened to the candidates
# -------------------------------
# Each bar represents a stopped candidate. It shows the score predicted from the
# candidate's folds, with two standard deviations on either side. Only complete
# candidates, shown as dots, can win.

ConvergenceDisplay.from_search(raced)
plt.show()

# %%
# The table of results shows the number of folds of each candidate. The score of a
# stopped candidate is not known, so it is ``nan``. ``race_mean`` contains the estimate.

columns = ["n_splits_evaluated", "raced", "mean_test_score", "race_mean", "race_std"]
for i in range(4, 12):
    print(*(f"{raced.cv_results_[name][i]!s:.6}".rjust(7) for name in columns))
