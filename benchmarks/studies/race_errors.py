"""How often a race stops a candidate that it should not, where the truth is known.

    python benchmarks/studies/race_errors.py

Candidate i scores f_i + b_k + e_ik on fold k. The truth f is a draw of a Gaussian
process over two parameters, whose deviation is 1 to 10 times that of the noise e. The
fold effects b are 1 to 30 times as large as the noise. Unequal noise differs by up to a
factor of four between candidates, at the same mean square. Each search of 40 candidates
is run with and without races.
"""

import argparse
import sys
from itertools import product

import numpy as np
from scipy.stats import binomtest
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold

import shared
from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo_benchmarks._args import positive_int
from skrobustbo_benchmarks._report import table

N_ITER, DELTA, MARGIN = 40, 0.05, 0.25
#: Cosines that a draw of the process is made of.
N_FEATURES = 400
SPACE = {"u": Real(0.0, 1.0), "v": Real(0.0, 1.0)}
#: Factor between the smallest and the largest noise of a candidate.
NOISE = {"equal": 1.0, "unequal": 4.0}
HEADER = (
    "policy",
    "folds",
    "noise",
    "fold effects",
    "searches",
    "folds fitted",
    "stopped wrongly",
    "stopped one truly better",
    "in full: passed over one",
    "loss",
    "loss among its own",
)


class Point(BaseEstimator):
    """A candidate, which learns nothing."""

    def __init__(self, u=0.5, v=0.5):
        self.u, self.v = u, v

    def fit(self, X, y=None):
        """Do nothing."""
        return self


class Truth:
    """What candidates score, whose noise has a mean square of one.

    Parameters
    ----------
    seed : list of int
        Of the process, the folds and the noise.
    n_splits : int
    effects : float
        Standard deviation of the fold effects.
    spread : float
        Factor between the smallest and the largest noise of a candidate.
    """

    def __init__(self, seed, n_splits, effects, spread):
        rng = np.random.default_rng(seed)
        self._seed, self._spread = seed, spread
        self._height, length = np.log(rng.uniform([1, 0.2], [10, 1]))
        # The spectral density of Matern 5/2 is that of a Student t.
        width = np.exp(length) * np.sqrt(rng.chisquare(5, N_FEATURES) / 5)
        self._slopes = rng.normal(size=(N_FEATURES, 2)) / width[:, None]
        self._phases = rng.uniform(0, 2 * np.pi, N_FEATURES)
        self._effects = rng.normal(scale=effects, size=n_splits)

    def mean(self, point):
        """Return the true score of a point, but for the mean effect of the folds."""
        waves = np.cos(self._slopes @ point + self._phases)
        return np.exp(self._height) * np.sqrt(2 / N_FEATURES) * waves.sum()

    def scores(self, point):
        """Return a point's scores on all folds, the same whenever it is asked."""
        rng = np.random.default_rng([*self._seed, *np.array(point).view(np.uint64)])
        log = np.log(self._spread)
        noise = np.exp(rng.uniform(0, log)) if log else 1.0
        noise /= np.sqrt((self._spread**2 - 1) / (2 * log)) if log else 1.0
        e = noise * rng.normal(size=len(self._effects))
        return self.mean(point) + self._effects + e

    def __call__(self, estimator, X, y=None):
        """Score a candidate; the only row that is held out tells the fold."""
        return self.scores([estimator.u, estimator.v])[int(X[0, 0])]


def one_search(seed, policy, n_splits, effects, spread):
    """Return the share of folds that a race fits, three errors and two losses."""
    truth, unit = Truth(seed, n_splits, effects, spread), 1 / np.sqrt(n_splits)
    winners, passed = [], None
    for racing in (False, True):
        search = RobustBayesSearchCV(
            Point(),
            SPACE,
            n_iter=N_ITER,
            policy=policy,
            racing=racing,
            scoring=truth,
            cv=KFold(n_splits),
            refit=False,
            random_state=seed[-1],
        ).fit(np.arange(n_splits)[:, None])
        points = [[p["u"], p["v"]] for p in search.cv_results_["params"]]
        f = np.array([truth.mean(point) for point in points])
        means = np.array([truth.scores(point).mean() for point in points])
        stopped = ~np.isfinite(search.cv_results_["mean_test_score"])
        known = np.where(stopped, -np.inf, means)
        best = [0, *(int(np.argmax(known[:i])) for i in range(1, N_ITER))]
        better = f > f[best] + MARGIN * unit
        if not racing:
            passed = better & (means <= means[best])
        winners.append(f[search.best_index_])
    losses = np.array([winners[0], f[np.argmax(means)]]) - winners[1]
    return (
        search.cv_results_["n_splits_evaluated"].mean() / n_splits,
        (stopped & (means > means[best] + MARGIN * unit)).any(),
        (stopped & better).any(),
        passed.any(),
        *losses / (np.sqrt(2) * unit),
    )


def share(errors):
    """Return the share of searches with an error, marked if it is above `DELTA`."""
    n, n_wrong = len(errors), int(errors.sum())
    above = binomtest(n_wrong, n, DELTA, alternative="greater").pvalue < 0.05
    return f"{n_wrong / n:.1%}" + (" (above)" if above else "")


def loss(values):
    """Return a mean loss and twice its standard error."""
    return f"{values.mean():+.3f} ± {2 * values.std() / np.sqrt(len(values)):.3f}"


def line_of(setting, found):
    """Return the line of the searches of a setting."""
    folds, scored, better, passed, beside_full, among_own = np.transpose(found)
    return (
        *map(str, setting),
        str(len(found)),
        f"{folds.mean():.0%}",
        share(scored),
        f"{better.mean():.1%}",
        f"{passed.mean():.1%}",
        loss(beside_full),
        loss(among_own),
    )


def main(args):
    """Print a line for each setting, and one for all fold effects together."""
    lines = []
    for setting in product(args.policies, args.folds, args.noise):
        policy, n_splits, noise = setting
        spread, pooled = NOISE[noise], []
        for effects in args.effects:
            key = [n_splits, effects, int(spread)]
            found = [
                one_search([*key, i], policy, n_splits, effects, spread)
                for i in range(args.searches)
            ]
            lines.append(line_of((*setting, effects), found))
            pooled += found
            print(*lines[-1], sep=", ", file=sys.stderr)
        lines.append(line_of((*setting, "all"), pooled))
    print(table(HEADER, lines, n_left=1))


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--policies", nargs="+", default=["robust", "random"], metavar="NAME")
    add("--folds", type=positive_int, nargs="+", default=[5], metavar="K")
    add("--effects", type=positive_int, nargs="+", default=[1, 3, 10, 30])
    add("--noise", nargs="+", choices=NOISE, default=list(NOISE))
    add("--searches", type=positive_int, default=400, metavar="N")
    return parser


if __name__ == "__main__":
    shared.run(build_parser(), main)
