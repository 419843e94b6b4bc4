"""Problems whose unknown hyperparameter is no length scale.

Each comes with the finite set of candidate models, one of them the right one, that the
algorithms of its source are given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared

from skrobustbo.space import Real, Space
from skrobustbo.surrogate import Candidate
from skrobustbo_benchmarks.problems._base import (
    Array,
    OfVector,
    Problem,
    at_least,
    uniform_design,
)
from skrobustbo_benchmarks.problems._gaussian import Basis, Draw, OfNumber, maximum

#: Sets the stream of the functions apart from other uses of a seed.
_STREAM = 0x6A

# -- the period -----------------------------------------------------------------------

#: Start, amplitude and end of the sine waves of one period.
_WAVES = (
    (0.0, 1.0, 1 / 4),
    (1 / 4, 1.5, 1 / 2),
    (1 / 2, 1.2, 5 / 7),
    (5 / 7, 0.8, 1.0),
)

#: Period and length scale of the candidates, by maximum likelihood with unit output
#: scale and noise variance 1e-4: on 200 uniform points of [0, 2], then on 100 of each
#: wave. The fits give these periods to four digits; the length scales are rounded.
_PERIODS = ((1.0, 0.15), (1 / 4, 3.4), (1 / 4, 2.6), (3 / 14, 3.0), (2 / 7, 4.1))


def _periodic(x: ArrayLike) -> Array:
    phase = np.asarray(x, float) % 1.0
    value = np.zeros_like(phase)
    for start, amplitude, end in _WAVES:
        # The first three waves fall at first, the last one rises.
        sign = 1.0 if end == 1.0 else -1.0
        wave = sign * amplitude * np.sin(2 * np.pi * (phase - start) / (end - start))
        value = np.where((start <= phase) & (phase < end), wave, value)
    return value


def unknown_period() -> Problem:
    """Return four sine waves one after the other, twice over, 1-d.

    On [0, 2], with period 1; for x in [0, 1)

    ======================  ===================================
    x in                    f(x)
    ======================  ===================================
    [0, 1/4)                sin(8 pi (x - 1/8))
    [1/4, 1/2)              1.5 sin(8 pi (x - 3/8))
    [1/2, 5/7)              1.2 sin((28/3) pi (x - 11/28))
    [5/7, 1)                0.8 sin(7 pi (x - 5/7))
    ======================  ===================================

    Each interval holds one full wave, so that a period fitted to few points is that of
    a wave, never 1. Noise-free, five uniform initial points.

    The optimum is 1.5, the crest of the second wave, at x = 7/16 and x = 23/16.

    Returns
    -------
    Problem
        With five candidates: the exp-sine-squared kernel of period 1, the true one,
        and of the periods of the four waves, 1/4, 1/4, 3/14 and 2/7 (in units of x;
        the kernels see [0, 2] as [0, 1]), each with its own length scale.

    Notes
    -----
    Ziomek, Adachi and Osborne, "Beyond lengthscales: no-regret Bayesian optimisation
    with unknown hyperparameters of any type", 2024, appendix J.2, equation 14.

    A **reconstruction**: as printed the second branch does not depend on x, the third
    is not continuous at 1/2 and the last not at 1, against the picture that the text
    paints of a continuous periodic function made of full waves. Only the arguments of
    the last three branches are changed here. The candidates are fitted as the source
    describes; its fitted values are not printed.
    """
    space = Space({"x": Real(0.0, 2.0)})
    return Problem(
        name="unknown-period",
        space=space,
        func=OfNumber(_periodic),
        source="four sine waves in a row, repeated with period 1 on [0, 2] "
        "(Ziomek et al. 2024, eq. 14, corrected)",
        optimum=1.5,
        optimum_params={"x": 7 / 16},
        n_initial=5,
        initial_design=partial(uniform_design, space),
        candidates=[
            # The domain, [0, 2], is encoded to half its length.
            Candidate(
                ExpSineSquared(theta, period / 2),
                label=f"period={period:.4g}, theta={theta:g}",
            )
            for period, theta in _PERIODS
        ],
        true_candidate=0,
    )


# -- the decomposition ----------------------------------------------------------------

_RIDGE, _RIDGE_WIDTH = 0.25, 0.2
_CORNER, _CORNER_WIDTH, _CORRELATION = 0.8, 0.15, 0.4

#: Parameters that act together, by the candidates' columns; the second is the true one.
_DECOMPOSITIONS = {
    "(1)(2)(3)": ((0,), (1,), (2,)),
    "(12)(3)": ((0, 1), (2,)),
    "(1)(23)": ((0,), (1, 2)),
    "(2)(13)": ((1,), (0, 2)),
}


def _decomposed(x: Array) -> float:
    ridges = np.exp(-0.5 * ((x[:2] - _RIDGE) / _RIDGE_WIDTH) ** 2)
    a, b = (x[:2] - _CORNER) / _CORNER_WIDTH
    square = (a**2 - 2 * _CORRELATION * a * b + b**2) / (1 - _CORRELATION**2)
    return float(0.5 * ridges.sum() + 1.5 * math.exp(-0.5 * square))


def unknown_decomposition() -> Problem:
    """Return a sum of two ridges with a correlated hill in one corner, 3-d.

    f(x) = 0.5 g(x1) + 0.5 g(x2) + 1.5 h(x1, x2) on [0, 1]^3, with Gaussian bumps of
    height 1: g has deviation 0.2 and lies at 0.25; h has deviations 0.15 and
    correlation 0.4 and lies at (0.8, 0.8). The third parameter has no effect. Outside
    the corner the function is very nearly additive and best where the ridges cross,
    f = 1.00; around its maximum it is not. A run is stuck if its best value ends below
    1.1. Noise-free.

    The optimum 1.523331 is the zero of the gradient beside the centre of h, by symmetry
    at x1 = x2.

    Returns
    -------
    Problem
        With four candidates, sums of a Gaussian kernel of length scale 0.15 over the
        groups (1)(2)(3), (12)(3), (1)(23) and (2)(13) of the parameters; the second is
        the true one.

    Notes
    -----
    Ziomek, Adachi and Osborne, "Beyond lengthscales: no-regret Bayesian optimisation
    with unknown hyperparameters of any type", 2024, appendix J.3, after Ziomek and
    Bou-Ammar, "Are random decompositions all we need in high dimensional Bayesian
    optimisation?", ICML 2023, appendix C.

    A **reconstruction** of the function from what the first describes: locally
    additive, a correlated mode in the upper right corner of (x1, x2), x3 redundant.
    Places, heights, widths and the candidates' length scale are ours; the widths are
    such that the hill belongs to the space of the true candidate.
    """
    from skrobustbo.kernels import AdditiveKernel

    names, best = ("x1", "x2", "x3"), 0.7965709413680898
    return Problem(
        name="unknown-decomposition",
        space=Space({name: Real(0.0, 1.0) for name in names}),
        func=OfVector(_decomposed, names),
        source="two ridges and a correlated hill in the corner of (x1, x2), x3 idle, "
        "on [0, 1]^3 (after Ziomek et al. 2024, app. J.3)",
        optimum=1.523331322828902,
        optimum_params={"x1": best, "x2": best, "x3": 0.5},
        stuck_below=1.1,
        candidates=[
            Candidate(AdditiveKernel(RBF(0.15), groups), label=label)
            for label, groups in _DECOMPOSITIONS.items()
        ],
        true_candidate=1,
    )


# -- the prior mean -------------------------------------------------------------------

_THETA = 0.2
_N_HILLS = 10
_NO_HILL = -1
_HILLS = (*range(1, _N_HILLS + 1), _NO_HILL)


@dataclass(frozen=True)
class Hills:
    """Ten hills on flat ground: number `high`, from 1, is high, none if -1."""

    high: int

    def __call__(self, x: ArrayLike) -> Array:
        """Return the heights at `x`, an array of any shape."""
        place = np.asarray(x, float) * _N_HILLS
        number = np.clip(np.floor(place), 0, _N_HILLS - 1)
        # From the middle of the hill, in units of its half width 0.04.
        offset = np.clip((place - number - 0.5) / 0.4, -1.0, 1.0)
        peak = np.where(number + 1 == self.high, 3.0, 1.0)
        return np.asarray(peak * np.cos(0.5 * np.pi * offset) ** 2)

    def mean(self, X: Array) -> Array:
        """Return the heights at encoded points, shape (n, 1), as a prior mean."""
        return self(X[:, 0])


@dataclass(frozen=True, eq=False)
class _HillsAndDraw:
    hills: Hills
    draw: Draw

    def __call__(self, x: ArrayLike) -> Array:
        return self.hills(x) + self.draw(x)


def unknown_mean(seed: int = 0, hill: int | None = None) -> Problem:
    """Return a Gaussian process draw around ten hills, one of them high, 1-d.

    On [0, 1]: the sum of a draw of the Gaussian process with kernel k(x, x') =
    exp(-(x - x')^2 / (2 theta^2)), theta = 0.2, and of a mean function that is zero but
    for ten hills at 0.05, 0.15, ..., 0.95, each a squared cosine of half width 0.04;
    the high one has height 3, the others 1. Noise-free.

    Parameters
    ----------
    seed : int, default=0
        Which function. `sample_function` gives the others.
    hill : int or None, default=None
        Number of the high hill, 1 to 10, or -1 for none; None draws one of the eleven
        with the function.

    Returns
    -------
    Problem
        With eleven candidates of equal kernel, one for each number and mean function.
        The optimum is the best of a grid of 2001 points and its three highest peaks,
        refined by Brent's method.

    Raises
    ------
    ValueError
        If `seed` is negative or `hill` is none of the numbers.

    Notes
    -----
    Ziomek, Adachi and Osborne, "Beyond lengthscales: no-regret Bayesian optimisation
    with unknown hyperparameters of any type", 2024, appendix J.4.

    The source states the ten hills, the numbers and that each seed has its own draw.
    Domain, shape, heights, length scale and how the true number is chosen are a
    **reconstruction**.
    """
    if hill is not None and hill not in _HILLS:
        raise ValueError(
            f"The 'hill' setting of 'unknown-mean' must be 1 to {_N_HILLS}, {_NO_HILL} "
            f"for none, or None to draw it. Got {hill!r} instead."
        )
    rng = np.random.default_rng([_STREAM, at_least("seed", seed, 0)])
    # Drawn even if it is given: a seed has one draw of the process whatever the hill.
    drawn = _HILLS[rng.integers(len(_HILLS))]
    high = drawn if hill is None else hill
    basis = Basis(_THETA)
    draw = Draw(basis, rng.standard_normal(basis.size))
    function = _HillsAndDraw(Hills(high), draw)
    optimum, x = maximum(function)
    return Problem(
        name="unknown-mean",
        space=Space({"x": Real(0.0, 1.0)}),
        func=OfNumber(function),
        source=f"a Gaussian process draw (seed {seed}) around ten hills on [0, 1], of "
        f"which number {high} is high (after Ziomek et al. 2024, app. J.4)",
        optimum=optimum,
        optimum_params={"x": x},
        candidates=[
            Candidate(RBF(_THETA), mean=Hills(number).mean, label=f"hill={number}")
            for number in _HILLS
        ],
        true_candidate=_HILLS.index(high),
        sample_function=partial(unknown_mean, hill=hill),
    )
