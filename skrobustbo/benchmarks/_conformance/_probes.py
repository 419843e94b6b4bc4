"""All rows of the table, in order, by section."""

from __future__ import annotations

from skrobustbo.benchmarks._conformance import (
    _contract,
    _data,
    _failing,
    _scoring,
    _searching,
)
from skrobustbo.benchmarks._conformance._outcome import Probe

SECTIONS: dict[str, tuple[Probe, ...]] = {
    "The search as an estimator": _contract.PROBES,
    "Scoring and the best candidate": _scoring.PROBES,
    "Failures and mistakes": _failing.PROBES,
    "Data and metadata": _data.PROBES,
    "Candidates, folds, progress": _searching.PROBES,
}
#: Name -> probe.
PROBES: dict[str, Probe] = {
    probe.__name__: probe for probes in SECTIONS.values() for probe in probes
}


def title(probe: Probe) -> str:
    """Return what a row says: the first line of the probe's docstring, no full stop."""
    return str(probe.__doc__).strip().splitlines()[0].removesuffix(".")
