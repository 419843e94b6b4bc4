"""The page of the documentation, made from the answers alone."""

import re
from collections import Counter

from promises import PROBES, SECTIONS, title
from searches import PEERS

_INTRODUCTION = """\
# Conformance

This page compares our search with scikit-learn's grid search and randomized search, and
with the searches of other packages. It shows whether each search keeps the promises
that scikit-learn makes for its own searches. A small program checks each promise. Each
cell shows how many promises are kept, and how many apply. This page does not show which
search finds better candidates. For that, see the [benchmarks](benchmarks.md).
"""
_COMMANDS = """\
## How the table is made

These commands install the packages and make their columns:

```sh
pip install . scikit-optimize optuna optuna-integration sklearn-genetic-opt sambo \\
    pandas rich
python benchmarks/studies/conformance.py \\
    --out docs/conformance.csv --page docs/conformance.md
```

The last column needs older packages and is made in a second environment:

```sh
pip install . hyperopt-sklearn "setuptools<81" pandas rich
python benchmarks/studies/conformance.py --estimators HyperoptEstimator \\
    --out docs/conformance.csv --page docs/conformance.md
```

Every check runs in its own process with a time limit. If a package is not installed,
its column is kept as it was. [All answers](conformance.csv) are in one file. If a
search has no parameter for the feature in a row, it does not meet that row. Two of the
searches are not designed as drop-in replacements for those of scikit-learn.
`GASearchCV` counts generations, not candidates. `HyperoptEstimator` is the closest
counterpart that hyperopt has, and takes estimators in hyperopt's own notation.
"""
_SUITE = """\
## scikit-learn's own tests

Of the tests that scikit-learn 1.9 has for its searches, 141 run without further
packages. If `RobustBayesSearchCV` replaces `GridSearchCV` and asks for the points of
the grid only (`include_default=False`), 128 of these tests pass. The others fail
because our search differs by design:

- 5 tests count the tasks that callbacks receive. In our search, each round is one task,
  as in scikit-learn's halving searches.
- 3 tests list the columns of `cv_results_`. Our search adds five columns about the
  models.
- 3 tests use a grid that contains the same point several times. Our search treats this
  point as one candidate.
- 2 tests use an empty grid, in which there is nothing to search.

The slow test `tests/conformance/test_sklearn_search.py` lists these tests, and fails if
another test fails.
"""


def page(answers):
    """Return the page: the counts first, then each row, folded, and the reasons."""
    asked = {estimator for _, estimator in answers}
    estimators = [name for name in PEERS if name in asked]
    parts = [_INTRODUCTION, _counts(answers, estimators)]
    for section, probes in SECTIONS.items():
        rows = _section(answers, estimators, probes)
        parts += [f"## {section}\n", *_folded(f"{len(probes)} rows", rows)]
    parts += [_SUITE, "## Reasons\n", *_reasons(answers, estimators), _COMMANDS]
    parts += _versions(answers, estimators)
    return "\n".join(parts).rstrip() + "\n"


def _folded(summary, text):
    """Return lines that show a text on a click; a heading must not be in it."""
    return ["<details>", f"<summary>{summary}</summary>\n", text, "</details>\n"]


def _versions(answers, estimators):
    for name in estimators:
        versions = {a.version: None for a in answers.values() if a.estimator == name}
        yield f"- `{name}`: {PEERS[name].package} {', '.join(versions)}"
    absent = [f"`{name}`" for name in PEERS if name not in estimators]
    if absent:
        yield f"- not installed where the table was made: {', '.join(absent)}"
    yield ""


def _counts(answers, estimators):
    """Return the rows met, of those that apply: in all and in each section."""
    rows = [("rows met, of those that apply", _met(answers, estimators, PROBES))]
    for section, probes in SECTIONS.items():
        names = [probe.__name__ for probe in probes]
        rows.append(
            (f"[{section}](#{_slug(section)})", _met(answers, estimators, names))
        )
    return _table(estimators, rows)


def _met(answers, estimators, probes):
    outcomes = Counter(
        (a.estimator, a.outcome) for a in answers.values() if a.probe in probes
    )
    met = [outcomes[name, "yes"] for name in estimators]
    asked = [n + outcomes[name, "no"] for n, name in zip(met, estimators, strict=True)]
    return [f"{n}/{of}" for n, of in zip(met, asked, strict=True)]


def _slug(title):
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-")


def _section(answers, estimators, probes):
    rows = [
        (
            title(probe),
            [_cell(answers.get((probe.__name__, name))) for name in estimators],
        )
        for probe in probes
    ]
    return _table(estimators, rows)


def _cell(answer):
    if answer is None or answer.outcome == "n/a":
        return "-"
    text = f"{answer.outcome} ({answer.count})" if answer.count else answer.outcome
    return text if answer.outcome == "yes" else f"**{text}**"


def _table(estimators, rows):
    # A name may be broken between its words, as columns are many.
    heads = [re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", name) for name in estimators]
    lines = [("", *heads), ("---", *(":-:" for _ in heads))]
    lines += [(head, *cells) for head, cells in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _reasons(answers, estimators):
    for name in estimators:
        told = [a for a in answers.values() if a.estimator == name and a.reason]
        if told:
            yield f"### `{name}`\n"
            lines = "\n".join(f"- {_sentence(answer)}" for answer in told)
            yield from _folded(f"{len(told)} rows", f"{lines}\n")


def _sentence(answer):
    row = title(PROBES[answer.probe])
    mark = " (does not apply)" if answer.outcome == "n/a" else ""
    return f"{row}{mark} — {_escaped(answer.reason)}"


def _escaped(text):
    """Return a text in which Markdown sees no marks."""
    return re.sub(r"([\\`*_{}\[\]<>$|#~^])", r"\\\1", text)
