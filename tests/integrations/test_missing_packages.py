"""Without MLflow, Optuna and Ray, modules can be imported and say what to install."""

import importlib.util
import subprocess
import sys

import pytest

from skrobustbo.integrations._shared import optional_base, optional_module

CODE = """
import sys
sys.modules.update(mlflow=None, optuna=None, ray=None)
from skrobustbo.integrations.mlflow import MLflowCallback
from skrobustbo.integrations.optuna import RobustSampler
from skrobustbo.integrations.ray import RobustSearcher
for cls in (MLflowCallback, RobustSampler, RobustSearcher):
    try:
        cls()
    except ImportError as error:
        print(error)
"""


def test_the_error_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    mlflow, optuna, ray = done.stdout.splitlines()
    assert mlflow.startswith("MLflowCallback needs MLflow")
    assert 'pip install ".[mlflow]"' in mlflow
    assert optuna.startswith("RobustSampler needs Optuna")
    assert 'pip install ".[optuna]"' in optuna
    assert ray.startswith("RobustSearcher needs Ray Tune")
    assert 'pip install ".[ray]"' in ray


def test_a_package_that_is_broken_is_not_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_pkg.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        optional_base("broken_pkg", "Base", "Broken", "broken")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        optional_module("broken_pkg", "Base", "Broken", "broken")
    assert importlib.util.find_spec("no_such_package") is None
    missing = optional_base("no_such_package.inside", "Base", "Nothing", "nothing")
    with pytest.raises(ImportError, match="needs Nothing, which is not installed"):
        missing()
