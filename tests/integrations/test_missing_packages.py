"""Without Optuna and Ray the modules are imported, and say what to install."""

import importlib.util
import subprocess
import sys

import pytest

from skrobustbo.integrations._shared import optional_base


@pytest.mark.parametrize(
    ("module", "name", "hidden", "extra"),
    [
        ("optuna", "RobustSampler", "optuna", "optuna"),
        ("ray", "RobustSearcher", "ray", "ray"),
    ],
)
def test_the_error_says_what_to_install(module, name, hidden, extra):
    code = (
        f"import sys; sys.modules[{hidden!r}] = None\n"
        f"from skrobustbo.integrations.{module} import {name}\n"
        f"try:\n    {name}()\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"{name} needs ")
    assert f'pip install "skrobustbo[{extra}]"' in done.stdout


def test_a_package_that_is_broken_is_not_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_pkg.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        optional_base("broken_pkg", "Base", "Broken", "broken")
    assert importlib.util.find_spec("no_such_package") is None
    missing = optional_base("no_such_package.inside", "Base", "Nothing", "nothing")
    with pytest.raises(ImportError, match="needs Nothing, which is not installed"):
        missing()
