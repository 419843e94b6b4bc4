"""Settings of all tests: figures without a screen, data sets without internet."""

import functools
import importlib.util
import os
import re
import signal
import sys
import threading

import pytest

os.environ["MPLBACKEND"] = "Agg"
# Shells start background jobs with Ctrl-C ignored, and children inherit that: tests of
# Ctrl-C would wait forever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Doctest collection imports modules; these import other packages and have no examples.
collect_ignore_glob = []
# The examples of displays plot, and matplotlib is optional.
if importlib.util.find_spec("matplotlib") is None:
    collect_ignore_glob.append("skrobustbo/displays/*")

# The examples of integrations need the packages they integrate, as do programs.
for package, *programs in (
    ("mlflow",),
    ("optuna", "share_study"),
    ("ray", "tune_locally"),
):
    if importlib.util.find_spec(package) is None:
        collect_ignore_glob.append(f"skrobustbo/integrations/{package}.py")
        collect_ignore_glob += [f"tests/integrations/{name}.py" for name in programs]


#: Files and folders of tests that are too slow for the default run.
SLOW = [
    "tests/attack",
    "tests/bad_input/test_junk.py",
    "benchmarks/tests/benchmarks/test_reproduce.py",
    "tests/displays/test_display_branches.py",
    "tests/displays/test_display_pictures.py",
    "tests/optimizer/test_models.py",
    "tests/optimizer/test_rung_decisions.py",
    "tests/policies/test_balancing_promises.py",
    "tests/search/test_numerical_failures.py",
    "tests/search/test_resource_promises.py",
    "tests/search/test_warm_models.py",
    "benchmarks/tests/studies",
    "benchmarks/tests/test_commands.py",
    "tests/test_get_started.py",
]

#: Folders and files of tests that start processes or take longer; single tests are
#: marked. Tests without another tier are "unit" tests.
PROCESS = [
    "benchmarks/tests/benchmarks",
    "tests/checkpoint/test_beside.py",
    "tests/checkpoint/test_hostile.py",
    "tests/checkpoint/test_loading.py",
    "tests/checkpoint/test_resume.py",
    "tests/checkpoint/test_watch.py",
    "tests/conformance",
    "tests/displays/test_display_data.py",
    "tests/golden",
    "tests/integrations",
    "tests/optimizer/test_branches.py",
    "tests/optimizer/test_constraints.py",
    "tests/optimizer/test_many_choices.py",
    "tests/optimizer/test_numerical_care.py",
    "tests/optimizer/test_regret_bound.py",
    "tests/policies/test_balancing.py",
    "tests/policies/test_contract.py",
    "tests/policies/test_growing.py",
    "tests/policies/test_regressors.py",
    "benchmarks/tests/problems/test_changing.py",
    "benchmarks/tests/problems/test_synthetic.py",
    "benchmarks/tests/problems/test_tunings.py",
    "tests/search/test_callbacks.py",
    "tests/search/test_evaluation.py",
    "tests/search/test_failures.py",
    "tests/search/test_interruption.py",
    "tests/search/test_metrics.py",
    "tests/search/test_parallel.py",
    "tests/search/test_previous.py",
    "tests/search/test_progress.py",
    "tests/search/test_report.py",
    "tests/search/test_resuming.py",
    "tests/search/test_search.py",
    "tests/search/test_stops.py",
    "tests/space/test_space_properties.py",
    "tests/surrogate/test_sampling.py",
    "tests/test_docs.py",
    "tests/test_examples.py",
]


#: Tests in these folders, and files that skip tests without other packages than these,
#: run once more with such packages: these come with the extra `test`, or CI has a step
#: for them.
PACKAGES = ["skrobustbo/integrations", "tests/integrations"]
OTHERS = {"docutils", "matplotlib", "pandas", "playwright", "plotly"}


@functools.cache
def needs_packages(path, root):
    """Return whether tests of a file need optional packages."""
    skipped = re.findall(r"importorskip\(\s*[\"'](\w+)", path.read_text())
    inside = any(path.is_relative_to(root / name) for name in PACKAGES)
    return inside or not OTHERS.issuperset(skipped)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Give each test the tier of its file by default, and mark its packages."""
    tiers = {"long": [], "slow": SLOW, "process": PROCESS, "unit": []}
    for item in items:
        if not any(map(item.get_closest_marker, tiers)):
            inside = (
                tier
                for tier, names in tiers.items()
                if any(item.path.is_relative_to(config.rootpath / n) for n in names)
            )
            item.add_marker(next(inside, "unit"))
        if needs_packages(item.path, config.rootpath):
            item.add_marker("packages")
        if item.path.name == "mlflow.py":  # MLflow's warnings are not ours
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(autouse=True)
def _figures_closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module")
def one_blas():
    """Use one BLAS thread: faster for small matrices, with the same bits."""
    from skrobustbo._threads import limited_threads

    with limited_threads():
        yield


class _Clock:
    """A clock that only fits move forward.

    Attributes
    ----------
    begun, ended : list
        The fits; of those begun, also the times.
    """

    def __init__(self):
        self.now = 0.0
        self.begun = []
        self.ended = []
        self._lock = threading.Lock()

    def monotonic(self):
        return self.now

    perf_counter = monotonic

    def spend(self, what, seconds):
        with self._lock:
            self.begun.append((what, self.now))
            self.now += seconds
            self.ended.append(what)


@pytest.fixture
def clock(monkeypatch):
    """Let searches use a clock controlled by the test."""
    made = _Clock()
    monkeypatch.setattr("skrobustbo.evaluation._stops.time", made)
    monkeypatch.setattr("skrobustbo.evaluation._folds.time", made)
    return made
