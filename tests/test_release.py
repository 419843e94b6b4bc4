"""Requirements on the files of a release, and tests that the checks detect errors."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skrobustbo

ROOT = Path(__file__).parents[1]
#: Files that the checks read.
FILES = [
    "CHANGELOG.md",
    "CITATION.cff",
    "README.md",
    "SECURITY.md",
    "pyproject.toml",
    ".ci/conda/recipe.yaml",
    ".ci/oldest.txt",
    ".github/ISSUE_TEMPLATE/config.yml",
    ".github/workflows/tests.yml",
    "docs/versions.md",
]


def loaded():
    spec = importlib.util.spec_from_file_location(
        "check_release", ROOT / ".ci" / "check_release.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = loaded()


@pytest.fixture
def checkout(tmp_path):
    """A copy of the files that the checks read."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def edit(folder, name, old, new):
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")


def test_the_files_are_ready():
    assert check.problems() == []


def test_the_version_has_one_place():
    assert skrobustbo.__version__ == check.project_of(ROOT)["version"]


def test_the_oldest_pins_are_the_lower_bounds(checkout):
    edit(checkout, "pyproject.toml", '"scipy>=1.12"', '"scipy>=1.13"')
    assert list(check.pins(checkout)) == [
        ".ci/oldest.txt has scipy 1.12, pyproject.toml 1.13"
    ]
    edit(checkout, "pyproject.toml", '"joblib>=1.3"', '"joblib>=1.3", "tqdm>=4"')
    assert len(list(check.pins(checkout))) == 2


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("CITATION.cff", "version: 0", "version: 9", "CITATION.cff says version 9"),
        ("README.md", "the version is 0", "the version is 9", "README.md says"),
        ("docs/versions.md", "to 3.14", "to 3.13", "should say Python 3.11 to 3.14"),
        ("pyproject.toml", ">=3.11", ">=3.12", "first classifier is Python 3.11"),
        (".ci/conda/recipe.yaml", "numpy >=1", "numpy >=2", "recipe.yaml needs"),
        (".ci/conda/recipe.yaml", '"3.11"', '"3.10"', "should have python_min 3.11"),
        (".github/workflows/tests.yml", ', "3.14"]', "]", "tests.yml tests Python"),
        ("README.md", "## Status", "## OWNER", "README.md has the placeholder"),
        ("SECURITY.md", "OWNER", "somebody", "is replaced in SECURITY.md and not"),
    ],
)
def test_what_is_wrong_is_said(checkout, name, old, new, problem):
    assert check.problems(checkout) == []
    edit(checkout, name, old, new)
    assert problem in " ".join(check.problems(checkout))


def test_a_tag_needs_its_version_a_changelog_and_an_owner(checkout):
    assert len(list(check.tagged(checkout, "v1.2.3"))) == 3
    assert len(list(check.left(checkout))) == len(check.PLACES)
    was = check.project_of(checkout)["version"]
    for name in ("pyproject.toml", "CITATION.cff", "README.md"):
        edit(checkout, name, was, "1.2.3")
    edit(checkout, "CHANGELOG.md", "## Unreleased", "## 1.2.3 (2026-12-01)")
    check.name_owner(checkout, "somebody")
    assert list(check.tagged(checkout, "v1.2.3")) == list(check.left(checkout)) == []
    assert check.problems(checkout) == []
    urls = check.project_of(checkout)["urls"]
    assert urls["Repository"] == "https://github.com/somebody/skrobustbo"


#: One hook of the backend per process, as build tools call it.
BUILD = """
import sys
from hatchling import build
getattr(build, sys.argv[1])(sys.argv[2])
"""


@pytest.mark.slow
def test_two_builds_are_of_the_same_bytes(tmp_path):
    pytest.importorskip("hatchling")
    packages = []
    for name, umask in [("one", 0o022), ("another", 0o002)]:
        source, built = tmp_path / name / "source", tmp_path / name / "built"
        made = ("*.egg-info", "build", "dist", ".*", "_build", "gallery", "generated")
        skip = shutil.ignore_patterns("__pycache__", *made)
        shutil.copytree(ROOT, source, ignore=skip, copy_function=shutil.copyfile)
        for folder in (".ci", ".github"):
            shutil.copytree(ROOT / folder, source / folder)
        built.mkdir()
        for hook in ("build_sdist", "build_wheel"):
            subprocess.run(
                [sys.executable, "-c", BUILD, hook, str(built)],
                cwd=source,
                env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
                umask=umask if os.name == "posix" else -1,
                check=True,
                capture_output=True,
            )
        packages.append({path.name: path.read_bytes() for path in built.iterdir()})
        assert list(check.contents(built)) == []
        check.write_recipe(ROOT, built)
        assert "SHA256" not in (built / "recipe.yaml").read_text()
    assert len(packages[0]) == 2
    assert packages[0] == packages[1]
