"""How much more a cross-validation errs than its rows show, where folds share rows.

    python benchmarks/studies/fold_dependence.py

Least squares is fitted to features that say nothing of the target. The error is the
difference between the mean squared error of the folds and the true one of their models.
Its standard deviation is compared with the one that the losses of the rows show.
"""

import argparse

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_validate

import shared
from skrobustbo_benchmarks._args import positive_int
from skrobustbo_benchmarks._report import table


def one_run(rng, n_rows, n_features, n_folds):
    """Return the error of a cross-validation, and the deviation that its rows show."""
    X, y = rng.normal(size=(n_rows, n_features)), rng.normal(size=n_rows)
    model, folds = LinearRegression(fit_intercept=False), KFold(n_folds)
    found = cross_validate(model, X, y, cv=folds, return_estimator=True)
    losses, truth = np.empty(n_rows), []
    for (_, test), fitted in zip(folds.split(X), found["estimator"], strict=True):
        losses[test] = (y[test] - fitted.predict(X[test])) ** 2
        truth.append(1 + fitted.coef_ @ fitted.coef_)
    return losses.mean() - np.mean(truth), losses.std() / np.sqrt(n_rows)


def main(args):
    """Print the table."""
    rows = []
    for n_features in args.features:
        rng = np.random.default_rng(n_features)
        runs = [
            one_run(rng, args.rows, n_features, args.folds) for _ in range(args.runs)
        ]
        errors, shown = np.transpose(runs)
        ratio = errors.std() / shown.mean()
        half = ratio * np.sqrt(1 / (2 * args.runs))
        rows.append([str(n_features), f"{ratio:.3f} ± {half:.3f}"])
    print(table(["features", "deviation / what the rows show"], rows))


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--features", type=positive_int, nargs="+", default=[5, 20, 40], metavar="P")
    add("--rows", type=positive_int, default=300, metavar="N")
    add("--folds", type=positive_int, default=5, metavar="K")
    add("--runs", type=positive_int, default=2000, metavar="N")
    return parser


if __name__ == "__main__":
    shared.run(build_parser(), main)
