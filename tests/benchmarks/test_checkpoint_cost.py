"""The benchmark of what a checkpoint costs."""

import re

from skrobustbo.benchmarks import _checkpoint_cost
from skrobustbo.benchmarks._cli import main


def test_fits_take_their_time_and_are_not_repeated(tmp_path):
    without, with_one, resumed = _checkpoint_cost.measure(2, 0.05, 2, tmp_path)
    assert len(without) == len(with_one) == len(resumed) == 2
    assert min(without + with_one) > 2 * 5 * 0.05
    assert len(list(tmp_path.glob("*.ckpt"))) == 2


def test_the_command_prints_a_table(capsys):
    words = "checkpoint-cost --n-iter 2 --fit-ms 1 --repeats 1"
    assert main(words.split()) == 0
    out = capsys.readouterr().out
    assert re.search(r"with one \| \d+\.\d{3} \([+-]\d+\.\d\d%\) \|", out)
