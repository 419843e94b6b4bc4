"""Files of data sets: found in a folder, or downloaded once and checked.

A file is known by the SHA-256 of its *uncompressed* content, so that a copy compressed
by other hands is as good as the published one. Content that does not match is never
handed on, and a download that does not match is not kept.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import io
import os
import threading
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["RemoteFile", "checked_timeout", "fetch_content", "fetch_converted"]

#: Environment variable that names a folder of data sets.
ENVIRONMENT_VARIABLE = "SKROBUSTBO_DATA"

#: Where downloads are kept when neither `data_home` nor the variable names a folder.
DEFAULT_HOME = "~/skrobustbo_data"

_FORBIDDEN = "download=False"
_GZIP_MAGIC = b"\x1f\x8b"
# A gzip wrapper adds at most a few bytes per block to incompressible content.
_WRAPPER_ALLOWANCE = 1 << 16


@dataclass(frozen=True)
class RemoteFile:
    """A published file.

    Parameters
    ----------
    name : str
        Its name, without ``.gz``.
    url : str
        Address of the file, compressed by gzip or not.
    size : int
        Bytes of the uncompressed content.
    sha256 : str
        Hexadecimal SHA-256 of the uncompressed content.
    """

    name: str
    url: str
    size: int
    sha256: str


def fetch_content(
    file: RemoteFile,
    folder: str,
    *,
    data_home: str | os.PathLike[str] | None,
    download: bool,
    timeout: float,
) -> bytes:
    """Return the uncompressed content of a file, from disk or else from its address.

    Parameters
    ----------
    file : RemoteFile
        What to fetch.
    folder : str
        Name of the data set's own folder inside a data folder.
    data_home : path or None
        Data folder to look into first, and to download into.
    download : bool
        Whether to download a file that is in none of the folders.
    timeout : float
        Seconds to wait for an answer of the server, positive.

    Returns
    -------
    content : bytes
        The content, which has the right checksum.

    Raises
    ------
    FileNotFoundError
        If the file is nowhere and could not be downloaded.
    OSError
        If a file was found that does not hold the right content, or a download could
        not be written to disk.
    """
    homes = _data_homes(data_home)
    for path in _candidates(file, folder, homes):
        if path.is_file():
            return _read(path, file)
    if not download:
        raise FileNotFoundError(_advice(f"{file.name}.gz", folder, homes, _FORBIDDEN))
    packed, content = _download_or_advise(
        file, f"{file.name}.gz", folder, homes, timeout
    )
    name = f"{file.name}.gz" if packed[:2] == _GZIP_MAGIC else file.name
    _keep(packed, homes[0] / folder / name)
    return content


def fetch_converted(
    file: RemoteFile,
    name: str,
    folder: str,
    convert: Callable[[bytes], bytes],
    *,
    data_home: str | os.PathLike[str] | None,
    download: bool,
    timeout: float,
    more_advice: str,
) -> bytes:
    """Return a file of another format than the published one, from disk or converted.

    Parameters
    ----------
    file : RemoteFile
        The published file, which is never written to disk.
    name : str
        Name of the converted file.
    folder : str
        Name of the data set's own folder inside a data folder.
    convert : callable
        ``convert(content) -> bytes``, from the published content.
    data_home, download, timeout
        As in `fetch_content`.
    more_advice : str
        Sentence on another way to the data, for the error message.

    Returns
    -------
    converted : bytes
        The file as found on disk, **unchecked**, or as converted from a checked
        download.

    Raises
    ------
    FileNotFoundError
        If the file is nowhere and could not be downloaded.
    OSError
        If the converted file could not be written to disk.
    """
    homes = _data_homes(data_home)
    path = locate(name, folder, homes)
    if path is not None:
        return path.read_bytes()
    if not download:
        advice = _advice(name, folder, homes, _FORBIDDEN, more_advice)
        raise FileNotFoundError(advice)
    _, content = _download_or_advise(file, name, folder, homes, timeout, more_advice)
    converted = convert(content)
    _keep(converted, homes[0] / folder / name)
    return converted


def checked_timeout(function: str, timeout: float) -> float:
    """Return `timeout` as it is, or say that it must be positive."""
    if not timeout > 0:
        raise ValueError(
            f"The 'timeout' parameter of {function} must be a positive number of "
            f"seconds. Got {timeout!r} instead."
        )
    return timeout


def locate(name: str, folder: str, homes: list[Path] | None = None) -> Path | None:
    """Return the path of a file in the first data folder that has it, or None."""
    for home in homes or _data_homes(None):
        for parent in (home, home / folder):
            if (parent / name).is_file():
                return parent / name
    return None


def _data_homes(data_home: str | os.PathLike[str] | None) -> list[Path]:
    """Return the data folders in the order in which they are asked."""
    named = (data_home, os.environ.get(ENVIRONMENT_VARIABLE), DEFAULT_HOME)
    homes = [Path(home).expanduser() for home in named if home]
    return list(dict.fromkeys(homes))


def _candidates(file: RemoteFile, folder: str, homes: list[Path]) -> Iterator[Path]:
    """Yield the paths at which a file may be."""
    for home in homes:
        for parent in (home, home / folder):
            yield parent / f"{file.name}.gz"
            yield parent / file.name


def _advice(
    name: str, folder: str, homes: list[Path], reason: str, more: str = ""
) -> str:
    """Return what to say of a file that is nowhere."""
    places = ", ".join(f"{home} or {home / folder}" for home in homes)
    return (
        f"{name} was not found in {places} and was not downloaded "
        f"({reason}). Connect to the internet and try again, or put the files of the "
        f"data set into a folder and name it by data_home or by the environment "
        f"variable {ENVIRONMENT_VARIABLE}.{more and ' '}{more}"
    )


def _read(path: Path, file: RemoteFile) -> bytes:
    """Return the checked content of a file on disk."""
    try:
        return _unpack(path.read_bytes(), file)
    except ValueError as error:
        raise OSError(
            f"The file {path} is damaged or not the published one: {error}. Delete it, "
            "and it will be downloaded again."
        ) from error


def _download(file: RemoteFile, timeout: float) -> tuple[bytes, bytes]:
    """Return a file as it arrived and its checked content."""
    request = urllib.request.Request(
        file.url,
        # What arrives must be the file itself, not a second wrapper around it.
        headers={"User-Agent": "skrobustbo", "Accept-Encoding": "identity"},
    )
    with urllib.request.urlopen(request, timeout=timeout) as response:
        packed: bytes = response.read(file.size + _WRAPPER_ALLOWANCE)
    return packed, _unpack(packed, file)


def _download_or_advise(
    file: RemoteFile,
    name: str,
    folder: str,
    homes: list[Path],
    timeout: float,
    more: str = "",
) -> tuple[bytes, bytes]:
    """Return what `_download` does, or say what to do without a connection."""
    try:
        return _download(file, timeout)
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = f"{file.url}: {error or type(error).__name__}"
        advice = _advice(name, folder, homes, reason, more)
        raise FileNotFoundError(advice) from error


def _keep(content: bytes, path: Path) -> None:
    """Write a download so that other processes see all of it or nothing."""
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise OSError(
            f"{path.name} was downloaded but could not be written to {path.parent} "
            f"({error}). Name a writable folder by data_home or by the environment "
            f"variable {ENVIRONMENT_VARIABLE}."
        ) from error


def _unpack(packed: bytes, file: RemoteFile) -> bytes:
    """Return the uncompressed content, or raise ValueError if it is not the file's."""
    content = packed
    if packed.startswith(_GZIP_MAGIC):
        try:
            # One byte more than expected tells a longer file, and bounds the memory.
            with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
                content = stream.read(file.size + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"it cannot be decompressed ({error})") from error
    if len(content) != file.size:
        relation = "more" if len(content) > file.size else f"{len(content)}"
        raise ValueError(f"expected {file.size} bytes of content, got {relation}")
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise ValueError(f"expected content with SHA-256 {file.sha256}, got {digest}")
    return content
