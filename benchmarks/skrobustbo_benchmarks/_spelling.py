"""Names with settings as words of a command: ``robust(min_improvement=0.0)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sklearn.gaussian_process.kernels import RBF, Matern

from skrobustbo.surrogate import Candidate, FlatPrior, GammaPrior, LogNormalPrior
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._args import CommandError, checked_names
from skrobustbo_benchmarks._names import canonical
from skrobustbo_benchmarks.problems import Problem


@dataclass(frozen=True)
class Growth:
    """The growth g(t) = max(g0, t^a) of length-scale balancing, 1 before any query.

    Parameters
    ----------
    first : float
        g0.
    power : float
        a.
    """

    first: float
    power: float

    def __call__(self, t: int) -> float:
        """Return g(t)."""
        return 1.0 if t == 0 else max(self.first, t**self.power)


#: What a setting may be made of, besides literals.
_MADE: dict[str, Callable[..., Any]] = {
    "Candidate": Candidate,
    "FlatPrior": FlatPrior,
    "GammaPrior": GammaPrior,
    "Growth": Growth,
    "LogNormalPrior": LogNormalPrior,
    "Matern": Matern,
    "RBF": RBF,
}


def split_method(
    text: str, names: Mapping[str, Any] = MappingProxyType({})
) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings in ``name`` or ``name(setting=value, ...)``.

    Nothing is executed: values are literals, or priors, kernels, growth by name, or
    what is given as `names`.

    >>> split_method("robust(weights=(1, 0.5))")
    ('robust', {'weights': (1, 0.5)})
    """
    name, bracket, inner = text.partition("(")
    if not bracket:
        return name, {}
    try:
        call: Any = ast.parse(f"f({inner}", mode="eval").body
        settings = {str(word.arg): _value(word.value, names) for word in call.keywords}
    except (SyntaxError, ValueError, AttributeError, TypeError, KeyError):
        settings = {}
        call = None
    if not settings or call.args or None in [word.arg for word in call.keywords]:
        raise CommandError(
            "Expected a name such as lb-gp-ucb, or one with settings, such as "
            f"robust(beta=1.5). Got {text!r}."
        )
    return name, settings


def split_settings(settings: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
    """Return a policy's own settings, and `n_initial`, which is the run's.

    `n_initial` bounds how much of the initial design the policy is given; with the rest
    it does as it likes.

    Raises
    ------
    ValueError
        If `n_initial` is no integer of at least 1.
    """
    own = {name: value for name, value in settings.items() if name != "n_initial"}
    n_initial = settings.get("n_initial")
    if n_initial is not None and not (type(n_initial) is int and n_initial >= 1):
        raise ValueError(f"n_initial must be an integer >= 1. Got {n_initial!r}.")
    return own, n_initial


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        kind = list if isinstance(node, ast.List) else tuple
        return kind(_value(element, names) for element in node.elts)
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    words = {str(word.arg): _value(word.value, names) for word in node.keywords}
    made = _MADE[node.func.id]  # type: ignore[attr-defined]
    return made(*(_value(argument, names) for argument in node.args), **words)


def method_list(tokens: Iterable[str]) -> list[str]:
    """Return methods in words that may hold several, with commas outside brackets.

    >>> method_list(["robust,robust(weights=(1,))", "sobol"])
    ['robust', 'robust(weights=(1,))', 'sobol']
    """
    parts = [part for token in tokens for part in _split(token)]
    return list(dict.fromkeys(_tidy(part) for part in parts if part))


def _split(token: str) -> list[str]:
    parts, depth = [""], 0
    for letter in token:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _tidy(text: str) -> str:
    name, bracket, rest = text.partition("(")
    return canonical(name) + bracket + re.sub(r"\s+", " ", rest)


def _check(policy: Any) -> None:
    """Raise a ValueError for settings out of range; some policies have none."""
    if hasattr(policy, "check"):
        policy.check()


def checked_methods(tokens: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the methods in `tokens`; CommandError names the first that is unknown.

    Settings are those of policies alone, and are checked here, before any run.
    """
    from skrobustbo.policies import available, make_policy

    methods = method_list(tokens)
    checked_names("policy", [split_method(text)[0] for text in methods], known)
    for text in methods:
        name, settings = split_method(text)
        if settings and name not in available():
            raise CommandError(f"{name} takes no settings here. Got {text!r}.")
        try:
            if settings:
                _check(make_policy(name, **split_settings(settings)[0]))
        except (TypeError, ValueError) as error:
            raise CommandError(f"{text}: {error}") from error
    return methods


def checked_problems(tokens: Iterable[str]) -> list[str]:
    """Return the problems in `tokens`; CommandError names the first that is unknown."""
    texts = method_list(tokens)
    names = [split_method(text)[0] for text in texts]
    checked_names("problem", names, problems.available())
    for text in texts:
        if "(" in text:
            try:
                made_problem(text)
            except (TypeError, ValueError) as error:
                raise CommandError(f"{text}: {error}") from error
    return texts


def made_problem(text: str) -> Problem:
    """Return the problem of a name, with settings or without."""
    name, settings = split_method(text)
    return problems.get(name, **settings)
