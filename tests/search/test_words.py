"""Numbers in the report."""

import html
import math
import unicodedata

import numpy as np
import pytest

from fake_estimators import Fake, search_of
from skrobustbo import Categorical, Real
from skrobustbo._names import count, printable
from skrobustbo._text import clipped, duration, short, with_error


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        (0.98123, 0.00341, "0.9812 ± 0.0034"),
        (0.98123, 0.0996, "0.981 ± 0.100"),
        (-53.9, 0.66, "-53.90 ± 0.66"),
        (-1234.5, 20.0, "-1234 ± 20"),
        (-123456.0, 2000.0, "-123456 ± 2000"),
        (-1.5e12, 2e10, "-1.5e+12 ± 2e+10"),
        (0.5, 0.0, "0.5"),
        (0.5, math.nan, "0.5"),
        (math.nan, 0.1, "nan"),
        (0.1, 1e-20, "0.1"),
    ],
)
def test_a_value_has_the_digits_that_its_error_allows(value, error, says):
    assert with_error(value, error) == says
    assert with_error(value, error, both=False) == says.split(" ±")[0]


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (0.0123, "12.3 ms"),
        (1.5, "1.5 s"),
        (119.0, "119 s"),
        (125.0, "2 min"),
        (7200.0, "2 h"),
        (9000.0, "2.5 h"),
        (math.nan, "an unknown time"),
        (math.inf, "an unknown time"),
    ],
)
def test_durations(seconds, says):
    assert duration(seconds) == says


def test_values_of_parameters_take_one_short_line():
    assert short(0.123456) == "0.1235"
    assert short(7) == "7"
    assert short("a\nb") == "'a\\nb'"
    assert len(short(list(range(1000)))) == 60
    assert clipped("abcdef", 5) == "ab..."
    assert clipped("abcde", 5) == "abcde"


def test_counts():
    assert [count(n, "fold") for n in (0, 1, 2)] == ["0 folds", "1 fold", "2 folds"]


# Control characters for terminals -----------------------------------------------------

HOSTILE = "\x1b[2J\x1b]0;title\x07\r\n\tnext\x00\x7f\x9b1m\u202e\u2066\u2028line\x85"


def obeyed(text):
    """Return the characters that no line may contain."""
    odd = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {c for c in text if unicodedata.category(c) in odd}


def test_printable_texts():
    assert not obeyed(printable(HOSTILE))
    assert printable(HOSTILE).startswith("\\x1b[2J")
    for text in ("", "a b", "naïve Übung 模型 ± 😀", "a\\nb", "'\""):
        assert printable(text) == text
    assert printable("\ud800") == "\\ud800"
    assert printable("\n'\"\\\u202e") == "\\n'\"\\\\u202e"


class Named:
    """A choice with an arbitrary repr."""

    def __repr__(self):
        return HOSTILE


class Loud(Fake):
    def __init__(self, a=0.0, b=None):
        self.a = a
        self.b = b

    def fit(self, X, y=None):
        if self.a > 0.5:
            raise RuntimeError(HOSTILE)
        return self


def scores(estimator, X, y=None):
    return {HOSTILE: -(estimator.a**2)}


def angry(trial):
    raise RuntimeError(HOSTILE)


@pytest.mark.parametrize(("value", "n_lines"), [(HOSTILE, 0), ("a\tb", 6), ("a\nb", 6)])
def test_lines_about_folds_have_nothing_that_a_terminal_obeys(value, n_lines, capsys):
    space = {"a": Real(-1, 0), "b": [value]}
    search = search_of(Loud(), space, n_iter=2, cv=3, refit=False, verbose=2)
    search.fit(np.arange(30.0).reshape(-1, 1))
    out = capsys.readouterr().out
    assert not obeyed(out) - {"\n", "\t"}
    assert out.count("[CV] END") == n_lines


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:One or more of the test")
def test_texts_of_others_are_shown_on_one_line(capsys):
    space = {"a": Real(-1, 1), "b": Categorical([Named(), Named()])}
    search = search_of(
        Loud(), space, n_iter=8, scoring=scores, search_metric=HOSTILE, refit=False,
        verbose=1, on_trial=angry,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="'on_trial' of") as said:
        search.fit(np.arange(30.0).reshape(-1, 1))
    shown = [line for w in said for line in str(w.message).split("\n")]
    assert any("title" in line and "RuntimeError: " in line for line in shown)
    shown += search.report().splitlines()
    shown += capsys.readouterr().out.splitlines()
    assert any("title" in line for line in shown)
    assert not obeyed("".join(shown))
    page = search._repr_html_()
    assert html.escape(printable(HOSTILE)) in page
    _, _, account = page.partition("skrobustbo-report")
    assert obeyed(account) <= {"\n"}
    assert not obeyed(search.trials_dataframe()["failure"].dropna().str.cat())
