"""Other packages that spend a resource: Optuna, DEHB and SMAC, each if it is installed.

Each takes what a run has to pay from, a seed, and searches until the budget is used. A
package's amounts are rounded to those of the study.
"""

from skrobustbo import Integer


def nearest(costs, amount):
    """Return the amount of the study that is nearest to one of a package."""
    return min(costs.amounts, key=lambda known: abs(known - amount))


def suggest(trial, name, dimension):
    """Return the value that an Optuna trial suggests for a dimension of numbers."""
    is_whole = isinstance(dimension, Integer)
    of_kind = trial.suggest_int if is_whole else trial.suggest_float
    return of_kind(name, dimension.low, dimension.high, log=dimension.log)


def hyperband(costs, seed):
    """Search with Optuna's TPE and its Hyperband pruner."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    low, high = costs.amounts[0], costs.amounts[-1]
    dimensions = costs.space.dimensions.items()
    study = optuna.create_study(
        direction="maximize",
        study_name=f"study {seed}",  # the pruner draws brackets by it
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.HyperbandPruner(low, high, reduction_factor=3),
    )
    while costs.left > 1e-9:
        trial = study.ask()
        params = {name: suggest(trial, name, d) for name, d in dimensions}
        before = 0
        state, value = optuna.trial.TrialState.COMPLETE, None
        for amount in costs.amounts:
            value = costs(params, amount, before)
            before = amount
            trial.report(value, amount)
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
    import tempfile

    from dehb import DEHB

    with tempfile.TemporaryDirectory() as folder:
        search = DEHB(
            cs=_config_space(costs.space, seed),
            min_fidelity=costs.amounts[-1] / 9,
            max_fidelity=costs.amounts[-1],
            eta=3,
            n_workers=1,
            seed=seed,
            output_path=folder,
            log_level="ERROR",
        )
        while costs.left > 1e-9:
            job = search.ask()
            amount = nearest(costs, job["fidelity"])
            value = costs(dict(job["config"]), amount)
            search.tell(job, {"fitness": -value, "cost": amount})


def smac(costs, seed):
    """Search with SMAC's multi-fidelity facade."""
    import tempfile

    from smac import MultiFidelityFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            _config_space(costs.space, seed),
            deterministic=True,
            n_trials=10_000,
            min_budget=costs.amounts[-1] / 9,
            max_budget=costs.amounts[-1],
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
            value = costs(dict(info.config), nearest(costs, info.budget))
            search.tell(info, TrialValue(cost=-value))
