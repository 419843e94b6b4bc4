"""What the tunings of scikit-learn's estimators are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

from skrobustbo.space import Categorical, Integer, Real


@dataclass(frozen=True)
class Tuning:
    """What is tuned: an estimator, on data, by a score."""

    data: str
    scoring: str
    space: dict[str, Real | Integer | Categorical]
    estimator: Callable[..., Any]
    what: str


#: Name -> what makes a step of a pipeline.
SCALERS: dict[str, Callable[[], Any]] = {
    "none": lambda: "passthrough",
    "standard": StandardScaler,
    "minmax": MinMaxScaler,
    "quantile": lambda: QuantileTransformer(n_quantiles=50, random_state=0),
}


def scaled(estimator: Any) -> Any:
    """Return a pipeline of standard scaling and an estimator."""
    return make_pipeline(StandardScaler(), estimator)
