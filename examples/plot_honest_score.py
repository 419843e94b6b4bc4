"""
===========================
A score that you can report
===========================

``best_score_`` is the best of many noisy scores, so it is too optimistic. Random labels
show by how much. No model can predict them, but the best candidate still seems to be
better than chance. ``honest_score=True`` estimates a score that is corrected for this
effect.
"""

# %%
# Searches where there is nothing to find
# ---------------------------------------
# We make twenty data sets of 100 rows with random labels. On new rows, any model
# predicts half of the labels correctly.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from skrobustbo import Integer, Real, RobustBayesSearchCV

space = {"max_depth": Integer(1, 8), "max_features": Real(0.1, 1)}
rng = np.random.default_rng(0)
best, honest, ends = [], [], []
for seed in range(20):
    search = RobustBayesSearchCV(
        DecisionTreeClassifier(random_state=0),
        space,
        n_iter=20,
        policy="random",
        honest_score=True,
        random_state=seed,
    )
    search.fit(rng.normal(size=(100, 8)), rng.permutation([0, 1] * 50))
    best.append(search.best_score_)
    honest.append(search.honest_score_)
    ends.append(search.honest_interval_)

# %%
# Two answers for each search
# ---------------------------
# The best scores are above the chance level. The honest scores lie around this level,
# and most of their intervals contain it.

order = np.argsort(honest)
low, high = np.array(ends)[order].T
places = np.arange(len(order))

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.axhline(0.5, color="0.6", lw=1)
ax.vlines(places, low, high, color="#0072b2", alpha=0.35, lw=4)
ax.plot(places, np.array(honest)[order], "o", color="#0072b2", label="honest_score_")
ax.plot(places, np.array(best)[order], "^", color="#d55e00", label="best_score_")
ax.set(xlabel="search, in the order of its honest score", ylabel="accuracy", xticks=[])
ax.legend()
plt.show()

# %%
# The averages over all searches are:

print(f"best_score_    {np.mean(best):.3f}")
print(f"honest_score_  {np.mean(honest):.3f}")
