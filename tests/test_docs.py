"""What the documentation says is what the package does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import skrobustbo
from skrobustbo import (
    acquisition,
    datasets,
    displays,
    kernels,
    policies,
    problems,
    surrogate,
)

MODULES = [
    skrobustbo,
    acquisition,
    datasets,
    displays,
    kernels,
    policies,
    problems,
    surrogate,
]
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page.name == "displays.md":
        pytest.importorskip("matplotlib")
    names = {"__name__": "__docs__"}  # a page is read from its top
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), names)


def test_every_public_name_is_on_the_api_page():
    page = (ROOT / "docs" / "api.md").read_text()
    listed = set(re.findall(r"^   (\w+)$", page, flags=re.MULTILINE))
    public = {name for module in MODULES for name in module.__all__}
    assert public - {"__version__"} == listed


def test_every_public_name_has_a_docstring():
    for module in MODULES:
        for name in module.__all__:
            if name != "__version__":
                assert getattr(module, name).__doc__, name


def test_import_is_light():
    """Plots and the benchmark command load only when used."""
    code = (
        "import sys, skrobustbo; "
        "print([m for m in ('matplotlib', 'skrobustbo.benchmarks') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_readme_names_the_commands_that_ci_runs():
    text = (ROOT / "README.md").read_text()
    for name in ("main-job", "tests"):
        block = text.split(f"<!-- command: {name} -->")[1]
        assert block.strip().splitlines()[1].startswith("python3 -m venv")


# Pictures -----------------------------------------------------------------------------

FIGURES = ROOT / "docs" / "figures"


def test_every_picture_is_shown_described_and_small():
    pages = "".join(page.read_text() for page in PAGES)
    shown = dict(re.findall(r"!\[.*?\]\(figures/(\w+)\.png\)()", pages))
    assert set(shown) == {path.stem for path in FIGURES.glob("*.png")}
    assert all(re.findall(r"!\[(.*?)\]", pages))
    assert max(path.stat().st_size for path in FIGURES.glob("*.png")) < 80_000


@pytest.mark.slow
def test_pictures_are_made_by_the_script(tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(FIGURES / "make.py"), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    made = {path.name for path in tmp_path.glob("*.png")}
    assert made == {path.name for path in FIGURES.glob("*.png")}
