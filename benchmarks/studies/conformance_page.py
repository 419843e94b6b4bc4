"""The page of the documentation, made from the answers alone."""

import re
from collections import Counter

from promises import PROBES, SECTIONS
from searches import PEERS

_INTRODUCTION = """\
# Conformance

Does a search keep the promises that scikit-learn makes for its own searches? A program
checks each promise, such as "a failed candidate has the last rank". The table shows how
many of the applicable promises each search keeps. [All answers](conformance.csv) give a
reason for each *no*.
"""
_NOTES = """\
If a search has no parameter for a feature, it does not keep the corresponding promise.
Two searches are not meant as drop-in replacements: `GASearchCV` counts generations, and
`HyperoptEstimator` has its own notation. The [benchmarks](benchmarks.md) show which
search finds better candidates.
"""
_SUITE = """\
## scikit-learn's own tests

scikit-learn 1.9 has 141 tests of its searches that run without further packages. We run
them with `RobustBayesSearchCV` in place of `GridSearchCV` and `include_default=False`.
It passes 128; the other 13 fail by design:

- 5 count the tasks that callbacks receive. Our task is a round, as in scikit-learn's
  halving searches.
- 3 list the columns of `cv_results_`. We add five columns about the models.
- 3 use a grid that repeats a point. We evaluate such a point as one candidate.
- 2 use an empty grid, which leaves nothing to search.

`tests/conformance/test_sklearn_search.py` lists these tests and fails if any other one
does.
"""
_COMMANDS = """\
## Make the table

```sh
pip install . scikit-optimize optuna optuna-integration sklearn-genetic-opt sambo \\
    pandas rich
python benchmarks/studies/conformance.py \\
    --out docs/conformance.csv --page docs/conformance.md
```

`HyperoptEstimator` needs older packages, so make its column in a second environment:

```sh
pip install . hyperopt-sklearn "setuptools<81" pandas rich
python benchmarks/studies/conformance.py --estimators HyperoptEstimator \\
    --out docs/conformance.csv --page docs/conformance.md
```

Each check runs in its own process with a time limit. If a package is not installed, its
column stays unchanged.
"""


def page(answers):
    """Return the page: the counts first, then what they mean and how they are made."""
    asked = {estimator for _, estimator in answers}
    estimators = [name for name in PEERS if name in asked]
    parts = [_INTRODUCTION, _counts(answers, estimators), _NOTES, _SUITE, _COMMANDS]
    parts += _versions(answers, estimators)
    return "\n".join(parts).rstrip() + "\n"


def _versions(answers, estimators):
    for name in estimators:
        versions = {a.version: None for a in answers.values() if a.estimator == name}
        yield f"- `{name}`: {PEERS[name].package} {', '.join(versions)}"
    absent = [f"`{name}`" for name in PEERS if name not in estimators]
    if absent:
        yield f"- not installed where the table was made: {', '.join(absent)}"
    yield ""


def _counts(answers, estimators):
    """Return the promises kept, of those that apply: in all and in each section."""
    rows = [("all", _met(answers, estimators, PROBES))]
    for section, probes in SECTIONS.items():
        names = [probe.__name__ for probe in probes]
        rows.append((section, _met(answers, estimators, names)))
    return _table(estimators, rows)


def _met(answers, estimators, probes):
    outcomes = Counter(
        (a.estimator, a.outcome) for a in answers.values() if a.probe in probes
    )
    met = [outcomes[name, "yes"] for name in estimators]
    asked = [n + outcomes[name, "no"] for n, name in zip(met, estimators, strict=True)]
    return [f"{n}/{of}" for n, of in zip(met, asked, strict=True)]


def _table(estimators, rows):
    # A name may be broken between its words, as columns are many.
    heads = [re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", name) for name in estimators]
    lines = [("", *heads), ("---", *(":-:" for _ in heads))]
    lines += [(head, *cells) for head, cells in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
