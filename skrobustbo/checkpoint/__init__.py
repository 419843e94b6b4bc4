"""Checkpoints: SQLite files from which a later call to `fit` resumes a search."""

from skrobustbo.checkpoint._events import TEXT, Asked
from skrobustbo.checkpoint._fingerprint import Parts as Parts
from skrobustbo.checkpoint._fingerprint import describe, describe_data, shortened
from skrobustbo.checkpoint._journal import Journal, open_journal
from skrobustbo.checkpoint._lock import CheckpointError, NotBegun
from skrobustbo.checkpoint._reader import Contents, read_contents
from skrobustbo.checkpoint._store import damaged

__all__ = [
    "TEXT",
    "Asked",
    "CheckpointError",
    "Contents",
    "Journal",
    "NotBegun",
    "damaged",
    "describe",
    "describe_data",
    "open_journal",
    "read_contents",
    "shortened",
]
