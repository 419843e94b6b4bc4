"""Acquisition functions and their maximisation over mixed spaces."""

from skrobustbo.acquisition._combined import UnionMax, WeightedSum, WorstCase
from skrobustbo.acquisition._functions import UCB, Acquisition, SpaceExhausted
from skrobustbo.acquisition._improvement import EI, LogEI
from skrobustbo.acquisition._maximizer import Maximizer

__all__ = [
    "EI",
    "UCB",
    "Acquisition",
    "LogEI",
    "Maximizer",
    "SpaceExhausted",
    "UnionMax",
    "WeightedSum",
    "WorstCase",
]
