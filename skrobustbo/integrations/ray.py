"""Ray Tune integration: a searcher that uses this package's policies."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skrobustbo._arguments import about, optional_count
from skrobustbo._names import wrong
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.integrations._ray_space import RaySpace
from skrobustbo.integrations._shared import checked_seed, optional_base
from skrobustbo.optimizer import Optimizer
from skrobustbo.policies import Policy, make_policy
from skrobustbo.space import Space, is_number

__all__ = ["RobustSearcher"]

Params = dict[str, Any]

_Searcher: Any = optional_base("ray.tune.search", "Searcher", "Ray Tune", "ray")
#: Raise this number if an older version would misread the new format.
_FORMAT = 1
_MODES = ("max", "min")
_OWNER = "RobustSearcher"


class RobustSearcher(_Searcher):
    """Ray Tune searcher that chooses configs with one of this package's policies.

    Running trials count as pending points, so concurrent trials never get the same
    config.

    Parameters
    ----------
    space : dict, default=None
        A nested or flat Ray Tune search space. By default, the ``param_space`` of the
        tuner.
    metric : str, default=None
        Name of the result to optimise. By default, the metric of the tuner.
    mode : {"max", "min"}, default=None
        Whether to maximise or minimise the metric. By default, the mode of the tuner.
    policy : str or Policy, default="robust"
        The rule for choosing configs: a name from `skrobustbo.policies.available` or a
        policy object.
    points_to_evaluate : list of dict, default=None
        Configs to evaluate first.
    seed : int, default=None
        Random seed.
    n_initial_points : int, default=None
        Number of initial trials. The default is 2 d + 2 for d parameters.
    horizon : int, default=None
        Total number of planned trials, if known. Some policies use it.

    Raises
    ------
    ImportError
        If Ray Tune is not installed.
    ValueError
        If an argument is invalid, or a parameter cannot be searched.

    Notes
    -----
    Only the last result of a trial is used, even if a scheduler stopped the trial
    early. A trial that raises an error or does not report the metric counts as a
    failure.

    Ray Tune stores the searcher's state as JSON with the experiment.

    Examples
    --------
    >>> from ray import tune
    >>> from skrobustbo.integrations.ray import RobustSearcher
    >>> space = {"lr": tune.loguniform(1e-4, 1), "net": {"width": tune.randint(8, 65)}}
    >>> searcher = RobustSearcher(space, metric="loss", mode="min", seed=0)
    >>> config = searcher.suggest("trial-1")
    >>> sorted(config), sorted(config["net"])
    (['lr', 'net'], ['width'])
    >>> searcher.on_trial_complete("trial-1", {"loss": 0.3})
    """

    def __init__(
        self,
        space: Mapping[str, Any] | None = None,
        metric: str | None = None,
        mode: str | None = None,
        *,
        policy: str | Policy = "robust",
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        seed: int | None = None,
        n_initial_points: int | None = None,
        horizon: int | None = None,
    ) -> None:
        _check_objective(metric, mode)
        super().__init__(metric=metric, mode=mode)
        self._metric: str | None = metric
        self._mode: str | None = mode
        self._policy = make_policy(policy)
        self._policy.check()
        self._points = list(points_to_evaluate or [])
        self._settings: dict[str, Any] = {
            "n_initial_points": optional_count(
                "n_initial_points", n_initial_points, _OWNER
            ),
            "horizon": optional_count("horizon", horizon, _OWNER),
            "random_state": None if seed is None else checked_seed(seed, _OWNER),
        }
        self._space: RaySpace | None = None
        self._optimizer: Optimizer | None = None
        #: Points of the running trials.
        self._running: dict[str, Params] = {}
        #: The restored state, until there is a space.
        self._read: dict[str, Any] | None = None
        if space is not None:
            self._set_up(space)

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any
    ) -> bool:
        """Use the metric, mode and search space of the tuner.

        Parameters
        ----------
        metric : str or None
        mode : {"max", "min"} or None
        config : dict
            The search space.
        **spec
            Not used.

        Returns
        -------
        taken : bool
            False if both the searcher and the tuner define a search space.
        """
        _check_objective(metric, mode)
        if self._space is not None and config:
            return False
        self._metric, self._mode = metric or self._metric, mode or self._mode
        if self._space is None:
            self._set_up(config)
        return True

    def _set_up(self, config: Mapping[str, Any]) -> None:
        self._space = RaySpace(config)
        if self._read is not None:
            self._go_on(self._read, self._space.space)
            return
        try:
            first = [self._space.point_of(point) for point in self._points]
        except ValueError as error:
            raise about("'points_to_evaluate'", error) from None
        self._optimizer = Optimizer(
            self._space.space, self._policy, initial_params=first, **self._settings
        )

    @property
    def _ready(self) -> tuple[Optimizer, RaySpace]:
        if self._optimizer is None or self._space is None:
            raise ValueError(
                "RobustSearcher needs a search space, got none; pass 'space', or "
                "'param_space' to the tuner."
            )
        if self._metric is None or self._mode is None:
            raise ValueError(
                "RobustSearcher needs a metric and a mode, got "
                f"metric={self._metric!r}, mode={self._mode!r}; pass both here or to "
                "tune.TuneConfig."
            )
        return self._optimizer, self._space

    def suggest(self, trial_id: str) -> Any:
        """Return the config of a new trial, or `FINISHED` if no points are left.

        Parameters
        ----------
        trial_id : str

        Returns
        -------
        config : dict or str
        """
        optimizer, space = self._ready
        try:
            point = optimizer.ask()
        except SpaceExhausted:
            return self.FINISHED
        self._running[trial_id] = point
        return space.config_of(point)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Do nothing, because only the last result of a trial is used.

        Parameters
        ----------
        trial_id : str
        result : dict
        """

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Record the result of a finished trial.

        Parameters
        ----------
        trial_id : str
        result : dict, default=None
            The last result of the trial.
        error : bool, default=False
            Whether the trial failed.
        """
        optimizer, _ = self._ready
        point = self._running.pop(trial_id, None)
        if point is not None:
            value = None if error or not result else result.get(str(self._metric))
            optimizer.tell(point, self._larger_is_better(value))

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Record the value of a config that was evaluated elsewhere.

        Parameters
        ----------
        parameters : dict
            The config.
        value : float
        error : bool, default=False
            Whether the evaluation failed.
        pruned : bool, default=False
            Whether the evaluation was stopped early. The value is used either way.
        intermediate_values : list of float, default=None
            Not used.
        """
        optimizer, space = self._ready
        point = space.point_of(parameters)
        optimizer.tell(point, self._larger_is_better(None if error else value))

    def _larger_is_better(self, value: Any) -> float:
        if hasattr(value, "item"):  # a NumPy scalar or a tensor
            value = value.item()
        if not is_number(value):
            return math.nan
        return float(value) if self._mode == "max" else -float(value)

    # State on disk --------------------------------------------------------------------

    def save(self, checkpoint_path: str) -> None:
        """Write the state of the searcher to a JSON file.

        Parameters
        ----------
        checkpoint_path : str
        """
        optimizer, _ = self._ready
        state = {
            "format": _FORMAT,
            "metric": self._metric,
            "mode": self._mode,
            "optimizer": optimizer.to_dict(),
            "running": self._running,
        }
        Path(checkpoint_path).write_text(json.dumps(state), encoding="utf-8")

    def restore(self, checkpoint_path: str) -> None:
        """Restore the state of the searcher from a file written by `save`.

        Parameters
        ----------
        checkpoint_path : str

        Raises
        ------
        ValueError
            If the file was not written by `save`, or belongs to another search space.
        """
        try:
            state = json.loads(Path(checkpoint_path).read_text(encoding="utf-8"))
        except ValueError:
            state = None
        _check_state(state, checkpoint_path)
        self._metric, self._mode = state["metric"], state["mode"]
        self._read = state
        if self._space is not None:
            self._go_on(state, self._space.space)

    def _go_on(self, state: dict[str, Any], space: Space) -> None:
        optimizer = Optimizer.from_dict(state["optimizer"], policy=self._policy)
        if optimizer.space != space:
            raise ValueError(
                f"Expected a saved state of the search space {space!r}, "
                f"got one of {optimizer.space!r}; restore it with the space that it "
                "was saved with."
            )
        for point in state["running"].values():
            optimizer.space.encode(point)
        self._optimizer, self._running = optimizer, dict(state["running"])
        self._read = None


def _check_objective(metric: Any, mode: Any) -> None:
    if metric is not None and not isinstance(metric, str):
        raise wrong("metric", _OWNER, "the name of one result", metric)
    if mode is not None and mode not in _MODES:
        raise wrong("mode", _OWNER, "'max' or 'min'", mode)


def _check_state(state: Any, path: str) -> None:
    form = {"metric": str, "mode": str, "optimizer": dict, "running": dict}
    fits = isinstance(state, dict) and state.get("format") == _FORMAT
    if not fits or not all(isinstance(state.get(k), form[k]) for k in form):
        raise ValueError(
            f"Expected a state that RobustSearcher.save wrote in {path!r}, got "
            "something else; give the file as it was written."
        )
