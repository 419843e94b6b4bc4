"""The error for an exhausted finite space (in a module of its own, for links)."""


class SpaceExhausted(Exception):
    """Every point of the search space has been proposed."""
