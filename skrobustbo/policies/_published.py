"""Settings of published experiments that differ from the defaults."""

from __future__ import annotations

from typing import Any

from sklearn.gaussian_process.kernels import RBF

#: Values are raw, and points may be asked again, as the theorems allow.
_RAW = {"normalize_y": False, "repeats": True}
_ELIMINATION = {"beta": "igp", **_RAW}
#: Policies for changing objectives may repeat points by default.
_CHANGING = {"normalize_y": False}
_BUDGETED = {"beta": "igp", **_CHANGING}

#: Settings by paper and class, without properties of a problem such as the noise or the
#: length scale of a known kernel.
PUBLISHED: dict[str, dict[str, dict[str, Any]]] = {
    "Ziomek, Adachi, Osborne 2024: BO with unknown hyperparameters": {
        "LBGPUCB": {"delta": 0.01, "repeats": True},
    },
    "Ziomek, Adachi, Osborne 2024: Beyond lengthscales": {
        "HEGPUCB": _ELIMINATION,
        "ExpectedUCB": _ELIMINATION,
    },
    "Wang, de Freitas 2014: Theoretical analysis of BO with unknown hyperparameters": {
        "BOHO": {"kernel": RBF(1.0), **_RAW},
    },
    "Berkenkamp, Schoellig, Krause 2019: No-regret BO with unknown hyperparameters": {
        "AGPUCB": {"kernel": RBF(1.0), "combine": "min", **_RAW},
    },
    "Brunzema, von Rohr, Solowjow, Trimpe 2025: Event-triggered time-varying BO": {
        "ETGPUCB": _CHANGING,
        "RGPUCB": _CHANGING,
        "TVGPUCB": _CHANGING,
        "UITVBO": _CHANGING,
        "IGPUCB": _RAW,
        "BRGPUCB": _BUDGETED,
        "SWGPUCB": _BUDGETED,
        "WGPUCB": _BUDGETED,
    },
}
