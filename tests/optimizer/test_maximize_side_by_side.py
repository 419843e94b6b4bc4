"""`maximize` with several evaluations in parallel, and early ends."""

import os
import signal
import threading
import time
from asyncio import CancelledError
from dataclasses import dataclass

import numpy as np
import pytest
from joblib import parallel_config
from joblib.externals.loky.process_executor import _ExecutorManagerThread

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


# Interruptions and exceptions ---------------------------------------------------------

SETTINGS = [
    {},
    {"batch_size": 4},
    {"batch_size": 3, "schedule": "window"},
    {"batch_size": 3, "schedule": "free"},
]


@dataclass(frozen=True)
class Frozen(Exception):
    reason: str = "mine"


def raising(error):
    def act(params):
        raise error

    return act


def interrupt(params):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)  # the handler runs here at the latest
    return 0.0


def at(number, act):
    """Return an objective that does something else in one of its evaluations."""
    calls = []

    def objective(params):
        calls.append(params)
        return act(params) if len(calls) == number else hill(params)

    return objective


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("act", [raising(KeyboardInterrupt()), interrupt])
def test_an_interrupted_run_returns_what_it_has_found(act, settings):
    before = signal.getsignal(signal.SIGINT)
    result = run(at(6, act), **settings)
    assert not result.success
    assert result.message == "Interrupted after 5 of 14 evaluations."
    assert list(result.values) == [hill(params) for params in result.params_history]
    assert result.nfev == 5
    assert result.fun == max(result.values) == hill(result.x)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_callback_may_interrupt():
    def callback(intermediate_result):
        if intermediate_result.nfev == 5:
            interrupt(None)

    result = run(callback=callback)
    assert (result.success, result.nfev) == (False, 5)


@pytest.mark.parametrize("act", [raising(KeyboardInterrupt()), interrupt])
def test_an_interruption_before_the_first_value_is_raised(act):
    with pytest.raises(KeyboardInterrupt):
        run(at(1, act))


@pytest.mark.parametrize("settings", SETTINGS)
def test_sigterm_before_the_first_value_ends_without_a_traceback(settings):
    def terminate(params):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)

    with pytest.raises(SystemExit) as ended:
        run(at(1, terminate), **settings)
    assert ended.value.code == 128 + signal.SIGTERM


def test_an_interruption_after_the_last_value_changes_nothing():
    def callback(intermediate_result):
        if intermediate_result.nfev == 14:
            interrupt(None)

    assert run(callback=callback).success


def test_an_interruption_ends_the_run_around_another_one():
    result = run(at(6, lambda params: run(at(3, interrupt)).fun))
    assert (result.success, result.nfev) == (False, 5)


def test_what_ends_a_program_is_passed_on():
    with pytest.raises(SystemExit):
        run(at(6, raising(SystemExit())))


@pytest.mark.parametrize("how", [maximize, minimize])
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    "error",
    [RuntimeError, StopIteration, OSError, SystemExit, CancelledError, GeneratorExit],
)
def test_an_exception_carries_the_result_so_far(error, settings, how):
    with pytest.raises(error, match="mine") as caught:
        run(at(6, raising(error("mine"))), how, **settings)
    result = caught.value.result
    assert not result.success
    assert result.message == f"Ended by {error.__name__} after 5 of 14 evaluations."
    assert list(result.values) == [hill(params) for params in result.params_history]
    assert result.nfev == 5
    assert result.optimizer.best_params_ == result.x
    (said,) = caught.value.__notes__
    assert "5 evaluations" in said
    assert "attribute 'result'" in said
    assert str(result.x) in said


@pytest.mark.parametrize(
    ("n_failed", "how"), [(1, "1 evaluation"), (2, "2 evaluations")]
)
def test_an_exception_after_failures_only_says_so(n_failed, how):
    def objective(params):
        if len(calls) == n_failed:
            raise RuntimeError
        calls.append(params)
        return np.nan

    calls = []
    with pytest.raises(RuntimeError) as caught:
        run(objective)
    (said,) = caught.value.__notes__
    assert said.endswith(f": {how}, no value.")


def test_an_exception_in_the_first_evaluation_carries_an_empty_result():
    with pytest.raises(RuntimeError) as caught:
        run(at(1, raising(RuntimeError())))
    assert caught.value.result.nfev == 0
    assert caught.value.result.x is None
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("settings", SETTINGS)
def test_an_exception_that_takes_no_attributes_is_passed_on(settings):
    with pytest.raises(Frozen):
        run(at(6, raising(Frozen())), **settings)


@pytest.mark.parametrize("settings", SETTINGS)
def test_an_exception_of_the_callback_carries_the_result_so_far(settings):
    def callback(intermediate_result):
        if intermediate_result.nfev == 5:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine") as caught:
        run(callback=callback, **settings)
    # All evaluations of a round have finished by then.
    n = 8 if settings.get("batch_size") == 4 else 5
    assert caught.value.result.nfev == n


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    "value", [None, "0.5", [0.5, 1.0], np.zeros(2), {}, 1j, True, 10**400]
)
def test_values_that_are_no_numbers_are_said_to_be_of_the_function(value, settings):
    with pytest.raises(ValueError, match="The function must return a number") as caught:
        run(at(6, lambda params: value), **settings)
    assert "Got " in str(caught.value)
    assert "{'x': " in str(caught.value)
    assert caught.value.result.nfev == 5


def test_values_that_cannot_be_shown():
    class Odd:
        def __repr__(self):
            raise RuntimeError("not mine")

    with pytest.raises(ValueError, match="Odd"):
        run(lambda params: Odd())


@pytest.mark.parametrize("act", ["raise", "interrupt"])
@pytest.mark.parametrize("schedule", ["rounds", "window", "free"])
def test_what_is_finished_beside_an_exception_is_kept(schedule, act):
    others, calls = threading.Barrier(3, timeout=30), []

    def objective(params):
        calls.append(params)
        number = len(calls)
        if number in (1, 2):
            others.wait()
        if number == 3:
            others.wait()
            time.sleep(0.2)  # the others have almost finished
            raise RuntimeError("mine") if act == "raise" else KeyboardInterrupt
        return hill(params)

    settings = {"n_jobs": 3, "batch_size": 3, "schedule": schedule}
    with parallel_config(backend="threading"):
        if act == "raise":
            with pytest.raises(RuntimeError, match="mine") as caught:
                run(objective, **settings)
            result = caught.value.result
        else:
            result = run(objective, **settings)
    assert result.nfev >= 2
    assert not result.success


@pytest.mark.process
@pytest.mark.parametrize("act", [None, RuntimeError("mine")])
def test_exceptions_of_processes_carry_the_result_so_far(act):
    def objective(params):
        if params["x"] < 0.9:
            return hill(params)
        if act is None:
            return None
        raise act

    with pytest.raises(Exception, match=r"mine|must return a number") as caught:
        run(
            objective,
            n_jobs=2,
            batch_size=2,
            initial_params=[{"x": 0.0}, {"x": 0.1}, {"x": 0.95}],
        )
    assert caught.value.result.nfev >= 2


@pytest.mark.process
def test_loky_is_not_stopped_while_a_task_is_in_its_queue(monkeypatch):
    # An exception in a thread of loky is a warning, which fails this test.
    wait = _ExecutorManagerThread.wait_result_broken_or_wakeup
    told, interrupted = threading.Event(), threading.Event()

    def tell(intermediate_result):
        told.set()

    def slow_to_accept(manager):
        found = wait(manager)
        is_behind = told.is_set() and not manager.work_ids_queue.empty()
        if is_behind and not interrupted.is_set():
            interrupted.set()
            time.sleep(0.2)  # the others of the round are submitted
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
        return found

    monkeypatch.setattr(
        _ExecutorManagerThread, "wait_result_broken_or_wakeup", slow_to_accept
    )
    result = run(n_jobs=2, batch_size=2, callback=tell)
    assert interrupted.is_set()
    assert not result.success
