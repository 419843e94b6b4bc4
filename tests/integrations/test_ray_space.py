"""Ray Tune's spaces, with substitutes of Ray's domains, so that Ray is not needed."""

import pytest

from skrobustbo.integrations._ray_space import RaySpace


class Domain:
    def __init__(self, sampler=None, **values):
        self._sampler = sampler or Uniform()
        vars(self).update(values)

    def get_sampler(self):
        return self._sampler


class Uniform:
    pass


class LogUniform:
    pass


class Normal:
    mean, sd = 1.0, 2.0


class Quantized:
    def __init__(self, sampler, q):
        self._inner, self.q = sampler, q

    def get_sampler(self):
        return self._inner


Float, Integer, Categorical, Function = (
    type(name, (Domain,), {})
    for name in ("Float", "Integer", "Categorical", "Function")
)
for _cls in (Domain, Float, Integer, Categorical, Function):
    _cls.__module__ = "ray.tune.search.sample"

DOMAINS = {
    "uniform": Float(lower=-1.0, upper=1.0),
    "loguniform": Float(LogUniform(), lower=1e-4, upper=1.0),
    "quniform": Float(Quantized(Uniform(), 0.1), lower=0.1, upper=0.7),
    "qloguniform": Float(Quantized(LogUniform(), 5e-4), lower=1e-3, upper=1e-1),
    "randn": Float(Normal(), lower=float("-inf"), upper=float("inf")),
    "qrandn": Float(Quantized(Normal(), 0.5), lower=float("-inf"), upper=float("inf")),
    "randint": Integer(lower=0, upper=4),
    "lograndint": Integer(LogUniform(), lower=1, upper=1001),
    "qrandint": Integer(Quantized(Uniform(), 3), lower=4, upper=12),
    "qrandint1": Integer(Quantized(Uniform(), 1), lower=0, upper=4),
    "choice": Categorical(categories=[None, "a", True, 1]),
    "sizes": Categorical(categories=[64, 16, 32]),
    "one": Categorical(categories=["only"]),
    "same": Integer(lower=3, upper=4),
}


def values_of(name, n=400):
    space = RaySpace({name: DOMAINS[name]})
    points = space.space.sample(n, random_state=0)
    configs = [space.config_of(point) for point in points]
    if name != "qrandn":
        assert [space.point_of(config) for config in configs] == points
    return [config[name] for config in configs]


def distinct(name):
    found = values_of(name)
    return sorted({(str(value), type(value).__name__) for value in found})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("quniform", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        ("randint", [0, 1, 2, 3]),
        ("qrandint", [6, 9, 12]),
        ("qrandint1", [0, 1, 2, 3]),
        ("choice", [None, "a", True, 1]),
        ("sizes", [16, 32, 64]),
        ("one", ["only"]),
        ("same", [3]),
    ],
)
def test_finite_domains_have_their_values(name, expected):
    wanted = sorted((str(value), type(value).__name__) for value in expected)
    assert distinct(name) == wanted


@pytest.mark.parametrize(
    ("name", "low", "high", "middle"),
    [
        ("uniform", -1, 1, 0),
        ("loguniform", 1e-4, 1, 1e-2),
        ("qloguniform", 1e-3, 1e-1, 1e-2),
        ("randn", -6, 8, 1),
        ("qrandn", -6, 8, 1),
        ("lograndint", 1, 1000, 31),
    ],
)
def test_ranges_are_covered_on_their_scale(name, low, high, middle):
    found = values_of(name)
    assert low <= min(found) < middle < max(found) <= high
    assert 0.35 < sum(value < middle for value in found) / len(found) < 0.6


@pytest.mark.parametrize(("name", "q"), [("qloguniform", 5e-4), ("qrandn", 0.5)])
def test_steps_are_kept(name, q):
    for value in values_of(name):
        assert value / q == pytest.approx(round(value / q))


def test_numbers_of_a_choice_are_ordered_and_others_are_not():
    space = RaySpace({name: DOMAINS[name] for name in ("choice", "sizes")}).space
    assert space.dimensions["sizes"].ordered
    assert not space.dimensions["choice"].ordered
    codes = space.encode({"choice": 0, "sizes": 1})
    assert codes[space.columns("sizes")] == pytest.approx(0.5)


def test_equal_numbers_of_different_types_are_choices_without_an_order():
    space = RaySpace({"a": Categorical(categories=[1, 1.0, 2])})
    assert not space.space.dimensions["a"].ordered
    points = space.space.decode_many(space.space.enumerate())
    found = [space.config_of(point) for point in points]
    assert [repr(config["a"]) for config in found] == ["1", "1.0", "2"]
    assert [space.point_of(config) for config in found] == points


def test_nested_configs_are_flattened_and_built_again():
    layers = [{"width": DOMAINS["sizes"]}, {"width": DOMAINS["randint"], "act": "relu"}]
    config = {"lr": DOMAINS["loguniform"], "net": {"layers": layers, "bias": True}}
    space = RaySpace(config)
    assert list(space.space.dimensions) == [
        *("lr", "net/layers/0/width", "net/layers/1/width")
    ]
    point = {"lr": 0.01, "net/layers/0/width": 2, "net/layers/1/width": 3}
    made = space.config_of(point)
    assert made == {
        "lr": 0.01,
        "net": {"layers": [{"width": 64}, {"width": 3, "act": "relu"}], "bias": True},
    }
    assert space.point_of(made) == point
    flat = {"lr": 0.01, "net/layers/0/width": 64, "net/layers/1/width": 3}
    assert space.point_of(flat) == point
    made["net"]["layers"].clear()
    assert config["net"]["layers"][1]["act"] == "relu"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "at least one domain of Ray Tune"),
        ({"a": 1}, "at least one domain of Ray Tune"),
        ({"a": Function()}, "'a': .* values are those of a function"),
        ({"a": {"b": {"grid_search": [1, 2]}}}, "'a/b': a grid search"),
        ({"a": {"b": Domain()}, "a/b": DOMAINS["uniform"]}, "function"),
        ({"a": {"b": DOMAINS["one"]}, "a/b": DOMAINS["one"]}, "two parameters 'a/b'"),
        ({"a": Float(lower=0, upper=float("inf"))}, "'a': .* cannot be searched"),
    ],
)
def test_what_cannot_be_searched_is_named(config, message):
    with pytest.raises(ValueError, match=message):
        RaySpace(config)


@pytest.mark.parametrize(
    ("config", "message"),
    [({}, "with a value for 'sizes'"), ({"sizes": 8}, r"one of \[16, 32, 64\]")],
)
def test_configs_of_another_space_are_refused(config, message):
    with pytest.raises(ValueError, match=message):
        RaySpace({"sizes": DOMAINS["sizes"]}).point_of(config)
