"""The page: what the papers report, what comes out here, and the verdicts."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from skrobustbo.benchmarks._markdown import number, table
from skrobustbo.benchmarks._reproduce._claims import (
    RULES,
    Finding,
    Results,
    overall,
    values,
)
from skrobustbo.benchmarks._reproduce._figure import draw, path_of
from skrobustbo.benchmarks._reproduce._registry import (
    EXPERIMENTS,
    PAPERS,
    read_results,
    versions_of,
)
from skrobustbo.benchmarks._reproduce._spec import Experiment, Panel
from skrobustbo.benchmarks._versions import made_with

_HEAD = f"""\
# The papers' experiments

Do the implementations give the published results? Each figure and table below was run
by

```sh
python -m skrobustbo.benchmarks reproduce NAME
```

(`--list` names all, `--quick` is a form of seconds, `--jobs` runs several at a time,
and what the csv files hold already is not run again). This page is written from those
files by `python -m skrobustbo.benchmarks reproduce --page docs/papers.md`. Every run
has one BLAS thread; all methods of a seed meet the same function, initial points and
noise. Nothing was tuned to agree: where a paper leaves a setting open, the list below
the experiment says how it was filled.

## How a verdict is reached

The rules were fixed before the experiments were run, and the script applies them.

{RULES}"""

_METRICS = {
    "cumulative": "cumulative regret",
    "average": "regret per query",
    "late": "regret per query, last quarter",
    "simple": "simple regret at the end",
    "found": "share that left the trap",
    "solved": "share that converged",
    "theta": "length scale, geometric mean",
    "gap": "distance to the best length scale",
    "resets": "resets",
    "cpu_seconds": "CPU seconds",
}


def findings(experiment: Experiment, results: Results) -> list[Finding]:
    """Return what became of an experiment's claims."""
    return [finding for claim in experiment.claims for finding in claim.judge(results)]


def write_page(path: Path, folder: Path) -> None:
    """Write the page and all figures from the runs in `folder`."""
    results = read_results(folder, quick=False)
    for experiment in EXPERIMENTS.values():
        draw(experiment, results, folder, quick=False)
    path.write_text(page_text(path, folder), encoding="utf-8")


def page_text(path: Path, folder: Path) -> str:
    """Return the page that belongs at `path`, from the runs and figures in `folder`."""
    results = read_results(folder, quick=False)
    parts = [_HEAD, _summary(results), *_papers(results, path, folder)]
    if notes := versions_of(folder).read():
        parts.append(f"{made_with(notes)}\n")
    return "\n".join(parts)


def _summary(results: Results) -> str:
    rows = []
    for name, experiment in EXPERIMENTS.items():
        found = findings(experiment, results)
        verdicts = [finding.verdict for finding in found]
        counts = " / ".join(
            str(verdicts.count(word)) for word in ("reproduced", "partly", "not")
        )
        link = f"[{experiment.title}](#{name})"
        rows.append(
            (link, f"**{overall(found)}**", counts, _seeds(experiment, results))
        )
    header = ("experiment", "verdict", "claims: reproduced / partly / not", "seeds")
    return "\n## Summary\n\n" + table(header, rows, n_left=4) + "\n"


def _seeds(experiment: Experiment, results: Results) -> str:
    """Return the numbers of seeds run, of the paper's: the fewest of a panel each."""
    parts = []
    for panel in experiment.panels:
        n = min(_count(results, panel, method) for method in panel.methods)
        parts.append(f"{n} of {panel.case.seeds}")
    return ", ".join(dict.fromkeys(parts))


def _count(results: Results, panel: Panel, method: str) -> int:
    return len(values(results, panel.case.name, method, "cpu_seconds"))


def _papers(results: Results, path: Path, folder: Path) -> Iterator[str]:
    for paper, names in PAPERS.items():
        yield f"## {paper}\n"
        for name in names:
            yield from _section(EXPERIMENTS[name], results, path, folder)


def _section(
    experiment: Experiment, results: Results, path: Path, folder: Path
) -> Iterator[str]:
    found = findings(experiment, results)
    yield f"({experiment.name})=\n\n### {experiment.title}\n"
    yield f"`reproduce {experiment.name}`: **{overall(found)}**"
    yield f" ({_seeds(experiment, results)} seeds).\n"
    yield f"*The paper:* {experiment.reports}\n"
    figure = path_of(folder, experiment, quick=False)
    if figure.exists():
        link = Path(os.path.relpath(figure, path.parent)).as_posix()
        yield f"![{experiment.title}, as it comes out here]({link})\n"
    for panel in experiment.panels:
        yield from _panel(experiment, panel, results)
    rows = [(f.says, f.here, f"**{f.verdict}**") for f in found]
    yield table(("what the paper says", "here", "verdict"), rows, n_left=3) + "\n"
    remarks = folder / f"{experiment.name}.txt"
    if remarks.exists():
        yield remarks.read_text(encoding="utf-8")
    yield "Left open by the paper, and filled so:\n"
    yield "\n".join(f"- {line}" for line in experiment.left_open) + "\n"


def _panel(experiment: Experiment, panel: Panel, results: Results) -> Iterator[str]:
    """Yield the means and standard errors of a panel's methods."""
    if panel.case.name not in results:
        missing = f", which needs {panel.case.data}" if panel.case.data else ""
        yield f"*{panel.title}*{missing}: not run.\n"
        return
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
    yield table(header, rows) + "\n"


def _cell(results: Results, panel: Panel, method: str, metric: str) -> str:
    x = np.array(values(results, panel.case.name, method, metric))
    if not x.size:
        return "-"
    if metric in ("found", "solved"):
        return f"{x.mean():.0%}"
    mean = number(float(x.mean()))
    error = x.std(ddof=1) / np.sqrt(len(x)) if len(x) > 1 else math.nan
    return mean if math.isnan(error) else f"{mean} ± {error:.2g}"
