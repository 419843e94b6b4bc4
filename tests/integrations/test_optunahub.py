"""The folder for OptunaHub has the layout that its registry requires, and works."""

import importlib.util
import inspect
import re
import runpy
import sys
import types
from pathlib import Path

import pytest

from skrobustbo.integrations.optuna import RobustSampler

ROOT = Path(__file__).parents[2] / "docs" / "optunahub"
PACKAGE = "package/samplers/skrobustbo"
FOLDER = ROOT / PACKAGE
KEYS = ["author", "title", "description", "tags", "optuna_versions", "license"]
#: Sections of every package in the registry.
SECTIONS = {"Abstract", "APIs", "Installation", "Example"}


@pytest.fixture
def module():
    """The package as OptunaHub imports it: from its file, under a name of the hub."""
    pytest.importorskip("optuna")
    if importlib.util.find_spec("optunahub") is not None:
        import optunahub

        return optunahub.load_local_module(PACKAGE, registry_root=str(ROOT))
    name = "optunahub_registry.package.samplers.skrobustbo"
    spec = importlib.util.spec_from_file_location(name, FOLDER / "__init__.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_folder_has_what_the_registry_wants():
    found = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert found >= {
        *("README.md", "LICENSE", "__init__.py", "example.py", "requirements.txt")
    }
    text = (FOLDER / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    entries = dict(line.split(": ", 1) for line in front.splitlines())
    assert list(entries) == KEYS
    assert "sampler" in entries["tags"].strip("[]").split(", ")
    assert entries["license"] == (FOLDER / "LICENSE").read_text().splitlines()[0]
    assert set(re.findall(r"^## (.*)$", body, flags=re.MULTILINE)) == SECTIONS


def test_the_readme_names_all_settings():
    text = (FOLDER / "README.md").read_text()
    signature = inspect.signature(RobustSampler)
    written = ", ".join(
        f"{p.name}={p.default!r}" for p in signature.parameters.values()
    )
    assert f"RobustSampler(*, {written})".replace("'", '"') in text
    listed = re.findall(r"^  - `(\w+)`:", text, flags=re.MULTILINE)
    assert listed == list(signature.parameters)


def test_what_is_loaded_is_the_sampler(module):
    assert module.__all__ == ["RobustSampler"]
    assert module.RobustSampler is RobustSampler


def test_the_example_runs(module, monkeypatch, capsys):
    import optuna

    hub = types.SimpleNamespace(load_module=lambda package: module)
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = runpy.run_path(str(FOLDER / "example.py"))
    assert found["study"].best_value < 0.05
    assert "'y': 3" in capsys.readouterr().out
