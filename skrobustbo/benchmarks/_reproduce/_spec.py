"""What an experiment is, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skrobustbo import policies, problems
from skrobustbo.benchmarks._record import KEY, RunKey, Table
from skrobustbo.benchmarks._reproduce._baselines import (
    FromScratch,
    RestlessMAP,
    RoundedGrowth,
    SliceEI,
)
from skrobustbo.benchmarks._reproduce._claims import Claim
from skrobustbo.benchmarks._reproduce._measures import CURVES
from skrobustbo.benchmarks._spelling import split_method
from skrobustbo.policies import Policy
from skrobustbo.problems import Problem

#: Policies of single experiments, by name.
_OWN = {
    policy.__name__: policy
    for policy in (FromScratch, RestlessMAP, RoundedGrowth, SliceEI)
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
        A name of `skrobustbo.problems`.
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
            return problem.sample_function(seed)
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
        What the paper reports, in a sentence or two.
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
    """

    name: str
    title: str
    reports: str
    panels: tuple[Panel, ...]
    metrics: tuple[str, ...]
    claims: tuple[Claim, ...]
    drawing: str
    left_open: tuple[str, ...]
    drawn: tuple[str, ...] = ()
