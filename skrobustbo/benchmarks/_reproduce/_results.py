"""The runs that a folder holds."""

from __future__ import annotations

from pathlib import Path

from skrobustbo.benchmarks._reproduce._claims import Results
from skrobustbo.benchmarks._reproduce._ledger import Run, ledger
from skrobustbo.benchmarks._reproduce._registry import CASES


def read_results(folder: Path, quick: bool) -> Results:
    """Return the runs of all cases, those of the present length."""
    results: dict[str, dict[str, dict[int, Run]]] = {}
    for case in CASES.values():
        table = ledger(folder, case.name, quick)
        runs = table.read().values() if table.path.exists() else ()
        for run in runs:
            if run.steps == case.n_steps(quick):
                methods = results.setdefault(case.name, {})
                methods.setdefault(run.method, {})[run.seed] = run
    return results
