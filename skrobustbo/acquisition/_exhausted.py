"""The end of a finite space; of its own, for the pages of its users."""


class SpaceExhausted(Exception):
    """Every point of the search space has been proposed."""
