"""Rows on kinds of data, and on what is passed along with them."""

import numpy as np
import scipy.sparse
import sklearn
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from promises.tools import (
    CS,
    LINE,
    N_SAMPLES,
    Instant,
    NotApplicableError,
    X,
    fold_fits,
    require,
    y,
)
from searches import Floats

#: Each sample's weight tells which sample it belongs to.
WEIGHTS = 1.0 + np.arange(N_SAMPLES)
GROUPS = np.arange(N_SAMPLES) // 6
NUMBERED = np.column_stack([WEIGHTS, X])


def sparse(peer):
    """Sparse `X`."""
    search = peer.search(LogisticRegression(), CS, n_iter=3)
    data = scipy.sparse.csr_array(X)
    search.fit(data, y)
    require(search.predict(data).shape == y.shape, "predicts another shape")


def without_y(peer):
    """No `y`: density estimation."""
    search = peer.search(KernelDensity(), {"bandwidth": Floats(0.1, 2.0)}, n_iter=3)
    search.fit(X)
    require(np.isfinite(search.best_score_), "best_score_ is not finite")
    require(search.score_samples(X).shape == (len(X),), "lacks score_samples")


def list_of_texts(peer):
    """`X` a list of texts, `y` a list of words."""
    texts = ["good fine well", "bad poor ill"] * 12
    labels = ["up", "down"] * 12
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    space = {"logisticregression__C": Floats(0.1, 10.0, log=True)}
    search = peer.search(model, space, n_iter=3).fit(texts, labels)
    require(list(search.predict(texts[:2])) == labels[:2], "predicts otherwise")


def several_outputs(peer):
    """`y` with several columns."""
    targets = X[:, :2]
    search = peer.search(Ridge(), {"alpha": Floats(0.1, 1.0)}, n_iter=3)
    search.fit(X, targets)
    require(search.predict(X).shape == targets.shape, "predicts another shape")


def precomputed_kernel(peer):
    """A precomputed kernel is split by rows and columns."""
    search = peer.search(SVC(kernel="precomputed"), CS, n_iter=3)
    search.fit(X @ X.T, y)
    require(np.isfinite(search.best_score_), "best_score_ is not finite")


def groups_to_splitter(peer):
    """`groups` reach the splitter."""
    search = peer.search(Instant(), LINE, n_iter=3, cv=GroupKFold(4))
    _require_whole_groups(fold_fits(search, NUMBERED, groups=GROUPS))


def _require_whole_groups(fits):
    for _, rows, _ in fits:
        sizes = np.bincount(GROUPS[rows.astype(int) - 1], minlength=8)
        require(set(sizes) == {0, 6}, "a group is torn between folds")


def fit_parameters(peer):
    """`sample_weight` given to `fit` is cut like the samples."""
    search = peer.search(Instant(), LINE, n_iter=3)
    _require_own_weights(fold_fits(search, NUMBERED, sample_weight=WEIGHTS))


def _require_own_weights(fits):
    for _, rows, weights in fits:
        require(weights is not None, "the weights do not reach the fit")
        require(np.array_equal(rows, weights), "the weights are other samples'")


def routed_to_fit(peer):
    """Metadata routing: weights requested by the fit, groups by the splitter."""
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Instant().set_fit_request(sample_weight=True)
        estimator.set_score_request(sample_weight=False)
        search = peer.search(estimator, LINE, n_iter=3, cv=GroupKFold(4))
        fits = fold_fits(search, NUMBERED, sample_weight=WEIGHTS, groups=GROUPS)
    _require_own_weights(fits)
    _require_whole_groups(fits)


def routed_to_scorer(peer):
    """Metadata routing: weights requested by the scorer only."""
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LogisticRegression().set_fit_request(sample_weight=False)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        search = peer.search(estimator, CS, scoring=scorer)
        search.fit(X, y, sample_weight=(y == 1).astype(float))
        only_ones = search.cv_results_["mean_test_score"]
        search.fit(X, y, sample_weight=np.ones(N_SAMPLES))
    different = not np.array_equal(only_ones, search.cv_results_["mean_test_score"])
    require(different, "the weights do not reach the scorer")


def routing_refuses(peer):
    """Metadata routing: weights that nobody has requested are an error."""
    with sklearn.config_context(enable_metadata_routing=True):
        search = peer.search(Instant(), LINE, n_iter=3)
        try:
            search.fit(X, y, sample_weight=WEIGHTS)
        except (TypeError, ValueError) as error:
            if "sample_weight" in str(error):
                return
            raise NotApplicableError(f"fails for another reason: {error}") from error
    require(False, "ignores them")
