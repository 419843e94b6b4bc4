"""Methods against one another: mean ranks, wins, and whether one is worse than others.

    python benchmarks/studies/comparison.py runs.csv --out comparison.md

The files are those that ``python -m skrobustbo_benchmarks run`` or ``report --runs``
write; what ``report`` prints of them comes first. The margin of "no worse" is a share
of what there is to gain: of the optimum minus the median of random search, which is its
median regret.
"""

import argparse
import math

import numpy as np
import pandas as pd

import shared
from scores import (
    LEAST_SHARE,
    METHOD,
    YARDSTICK,
    add_report_arguments,
    methods_of,
    paired,
    reference_of,
    report,
    yard_of,
)
from skrobustbo_benchmarks._report import markdown, named, number, summarise, table
from skrobustbo_benchmarks._reproduce._claims import p_below, p_differ

#: Level of all tests.
LEVEL = 0.05
#: Share of the optimum minus random search's median.
MARGIN = 0.02
#: Share of the runs that end no worse than the figure compared.
PERCENTILE = 90
VERDICTS = ("no worse", "undecided", "worse")
#: Peers whose model is a Gaussian process.
RIVALS = (
    "skopt",
    "skopt-lcb",
    "optuna-gp",
    "botorch-logei",
    "botorch-ucb",
    "smac-gp",
)


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add_report_arguments(parser)
    parser.add_argument(
        "--rivals",
        nargs="+",
        metavar="NAME",
        help="default: all peers whose model is a Gaussian process",
    )
    return parser


def main(args):
    """Print, or write to --out, the regrets and times of runs, and the comparisons."""
    report(
        args,
        lambda lines, found: [markdown(summarise(lines)), *comparisons(args, found)],
    )


def comparisons(args, found):
    """Return the sections that take two methods."""
    methods = methods_of(found)
    if len(methods) < 2:
        return []
    reference = reference_of(args, found)
    rivals = [name for name in RIVALS if name in methods]
    if args.rivals is not None:
        rivals = named(METHOD, args.rivals, methods)
    others = [rival for rival in rivals if rival != reference]
    sections = [ranks_section(found), wins_section(found)]
    if reference in methods and others:
        sections.append(margins_section(found, reference, others))
        sections.append(tails_section(found, reference, others))
    return sections


def holm(p_values):
    """Return p-values corrected for their number, in the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for n_before, i in enumerate(order):
        largest = max(largest, (len(p_values) - n_before) * p_values[i])
        corrected[i] = min(1.0, largest)
    return corrected


def ranks_section(all_scores):
    """Return the mean ranks as markdown, the best final regret first.

    Where some methods have no runs of some problems there is a table for every set of
    problems that the same methods have runs of, the largest set first.
    """
    groups = {}
    for of_task in all_scores.values():
        methods, common = tuple(of_task["final"]), of_task.dropna()
        if len(methods) > 1 and len(common):
            groups.setdefault(methods, []).append(common)
    unit, counted = unit_of(all_scores)
    title = (
        "## Mean ranks\n\n1 is best, equals share their rank. Of the median final "
        "regret, and of the mean area under the regret. Last, the mean final regret "
        f"in shares of {YARDSTICK} search's median, at least {LEAST_SHARE:g}: the "
        f"geometric mean over the {counted} that {YARDSTICK} search leaves unsolved. "
        "All over the seeds that the methods of a table have in common."
    )
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return "\n\n".join([title, *(_ranks_table(*item, unit) for item in ordered)])


def unit_of(all_scores):
    """Return what is counted, in one word, and with what it stands for if need be."""
    if len({problem for problem, _ in all_scores}) == len(all_scores):
        return "problem", "problems"
    return "task", "tasks (problem and length)"


def _ranks_table(methods, of_tasks, unit):
    final = mean_ranks([of["final"].median() for of in of_tasks])
    areas = mean_ranks([of["area"].mean() for of in of_tasks])
    rows = [
        (
            method,
            f"{final[method]:.2f}",
            f"{areas[method]:.2f}",
            number(mean_share(of_tasks, method)),
        )
        for method in sorted(methods, key=lambda method: final[method])
    ]
    n, n_seeds = len(of_tasks), min(map(len, of_tasks))
    which = (
        f"Over {n} {unit}{'s' if n > 1 else ''} with runs of these {len(methods)}, on "
        f"{n_seeds} seeds or more:"
    )
    header = ("method", "final regret", "area", f"share of {YARDSTICK}'s")
    return f"{which}\n\n{table(header, rows)}"


def mean_share(of_tasks, method):
    """Return the geometric mean of a method's regrets as shares of random search's.

    Nan if random search has no runs, or leaves nothing to gain on any problem.
    """
    shares = []
    for of_task in of_tasks:
        yard = yard_of(of_task)
        if yard is not None:
            shares.append(max(of_task["final"][method].mean() / yard, LEAST_SHARE))
    return float(np.exp(np.mean(np.log(shares)))) if shares else math.nan


def mean_ranks(measures):
    """Return the mean over tasks of the rank of each method's measure."""
    return pd.DataFrame([measure.rank() for measure in measures]).mean()


def wins_section(all_scores):
    """Return the win matrix as markdown."""
    methods = methods_of(all_scores)
    counted = unit_of(all_scores)[1]
    title = (
        f"## Wins\n\n{counted.capitalize()} on which the method of the row has a "
        "smaller final regret than that of the column, in the median of the "
        "differences, seed by seed, and in parentheses on how many of them it is "
        "clearly smaller: the two differ in Wilcoxon's signed-rank test (two-sided, "
        f"{LEVEL:.0%}, Holm's correction over the {counted.partition(' ')[0]}), and "
        "in this direction."
    )
    rows = []
    for row in methods:
        cells = [
            "" if row == column else _cell(*wins(all_scores, row, column))
            for column in methods
        ]
        rows.append((row, *cells))
    return f"{title}\n\n{table(('', *methods), rows)}{_power_note_of_wins(all_scores)}"


def _cell(n_wins, n_clear):
    return f"{n_wins} ({n_clear})"


def wins(all_scores, ours, theirs):
    """Return on how many tasks one method beats another, and on how many clearly."""
    samples = [paired(of_task, ours, theirs) for of_task in all_scores.values()]
    samples = [sample for sample in samples if len(sample)]
    p_values = holm([p_differ(sample) for sample in samples])
    # Median and ranks of the differences need not point the same way.
    clear = [
        p <= LEVEL and p_below(sample) < p_below(-sample)
        for sample, p in zip(samples, p_values, strict=True)
        if np.median(sample) < 0
    ]
    return len(clear), sum(clear)


def _power_note_of_wins(all_scores):
    n_seeds = max(int(of["final"].count().max()) for of in all_scores.values())
    needed = seeds_needed(2 * len(all_scores))
    if n_seeds >= needed:
        return ""
    return (
        f"\n\nWith {n_seeds} seeds no difference can be significant after the "
        f"correction: it takes {needed}."
    )


def seeds_needed(n_tests):
    """Return the pairs it takes for the first of so many one-sided tests to reject."""
    return math.ceil(math.log2(n_tests / LEVEL))


def compare(all_scores, method, rival):
    """Return a method's comparisons with a rival, a row for each task.

    Tasks without common seeds or without random search are left out.

    Returns
    -------
    DataFrame
        The rival; "problem" and "n_iter"; "n_seeds" that both have; "difference": the
        median of the method's final regret minus the rival's; "margin": the excess
        allowed; "p_no_worse" and "p_worse": one-sided p-values, corrected over the
        rows, of the differences lying below the margin and above it; "verdict".
    """
    rows, excess = [], []
    for (problem, n_iter), of_task in all_scores.items():
        sample, finals = paired(of_task, method, rival), of_task["final"]
        if YARDSTICK in finals and len(sample):
            margin = MARGIN * float(finals[YARDSTICK].median())
            middle = float(np.median(sample))
            rows.append((rival, problem, n_iter, len(sample), middle, margin))
            excess.append(sample - margin)
    names = ["rival", "problem", "n_iter", "n_seeds", "difference", "margin"]
    found = pd.DataFrame(rows, columns=names).assign(
        p_no_worse=holm([p_below(sample) for sample in excess]),
        p_worse=holm([p_below(-sample) for sample in excess]),
    )
    no_worse, worse = (found[p] <= LEVEL for p in ("p_no_worse", "p_worse"))
    verdicts = np.select([worse, no_worse], ["worse", "no worse"], "undecided")
    return found.assign(verdict=verdicts)


def margins_section(all_scores, method, rivals):
    """Return the tests of a method against its rivals as markdown."""
    title = (
        f"## Is {method} worse than another?\n\nBy more than {MARGIN:.0%} of (optimum "
        f"- median of {YARDSTICK} search), in the final regret over the common seeds: "
        f"Wilcoxon's signed-rank test, one-sided in either direction, {LEVEL:.0%}, "
        "Holm's correction over the problems of a rival. Where neither rejects, it is "
        "undecided."
    )
    parts = [compare(all_scores, method, rival) for rival in rivals]
    found = pd.concat([part for part in parts if len(part)] or parts)
    if not len(found):
        return (
            f"{title}\n\nThere is nothing to test: it takes runs of {method}, of "
            f"{YARDSTICK} and of a rival on one problem."
        )
    sums = [
        (rival, str(len(part)), *(str((part["verdict"] == v).sum()) for v in VERDICTS))
        for rival, part in zip(rivals, parts, strict=True)
    ]
    summary = table(("rival", "problems", *VERDICTS), sums)
    lines = table(_MARGIN_HEADER, map(_margin_cells, found.itertuples()), n_left=2)
    return f"{title}\n\n{summary}\n\n{lines}{_power_note(found)}"


_MARGIN_HEADER = (
    "rival",
    "problem",
    "seeds",
    "difference, median",
    "margin",
    "p no worse",
    "p worse",
    "verdict",
)


def _margin_cells(line):
    return (
        line.rival,
        f"{line.problem}, {line.n_iter}",
        str(line.n_seeds),
        number(line.difference, "+.3g"),
        number(line.margin),
        number(line.p_no_worse),
        number(line.p_worse),
        line.verdict,
    )


def _power_note(lines):
    needed = seeds_needed(int(lines["rival"].value_counts().max()))
    n_seeds = int(lines["n_seeds"].max())
    if n_seeds >= needed:
        return ""
    return (
        f"\n\nWith {n_seeds} seeds no test can reject after the correction: it takes "
        f"{needed}."
    )


def tail(finals):
    """Return the 90th percentile of final regrets."""
    # The run itself, not a mean of two: a mean with infinity would be no number.
    return float(np.percentile(finals, PERCENTILE, method="higher"))


def ahead(all_scores, method, rivals):
    """Return on how many problems a method's tail is ahead, level, and behind.

    Compared with the best tail of the rivals that have runs of a problem, over the
    seeds that all of them have; the fourth number is the least count of such seeds.
    """
    signs, counts = [], []
    for of_task in all_scores.values():
        finals = of_task["final"]
        present = [rival for rival in rivals if rival in finals]
        if method not in finals or not present:
            continue
        common = finals[[method, *present]].dropna()
        if not len(common):
            continue
        own, *others = (tail(common[name]) for name in common)
        best = min(others)  # not their difference: both may be infinite
        signs.append((best > own) - (best < own))
        counts.append(len(common))
    n_ahead, n_level, n_behind = (signs.count(sign) for sign in (1, 0, -1))
    return n_ahead, n_level, n_behind, min(counts, default=0)


def tails_section(all_scores, method, rivals):
    """Return the comparison with each rival, and with all at once, as markdown."""
    counted = unit_of(all_scores)[1]
    title = (
        f"## Bad runs\n\n{counted.capitalize()} on which the {PERCENTILE}th percentile "
        f"of the final regret of {method}, over common seeds, is smaller than that of "
        "a rival (ahead), equal to it, or larger. In the last line it is compared with "
        "the best of the rivals on each of them."
    )
    groups = [(rival, [rival]) for rival in rivals]
    groups += [("all of them", list(rivals))] if len(rivals) > 1 else []
    rows = [
        (name, *map(str, ahead(all_scores, method, members)))
        for name, members in groups
    ]
    header = ("rival", "ahead", "equal", "behind", "seeds, at least")
    return f"{title}\n\n{table(header, rows)}"


if __name__ == "__main__":
    shared.run(build_parser(), main)
