"""What each setting and constant of the default is worth: the default without it.

    python benchmarks/studies/removal.py --out removal.csv

The rules, set before the run. A setting or constant is *without effect* where its
variant has a neutral value in its place: no limit, no threshold, a factor of one. It
goes if, without it,

1. the mean over all problems of the difference in log10 area (the mean regret after the
   initial design, as a share of what random search leaves in the median) is at most
   0.01, and
2. no more than one peak fewer is found in all traps together.

The problems are none of those that the documentation reports on: nine functions, two
of them under noise of half their deviation and one with fits that diverge in a tenth of
its space, two tunings, and traps of seeds from 2000 on. All runs of a problem and seed
share the initial design. The budget is 60 evaluations, 100 in traps.
"""

import argparse
import math
from contextlib import ExitStack
from functools import partial
from unittest.mock import patch

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import shared
from scores import LEAST_SHARE, YARDSTICK
from skrobustbo import Optimizer
from skrobustbo.policies import (
    RobustUCB,
    _climbs,
    _robust,
)
from skrobustbo.space import Categorical, Integer, Real, Space
from skrobustbo.surrogate import LogNormalPrior
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._starts import starts

#: By how much the area may be larger, and how many peaks fewer may be found.
MARGIN, FEWER = 0.01, 1
#: Shares of the traps' basins, by dimension.
SHARES = {1: 0.025, 2: 0.03, 3: 0.03, 4: 0.031}


def plain(policy, values):
    """Return values as they are in place of compressed ones, and their slopes."""
    z, _, scale = policy.targets(values)
    return z, np.full(len(z), 1 / scale)


SETTINGS = {
    "weights": {"weights": (1, 1, 1, 1)},
    "min_improvement": {"min_improvement": 0},
    "endgame": {"endgame": 0},
    "prior": {"prior": LogNormalPrior(0.7, 20.0)},
}
CONSTANTS = {
    "what many length scales share": [
        (_robust, "default_prior", lambda d: LogNormalPrior(0.7, 1.5))
    ],
    "_WINSORIZED": [(_robust, "_WINSORIZED", 1e9)],
    "_NOISE_MARGIN": [(_robust, "_NOISE_MARGIN", math.inf)],
    "compressing": [(RobustUCB, "compressed", plain)],
    "filling comes last": [(_robust, "points_of_box", lambda d: 0)],
    "_SIDE": [(_robust, "_SIDE", 1.0)],
    "_BOX": [(_climbs, "_BOX", 1.0)],
    "_FULL": [(_climbs, "_FULL", 1)],
    "_HALVINGS": [(_climbs, "_HALVINGS", 0)],
}
VARIANTS = ["robust", *SETTINGS, *CONSTANTS]


def camel(x):
    """Return the six-hump camel of two coordinates."""
    a, b = x
    return (4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2


def griewank(x):
    """Return Griewank's function."""
    ripple = np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1))))
    return np.sum(x**2) / 4000 - ripple + 1


def styblinski(x):
    """Return the function of Styblinski and Tang."""
    return 0.5 * np.sum(x**4 - 16 * x**2 + 5 * x)


def diverging(x):
    """Return the same, but a huge loss in a tenth of the space."""
    return 1e6 if x[0] > 4 else styblinski(x)


def bowl(x):
    """Return a tilted bowl, steeper in one coordinate than in the other."""
    i = np.arange(1, len(x) + 1)
    z = x - 0.5 - 0.3 * np.sin(i)
    return np.sum(i * z**2) + np.sum(z) ** 2


def rastrigin(x):
    """Return Rastrigin's function."""
    return np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10)


#: Name -> function to minimise, its bounds on all axes, dimension, deviation of noise.
FUNCTIONS = {
    "camel": (camel, -2, 2, 2, 0.0),
    "noisy camel": (camel, -2, 2, 2, 4.0),
    "griewank": (griewank, -10, 10, 3, 0.0),
    "diverging": (diverging, -5, 5, 3, 0.0),
    "styblinski": (styblinski, -5, 5, 4, 0.0),
    "noisy styblinski": (styblinski, -5, 5, 3, 20.0),
    "rastrigin": (rastrigin, -5, 5, 2, 0.0),
    "bowl": (bowl, 0, 1, 8, 0.0),
    "wide bowl": (bowl, 0, 1, 20, 0.0),
}
SCORES = {
    "a tree": (
        {
            "max_depth": Integer(1, 20),
            "min_samples_leaf": Integer(1, 30),
            "max_features": Real(0.1, 1.0),
            "criterion": Categorical(["gini", "entropy"]),
        },
        partial(DecisionTreeClassifier, random_state=0),
        "neg_log_loss",
    ),
    "support vectors": (
        {"C": Real(1e-3, 1e4, log=True), "gamma": Real(1e-6, 10.0, log=True)},
        SVC,
        "accuracy",
    ),
}


def function(name):
    """Return a function to be maximised, its space, and the deviation of its noise."""
    if name in SCORES:
        dimensions, make, scoring = SCORES[name]
        X, y = load_breast_cancer(return_X_y=True)

        def score(params):
            made = make_pipeline(StandardScaler(), make(**params))
            return float(cross_val_score(made, X, y, cv=3, scoring=scoring).mean())

        return score, Space(dimensions), 0.0
    formula, low, high, d, noise = FUNCTIONS[name]
    names = [f"x{i}" for i in range(d)]
    space = Space({each: Real(float(low), float(high)) for each in names})
    return lambda p: -float(formula(np.array([p[n] for n in names]))), space, noise


def policy_of(variant, patched):
    """Return the policy of a variant, its constants patched."""
    for module, name, value in CONSTANTS.get(variant, []):
        patched.enter_context(patch.object(module, name, value))
    return RobustUCB(**SETTINGS.get(variant, {}))


def values_of(name, seed, variant):
    """Return a run: its best noise-free value so far at each step, what was found."""
    trap = None
    if name in SHARES:
        trap = problems.get("trap", d=name, share=SHARES[name], seed=seed)
        func, space, noise, n = trap.func, trap.space, 0.0, 100
    else:
        (func, space, noise), n = function(name), 60
    size = 2 * len(space.names) + 2
    start = trap.initial_params(seed, size) if trap else starts(space, size, seed)
    rng, values = np.random.default_rng(seed), []
    with ExitStack() as patched:
        if variant == YARDSTICK:
            asked = iter([*start, *starts(space, n, seed + 1)])
            values = [func(next(asked)) for _ in range(n)]
        else:
            policy = policy_of(variant, patched)
            optimizer = Optimizer(
                space, policy, random_state=seed, horizon=n, n_initial_points=1
            )
            for t in range(n):
                params = start[t] if t < len(start) else optimizer.ask()
                values.append(func(params))
                observed = values[-1] + noise * float(rng.standard_normal())
                optimizer.tell(params, observed)
    found = trap is not None and max(values) >= trap.stuck_below
    return {
        "problem": f"trap, d = {name}" if trap else name,
        "seed": seed,
        "variant": variant,
        "found": found,
        "n_initial": len(start),
        "best": np.maximum.accumulate(values).tolist(),
    }


def areas(runs):
    """Return the log10 areas of runs beside traps, by problem, seed and variant."""
    rows = runs[~runs["problem"].str.startswith("trap")]
    parts = []
    for _, part in rows.groupby("problem"):
        top = max(max(best) for best in part["best"])
        of_random = part[part["variant"] == YARDSTICK]["best"]
        yard = float(np.median([top - best[-1] for best in of_random])) or 1.0
        shares = [
            np.mean(top - np.array(best[start:])) / yard
            for best, start in zip(part["best"], part["n_initial"], strict=True)
        ]
        parts.append(part.assign(area=np.log10(np.maximum(shares, LEAST_SHARE))))
    return pd.concat(parts).pivot_table("area", ["problem", "seed"], "variant")


def verdicts(runs):
    """Return a line for each variant: what is lost without it, and whether it goes."""
    by_run, lines = areas(runs), []
    traps = runs[runs["problem"].str.startswith("trap")]
    found = traps.groupby("variant")["found"].sum()
    for variant in [name for name in VARIANTS if name in by_run]:
        apart = by_run[variant] - by_run["robust"]
        mean = float(apart.groupby("problem").mean().mean())
        variances = apart.groupby("problem").var() / apart.groupby("problem").count()
        error = math.sqrt(float(variances.sum())) / len(variances)
        fewer = int(found["robust"] - found[variant])
        goes = mean <= MARGIN and fewer <= FEWER
        lines.append(
            {
                "without": variant,
                "area": round(mean, 4),
                "error": round(error, 4),
                "found": int(found[variant]),
                "of": int((traps["variant"] == variant).sum()),
                "verdict": "goes" if goes else "stays",
            }
        )
    return pd.DataFrame(lines)


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=16, help="per problem, from 2000")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--variants", nargs="+", default=VARIANTS, choices=VARIANTS)
    parser.add_argument("--problems", nargs="+", default=[*FUNCTIONS, *SCORES])
    parser.add_argument("--traps", nargs="*", type=int, default=list(SHARES))
    parser.add_argument("--out", required=True, help="csv file for the table")
    return parser


def main(args):
    """Write the table, and print it."""
    variants = list(dict.fromkeys(["robust", *args.variants]))
    seeds = range(2000, 2000 + args.seeds)
    tasks = [
        (p, s, v) for p in args.problems for s in seeds for v in [*variants, YARDSTICK]
    ]
    tasks += [(d, s, v) for d in args.traps for s in seeds for v in variants]
    done = Parallel(n_jobs=args.jobs)(delayed(values_of)(*task) for task in tasks)
    made = verdicts(pd.DataFrame(done))
    made.to_csv(args.out, index=False)
    print(made.to_string(index=False))


if __name__ == "__main__":
    shared.run(build_parser(), main)
