"""The page of the papers' experiments, and where it and its files go."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import papers_page
import shared
from made_runs import made_case_run
from papers_page import detail_path, detail_text, page_text
from skrobustbo import policies
from skrobustbo.policies._published import PUBLISHED
from skrobustbo_benchmarks._reproduce._figure import path_of
from skrobustbo_benchmarks._reproduce._spec import (
    CASES,
    EXPERIMENTS,
    PAPERS,
    read_results,
    versions_of,
)
from skrobustbo_benchmarks._spelling import split_method


def command(*words):
    parser = papers_page.build_parser()
    return shared.status(parser, papers_page.main, list(map(str, words)))


@pytest.mark.slow
def test_the_page_is_written_from_the_files(tmp_path):
    pytest.importorskip("matplotlib")
    page, folder = tmp_path / "papers.md", tmp_path / "papers"
    rng = np.random.default_rng(0)
    folder.mkdir()
    for case in CASES.values():
        table = case.table(folder)
        table.open()
        for method, seed in product(case.methods, range(6)):
            table.append(made_case_run(case, method, seed, rng))
    (folder / "he-fig2.txt").write_text("A remark of ours.\n")
    assert command(page) == 0
    text = page.read_text()
    assert "A remark of ours." in text
    for name, experiment in EXPERIMENTS.items():
        assert f"({name})=" in text
        assert experiment.title in text
        assert (folder / f"{name}.png").exists()
        assert "what the paper says" in detail_path(folder, experiment).read_text()
    assert text.count("**too few runs**") == 0


def test_the_page_names_versions(tmp_path):
    assert "Made with" not in page_text(tmp_path / "page.md", tmp_path)
    versions_of(tmp_path).add()
    text = page_text(tmp_path / "page.md", tmp_path)
    assert f"numpy {np.__version__}" in text.split("## Made with")[1]


def test_the_page_holds_without_any_run(tmp_path):
    page = tmp_path / "papers.md"
    assert command(page) == 0
    text = page.read_text()
    assert text.count("**too few runs**") > len(EXPERIMENTS)
    details = (tmp_path / "papers" / "lb-fig3.md").read_text()
    assert "which needs the materials data sets: not run" in details


def test_the_documentation_has_the_page_of_its_files():
    page = Path(__file__).parents[3] / "docs" / "papers.md"
    folder = page.with_suffix("")
    again = "make it again: python benchmarks/studies/papers_page.py docs/papers.md"
    assert page.read_text(encoding="utf-8") == page_text(page, folder), again
    results = read_results(folder, quick=False)
    for experiment in EXPERIMENTS.values():
        details = detail_path(folder, experiment).read_text(encoding="utf-8")
        assert details == detail_text(experiment, results), again
    assert len(page.read_text(encoding="utf-8").split()) < 6_000
    assert all(path.stat().st_size < 120_000 for path in folder.glob("*.png"))
    assert sum(path.stat().st_size for path in folder.glob("*.csv")) < 1_000_000


def test_page_outside_the_folder_of_its_files(tmp_path):
    folder, page = tmp_path / "elsewhere", tmp_path / "x" / "page.md"
    folder.mkdir()
    figure = path_of(folder, next(iter(EXPERIMENTS.values())), quick=False)
    figure.touch()
    assert command(page, "--runs", folder) == 0
    assert f"](../elsewhere/{figure.name})" in page.read_text(encoding="utf-8")


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
    assert text.count("**too few runs, for the authors' draw of points only**") == 2
