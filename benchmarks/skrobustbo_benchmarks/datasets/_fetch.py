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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Home = str | os.PathLike[str] | None

#: Environment variable that names a folder of data sets.
ENVIRONMENT_VARIABLE = "SKROBUSTBO_DATA"

#: Where downloads are kept when neither `data_home` nor the variable names a folder.
DEFAULT_HOME = "~/skrobustbo_data"

_GZIP_MAGIC = b"\x1f\x8b"
# A gzip wrapper adds at most a few bytes per block to incompressible content.
_WRAPPER_ALLOWANCE = 1 << 16


@dataclass(frozen=True)
class RemoteFile:
    """A published file, by its name without ``.gz``.

    The address may be that of a compressed copy; size and digest are of the content.
    """

    name: str
    url: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Source:
    """How a user wants files: from which folder, and whether to be downloaded.

    Files lie in a data folder, `data_home` first, or in its own `folder` of the data
    set. `function` is who asks, and `advice` tells another way to the data.
    """

    folder: str
    data_home: Home
    download: bool
    timeout: float
    function: str
    advice: str = ""

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise ValueError(
                f"The 'timeout' parameter of {self.function} must be a positive number "
                f"of seconds. Got {self.timeout!r} instead."
            )

    def content(self, file: RemoteFile) -> bytes:
        """Return the checked, uncompressed content of a file, from disk or its address.

        Raises
        ------
        FileNotFoundError
            If the file is nowhere and could not be downloaded.
        OSError
            If a file was found that does not hold the right content, or a download
            could not be written to disk.
        """
        packed_name = f"{file.name}.gz"
        path = self.locate(packed_name, file.name)
        if path is not None:
            try:
                return _unpack(path.read_bytes(), file)
            except ValueError as error:
                raise OSError(
                    f"The file {path} is damaged or not the published one: {error}. "
                    "Delete it, and it will be downloaded again."
                ) from error
        packed, content = self._downloaded(file, packed_name)
        self._keep(packed, packed_name if packed[:2] == _GZIP_MAGIC else file.name)
        return content

    def converted(
        self, file: RemoteFile, name: str, convert: Callable[[bytes], bytes]
    ) -> bytes:
        """Return a file of another format than the published one, which is not kept.

        It is as found on disk, **unchecked**, or as ``convert(content) -> bytes`` makes
        it of the published content. The errors are those of `content`.
        """
        path = self.locate(name)
        if path is not None:
            return path.read_bytes()
        converted = convert(self._downloaded(file, name)[1])
        self._keep(converted, name)
        return converted

    def locate(self, *names: str) -> Path | None:
        """Return the first path, folder by folder, at which one of the files is."""
        paths = (
            parent / name
            for home in self._homes
            for parent in (home, home / self.folder)
            for name in names
        )
        return next((path for path in paths if path.is_file()), None)

    @property
    def _homes(self) -> list[Path]:
        """The data folders in the order in which they are asked."""
        named = (self.data_home, os.environ.get(ENVIRONMENT_VARIABLE), DEFAULT_HOME)
        homes = [Path(home).expanduser() for home in named if home]
        return list(dict.fromkeys(homes))

    def _downloaded(self, file: RemoteFile, name: str) -> tuple[bytes, bytes]:
        """Return a file as it arrives and its content, or say what to do without."""
        if not self.download:
            raise FileNotFoundError(self._advice(name, "download=False"))
        try:
            return _download(file, self.timeout)
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = f"{file.url}: {error or type(error).__name__}"
            raise FileNotFoundError(self._advice(name, reason)) from error

    def _advice(self, name: str, reason: str) -> str:
        """Return what to say of a file that is nowhere."""
        places = ", ".join(f"{home} or {home / self.folder}" for home in self._homes)
        return (
            f"{name} was not found in {places} and was not downloaded "
            f"({reason}). Connect to the internet and try again, or put the files of "
            "the data set into a folder and name it by data_home or by the environment "
            f"variable {ENVIRONMENT_VARIABLE}.{self.advice and ' '}{self.advice}"
        )

    def _keep(self, content: bytes, name: str) -> None:
        """Write a download so that other processes see all of it or nothing."""
        folder = self._homes[0] / self.folder
        part = folder / f"{name}.{os.getpid()}-{threading.get_ident()}.part"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(content)
            os.replace(part, folder / name)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise OSError(
                f"{name} was downloaded but could not be written to {folder} "
                f"({error}). Name a writable folder by data_home or by the environment "
                f"variable {ENVIRONMENT_VARIABLE}."
            ) from error


def _download(file: RemoteFile, timeout: float) -> tuple[bytes, bytes]:
    """Return a file as it arrived and its checked content."""
    # What arrives must be the file itself, not a second wrapper around it.
    headers = {"User-Agent": "skrobustbo", "Accept-Encoding": "identity"}
    request = urllib.request.Request(file.url, headers=headers)
    with urllib.request.urlopen(request, timeout=timeout) as response:
        packed: bytes = response.read(file.size + _WRAPPER_ALLOWANCE)
    return packed, _unpack(packed, file)


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
