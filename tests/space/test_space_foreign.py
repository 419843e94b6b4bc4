"""Dimensions of scikit-optimize and Optuna, with and without those packages."""

import json
import sys

import pytest

from skrobustbo import Categorical, Integer, Optimizer, Real, Space


def fake(module, name, **attributes):
    """Return an object whose class claims to be from a module, with attributes."""
    cls = type(name, (), {"__module__": module})
    made = cls()
    vars(made).update(attributes)
    return made


def skopt(name, **attributes):
    return fake("skopt.space.space", name, **attributes)


def optuna(name, **attributes):
    return fake("optuna.distributions", name, **attributes)


def skrub(name, *bases, **attributes):
    above = tuple(type(base, (), {"__module__": "skrub._choosing"}) for base in bases)
    made = type(name, above, {"__module__": "skrub._choosing"})()
    vars(made).update(attributes)
    return made


def choices(values, ordered=False):
    return Categorical(values, ordered=ordered)


FAKES = [
    (skopt("Real", low=0, high=2, prior="uniform"), Real(0, 2)),
    (skopt("Real", low=1e-3, high=1, prior="log-uniform"), Real(1e-3, 1, log=True)),
    (skopt("Integer", low=1, high=9, prior="uniform"), Integer(1, 9)),
    (skopt("Integer", low=1, high=9, prior="log-uniform"), Integer(1, 9, log=True)),
    (
        skopt("Categorical", categories=("b", "a", 3), transform_="onehot"),
        choices(["b", "a", 3]),
    ),
    (
        skopt("Categorical", categories=(3, 1, 2), transform_="normalize"),
        choices([1, 2, 3], ordered=True),
    ),
    (
        skopt("Categorical", categories=("a", None), transform_="label"),
        choices(["a", None]),
    ),
    (optuna("FloatDistribution", low=0.0, high=1.0, log=False, step=None), Real(0, 1)),
    (
        optuna("FloatDistribution", low=0.1, high=1.0, log=True, step=None),
        Real(0.1, 1, log=True),
    ),
    (
        optuna("FloatDistribution", low=0.1, high=0.5, log=False, step=0.1),
        choices([0.1, 0.2, 0.3, 0.4, 0.5], ordered=True),
    ),
    (
        optuna("FloatDistribution", low=1.0, high=1.0, log=False, step=None),
        choices([1.0]),
    ),
    (optuna("IntDistribution", low=1, high=9, log=False, step=1), Integer(1, 9)),
    (
        optuna("IntDistribution", low=1, high=64, log=True, step=1),
        Integer(1, 64, log=True),
    ),
    (
        optuna("IntDistribution", low=2, high=10, log=False, step=4),
        choices([2, 6, 10], ordered=True),
    ),
    (optuna("IntDistribution", low=3, high=3, log=False, step=1), choices([3])),
    (
        optuna("CategoricalDistribution", choices=("a", None, 3)),
        choices(["a", None, 3]),
    ),
    (
        skopt("Categorical", categories=(2, 1, 1.0), transform_="label"),
        choices([2, 1, 1.0]),
    ),
    (optuna("CategoricalDistribution", choices=(0, 0.0, 2)), choices([0, 0.0, 2])),
    (
        skrub("NumericChoice", low=0.1, high=9, log=True, to_int=False),
        Real(0.1, 9, log=True),
    ),
    (skrub("NumericChoice", low=1, high=9, log=False, to_int=True), Integer(1, 9)),
    (
        skrub("DiscretizedNumericChoice", grid=[1, 4, 7]),
        choices([1, 4, 7], ordered=True),
    ),
    (skrub("BoolChoice", "Choice", outcomes=[True, False]), choices([True, False])),
]


@pytest.mark.parametrize(("value", "expected"), FAKES, ids=lambda v: type(v).__name__)
def test_what_foreign_dimensions_stand_for(value, expected):
    space = Space({"p": value})
    assert space == Space({"p": expected})
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space


def test_the_steps_are_the_decimals_that_were_written():
    value = optuna("FloatDistribution", low=0.0, high=1e-4, log=False, step=1e-5)
    (dimension,) = Space({"p": value}).dimensions.values()
    assert dimension.choices[3] == 3e-5
    assert dimension.choices[-1] == 1e-4
    assert len(dimension.choices) == 11


def test_derived_classes_are_known_by_what_they_derive_from():
    base = type("FloatDistribution", (), {"__module__": "optuna.distributions"})
    value = type("Mine", (base,), {"__module__": "mine"})()
    vars(value).update(low=0.0, high=1.0, log=False, step=None)
    assert Space({"p": value}) == Space({"p": Real(0, 1)})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (skopt("Real", low=0, high=1, prior="normal"), "unknown prior; use Real"),
        (skopt("Real", low=0, high=1), "lacks what a Real has"),
        (skopt("Real", low=2, high=1, prior="uniform"), "'low' must be below 'high'"),
        (optuna("CategoricalDistribution", choices=()), "at least one value"),
        (
            optuna("FloatDistribution", low=0.0, high=1.0, log=False, step=1e-9),
            "more than 100000 steps",
        ),
        (
            fake("other.space", "Real", low=0, high=1),
            "expected a Real",
        ),
    ],
)
def test_what_has_no_counterpart(value, words):
    with pytest.raises(ValueError, match=f"^Parameter 'p': .*{words}"):
        Space({"p": value})


def test_neither_package_is_imported():
    Space({"p": FAKES[0][0], "q": FAKES[-1][0]})
    if "optuna" not in sys.modules:  # unless a test before has done so
        assert "skopt" not in sys.modules


def test_those_of_scikit_optimize():
    space = pytest.importorskip("skopt.space")
    given = {
        "a": space.Real(1e-3, 1, "log-uniform"),
        "b": space.Integer(1, 10),
        "c": space.Categorical(["x", "y"]),
        "d": space.Categorical([4, 2], transform="normalize"),
    }
    assert Space(given) == Space(
        {
            "a": Real(1e-3, 1, log=True),
            "b": Integer(1, 10),
            "c": Categorical(["x", "y"]),
            "d": Categorical([2, 4], ordered=True),
        }
    )
    for value in Optimizer(given, random_state=0).ask().values():
        assert type(value) in (int, float, str)


def test_those_of_skrub():
    skrub = pytest.importorskip("skrub")
    given = {
        "a": skrub.choose_float(0.1, 10, log=True),
        "b": skrub.choose_int(1, 10),
        "c": skrub.choose_int(1, 10, n_steps=4),
        "d": skrub.choose_from(["x", "y"]),
    }
    assert Space(given) == Space(
        {
            "a": Real(0.1, 10, log=True),
            "b": Integer(1, 10),
            "c": [1, 4, 7, 10],
            "d": ["x", "y"],
        }
    )


def test_those_of_optuna():
    dist = pytest.importorskip("optuna.distributions")
    given = {
        "a": dist.FloatDistribution(1e-3, 1, log=True),
        "b": dist.FloatDistribution(0, 1, step=0.25),
        "c": dist.IntDistribution(1, 10),
        "d": dist.IntDistribution(1, 9, step=4),
        "e": dist.CategoricalDistribution([1, None, "z"]),
    }
    assert Space(given) == Space(
        {
            "a": Real(1e-3, 1, log=True),
            "b": Categorical([0.0, 0.25, 0.5, 0.75, 1.0], ordered=True),
            "c": Integer(1, 10),
            "d": Categorical([1, 5, 9], ordered=True),
            "e": Categorical([1, None, "z"]),
        }
    )
    assert type(Optimizer(given, random_state=0).ask()["c"]) is int
