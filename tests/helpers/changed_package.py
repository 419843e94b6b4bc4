"""A copy of the package with changed text, and a script that uses the copy."""

import shutil
import subprocess
import sys
from pathlib import Path

import skrobustbo

ROOT = Path(skrobustbo.__file__).parent


def output_with(changes, script, folder):
    """Return the output of a script that uses a changed copy of the package.

    Parameters
    ----------
    changes : dict of str to dict
        For each file of the package, replacements of texts. Each text to replace must
        occur there once.
    script : str
        Python code; its first argument is the path of a checkpoint to write.
    folder : Path
        Where to store the copy and the checkpoint.
    """
    shutil.copytree(ROOT, folder / "skrobustbo")
    for name, replaced in changes.items():
        path = folder / "skrobustbo" / name
        text = path.read_text(encoding="utf-8")
        for before, after in replaced.items():
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder / "search.ckpt")],
        cwd=folder,  # before the installed package
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
