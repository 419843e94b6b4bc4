"""The end of a finite space."""


class SpaceExhausted(Exception):
    """Every point of the search space has been proposed."""
