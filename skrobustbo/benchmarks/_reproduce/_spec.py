"""What an experiment is, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from skrobustbo import policies, problems
from skrobustbo.benchmarks._reproduce._claims import Claim
from skrobustbo.policies import Policy
from skrobustbo.problems import Problem


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


@dataclass(frozen=True)
class Quick:
    """The quick form of a case: some seeds, few queries, perhaps an easier problem."""

    steps: int
    seeds: int = 2
    problem_settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem with the methods that meet it.

    Parameters
    ----------
    name : str
        Name of its file of runs.
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
    quick : Quick
        The quick form.
    problem_settings : mapping
        Settings of the problem.
    drawn : bool
        Whether a seed draws a function of its own.
    uniform : bool
        Whether the initial points are uniform draws; otherwise those of the problem.
    counts_initial : bool
        Whether the initial points are queries of the paper, whose regret counts.
    measures : tuple of str
        What is measured of a run besides its regret.
    keeps : tuple of str
        The numbers that are kept of a run, and no curves; () keeps everything.
    together : int
        Seeds that one process takes on, where a run is shorter than its start.
    data : str
        What is missing where the problem's data are not at hand.
    """

    name: str
    title: str
    problem: str
    methods: tuple[Method, ...]
    seeds: int
    steps: int
    n_initial: int
    quick: Quick
    problem_settings: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = False
    uniform: bool = True
    counts_initial: bool = False
    measures: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    together: int = 1
    data: str = ""

    def method(self, name: str) -> Method:
        """Return a method by name."""
        return next(method for method in self.methods if method.name == name)

    def n_steps(self, quick: bool) -> int:
        """Return the number of queries after the initial design."""
        return self.quick.steps if quick else self.steps

    def n_seeds(self, quick: bool) -> int:
        """Return the number of seeds."""
        return self.quick.seeds if quick else self.seeds

    def make_problem(self, seed: int, quick: bool = False) -> Problem:
        """Return the problem that belongs to a seed.

        Raises
        ------
        FileNotFoundError
            If its data are not at hand.
        """
        settings = dict(self.problem_settings)
        if quick:
            settings |= self.quick.problem_settings
        problem = problems.get(self.problem, **settings)
        if self.drawn and problem.sample_function is not None:
            return problem.sample_function(seed)
        return problem


@dataclass(frozen=True)
class Panel:
    """A case in an experiment, with those of its methods that belong there."""

    case: Case
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper.

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
    drawn : tuple of str
        What is drawn: names of curves, or of metrics.
    left_open : tuple of str
        Settings that the paper leaves open, and how they are filled.
    """

    name: str
    title: str
    reports: str
    panels: tuple[Panel, ...]
    metrics: tuple[str, ...]
    claims: tuple[Claim, ...]
    drawing: str
    drawn: tuple[str, ...]
    left_open: tuple[str, ...] = ()
