"""Data folders of its own for each test, and a server to download from."""

import functools
import http.server
import threading

import pytest

from skrobustbo.datasets import _fetch


@pytest.fixture(autouse=True)
def no_other_home(tmp_path, monkeypatch):
    """Keep the tests away from the user's own data folders."""
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
    """A server of a folder: `folder`, `url` and the paths `requested`."""
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
