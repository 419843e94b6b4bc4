"""The package does what the documentation says."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import skrobustbo
from pages import contents
from skrobustbo import (
    acquisition,
    displays,
    kernels,
    policies,
    previous,
    surrogate,
)
from skrobustbo.integrations import mlflow as integrations_mlflow
from skrobustbo.integrations import optuna as integrations_optuna
from skrobustbo.integrations import ray as integrations_ray

MODULES = [
    skrobustbo,
    acquisition,
    displays,
    integrations_mlflow,
    integrations_optuna,
    integrations_ray,
    kernels,
    policies,
    previous,
    surrogate,
]
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page",
    [PAGES[0], *(pytest.param(page, marks=pytest.mark.slow) for page in PAGES[1:])],
    ids=lambda page: page.name,
)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "skrobustbo.displays" in page.read_text():
        pytest.importorskip("matplotlib")
    if "skrobustbo.integrations.optuna" in page.read_text():
        pytest.importorskip("optuna")
    names = {"__name__": "__docs__"}  # a page is run from its top
    blocks = BLOCK.findall(page.read_text())
    assert len(blocks) == page.read_text().count("```python")  # none is left out
    for block in blocks:
        if "to_plotly" in block and not importlib.util.find_spec("plotly"):
            continue
        exec(compile(block, str(page), "exec"), names)


def test_every_public_name_is_on_the_api_page():
    page = (ROOT / "docs" / "api.md").read_text()
    listed = set(re.findall(r"^   (\w+)$", page, flags=re.MULTILINE))
    public = {name for module in MODULES for name in module.__all__}
    assert public - {"__version__"} | {"CheckpointError"} == listed


def test_every_public_name_is_under_its_module_on_the_api_page():
    page = (ROOT / "docs" / "api.md").read_text()
    for part in page.split(".. currentmodule:: ")[1:]:
        module = importlib.import_module(part.split("\n")[0])
        for name in re.findall(r"^   (\w+)$", part, flags=re.MULTILINE):
            assert hasattr(module, name), f"{module.__name__}.{name}"


# Links --------------------------------------------------------------------------------

LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
TEXTS = [*PAGES, *(ROOT / f"{n}.md" for n in ("CHANGELOG", "CONTRIBUTING", "SECURITY"))]


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    named = re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE)
    made = [re.sub(r"[^\w\- ]", "", t).strip().lower() for t in titles]
    return {*named, *(title.replace(" ", "-") for title in made)}


def written(target):
    """Return the source file of a page; gallery pages come from examples."""
    if target.parent.name != "gallery":
        return target.resolve()
    name = "GALLERY_HEADER.rst" if target.stem == "index" else f"{target.stem}.py"
    return ROOT / "examples" / name


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_links_between_texts_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for link in LINK.findall(text):
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = written(page.parent / place) if place else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_links_of_built_pages_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="here">x</h1><a href="part/b.html#there">a</a><a href="#here">b</a>'
        '<a href="https://example.org/none">c</a><img src="none.png"><a href="#">d</a>'
    )
    (tmp_path / "part" / "b.html").write_text(
        '<a href="../index.html#here">a</a><a href="../index.html#gone">b</a>'
        '<a href="c.html">c</a><a href="../">d</a>'
    )
    script = ROOT / "docs" / "check_links.py"
    command = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "index.html: part/b.html#there leads nowhere",
        "index.html: none.png leads nowhere",
        "part/b.html: ../index.html#gone leads nowhere",
        "part/b.html: c.html leads nowhere",
    ]
    assert "check_links.py docs/_build" in (ROOT / ".ci" / "run").read_text()


def test_every_page_is_in_the_table_of_contents():
    entries = [entry for page in PAGES[1:] for entry in contents(page)]
    listed = {entry for _, entry in entries}
    assert {page.stem for page in PAGES[1:]} - {"index"} <= listed


#: Words of the documentation and the README, tables and code included, as in `wc -w`.
MOST_WORDS = 35_000


def test_documentation_is_short():
    made = {"_build", "gallery", "generated"}
    pages = [
        page
        for page in [PAGES[0], *(ROOT / "docs").rglob("*.md")]
        if not made & set(page.relative_to(ROOT).parts)
    ]
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)
    assert words <= MOST_WORDS


# The package --------------------------------------------------------------------------


def test_import_is_light():
    """Plots and the benchmark command are loaded only when used."""
    code = (
        "import sys, skrobustbo; "
        "print([m for m in ('matplotlib', 'skrobustbo_benchmarks') "
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


PICTURES = {path.name for kind in ("png", "svg") for path in FIGURES.glob(f"*.{kind}")}


def test_every_picture_is_shown_described_and_small():
    pages = "".join(page.read_text() for page in PAGES)
    shown = re.findall(r"!\[(.*?)\]\(figures/([\w.]+)\)", pages)
    assert {name for _, name in shown} == PICTURES
    assert all(len(description) > 20 for description, _ in shown)
    assert all(re.findall(r"!\[(.*?)\]", pages))
    assert max((FIGURES / name).stat().st_size for name in PICTURES) < 80_000


def test_the_landing_picture_shows_what_its_file_holds():
    """Its numbers are those of the study that the first page links to."""
    last = (FIGURES / "landing.csv").read_text().splitlines()[-1].split(",")
    picture = (FIGURES / "landing.svg").read_text()
    assert all(f": {count}</text>" in picture for count in last[1:])
    page = (ROOT / "docs" / "index.md").read_text()
    (row,) = re.findall(r"^\| hidden peaks.*$", page, flags=re.MULTILINE)
    assert last[0] == "100"
    assert f"| {last[1]} | random search: {last[3]} |" in row


@pytest.mark.slow
def test_pictures_are_made_by_the_script(tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(FIGURES / "make.py"), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == PICTURES
    same = (FIGURES / "landing.svg").read_bytes()
    assert (tmp_path / "landing.svg").read_bytes() == same
