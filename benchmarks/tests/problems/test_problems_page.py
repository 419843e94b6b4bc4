"""The table of problems says what the problems are."""

import re
from pathlib import Path

import pytest

from skrobustbo_benchmarks import problems

PAGE = Path(__file__).parents[2] / "problems.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| `")
]


def names_of(row):
    return re.findall(r"`([\w<>-]+)`", row[0])


BY_NAME = {name: row for row in ROWS for name in names_of(row)}


def test_every_problem_is_on_the_page():
    families = ("hpobench-", "hpolib-", "lcbench-")
    expected = {n for n in problems.available() if not n.startswith(families)}
    assert set(BY_NAME) == expected | {f"{family}<task>" for family in families}


def test_python_blocks_run():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 4
    names = {"__name__": "__docs__"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


@pytest.mark.parametrize("name", sorted(name for name in BY_NAME if "<" not in name))
def test_row(name, build):
    problem, (_, d, noise, optimum, _) = build(name), BY_NAME[name]
    if d.endswith("arms"):
        assert problem.space.size == int(d.removesuffix(" arms"))
    else:
        assert len(problem.space.names) == int(d)
    assert problem.noise_std == pytest.approx(float(noise), abs=1e-4)
    optima = [float(x.replace("\N{MINUS SIGN}", "-")) for x in _numbers(optimum)]
    if problem.optimum is not None and optima:
        assert problem.optimum == pytest.approx(optima[0], rel=1e-4, abs=1e-9)
    elif problem.best_known is not None:
        assert optimum.startswith("best known")
        assert problem.best_known == pytest.approx(optima[0], abs=1e-3)
    elif problem.varies and optima:
        found = [problem.optimum_at(1), problem.optimum_at(100)]
        assert found == pytest.approx(optima[:2], abs=1e-3)
    else:
        assert optimum in ("unknown", "at each t", "of the seed")


def _numbers(cell):
    return re.findall("[-\N{MINUS SIGN}]?\\d+(?:\\.\\d+)?", cell)
