"""A worker of a study shared by several processes: share_study.py URL SEED TRIALS."""

import sys
import warnings

import optuna

from skrobustbo.integrations.optuna import RobustSampler


def objective(trial):
    # Its maximum is a corner, where two workers are most likely to want the same point.
    return trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)


def work(url, seed, n_trials):
    """Run trials until the study has `n_trials`."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(
        study_name="shared", storage=url, sampler=RobustSampler(seed=seed)
    )
    states = [optuna.trial.TrialState.COMPLETE]
    enough = optuna.study.MaxTrialsCallback(n_trials, states=states)
    study.optimize(objective, callbacks=[enough])


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
