"""Policies: how the next point is chosen. One file for each family of algorithms."""

from skrobustbo.policies._balancing import LBGPUCB
from skrobustbo.policies._base import Policy, Setup
from skrobustbo.policies._estimation import MAPGPUCB, MLEGPUCB
from skrobustbo.policies._fixed import GPUCB, RandomPolicy
from skrobustbo.policies._registry import available, make_policy
from skrobustbo.policies._robust import RobustUCB

__all__ = [
    "GPUCB",
    "LBGPUCB",
    "MAPGPUCB",
    "MLEGPUCB",
    "Policy",
    "RandomPolicy",
    "RobustUCB",
    "Setup",
    "available",
    "make_policy",
]
