"""Other packages that spend a resource: Optuna, DEHB and SMAC, each if it is installed.

Each takes what a run has to pay from, a seed, and searches until the budget is used. It
is told the rungs, whose amounts are rounded in the study.
"""

import tempfile

import numpy as np

from skrobustbo import Integer

#: The amounts in units of the smallest one, as the packages have them.
RUNGS = (1, 3, 9)


def amount_of(costs, rung):
    """Return the amount of the study that a package's amount is."""
    return costs.amounts[RUNGS.index(round(rung))]


def suggest(trial, name, dimension):
    """Return the value that an Optuna trial suggests for a dimension of numbers."""
    is_whole = isinstance(dimension, Integer)
    of_kind = trial.suggest_int if is_whole else trial.suggest_float
    return of_kind(name, dimension.low, dimension.high, log=dimension.log)


def hyperband(costs, seed):
    """Search with Optuna's TPE and its Hyperband pruner."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    dimensions, high = costs.space.dimensions.items(), costs.amounts[-1]
    study = optuna.create_study(
        direction="maximize",
        study_name=f"study {seed}",  # the pruner draws brackets by it
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.HyperbandPruner(1, RUNGS[-1], reduction_factor=3),
    )
    while costs.left > 1e-9:
        trial = study.ask()
        params = {name: suggest(trial, name, d) for name, d in dimensions}
        before = 0
        state, value = optuna.trial.TrialState.COMPLETE, None
        for rung, amount in zip(RUNGS, costs.amounts, strict=True):
            value = costs(params, amount, before)
            before = amount
            trial.report(value, rung)
            if amount < high and trial.should_prune():
                state, value = optuna.trial.TrialState.PRUNED, None
                break
        study.tell(trial, value, state=state)


def _config_space(space, seed):
    from ConfigSpace import ConfigurationSpace, Float
    from ConfigSpace import Integer as Whole

    found = ConfigurationSpace(seed=seed)
    for name, each in space.dimensions.items():
        kind = Whole if isinstance(each, Integer) else Float
        found.add(kind(name, (each.low, each.high), log=each.log))
    return found


def dehb(costs, seed):
    """Search with DEHB: differential evolution in the brackets of Hyperband."""
    from dehb import DEHB

    with tempfile.TemporaryDirectory() as folder:
        search = DEHB(
            dimensions=costs.space.n_uniform,
            min_fidelity=1,
            max_fidelity=RUNGS[-1],
            seed=seed,
            n_workers=1,
            save_freq="end",
            output_path=folder,
        )
        while costs.left > 1e-9:
            job = search.ask()
            point = costs.space.from_uniform(np.array([job["config"]]))[0]
            amount = amount_of(costs, job["fidelity"])
            value = costs(costs.space.decode(point), amount)
            search.tell(job, {"fitness": -value, "cost": amount})


def smac(costs, seed):
    """Search with SMAC's multi-fidelity facade."""
    from smac import MultiFidelityFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            _config_space(costs.space, seed),
            deterministic=True,
            n_trials=130,  # about as many as the budget allows; the design goes by it
            min_budget=1,
            max_budget=RUNGS[-1],
            seed=seed,
            output_directory=folder,
        )
        search = MultiFidelityFacade(
            scenario,
            lambda config, seed, budget: 0.0,
            intensifier=MultiFidelityFacade.get_intensifier(scenario, eta=3),
            logging_level=False,
            overwrite=True,
        )
        while costs.left > 1e-9:
            info = search.ask()
            value = costs(dict(info.config), amount_of(costs, info.budget))
            search.tell(info, TrialValue(cost=-value))
