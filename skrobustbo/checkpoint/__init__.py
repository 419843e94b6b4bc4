"""Checkpoints of searches: a journal in SQLite that a later call of `fit` takes up."""

from skrobustbo.checkpoint._describe import describe
from skrobustbo.checkpoint._errors import CheckpointError
from skrobustbo.checkpoint._journal import Journal, NoJournal, open_journal

__all__ = ["CheckpointError", "Journal", "NoJournal", "describe", "open_journal"]
