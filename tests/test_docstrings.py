"""Every public name documents what it is, its parameters and its return value."""

import importlib
import inspect
import pkgutil
import re

import pytest

import skrobustbo
from skrobustbo import (
    Optimizer,
    RobustBayesSearchCV,
    acquisition,
    checkpoint,
    displays,
    kernels,
    policies,
    previous,
    surrogate,
)
from skrobustbo.integrations import mlflow as integrations_mlflow
from skrobustbo.integrations import optuna as integrations_optuna
from skrobustbo.integrations import ray as integrations_ray

FOR_USERS = [skrobustbo, displays, policies, previous]
PUBLIC = [*FOR_USERS, acquisition, kernels, surrogate]
#: Packages without public names: internals, and a command.
INSIDE = {"checkpoint", "evaluation", "watching"}
#: Without its own names, but with modules named after the packages that they support.
WITH_MODULES = {"integrations"}
#: The same names as at the top level.
AGAIN = {"functional", "model_selection", "optimizer", "space"}
#: Base classes, and classes that only policies receive.
NO_EXAMPLE = {"Policy", "Setup", "SpaceExhausted"}

NAMES = [
    pytest.param(getattr(module, name), id=f"{module.__name__}.{name}")
    for module in PUBLIC
    for name in module.__all__
    if name != "__version__"
]
NAMES += [integrations_mlflow.MLflowCallback]
NAMES += [integrations_optuna.RobustSampler, integrations_optuna.to_study]
NAMES += [integrations_ray.RobustSearcher]
NAMES.append(pytest.param(checkpoint.CheckpointError, id="CheckpointError"))


def section(text, name):
    """Return a section of a numpydoc docstring, None if there is none."""
    pattern = rf"^{name}\n-+\n(.*?)(?=^[^\n]+\n---+\n|\Z)"
    found = re.search(pattern, text, flags=re.MULTILINE | re.DOTALL)
    return found and found[1]


def documented(text, name="Parameters"):
    """Return the names of the entries of a section."""
    entries = re.findall(r"^(\S[^:\n]*?)(?: :.*)?$", section(text, name) or "", re.M)
    return {each.strip(" *") for entry in entries for each in entry.split(",")}


def takes(what):
    parameters = inspect.signature(what).parameters
    return {name for name in parameters if name not in ("self", "cls")}


def gives_something(function):
    return inspect.signature(function).return_annotation not in (None, "None")


def own_members(cls):
    """Return the public methods and properties that our classes define."""
    for name, _ in inspect.getmembers_static(cls):
        home = next(base for base in cls.__mro__ if name in vars(base))
        if name.startswith("_") or not home.__module__.startswith("skrobustbo"):
            continue
        member = vars(home)[name]
        plain = getattr(member, "__func__", member)
        if isinstance(member, property) or inspect.isfunction(plain):
            yield name, getattr(cls, name), plain


def test_every_module_is_public_or_known_to_be_inside():
    found = {m.name for m in pkgutil.iter_modules(skrobustbo.__path__)}
    found = {name for name in found if not name.startswith("_")}
    public = {module.__name__.removeprefix("skrobustbo.") for module in PUBLIC[1:]}
    assert found == public | INSIDE | AGAIN | WITH_MODULES
    for name in AGAIN - {"optimizer", "space"}:  # space also has names for other parts
        module = importlib.import_module(f"skrobustbo.{name}")
        assert set(module.__all__) <= set(skrobustbo.__all__)


def test_every_module_says_what_it_is():
    for module in pkgutil.walk_packages(skrobustbo.__path__, "skrobustbo."):
        if "._peers." not in module.name and not module.name.endswith("__main__"):
            assert importlib.import_module(module.name).__doc__, module.name


@pytest.mark.parametrize("what", NAMES)
def test_what_it_takes_and_gives(what):
    text = inspect.cleandoc(what.__doc__ or "")
    assert text[0].isupper()
    assert text.splitlines()[0].endswith((".", "?"))
    if inspect.isclass(what) and (
        issubclass(what, Exception) or getattr(what, "_is_protocol", False)
    ):
        return
    assert takes(what) - documented(text) == set()
    if inspect.isfunction(what) and gives_something(what):
        assert section(text, "Returns")


@pytest.mark.parametrize("what", NAMES)
def test_every_method_and_property_says_what_it_does(what):
    if inspect.isclass(what):
        for name, member, _ in own_members(what):
            assert inspect.getdoc(member), f"{what.__name__}.{name}"


@pytest.mark.parametrize("cls", [Optimizer, RobustBayesSearchCV])
def test_methods_that_everybody_calls_have_all_sections(cls):
    for name, member, plain in own_members(cls):
        if isinstance(plain, property):
            continue
        text = inspect.getdoc(member)
        assert takes(plain) - documented(text) == set(), name
        assert section(text, "Returns") or not gives_something(plain), name


@pytest.mark.parametrize(
    "module",
    [*FOR_USERS, integrations_mlflow, integrations_optuna, integrations_ray],
)
def test_what_users_call_has_an_example(module):
    for name in set(module.__all__) - NO_EXAMPLE - {"__version__"}:
        text = inspect.getdoc(getattr(module, name))
        assert section(text, "Examples"), name
        assert ">>>" in section(text, "Examples"), name
