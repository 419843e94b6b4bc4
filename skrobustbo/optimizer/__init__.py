"""The ask-and-tell optimizer."""

from skrobustbo.optimizer._checks import checked_value as checked_value
from skrobustbo.optimizer._checks import paired as paired
from skrobustbo.optimizer._checks import read_results as read_results
from skrobustbo.optimizer._optimizer import Optimizer
from skrobustbo.optimizer._replay import Memory as Memory
from skrobustbo.optimizer._replay import StoredTrial as StoredTrial
from skrobustbo.optimizer._replay import ask_noted as ask_noted
from skrobustbo.optimizer._replay import replay as replay

__all__ = ["Optimizer"]
