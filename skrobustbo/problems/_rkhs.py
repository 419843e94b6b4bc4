"""Functions of known norm in the space of a Gaussian kernel."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from skrobustbo.problems._base import Problem, at_least, uniform_design
from skrobustbo.problems._gaussian import (
    Expansion,
    OfNumber,
    drawn_interpolant,
    interpolant,
    maximum,
)
from skrobustbo.problems._synthetic import berkenkamp
from skrobustbo.space import Real, Space
from skrobustbo.surrogate import Candidate

THETA = 0.1
#: Spaced by theta / 2: what an interpolant misses of a draw between two of them has a
#: deviation below 0.003, and the kernel matrix (condition 2e7) leaves nine digits.
CENTRES = np.linspace(0.0, 1.0, 21)

#: Sets the stream of the functions apart from other uses of a seed.
_STREAM = 0x5F


def rkhs(seed: int | None = None) -> Problem:
    """Return a function of known norm in the space of a Gaussian kernel, 1-d.

    On [0, 1] with the kernel k(x, x') = exp(-(x - x')^2 / (2 theta^2)), theta = 0.1.
    Noise-free, two uniform initial points.

    Without a seed it is the first experiment of its source: a function of norm 2,
    almost linear but for the bump that holds the maximum. A run is stuck if its best
    value ends below 1.1 times that of the right end.

    With a seed it is the second: the values of a draw of the Gaussian process at 21
    points, interpolated by the kernel and scaled to norm 4. `sample_function` gives
    these.

    Parameters
    ----------
    seed : int or None, default=None
        Which of the random functions; None gives the example function.

    Returns
    -------
    Problem
        With one candidate, the true kernel and norm. The optimum is the best of a grid
        of 2001 points and its three highest peaks, refined by Brent's method.

    Raises
    ------
    ValueError
        If `seed` is negative.

    Notes
    -----
    Berkenkamp, Schoellig and Krause, "No-regret Bayesian optimization with unknown
    hyperparameters", JMLR 20, 2019, section 5.1.

    The example function is a **reconstruction**. The source shows it (Figures 1 and 2)
    and states theta, the norm and the look, but no formula; here it interpolates the
    values of the problem ``"berkenkamp"`` at 21 points and is scaled to the norm. The
    number of points of the draws is ours too, and so is the absence of noise: the
    source states neither.
    """
    if seed is None:
        shape = [berkenkamp().func({"x": x}) for x in CENTRES]
        function = interpolant(CENTRES, shape, THETA).scaled_to(2.0)
        right_end = float(function(1.0))
        return _problem(
            function, 2.0, "an almost linear function with a bump", right_end
        )
    rng = np.random.default_rng([_STREAM, at_least("seed", seed, 0)])
    function = drawn_interpolant(CENTRES, THETA, rng).scaled_to(4.0)
    return _problem(
        function, 4.0, f"an interpolated Gaussian process draw (seed {seed})"
    )


def _problem(
    function: Expansion, norm: float, what: str, right_end: float | None = None
) -> Problem:
    space = Space({"x": Real(0.0, 1.0)})
    optimum, x = maximum(function)
    known = Candidate(RBF(THETA), norm_bound=norm, label=f"theta={THETA:g}")
    return Problem(
        name="rkhs",
        space=space,
        func=OfNumber(function),
        source=f"{what} of norm {norm:g} in the space of the Gaussian kernel of length "
        f"scale {THETA:g} on [0, 1] (Berkenkamp et al. 2019, sec. 5.1)",
        optimum=optimum,
        optimum_params={"x": x},
        stuck_below=None if right_end is None else 1.1 * right_end,
        n_initial=2,
        initial_design=partial(uniform_design, space),
        candidates=[known],
        true_candidate=0,
        sample_function=rkhs,
    )
