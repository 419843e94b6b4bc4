"""What scikit-learn sees of a search: its settings, its clones, its tags."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any

from sklearn.utils import get_tags

from skrobustbo._sklearn_compat import (
    BaseSearchCV,
    clone_parametrized,
    nested_params,
)

Params = dict[str, Any]


class CloningMixin(BaseSearchCV):
    """Settings and clones of a search that may know an earlier one."""

    previous: Any

    def get_params(self, deep: bool = True) -> Params:
        """Return the settings, and with `deep` those of estimators among them.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the settings of `estimator`, too. What `previous` was
            fitted with is none of ours.

        Returns
        -------
        params : dict
        """
        found: Params = super().get_params(deep=False)
        if deep:
            own = {**found, "previous": None}
            found |= nested_params(own)
        return found

    def __sklearn_clone__(self) -> Any:
        bare = copy(self)
        bare.previous = None
        cloned = clone_parametrized(bare)
        # Clones of fitted searches are not fitted.
        cloned.previous = self.previous
        return cloned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.transformer_tags = deepcopy(inner.transformer_tags)
        return tags
