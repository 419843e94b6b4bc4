"""Acquisition functions and their maximisation over mixed spaces."""

from skrobustbo.acquisition._exhausted import SpaceExhausted
from skrobustbo.acquisition._functions import (
    EI,
    UCB,
    Acquisition,
    LogEI,
    UnionMax,
    WeightedSum,
    WorstCase,
)
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
