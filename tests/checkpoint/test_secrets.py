"""Data do not appear in checkpoints, messages or reports."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit

from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo.checkpoint import CheckpointError, describe_data

SECRETS = ["mueller", "zoster", "quokka", "47110815"]
N = 12


class Blind(ClassifierMixin, BaseEstimator):
    """Accepts any data; only its parameter counts."""

    def __init__(self, a=0.0):
        self.a = a

    def fit(self, X, y=None, note=None, sample_weight=None):
        self.classes_ = np.unique(np.asarray(y)) if y is not None else None
        return self

    def score(self, X, y=None):
        return -(self.a**2)


def named(n=N):
    return [f"patient mueller {i}" for i in range(n)]


def ill(n=N):
    return ["zoster" if i % 2 else "quokka" for i in range(n)]


class Groups(GroupKFold):
    """A splitter that stores data."""

    def __init__(self, names):
        super().__init__(3)
        self.names = names


GIVEN = {
    "lists": {"X": [[name] for name in named()], "y": ill()},
    "tuples": {"X": tuple((name,) for name in named()), "y": tuple(ill())},
    "object arrays": {
        "X": np.array(named(), dtype=object)[:, None],
        "y": np.array(ill(), dtype=object),
    },
    "text arrays": {"X": np.array(named())[:, None], "y": np.array(ill())},
    "series": {
        "X": pd.Series(named(), name="mueller", index=ill()),
        "y": pd.Series(ill(), name="zoster", dtype="category"),
    },
    "tables": {
        "X": pd.DataFrame({"mueller": named(), "n": range(N)}, index=ill()),
        "y": ill(),
    },
    "structured": {
        "X": np.zeros(N, dtype=[("mueller", float), ("zoster", "U9")]),
        "y": ill(),
    },
    "dicts": {"X": [{"name": name, "age": 47110815} for name in named()], "y": ill()},
    "numbers": {"X": [[47110815]] * N, "y": [47110815, 1] * (N // 2)},
    "groups": {"groups": [name[:-2] + str(i % 3) for i, name in enumerate(named())]},
    "metadata": {"note": "patient mueller", "sample_weight": [47110815.0] * N},
    "folds": {"cv": PredefinedSplit([i % 3 for i in range(N)])},
    "splitter": {"cv": Groups(named()), "groups": [i % 3 for i in range(N)]},
    "a few": {"X": [["mueller"]] * 3, "y": ["zoster", "quokka", "zoster"]},
}


def search(path, given, n_iter=4):
    """Return a search and the arguments of its `fit`."""
    given = {"X": [[0.0]] * N, "y": [0, 1] * (N // 2), **given}
    cv = given.pop("cv", GroupKFold(3) if "groups" in given else KFold(3))
    estimator = Blind().set_fit_request(note=True, sample_weight=True)
    made = RobustBayesSearchCV(
        estimator,
        {"a": Real(-1, 1)},
        n_iter=n_iter,
        cv=cv,
        random_state=0,
        checkpoint=path,
        refit=False,
    )
    return made, given


@pytest.fixture(autouse=True)
def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def assert_none(text):
    found = [secret for secret in SECRETS if secret in text.lower()]
    assert not found, text


@pytest.mark.parametrize("case", GIVEN)
def test_data_do_not_show(case, tmp_path):
    path = tmp_path / "search.ckpt"
    made, given = search(path, GIVEN[case])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made.fit(**given)
    for file in tmp_path.iterdir():
        assert_none(file.read_bytes().decode("latin-1"))
    # scikit-learn's diagram above our report is scikit-learn's business.
    for text in (made.report(), made._more_html(), repr(made.optimizer_.to_dict())):
        assert_none(text)
    assert_none(" ".join(str(w.message) for w in caught))


@pytest.mark.parametrize("case", GIVEN)
def test_data_do_not_show_where_others_are_refused(case, tmp_path):
    path = tmp_path / "search.ckpt"
    before, first = search(path, {"groups": [0, 1, 2] * 4} if case == "groups" else {})
    before.fit(**first)
    made, given = search(path, GIVEN[case])
    with pytest.raises(
        CheckpointError, match=r"belongs to another search, because "
    ) as error:
        made.fit(**given)
    assert_none(str(error.value))


@pytest.mark.parametrize(
    "changes",
    [
        {"sample_weight": ["47110815"] * 3},
        {"cv": [("mueller", "zoster", "quokka")] * 3},
        {"cv": [(named()[:6], named()[6:])] * 3},
    ],
    ids=["weights", "no pairs", "names for rows"],
)
def test_data_do_not_show_where_they_are_wrong(changes):
    made, given = search(None, changes)
    with pytest.raises(ValueError, match=r"must ") as error:
        made.fit(**given)
    assert_none(str(error.value))


def test_data_are_told_apart_all_the_same():
    values = [*SECRETS, named(), tuple(named()), ill(), pd.Series(named()), None, 3]
    texts = [describe_data(value) for value in values]
    assert texts == [describe_data(value) for value in values]
    assert len(set(texts)) == len(values)
