"""Check that a release can be pushed: one version, placeholders, bounds, contents.

``python .ci/check_release.py`` checks the files of the checkout. With ``--tag v1.2.3``,
it also checks that the tag matches the version and that no placeholder is left. With
``--built dist``, it checks the packages in that folder, and writes the recipe for
conda-forge beside them. ``--owner NAME`` replaces the placeholder by a name.
"""

import argparse
import hashlib
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Placeholder for the owner of the repository in its address.
PLACEHOLDER = "OWNER"
#: Files that may contain it. docs/versions.md explains it.
PLACES = {
    "CITATION.cff",
    "SECURITY.md",
    "pyproject.toml",
    ".ci/conda/recipe.yaml",
    ".github/ISSUE_TEMPLATE/config.yml",
}
EXPLAINED = {"docs/versions.md", ".ci/check_release.py", "tests/test_release.py"}
#: Generated folders.
MADE = re.compile(
    r"(^|/)(\.git|\.venv[^/]*|build|dist|__pycache__|\.\w+_cache|\.hypothesis"
    r"|[^/]*\.egg-info)/|^docs/(_build|gallery|generated)/"
)
#: Files in the sdist besides the package, and files of the package in the wheel.
IN_SDIST = {
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "SECURITY.md",
    "conftest.py",
    "setup.cfg",
    ".ci/oldest.txt",
    "docs/conf.py",
    "docs/index.md",
    "docs/versions.md",
    "examples/plot_trap.py",
    "tests/test_release.py",
}
IN_WHEEL = {
    "skrobustbo/__init__.py",
    "skrobustbo/py.typed",
}


def text_of(root, name):
    """Return the text of a file; empty if it does not exist."""
    path = root / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def project_of(root):
    """Return the project's metadata."""
    return tomllib.loads(text_of(root, "pyproject.toml"))["project"]


def versions(root):
    """Yield the places with another version than pyproject.toml."""
    version = project_of(root)["version"]
    for name, pattern in [
        ("CITATION.cff", r"^version: (.+)$"),
        ("README.md", r"the version is (\S+?)[,;.]? "),
    ]:
        for found in re.findall(pattern, text_of(root, name), re.MULTILINE):
            if found != version:
                yield f"{name} says version {found}, pyproject.toml {version}"


def written(root):
    """Yield the names and texts of all files that are not generated."""
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not MADE.search(name):
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:  # a picture
                continue


def placeholders(root):
    """Yield the files with an unexpected or a missing placeholder."""
    having = {n for n, text in written(root) if re.search(rf"\b{PLACEHOLDER}\b", text)}
    for name in sorted(having - PLACES - EXPLAINED):
        yield f"{name} has the placeholder {PLACEHOLDER}, which is not expected there"
    if having & PLACES and PLACES - having:
        lacking = ", ".join(sorted(PLACES - having))
        yield f"{PLACEHOLDER} is replaced in {lacking} and not elsewhere"


def left(root):
    """Yield the files that still contain the placeholder."""
    for name in sorted(PLACES):
        if re.search(rf"\b{PLACEHOLDER}\b", text_of(root, name)):
            yield f"{name} still has {PLACEHOLDER}; see docs/versions.md"


def bounds(requirements):
    """Return the lower bounds of requirements, by name."""
    matches = (re.match(r"([\w-]+) ?>=([\d.]+)$", line) for line in requirements)
    return {match[1]: match[2] for match in matches if match}


def pins(root):
    """Yield the lower bounds that are not tested with the oldest dependencies."""
    least = bounds(project_of(root)["dependencies"])
    pinned = {}
    for line in text_of(root, ".ci/oldest.txt").splitlines():
        if match := re.match(r"([\w-]+)==([\d.]+)\.\*", line):
            pinned.setdefault(match[1], []).append(match[2])
    for name in sorted(least.keys() | pinned.keys()):
        oldest = min(pinned.get(name, ["none"]), key=parts)
        if oldest != least.get(name):
            bound = least.get(name, "no bound")
            yield f".ci/oldest.txt has {name} {oldest}, pyproject.toml {bound}"


def parts(version):
    """Return the numbers of a version, for comparison."""
    return [int(part) for part in re.findall(r"\d+", version)]


def recipe(root):
    """Yield how the recipe for conda-forge differs from the project's metadata."""
    text = text_of(root, ".ci/conda/recipe.yaml")
    run = text.partition("  run:\n")[2].partition("\n\n")[0]
    found = bounds(line.removeprefix("    - ") for line in run.splitlines())
    wanted = bounds(project_of(root)["dependencies"])
    if found != wanted:
        yield f".ci/conda/recipe.yaml needs {found}, pyproject.toml {wanted}"
    minimum = project_of(root)["requires-python"].removeprefix(">=")
    if f'python_min: "{minimum}"' not in text:
        yield f".ci/conda/recipe.yaml should have python_min {minimum}"


def pythons(root):
    """Yield how the Python versions of metadata, tests and documentation differ."""
    project = project_of(root)
    named = re.findall(r":: (3\.\d+)", " ".join(project["classifiers"]))
    if f">={named[0]}" != project["requires-python"]:
        yield f"the first classifier is Python {named[0]}, not requires-python"
    matrix = re.search(
        r"python: \[(.*)\]", text_of(root, ".github/workflows/tests.yml")
    )
    tested = re.findall(r"3\.\d+", matrix[1] if matrix else "")
    if tested != named:
        yield f"tests.yml tests Python {tested}, classifiers name {named}"
    if f"Python {named[0]} to {named[-1]}" not in text_of(root, "docs/versions.md"):
        yield f"docs/versions.md should say Python {named[0]} to {named[-1]}"


def tagged(root, tag):
    """Yield why a tag does not fit this version."""
    version = project_of(root)["version"]
    if tag != f"v{version}":
        yield f"the tag is {tag}, and the version is {version}"
    if not re.fullmatch(r"\d+(\.\d+)+", version):
        yield f"{version} is no version of a release"
    if not re.search(
        rf"^## {re.escape(version)}\b", text_of(root, "CHANGELOG.md"), re.M
    ):
        yield f"CHANGELOG.md has no heading for {version}"


def contents(folder):
    """Yield missing and unexpected files in the packages of a folder."""
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    yield from (f"{sdist.name} lacks {name}" for name in sorted(IN_SDIST - names))
    other = {name for name in names if MADE.search(name)}
    yield from (f"{sdist.name} has {name}" for name in sorted(other))
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    yield from (f"{wheel.name} lacks {name}" for name in sorted(IN_WHEEL - names))
    other = {n for n in names if not re.match(r"skrobustbo(-[^/]+\.dist-info)?/", n)}
    yield from (f"{wheel.name} has {name}" for name in sorted(other))


def write_recipe(root, folder):
    """Write the recipe for the sdist in a folder beside the sdist."""
    (sdist,) = folder.glob("*.tar.gz")
    text = re.sub(r"\A(#.*\n)*", "", text_of(root, ".ci/conda/recipe.yaml"))
    text = text.replace("VERSION", f'"{project_of(root)["version"]}"')
    text = text.replace("SHA256", hashlib.sha256(sdist.read_bytes()).hexdigest())
    (folder / "recipe.yaml").write_text(text, encoding="utf-8")


def name_owner(root, owner):
    """Replace the placeholder by a name."""
    for name in sorted(PLACES):
        text = re.sub(rf"\b{PLACEHOLDER}\b", owner, text_of(root, name))
        (root / name).write_text(text, encoding="utf-8")


def problems(root=ROOT):
    """Return the problems in the files of a checkout."""
    checks = (versions, placeholders, pins, recipe, pythons)
    return [problem for check in checks for problem in check(root)]


def main():
    """Print the problems; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="the tag of the release, such as v1.2.3")
    parser.add_argument("--built", type=Path, metavar="FOLDER", help="built packages")
    parser.add_argument("--owner", metavar="NAME", help="owner of the repository")
    args = parser.parse_args()
    if args.owner:
        name_owner(ROOT, args.owner)
    found = problems()
    if args.tag:
        found += [*tagged(ROOT, args.tag), *left(ROOT)]
    if args.built:
        found += contents(args.built)
        write_recipe(ROOT, args.built)
    for problem in found:
        print(problem, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
