"""Simple substitutes of models, values and a maximiser, for calculations by hand."""

import numpy as np


class Told:
    """A history with the given values, nan for failures."""

    def __init__(self, values=()):
        self.list = list(values)

    @property
    def values(self):
        return np.array(self.list, dtype=float)

    @property
    def chosen(self):
        return np.arange(len(self.list))


class FakePosterior:
    """The same mean and deviation everywhere."""

    noise, n_told, information_gain, n_points = 0.1, 3, 1.0, None
    mu, sigma = 0.0, 0.5

    def __init__(self, candidate):
        self.candidate = candidate

    def predict(self, Z):
        return np.full(len(Z), self.mu), np.full(len(Z), self.sigma)

    def told_deviation(self, x):
        return self.sigma


class FakeModels:
    """One unit of the model is 4 units of the objective, and its zero is 1."""

    shift, scale, noise = 1.0, 4.0, 0.1

    @property
    def unit(self):
        return self.scale

    #: Returns the posterior of a candidate.
    posterior = FakePosterior

    def __getitem__(self, candidate):
        return self.posterior(candidate)

    at = __getitem__

    def spread(self, theta):
        return theta


def argmax(acq, *, inner=False):
    return np.zeros(1), 0.0


class Probe:
    """An argmax that records the functions it maximises."""

    def __init__(self, d=1, best=0.0):
        self.d, self.best = d, best

    def __call__(self, acq, *, inner=False):
        if inner:
            self.inner = acq
        else:
            self.acq = acq
        return np.zeros(self.d), self.best
