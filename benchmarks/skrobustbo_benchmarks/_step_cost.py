"""``step-cost``: the time of one ask + tell, against a scikit-learn prediction.

Times differ from machine to machine; their ratio to a fixed piece of work, or to the
step of a peer, measured in turns with them in the same process, hardly does.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import gmean
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from skrobustbo.space import Real, Space
from skrobustbo_benchmarks._args import (
    CommandError,
    Subparsers,
    check_can_write,
    checked_names,
    positive_int,
    seed_list,
    write_file,
)
from skrobustbo_benchmarks._methods import Setup
from skrobustbo_benchmarks._peers._registry import (
    PEERS,
    check_installed,
    distributions,
    make_peer,
)
from skrobustbo_benchmarks._pool import is_one_thread, rerun_with_one_thread
from skrobustbo_benchmarks._record import in_words, versions
from skrobustbo_benchmarks._report import table
from skrobustbo_benchmarks._spelling import (
    checked_methods,
    split_method,
    split_settings,
)

if TYPE_CHECKING:
    from skrobustbo import Optimizer

#: Points of the prediction that is the yardstick.
N_PREDICTED = 512
#: Initial points of the optimizer: few, as it is the model's step that is timed.
N_INITIAL = 3
#: Smallest number of observations: the initial design and one step of the model.
N_MIN = N_INITIAL + 1
#: Timed steps, at least.
_LEAST_REPEATS = 20


class Asked(Protocol):
    """What is timed: the Optimizer, and the methods of the benchmarks."""

    def ask(self) -> Any:
        """Return the next point."""

    def tell(self, params: Any, value: Any, /) -> Any:
        """Take in its value."""


def default_repeats(n: int) -> int:
    """Return how many steps from `n` observations on hold an estimate of length scales.

    The default policy makes one of a kind when there are more values than at the latest
    by an eighth of those beyond 25, which grow meanwhile: after a seventh of the `n`.
    """
    return max(_LEAST_REPEATS, math.ceil((n - 25) / 7))


def measure(
    names: Sequence[str], n: int, d: int, *, repeats: int, seeds: Sequence[int]
) -> pd.DataFrame:
    """Return the times of `repeats` steps per seed from `n` observations on.

    Parameters
    ----------
    names : sequence of str
        Names of policies and peers.
    n, d : int
        Observations before the first timed step, and parameters.
    repeats : int
        Number of steps; each adds an observation.
    seeds : sequence of int
        Seeds of the data and of the methods, one after the other.

    Returns
    -------
    DataFrame
        A row for each step: "method", "observations", "dimensions", and in CPU
        milliseconds "step_ms", of one ask and one tell, and "predict_ms", of one
        ``GaussianProcessRegressor.predict(X, return_std=True)`` of 512 points on the
        data that the step before it has seen.
    """
    rows = []
    for seed in seeds:
        contestants = {name: _Contestant(name, n, d, repeats, seed) for name in names}
        for _, name in product(range(repeats), names):
            rows.append((name, n, d, *contestants[name].take_turn()))
    columns = ["method", "observations", "dimensions", "step_ms", "predict_ms"]
    times = pd.DataFrame(rows, columns=columns)
    order = {name: i for i, name in enumerate(names)}
    return times.sort_values("method", key=lambda of: of.map(order), kind="stable")


class _Contestant:
    """A method with `n` observations of its own, the last from its model."""

    def __init__(self, name: str, n: int, d: int, repeats: int, seed: int):
        self._rng = np.random.default_rng(seed)
        self._data = Data(d, self._rng)
        warm = _warm_peer if name in PEERS else _warm_optimizer
        self._method: Asked = warm(name, self._data, n, repeats, seed)
        self._Z = self._rng.uniform(size=(N_PREDICTED, d))

    def take_turn(self) -> tuple[float, float]:
        """Time one step, and the yardstick on the data that were there before it."""
        yardstick = self._data.fitted_regressor()
        spent = step(self._method, self._data)
        start = time.process_time()
        yardstick.predict(self._Z, return_std=True)
        return spent, 1e3 * (time.process_time() - start)


class Data:
    """A smooth function on the cube, and where it has been observed."""

    def __init__(self, d: int, rng: np.random.Generator):
        self.names = [f"x{i}" for i in range(1, d + 1)]
        self.space = Space(dict.fromkeys(self.names, Real(0.0, 1.0)))
        self._rng = rng
        self._centre = rng.uniform(size=d)
        self._X: list[NDArray[np.float64]] = []
        self._y: list[float] = []

    def random_params(self) -> dict[str, Any]:
        """Return a point drawn uniformly."""
        return self.space.decode(self._rng.uniform(size=len(self.names)))

    def observe(self, params: dict[str, Any]) -> float:
        """Return the value at a point, and keep both."""
        x = np.array([params[name] for name in self.names])
        self._X.append(x)
        self._y.append(float(np.cos(4 * (x - self._centre)).sum() + x.prod()))
        return self._y[-1]

    def fitted_regressor(self) -> GaussianProcessRegressor:
        """Return the yardstick, ready to predict from all that was observed."""
        model = GaussianProcessRegressor(
            Matern(0.5, nu=2.5), alpha=1e-4, optimizer=None, normalize_y=True
        )
        return model.fit(np.array(self._X), np.array(self._y))


def _warm_optimizer(
    policy: str, data: Data, n: int, repeats: int, seed: int
) -> Optimizer:
    """Return an optimizer with `n` observations, the last from its model."""
    from skrobustbo import Optimizer
    from skrobustbo.policies import make_policy

    name, settings = split_method(policy)
    optimizer = Optimizer(
        data.space,
        make_policy(name, **split_settings(settings)[0]),
        n_initial_points=N_INITIAL,
        horizon=2 * (n + repeats),  # its middle: a search ends unlike it goes on
        random_state=seed,
    )
    for _ in range(N_INITIAL):
        step(optimizer, data)
    for _ in range(n - N_MIN):
        params = data.random_params()
        optimizer.tell(params, data.observe(params))
    # The first fit to the points told at once is no step of a running search.
    try:
        step(optimizer, data)
    except ValueError as error:
        if not settings:
            raise
        # Whether a kernel goes with the space is seen by its first use only.
        raise CommandError(f"{policy}: {error}") from error
    _check_model_has_spoken(optimizer)
    return optimizer


def _check_model_has_spoken(optimizer: Optimizer) -> None:
    if optimizer.history_[-1]["model_label"] == "initial":
        raise CommandError(
            "The policy's model should choose the points by now, but the initial "
            "design still does: give a larger --n."
        )


def _warm_peer(name: str, data: Data, n: int, repeats: int, seed: int) -> Asked:
    """Return a peer with `n` observations, all but the last told at once."""
    initial = [data.random_params() for _ in range(n - 1)]
    peer = make_peer(name, Setup(data.space, initial, n + repeats, seed))
    for _ in range(n):
        step(peer, data)
    return peer


def step(method: Asked, data: Data) -> float:
    """Make one step; return the CPU milliseconds of its ask and its tell."""
    start = time.process_time()
    params: Any = method.ask()
    asked = time.process_time() - start
    value = data.observe(params)
    start = time.process_time()
    method.tell(params, value)
    return 1e3 * (asked + time.process_time() - start)


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "step-cost",
        help="time one ask + tell against a scikit-learn prediction and peers",
        description="Time successive ask + tell steps of the Optimizer (CPU time, one "
        f"thread), in turns with a scikit-learn prediction of {N_PREDICTED} points and "
        "with the steps of other packages' optimisers.",
    )
    for name, default, what in (
        ("--n", 100, "observations"),
        ("--dims", 5, "parameters"),
    ):
        parser.add_argument(
            name,
            nargs="+",
            type=positive_int,
            default=[default],
            metavar="N",
            help=f"numbers of {what} ({default})",
        )
    parser.add_argument("--policies", nargs="+", default=["robust"], metavar="NAME")
    parser.add_argument(
        "--peers",
        nargs="+",
        default=[],
        metavar="NAME",
        help=f"separated by commas or spaces, of {', '.join(PEERS)} (none)",
    )
    parser.add_argument(
        "--repeats",
        type=positive_int,
        metavar="N",
        help="timed steps, of peers too (default: 20, or more where there are many "
        "observations, such that length scales of the default policy are estimated in "
        "one of them)",
    )
    parser.add_argument(
        "--seeds", type=seed_list, default="0", help="of data and optimizers (0)"
    )
    parser.add_argument(
        "--csv", type=Path, metavar="CSV", help="file to write, a line for each step"
    )
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Print one table line per number of dimensions, observations and method."""
    from skrobustbo import policies

    names = checked_methods(args.policies, policies.available())
    _refuse_initial(names)
    peers = checked_names("peer", args.peers, PEERS) if args.peers else []
    if min(args.n) < N_MIN:
        raise CommandError(f"--n must be at least {N_MIN}. Got {min(args.n)}.")
    if args.csv is not None:
        check_can_write(args.csv, "--csv")
    check_installed(peers)
    if not is_one_thread():
        return rerun_with_one_thread(["-m", "skrobustbo_benchmarks", *args.argv])
    times = _print_costs(args, [*names, *peers])
    if peers:
        print(f"\n{comparison(times, names, peers)}")
    print(f"\nMade with {in_words(versions(distributions(peers)))}.")
    if args.csv is not None:
        write_file(args.csv, times.to_csv(index=False, float_format="%.3f"))
    return 0


def _refuse_initial(methods: Sequence[str]) -> None:
    """Raise a CommandError for a setting of runs, which are not what is timed."""
    for method in methods:
        if split_settings(split_method(method)[1])[1] is not None:
            raise CommandError(
                f"step-cost has an initial design of its own, of {N_INITIAL} points: "
                f"leave n_initial out of {method!r}."
            )


def _print_costs(args: argparse.Namespace, methods: list[str]) -> pd.DataFrame:
    """Print each line as it is known, and return the times of all steps."""
    print(table(_HEADER, []), flush=True)
    parts = []
    for d, n in product(args.dims, args.n):
        repeats = args.repeats or default_repeats(n)
        parts.append(measure(methods, n, d, repeats=repeats, seeds=args.seeds))
        for method, times in parts[-1].groupby("method", sort=False):
            cells = [str(method), str(n), str(d), *figures(times)]
            print(f"| {' | '.join(cells)} |", flush=True)
    return pd.concat(parts)


def figures(times: pd.DataFrame) -> list[str]:
    """Return the cells of a line on the steps of one method."""
    step, prediction = times["step_ms"], times["predict_ms"]
    numbers = (
        step.mean(),
        step.median(),
        prediction.mean(),
        prediction.median(),
        step.mean() / prediction.mean(),
        step.median() / prediction.median(),
    )
    return [*(format(number, ".2f") for number in numbers), str(len(times))]


def comparison(
    times: pd.DataFrame, policies: Sequence[str], peers: Sequence[str]
) -> str:
    """Return as markdown how many times a policy's step a peer's step takes."""
    steps = times.groupby(["dimensions", "method", "observations"])["step_ms"]
    sizes = times["observations"].unique()
    means, medians = steps.mean().unstack()[sizes], steps.median().unstack()[sizes]
    header = (
        "peer / policy",
        "dimensions",
        *(f"n = {n}" for n in sizes),
        "geometric mean",
        "geometric mean of medians",
    )
    rows = []
    for d, policy, peer in product(times["dimensions"].unique(), policies, peers):
        ratios = means.loc[(d, peer)] / means.loc[(d, policy)]
        of_medians = medians.loc[(d, peer)] / medians.loc[(d, policy)]
        numbers = (*ratios, gmean(ratios), gmean(of_medians))
        cells = (format(number, ".2f") for number in numbers)
        rows.append((f"{peer} / {policy}", str(d), *cells))
    return table(header, rows)


_HEADER = (
    "method",
    "observations",
    "dimensions",
    "step ms, mean",
    "step ms, median",
    f"predict {N_PREDICTED} ms, mean",
    f"predict {N_PREDICTED} ms, median",
    "ratio of means",
    "ratio of medians",
    "steps timed",
)
