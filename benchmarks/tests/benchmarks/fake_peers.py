"""Modules that quack like the peers: as strict in what they take, random in answering.

Every value that a fake is told is kept in `TOLD`, in the sign and form that it came in.
"""

import types
from importlib.machinery import ModuleSpec

import numpy as np

#: (numbers in the order of the fake's own space, value), in the order told.
TOLD = []
#: Keyword arguments that the fakes were made with, by class.
MADE = {}


def module(name, **contents):
    made = types.ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    vars(made).update(contents)
    return made


class Range:
    """A dimension of any of them; numbers must be of its own kind and inside."""

    def __init__(self, kind, low, high, log=False):
        assert low < high
        assert not log or low > 0
        assert all(
            type(end) is (float if kind == "real" else int) for end in (low, high)
        )
        self.kind, self.low, self.high, self.log = kind, low, high, log

    def check(self, number):
        assert type(number) is (float if self.kind == "real" else int)
        assert self.low <= number <= self.high

    def draw(self, rng):
        if self.kind == "real":
            # Beyond the upper end by a rounding, too.
            inside = rng.uniform(self.low, self.high)
            return float(rng.choice([inside, self.high * (1 + 1e-9)]))
        return np.int64(rng.integers(self.low, self.high + 1))


class Choices:
    kind = "choice"

    def __init__(self, choices):
        assert choices == list(range(len(choices)))
        assert len(choices) > 1
        self.choices = choices

    def check(self, number):
        assert number in self.choices

    def draw(self, rng):
        return np.int64(rng.choice(self.choices))


# scikit-optimize ---------------------------------------------------------------------


def _skopt_range(kind):
    return lambda low, high, prior, name: Range(kind, low, high, prior == "log-uniform")


class SkoptOptimizer:
    def __init__(self, dimensions, **settings):
        MADE["skopt"] = settings | {"space": dimensions}
        self.dimensions = dimensions
        self.rng = np.random.default_rng(settings["random_state"])

    def ask(self):
        return [dimension.draw(self.rng) for dimension in self.dimensions]

    def tell(self, x, y):
        for dimension, number in zip(self.dimensions, x, strict=True):
            dimension.check(number)
        TOLD.append((list(x), y))


SKOPT = {
    "skopt": module("skopt", Optimizer=SkoptOptimizer),
    "skopt.space": module(
        "skopt.space",
        Real=_skopt_range("real"),
        Integer=_skopt_range("integer"),
        Categorical=lambda categories, name: Choices(categories),
    ),
}


# Optuna ------------------------------------------------------------------------------


class Study:
    def __init__(self, direction, sampler):
        assert direction == "maximize"
        MADE["optuna"] = sampler
        self.rng = np.random.default_rng(sampler["seed"])
        self.running = None

    def ask(self, distributions):
        MADE["optuna"]["space"] = list(distributions.values())
        params = {name: d.draw(self.rng) for name, d in distributions.items()}
        self.running = types.SimpleNamespace(params=params)
        return self.running

    def tell(self, trial, value):
        assert trial is self.running
        TOLD.append((list(trial.params.values()), value))

    def add_trial(self, trial):
        for name, distribution in trial["distributions"].items():
            distribution.check(trial["params"][name])
        TOLD.append((list(trial["params"].values()), trial["value"]))


def _sampler(name):
    return lambda **settings: settings | {"name": name}


_LOGGING = module("optuna.logging", set_verbosity=lambda level: None, ERROR=40)
_DISTRIBUTIONS = module(
    "optuna.distributions",
    FloatDistribution=lambda low, high, log: Range("real", low, high, log),
    IntDistribution=lambda low, high, log: Range("integer", low, high, log),
    CategoricalDistribution=Choices,
)
OPTUNA = {
    "optuna": module(
        "optuna",
        logging=_LOGGING,
        create_study=Study,
        samplers=types.SimpleNamespace(
            TPESampler=_sampler("tpe"), GPSampler=_sampler("gp")
        ),
        trial=types.SimpleNamespace(create_trial=lambda **fields: fields),
    ),
    "optuna.distributions": _DISTRIBUTIONS,
}


# BoTorch -----------------------------------------------------------------------------


class ModelFittingError(Exception):
    pass


class SingleTaskGP:
    likelihood = None

    def __init__(self, X, y):
        assert X.shape == (len(y), X.shape[1])
        assert y.shape == (len(X), 1)
        assert X.dtype == np.float64
        assert ((X >= 0) & (X <= 1)).all()
        TOLD[:] = [(list(row), value) for row, (value,) in zip(X, y, strict=True)]
        self.is_evaluated = False

    def eval(self):
        self.is_evaluated = True


def _fit(mll):
    if MADE.get("fit fails"):
        raise ModelFittingError


class Nearness:
    """An acquisition that is largest at 0.3 on all axes."""

    best = 0.3

    def __init__(self, model, **settings):
        MADE["acquisition"] = settings | {"cls": type(self), "model": model}

    def __call__(self, rows):
        return -np.abs(rows - self.best).sum(axis=1)


class LogExpectedImprovement(Nearness):
    pass


class UpperConfidenceBound(Nearness):
    pass


def optimize_acqf(acquisition, *, bounds, q, num_restarts, raw_samples):
    (n_columns,) = bounds[0].shape
    return np.full((1, n_columns), acquisition.best), None


def optimize_acqf_discrete(acquisition, *, q, choices):
    MADE["choices"] = choices
    return choices[np.argmax(acquisition(choices))][None], None


BOTORCH = {
    "torch": module(
        "torch",
        manual_seed=lambda seed: MADE.update(seed=seed),
        as_tensor=lambda array, dtype: np.asarray(array, dtype),
        float64=np.float64,
    ),
    "botorch": module("botorch"),
    "botorch.acquisition": module(
        "botorch.acquisition",
        LogExpectedImprovement=LogExpectedImprovement,
        UpperConfidenceBound=UpperConfidenceBound,
    ),
    "botorch.exceptions": module(
        "botorch.exceptions", ModelFittingError=ModelFittingError
    ),
    "botorch.fit": module("botorch.fit", fit_gpytorch_mll=_fit),
    "botorch.models": module("botorch.models", SingleTaskGP=SingleTaskGP),
    "botorch.optim": module(
        "botorch.optim",
        optimize_acqf=optimize_acqf,
        optimize_acqf_discrete=optimize_acqf_discrete,
    ),
    "gpytorch": module("gpytorch"),
    "gpytorch.mlls": module(
        "gpytorch.mlls", ExactMarginalLogLikelihood=lambda likelihood, model: model
    ),
}


# SMAC --------------------------------------------------------------------------------


class ConfigurationSpace:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def add(self, parameters):
        self.parameters = dict(parameters)


class Configuration(dict):
    def __init__(self, space, values):
        super().__init__({name: values[name] for name in sorted(values)})
        for name, parameter in space.parameters.items():
            parameter.check(values[name])


class Facade:
    def __init__(self, scenario, target, *, initial_design, overwrite, logging_level):
        assert initial_design == 0
        assert scenario["deterministic"]
        MADE["smac"] = scenario | {"cls": type(self)}
        MADE["smac"]["space"] = list(scenario["space"].parameters.values())
        self.space, self.asked = scenario["space"], None
        self.left = MADE.get("configurations", 1000)

    @staticmethod
    def get_initial_design(scenario, *, n_configs):
        return n_configs

    def ask(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        parameters = self.space.parameters.items()
        values = {name: p.draw(self.space.rng) for name, p in sorted(parameters)}
        self.asked = types.SimpleNamespace(config=values)
        return self.asked

    def tell(self, info, value, *, save):
        assert not save
        order = self.space.parameters
        TOLD.append(([info.config[name] for name in order], value.cost))


class HyperparameterOptimizationFacade(Facade):
    pass


class BlackBoxFacade(Facade):
    pass


SMAC = {
    "ConfigSpace": module(
        "ConfigSpace",
        ConfigurationSpace=ConfigurationSpace,
        Configuration=Configuration,
        Float=lambda name, ends, log: (name, Range("real", *ends, log)),
        Integer=lambda name, ends, log: (name, Range("integer", *ends, log)),
        Categorical=lambda name, items: (name, Choices(items)),
    ),
    "smac": module(
        "smac",
        BlackBoxFacade=BlackBoxFacade,
        HyperparameterOptimizationFacade=HyperparameterOptimizationFacade,
        Scenario=lambda space, **settings: settings | {"space": space},
    ),
    "smac.runhistory": module(
        "smac.runhistory",
        TrialInfo=lambda config, seed: types.SimpleNamespace(config=config, seed=seed),
        TrialValue=types.SimpleNamespace,
    ),
}

# cmaes -------------------------------------------------------------------------------


class CMA:
    population_size = 3

    def __init__(self, *, mean, sigma, bounds, seed):
        assert mean.shape == (len(bounds),)
        assert len(mean) > 1
        assert (bounds == [0.0, 1.0]).all()
        assert 0 < sigma < 1
        MADE["cmaes"] = {"mean": mean, "seed": seed}
        self.rng, self.asked = np.random.default_rng(seed), []

    def ask(self):
        self.asked.append(self.rng.random(len(MADE["cmaes"]["mean"])))
        return self.asked[-1]

    def tell(self, solutions):
        assert len(solutions) == self.population_size
        for (x, value), asked in zip(solutions, self.asked, strict=True):
            assert x is asked
            TOLD.append((x, value))
        self.asked = []


CMAES = {"cmaes": module("cmaes", CMA=CMA)}

MODULES = SKOPT | OPTUNA | BOTORCH | SMAC | CMAES
