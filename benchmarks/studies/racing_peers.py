"""Other packages in the study of races: each with its own way of stopping early.

Every peer is given as many folds as the full search fits. What counts are candidates
that ran on all folds, as everywhere in the study. Packages are imported where they are
used, as they are seldom installed.
"""

import logging
import tempfile
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import get_scorer
from sklearn.model_selection import HalvingRandomSearchCV

from skrobustbo import Space
from skrobustbo_benchmarks._peers._base import Axes

#: Candidates of successive halving at its lowest of three rungs: 120 / 9 * 3 = 40.
N_HALVING = 120


class Folds:
    """Fits folds and writes them down, in the order of the candidates.

    Attributes
    ----------
    params : list of dict
        Each candidate's.
    scores : list of dict of int to float
        Each candidate's scores by fold.
    seconds : list of float
        Each candidate's seconds of fitting and scoring.
    """

    def __init__(self, estimator, X, y, splitter, scoring):
        self._estimator, self._X, self._y = estimator, X, y
        self._splits, self._scorer = list(splitter.split(X, y)), get_scorer(scoring)
        self.params, self.scores, self.seconds = [], [], []

    @property
    def n_splits(self):
        """Return the number of folds of a candidate."""
        return len(self._splits)

    @property
    def n_fitted(self):
        """Return the number of folds fitted so far."""
        return sum(map(len, self.scores))

    def fit(self, params, split):
        """Return the score of a candidate on a fold, fitted at most once."""
        if params not in self.params:
            self.params.append(params)
            self.scores.append({})
            self.seconds.append(0.0)
        i = self.params.index(params)
        if split not in self.scores[i]:
            start = time.perf_counter()
            self.scores[i][split] = self._score(params, *self._splits[split])
            self.seconds[i] += time.perf_counter() - start
        return self.scores[i][split]

    def _score(self, params, train, test):
        model = clone(self._estimator).set_params(
            **{k: clone(v, safe=False) for k, v in params.items()}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(self._X[train], self._y[train])
            return float(self._scorer(model, self._X[test], self._y[test]))

    def table(self):
        """Return the scores as an array, nan for folds that were not fitted."""
        splits = range(self.n_splits)
        rows = [[scores.get(k, np.nan) for k in splits] for scores in self.scores]
        return np.array(rows)


def optuna_run(sampler, folds, space, n_folds, seed):
    """Run a study with the pruner for folds, which are in a new order each time."""
    import optuna

    from skrobustbo_benchmarks._peers._optuna import _distribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    axes, rng = Axes(Space(space)), np.random.default_rng(seed)
    distributions = {axis.name: _distribution(axis) for axis in axes.varying}
    cls = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}[sampler]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(
            direction="maximize",
            sampler=cls(seed=seed),
            pruner=optuna.pruners.WilcoxonPruner(),
        )
        # A candidate that comes again costs nothing, and could come for ever.
        for _ in range(10 * n_folds):
            if folds.n_fitted >= n_folds:
                return
            trial, scores = study.ask(distributions), []
            for split in map(int, rng.permutation(folds.n_splits)):
                scores.append(folds.fit(axes.to_params(trial.params), split))
                trial.report(scores[-1], split)
                if trial.should_prune():
                    break
            # Its guide advises to tell the mean so far of a candidate that is pruned.
            study.tell(trial, float(np.mean(scores)))


def smac_run(folds, space, n_folds, seed):
    """Run the facade for hyperparameters, whose instances are the folds."""
    from ConfigSpace import ConfigurationSpace
    from smac import HyperparameterOptimizationFacade as facade
    from smac import Scenario

    from skrobustbo_benchmarks._peers._smac import _parameter

    logging.getLogger("smac").setLevel(logging.ERROR)
    axes = Axes(Space(space))
    configurations = ConfigurationSpace(seed=seed)
    configurations.add([_parameter(axis) for axis in axes.varying])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenario = Scenario(
            configurations,
            deterministic=True,
            instances=[str(k) for k in range(folds.n_splits)],
            instance_features={str(k): [float(k)] for k in range(folds.n_splits)},
            n_trials=n_folds,
            seed=seed,
            output_directory=folder,
        )

        def cost(config, instance, seed=0):
            return -folds.fit(axes.to_params(dict(config)), int(instance))

        facade(
            scenario,
            cost,
            intensifier=facade.get_intensifier(
                scenario, max_config_calls=folds.n_splits
            ),
            overwrite=True,
            logging_level=False,
        ).optimize()


def halving(estimator, space, X, y, splitter, scoring, seed):
    """Return successive halving on the number of rows, fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HalvingRandomSearchCV(
            estimator,
            {name: Law(value) for name, value in space.items()},
            n_candidates=N_HALVING,
            min_resources=len(y) // 9,
            factor=3,
            cv=splitter,
            scoring=scoring,
            refit=False,
            random_state=seed,
        ).fit(X, y)


class Law:
    """A dimension as what scikit-learn draws from."""

    def __init__(self, dimension):
        self._space = Space({"x": dimension})

    def rvs(self, random_state=None):
        """Return a value drawn at random."""
        return self._space.sample(1, random_state)[0]["x"]
