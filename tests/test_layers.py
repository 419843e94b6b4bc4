"""Imports point one way: the picture in docs/architecture.md, enforced."""

import ast
import importlib
import inspect
import io
import tokenize
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import skrobustbo

ROOT = Path(skrobustbo.__file__).parent

#: What each part may import from the others.
MAY_IMPORT = {
    "_arguments": {"_names"},
    "_arrays": set(),
    "_forms": set(),
    "_names": set(),
    "_sobol": set(),
    "_sklearn_compat": set(),
    "_threads": set(),
    "_trials": {"_forms"},
    "_text": {"_names", "_trials"},
    "kernels": {"_arrays"},
    "space": {"_arguments", "_names", "_sobol"},
    "surrogate": {"_arguments", "_arrays", "_names", "kernels"},
    "acquisition": {"_arrays", "_names", "_sobol", "space"},
    "policies": {
        "_arguments",
        "_arrays",
        "_forms",
        "_names",
        "_trials",
        "acquisition",
        "kernels",
        "surrogate",
    },
    "optimizer": {
        "_arguments",
        "_forms",
        "_names",
        "_sobol",
        "_threads",
        "_trials",
        "policies",
        "acquisition",
        "surrogate",
        "space",
    },
    "previous": {"_arguments", "_names", "optimizer", "space"},
    "checkpoint": {"_forms", "_names", "_trials"},
    "evaluation": {
        "checkpoint",
        "_names",
        "_sklearn_compat",
        "_text",
        "_threads",
        "_trials",
    },
    "functional": {
        "_arguments",
        "_trials",
        "_names",
        "acquisition",
        "evaluation",
        "optimizer",
        "policies",
        "space",
    },
    "model_selection": {
        "evaluation",
        "checkpoint",
        "optimizer",
        "policies",
        "previous",
        "acquisition",
        "space",
        "surrogate",
        "_sklearn_compat",
        "_arguments",
        "_arrays",
        "_names",
        "_text",
        "_trials",
    },
    "watching": {"_names", "_text", "checkpoint", "model_selection"},
    "__main__": {"watching"},
    "integrations": {
        "_arguments",
        "_forms",
        "_names",
        "acquisition",
        "model_selection",
        "optimizer",
        "policies",
        "space",
    },
}
#: These use only public names of the others.
BESIDE = {"displays"}
#: All parts without an underscore, and the modules for looking up and spelling names.
OPEN = {"__init__", "_names", *BESIDE} | {n for n in MAY_IMPORT if n[0] != "_"}

FILES = sorted(ROOT.rglob("*.py"))


def module_of(path):
    """Return the name of a file's module."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module):
    """Return the part that a module of the package belongs to."""
    return [*module.split("."), "__init__"][1]


def imports(nodes):
    """Yield the imports: a module, and a name in it or None."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            yield from ((node.module, alias.name) for alias in node.names)


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def home_of(module, name):
    """Return the part in which an imported name is defined, if known."""
    thing, home = importlib.import_module(module), module
    if name is not None:
        # A module that has not been imported yet is not an attribute.
        thing = getattr(thing, name, None)
        home = f"{module}.{name}" if thing is None else module
    if inspect.ismodule(thing):
        home = thing.__name__
    elif inspect.isclass(thing) or inspect.isroutine(thing):
        home = thing.__module__
    return part_of(home if home.startswith("skrobustbo") else module)


def refusal(own, module, name):
    """Return why a part may not import a name, or None."""
    crossed = [*module.split(".")[1:], name or ""]
    if not module.startswith("skrobustbo"):
        hidden = any(word.startswith("_") for word in crossed)
        if module.startswith("sklearn") and hidden and own != "_sklearn_compat":
            return "private to scikit-learn"
        return None
    if own in ("__init__", part_of(module)):
        return None
    homes = {part_of(module), home_of(module, name)}
    if module == "skrobustbo" and name is not None:
        homes -= {"__init__"}
    allowed = OPEN if own in BESIDE else MAY_IMPORT[own]
    if homes - allowed - {own}:
        return f"{own} may not import from {' or '.join(sorted(homes))}"
    if own in BESIDE and any(word.startswith("_") for word in crossed[1:]):
        return "not a public name"
    return None


def all_imports():
    """Yield each file with an imported module, and a name in it or None."""
    for path in FILES:
        for module, name in imports(ast.walk(parsed(path))):
            yield path, module, name


def test_imports_point_one_way():
    found = [
        f"{path.relative_to(ROOT)}: {module}, {name}: {reason}"
        for path, module, name in all_imports()
        if (reason := refusal(part_of(module_of(path)), module, name))
    ]
    assert not found, "\n".join(found)


def test_packages_use_each_others_names_as_they_are_offered():
    """A package imports in its ``__init__`` what it offers to others."""
    found = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, module, name in all_imports()
        if module.startswith("skrobustbo.")
        and part_of(module) != part_of(module_of(path))
        and any(word.startswith("_") for word in module.split(".")[2:])
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("own", "module", "name", "reason"),
    [
        ("displays", "skrobustbo.space", "_space", "not a public name"),
        ("displays", "skrobustbo.space._space", "Space", "not a public name"),
        ("displays", "skrobustbo._names", "_close", "not a public name"),
        ("displays", "skrobustbo._forms", "check", "may not import from _forms"),
        ("policies", "skrobustbo.space", "Space", "may not import from space"),
        ("policies", "skrobustbo", "space", "may not import from space"),
        ("policies", "skrobustbo", "Optimizer", "may not import from optimizer"),
        # Reached through a part that may be imported, but another's.
        ("evaluation", "skrobustbo.checkpoint", "Real", None),
        ("space", "sklearn.utils", "_param_validation", "private to scikit-learn"),
        ("_sklearn_compat", "sklearn.utils._param_validation", "Interval", None),
        ("displays", "skrobustbo", "Optimizer", None),
    ],
)
def test_what_is_refused(own, module, name, reason):
    found = refusal(own, module, name)
    assert found is None if reason is None else reason in str(found)


def test_a_name_counts_where_it_was_defined(monkeypatch):
    monkeypatch.setattr(skrobustbo.checkpoint, "Real", skrobustbo.Real, raising=False)
    reason = refusal("evaluation", "skrobustbo.checkpoint", "Real")
    assert reason == "evaluation may not import from checkpoint or space"


def test_every_part_is_in_the_picture():
    parts = {part_of(module_of(path)) for path in FILES} - {"__init__"}
    assert parts == set(MAY_IMPORT) | BESIDE


def needed(path, modules):
    """Return the modules that a file imports anywhere, even for types only."""
    found = imports(ast.walk(parsed(path)))
    names = {(f"{module}.{name}", module) for module, name in found}
    return {full if full in modules else module for full, module in names} & modules


def circle(graph):
    """Return a circle in a graph of imports as text, or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " imports ".join(reversed(error.args[1]))
    return None


def test_no_circles():
    modules = {module_of(path): path for path in FILES}
    names = set(modules)
    graph = {name: needed(path, names) - {name} for name, path in modules.items()}
    assert len(graph["skrobustbo"]) > 3
    assert circle(graph) is None


def test_a_circle_is_spelt_out(tmp_path):
    text = (
        "def late():\n    from a.c import x\nif TYPE_CHECKING:\n    from a import d\n"
    )
    (tmp_path / "b.py").write_text(text)
    found = needed(tmp_path / "b.py", {"a", "a.b", "a.c", "a.d"})
    assert found == {"a.c", "a.d"}
    spelt = circle({"a.b": found, "a.c": {"a.b"}, "a.d": set()})
    assert spelt in ("a.b imports a.c imports a.b", "a.c imports a.b imports a.c")


# Names and sizes ---------------------------------------------------------------------


def test_a_class_has_a_name_of_its_own():
    names = Counter(
        node.name
        for path in FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, n in names.items() if n > 1] == []


#: Maximum lines of code of each part. If a change needs more, look first for code to
#: remove; a larger number here is a separate decision.
BUDGET = {
    "__init__": 40,
    "__main__": 10,
    "_arguments": 50,
    "_arrays": 10,
    "_forms": 90,
    "_names": 110,
    "_sklearn_compat": 140,
    "_sobol": 40,
    "_text": 40,
    "_threads": 80,
    "_trials": 200,
    "acquisition": 560,
    "checkpoint": 1340,
    "displays": 2160,
    "evaluation": 2360,
    "functional": 220,
    "integrations": 1125,
    "kernels": 690,
    "model_selection": 3890,
    "optimizer": 1820,
    "policies": 2570,
    "previous": 110,
    "space": 1780,
    "surrogate": 1180,
    "watching": 320,
}


def lines_of_code(text):
    """Count the lines of a file without blanks, comments and docstrings."""
    left_out = {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
        *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
    }
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in left_out:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, documented) and ast.get_docstring(node, clean=False):
            lines -= set(range(body[0].lineno, body[0].end_lineno + 1))
    return len(lines)


def test_lines_of_code_are_counted():
    text = '"""Says."""\n\nx = 1  # one\n# two\ny = """\n3\n"""\n'
    assert lines_of_code(text) == 4


def test_parts_keep_to_their_budgets():
    found = Counter()
    for path in FILES:
        found[part_of(module_of(path))] += lines_of_code(path.read_text("utf-8"))
    assert set(found) == set(BUDGET)
    over = {part: n for part, n in found.items() if n > BUDGET[part]}
    assert not over, f"over their budgets: {over}"


#: Settings that change neither what is asked nor what is told.
WITHOUT_EFFECT = {"verbose", "pre_dispatch", "fit_timeout"}


def test_every_setting_of_a_search_has_a_golden_case():
    folder = Path(__file__).parent / "golden"
    words = {
        node.arg if isinstance(node, ast.keyword) else node.value
        for path in folder.glob("*_cases.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.keyword | ast.Constant)
    }
    settings = set(inspect.signature(skrobustbo.RobustBayesSearchCV).parameters)
    assert settings - words - WITHOUT_EFFECT == {"param_space"}
