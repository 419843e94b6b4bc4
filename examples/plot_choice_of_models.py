"""
===============================
Which model, and how to tune it
===============================

Should you use a support vector machine, nearest neighbours, logistic regression or a
decision tree? Each of them has its own parameters. With a list of dicts, one search
covers all of them with one budget. Each dict is a branch of the search, and more
promising branches get more of the budget.
"""

# %%
# One search, four models
# -----------------------
# The model is a step of the pipeline, and the search sets it like any other parameter.
# A list with one element is a constant. Here, the constants distinguish the branches.

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skrobustbo import Integer, Real, RobustBayesSearchCV

X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]

pipeline = Pipeline([("scale", StandardScaler()), ("clf", SVC())])
space = [
    {
        "clf": [SVC()],
        "clf__C": Real(1e-2, 1e3, log=True),
        "clf__gamma": Real(1e-5, 1.0, log=True),
    },
    {
        "clf": [KNeighborsClassifier()],
        "clf__n_neighbors": Integer(1, 40),
        "clf__weights": ["uniform", "distance"],
    },
    {
        "clf": [LogisticRegression(max_iter=300)],
        "clf__C": Real(1e-4, 1e2, log=True),
    },
    {
        "clf": [DecisionTreeClassifier(random_state=0)],
        "clf__max_depth": Integer(2, 20),
        "clf__min_samples_leaf": Integer(1, 30),
    },
]
search = RobustBayesSearchCV(pipeline, space, n_iter=40, cv=3, random_state=0)
search.fit(X, y)
print(search.report())

# %%
# Where the budget went
# ---------------------
# Every branch gets a share of the initial design. After that, the balancer uses a model
# of each branch to estimate how much can still be gained in the branch. The decision
# tree and logistic regression fall behind and get only a few candidates each. The other
# two models share the rest.


def names(search):
    """Return the name of the model of every candidate."""
    return [type(params["clf"]).__name__ for params in search.cv_results_["params"]]


models = [type(branch["clf"][0]).__name__ for branch in space]
chosen = np.array(names(search))
scores = search.cv_results_["mean_test_score"]
looks = dict(zip(models, ("#0072b2", "#e69f00", "#009e73", "#cc79a7"), strict=True))

fig, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.8), width_ratios=(2.2, 1), layout="constrained"
)
for model, colour in looks.items():
    (where,) = np.nonzero(chosen == model)
    left.plot(where + 1, scores[where], "o", color=colour, markersize=5)
    right.barh(model, len(where), color=colour)
    right.text(len(where) + 0.3, model, str(len(where)), va="center")
left.step(range(1, 41), np.maximum.accumulate(scores), where="post", color="0.3", lw=1)
left.set(xlabel="candidate", ylabel="cross-validated accuracy")
right.set(xlabel="candidates", xlim=(0, 1.15 * max(Counter(chosen).values())))
right.invert_yaxis()
plt.show()

# %%
# Instead of four searches
# ------------------------
# Four searches with ten candidates each have the same total budget. We compare the two
# approaches with three seeds:

print(f"{'':<10}{'one search':>14}{'four searches':>16}   candidates of the winner")
for seed in range(3):
    joint = search if seed == 0 else search.set_params(random_state=seed).fit(X, y)
    winner = type(joint.best_params_["clf"]).__name__
    alone = [
        RobustBayesSearchCV(pipeline, branch, n_iter=10, cv=3, random_state=seed)
        for branch in space
    ]
    best = max(one.fit(X, y).best_score_ for one in alone)
    counts = f"{names(joint).count(winner)} instead of 10 ({winner})"
    print(f"seed {seed:<5}{joint.best_score_:>14.3f}{best:>16.3f}   {counts}")

# %%
# The best scores are about equal here, because ten candidates are nearly enough for
# each of these small models. The joint search spends little of its budget on branches
# that cannot win. The rest goes to the best model, or to an equally good one if the
# result is uncertain. You do not have to decide how to divide the budget.
