"""`maximize` with several evaluations side by side."""

import threading
import time

import pytest
from joblib import parallel_config

from skrobustbo import Real, maximize, minimize

SPACE = {"x": Real(-1, 1)}


def hill(params):
    return -((params["x"] - 0.3) ** 2)


def uneven(params):
    time.sleep(0.001 * (1 + 10 * (params["x"] > 0)))
    return hill(params)


def broken(params):
    if params["x"] > 0:
        raise RuntimeError("too large")
    return hill(params)


def run(func=hill, how=maximize, **settings):
    return how(func, SPACE, n_iter=14, random_state=0, **settings)


@pytest.mark.parametrize("schedule", ["rounds", "window", "free"])
def test_one_at_a_time_is_the_same_under_every_schedule(schedule):
    assert run(schedule=schedule).params_history == run().params_history


@pytest.mark.parametrize(
    "backend", [pytest.param("loky", marks=pytest.mark.slow), "threading"]
)
@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_what_is_evaluated_does_not_depend_on_the_workers(schedule, backend):
    settings = {"batch_size": 3, "schedule": schedule}
    alone = run(uneven, **settings)
    with parallel_config(backend=backend):
        beside = run(uneven, n_jobs=3, **settings)
    assert beside.params_history == alone.params_history
    assert list(beside.values) == list(alone.values)


def test_a_window_asks_other_points_than_rounds():
    found = [run(batch_size=3, schedule=s).params_history for s in ("rounds", "window")]
    assert found[0][:3] == found[1][:3]
    assert found[0] != found[1]


def test_evaluations_run_at_the_same_time():
    barrier = threading.Barrier(2, timeout=300)

    def together(params):
        barrier.wait()
        return hill(params)

    with parallel_config(backend="threading"):
        result = run(together, n_jobs=2, batch_size=2, schedule="free")
    assert result.nfev == 14


def test_minimize_has_the_same_workers():
    result = run(lambda p: -hill(p), how=minimize, batch_size=2, schedule="window")
    assert result.fun < 0.01


@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_a_callback_ends_the_run(schedule):
    def enough(intermediate_result):
        if intermediate_result.nfev == 6:
            raise StopIteration

    result = run(batch_size=3, schedule=schedule, callback=enough)
    assert result.message == "The callback ended the run."
    assert result.nfev == {"rounds": 6, "window": 8}[schedule]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_exceptions_are_passed_on(n_jobs):
    with pytest.raises(RuntimeError, match="too large"):
        run(broken, n_jobs=n_jobs, batch_size=2)


@pytest.mark.parametrize(
    "given", [{"schedule": "never"}, {"batch_size": 0}, {"batch_size": 1.5}]
)
def test_settings_out_of_range_are_refused(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        run(**given)
