"""``step-cost``: the time of one ask + tell, against a scikit-learn prediction.

Times differ from machine to machine; their ratio to a fixed piece of work, or to the
step of a peer, measured in turns with them in the same process, hardly does.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import gmean

from skrobustbo.benchmarks._args import (
    CommandError,
    Subparsers,
    checked_names,
    positive_int,
    seed_list,
)
from skrobustbo.benchmarks._files import check_can_write, write_csv
from skrobustbo.benchmarks._markdown import table
from skrobustbo.benchmarks._peers._registry import PEERS, check_installed, distributions
from skrobustbo.benchmarks._spelling import (
    checked_methods,
    split_method,
    split_settings,
)
from skrobustbo.benchmarks._step_times import (
    N_INITIAL,
    N_MIN,
    N_PREDICTED,
    StepCost,
    default_repeats,
    measure,
)
from skrobustbo.benchmarks._threads import is_one_thread, rerun_with_one_thread
from skrobustbo.benchmarks._versions import in_words, versions

#: Costs by number of parameters, number of observations, and method.
Costs = dict[int, dict[int, dict[str, StepCost]]]


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
        return rerun_with_one_thread(args.argv)
    costs = _print_costs(args, [*names, *peers])
    if peers:
        print(f"\n{comparison(costs, names, peers)}")
    print(f"\nMade with {in_words(versions(distributions(peers)))}.")
    if args.csv is not None:
        _write(args.csv, costs)
    return 0


def _refuse_initial(methods: Sequence[str]) -> None:
    """Raise a CommandError for a setting of runs, which are not what is timed."""
    for method in methods:
        if split_settings(split_method(method)[1])[1] is not None:
            raise CommandError(
                f"step-cost has an initial design of its own, of {N_INITIAL} points: "
                f"leave n_initial out of {method!r}."
            )


def _write(path: Path, costs: Costs) -> None:
    """Write the times of all steps in milliseconds."""
    lines = [
        (method, n, d, f"{step:.3f}", f"{prediction:.3f}")
        for d, of_sizes in costs.items()
        for n, of_methods in of_sizes.items()
        for method, cost in of_methods.items()
        for step, prediction in zip(cost.steps, cost.predictions, strict=True)
    ]
    header = ("method", "observations", "dimensions", "step_ms", "predict_ms")
    write_csv(path, header, lines)


def _print_costs(args: argparse.Namespace, methods: list[str]) -> Costs:
    """Print each line as it is known, and return the costs."""
    print(table(_HEADER, []), flush=True)
    costs: Costs = {d: {} for d in args.dims}
    for d, n in product(args.dims, args.n):
        repeats = args.repeats or default_repeats(n)
        costs[d][n] = measure(methods, n, d, repeats=repeats, seeds=args.seeds)
        for method, cost in costs[d][n].items():
            cells = [method, str(n), str(d), *_figures(cost)]
            print(f"| {' | '.join(cells)} |", flush=True)
    return costs


def comparison(costs: Costs, policies: list[str], peers: list[str]) -> str:
    """Return as markdown how many times a policy's step a peer's step takes."""
    sizes = list(next(iter(costs.values())))
    header = (
        "peer / policy",
        "dimensions",
        *(f"n = {n}" for n in sizes),
        "geometric mean",
        "geometric mean of medians",
    )
    rows = [
        (f"{peer} / {policy}", str(d), *_ratios(costs[d], policy, peer))
        for d, policy, peer in product(costs, policies, peers)
    ]
    return table(header, rows)


def _ratios(
    of_sizes: dict[int, dict[str, StepCost]], policy: str, peer: str
) -> list[str]:
    pairs = [(costs[peer].steps, costs[policy].steps) for costs in of_sizes.values()]
    means = [float(theirs.mean() / ours.mean()) for theirs, ours in pairs]
    medians = [float(np.median(theirs) / np.median(ours)) for theirs, ours in pairs]
    return [f"{ratio:.2f}" for ratio in (*means, gmean(means), gmean(medians))]


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


def _figures(cost: StepCost) -> list[str]:
    figures = (
        cost.steps.mean(),
        np.median(cost.steps),
        cost.predictions.mean(),
        np.median(cost.predictions),
        cost.ratio_of_means,
        cost.ratio_of_medians,
    )
    return [*(format(figure, ".2f") for figure in figures), str(len(cost.steps))]
