"""Bookkeeping cost of one candidate: calls of our functions, and their files.

    python tests/search/candidate_cost.py

It follows the candidates of a search with three folds, a checkpoint and one job, from
one that a model chose to the next. Packages that compute, such as the models and the
policies, are left out. The rest is what a reader of the code must follow.
"""

import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

import skrobustbo
from skrobustbo import Integer, RobustBayesSearchCV
from skrobustbo.policies import RobustUCB

ROOT = Path(skrobustbo.__file__).parent
COMPUTING = {"surrogate", "kernels", "acquisition", "policies", "space"}


class Followed(RobustUCB):
    """The default policy; a candidate starts where it is asked for."""

    def suggest(self, state, models, argmax, pending):
        """Restart the count."""
        CANDIDATES.append(Counter())
        return super().suggest(state, models, argmax, pending)


CANDIDATES: list[Counter] = []


def count(frame, event, arg):
    """Count a call of a bookkeeping function, by its file and name."""
    if event == "call" and CANDIDATES:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT):
            part = path.relative_to(ROOT).parts[0]
            if part not in COMPUTING:
                CANDIDATES[-1][path, frame.f_code.co_qualname] += 1


def main():
    """Print the figures of the median candidate."""
    X, y = load_iris(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        search = RobustBayesSearchCV(
            KNeighborsClassifier(),
            {"n_neighbors": Integer(1, 60), "p": [1, 2, 3]},
            n_iter=20,
            cv=3,
            policy=Followed(),
            checkpoint=Path(folder) / "search.db",
            refit=False,
            random_state=0,
        )
        sys.setprofile(count)
        try:
            search.fit(X, y)
        finally:
            sys.setprofile(None)
    # The last one is followed by the end of the search.
    whole = CANDIDATES[:-1]
    calls = statistics.median(sum(one.values()) for one in whole)
    functions = statistics.median(len(one) for one in whole)
    files = statistics.median(len({path for path, _ in one}) for one in whole)
    print(
        f"A candidate takes {calls:.0f} calls of {functions:.0f} functions in "
        f"{files:.0f} files (median of {len(whole)})."
    )


if __name__ == "__main__":
    main()
