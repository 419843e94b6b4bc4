"""The order of the documentation's pages, and how a page starts.

`docs/check_site.py` checks what only a browser shows.
"""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from pages import contents

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SITE = DOCS / "check_site.py"


def constant(name, script=SITE):
    """Return a constant of a script, which needs a browser or Sphinx to be imported."""
    for node in ast.parse(script.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{script} has no {name}")


def headings(page):
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    return re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)


# The order ----------------------------------------------------------------------------


def test_top_bar_has_five_entries():
    entries = constant("TOP_BAR", DOCS / "conf.py")
    assert [title for title, _ in entries] == constant("ENTRIES")
    listed = [entry for _, entry in contents(DOCS / "index.md")]
    assert len(entries) == 5
    assert {page for _, page in entries} <= set(listed)


def test_every_page_is_reached_once_from_the_first():
    reached, todo = ["index"], ["index"]
    while todo:
        page = DOCS / f"{todo.pop()}.md"
        entries = [entry for _, entry in contents(page)] if page.exists() else []
        todo += entries
        reached += entries
    found = (path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
    others = {"generated", "gallery", *constant("exclude_patterns", DOCS / "conf.py")}
    pages = {p.with_suffix("").as_posix() for p in found if p.parts[0] not in others}
    assert len(set(reached)) == len(reached)
    assert pages == set(reached) - {"gallery/index"}


# The pages ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["benchmarks", "papers", "conformance"])
def test_results_come_first(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    beginning = text.split("\n## ")[0]
    before, table, _ = beginning.partition("\n| ")
    assert table
    assert len(before.splitlines()) < 12


def test_every_study_is_on_a_page_that_the_table_or_the_list_links_to():
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    studies = {page.name for page in DOCS.glob("benchmarks_*.md")}
    assert studies == set(re.findall(r"\]\((benchmarks_\w+\.md)[)#]", text))
    for name in studies:
        assert len(headings(DOCS / name)) < 10, name


def test_figures_of_the_first_page_are_those_of_the_studies():
    """Its table links to the studies, which contain the numbers."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|(.*)\| \[\w+\]\((\w+\.md)", text, flags=re.MULTILINE)
    assert len(rows) == 4
    for row, study in rows:
        page = (DOCS / study).read_text(encoding="utf-8")
        for number in re.findall(r"\d+\.\d+|\b183\b", row):
            # A study has at least as many digits.
            shown = re.findall(r"\d+\.\d+|\b183\b", page)
            digits = len(number.partition(".")[2])
            assert number in {f"{float(x):.{digits}f}" for x in shown}, (number, study)


def test_words_that_readers_search_for_are_on_their_pages():
    for words, pages in constant("SEARCHES").items():
        page = DOCS / Path(pages[0]).with_suffix(".md")
        assert words.lower() in page.read_text(encoding="utf-8").lower()
        assert page.name != "faq.md" or any(
            words.lower() in title.lower() for title in headings(page)
        )


def test_ci_looks_at_the_site():
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "docs/check_site.py docs/_build" in text


# Links to other projects --------------------------------------------------------------


@pytest.fixture(scope="module")
def elsewhere():
    pytest.importorskip("docutils")
    spec = importlib.util.spec_from_file_location("elsewhere", DOCS / "elsewhere.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_lead_to_their_own_pages(elsewhere):
    base = "https://scikit-learn.org/stable/modules/generated"
    page = f"{base}/sklearn.model_selection.GridSearchCV.html"
    assert elsewhere.address("GridSearchCV") == page
    assert elsewhere.address("sklearn.model_selection.GridSearchCV") == page
    assert elsewhere.address("n_iter") is None


def test_what_the_table_names_exists(elsewhere):
    pytest.importorskip("matplotlib")
    for name in elsewhere.LINKS:
        module, _, attribute = name.rpartition(".")
        found = importlib.import_module(module or "builtins")
        assert hasattr(found, attribute), name


def test_types_are_links_to_public_classes(elsewhere):
    aliases = elsewhere.aliases()
    assert aliases["Optimizer"] == "skrobustbo.Optimizer"
    assert aliases["Policy"] == "skrobustbo.policies.Policy"
    assert aliases["int"] == ":obj:`int`"
    short = [name for name in aliases.values() if re.fullmatch(r"[\w.]+", name)]
    assert all(n in elsewhere.LINKS or n.startswith("skrobustbo.") for n in short)
