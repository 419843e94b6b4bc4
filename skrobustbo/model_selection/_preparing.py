"""Check the settings of a search and create the source of its candidates."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

from skrobustbo._arguments import drawn_seed
from skrobustbo.checkpoint import Journal
from skrobustbo.evaluation import Stops
from skrobustbo.model_selection._checks import (
    check_estimator,
    check_pre_dispatch,
    check_refit,
    check_scoring,
    initial_points,
)
from skrobustbo.model_selection._default import default_of, place_of
from skrobustbo.model_selection._outline import call_of, fingerprint, outline
from skrobustbo.model_selection._parameters import check_names
from skrobustbo.model_selection._previous import known_before
from skrobustbo.model_selection._resource import staged
from skrobustbo.model_selection._settings import Data, Search, resource_of
from skrobustbo.model_selection._source import OptimizerSource
from skrobustbo.model_selection._suggested import suggested_space
from skrobustbo.optimizer import Optimizer
from skrobustbo.space import Space

#: Number of candidates for each parameter in a suggested space, and minimum number of
#: parameters; `benchmarks/studies/suggested.py` compares alternatives.
_PER_PARAMETER, _FEWEST = 6, 4


def prepared(
    search: Search, journal: Journal, data: Data, n_iter: int, stops: Stops
) -> OptimizerSource:
    """Check the settings of a search and return the source of its candidates."""
    check_estimator(search.estimator)
    check_scoring(search.scoring)
    check_refit(search.refit)
    check_pre_dispatch(search.pre_dispatch)
    space = searched(search, journal, data, n_iter)
    check_names(space, search.estimator)
    before = known_before(search, data, space)
    # Describing data takes time, so do it only if a file stores the description.
    described = {} if journal.path is None else data
    seed, drawn = search.random_state, not isinstance(search.random_state, Integral)
    seed, horizon = journal.begin(
        lambda: fingerprint(search, space, described, before.description),
        seed=drawn_seed(seed, "RobustBayesSearchCV") if drawn else int(seed),
        n_iter=n_iter,
        drawn=drawn,
        outline=lambda: outline(search, space),
        call=lambda: call_of(search),
    )
    given, amounts, axis = resource_of(search), None, None
    if given is not None:
        amounts, axis = staged(given, search.estimator, space, data, seed)
    first = [*initial_points(search, space), *before.first]
    default, says = default_of(search, space, before.told)
    before = replace(before, default=default, of_default=says)
    if default is not None and not before.n_outside:
        place = place_of(space, default.params)
        others = [params for params in first if place_of(space, params) != place]
        first = [default.params, *others]
    horizon = max(1, horizon - before.n_outside) + len(before.told)

    def fresh() -> Optimizer:
        optimizer = Optimizer(
            space,
            search.policy,
            n_initial_points=search.n_initial_points,
            initial_params=first,
            constraints=search.constraints,
            horizon=int(min(horizon, space.size)),
            resources=amounts,
            random_state=seed,
        )
        optimizer._tell_earlier(before.told, n_begun=before.n_outside)
        return optimizer

    return OptimizerSource(search, fresh, journal, n_iter, before, axis, stops)


def searched(search: Search, journal: Journal, data: Data, n_iter: int) -> Space:
    """Return the space of a search; a resumed search uses its original space."""
    space = search.param_space
    if isinstance(space, str):  # "suggested"
        resource, n_iter = resource_of(search), journal.horizon or n_iter
        found = suggested_space(search.estimator, data["X"], data.get("y"))
        others = [name for name in found if resource is None or name != resource.name]
        n_params = max(_FEWEST, n_iter // _PER_PARAMETER)
        space = {name: found[name] for name in others[:n_params]}
    return space if isinstance(space, Space) else Space(space)
