"""All experiments and cases, read from one file for each paper, and their runs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from skrobustbo.benchmarks._reproduce._claims import (
    Alike,
    Better,
    Claim,
    Results,
    Share,
    Spread,
    TimeRatio,
    Within,
)
from skrobustbo.benchmarks._reproduce._numbers import Column, Printed
from skrobustbo.benchmarks._reproduce._spec import Case, Experiment, Panel
from skrobustbo.benchmarks._versions import VersionNotes

#: The papers in the order of the page.
_FILES = ("lb", "he", "boho", "a", "et")
_KINDS: dict[str, Callable[..., Claim]] = {
    kind.__name__: kind
    for kind in (Alike, Better, Column, Share, Spread, TimeRatio, Within)
}
#: Measures that go together; of an optimum that moves there is no simple regret.
_MOVING = ("cumulative", "average", "early", "late", "simple", "cumulative_curve")
_GROUPS = {
    "MOVING": _MOVING,
    "REGRET": (*_MOVING, "simple_curve"),
    "THETA": ("theta", "last_theta", "theta_curve"),
}


def _case(
    name: str, spec: Mapping[str, Any], methods: Mapping[str, str], shared: str = ""
) -> Case:
    """Return a case; `shared` are settings of all methods."""
    names = spec.get("measures", ["REGRET"])
    measures = tuple(m for name in names for m in _GROUPS.get(name, (name,)))
    spelled = {}
    for method, text in methods.items():
        policy, _, own = text.partition("(")
        settings = ", ".join(filter(None, [own.removesuffix(")"), shared]))
        spelled[method] = f"{policy}({settings})"
    return Case(**{**spec, "name": name, "methods": spelled, "measures": measures})


def _claims(kind: str, says: str, **spec: Any) -> Iterator[Claim]:
    """Yield the claims of an entry: of one method "than" others, or "of" several."""
    spec = {name: tuple(v) if type(v) is list else v for name, v in spec.items()}
    for table in spec.keys() & {"rows", "context"}:
        spec[table] = {method: Printed(*entry) for method, *entry in spec[table]}
    if "than" in spec:
        method, others = spec.pop("method"), spec.pop("than")
        for other in others:
            words = says.format(than=other)
            yield _KINDS[kind](words, methods=(method, other), **spec)
    elif "of" in spec:
        for method in spec.pop("of"):
            yield _KINDS[kind](says.format(method=method), method=method, **spec)
    else:
        yield _KINDS[kind](says, **spec)


def _panel(spec: str | Mapping[str, Any], methods: list[str]) -> Panel:
    """Return a panel, of a case's name or more; `methods` are those of most panels."""
    if isinstance(spec, str):
        spec = {"case": spec}
    case = CASES[spec["case"]]
    title = spec.get("title", case.title)
    return Panel(case, title, tuple(spec.get("methods", methods or case.methods)))


def _experiment(
    name: str,
    panels: list[Any],
    claims: list[dict[str, Any]],
    methods: list[str] | None = None,
    **spec: Any,
) -> Experiment:
    made: dict[str, Any] = {
        key: tuple(value) if type(value) is list else value
        for key, value in spec.items()
    }
    return Experiment(
        name=name,
        panels=tuple(_panel(panel, methods or []) for panel in panels),
        claims=tuple(claim for entry in claims for claim in _claims(**entry)),
        **made,
    )


_FOLDER = Path(__file__).parent / "papers"
_PAPERS = [
    tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8")) for name in _FILES
]
#: Cases under the name of their file.
CASES: dict[str, Case] = {}
for _paper in _PAPERS:
    for _name, _spec in _paper["cases"].items():
        _methods, _shared = _spec.pop("methods"), _spec.pop("shared", "")
        CASES[_name] = _case(_name, _spec, _methods, _shared)
EXPERIMENTS: dict[str, Experiment] = {
    name: _experiment(name, **spec)
    for paper in _PAPERS
    for name, spec in paper["experiments"].items()
}
#: The names of a paper's experiments by its own.
PAPERS: dict[str, list[str]] = {
    paper["paper"]: list(paper["experiments"]) for paper in _PAPERS
}


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
