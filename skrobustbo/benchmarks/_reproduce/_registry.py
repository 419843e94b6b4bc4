"""All experiments and cases by their names, what the page says of them, their runs."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from skrobustbo.benchmarks._reproduce import _a, _boho, _et, _he, _lb
from skrobustbo.benchmarks._reproduce._claims import Results
from skrobustbo.benchmarks._reproduce._spec import Case, Experiment
from skrobustbo.benchmarks._versions import VersionNotes

_TEXT = tomllib.loads(Path(__file__).with_name("papers.toml").read_text("utf-8"))
#: The papers in the order of the page, with the names of their experiments.
PAPERS: dict[str, list[str]] = _TEXT.pop("papers")
#: By experiment "title", what it "reports", and the settings "left_open".
TEXTS: dict[str, dict[str, str]] = _TEXT

_MADE = (
    *_lb.EXPERIMENTS,
    *_he.EXPERIMENTS,
    *_boho.EXPERIMENTS,
    *_a.EXPERIMENTS,
    *_et.EXPERIMENTS,
)
EXPERIMENTS: dict[str, Experiment] = {
    name: next(experiment for experiment in _MADE if experiment.name == name)
    for names in PAPERS.values()
    for name in names
}

#: Cases under the name of their file. A panel may rename a case's title.
CASES: dict[str, Case] = {}
for _experiment in EXPERIMENTS.values():
    for _panel in _experiment.panels:
        CASES.setdefault(_panel.case.name, _panel.case)


@cache
def case_of(name: str) -> Case:
    """Return a case by name, in its quick form for a name that ends so."""
    case = CASES[name.removesuffix(".quick")]
    return case.in_brief() if name.endswith(".quick") else case


def versions_of(folder: Path) -> VersionNotes:
    """Return the note of what the runs in a folder were made with."""
    return VersionNotes(folder / "versions.json")


def read_results(folder: Path, quick: bool) -> Results:
    """Return the runs of all cases that a folder holds, those of the present length."""
    results = {}
    for name, case in CASES.items():
        chosen = case.in_brief() if quick else case
        table = chosen.table(folder)
        if table.path.exists():
            runs, _ = table.read()
            runs = runs[runs["n_iter"] == chosen.n_iter]
            if len(runs):
                results[name] = runs
    return results
