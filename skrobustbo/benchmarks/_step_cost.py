"""``step-cost``: the time of one ask + tell, against a scikit-learn prediction.

Times differ from machine to machine; their ratio to a fixed piece of work, or to the
step of a peer, measured in turns with them in the same process, hardly does.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pandas as pd
from scipy.stats import gmean

from skrobustbo.benchmarks._args import (
    CommandError,
    Subparsers,
    checked_names,
    positive_int,
    seed_list,
)
from skrobustbo.benchmarks._files import check_can_write, write_file
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
    default_repeats,
    measure,
)
from skrobustbo.benchmarks._threads import is_one_thread, rerun_with_one_thread
from skrobustbo.benchmarks._versions import in_words, versions


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
