"""The error for an exhausted finite space (a module, so that pages can link to it)."""


class SpaceExhausted(Exception):
    """Every point of the search space has been proposed."""
