"""Policies, the algorithms that choose the next point to evaluate."""

from skrobustbo.policies._balancing import HBGPUCB, LBGPUCB, LNBGPUCB
from skrobustbo.policies._balancing import RegretBalancer as RegretBalancer
from skrobustbo.policies._base import Argmax as Argmax
from skrobustbo.policies._base import Policy, Setup
from skrobustbo.policies._beta import bayes_continuous_beta as bayes_continuous_beta
from skrobustbo.policies._beta import bayes_finite_beta as bayes_finite_beta
from skrobustbo.policies._beta import self_normalised_beta as self_normalised_beta
from skrobustbo.policies._boho import BOHO
from skrobustbo.policies._changing import (
    BRGPUCB,
    ETGPUCB,
    RGPUCB,
    SWGPUCB,
    TVGPUCB,
    UITVBO,
    WGPUCB,
)
from skrobustbo.policies._elimination import (
    HEGPUCB,
    ExpectedUCB,
    HEStableOpt,
    StableOpt,
)
from skrobustbo.policies._gp_ucb import (
    GPUCB,
    IGPUCB,
    MAPGPUCB,
    MCMCGPUCB,
    MLEGPUCB,
    RandomPolicy,
)
from skrobustbo.policies._growing import AGPUCB
from skrobustbo.policies._models import numbered as numbered
from skrobustbo.policies._registry import available, make_policy
from skrobustbo.policies._registry import policy_from_dict as policy_from_dict
from skrobustbo.policies._registry import policy_to_dict as policy_to_dict
from skrobustbo.policies._robust import RobustUCB

__all__ = [
    "AGPUCB",
    "BOHO",
    "BRGPUCB",
    "ETGPUCB",
    "GPUCB",
    "HBGPUCB",
    "HEGPUCB",
    "IGPUCB",
    "LBGPUCB",
    "LNBGPUCB",
    "MAPGPUCB",
    "MCMCGPUCB",
    "MLEGPUCB",
    "RGPUCB",
    "SWGPUCB",
    "TVGPUCB",
    "UITVBO",
    "WGPUCB",
    "ExpectedUCB",
    "HEStableOpt",
    "Policy",
    "RandomPolicy",
    "RobustUCB",
    "Setup",
    "StableOpt",
    "available",
    "make_policy",
]
