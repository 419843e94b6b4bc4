"""Exception for an exhausted search space."""


class SpaceExhausted(Exception):
    """Raised when every point of the search space has been proposed."""
