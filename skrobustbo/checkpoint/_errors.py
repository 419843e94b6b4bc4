"""The one error of checkpoints."""

from __future__ import annotations


class CheckpointError(ValueError):
    """A checkpoint that cannot be read, is of another search, or cannot be written."""
