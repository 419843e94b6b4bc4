"""Every `pip install` line of the pages works in a fresh environment."""

import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pages import commands_of

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*.py")),
]
#: A line with one of these takes minutes.
LARGE = ("all", "mlflow", "ray", "peers", "optuna-integration", "hyperopt-sklearn")


def lines():
    """Return what the pages tell pip to install, each once."""
    found = {}
    for page in PAGES:
        for command in commands_of(page.read_text(encoding="utf-8")):
            said = re.search(r"pip install ([^#&]+)", command)
            if said is None:
                continue
            words = [word for word in shlex.split(said[1]) if word not in ("-q", "-e")]
            found.setdefault(tuple(words), page.name)
    return found


def is_large(words):
    extras = {name for word in words for name in re.split(r"[\[\],]", word)}
    return bool(extras & set(LARGE))


@pytest.fixture(scope="module")
def pip(tmp_path_factory):
    """The pip of an environment with nothing in it."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True)
    where = "Scripts" if sys.platform == "win32" else "bin"
    command = [folder / where / "python", "-m", "pip", "install", "--dry-run", "-q"]

    def run(*words):
        done = subprocess.run(
            [*command, *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    if run("packaging")[0]:
        pytest.skip("no package index can be reached")
    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, marks=pytest.mark.long if is_large(words) else (), id=name)
        for words, name in lines().items()
    ],
)
def test_what_the_pages_install_can_be_installed(pip, words):
    status, said = pip(*words)
    assert status == 0, said
    assert "does not provide the extra" not in said


def test_there_is_one_form():
    """Nothing is published, so a name without a path would install something else."""
    every = [" ".join(words) for words in lines()]
    assert any(".[plot" in line for line in every)
    assert not [line for line in every if re.search(r"(^|\s)skrobustbo", line)]
