"""What an experiment is, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from skrobustbo import policies, problems
from skrobustbo.benchmarks._record import KEY, RunKey, Table
from skrobustbo.benchmarks._reproduce._claims import Claim
from skrobustbo.benchmarks._reproduce._measures import CURVES
from skrobustbo.policies import Policy
from skrobustbo.problems import Problem

#: What is measured of most runs, and of their length scales.
REGRET = (
    *("cumulative", "average", "early", "late", "simple"),
    *("cumulative_curve", "simple_curve"),
)
THETA = ("theta", "last_theta", "theta_curve")


class Known(Enum):
    """A setting that a method takes from the problem."""

    CANDIDATES = "the candidate models of the problem"
    KERNEL = "the kernel of the problem"
    NOISE = "the noise of the problem"

    def of(self, problem: Problem) -> Any:
        """Return the setting's value for a problem."""
        if self is Known.NOISE:
            return problem.noise_std
        assert problem.candidates is not None
        if self is Known.KERNEL:
            return problem.candidates[0].kernel
        return problem.candidates


@dataclass(frozen=True)
class Method:
    """A policy under the name that a paper gives it.

    Parameters
    ----------
    name : str
        The paper's name, unique within a case.
    policy : str or type
        A policy of the package by name, or a class.
    settings : mapping
        Its settings; `Known` ones are taken from the problem.
    """

    name: str
    policy: str | type[Policy]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def make(self, problem: Problem) -> Policy:
        """Return the policy for a problem."""
        settings = {
            name: value.of(problem) if isinstance(value, Known) else value
            for name, value in self.settings.items()
        }
        if isinstance(self.policy, str):
            made: Policy = policies.make_policy(self.policy, **settings)
            return made
        return self.policy(**settings)


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
    methods : tuple of Method
        The methods, of all experiments.
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
    methods: tuple[Method, ...]
    seeds: int
    steps: int
    n_initial: int
    quick: int
    measures: tuple[str, ...] = REGRET
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

    def method(self, name: str) -> Method:
        """Return a method by name."""
        return next(method for method in self.methods if method.name == name)

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
    """A case in an experiment, with those of its methods that belong there: () is all.

    Parameters
    ----------
    case : Case
        The case.
    chosen : tuple of str
        Names of methods.
    """

    case: Case
    chosen: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods."""
        return self.chosen or tuple(method.name for method in self.case.methods)


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper: a view of some runs of some cases.

    What the page says of it is in ``papers.toml``.

    Parameters
    ----------
    name : str
        Name on the command line.
    panels : tuple of Panel
        The runs that it is made of.
    metrics : tuple of str
        What its table shows of a run.
    claims : tuple
        What the paper says, each to be judged.
    drawing : str
        How it is drawn: a name of `_figure.DRAWINGS`.
    drawn : tuple of str
        The curves that are drawn, if any.
    """

    name: str
    panels: tuple[Panel, ...]
    metrics: tuple[str, ...]
    claims: tuple[Claim, ...]
    drawing: str = "curves"
    drawn: tuple[str, ...] = ()
