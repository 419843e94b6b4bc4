"""
============================================
Multi-fidelity: evaluate on fewer rows first
============================================

With ``resource="n_samples"``, a search first evaluates candidates on few rows. Only the
better ones are evaluated on more rows, and only those evaluated on all rows can win.
"""

# %%
# A search with a resource
# ------------------------
# The search tunes a support vector machine with a budget of 12 full evaluations.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo.displays import ResourceDisplay

X, y = load_digits(return_X_y=True)
space = {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-6, 1, log=True)}
search = RobustBayesSearchCV(
    SVC(), space, n_iter=12, cv=3, resource="n_samples", random_state=0
).fit(X, y)
print(search.report())

# %%
# Learning curves
# ---------------
# ``ResourceDisplay`` connects the scores of each candidate with a line. Candidates that
# were evaluated in full are drawn in colour.

ResourceDisplay.from_search(search)
plt.show()
