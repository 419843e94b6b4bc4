"""Time and memory over many choices: a line for each search."""

import pytest

import many_choices
import shared


@pytest.mark.parametrize("kind", ["alone", "beside", "pool"])
def test_values_differ_with_the_choice(kind):
    space = many_choices.space_of(kind, 20)
    points = space.sample(20, random_state=0)
    assert len({many_choices.value(point) for point in points}) > 5


def test_a_line_for_each_search(capsys):
    words = ["--kinds", "alone", "beside", "--choices", "200", "--policies", "random"]
    parser = many_choices.build_parser()
    assert shared.status(parser, many_choices.main, words) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    found = [row[:3] for row in cells]
    assert found == [["alone", "200", "random"], ["beside", "200", "random"]]
    assert all(float(memory) > 10 for *_, memory in cells)
