"""What tests of the laboratory share: data sets without the internet."""

import functools
import http.server
import threading

import pytest

# To look for examples is to import; these import other packages, and have none.
collect_ignore_glob = [
    f"skrobustbo_benchmarks/_peers/_{peer}.py"
    for peer in ("cmaes", "skopt", "optuna", "botorch", "smac")
]


@pytest.fixture
def no_other_home(tmp_path, monkeypatch):
    """Keep a test away from the user's own data folders."""
    from skrobustbo_benchmarks.datasets import _fetch

    monkeypatch.delenv("SKROBUSTBO_DATA", raising=False)
    monkeypatch.setattr(_fetch, "DEFAULT_HOME", str(tmp_path / "default"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")


class _Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.server.requested.append(self.path)
        super().do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture
def served(tmp_path):
    """Serve a folder: `folder`, its `url` and the paths `requested`."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(_Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.requested = []
        server.folder = folder
        server.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def build(monkeypatch):
    """`problems.get` without downloads; skips the test where data are not at hand."""
    from skrobustbo_benchmarks import problems
    from skrobustbo_benchmarks.datasets import _fetch

    def refuse(file, timeout):
        raise OSError("tests of problems download nothing")

    def get(name, **settings):
        try:
            return problems.get(name, **settings)
        except FileNotFoundError as error:
            reason = str(error).split(" was not found")[0]
            pytest.skip(f"no data, set SKROBUSTBO_DATA: {reason}")

    monkeypatch.setattr(_fetch, "_download", refuse)
    return get
