"""The pages of the papers' experiments: what they report, what comes out, the verdicts.

    python benchmarks/studies/papers_page.py docs/papers.md

They are written from the runs that ``python -m skrobustbo_benchmarks reproduce`` has
left in a folder, and so are the figures. A page for each experiment goes into the
folder, with its tables.
"""

import argparse
import math
import os
from pathlib import Path

import numpy as np

import shared
from skrobustbo import policies
from skrobustbo.policies._published import PUBLISHED
from skrobustbo_benchmarks._args import check_can_write
from skrobustbo_benchmarks._record import made_with
from skrobustbo_benchmarks._report import number, table
from skrobustbo_benchmarks._reproduce._claims import LEAST_RUNS, LEVEL, overall, values
from skrobustbo_benchmarks._reproduce._command import make_folder
from skrobustbo_benchmarks._reproduce._figure import draw, path_of
from skrobustbo_benchmarks._reproduce._spec import (
    EXPERIMENTS,
    PAPERS,
    read_results,
    versions_of,
)

RULES = f"""\
- **A number with a deviation.** The difference between our mean and the paper's is
  divided by the paper's standard deviation. The claim is *reproduced* if the result is
  at most 0.6, and *partly* reproduced if it is at most 2. (The first limit is three
  standard errors of the difference between two means of 50 runs. With fewer runs than
  50, a mean may miss these limits by chance.) If the paper gives no standard deviation,
  we use ours.
- **The order of a table.** We compare every pair of rows whose means in the paper
  differ by more than 0.6 times the larger standard deviation. If all of these pairs
  have the same order here, the claim is *reproduced*. If at least three quarters of
  them do, it is *partly* reproduced.
- **One method is better than another.** We apply a one-sided Wilcoxon signed-rank test
  to the paired seeds, at a level of {LEVEL:g}. The claim is *reproduced* if the test
  confirms it. It is *partly* reproduced if only the means confirm it, and *not*
  reproduced if the means are equal or in the opposite order.
- **Two methods are alike.** The claim is *reproduced* if their means are within a
  factor of 1.25, or within another factor that the claim names. It is *partly*
  reproduced if the means are within the square of this factor, or if the two-sided test
  shows no difference.
- **Runs do something**, such as leave a trap or find the maximum. If the claim is that
  runs do this, it is *reproduced* if at least 3/4 of them do, and *partly* reproduced
  if at least 1/4 of them do. If the claim is that runs do not do this, the same limits
  apply to the share of runs that do not.
- **A ratio of times.** The claim is *reproduced* if our ratio is within a factor of 2
  of the paper's, and *partly* reproduced if it is within a factor of 4.
- **A range** for a mean. Each such claim states the range for *reproduced* and a wider
  range for *partly*.
- A claim is not judged if there are fewer than {LEAST_RUNS} seeds.
- An experiment is *reproduced* if all of its claims that could be judged are
  *reproduced*. It is *not* reproduced if more than half of these claims are *not*, or
  if none of them is *reproduced*. Otherwise, it is *partly* reproduced. An experiment
  is judged if at least half of its claims can be judged.

We made two of these rules stricter after the first runs of one experiment, Figure 2 of
*Beyond lengthscales*. Under the original rules, this experiment would have been
*partly* reproduced. Those rules counted the claim that a method is better as *partly*
reproduced unless the test showed the opposite. An experiment could also be *partly*
reproduced without any claim that was *reproduced*.
"""

_HEAD = """\
# The papers' experiments

Do our implementations reproduce the published results? Each paper makes claims about
its experiments, and [rules that were fixed before the runs](#how-a-verdict-is-reached)
determine whether a claim is reproduced.
"""

_COMMANDS = """\
## How it is made

This command makes each figure and table:

```sh
python -m skrobustbo_benchmarks reproduce NAME
```

`--list` lists all names, `--quick` runs a short form that takes seconds, and `--jobs`
runs several experiments at a time. Runs that are already in the csv files are not
repeated. The command `python benchmarks/studies/papers_page.py docs/papers.md` writes
this page and the pages of the individual experiments from these files. Every run uses
one BLAS thread. For each seed, all methods get the same function, initial points and
noise.
Nothing was tuned to agree with the papers. If a paper leaves a setting open, the page
of the experiment says which value was used.
"""

_RULES = f"""\
## How a verdict is reached

The rules were fixed before the experiments were run. The script that writes this page
applies them.

{RULES}"""

_STABLE = """\
## Not reproduced: StableOpt

None of the five papers has an experiment with `"stableopt"` or `"he-stableopt"`.
*Beyond lengthscales* proposes HE-StableOpt and proves a bound on its regret, but does
not run it. StableOpt comes from a sixth paper (Bogunovic et al. 2018). We did not have
that paper, so its own experiments are not reproduced here. Both policies follow the
algorithm that *Beyond lengthscales* prints.
"""

_SETTINGS = """\
## The papers' settings

The defaults of our policies are meant for tuning, on standardised values. The table
shows where the papers' experiments differ from them, as we read the papers. The class
method `as_published()` returns a policy with these settings. For example,
`HEGPUCB.as_published(noise=0.1)` is HE-GP-UCB as in *Beyond lengthscales*, with another
noise. The table leaves out what belongs to a problem: the noise, a known length scale,
candidates, rates of change, budgets and bounds on the norm.
"""

_DIFFER = """\
The experiments of one paper do not all agree. `as_published()` has what most of them
have, or the default:

- *Beyond lengthscales*: in (d), the schedule is `beta="bayes-continuous"`.
- *No-regret BO with unknown hyperparameters*: both rules are used,
  `matching="one-step"` (the default) and `"regret-bound"`. Values are standardised in
  Figure 6, and Figure 5 has no `combine`.
- *Event-triggered time-varying BO*: Tables 1 and 3 and Figures 2 and 7 have `c1=0.4`.
  Table 2 and Figure 6 have `beta="igp"`. The cart-pole has `hyperparameters="map"` and
  a fixed mean and scale. The kernel is squared exponential, or, for the temperatures, a
  covariance of the data.

What the papers leave open, and how we filled it, is on the page of each experiment.
"""

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
        help="folder of the runs, and of the figures (default: named as the page)",
    )
    return parser


def main(args):
    """Write the pages and all figures."""
    folder = args.runs or args.page.with_suffix("")
    make_folder(args.page.parent, "page")
    check_can_write(args.page, "page")
    make_folder(folder, "--runs" if args.runs else "page")
    write_page(args.page, folder)


def write_page(path, folder):
    """Write the pages and all figures from the runs in `folder`."""
    results = read_results(folder, quick=False)
    for experiment in EXPERIMENTS.values():
        draw(experiment, results, folder, quick=False)
        page = detail_path(folder, experiment)
        page.write_text(detail_text(experiment, results), encoding="utf-8")
    path.write_text(page_text(path, folder), encoding="utf-8")


def detail_path(folder, experiment):
    """Return the path of the page of one experiment."""
    return folder / f"{experiment.name}.md"


def page_text(path, folder):
    """Return the page that belongs at `path`, from the runs and figures in `folder`."""
    results = read_results(folder, quick=False)
    parts = [_HEAD, _in_all(results), _summary(results)]
    parts += [*_papers(results, path, folder), _STABLE, _SETTINGS, _settings(), _DIFFER]
    parts += [_RULES, _COMMANDS, _hours(results)]
    parts += _remarks(folder, "all")
    if notes := versions_of(folder).read():
        parts.append(f"{made_with(notes)}\n")
    details = "\n".join(
        _link(detail_path(folder, experiment).with_suffix(""), path)
        for experiment in EXPERIMENTS.values()
    )
    parts.append(f"```{{toctree}}\n:hidden:\n\n{details}\n```\n")
    return "\n".join(parts)


def detail_text(experiment, results):
    """Return the page of one experiment: its runs, its claims, what was left open."""
    parts = [f"# {experiment.title}: details\n"]
    parts += [_panel(experiment, panel, results) for panel in experiment.panels]
    found = experiment.findings(results)
    rows = [(f.says, f.here, f"**{f.verdict}**") for f in found]
    parts.append(table(("what the paper says", "here", "verdict"), rows, n_left=3))
    parts.append("\nLeft open by the paper, and filled so:\n")
    parts.append("\n".join(f"- {line}" for line in experiment.left_open))
    return "\n".join(parts) + "\n"


def _link(target, page):
    """Return a path relative to a page's folder."""
    return Path(os.path.relpath(target, page.parent)).as_posix()


def _in_all(results):
    """Return in a sentence how many claims and experiments have which verdict."""
    found = [experiment.findings(results) for experiment in EXPERIMENTS.values()]
    experiments = [overall(findings) for findings in found]
    claims = [finding.verdict for findings in found for finding in findings]
    limited = "".join(
        f" Of the reproduced ones, one is so {experiment.holds}."
        for experiment, verdict in zip(EXPERIMENTS.values(), experiments, strict=True)
        if experiment.holds and verdict == "reproduced"
    )
    return (
        f"**Of {len(claims)} claims, {_counted(claims)}. "
        f"Of the {len(experiments)} experiments that make them, "
        f"{_counted(experiments)}.{limited}**\n"
    )


def _counted(verdicts):
    n = {word: verdicts.count(word) for word in _VERDICTS}
    return (
        f"{n['reproduced']} are reproduced, {n['partly']} are partly reproduced, "
        f"and {n['not']} are not reproduced"
    )


def _summary(results):
    rows = []
    for paper, names in PAPERS.items():
        authors, title = paper.split(": ")
        for name in names:
            experiment = EXPERIMENTS[name]
            found = experiment.findings(results)
            verdicts = [finding.verdict for finding in found]
            rows.append(
                (
                    f"*{title}* ({authors[-4:]})",
                    f"[{experiment.title}](#{name})",
                    f"**{experiment.verdict(found)}**",
                    " / ".join(str(verdicts.count(word)) for word in _VERDICTS),
                    _seeds(experiment, results),
                )
            )
    claims = "claims: reproduced / partly / not"
    header = ("paper", "experiment", "verdict", claims, "seeds")
    return table(header, rows, n_left=5) + "\n"


def _settings():
    rows = []
    for paper, classes in PUBLISHED.items():
        for name in classes:
            policy = getattr(policies, name)
            own = policy().get_params(deep=False)
            papers = policy.as_published().get_params(deep=False)
            differ = [key for key in sorted(own) if own[key] != papers[key]]
            values = (
                ", ".join(f"`{key}={settings[key]!r}`" for key in differ)
                for settings in (own, papers)
            )
            rows.append((f"*{paper.split(': ')[1]}*", f"`{name}`", *values))
    return table(("paper", "policy", "default", "in the paper"), rows, n_left=4) + "\n"


def _hours(results):
    hours = sum(float(runs["cpu_seconds"].sum()) for runs in results.values()) / 3600
    return (
        f"In all these runs together, the methods took {hours:.1f} hours of one core. "
        "This does not include the time for evaluating the problems and for starting "
        "processes.\n"
    )


def _seeds(experiment, results):
    """Return the numbers of seeds run, of the paper's: the fewest of a panel each."""
    parts = []
    for panel in experiment.panels:
        n = min(_count(results, panel, method) for method in panel.methods)
        parts.append(f"{n} of {panel.case.seeds}")
    return ", ".join(dict.fromkeys(parts))


def _count(results, panel, method):
    return len(values(results, panel.case.name, method, "cpu_seconds"))


def _papers(results, path, folder):
    for paper, names in PAPERS.items():
        yield f"## {paper}\n"
        for name in names:
            yield from _section(EXPERIMENTS[name], results, path, folder)


def _section(experiment, results, path, folder):
    found = experiment.findings(results)
    yield f"({experiment.name})=\n\n### {experiment.title}\n"
    details = _link(detail_path(folder, experiment), path)
    yield f"`reproduce {experiment.name}`: **{experiment.verdict(found)}**"
    yield f" ({_seeds(experiment, results)} seeds; [all runs]({details})).\n"
    # On a click; a heading must not be inside.
    yield "<details>\n<summary>What the paper reports, and what comes out</summary>\n"
    yield f"*The paper:* {experiment.reports}\n"
    figure = path_of(folder, experiment, quick=False)
    if figure.exists():
        link = _link(figure, path)
        yield f"![{experiment.title}, as it comes out here]({link})\n"
    yield from _remarks(folder, experiment.name)
    yield "</details>\n"


def _remarks(folder, name):
    """Return what was written by hand on the runs of an experiment, or on "all"."""
    remarks = folder / f"{name}.txt"
    return [remarks.read_text(encoding="utf-8")] if remarks.exists() else []


def _panel(experiment, panel, results):
    """Return the means and standard errors of a panel's methods."""
    if panel.case.name not in results:
        missing = f", which needs {panel.case.data}" if panel.case.data else ""
        return f"*{panel.title}*{missing}: not run.\n"
    shown = [m for m in experiment.metrics if m in results[panel.case.name]]
    rows = [
        (
            method,
            str(_count(results, panel, method)),
            *(_cell(results, panel, method, metric) for metric in shown),
        )
        for method in panel.methods
    ]
    header = (panel.title, "runs", *(_METRICS[metric] for metric in shown))
    return table(header, rows) + "\n"


def _cell(results, panel, method, metric):
    x = np.array(values(results, panel.case.name, method, metric))
    if not x.size:
        return "-"
    if metric in ("found", "solved"):
        return f"{x.mean():.0%}"
    mean = number(float(x.mean()))
    error = x.std(ddof=1) / np.sqrt(len(x)) if len(x) > 1 else math.nan
    return mean if math.isnan(error) else f"{mean} ± {error:.2g}"


if __name__ == "__main__":
    shared.run(build_parser(), main)
