"""A source that goes through a list, like a grid search."""

from skrobustbo._trials import Evaluation, Trial
from skrobustbo.evaluation import Schedule


class FixedSource:
    """Candidates that are all known in advance, such as a grid.

    Parameters
    ----------
    candidates : iterable of dict
        The candidates.
    batch_size : int or None, default=None
        Candidates per round; all at once if None.
    """

    n_rounds = None
    metric = None
    near = reason = ""
    schedule = Schedule()
    resource = None

    def __init__(self, candidates, batch_size=None):
        self.trials = []
        self._left = [
            Evaluation(Trial(params), number=i) for i, params in enumerate(candidates)
        ]
        self.n_planned = len(self._left)
        self._batch_size = batch_size or max(1, self.n_planned)

    def check(self, metrics):
        """Accept any metrics."""

    def next_round(self):
        """Return the next candidates of the list."""
        now, self._left = (
            self._left[: self._batch_size],
            self._left[self._batch_size :],
        )
        return now

    def tell(self, trial):
        """Store the trial without learning from it."""
        self.trials.append(trial)

    def progress(self):
        """Return nothing."""
        return {}

    def columns(self):
        """Return no columns."""
        return {}
