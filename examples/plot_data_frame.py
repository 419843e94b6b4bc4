"""
========================================
A data frame, a pipeline, and one search
========================================

In this example, a table of customers contains numbers, categories and missing values. A
pipeline turns the categories into columns for gradient boosting, and a search tunes it.
The data are generated from a fixed seed, so there is nothing to download.
"""

# %%
# The data
# --------
# We predict which customers leave. Those who visit often or have a better plan tend to
# stay. Some incomes and cities are missing.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from skrobustbo import Integer, Real, RobustBayesSearchCV

rng = np.random.default_rng(0)
n = 800
X = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n),
        "income": rng.lognormal(10, 0.5, n).round(-2),
        "visits": rng.poisson(3, n),
        "plan": rng.choice(["basic", "plus", "team"], n),
        "city": rng.choice(["Bern", "Lyon", "Oslo", None], n),
    }
)
risk = 4 - X["visits"] - 2 * (X["plan"] == "plus") - X["income"] / 20_000
leaves = risk + (X["city"] == "Oslo") + rng.logistic(size=n) > 0
X.loc[rng.random(n) < 0.2, "income"] = np.nan
print(X.head())

# %%
# The pipeline
# ------------
# The encoder converts categories to columns of zeros and ones. Gradient boosting
# accepts missing numbers. To use LightGBM, write ``LGBMClassifier(verbose=-1)``
# instead.

categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
columns = make_column_transformer(
    (categories, make_column_selector(dtype_exclude="number")),
    remainder="passthrough",
)
boosting = HistGradientBoostingClassifier(max_iter=50, random_state=0)
model = Pipeline([("columns", columns), ("model", boosting)])

# %%
# The search
# ----------
# A parameter name starts with the name of its step, as in `GridSearchCV`. The first
# candidate is the untuned pipeline, so the best score cannot be lower than its score.
# We hold out 200 customers.

X_train, X_test, y_train, y_test = train_test_split(
    X, leaves, test_size=200, stratify=leaves, random_state=0
)
space = {
    "model__learning_rate": Real(0.01, 0.5, log=True),
    "model__max_leaf_nodes": Integer(2, 32, log=True),
    "model__min_samples_leaf": Integer(2, 100, log=True),
}
search = RobustBayesSearchCV(
    model, space, n_iter=20, scoring="roc_auc", honest_score=True, random_state=1
)
search.fit(X_train, y_train)
print(search.report())

# %%
# The best of many scores is too optimistic. ``honest_score=True`` estimates the score
# of the best candidate on new rows. Here, we can compare this estimate with the score
# on the held-out customers:

untuned = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
low, high = search.honest_interval_
print(f"best score in the search      {search.best_score_:.3f}")
print(f"honest score                  {search.honest_score_:.3f}")
print(f"its 95% interval              {low:.3f} to {high:.3f}")
print(f"tuned, on held-out customers  {search.score(X_test, y_test):.3f}")
print(f"untuned, on the same          {roc_auc_score(y_test, untuned):.3f}")

# %%
# How the search went
# -------------------
# The upper plot shows how the score improved, and the lower plot shows which parameters
# matter.

search.plot()
plt.show()

# %%
# The fitted search is an estimator, so it accepts a frame with the same columns.

new = pd.DataFrame(
    {
        "age": [31, 58],
        "income": [np.nan, 41_000],
        "visits": [0, 6],
        "plan": ["basic", "plus"],
        "city": ["Oslo", None],
    }
)
print(search.predict_proba(new)[:, 1].round(2))
