"""
===============================
Text: TF-IDF and a linear model
===============================

We tune a pipeline of :class:`~sklearn.feature_extraction.text.TfidfVectorizer` and
:class:`~sklearn.linear_model.SGDClassifier` in one search. You pass the texts to the
search as a list of strings. The vectorizer is fitted again in every fold, so no word of
the test rows leaks into its vocabulary.
"""

# %%
# The texts
# ---------
# All of scikit-learn's text data sets need a download, so we generate our own texts.
# They are short messages to a shop, with some words that hint at one of three teams and
# many words that do not. A fifth of the labels are wrong. Real texts are harder to
# classify, but the search works in the same way.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline

from skrobustbo import RobustBayesSearchCV, suggested_space
from skrobustbo.displays import ConvergenceDisplay

HINTS = {
    "billing": ["invoice", "charged", "refund", "card", "price", "receipt"],
    "delivery": ["parcel", "late", "courier", "address", "lost", "doorstep"],
    "support": ["broken", "screen", "battery", "restart", "error", "button"],
}
OTHERS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "te") for b in "bdfgklmnprst"]
ORDINARY = ["please", "my", "the", "and", "is", "was", "not", "with", "again", "help"]

rng = np.random.default_rng(0)
texts, teams = [], []
for _ in range(600):
    team = rng.choice(list(HINTS))
    words = [*rng.choice(HINTS[team], 2), *rng.choice(ORDINARY, 6)]
    words += [*rng.choice(OTHERS, 4), rng.choice(HINTS[rng.choice(list(HINTS))])]
    texts.append(" ".join(rng.permutation(words)))
    teams.append(team if rng.random() > 0.2 else rng.choice(list(HINTS)))
for text, team in zip(texts[:3], teams[:3], strict=True):
    print(f"{team:<9}", text)

# %%
# The search
# ----------
# :func:`~skrobustbo.suggested_space` has ranges for both steps. The parameters of the
# model come first, followed by those of the vectorizer.

model = Pipeline(
    [("words", TfidfVectorizer()), ("model", SGDClassifier(random_state=0))]
)
space = suggested_space(model, texts, teams)
for name, values in space.items():
    print(f"{name:<20}", values)

# %%
# The values of ``words__ngram_range`` are tuples, because any object may be a choice.
# With ``"suggested"``, the search uses the most important of these parameters. With 30
# candidates, it uses the first five.

search = RobustBayesSearchCV(
    model, "suggested", n_iter=30, scoring="balanced_accuracy", random_state=0
)
search.fit(texts, teams)
print(search.report())

# %%
# How the score grew
# ------------------
# The first candidate is the untuned pipeline.

ConvergenceDisplay.from_search(search)
plt.show()

# %%
# The fitted search can classify new texts:

print(search.predict(["the card was charged twice", "parcel not at the doorstep"]))
