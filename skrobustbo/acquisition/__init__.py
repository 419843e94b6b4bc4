"""Acquisition functions and their maximisation over mixed spaces."""

from skrobustbo.acquisition._functions import UCB, Acquisition
from skrobustbo.acquisition._maximizer import Maximizer, SpaceExhausted

__all__ = ["UCB", "Acquisition", "Maximizer", "SpaceExhausted"]
