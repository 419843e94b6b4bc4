"""The end of a finite space: a file of its own, for the links in the documentation."""


class SpaceExhausted(Exception):
    """Every point of the search space has been proposed."""
