"""Registry of policies, and conversion of policies to and from JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.gaussian_process.kernels as sklearn_kernels
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

import skrobustbo.kernels as own_kernels
from skrobustbo._names import canonical, unknown_name
from skrobustbo.policies._base import NAMED, Policy
from skrobustbo.surrogate import Candidate, FlatPrior, GammaPrior, LogNormalPrior

_PRIORS = {cls.__name__: cls for cls in (FlatPrior, GammaPrior, LogNormalPrior)}


def available() -> dict[str, type[Policy]]:
    """Return a dict that maps the names of policies to their classes.

    Returns
    -------
    policies : dict of str to class

    Examples
    --------
    >>> from skrobustbo import policies
    >>> policies.available()["robust"]().weights
    (1, 0.5, 0.05, 0.1)
    """
    return dict(sorted(NAMED.items()))


def make_policy(policy: str | Policy, **settings: Any) -> Policy:
    """Create a policy by name, or copy a policy with changed settings.

    Parameters
    ----------
    policy : str or Policy
        A name from `available` (``_`` and ``-`` are equivalent), or a policy object.
    **settings
        Settings of the policy.

    Returns
    -------
    policy : Policy
        A new policy object.

    Raises
    ------
    ValueError
        If the name is unknown. The message lists the known names.

    Examples
    --------
    >>> from skrobustbo.policies import make_policy
    >>> make_policy("lb_gp_ucb", theta0=0.5)
    LBGPUCB(theta0=0.5)
    """
    if isinstance(policy, str):
        if canonical(policy) not in NAMED:
            raise unknown_name("'policy'", policy, NAMED)
        return NAMED[canonical(policy)](**settings)
    if not isinstance(policy, Policy):
        raise ValueError(
            f"The 'policy' must be one of {sorted(NAMED)} or a policy object. Got "
            f"{policy!r} instead."
        )
    copy: Policy = clone(policy)
    return copy.set_params(**settings)


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    """Return the name and settings of a policy in JSON types.

    Raises
    ------
    TypeError
        If the policy is not in `available`, or if a setting, such as a callable, cannot
        be stored as JSON.
    """
    names = [name for name, cls in NAMED.items() if cls is type(policy)]
    if not names:
        raise TypeError(
            f"Expected one of the policies {sorted(NAMED)} to write as JSON, got "
            f"{policy!r}; write the state without it and pass 'policy' to from_dict."
        )
    settings = policy.get_params(deep=False)
    return {
        "name": names[0],
        "settings": {key: _to_json(key, value) for key, value in settings.items()},
    }


def policy_from_dict(state: dict[str, Any]) -> Policy:
    """Create a policy from the output of `policy_to_dict`."""
    settings = {key: _from_json(value) for key, value in state["settings"].items()}
    return make_policy(str(state["name"]), **settings)


def _to_json(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_to_json(name, item) for item in value]
    if isinstance(value, Kernel):
        params = value.get_params(deep=False).items()
        kind = type(value).__name__
        return {"kernel": kind, "params": {k: _to_json(k, v) for k, v in params}}
    if type(value) in _PRIORS.values():
        return {"prior": type(value).__name__, "params": vars(value).copy()}
    if isinstance(value, Candidate) and value.mean is None:
        names = ("kernel", "label", "norm_bound", "noise")
        return {"candidate": {k: _to_json(k, getattr(value, k)) for k in names}}
    if isinstance(value, dict):
        return {"dict": {str(k): _to_json(k, v) for k, v in value.items()}}
    raise TypeError(
        f"Expected a setting that JSON can hold, got {name}={value!r}; pass 'policy' "
        "to from_dict when the state is read back."
    )


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "dict" in value:
        return {key: _from_json(item) for key, item in value["dict"].items()}
    if "candidate" in value:
        return Candidate(**{k: _from_json(v) for k, v in value["candidate"].items()})
    params = {key: _from_json(item) for key, item in value["params"].items()}
    if "prior" in value:
        return _PRIORS[value["prior"]](**params)
    name = str(value["kernel"])
    kind = getattr(sklearn_kernels, name, getattr(own_kernels, name, None))
    if not (isinstance(kind, type) and issubclass(kind, Kernel)):
        raise ValueError(f"Expected the name of a kernel, got {value['kernel']!r}.")
    return kind(**params)
