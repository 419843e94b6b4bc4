"""Tune with a local Ray, save, restore and continue: tune_locally.py FOLDER."""

import json
import math
import sys
from pathlib import Path

import ray
from ray import train, tune

from skrobustbo.integrations.ray import RobustSearcher

# Older versions of Ray have these in another module.
RunConfig = getattr(tune, "RunConfig", None) or train.RunConfig
report = tune.report if hasattr(tune, "RunConfig") else train.report

SPACE = {
    "lr": tune.loguniform(1e-4, 1.0),
    "net": {"width": tune.randint(8, 65), "act": tune.choice(["relu", "tanh"])},
    "steps": 7,
}
N = 14


def loss(config):
    net = config["net"]
    worse = 0.5 if net["act"] == "tanh" else 0.0
    return abs(math.log10(config["lr"]) + 2) + abs(net["width"] - 40) / 40 + worse


def trainable(config):
    if config["net"]["width"] == 12:
        raise ArithmeticError
    report({"loss": loss(config)})


def run(folder):
    """Return the results of a run, its saved state and its restored run."""
    first = {"lr": 0.5, "net": {"width": 12, "act": "tanh"}}
    tuner = tune.Tuner(
        trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            search_alg=RobustSearcher(seed=0, horizon=N, points_to_evaluate=[first]),
            metric="loss",
            mode="min",
            num_samples=N,
            max_concurrent_trials=2,
        ),
        run_config=RunConfig(name="run", storage_path=folder, verbose=0),
    )
    results = tuner.fit()
    (saved,) = Path(folder, "run").glob("searcher-state-*")
    again = RobustSearcher(SPACE, seed=1)
    again.restore(str(saved))
    restored = tune.Tuner.restore(
        str(Path(folder, "run")), trainable, restart_errored=True, param_space=SPACE
    )
    return {
        "configs": [result.config for result in results],
        "errors": results.num_errors,
        "best": results.get_best_result().metrics["loss"],
        "known": len(again._optimizer.history_),
        "next": again.suggest("next"),
        "restored": len(restored.fit()),
    }


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    found = run(sys.argv[1])
    ray.shutdown()
    print(json.dumps(found))
