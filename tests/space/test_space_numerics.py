"""Ranges at the limits of double precision."""

import math

import numpy as np
import pytest
import scipy.stats

from skrobustbo import Integer, Real, Space

REALS = [
    Real(1e-300, 1e300, log=True),
    Real(1e-310, 1.7e308, log=True),
    Real(1e-307, 1e-300, log=True),
    Real(1.0, 1.0 + 1e-9, log=True),
    Real(1e-300, 1.0000001e-300, log=True),
    Real(1e300, 1.0000001e300, log=True),
    Real(-1e308, 1e308),
    Real(-1.797e308, 1.797e308),
    Real(-1.797e308, -1.7e308),
    Real(1e6, 1e6 + 1e-6),
    Real(-1e6 - 1e-6, -1e6),
    Real(0.0, 1e-318),
    Real(-1e-310, 1e-310),
    Real(0.0, 1e308),
    Real(-1e-9, 1e9),
    Real(math.pi, math.e + 1),
]
INTEGERS = [
    Integer(1, 2**40, log=True),
    Integer(2**40 - 1, 2**40, log=True),
    Integer(2**40 - 1000, 2**40, log=True),
    Integer(2**39, 2**40, log=True),
    Integer(1, 2, log=True),
    Integer(-(2**40), 2**40),
    Integer(2**40 - 1, 2**40),
    Integer(-(2**40), -(2**40) + 3),
]
LAWS = [
    scipy.stats.uniform(1e6, 1e-3),
    scipy.stats.uniform(-1e6, 1e-3),
    scipy.stats.norm(1e9, 1),
    scipy.stats.norm(-1e-9, 1e-12),
    scipy.stats.expon(1e6, 1e-2),
    scipy.stats.gamma(0.3, loc=-5),
    scipy.stats.beta(0.5, 0.5),
    scipy.stats.beta(0.5, 0.5, loc=100, scale=0.1),
    scipy.stats.arcsine(loc=3),
    scipy.stats.triang(0.0, loc=1e3),
    scipy.stats.triang(1.0, loc=-1e3),
    scipy.stats.loguniform(1e-300, 1e300),
    scipy.stats.lognorm(3.0),
    scipy.stats.pareto(0.2),
    scipy.stats.cauchy(7.0),
    scipy.stats.weibull_min(0.5),
    scipy.stats.truncnorm(-40, 40),
    scipy.stats.binom(2000, 0.5),
    scipy.stats.binom(5000, 1e-4, loc=-7),
    scipy.stats.poisson(1e4, loc=-(10**6)),
    scipy.stats.nbinom(3, 0.01),
    scipy.stats.geom(1e-3),
    scipy.stats.zipf(3.0),
    scipy.stats.dlaplace(0.3, loc=4),
]


def rows(seed=0):
    """Return points all over the unit interval, dense at both ends."""
    u = np.random.RandomState(seed).uniform(size=2000)
    ends = 2.0 ** -np.arange(1, 60)
    return np.concatenate([[0.0, 1.0], u, ends, 1 - ends, u * 1e-6, 1 - u * 1e-6])[
        :, None
    ]


def describe(value):
    if not hasattr(value, "dist"):
        return repr(value)
    return f"{value.dist.name}{value.args}{value.kwds or ''}"


@pytest.mark.parametrize("value", REALS + INTEGERS + LAWS, ids=describe)
def test_exactly_inverse_to_the_ends(value):
    space = Space({"a": value})
    X = space.snap(rows())
    params = space.decode_many(X)
    encoded = np.array([space.encode(point) for point in params[:800]])
    assert encoded.tobytes() == X[:800].tobytes()
    tail = [space.encode(point) for point in params[-1:-200:-1]]
    assert np.array(tail).tobytes() == X[-1:-200:-1].tobytes()
    values = np.array([point["a"] for point in params])
    assert np.isfinite(values).all()
    order = np.argsort(X[:, 0], kind="stable")
    steps = np.diff(X[order, 0]) > 0
    assert (values[order][1:] > values[order][:-1])[steps].all()


@pytest.mark.parametrize("value", REALS + INTEGERS, ids=repr)
def test_ends_and_outsiders(value):
    assert value.decode(np.array([[0.0], [1.0]])) == [value.low, value.high]
    assert value.encode(value.low).item() == 0.0
    assert value.encode(value.high).item() == 1.0
    if isinstance(value, Real):
        outside = (
            math.nextafter(value.low, -math.inf),
            math.nextafter(value.high, math.inf),
        )
    else:
        outside = value.low - 1, value.high + 1
    for other in outside:
        with pytest.raises(ValueError, match="expected a"):
            value.encode(other)


@pytest.mark.parametrize("value", REALS, ids=repr)
def test_the_grid_is_no_coarser_than_precision_demands(value):
    values = np.unique(value.decode(value.snap(rows())))
    assert len(values) > 100
    if value.log:
        middle = math.exp((math.log(value.low) + math.log(value.high)) / 2)
    else:
        middle = value.low / 2 + value.high / 2
    [found] = value.decode(value.encode(middle)[None, :])
    width = (value.high / 2 - value.low / 2) * 2.0**-5
    assert abs(found - middle) <= (abs(middle) * 1e-6 if value.log else width)


def test_ordinary_ranges_resolve_a_part_in_four_billion():
    for real in (Real(0, 1), Real(1e-5, 10, log=True), Real(-1e308, 1e308)):
        assert real.snap(np.array([[2.0**-32]])).item() == 2.0**-32
        assert real.snap(np.array([[2.0**-34]])).item() == 0.0
    space = Space({"a": Real(0, 1)})
    for value in (0.1, 0.3, 1 / 3):
        assert space.decode(space.encode({"a": value}))["a"] == pytest.approx(
            value, abs=2.0**-32
        )


def test_log_integers_snap_to_the_nearest_on_the_log_scale():
    integer = Integer(1, 1000, log=True)
    table = integer.table()[:, 0]
    for u in np.linspace(0, 1, 501):
        found = integer.snap(np.array([[u]])).item()
        assert abs(found - u) <= np.abs(table - u).min() + 1e-15


@pytest.mark.parametrize(
    ("law", "u"), [(scipy.stats.beta(0.5, 0.5), 1 - 2.0**-30), (LAWS[5], 2.0**-31)]
)
def test_laws_with_a_pole_are_inverse_at_the_pole(law, u):
    # The density is infinite there: neighbouring floats hold a large share.
    space = Space({"a": law})
    x = space.snap(np.array([[u]]))[0]
    assert space.encode(space.decode(x)).tobytes() == x.tobytes()


def test_encoded_points_are_never_minus_zero():
    for value in (Real(-1, 1), Integer(-5, 5), Integer(1, 9, log=True), *LAWS[:4]):
        space = Space({"a": value})
        x = space.snap(np.array([[-0.0], [-1.0], [-1e-300]]))
        assert x.tobytes() == np.zeros((3, 1)).tobytes()


def test_integer_rows_given_to_snap_are_not_truncated():
    space = Space({"a": ["x", "y", "z"]})
    snapped = space.snap(np.array([[0, 1, 0]]))
    np.testing.assert_array_equal(snapped, [space.encode({"a": "y"})])
