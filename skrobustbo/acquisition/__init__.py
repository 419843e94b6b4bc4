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
from skrobustbo.acquisition._maximizer import distances as distances
from skrobustbo.acquisition._maximizer import neighbours as neighbours

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
