"""``conformance``: what scikit-learn's searches promise, asked of ours and of peers."""

from skrobustbo.benchmarks._conformance._command import register

__all__ = ["register"]
