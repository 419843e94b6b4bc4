"""The half of `Optimizer` that is written, and made of what was written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from skrobustbo.optimizer._checks import fitting, read_results
from skrobustbo.optimizer._state import (
    check_constraints,
    check_format,
    check_given,
    check_parts,
    reading,
    restore,
    settings_read,
    written,
)
from skrobustbo.policies import Policy, make_policy
from skrobustbo.space import Space

if TYPE_CHECKING:
    from skrobustbo.optimizer._optimizer import Optimizer

Params = dict[str, Any]


class Written:
    """The half of `Optimizer` that is written, and made of what was written."""

    _lock: threading.RLock

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        policy: str | Policy = "robust",
        *,
        metric: str | None = None,
        **settings: Any,
    ) -> Self:
        """Return an optimizer that starts with the candidates of an earlier search.

        Parameters
        ----------
        cv_results : dict of arrays
            The ``cv_results_`` of a scikit-learn search, or a table made from them.
            Candidates whose score is nan are failures.
        space : Space, dict or list of dict
            The space of the new search. Candidates outside it are left out.
        policy : str or Policy, default="robust"
            How points are chosen.
        metric : str, default=None
            With several metrics, the one to maximise.
        **settings
            Other arguments of `Optimizer`.

        Returns
        -------
        optimizer : Optimizer

        Raises
        ------
        ValueError
            If the results have no such metric or no params.

        Warns
        -----
        UserWarning
            If some candidates are outside the space: how many, and why the first is.

        Examples
        --------
        >>> from skrobustbo import Optimizer, Real
        >>> results = {"params": [{"C": 1}, {"C": 5}], "mean_test_score": [0.8, 0.9]}
        >>> Optimizer.from_cv_results(results, {"C": Real(0.1, 10)}).best_params_
        {'C': 5.0}
        """
        found = read_results(cv_results, metric)
        made: Any = cls
        optimizer = made(space, policy, **settings)
        for params, value in fitting(found, optimizer._place):
            optimizer.tell(params, value)
        return optimizer  # type: ignore[no-any-return] # of a class of ours

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state in JSON types.

        An optimizer read back by `from_dict` asks exactly the points that this one
        would have asked. Categories are stored by index. A space or policy with objects
        that JSON cannot hold (estimators, callables) is left out; pass it again.

        Returns
        -------
        state : dict
        """
        with self._lock:
            return written(cast("Optimizer", self))

    @classmethod
    def from_dict(
        cls,
        d: Mapping[str, Any],
        *,
        space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        policy: Policy | None = None,
        constraints: Callable[[Params], bool] | None = None,
    ) -> Self:
        """Return the optimizer whose state `to_dict` returned as `d`.

        Parameters
        ----------
        d : dict
            The state.
        space : Space, dict or list of dict, default=None
            The space, if it has values that JSON cannot hold.
        policy : Policy, default=None
            The policy, if its settings have objects that JSON cannot hold.
        constraints : callable, default=None
            The constraints, if there were any: JSON cannot hold them.

        Returns
        -------
        optimizer : Optimizer

        Raises
        ------
        ValueError
            If `d` is not such a state, or if something that it lacks is not passed.
        """
        check_format(d)
        check_parts(d)
        check_constraints(d, constraints)
        if space is not None and not isinstance(space, Space):
            space = Space(space)
        policy = None if policy is None else make_policy(policy)
        check_given(d, space=space, policy=policy)
        optimizer: Any = cls.__new__(cls)
        with reading():
            settings = settings_read(d, space, policy)
            optimizer._set_up(**settings, constraints=constraints)
            restore(optimizer, d)
        return optimizer  # type: ignore[no-any-return] # of a class of ours
