"""The guide's recipes for other packages work with these packages."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from fake_estimators import Noisy, search_of

X, y = load_iris(return_X_y=True)
GUIDE = Path(__file__).parents[2] / "docs" / "searching.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

pytestmark = [
    # Warnings of these packages are not ours.
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.process,
]


def recipe(name):
    """Return a function of the guide."""
    (block,) = [b for b in BLOCK.findall(GUIDE.read_text()) if f"def {name}(" in b]
    names = {}
    exec(compile(block, str(GUIDE), "exec"), names)
    return names[name]


@pytest.fixture
def ours(tmp_path, monkeypatch):
    """A search with some failing candidates, in its own folder."""
    monkeypatch.chdir(tmp_path)
    return search_of(Noisy(fail_above=0.5), n_iter=6)


def complete(search):
    """Return the values of the parameter and the scores, where there is one."""
    results = search.cv_results_
    scores = results["mean_test_score"]
    found = [(p["a"], s) for p, s in zip(results["params"], scores, strict=True)]
    found = [(a, s) for a, s in found if np.isfinite(s)]
    assert 0 < len(found) < len(scores)
    return sorted(found)


def test_wandb(ours, monkeypatch, tmp_path):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"WANDB_{kind}_DIR", str(tmp_path / kind))
    recipe("fit_with_wandb")(ours, X, y)
    (kept,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    text = kept.read_bytes().decode("latin-1")
    for a, score in complete(ours):
        assert str(a) in text
        assert str(float(score)) in text
    assert "best_score" in text


@pytest.mark.skipif(
    not hasattr(GridSearchCV, "set_callbacks"), reason="before callbacks"
)
def test_progress_bars(capsys, ours):
    pytest.importorskip("rich")
    recipe("with_bars")(ours.set_params(verbose=1)).fit(X, y)
    printed = capsys.readouterr().out
    assert "100%" in printed
    assert "6 of 6 candidates, best score" in printed
