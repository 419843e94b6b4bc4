"""Problems with a resource: values and costs with less of it, by hand and by rank."""

import hashlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import spearmanr

from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks.datasets import _lcbench, fetch_lcbench

KINDS = ("agreeing", "reversed", "unrelated")


def ranks_agree(problem, amount, n=400):
    """Return the rank correlation of the values with `amount` and in full."""
    points = problem.space.sample(n, 0)
    early = [problem.resource.value(p, amount) for p in points]
    return spearmanr(early, [problem.func(p) for p in points]).statistic


# -- learning curves ----------------------------------------------------------------


def test_curves_are_as_the_formula_says():
    problem = problems.get("learning-curves", d=2, seed=3)
    hills, x = problem.func.resource.value.full, np.array([0.3, 0.8])
    params = {"x1": 0.3, "x2": 0.8}
    by_hand = max(
        h - ((x - c) ** 2).sum() / (2 * 0.25**2)
        for h, c in zip(hills.heights, hills.centres, strict=True)
    )
    assert problem.func(params) == pytest.approx(by_hand)
    missing = 0.05 * (3.0 - 1.0) * (0.5 + 0.55)
    assert problem.resource.value(params, 9) == pytest.approx(by_hand - missing)
    assert problem.resource.cost(params, 9) == 9.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_is_known(kind, seed):
    problem = problems.get("learning-curves", kind=kind, seed=seed)
    assert problem.func(problem.optimum_params) == problem.optimum == 1.0
    assert max(map(problem.func, problem.space.sample(4096, seed))) <= 1.0


@pytest.mark.parametrize("seed", range(5))
def test_early_values_mislead_below_the_threshold(seed):
    agreeing, reversed_, unrelated = (
        problems.get("learning-curves", kind=kind, threshold=0.2, seed=seed)
        for kind in KINDS
    )
    assert ranks_agree(agreeing, 3) > 0.7
    assert ranks_agree(reversed_, 9) < -0.7
    assert abs(ranks_agree(unrelated, 9)) < 0.5
    for problem in (agreeing, reversed_, unrelated):
        assert ranks_agree(problem, 27) > 0.95


def test_curves_are_a_family_and_survive_pickling():
    problem = problems.get("learning-curves", d=4, kind="unrelated", seed=1)
    other = problem.sample_function(2)
    params = problem.space.sample(1, 0)[0]
    assert other.func(params) != problem.func(params)
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.resource.value(params, 5) == problem.resource.value(params, 5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "reverse"}, "'kind' of 'learning-curves'.*mean 'reversed'"),
        ({"threshold": 0}, "'threshold' must be above 0 and at most 1.*Got 0"),
        ({"threshold": 1.5}, "'threshold' must be above 0 and at most 1.*Got 1.5"),
        ({"d": 0}, "'d' must be an integer >= 1. Got 0"),
    ],
)
def test_settings_of_curves_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        problems.get("learning-curves", **settings)


def test_most_problems_have_no_resource():
    assert problems.get("branin").resource is None


# -- LCBench ------------------------------------------------------------------------


@pytest.mark.usefixtures("no_other_home")
def test_the_surrogate_is_downloaded_once_and_checked(tmp_path, served, monkeypatch):
    content = b"a model"
    digest = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(_lcbench, "CONTENT", (len(content), digest))
    monkeypatch.setattr(_lcbench, "BASE_URL", served.url)
    (served.folder / "new_model.onnx").write_bytes(content)
    for _ in range(2):
        surrogate = fetch_lcbench(data_home=tmp_path)
    assert surrogate.model == content
    assert len(surrogate.tasks) == 34
    assert served.requested == ["/new_model.onnx"]
    (tmp_path / "yahpo" / "lcbench.onnx").write_bytes(b"a modem")
    with pytest.raises(OSError, match=r"lcbench\.onnx is damaged.*SHA-256"):
        fetch_lcbench(data_home=tmp_path)


@pytest.mark.usefixtures("no_other_home")
def test_a_missing_surrogate_is_an_error_that_says_where_it_may_be(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"lcbench\.onnx\.gz was not found in"):
        fetch_lcbench(data_home=tmp_path, download=False)
    assert not any(name.startswith("lcbench-") for name in problems.available())


def test_an_unknown_task_is_named(build):
    pytest.importorskip("onnxruntime")
    build("lcbench-167168")  # where the data are at hand
    with pytest.raises(ValueError, match=r"task of LCBench.*'167168'"):
        problems.get("lcbench-167169")


def test_without_onnxruntime_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from skrobustbo_benchmarks import problems\n"
        "problems.get('lcbench-167168')"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "Install it with: pip install onnxruntime" in run.stderr


def test_curves_of_lcbench_rise_and_cost_more(build):
    pytest.importorskip("onnxruntime")
    problem = build("lcbench-167168")
    epochs, params = problem.resource, problem.initial_params(0)[3]
    assert (epochs.name, epochs.low, epochs.high) == ("epoch", 1, 52)
    values = [epochs.value(params, epoch) for epoch in (1, 5, 20, 52)]
    costs = [epochs.cost(params, epoch) for epoch in (1, 5, 20, 52)]
    assert values[0] < values[1] < values[3] == problem.func(params) <= 100
    assert costs == sorted(costs)
    assert ranks_agree(problem, 13, n=60) > 0.8
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.func(params) == problem.func(params)


def test_each_task_of_lcbench_has_curves_of_its_own(build):
    pytest.importorskip("onnxruntime")
    params = build("lcbench-3945").initial_params(0)[0]
    values = [build(f"lcbench-{task}").func(params) for task in _lcbench.TASKS]
    assert len(set(values)) == 34
