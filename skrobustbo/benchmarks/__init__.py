"""Reproducible comparisons of policies: ``python -m skrobustbo.benchmarks --help``."""
