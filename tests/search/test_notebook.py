"""The display of a search in notebooks."""

import copy
import html
import math
import re
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from fake_estimators import Fake
from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo.model_selection._html import svg_curve

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = re.compile(r"sk-(?:container|estimator)-id-\d+")


class Tricky(Fake):
    """Its parameters and errors look like HTML."""

    def __init__(self, a=0.0, tag="<script>alert(1)</script>"):
        self.a = a
        self.tag = tag

    def fit(self, X, y):
        if self.a > 0.7:
            raise ValueError("<img src=x onerror=alert(2)> & more")
        return super().fit(X, y)

    def score(self, X, y):
        return self.a


@pytest.fixture(scope="module")
def search():
    space = {"a": Real(0, 1), "tag": ["<script>alert(1)</script>"]}
    X, y = np.zeros((20, 1)), np.tile([0, 1], 10)
    unfitted = RobustBayesSearchCV(Tricky(), space, n_iter=10, cv=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of failures
        return unfitted.fit(X, y)


def without_numbers(text):
    return NUMBERS.sub("id", text)


def test_before_fit_as_scikit_learn_has_it():
    search = RobustBayesSearchCV(Tricky(), {"a": Real(0, 1)})
    expected = without_numbers(estimator_html_repr(search))
    assert without_numbers(search._repr_html_()) == expected


def test_report_and_curve_after_fit(search):
    shown = search._repr_html_()
    diagram = estimator_html_repr(search)
    assert without_numbers(shown).startswith(without_numbers(diagram))
    (pre,) = re.findall(r"<pre style=.*?>(.*?)</pre>", shown[len(diagram) - 20 :], re.S)
    assert html.unescape(pre) == search.report()
    assert shown.count("<svg") - diagram.count("<svg") == 1


@pytest.mark.parametrize("column", ["params", "model_label", "split1_test_score"])
def test_dropped_columns_cost_the_account_and_nothing_else(column, search):
    dropped = copy.copy(search)
    dropped.cv_results_ = {k: v for k, v in search.cv_results_.items() if k != column}
    assert "skrobustbo-report" not in dropped._repr_html_()
    with pytest.raises(ValueError, match=f"Got none for .*{column}.*; fit again"):
        dropped.report()


def test_text_is_escaped(search):
    more = search._more_html()
    assert "onerror=alert(2)" in html.unescape(more)
    assert not re.search(r"<(script|img|style)", more)
    ET.fromstring(more)  # well-formed: no text is taken for tags


def test_mimebundle(search):
    bundle = search._repr_mimebundle_()
    assert bundle["text/plain"] == repr(search)
    assert "skrobustbo-report" in bundle["text/html"]


def test_display_as_text_is_respected(search):
    with config_context(display="text"):
        assert search._repr_mimebundle_() == {"text/plain": repr(search)}
        assert not hasattr(search, "_repr_html_")


def test_inside_of_a_pipeline(search):
    assert "skrobustbo-report" not in make_pipeline(search)._repr_html_()


# The curve ----------------------------------------------------------------------------


def parsed(scores, n_initial=0, name="score"):
    return ET.fromstring(svg_curve(np.array(scores, dtype=float), n_initial, name))


def texts(svg):
    return [element.text for element in svg.iter(f"{SVG}text")]


def test_marks():
    svg = parsed([1, 2, math.nan, -500, 3, 2.5], n_initial=2)
    assert len(list(svg.iter(f"{SVG}circle"))) == 4
    paths = [path.get("d") for path in svg.iter(f"{SVG}path")]
    assert sum("l6 6m0 -6l-6 6" in path for path in paths) == 1  # the failure
    assert sum("h7l-3.5 6z" in path for path in paths) == 1  # far below
    assert len(list(svg.iter(f"{SVG}rect"))) == 1
    assert "initial" in texts(svg)
    assert svg.get("aria-label") == "best score 3 after 6 candidates"


def test_line_is_the_best_so_far():
    svg = parsed([1, 3, 2, 4])
    line = list(svg.iter(f"{SVG}path"))[-1].get("d")
    heights = [float(h) for h in re.findall(r"[V ](\d+\.\d)", line)]
    assert heights == sorted(heights, reverse=True)  # y points down
    dots = [float(c.get("cy")) for c in svg.iter(f"{SVG}circle")]
    assert heights == [dots[0], dots[1], dots[1], dots[3]]


@pytest.mark.parametrize(
    "scores",
    [
        [1.0],
        [2.0, 2.0],
        [math.nan],
        [1e300, -1e300],
        [1e-12, 2e-12],
        [-1e7, -2e7],
        [5e-324],
        [5e-324, -5e-324, 0.0],
        [1e-310, 3e-309],
        [2.3e-308, 1e-300],
        [1.7e308, -1.7e308, math.nan],
        [1.0, 1.0 + 2e-16],
    ],
    ids=str,
)
def test_any_scores_can_be_drawn(scores):
    svg = parsed(scores)
    labels = texts(svg)
    assert len(labels) > 3
    numbers = [float(v) for e in svg.iter() for k, v in e.items() if k in ("x", "y")]
    assert all(-1 <= number <= 560 for number in numbers)


@given(
    st.lists(st.floats(allow_infinity=False) | st.floats(-1e-300, 1e-300), min_size=1)
)
def test_any_floats_can_be_drawn(scores):
    svg = parsed(scores)
    places = [float(c.get("cy")) for c in svg.iter(f"{SVG}circle")]
    assert all(0 <= place <= 220 for place in places)


@pytest.mark.parametrize("scores", [[0.99991, 0.99993], [1e7, 1.2e7], [1e-6, 1.1e-6]])
def test_labels_are_told_apart(scores):
    labels = texts(parsed(scores))
    numbers = labels[: labels.index("1")]
    assert len(numbers) >= 3
    assert len(set(numbers)) == len(numbers)


def test_without_a_score_none_is_told():
    assert parsed([math.nan]).get("aria-label") == "no score after 1 candidate"


def test_names_are_escaped():
    assert "<r2>" in texts(parsed([1, 2], name="<r2>"))
    assert '"q"' in parsed([1, 2], name='"q"').get("aria-label")


def test_no_colour_of_its_own_for_text():
    text = svg_curve(np.array([1.0, 2.0]), 1)
    assert "black" not in text
    assert "white" not in text
    assert 'fill="currentColor"' in text
