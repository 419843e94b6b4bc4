"""The page of the papers' experiments, and where it and its files go."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF

import papers_page
import shared
from made_runs import made_case_run
from papers_page import CLAIMS, MEANS, claims_of, means_of, page_text
from skrobustbo import policies
from skrobustbo.policies._published import PUBLISHED
from skrobustbo_benchmarks._reproduce._spec import (
    CASES,
    EXPERIMENTS,
    PAPERS,
    read_results,
    versions_of,
)
from skrobustbo_benchmarks._spelling import split_method

DOCS = Path(__file__).parents[3] / "docs"


def command(*words):
    parser = papers_page.build_parser()
    return shared.status(parser, papers_page.main, list(map(str, words)))


@pytest.mark.slow
def test_the_page_is_written_from_the_files(tmp_path):
    page, folder = tmp_path / "papers.md", tmp_path / "papers"
    rng = np.random.default_rng(0)
    folder.mkdir()
    for case in CASES.values():
        table = case.table(folder)
        table.open()
        for method, seed in product(case.methods, range(6)):
            table.append(made_case_run(case, method, seed, rng))
    assert command(page) == 0
    text = page.read_text()
    for name, experiment in EXPERIMENTS.items():
        assert f"| `{name}` " in text
        assert experiment.reports in text
        assert experiment.outcome in text
    assert text.count("**too few runs**") == 0
    claims, means = (pd.read_csv(folder / file) for file in (CLAIMS, MEANS))
    assert set(claims["experiment"]) == set(means["experiment"]) == set(EXPERIMENTS)
    assert set(means["runs"]) == {6}


def test_the_page_names_versions(tmp_path):
    assert "Made with" not in page_text(tmp_path / "page.md", tmp_path)
    versions_of(tmp_path).add()
    text = page_text(tmp_path / "page.md", tmp_path)
    assert f"numpy {np.__version__}" in text.split("## Made with")[1]


def test_the_page_holds_without_any_run(tmp_path):
    page = tmp_path / "papers.md"
    assert command(page) == 0
    text = page.read_text()
    assert text.count("**too few runs**") == len(EXPERIMENTS) - 1
    assert set(pd.read_csv(tmp_path / "papers" / CLAIMS)["verdict"]) == {"too few runs"}
    assert not len(pd.read_csv(tmp_path / "papers" / MEANS))


def test_the_documentation_has_the_page_of_its_files():
    page = DOCS / "papers.md"
    folder = page.with_suffix("")
    again = "make it again: python benchmarks/studies/papers_page.py docs/papers.md"
    assert page.read_text(encoding="utf-8") == page_text(page, folder), again
    for file, made in ((CLAIMS, claims_of), (MEANS, means_of)):
        table = made(read_results(folder, quick=False)).to_csv(index=False)
        assert (folder / file).read_text(encoding="utf-8") == table, again
    assert len(page.read_text(encoding="utf-8").split()) < 2_100
    assert sum(path.stat().st_size for path in folder.glob("*.csv")) < 1_100_000


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_figures_in_words_are_those_of_the_claims(name):
    """What comes out is written by hand; its decimals stand among the claims."""
    experiment = EXPERIMENTS[name]
    found = experiment.findings(read_results(DOCS / "papers", quick=False))
    data = " ".join([*experiment.left_open, *(f"{f.says} {f.here}" for f in found)])
    known = set(re.findall(r"\d+(?:\.\d+)?", data))
    shown = set(re.findall(r"\d+\.\d+", experiment.outcome))
    assert shown <= known
    for runs in re.findall(r"\d+ of \d+ runs", experiment.outcome):
        assert runs in data


def test_page_outside_the_folder_of_its_files(tmp_path):
    folder, page = tmp_path / "elsewhere", tmp_path / "x" / "page.md"
    assert command(page, "--runs", folder) == 0
    assert f"](../elsewhere/{CLAIMS})" in page.read_text(encoding="utf-8")


def test_file_in_place_of_a_folder(tmp_path, capsys):
    (tmp_path / "file").touch()
    name, page = tmp_path / "file" / "x.md", tmp_path / "p.md"
    for words, option in ((["--runs", name, page], "--runs"), ([name], "page")):
        with pytest.raises(SystemExit):
            command(*words)
        assert f"give another {option}" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command(tmp_path)
    assert "page should be the name of a file" in capsys.readouterr().err


def test_the_published_settings_are_those_of_half_of_the_runs_or_more():
    known = {"NOISE": 0.1, "KERNEL": RBF(1.0), "CANDIDATES": [RBF(1.0)]}
    for paper, names in PAPERS.items():
        cases = {p.case.name: p.case for n in names for p in EXPERIMENTS[n].panels}
        spelled = [text for c in cases.values() for text in c.methods.values()]
        parts = [split_method(text, known) for text in spelled if text[0].islower()]
        made = [policies.make_policy(name, **settings) for name, settings in parts]
        for cls, settings in PUBLISHED[paper].items():
            own = [policy for policy in made if type(policy).__name__ == cls]
            assert own
            for key, value in settings.items():
                same = [getattr(policy, key) == value for policy in own]
                assert sum(same) >= len(own) / 2, (paper, cls, key)


def test_a_verdict_says_what_it_is_limited_to(tmp_path):
    limited = [e for e in EXPERIMENTS.values() if e.holds]
    assert [experiment.name for experiment in limited] == ["lb-fig2"]
    text = page_text(tmp_path / "page.md", tmp_path)
    assert text.count("**too few runs, for the authors' draw of points only**") == 1
