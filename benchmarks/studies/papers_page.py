"""The page of the papers' experiments: what they claim, what comes out, the verdicts.

    python benchmarks/studies/papers_page.py docs/papers.md

It is written from the runs that ``python -m skrobustbo_benchmarks reproduce`` has left
in a folder. Tables of all claims and of all means go into the folder.
"""

import argparse
import os
from pathlib import Path

import pandas as pd

import shared
from skrobustbo_benchmarks._args import check_can_write
from skrobustbo_benchmarks._record import made_with
from skrobustbo_benchmarks._report import table
from skrobustbo_benchmarks._reproduce._claims import LEAST_RUNS, LEVEL, overall, values
from skrobustbo_benchmarks._reproduce._command import make_folder
from skrobustbo_benchmarks._reproduce._spec import (
    EXPERIMENTS,
    PAPERS,
    read_results,
    versions_of,
)

_HEAD = """\
# The papers' experiments

Do the policies reproduce the figures and tables of their papers? [Rules that we wrote
before the runs](#how-a-verdict-is-reached) judge each claim.
"""

_LEGEND = """\
The numbers after each verdict count the claims that are *reproduced*, *partly* and
*not*. We tuned nothing to match the papers. The prefixes of names stand for papers:
"""

_RULES = f"""\
## How a verdict is reached

- **A number with a deviation**: the difference of the means, divided by the paper's
  standard deviation (ours if it gives none), is at most 0.6 (*partly*: 2).
- **The order of a table**: all pairs of rows that differ by more than 0.6 deviations in
  the paper have the same order (*partly*: three quarters of them).
- **One method is better**: a one-sided Wilcoxon signed-rank test over paired seeds
  confirms it at {LEVEL:g} (*partly*: only the means agree).
- **Two methods are alike**: their means are within a factor of 1.25, or within the
  factor that the claim names (*partly*: within its square, or a two-sided test shows no
  difference).
- **Runs do something**: at least 3/4 of them do (*partly*: 1/4).
- **A ratio of times**: it is within a factor of 2 of the paper's (*partly*: 4).
- **A mean lies in a range**: each claim states the range.
- An experiment is *reproduced* if all of its claims are. Its verdict is *not* if more
  than half of its claims have that verdict, or if none is *reproduced*. With fewer than
  {LEAST_RUNS} seeds, we judge nothing.

After the first runs, we made two rules stricter; under the old ones, `he-fig2` was
*partly* reproduced from the start. Four changes to the experiments favour our results:

- `he-fig2` (a) uses raw values and a Matern kernel. With standardised values and a
  Gaussian kernel, two claims about HE-GP-UCB and two about A-GP-UCB were
  *not* reproduced.
- `lb-fig2` measures the distance to one length scale. With a range, all claims were
  *partly* reproduced.
- In `lb-fig3`, points of AgNP may be repeated. Without repeats, its claims were
  *not* reproduced.
- In `et-table1`, resets at a fixed time remove all data. With the last value kept, 17
  claims were *reproduced*, 13 *partly* and one *not*.

None of these papers has an experiment with `"stableopt"` or `"he-stableopt"`. Both
policies follow the algorithm printed in *Beyond lengthscales*.
"""

_COMMANDS = """\
## Run an experiment

`NAME` is the name of an experiment:

```sh
python -m skrobustbo_benchmarks reproduce NAME
```

The command makes the runs, draws the figure, judges the claims, and prints the settings
that the paper leaves open. With `--quick`, it takes seconds. `python
benchmarks/studies/papers_page.py docs/papers.md` writes this page and the tables of
[all claims](CLAIMS) and [all means](MEANS).

For your own experiments, `as_published()` returns a [policy](policies.md) with the
settings of its paper.
"""

#: Files of the tables.
CLAIMS, MEANS = "claims.csv", "means.csv"
_VERDICTS = ("reproduced", "partly", "not")

_METRICS = {
    "cumulative": "cumulative regret",
    "average": "regret per query",
    "late": "regret per query, last quarter",
    "simple": "simple regret at the end",
    "found": "share that left the trap",
    "solved": "share that converged",
    "theta": "length scale, geometric mean",
    "gap": "distance to the best length scale",
    "range_gap": "distance to a range of good ones",
    "resets": "resets",
    "block": "queries between resets",
    "block_sd": "their deviation",
    "cpu_seconds": "CPU seconds",
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("page", type=Path, help="file to write")
    parser.add_argument(
        "--runs",
        type=Path,
        metavar="DIR",
        help="folder of the runs and of the tables (default: named as the page)",
    )
    return parser


def main(args):
    """Write the page and the tables beside the runs."""
    folder = args.runs or args.page.with_suffix("")
    make_folder(args.page.parent, "page")
    check_can_write(args.page, "page")
    make_folder(folder, "--runs" if args.runs else "page")
    results = read_results(folder, quick=False)
    claims_of(results).to_csv(folder / CLAIMS, index=False)
    means_of(results).to_csv(folder / MEANS, index=False)
    args.page.write_text(page_text(args.page, folder), encoding="utf-8")


def page_text(path, folder):
    """Return the page that belongs at `path`, from the runs in `folder`."""
    results = read_results(folder, quick=False)
    parts = [_HEAD, _in_all(results), _summary(results, path, folder)]
    parts += [_LEGEND, *_papers()]
    commands = _COMMANDS.replace("CLAIMS", _link(folder / CLAIMS, path))
    parts += [_RULES, commands.replace("MEANS", _link(folder / MEANS, path))]
    if notes := versions_of(folder).read():
        parts.append(f"{made_with(notes)}\n")
    return "\n".join(parts).rstrip() + "\n"


def claims_of(results):
    """Return what became of each claim, as a table."""
    rows = [
        (name, found.says, found.here, found.verdict)
        for name, experiment in EXPERIMENTS.items()
        for found in experiment.findings(results)
    ]
    columns = ["experiment", "what the paper says", "here", "verdict"]
    return pd.DataFrame(rows, columns=columns)


def means_of(results):
    """Return the mean and standard error of what was measured, as a table."""
    rows = [
        (name, panel.title, method, len(x), _METRICS[metric], *_mean(x))
        for name, experiment in EXPERIMENTS.items()
        for panel in experiment.panels
        for method in panel.methods
        for metric in experiment.metrics
        if metric in results.get(panel.case.name, ())
        and len(x := values(results, panel.case.name, method, metric))
    ]
    columns = ["experiment", "problem", "method", "runs", "of", "mean", "error"]
    return pd.DataFrame(rows, columns=columns)


def _mean(x):
    return tuple(float(f"{value:.4g}") for value in (x.mean(), x.std() / len(x) ** 0.5))


def _link(target, page):
    """Return a path relative to a page's folder."""
    return Path(os.path.relpath(target, page.parent)).as_posix()


def _in_all(results):
    """Return in a sentence how many claims and experiments have which verdict."""
    found = [experiment.findings(results) for experiment in EXPERIMENTS.values()]
    experiments = [overall(findings) for findings in found]
    claims = [finding.verdict for findings in found for finding in findings]
    limited = "".join(
        f" One of the reproduced experiments holds {experiment.holds}."
        for experiment, verdict in zip(EXPERIMENTS.values(), experiments, strict=True)
        if experiment.holds and verdict == "reproduced"
    )
    return (
        f"**Of {len(claims)} claims, {_counted(claims)}. "
        f"Of {len(experiments)} experiments, {_counted(experiments)}.{limited}**\n"
    )


def _counted(verdicts):
    n = {word: verdicts.count(word) for word in _VERDICTS}
    return f"{n['reproduced']} are reproduced, {n['partly']} partly and {n['not']} not"


def _summary(results, path, folder):
    header = ("experiment", "the paper claims", "here", "verdict", "runs")
    rows = [_row(e, results, path, folder) for e in EXPERIMENTS.values()]
    return table(header, rows, n_left=5) + "\n"


def _counts(verdicts):
    verdicts = list(verdicts)
    return " / ".join(str(verdicts.count(word)) for word in _VERDICTS)


def _papers():
    for paper, names in PAPERS.items():
        authors, title = paper.split(": ")
        yield f"- `{names[0].split('-')[0]}`: {authors}, *{title}*"
    yield ""


def _row(experiment, results, path, folder):
    found = experiment.findings(results)
    counts = _counts(finding.verdict for finding in found)
    cases = dict.fromkeys(panel.case for panel in experiment.panels)
    runs = " ".join(
        f"[{n}]({_link(case.table(folder).path, path)})"
        for n, case in enumerate(cases, start=1)
        if case.name in results
    )
    return (
        f"`{experiment.name}` {experiment.title.partition(':')[0]}",
        experiment.reports,
        experiment.outcome,
        f"**{experiment.verdict(found)}** ({counts})",
        runs or "-",
    )


if __name__ == "__main__":
    shared.run(build_parser(), main)
