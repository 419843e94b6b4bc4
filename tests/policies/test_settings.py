"""Settings of policies: how they are declared, copied and documented."""

import ast
import inspect
import pickle
import re
import subprocess
import sys
from dataclasses import field
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

import skrobustbo.policies
from skrobustbo import policies
from skrobustbo.policies import BOHO, GPUCB, LBGPUCB, LNBGPUCB, Policy
from skrobustbo.policies._published import PUBLISHED
from skrobustbo.policies._settings import settings

CLASSES = list(policies.available().values())
FILES = sorted(Path(skrobustbo.policies.__file__).parent.glob("*.py"))
#: Settings given by position; all others by name.
FIRST = {"HEGPUCB": ["candidates"], "ExpectedUCB": ["candidates"]}
FIRST |= {"HEStableOpt": ["candidates"], "RandomPolicy": []}


def documented(cls):
    """Return the names under "Parameters", with the defaults in their headings."""
    doc = inspect.getdoc(cls)
    section = re.search(
        r"^Parameters\n-+\n((?:\w.*\n|    .*\n|\n(?=    ))+)", doc, re.M
    )
    found = {}
    for names, default in re.findall(
        r"^([\w, ]+) : .*default=(.*)$", section[1] if section else "", re.M
    ):
        names = names.split(", ")
        each = default.split(", ") if len(names) > 1 else [default]
        for name, value in zip(names, each * len(names), strict=False):
            assert name not in found, f"{name} twice"
            found[name] = ast.literal_eval(value)
    return found


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
class TestEveryPolicy:
    def test_documents_its_settings_and_their_defaults(self, cls):
        assert documented(cls) == cls().get_params(deep=False)

    def test_has_no_placeholder_left(self, cls):
        for base in cls.__mro__:
            if base.__module__.startswith("skrobustbo"):
                assert not re.search(r"^\s*\{\w*\}\s*$", base.__doc__, re.M), base

    def test_takes_one_setting_by_position(self, cls):
        parameters = inspect.signature(cls).parameters.values()
        first = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert first == FIRST.get(cls.__name__, ["kernel"])
        with pytest.raises(TypeError, match="positional argument"):
            cls(None, None)

    def test_keeps_what_it_is_given(self, cls):
        """As scikit-learn requires: neither copied nor changed, the same in a clone."""
        marks = {name: (name, 1) for name in cls().get_params()}
        policy = cls(**marks)
        for name, mark in marks.items():
            assert getattr(policy, name) is mark
        assert clone(policy, safe=False).get_params() == marks
        assert pickle.loads(pickle.dumps(policy)).get_params() == marks
        assert cls().set_params(**marks).get_params() == marks
        assert set(vars(policy)) == set(marks)

    def test_has_the_defaults_on_the_class_too(self, cls):
        """A default changed without its annotation would change only here."""
        for name, value in cls().get_params().items():
            assert getattr(cls, name) == value, name


def test_kernels_are_cloned_by_value():
    policy = GPUCB(RBF(0.3), beta=2.0)
    assert clone(policy).kernel == policy.kernel
    assert clone(policy).kernel is not policy.kernel
    assert repr(policy) == "GPUCB(beta=2.0, kernel=RBF(length_scale=0.3))"


def test_policies_are_equal_to_themselves_alone():
    assert GPUCB() != GPUCB()
    assert len({GPUCB(), GPUCB()}) == 2


def test_a_subclass_changes_defaults_and_takes_settings_away():
    @settings
    class Base(Policy):
        """A base.

        Parameters
        ----------
        a, b : int, default=1, 2
            Two numbers.
        c : str, default="x"
            A letter.
        """

        a: int = 1
        b: int = 2
        c: str = "x"

    @settings
    class Derived(Base):
        """A policy.

        Parameters
        ----------
        {kernel}
        d : bool, default=True
            A switch.
        {inherited}

        Notes
        -----
        None.
        """

        b: int = 5
        d: bool = True
        noise: float = field(default=0.5, init=False)

    assert Derived().get_params() == {
        "kernel": None,
        "normalize_y": True,
        "repeats": False,
        **{"a": 1, "b": 5, "c": "x", "d": True},
    }
    assert Derived().noise == 0.5
    assert list(documented(Derived)) == [
        *("kernel", "d", "a", "b", "c", "normalize_y", "repeats")
    ]
    assert "a, b : int, default=1, 5\n    Two numbers.\nc :" in Derived.__doc__
    assert Derived.__doc__.endswith("\n\nNotes\n-----\nNone.")


def test_the_same_setting_may_be_told_differently():
    shared = "Longest length scale, in unit-cube coordinates"
    assert shared in LBGPUCB.__doc__
    assert shared in LNBGPUCB.__doc__
    assert "Norm bound at theta0; B(theta)" in LBGPUCB.__doc__
    assert "Norm bound at theta0; B(theta)" not in LNBGPUCB.__doc__


def test_an_unknown_placeholder_is_refused():
    with pytest.raises(KeyError, match="nosie"):

        @settings
        class Misspelt(Policy):
            """A policy.

            Parameters
            ----------
            {nosie}
            """


@pytest.mark.slow
@pytest.mark.process
def test_docstrings_may_be_stripped():
    code = (
        "from skrobustbo import Optimizer, Real, policies\n"
        "for name in policies.available():\n"
        "    policy = policies.make_policy(name)\n"
        "    if policy.__doc__ is not None: raise SystemExit(name)\n"
        "optimizer = Optimizer({'x': Real(0, 1)}, random_state=0)\n"
        "for _ in range(5):\n"
        "    params = optimizer.ask()\n"
        "    optimizer.tell(params, params['x'])\n"
    )
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_as_published_differs_from_the_defaults(cls):
    published = {k: v for paper in PUBLISHED.values() for k, v in paper.items()}
    if cls.__name__ not in published:
        with pytest.raises(ValueError, match=f"Got {cls.__name__}; set"):
            cls.as_published()
        return
    default = cls().get_params(deep=False)
    policy = cls.as_published()
    policy.check()
    assert policy.get_params(deep=False) == {**default, **published[cls.__name__]}
    assert all(
        default[name] != value for name, value in published[cls.__name__].items()
    )
    assert cls.as_published(normalize_y=(1.0, 2.0)).normalize_y == (1.0, 2.0)


def test_published_kernels_are_not_shared():
    BOHO.as_published().kernel.length_scale = 0.5
    assert BOHO.as_published().kernel == RBF(1.0)
