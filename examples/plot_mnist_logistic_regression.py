"""
==================================================
Tuning logistic regression on MNIST, in a pipeline
==================================================

We tune four hyperparameters of logistic regression, trained by stochastic gradient
descent: the learning rate, the constant of the L2 penalty, the batch size and the
dropout rate. Klein et al. (2016) and Berkenkamp et al. (2019, section 5.2) tune the
same four. The ranges are wide, as they are when little is known. Most of the space
gives poor scores, so it matters where a search looks.

:class:`~skrobustbo.RobustBayesSearchCV` is compared with the untuned classifier, and
with :class:`~sklearn.model_selection.RandomizedSearchCV` on the same budget.

You can also run this example as a script; ``--help`` shows its options. Use
``--figure`` if there is no display::

    python plot_mnist_logistic_regression.py --quick --figure best.png
"""

# %%
# Options
# -------

import argparse
from time import perf_counter

import numpy as np
from scipy.stats import loguniform, uniform
from sklearn.datasets import load_digits
from sklearn.model_selection import (
    RandomizedSearchCV,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from skrobustbo import Integer, Real, RobustBayesSearchCV
from skrobustbo.datasets import fetch_mnist
from skrobustbo.problems import SoftmaxRegression

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
parser.add_argument("--no-download", action="store_true", help="take data on disk only")
parser.add_argument("--figure", metavar="FILE", help="write the plot into this file")
args = parser.parse_args()

n_iter = args.n_iter or (30 if args.quick else 40)
n_train = args.n_train or (1_500 if args.quick else 10_000)

# %%
# Data
# ----
# MNIST has 70,000 images of handwritten digits with 28 x 28 pixels each. The example
# reads it from disk, or downloads it. Without a connection, it uses the 1,797 digits of
# 8 x 8 pixels that come with scikit-learn.


def load_mnist():
    """Return a random choice of training images, and all test images."""
    # A short timeout: do not wait long on a machine without a connection.
    how = {"return_X_y": True, "download": not args.no_download, "timeout": 3}
    X, y = fetch_mnist("train", **how)
    X_test, y_test = fetch_mnist("test", **how)
    chosen = np.random.RandomState(args.seed).permutation(len(X))[:n_train]
    return X[chosen], X_test, y[chosen], y_test


def load_small_digits():
    """Return the digits that are part of scikit-learn, a quarter of them held out."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=args.seed
    )
    return X[:n_train], X_test, y[:n_train], y_test


def load():
    """Return training and test images, and the data set's name."""
    if args.data == "digits":
        return *load_small_digits(), "the digits of scikit-learn"
    try:
        return *load_mnist(), "MNIST"
    except OSError as error:
        if args.data == "mnist":
            raise SystemExit(f"MNIST is not available. {error}") from error
        print(f"MNIST is not available. {error}\n")
        return *load_small_digits(), "the digits of scikit-learn, in place of MNIST"


X, X_test, y, y_test, name = load()
# Single precision is what the classifier works in.
X, X_test = X.astype(np.float32), X_test.astype(np.float32)

print(f"Data: {name}")
print(f"{len(X)} images to tune on, {len(X_test)} held out, {X.shape[1]} pixels each")

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
        ("clf", SoftmaxRegression(n_epochs=20, random_state=args.seed)),
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
# luck, for random search above all: try a few with ``--seed``.

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
# The lines show how the best cross-validated accuracy grows with the number of
# candidates.

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("For the plot, install matplotlib: pip install skrobustbo[plot]")
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
