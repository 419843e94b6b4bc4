"""The settings of the papers' experiments, where they are not a policy's defaults."""

from __future__ import annotations

from typing import Any

from sklearn.gaussian_process.kernels import RBF

#: Values are raw, and a point may be asked again: nothing forbids it in the theorems.
_RAW = {"normalize_y": False, "repeats": True}
_ELIMINATION = {"beta": "igp", **_RAW}
#: Policies for objectives that change may repeat points by default.
_CHANGING = {"normalize_y": False}
_BUDGETED = {"beta": "igp", **_CHANGING}

#: By paper and class. What belongs to a problem, such as the noise or the length scale
#: of a known kernel, is not here.
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
