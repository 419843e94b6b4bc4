"""What scikit-learn's searches promise: ours keeps it, and the command notices."""

import os
import time
from pathlib import Path

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import conformance
import shared
from conformance import Answer, keyed, main, read
from conformance_page import page
from promises import PROBES, title
from promises.tools import (
    CS,
    NotApplicableError,
    Outcome,
    one_line,
    require,
    run_probe,
)
from searches import PEERS, Choice, Floats, Ints

OURS, GRID = PEERS["RobustBayesSearchCV"], PEERS["GridSearchCV"]
DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PROBES))
def test_ours_does_what_grid_search_does(name):
    grid = run_probe(PROBES[name], GRID)
    assert grid.verdict != "no", grid
    ours = run_probe(PROBES[name], OURS)
    assert ours.verdict in {"yes", grid.verdict}, ours


# Probes can fail ----------------------------------------------------------------------


def broken(**attributes):
    """Return a peer whose search is a grid search with other attributes."""
    make = GRID.make

    def make_broken(task):
        search = make(task)
        changes = {name: value(search) for name, value in attributes.items()}
        search.__class__ = type("Broken", (type(search),), changes)
        return search

    return type(GRID)("Broken", "scikit-learn", "sklearn", make_broken)


def without_results(search):
    def fit(self, X, y=None, **params):
        super(type(self), self).fit(X, y, **params)
        del self.cv_results_, self.best_score_
        return self

    return fit


def fitting_in_place(search):
    def fit(self, X, y=None, **params):
        self.estimator.fit(X, y)
        return super(type(self), self).fit(X, y, **params)

    return fit


def printing(search):
    def fit(self, X, y=None, **params):
        print("here I am")
        return super(type(self), self).fit(X, y, **params)

    return fit


def dropping(search):
    def fit(self, X, y=None, **params):
        return super(type(self), self).fit(X, y)

    return fit


@pytest.mark.parametrize(
    ("probe", "fit", "reason"),
    [
        ("fitted_attributes", without_results, "lacks cv_results_, best_score_"),
        ("leaves_estimator_alone", fitting_in_place, "the given estimator is fitted"),
        ("quiet", printing, "prints 'here I am\\n'"),
        ("fit_parameters", dropping, "the weights do not reach the fit"),
        ("routing_refuses", dropping, "ignores them"),
        ("groups_to_splitter", dropping, "ValueError: The 'groups' parameter should"),
    ],
)
def test_probes_notice(probe, fit, reason):
    outcome = run_probe(PROBES[probe], broken(fit=fit))
    assert outcome.verdict == "no"
    assert outcome.reason.startswith(reason)


def test_a_missing_parameter_is_a_no():
    def probe(peer):
        peer.search(LogisticRegression(), CS, policy="robust")

    assert run_probe(probe, GRID) == Outcome("no", reason="has no parameter 'policy'")


def test_a_full_count_is_a_yes():
    def count(text):
        return run_probe(lambda peer: text, GRID)

    assert count("5/5") == Outcome("yes", "5/5")
    assert count("4/5 check_x, check_y") == Outcome("no", "4/5", "check_x, check_y")


def test_what_does_not_apply():
    def probe(peer):
        raise NotApplicableError("not here")

    assert run_probe(probe, GRID) == Outcome("n/a", reason="not here")


def test_long_reasons_are_cut():
    assert one_line("a\n b  c") == "a b c"
    assert len(one_line("word " * 100)) == 160


def test_grids_keep_to_the_budget():
    space = {"a": Floats(0.0, 1.0), "C": Floats(1.0, 100.0, log=True)}
    search = GRID.search(LogisticRegression(), space, n_iter=9)
    assert search.param_grid["a"] == [0.0, 0.5, 1.0]
    assert search.param_grid["C"] == pytest.approx([1.0, 10.0, 100.0])
    search = GRID.search(None, [{"b": Ints(1, 3), "c": Choice(("p", "q"))}])
    assert search.param_grid == [{"b": [1, 2, 3], "c": ["p", "q"]}]


# The command --------------------------------------------------------------------------


def command(*words):
    return shared.status(conformance.build_parser(), main, words)


def hang(peer):
    time.sleep(60)


def crash(peer):
    os._exit(3)


def is_ours(peer):
    require(peer is OURS, "somebody else's")


@pytest.fixture
def forked(monkeypatch):
    """Let children see probes of this file."""
    if "fork" not in conformance.multiprocessing.get_all_start_methods():
        pytest.skip("needs processes that fork")
    extra = {probe.__name__: probe for probe in (hang, crash, is_ours)}
    monkeypatch.setattr(conformance, "PROBES", PROBES | extra)
    return conformance.multiprocessing.get_context("fork")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_crash_and_hang_are_answers(forked):
    def ask(probe, peer=OURS):
        return conformance.ask_in_child(forked, probe, peer.name, 1.0)

    assert ask("crash") == Outcome("no", reason="the process died (exit code 3)")
    assert ask("hang") == Outcome("no", reason="no answer within 1 seconds")
    assert ask("is_ours") == Outcome("yes")
    assert ask("is_ours", GRID) == Outcome("no", reason="somebody else's")


def test_command_keeps_answers_of_others(tmp_path):
    out, text = tmp_path / "a.csv", tmp_path / "a.md"
    other = Answer("quiet", "SamboSearchCV", "1.0", "no", "", "prints `a|b`")
    old = Answer("quiet", OURS.name, "0.0", "no", "", "was loud")
    pd.DataFrame([other, old]).to_csv(out, index=False)
    words = f"--estimators {OURS.name} --probes quiet plain_values"
    files = ["--out", str(out), "--page", str(text)]
    assert command(*words.split(), *files) == 0
    answers = read(out)
    assert [a[3:] for a in answers.values()] == [
        ("yes", "", ""),
        ("yes", "", ""),
        ("no", "", "prints `a|b`"),
    ]
    assert text.read_text() == page(answers)
    text.unlink()
    assert command("--only-page", *files) == 0
    assert text.exists()


@pytest.mark.parametrize(("peer", "status"), [(OURS, 1), (GRID, 0)])
def test_exit_status_tells_of_rows_not_met_by_ours(monkeypatch, peer, status):
    monkeypatch.setattr(
        conformance, "ask_in_child", lambda *asked: Outcome("no", reason="no")
    )
    assert command("--estimators", peer.name, "--probes", "quiet") == status


def test_page_says_what_the_answers_say():
    answers = keyed(
        [
            Answer("quiet", OURS.name, "0.1 (scikit-learn 1.9)", "yes", "", ""),
            Answer("quiet", "SamboSearchCV", "1.0", "no", "", "prints `a|b`"),
            Answer("check_estimator_classifier", OURS.name, "0.1", "no", "4/5", "c"),
            Answer("progress_bar", "SamboSearchCV", "1.0", "n/a", "", "no rich"),
        ]
    )
    lines = page(answers).splitlines()
    assert "| all | 1/2 | 0/1 |" in lines
    assert "| The search as an estimator | 0/1 | 0/0 |" in lines
    assert any(line.startswith("- not installed") for line in lines)


def test_page_in_the_docs_is_made_from_the_csv():
    assert (DOCS / "conformance.md").read_text() == page(read(DOCS / "conformance.csv"))


def test_file_in_the_docs_says_what_is_promised(tmp_path):
    path = DOCS / "conformance.csv"
    conformance.write(tmp_path / "again.csv", read(path))
    assert (tmp_path / "again.csv").read_text() == path.read_text()
    promises = set(pd.read_csv(path)["promise"])
    assert promises == {title(probe) for probe in PROBES.values()}


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"", b"\xff\n"])
def test_another_file_is_not_overwritten(content, tmp_path, capsys):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(SystemExit, match="2"):
        command("--only-page", "--out", str(path), "--page", "p.md")
    assert "mine.csv" in capsys.readouterr().err
    assert path.read_bytes() == content
