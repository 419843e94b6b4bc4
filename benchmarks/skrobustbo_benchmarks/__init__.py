"""Reproducible comparisons of policies: ``python -m skrobustbo_benchmarks --help``."""
