"""
==================================================
Tuning logistic regression on MNIST, in a pipeline
==================================================

We tune four hyperparameters of logistic regression, trained by stochastic gradient
descent: the learning rate, the L2 penalty constant, the batch size and the dropout
rate. Klein et al. (2016) and Berkenkamp et al. (2019, section 5.2) tune the same four.
The ranges are wide, as you would choose them without prior knowledge. Most of the space
gives poor scores, so it matters where a search evaluates points.

:class:`~skrobustbo.RobustBayesSearchCV` is compared with the untuned classifier, and
with :class:`~sklearn.model_selection.RandomizedSearchCV` on the same budget.

You can also run this example as a script. ``--help`` shows its options. Use
``--figure`` if there is no display::

    python plot_mnist_logistic_regression.py --quick --figure best.png
"""

# %%
# Options
# -------

import argparse
import gzip
import os
import socket
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.special import softmax
from scipy.stats import loguniform, uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import fetch_openml, load_digits
from sklearn.model_selection import (
    RandomizedSearchCV,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from skrobustbo import Integer, Real, RobustBayesSearchCV

parser = argparse.ArgumentParser(
    description="Tune logistic regression on MNIST: untuned, random search, ours."
)
parser.add_argument("--quick", action="store_true", help="fewer images and candidates")
parser.add_argument("--seed", type=int, default=0, help="default: 0")
parser.add_argument("--n-iter", type=int, help="candidates of each search")
parser.add_argument("--n-train", type=int, help="training images")
parser.add_argument(
    "--data",
    choices=("auto", "mnist", "digits"),
    default="auto",
    help="auto (the default) takes scikit-learn's digits if MNIST is not available",
)
parser.add_argument("--figure", metavar="FILE", help="write the plot into this file")
args = parser.parse_args()

n_iter = args.n_iter or (30 if args.quick else 40)
n_train = args.n_train or (1_000 if args.quick else 10_000)

# %%
# Data
# ----
# MNIST has 70,000 images of handwritten digits with 28 x 28 pixels each. The example
# reads them from the folder given by the environment variable ``SKROBUSTBO_DATA``, or
# lets scikit-learn download them. If neither works, it uses the 1,797 digits of 8 x 8
# pixels that come with scikit-learn.


def mnist_on_disk(folder):
    """Return the images and labels from the four published files of MNIST."""
    parts = {"images-idx3": 16, "labels-idx1": 8}
    images, labels = (
        np.concatenate(
            [
                np.frombuffer(gzip.decompress(path.read_bytes())[header:], np.uint8)
                for path in sorted(folder.glob(f"*-{part}-ubyte.gz"), reverse=True)
            ]
        )
        for part, header in parts.items()
    )
    return images.reshape(-1, 784), labels


def load():
    """Return images, labels, and the name of the data."""
    folder = Path(os.environ.get("SKROBUSTBO_DATA", ""), "mnist")
    if args.data == "digits":
        return *load_digits(return_X_y=True), "scikit-learn's digits"
    if len(list(folder.glob("*-ubyte.gz"))) == 4:
        return *mnist_on_disk(folder), "MNIST, read from disk"
    socket.setdefaulttimeout(5)  # do not wait long without a connection
    try:
        with warnings.catch_warnings(action="ignore"):
            X, y = fetch_openml(
                "mnist_784", return_X_y=True, as_frame=False, n_retries=1
            )
    except OSError:
        if args.data == "mnist":
            raise
        return *load_digits(return_X_y=True), "scikit-learn's digits (MNIST: no access)"
    return X, y.astype(int), "MNIST, from OpenML"


X, y, name = load()
X, X_test, y, y_test = train_test_split(
    X.astype(np.float32), y, test_size=1 / 7, stratify=y, random_state=args.seed
)
X, y = X[:n_train], y[:n_train]
print(f"Data: {name}. {len(X)} images to tune on, {len(X_test)} held out.")

# %%
# The classifier
# --------------
# Any estimator that follows scikit-learn's conventions can be tuned. The one in this
# example is logistic regression for several classes. In each step, dropout sets some of
# the pixels to zero and scales up the others.


class SoftmaxRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression by stochastic gradient descent, with dropout."""

    def __init__(self, learning_rate=0.01, l2=0.0, batch_size=32, dropout=0.0, seed=0):
        self.learning_rate = learning_rate
        self.l2 = l2
        self.batch_size = batch_size
        self.dropout = dropout
        self.seed = seed

    def fit(self, X, y):
        """Take 20 passes over the data."""
        rng = np.random.default_rng(self.seed)
        self.classes_, labels = np.unique(y, return_inverse=True)
        truth = np.eye(len(self.classes_), dtype=X.dtype)[labels]
        self.coef_ = np.zeros((X.shape[1], truth.shape[1]), X.dtype)
        self.intercept_ = np.zeros(truth.shape[1], X.dtype)
        for _ in range(20):
            order = rng.permutation(len(X))
            for start in range(0, len(X), self.batch_size):
                rows = order[start : start + self.batch_size]
                kept = rng.random((len(rows), X.shape[1]), X.dtype) >= self.dropout
                inputs = X[rows] * kept / np.float32(1 - self.dropout)
                errors = softmax(inputs @ self.coef_ + self.intercept_, axis=1)
                errors = (errors - truth[rows]) / len(rows)
                slope = inputs.T @ errors + 2 * np.float32(self.l2) * self.coef_
                self.coef_ -= np.float32(self.learning_rate) * slope
                self.intercept_ -= np.float32(self.learning_rate) * errors.sum(axis=0)
        return self

    def predict(self, X):
        """Return the most likely classes."""
        return self.classes_[(X @ self.coef_ + self.intercept_).argmax(axis=1)]


# %%
# Pipeline and search space
# -------------------------
# The classifier is a step of a pipeline, so the parameter names have the prefix
# ``clf__``. All parameters except the dropout rate are searched on a log scale.
#
# Random search draws from the same ranges on the same scales. ``loguniform`` is
# continuous, so the batch sizes are a list of integers on a log scale. ``uniform``
# takes the start and the width of its range.

pipeline = Pipeline(
    [
        ("scale", MinMaxScaler()),
        ("clf", SoftmaxRegression(seed=args.seed)),
    ]
)
space = {
    "clf__learning_rate": Real(1e-6, 1.0, log=True),
    "clf__l2": Real(1e-6, 1.0, log=True),
    "clf__batch_size": Integer(4, 512, log=True),
    "clf__dropout": Real(0.0, 0.75),
}
distributions = {
    "clf__learning_rate": loguniform(1e-6, 1.0),
    "clf__l2": loguniform(1e-6, 1.0),
    "clf__batch_size": np.geomspace(4, 512, 200).round().astype(int),
    "clf__dropout": uniform(0.0, 0.75),
}

# %%
# The two searches
# ----------------
# Both searches evaluate the same number of candidates by threefold cross-validation.
# Then they fit the best one to all training images. The result of one seed depends on
# luck, especially for random search, so try a few seeds with ``--seed``.

searches = {
    "random search": RandomizedSearchCV(
        pipeline, distributions, n_iter=n_iter, cv=3, random_state=args.seed
    ),
    "RobustBayesSearchCV": RobustBayesSearchCV(
        pipeline, space, n_iter=n_iter, cv=3, random_state=args.seed
    ),
}

print(f"\n{n_iter} candidates for each search, 3 folds\n")
row = "{:<22}{:>12}{:>12}{:>10}"
print(row.format("accuracy", "cross-valid.", "held out", "seconds"))

start = perf_counter()
score = cross_val_score(pipeline, X, y, cv=3).mean()
held_out = pipeline.fit(X, y).score(X_test, y_test)
seconds = f"{perf_counter() - start:.1f}"
print(row.format("untuned", f"{score:.4f}", f"{held_out:.4f}", seconds))

for label, search in searches.items():
    start = perf_counter()
    search.fit(X, y)
    seconds = f"{perf_counter() - start:.1f}"
    held_out = search.score(X_test, y_test)
    print(row.format(label, f"{search.best_score_:.4f}", f"{held_out:.4f}", seconds))

# %%
# What was found
# --------------
# The table shows the best parameters next to those of the untuned classifier. The tuner
# needs little time compared with the fits.

untuned = pipeline.get_params()
print()
row = "{:<22}" + "{:>14}" * 2 + "{:>22}"
print(row.format("parameter", "untuned", *searches))
for parameter in space:
    found = (search.best_params_[parameter] for search in searches.values())
    values = (f"{value:.4g}" for value in (untuned[parameter], *found))
    print(row.format(parameter.removeprefix("clf__"), *values))

search = searches["RobustBayesSearchCV"]
per_candidate = 1e3 * search.tuner_time_ / search.n_iter_
per_fit = 1e3 * search.cv_results_["mean_fit_time"].mean()
print(
    f"\nThe tuner took {per_candidate:.1f} ms per candidate, each of its three fits "
    f"{per_fit:.1f} ms."
)

# %%
# Best score so far
# -----------------
# The lines show how the best cross-validated accuracy increases with the number of
# candidates.

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("For the plot, install matplotlib: pip install matplotlib")
else:
    fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for label, search in searches.items():
        best = np.maximum.accumulate(search.cv_results_["mean_test_score"])
        ax.step(np.arange(1, n_iter + 1), best, where="post", label=label)
    ax.axhline(score, color="grey", linestyle=":", label="untuned")
    ax.set_xlabel("candidates evaluated")
    ax.set_ylabel("best cross-validated accuracy")
    ax.legend(loc="lower right")
    if args.figure:
        fig.savefig(args.figure)
        print(f"The plot is in {args.figure}.")
    else:
        plt.show()
