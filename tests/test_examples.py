"""The examples are pages of the gallery: public names only, in order, and linked.

Building the documentation checks that they run without warnings.
"""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NAMES = [path.name for path in EXAMPLES]


@pytest.fixture(params=EXAMPLES, ids=NAMES)
def example(request):
    return request.param.read_text()


def test_is_a_page_with_a_title(example):
    page = ast.get_docstring(ast.parse(example), clean=False)
    over, title, under = page.strip("\n").splitlines()[:3]
    assert over == under == "=" * len(title)
    assert "\n# %%\n" in example
    assert "plt.show()" in example


def test_uses_public_names_only(example):
    for node in ast.walk(ast.parse(example)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("skrobustbo"):
            named = [*node.module.split("."), *(alias.name for alias in node.names)]
            assert not [name for name in named if name.startswith("_")]
        if isinstance(node, ast.Attribute):
            private = node.attr.startswith("_") and not node.attr.endswith("__")
            assert not private, node.attr


def test_none_is_missing_from_the_gallery_or_the_guide():
    assert all(name.startswith("plot_") for name in NAMES)
    found = importlib.util.spec_from_file_location(
        "gallery_setup", ROOT / "docs" / "gallery_setup.py"
    )
    setup = importlib.util.module_from_spec(found)
    found.loader.exec_module(setup)
    assert sorted(set(setup.ORDER) - {"*"}) == NAMES
    assert set(setup.ARGUMENTS) <= set(NAMES)
    guide = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    linked = re.findall(r"\(gallery/(plot_\w+)\.rst\)", guide)
    assert {f"{name}.py" for name in linked} == set(NAMES)
