"""MNIST: where it is looked for, how it is downloaded, and what is refused."""

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from skrobustbo_benchmarks.datasets import _mnist, fetch_mnist

pytestmark = pytest.mark.usefixtures("no_other_home")


def idx(array):
    """Return the bytes of an IDX file of unsigned bytes."""
    header = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture
def contents(monkeypatch):
    """Small files in place of the published ones, by name, uncompressed."""
    rng = np.random.RandomState(0)
    files = {}
    for prefix, n in (("train", 7), ("t10k", 3)):
        images = rng.randint(256, size=(n, 28, 28))
        files[f"{prefix}-images-idx3-ubyte"] = idx(images)
        files[f"{prefix}-labels-idx1-ubyte"] = idx(rng.randint(10, size=n))
    expected = {
        name: (len(data), hashlib.sha256(data).hexdigest())
        for name, data in files.items()
    }
    monkeypatch.setattr(_mnist, "CONTENTS", expected)
    return files


@pytest.fixture
def server(served, monkeypatch):
    """Serve a folder under the address from which MNIST is downloaded."""
    monkeypatch.setattr(_mnist, "BASE_URL", served.url)
    return served


@pytest.fixture
def closed_port(monkeypatch):
    """Let downloads fail: the port is bound, so that nobody else can answer there."""
    import socket

    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        monkeypatch.setattr(
            _mnist, "BASE_URL", f"http://127.0.0.1:{unheard.getsockname()[1]}/"
        )
        yield


def put(folder, contents, suffix=".gz"):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        packed = gzip.compress(data) if suffix else data
        (folder / f"{name}{suffix}").write_bytes(packed)


def files_below(folder):
    return sorted(path.name for path in Path(folder).rglob("*") if path.is_file())


# -- what is returned -------------------------------------------------------------


@pytest.mark.parametrize(
    ("subset", "prefixes"),
    [("train", ["train"]), ("test", ["t10k"]), ("all", ["train", "t10k"])],
)
def test_arrays_are_those_of_the_files(contents, tmp_path, subset, prefixes):
    put(tmp_path, contents)
    bunch = fetch_mnist(subset, data_home=tmp_path, download=False)
    images = b"".join(contents[f"{p}-images-idx3-ubyte"][16:] for p in prefixes)
    labels = b"".join(contents[f"{p}-labels-idx1-ubyte"][8:] for p in prefixes)
    assert bunch.images.tobytes() == images
    assert bunch.target.tolist() == list(labels)
    assert bunch.data.shape == (len(labels), 784)
    assert bunch.data.dtype == bunch.images.dtype == np.uint8
    assert bunch.target.dtype == np.int64


def test_bunch_has_what_scikit_learns_have(contents, tmp_path):
    put(tmp_path, contents)
    bunch = fetch_mnist(data_home=tmp_path)
    np.testing.assert_array_equal(bunch.data, bunch.images.reshape(-1, 784))
    assert bunch.data.flags.writeable
    assert bunch.target_names.tolist() == list(range(10))
    assert len(bunch.feature_names) == 784
    assert bunch.feature_names[28] == "pixel_1_0"
    assert "MNIST" in bunch.DESCR
    X, y = fetch_mnist(data_home=tmp_path, return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


# -- where the files are looked for -----------------------------------------------


@pytest.mark.parametrize("suffix", [".gz", ""])
@pytest.mark.parametrize("inner", [".", "mnist"])
def test_found_in_data_home(contents, tmp_path, inner, suffix, closed_port):
    put(tmp_path / "home" / inner, contents, suffix)
    assert fetch_mnist(data_home=str(tmp_path / "home")).data.shape == (7, 784)


@pytest.mark.parametrize("inner", [".", "mnist"])
def test_found_by_the_environment_variable(contents, tmp_path, monkeypatch, inner):
    put(tmp_path / "env" / inner, contents)
    monkeypatch.setenv("SKROBUSTBO_DATA", str(tmp_path / "env"))
    assert fetch_mnist("test", download=False).data.shape == (3, 784)
    elsewhere = tmp_path / "empty"
    assert fetch_mnist(data_home=elsewhere, download=False).data.shape == (7, 784)


def test_data_home_comes_before_the_variable(contents, tmp_path, monkeypatch):
    put(tmp_path / "home", contents)
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "train-labels-idx1-ubyte.gz").write_bytes(b"damaged")
    monkeypatch.setenv("SKROBUSTBO_DATA", str(tmp_path / "env"))
    assert fetch_mnist(data_home=tmp_path / "home").data.shape == (7, 784)
    with pytest.raises(OSError, match="damaged"):
        fetch_mnist()


def test_found_in_the_default_home(contents, tmp_path):
    put(tmp_path / "default" / "mnist", contents)
    assert fetch_mnist(download=False).data.shape == (7, 784)


# -- downloads --------------------------------------------------------------------


def test_download_is_kept_and_not_repeated(contents, tmp_path, server):
    put(server.folder, contents)
    home = tmp_path / "home"
    first = fetch_mnist(data_home=home)
    assert len(server.requested) == 2
    second = fetch_mnist(data_home=home)
    assert len(server.requested) == 2
    np.testing.assert_array_equal(first.data, second.data)
    assert files_below(home) == [
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
    ]


def test_download_goes_to_the_first_folder_that_is_named(
    contents, tmp_path, server, monkeypatch
):
    put(server.folder, contents)
    fetch_mnist("test")
    assert len(files_below(tmp_path / "default" / "mnist")) == 2
    monkeypatch.setenv("SKROBUSTBO_DATA", str(tmp_path / "env"))
    fetch_mnist()
    assert len(files_below(tmp_path / "env" / "mnist")) == 2


def test_uncompressed_answer_is_kept_uncompressed(contents, tmp_path, server):
    put(server.folder, contents, suffix="")
    for path in server.folder.iterdir():
        path.rename(path.with_name(f"{path.name}.gz"))
    fetch_mnist(data_home=tmp_path / "home")
    assert files_below(tmp_path / "home") == [
        "train-images-idx3-ubyte",
        "train-labels-idx1-ubyte",
    ]
    assert fetch_mnist(data_home=tmp_path / "home", download=False).data.shape[0] == 7


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda packed: packed[:-20], "decompressed"),
        (lambda packed: gzip.compress(gzip.decompress(packed) + b"x"), "got more"),
        (lambda packed: gzip.compress(gzip.decompress(packed)[:-1]), "bytes"),
        (lambda packed: gzip.compress(gzip.decompress(packed)[:-1] + b"\xff"), "SHA"),
        (lambda packed: b"<html>not here</html>", "bytes"),
        (lambda packed: b"", "bytes"),
    ],
    ids=["truncated", "longer", "shorter", "altered", "html", "empty"],
)
def test_wrong_download_is_an_error_and_leaves_nothing(
    contents, tmp_path, server, spoil, reason
):
    put(server.folder, contents)
    path = server.folder / "train-labels-idx1-ubyte.gz"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(FileNotFoundError, match=reason):
        fetch_mnist(data_home=tmp_path / "home")
    assert files_below(tmp_path / "home") == []


def test_a_download_that_cannot_be_kept_says_so(contents, tmp_path, server):
    put(server.folder, contents)
    (tmp_path / "home").write_text("a file where the folder should be")
    with pytest.raises(OSError, match=r"could not be written to .*home"):
        fetch_mnist(data_home=tmp_path / "home")


# -- failures ---------------------------------------------------------------------


def test_not_found_says_where_it_looked_and_what_to_do(
    contents, tmp_path, monkeypatch, closed_port
):
    monkeypatch.setenv("SKROBUSTBO_DATA", str(tmp_path / "env"))
    with pytest.raises(FileNotFoundError) as caught:
        fetch_mnist(data_home=tmp_path / "home", timeout=2)
    message = str(caught.value)
    for folder in ("home", "env", "default"):
        assert str(tmp_path / folder / "mnist") in message
    assert "train-labels-idx1-ubyte.gz" in message
    assert "http://127.0.0.1" in message
    assert "SKROBUSTBO_DATA" in message
    assert "data_home" in message


def test_missing_on_the_server(contents, tmp_path, server):
    with pytest.raises(FileNotFoundError, match="404"):
        fetch_mnist(data_home=tmp_path / "home")


def test_download_can_be_forbidden(contents, tmp_path, server):
    put(server.folder, contents)
    with pytest.raises(FileNotFoundError, match="download=False"):
        fetch_mnist(data_home=tmp_path, download=False)
    assert server.requested == []


def test_silent_server_is_not_waited_for_long(contents, tmp_path, monkeypatch):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setattr(_mnist, "BASE_URL", f"http://127.0.0.1:{port}/")
        with pytest.raises(FileNotFoundError, match="timed out"):
            fetch_mnist(data_home=tmp_path, timeout=0.1)


def test_truncated_file_on_disk_is_named(contents, tmp_path, closed_port):
    put(tmp_path, contents)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(
        OSError, match=r"train-images-idx3-ubyte\.gz is damaged.*Delete"
    ):
        fetch_mnist(data_home=tmp_path)


@pytest.mark.parametrize("subset", ["training", "", None])
def test_unknown_subset(subset):
    with pytest.raises(ValueError, match="'train', 'test' or 'all'"):
        fetch_mnist(subset)


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_unusable_timeout(timeout):
    with pytest.raises(ValueError, match="positive number of seconds"):
        fetch_mnist(timeout=timeout)


def test_published_sizes_fit_the_shapes():
    for name, (size, sha256) in _mnist.CONTENTS.items():
        n = 60_000 if name.startswith("train") else 10_000
        assert size == (16 + 784 * n if "images" in name else 8 + n)
        assert len(sha256) == 64
