"""Experiments as data: what one is, and all of them, from a file for each paper."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from skrobustbo import policies
from skrobustbo.policies import Policy
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._record import KEY, RunKey, Table, VersionNotes
from skrobustbo_benchmarks._reproduce._baselines import (
    ETGPFromScratch,
    ProgramA,
    ProgramLB,
)
from skrobustbo_benchmarks._reproduce._claims import (
    Alike,
    Better,
    Claim,
    Finding,
    Results,
    Share,
    Spread,
    TimeRatio,
    Within,
    overall,
)
from skrobustbo_benchmarks._reproduce._measures import CURVES
from skrobustbo_benchmarks._reproduce._numbers import Column, Printed
from skrobustbo_benchmarks._spelling import split_method
from skrobustbo_benchmarks.problems import Problem

#: Policies of single experiments, by name.
_OWN = {
    policy.__name__: policy
    for policy in (
        ETGPFromScratch,
        ProgramA,
        ProgramLB,
    )
}


@dataclass(frozen=True, eq=False)
class Case:
    """A problem with the methods that meet it: owns one csv file of runs.

    Parameters
    ----------
    name : str
        Name of its file of runs, which stands for the problem in the record.
    title : str
        What a panel of a figure says.
    problem : str
        A name of `skrobustbo_benchmarks.problems`.
    methods : mapping of str to str
        By the names that the paper gives them the methods of all experiments: policies
        with settings, of which KERNEL, NOISE and CANDIDATES are the problem's.
    seeds : int
        Runs of the paper.
    steps : int
        Queries after the initial design.
    n_initial : int
        Points of the initial design.
    quick : int
        The steps of the quick form.
    measures : tuple of str
        What is measured of a run: names of `MEASURES`.
    settings : mapping
        Settings of the problem.
    drawn : bool
        Whether a seed draws a function of its own.
    uniform : bool
        Whether the initial points are uniform draws; otherwise those of the problem.
    counts_initial : bool
        Whether the initial points are queries of the paper, whose regret counts.
    noise : float or None
        Deviation of the noise of values, and so NOISE; None: the problem's.
    data : str
        What is missing where the problem's data are not at hand.
    quick_seeds, quick_settings
        The runs of the quick form, and what makes its problem easier.
    """

    name: str
    title: str
    problem: str
    methods: Mapping[str, str]
    seeds: int
    steps: int
    n_initial: int
    quick: int
    measures: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = False
    uniform: bool = True
    counts_initial: bool = False
    noise: float | None = None
    data: str = ""
    quick_seeds: int = 2
    quick_settings: Mapping[str, Any] = field(default_factory=dict)

    def in_brief(self) -> Case:
        """Return the quick form: some seeds, few queries, perhaps an easier problem."""
        return replace(
            self,
            name=f"{self.name}.quick",
            seeds=self.quick_seeds,
            steps=self.quick,
            settings={**self.settings, **self.quick_settings},
        )

    @property
    def n_iter(self) -> int:
        """Evaluations of a run."""
        return self.n_initial + self.steps

    @property
    def n_first(self) -> int:
        """Evaluations that the paper does not count as queries."""
        return 0 if self.counts_initial else self.n_initial

    def make_policy(self, method: str, problem: Problem) -> Policy:
        """Return a method's policy for a problem."""
        known: dict[str, Any] = {"NOISE": problem.noise_std}
        if problem.candidates is not None:
            known["KERNEL"] = problem.candidates[0].kernel
            known["CANDIDATES"] = problem.candidates
        name, settings = split_method(self.methods[method], known)
        if name in _OWN:
            return _OWN[name](**settings)
        made: Policy = policies.make_policy(name, **settings)
        return made

    def key(self, method: str, seed: int) -> RunKey:
        """Return what tells a run from others."""
        return RunKey(self.name, self.n_iter, method, seed)

    def table(self, folder: Path) -> Table:
        """Return the file of the case's runs, a line each."""
        columns: dict[str, type] = dict(zip(KEY, (str, int, str, int), strict=True))
        columns["cpu_seconds"] = float  # of the method's asks and tells
        columns |= {name: str if name in CURVES else float for name in self.measures}
        return Table(folder / f"{self.name}.csv", columns, command="reproduce")

    def make_problem(self, seed: int) -> Problem:
        """Return the problem that belongs to a seed.

        Raises
        ------
        FileNotFoundError
            If its data are not at hand.
        """
        problem = problems.get(self.problem, **self.settings)
        if self.drawn and problem.sample_function is not None:
            problem = problem.sample_function(seed)
        if self.noise is not None:
            problem = replace(problem, noise_std=self.noise)
        return problem


@dataclass(frozen=True)
class Panel:
    """A case in an experiment, with those of its methods that belong there."""

    case: Case
    title: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper: a view of some runs of some cases.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Its heading on the page.
    reports : str
        What the paper claims, in a sentence or two.
    outcome : str
        What comes out here, in a sentence or two.
    panels : tuple of Panel
        The runs that it is made of.
    metrics : tuple of str
        What its table shows of a run.
    claims : tuple
        What the paper says, each to be judged.
    drawing : str
        How it is drawn: a name of `_figure.DRAWINGS`.
    left_open : tuple of str
        Settings that the paper leaves open, and how they are filled.
    drawn : tuple of str
        The curves that are drawn, if any.
    holds : str
        What the verdict is limited to, if anything.
    """

    name: str
    title: str
    reports: str
    outcome: str
    panels: tuple[Panel, ...]
    metrics: tuple[str, ...]
    claims: tuple[Claim, ...]
    drawing: str
    left_open: tuple[str, ...]
    drawn: tuple[str, ...] = ()
    holds: str = ""

    def findings(self, results: Results) -> list[Finding]:
        """Return what became of the claims."""
        return [found for claim in self.claims for found in claim.judge(results)]

    def verdict(self, found: Sequence[Finding]) -> str:
        """Return the verdict, and what it is limited to."""
        return ", ".join(filter(None, [overall(found), self.holds]))


# -- those of the papers --------------------------------------------------------------

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
