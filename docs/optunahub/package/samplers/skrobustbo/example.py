"""Minimise a function of two parameters with the sampler from OptunaHub."""

import optuna
import optunahub


def objective(trial):
    """Return the distance from a point, squared."""
    x = trial.suggest_float("x", -5, 5)
    y = trial.suggest_int("y", 0, 10)
    return (x - 1) ** 2 + (y - 3) ** 2


module = optunahub.load_module(package="samplers/skrobustbo")
study = optuna.create_study(sampler=module.RobustSampler(seed=0))
study.optimize(objective, n_trials=30)
print(study.best_params, study.best_value)
