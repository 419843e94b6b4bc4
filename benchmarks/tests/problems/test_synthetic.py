"""The closed-form problems hold what they state: domain, optimum, noise, design."""

import pickle

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from skrobustbo_benchmarks import problems

NAMES = [
    "ackley5",
    "berkenkamp",
    "berkenkamp-trap",
    "branin",
    "branin-noisy",
    "hartmann6",
    "hartmann6-noisy",
    "levy4",
    "michalewicz5",
    "rosenbrock4",
    "wang-trap",
]


@pytest.fixture(params=NAMES)
def problem(request):
    return problems.get(request.param)


def bounds(problem):
    ends = np.array([[0.0], [1.0]]).repeat(len(problem.space.names), axis=1)
    low, high = (problem.space.decode(end) for end in ends)
    return np.array([list(low.values()), list(high.values())])


def vector_func(problem):
    names = list(problem.optimum_params)
    return lambda x: problem.func(dict(zip(names, x, strict=True)))


def test_optimum_is_reached_at_its_params(problem):
    value = problem.func(problem.optimum_params)
    assert value == pytest.approx(problem.optimum, abs=1e-12)
    snapped = problem.space.decode(problem.space.encode(problem.optimum_params))
    # Ackley's function is a cone there, and zero is not among its domain's values.
    assert problem.func(snapped) == pytest.approx(problem.optimum, abs=1e-8)


def test_local_search_from_the_optimum_gains_nothing(problem):
    func, (low, high) = vector_func(problem), bounds(problem)
    start = np.array(list(problem.optimum_params.values()))
    found = minimize(
        lambda x: -func(x),
        start + 1e-4 * (high - low),
        method="Nelder-Mead",
        bounds=list(zip(low, high, strict=True)),
        options={"xatol": 1e-10, "fatol": 1e-15, "maxiter": 5000, "maxfev": 5000},
    )
    assert -found.fun == pytest.approx(problem.optimum, abs=1e-9)
    assert -found.fun <= problem.optimum + 1e-12


def test_dense_sample_stays_below_the_optimum(problem):
    func, (low, high) = vector_func(problem), bounds(problem)
    X = np.random.default_rng(0).uniform(low, high, size=(20_000, len(low)))
    assert max(map(func, X)) <= problem.optimum


@pytest.mark.parametrize(
    ("name", "published", "digits"),
    [
        ("berkenkamp", 0.7452, 4),
        ("wang-trap", 4.0, 12),
        ("michalewicz5", 4.687658, 6),
        ("branin", -0.397887, 6),
        ("hartmann6", 3.32237, 5),
    ],
)
def test_optimum_agrees_with_the_published_digits(name, published, digits):
    assert round(problems.get(name).optimum, digits) == published


def test_berkenkamp_optimum_is_the_root_of_its_derivative():
    def slope(x):
        density = np.exp(-0.5 * ((x - 0.2) / 0.08) ** 2) / (0.08 * np.sqrt(2 * np.pi))
        return 0.6 - (x - 0.2) / 0.08**2 * density / 8

    problem = problems.get("berkenkamp")
    x = brentq(slope, 0.2, 0.25, xtol=1e-15)
    assert problem.func({"x": x}) == pytest.approx(problem.optimum, abs=1e-12)


def test_michalewicz_optimum_is_the_sum_of_dense_maxima():
    x = np.linspace(0.0, np.pi, 200_001)
    maxima = [(np.sin(x) * np.sin(i * x**2 / np.pi) ** 20).max() for i in range(1, 6)]
    assert sum(maxima) == pytest.approx(problems.get("michalewicz5").optimum, abs=1e-7)


@pytest.mark.parametrize(
    "point", [(-np.pi, 12.275), (np.pi, 2.275), (3 * np.pi, 2.475)]
)
def test_branin_has_three_maxima(point):
    problem = problems.get("branin")
    assert vector_func(problem)(point) == pytest.approx(problem.optimum, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "of_few"),
    [("ackley20", "ackley5"), ("levy20", "levy4"), ("rosenbrock20", "rosenbrock4")],
)
def test_valleys_in_twenty_dimensions(name, of_few):
    problem, few = problems.get(name), problems.get(of_few)
    assert len(problem.space.names) == 20
    test_optimum_is_reached_at_its_params(problem)
    test_dense_sample_stays_below_the_optimum(problem)
    # Away from the optimum in the first coordinate only, as in few dimensions.
    away = problem.func(problem.optimum_params | {"x1": 4.5})
    if name != "ackley20":  # a mean over the coordinates, not a sum
        assert away == pytest.approx(few.func(few.optimum_params | {"x1": 4.5}))
    assert away < 0


def test_valleys_by_hand():
    """Points at which the formulas can be worked out on paper."""

    def at(name, *x):
        return vector_func(problems.get(name))(x)

    # At integer points the ripples vanish: 20 (exp(-0.2 |x| / sqrt(5)) - 1).
    assert at("ackley5", 1, 1, 1, 1, 1) == pytest.approx(20 * (np.exp(-0.2) - 1))
    assert at("ackley5", 3, 4, 0, 0, 0) == pytest.approx(20 * (np.exp(-(0.2**0.5)) - 1))
    assert at("ackley5", 0, 0, 0, 0, 0) == 0.0
    # w = (1, 1, 1, 2): only the last square is left, its sine is zero.
    assert at("levy4", 1, 1, 1, 5) == pytest.approx(-1.0)
    # w = (0, 1, 1, 1): sin(0)^2 = 0 and 1 + 10 sin(1)^2.
    assert at("levy4", -3, 1, 1, 1) == pytest.approx(-1 - 10 * np.sin(1) ** 2)
    assert at("levy4", 1, 1, 1, 1) == pytest.approx(0.0, abs=1e-30)
    # Three ones from the terms 1 - x_i; then 100 and two terms (1 - 0)^2 + 0.
    assert at("rosenbrock4", 0, 0, 0, 0) == pytest.approx(-np.log10(4))
    assert at("rosenbrock4", 1, 2, 4, 16) == pytest.approx(-np.log10(111))


def test_known_values():
    assert problems.get("berkenkamp").func({"x": 1.0}) == pytest.approx(0.6)
    assert problems.get("wang-trap").func({"x": 0.1}) == pytest.approx(2.0)
    middle = dict.fromkeys(problems.get("hartmann6").optimum_params, 0.5)
    assert problems.get("hartmann6").func(middle) == pytest.approx(0.5053149917)


@pytest.mark.parametrize("n", [1, 3, 12])
def test_initial_design_depends_on_the_seed_only(problem, n):
    design = problem.initial_params(4, n)
    assert len(design) == n
    assert design == problems.get(problem.name).initial_params(4, n)
    assert design != problem.initial_params(5, n)
    assert all(problem.space.decode(problem.space.encode(p)) == p for p in design)


def test_default_size_of_the_initial_design():
    assert len(problems.get("berkenkamp-trap").initial_params(0)) == 3
    assert len(problems.get("hartmann6").initial_params(0)) == 14


def test_trap_starts_hide_the_peak():
    trap = problems.get("berkenkamp-trap")
    for seed in range(50):
        values = [(p["x"], trap.func(p)) for p in trap.initial_params(seed)]
        assert all(0.5 <= x <= 1 and abs(v - 0.6 * x) < 1e-3 for x, v in values)
        assert max(v for _, v in values) < trap.stuck_below


def test_initial_design_refuses_bad_arguments():
    problem = problems.get("branin")
    with pytest.raises(ValueError, match=r"'seed' must be an integer >= 0\. Got -1"):
        problem.initial_params(-1)
    with pytest.raises(ValueError, match=r"'n' must be an integer >= 1\. Got 0"):
        problem.initial_params(0, 0)


@pytest.mark.parametrize("name", ["branin", "hartmann6"])
def test_noise_is_about_half_of_the_function_s_deviation(name):
    problem = problems.get(f"{name}-noisy")
    points = problem.space.sample(2000, random_state=0)
    spread = np.std([problem.func(params) for params in points])
    assert problem.noise_std == pytest.approx(spread / 2, rel=0.15)
    assert problem.optimum == problems.get(name).optimum


def test_noise_has_the_stated_deviation():
    problem, rng = problems.get("wang-trap"), np.random.default_rng(0)
    noise = [problem.observe({"x": 0.4}, rng) for _ in range(2000)]
    noise = np.array(noise) - problem.func({"x": 0.4})
    assert noise.std() == pytest.approx(problem.noise_std, rel=0.1)
    assert abs(noise.mean()) < 4 * problem.noise_std / np.sqrt(2000)


def test_noise_free_problem_leaves_the_generator_alone():
    problem, rng = problems.get("branin"), np.random.default_rng(0)
    params = problem.optimum_params
    assert problem.observe(params, rng) == problem.func(params)
    assert rng.random() == np.random.default_rng(0).random()


def test_problem_survives_pickling(problem):
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.func(copy.optimum_params) == problem.func(problem.optimum_params)


def test_names():
    assert set(NAMES) <= set(problems.available())
    assert problems.get("wang_trap").name == "wang-trap"
    with pytest.raises(
        ValueError, match=r"Got 'brannin' instead; did you mean 'branin'"
    ):
        problems.get("brannin")
    with pytest.raises(ValueError, match=r"one of .*'berkenkamp', .*'xyz' instead\.$"):
        problems.get("xyz")


def test_public_names_exist():
    assert all(hasattr(problems, name) for name in problems.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'softmax'"):
        _ = problems.softmax
