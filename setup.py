"""An sdist of the same bytes wherever it is built; all else is in setup.cfg."""

import gzip
import os
import tarfile
import time
from pathlib import Path

from setuptools import setup
from setuptools.command import sdist


class ReproducibleSdist(sdist.sdist):
    """Writes archives that tell nothing of the machine, the user or the hour.

    Files are in the order of their names, and their time is that of the environment
    variable ``SOURCE_DATE_EPOCH``, where it is set.
    """

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, **others):
        """Write an archive; only .tar.gz ones are reproducible."""
        if format != "gztar":
            return super().make_archive(
                base_name, format, root_dir=root_dir, base_dir=base_dir, **others
            )
        epoch = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
        top = Path(root_dir or ".")
        files = [path for path in (top / base_dir).rglob("*") if path.is_file()]
        target = Path(f"{base_name}.tar.gz")
        with (
            target.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for path in sorted(files):
                info = tarfile.TarInfo(path.relative_to(top).as_posix())
                info.size, info.mtime = path.stat().st_size, epoch
                info.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                with path.open("rb") as content:
                    tar.addfile(info, content)
        return str(target)


os.umask(0o022)  # a wheel keeps the modes of files, which are to be the same as well
setup(cmdclass={"sdist": ReproducibleSdist})
