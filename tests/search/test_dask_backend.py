"""What is mended in joblib's Dask backend, without a cluster."""

from concurrent.futures import Future

import pytest

from skrobustbo.evaluation._dask import mend, take_back


class DaskDistributedBackend:
    """Known by its name; answers when it is told to."""

    def __init__(self, n_threads=4):
        self.n_threads, self.client, self._results = n_threads, self, {}
        self.cancelled = None

    def effective_n_jobs(self, n_jobs):
        return self.n_threads

    def submit(self, func, callback=None):
        self._results[func] = Future()
        return self._results[func]

    def cancel(self, futures):
        self.cancelled = futures


class BeforeJoblib15(DaskDistributedBackend):
    apply_async = DaskDistributedBackend.submit
    submit = property()


BeforeJoblib15.__name__ = "DaskDistributedBackend"


class FakeParallel:
    def __init__(self, backend):
        self._backend = backend


@pytest.mark.parametrize(
    ("made", "name"),
    [(DaskDistributedBackend, "submit"), (BeforeJoblib15, "apply_async")],
)
def test_an_error_in_place_of_a_result_is_told_once(made, name):
    backend, told = made(), []
    mend(FakeParallel(backend))
    mend(FakeParallel(backend))  # a further pool of the same context
    for error in (RuntimeError("given up"), None):
        future = getattr(backend, name)("task", callback=told.append)
        future.set_exception(error) if error else future.set_result(3)
    assert [str(error) for error in told] == ["given up"]
    assert getattr(backend, name)("task").cancel() is True  # nobody to be told


@pytest.mark.parametrize(("n_threads", "counted"), [(0, 0), (1, 2), (2, 2), (7, 7)])
def test_a_single_thread_counts_for_two(n_threads, counted):
    backend = DaskDistributedBackend(n_threads)
    mend(FakeParallel(backend))
    assert backend.effective_n_jobs(-1) == counted


def test_what_is_left_on_the_cluster_is_cancelled():
    backend = DaskDistributedBackend()
    backend.submit("left")
    take_back(FakeParallel(backend))
    assert backend.cancelled == ["left"]


def test_other_backends_are_left_alone():
    class Other(DaskDistributedBackend):
        pass

    backend = Other(1)
    before = dict(vars(backend))
    mend(FakeParallel(backend))
    take_back(FakeParallel(backend))
    assert vars(backend) == before
