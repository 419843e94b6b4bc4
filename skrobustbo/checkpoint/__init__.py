"""Checkpoints of searches: a journal in SQLite that a later call of `fit` takes up."""

from skrobustbo.checkpoint._beside import CheckpointError
from skrobustbo.checkpoint._describe import describe, describe_data, shortened
from skrobustbo.checkpoint._journal import Journal, NoJournal, open_journal

__all__ = [
    "CheckpointError",
    "Journal",
    "NoJournal",
    "describe",
    "describe_data",
    "open_journal",
    "shortened",
]
