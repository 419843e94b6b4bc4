"""Imports point one way: the picture in docs/architecture.md, enforced."""

import ast
from pathlib import Path

import pytest

import skrobustbo

ROOT = Path(skrobustbo.__file__).parent

#: What each part may import of the others.
MAY_IMPORT = {
    "_arguments": set(),
    "_forms": set(),
    "_names": set(),
    "_sobol": set(),
    "_sklearn_compat": set(),
    "_trials": {"_forms"},
    "kernels": set(),
    "space": {"_arguments", "_names", "_sobol"},
    "surrogate": {"kernels"},
    "acquisition": {"_sobol"},
    "policies": {"acquisition", "surrogate", "kernels", "_forms", "_names", "_trials"},
    "optimizer": {
        "_arguments",
        "_forms",
        "_sobol",
        "_trials",
        "policies",
        "acquisition",
        "surrogate",
        "space",
    },
    "checkpoint": {"_trials"},
    "evaluation": {"checkpoint", "_sklearn_compat", "_trials"},
    "model_selection": {
        "evaluation",
        "checkpoint",
        "optimizer",
        "policies",
        "acquisition",
        "space",
        "_sklearn_compat",
        "_arguments",
        "_names",
        "_trials",
    },
}
BESIDE = {"displays", "problems", "benchmarks", "datasets"}  # public names only


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [alias.name for alias in node.names]
            if node.module == "skrobustbo":  # parts of it, or its public names
                yield from ((f"skrobustbo.{name}", []) for name in names)
            else:
                yield node.module, names


def part_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    own = part_of(path)
    for module, names in imports(path):
        if not module.startswith("skrobustbo"):
            private = [name for name in names if name.startswith("_")]
            hidden = module.startswith("sklearn") and (private or "._" in module)
            assert not hidden or own == "_sklearn_compat", f"private: {module} {names}"
            continue
        parts = module.split(".")[1:]
        other = parts[0] if parts else None
        if own == "__init__" or other == own:
            continue
        if own in BESIDE:
            crossed = [part for part in parts[1:] if part.startswith("_")]
            assert not crossed, f"not a public name: {module}"
            assert other in (None, "_names") or not other.startswith("_"), module
        else:
            assert other in MAY_IMPORT[own], f"{own} imports {other}"


def test_every_part_is_in_the_picture():
    parts = {part_of(path) for path in FILES} - {"__init__"}
    assert parts == set(MAY_IMPORT) | BESIDE
