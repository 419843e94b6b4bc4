"""Mutate lines of algorithms one at a time, and check that a test fails.

    python tests/mutate.py FILE... [--jobs N] -- PYTEST_ARGUMENT...
    python tests/mutate.py FILE... --every [--sample N] -- PYTEST_ARGUMENT...

The program mutates every statement with a ``# line k`` tag in the files, or with
``--every`` all statements of their functions. It swaps comparisons and arithmetic,
flips signs, moves integers by one, exchanges max and min (argmax and argmin, all and
any, floor and ceil), and drops terms of sums. For each mutant, the tests run on a copy
of the package. A mutant is killed if a test *asserts* against it. A mutant that only
raises, or never ends, is not killed: no test has checked what it should do.

Mutants that no test can distinguish from the original are listed below, with the
reason. The program is written for the project's own files; pytest does not collect it.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import copy
import io
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Many threads slow down small matrices; this must be set before NumPy is loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import pytest

# Loaded once, for all mutants.
import scipy.optimize
import scipy.stats  # noqa: F401
import sklearn.gaussian_process
import sklearn.model_selection  # noqa: F401

ROOT = Path(__file__).parents[1]
TAG = re.compile(r"# .*\bline \d+")

#: Equivalent mutants: file name, "original -> mutant", and why no test can tell.
ALLOWED: dict[str, dict[str, str]] = {
    "_elimination.py": {
        "float(values[q['query']]) - q['mean'] -> "
        "(-(float(values[q['query']]) - q['mean']))": "all errors change sign alike, "
        "and only the size of their sum counts",
    },
}

COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Mod: ast.Mult,
}
EXCHANGED = {}
for pair in (
    ("max", "min"),
    ("maximum", "minimum"),
    ("argmax", "argmin"),
    ("all", "any"),
    ("floor", "ceil"),
):
    EXCHANGED |= {pair[0]: pair[1], pair[1]: pair[0]}


# Mutants ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: Path
    line: int
    change: str
    source: str

    @property
    def reason(self) -> str | None:
        """Why the mutant may survive, None if it may not."""
        return ALLOWED.get(self.path.name, {}).get(self.change)


def tagged_lines(source: str) -> set[int]:
    """Return the numbers of the lines that end in a tag."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and TAG.match(token.string)
    }


def tagged_roots(tree: ast.Module, lines: set[int]) -> list[ast.AST]:
    """Return the smallest statement at each tag; for compound ones, only the head."""
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    roots: dict[int, ast.AST] = {}
    for line in sorted(lines):
        around = [s for s in statements if s.lineno <= line <= (s.end_lineno or 0)]
        smallest = min(around, key=lambda s: (s.end_lineno or 0) - s.lineno)
        for root in heads(smallest):
            roots[id(root)] = root
    return list(roots.values())


def heads(statement: ast.stmt) -> list[ast.AST]:
    """Return the parts of a statement that are not statements themselves."""
    if not hasattr(statement, "body"):
        return [statement]
    names = ("test", "iter")
    return [getattr(statement, name) for name in names if hasattr(statement, name)]


def nodes(root: ast.AST, parent: ast.AST | None = None) -> list[tuple[ast.AST, bool]]:
    """Return the nodes from `root` down, and whether each is a whole formula.

    The text of f-strings is left out.
    """
    whole = isinstance(root, ast.BinOp) and not isinstance(parent, ast.BinOp)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        whole &= parent.func.attr not in ("log", "sqrt")  # could only raise
    found = [(root, whole)]
    for child in ast.iter_child_nodes(root):
        if not isinstance(child, ast.JoinedStr):
            found += nodes(child, root)
    return found


def replacements(node: ast.AST, whole: bool) -> list[ast.AST]:
    """Return the replacements of `node`; the sign of a `whole` formula flips."""
    new: list[ast.AST] = [ast.UnaryOp(ast.USub(), node)] if whole else []
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        new += [changed(node, ops=[op()]) for op in COMPARED[type(node.ops[0])]]
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
        new += [changed(node, op=COMPUTED[type(node.op)]())]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            new += [node.left, node.right]
    elif isinstance(node, ast.BoolOp):
        conjunction = isinstance(node.op, ast.And)
        new += [changed(node, op=ast.Or() if conjunction else ast.And())]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        new += [node.operand]
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        new += [ast.Constant(node.value + 1), ast.Constant(node.value - 1)]
    elif isinstance(node, ast.Constant) and type(node.value) is float:
        new += [ast.Constant(2 * node.value)]
    elif isinstance(node, ast.Name) and hasattr(builtins, EXCHANGED.get(node.id, "")):
        new += [changed(node, id=EXCHANGED[node.id])]
    elif isinstance(node, ast.Attribute) and node.attr in EXCHANGED:
        new += [changed(node, attr=EXCHANGED[node.attr])]
    return new


def changed(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy of `node` with some fields changed."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def lines_of_functions(tree: ast.Module) -> set[int]:
    """Return the first lines of the statements of functions, without docstrings."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    return {
        node.lineno
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.stmt)
        and not isinstance(node, ast.FunctionDef)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    }


def mutants_of(path: Path, every: bool = False) -> list[Mutant]:
    """Return the mutants of one file."""
    source = path.read_text()
    tree, found = ast.parse(source), {}
    lines = lines_of_functions(tree) if every else tagged_lines(source)
    for root in tagged_roots(tree, lines):
        for node, whole in nodes(root):
            for new in replacements(node, whole):
                mutant = written(path, source, node, new)
                found[mutant.source] = mutant
    return list(found.values())


def written(path: Path, source: str, node: ast.AST, new: ast.AST) -> Mutant:
    """Return the mutant with `node` replaced by `new`, and all other text unchanged."""
    text = ast.unparse(new)
    if not isinstance(node, ast.stmt):
        text = f"({text})"
    lines = source.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    whole = source.encode()
    mutated = whole[:start] + text.encode() + whole[end:]
    change = f"{ast.unparse(node)} -> {text}"
    return Mutant(path, node.lineno, change, mutated.decode())


# Running ---------------------------------------------------------------------------


class Watch:
    """A pytest plugin that stops at an assertion, and stops endless tests."""

    def __init__(self, seconds: int) -> None:
        self.seconds, self.asserted = seconds, False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):  # type: ignore[no-untyped-def]
        """Run one test with a time limit."""
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(self.seconds)
        try:
            return (yield)
        finally:
            signal.alarm(0)

    def pytest_runtest_makereport(self, item, call):  # type: ignore[no-untyped-def]
        """Look for a failed assertion."""
        failure = call.excinfo and call.excinfo.value
        if isinstance(failure, AssertionError | pytest.fail.Exception):
            self.asserted = True
            item.session.shouldstop = "an assertion has failed"


def too_long(*_: object) -> None:
    """Interrupt a test."""
    raise TimeoutError


def copy_of_project(folder: Path, package: str) -> None:
    """Copy what the tests need into a folder, with the package to mutate."""
    ignore = shutil.ignore_patterns("__pycache__")
    for entry in ROOT.iterdir():
        if entry.name in (package, "tests"):
            shutil.copytree(entry, folder / entry.name, ignore=ignore)
        elif not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)


def verdict(task: tuple[Path, str, list[str], argparse.Namespace]) -> str:
    """Test one text of a file in its own process.

    Returns "passed", "asserted" or "raised".
    """
    path, source, tests, limits = task
    space = limits.gigabytes * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    sys.dont_write_bytecode = True
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    watch = Watch(limits.seconds)
    with tempfile.TemporaryDirectory() as folder:
        copy_of_project(Path(folder), path.parts[0])
        (Path(folder) / path).write_text(source)
        os.chdir(folder)
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder
        code = pytest.main(["-q", "-p", "no:cacheprovider", *tests], [watch])
        os.chdir(ROOT)
    if watch.asserted:
        return "asserted"
    return "passed" if code == pytest.ExitCode.OK else "raised"


def main() -> int:
    """Report the mutants that no assertion caught; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--every", action="store_true", help="not only tagged lines")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn at random")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60, help="for one test")
    parser.add_argument("--gigabytes", type=int, default=4, help="for one mutant")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args, tests = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]
    files = [path.resolve().relative_to(ROOT) for path in args.files]
    os.chdir(ROOT)
    mutants = [mutant for path in files for mutant in mutants_of(path, args.every)]
    if args.sample is not None and args.sample < len(mutants):
        mutants = random.Random(0).sample(mutants, args.sample)
    whole = [(path, path.read_text(), tests, args) for path in files[:1]]
    broken = [(mutant.path, mutant.source, tests, args) for mutant in mutants]
    context = multiprocessing.get_context("fork")
    with context.Pool(args.jobs, maxtasksperchild=1) as pool:
        if pool.map(verdict, whole) != ["passed"]:
            parser.error("expected tests that pass without a mutant")
        return report(mutants, pool.imap(verdict, broken))


def report(mutants: list[Mutant], verdicts: Iterable[str]) -> int:
    """Print what happened to each mutant that was not asserted against."""
    counts: Counter[str] = Counter()
    for mutant, result in zip(mutants, verdicts, strict=True):
        allowed = result != "asserted" and mutant.reason is not None
        counts["allowed" if allowed else result] += 1
        if result != "asserted" and not allowed:
            fate = "survives" if result == "passed" else "only raises"
            print(f"{mutant.path}:{mutant.line}: {fate}: {mutant.change}", flush=True)
    print(
        f"{len(mutants)} mutants: {counts['asserted']} killed by an assertion, "
        f"{counts['allowed']} equivalent, {counts['raised']} only raise, "
        f"{counts['passed']} survive"
    )
    return 1 if counts["raised"] + counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
