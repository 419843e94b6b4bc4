"""The benchmark of what a checkpoint costs."""

from types import SimpleNamespace

import pytest

import checkpoint_cost
import shared


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that only the waiting of fits moves."""
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    fake = SimpleNamespace(sleep=sleep, perf_counter=lambda: now[0])
    monkeypatch.setattr(checkpoint_cost, "time", fake)


def test_fits_take_their_time_and_are_not_repeated(tmp_path):
    times = checkpoint_cost.measure(2, 0.5, 2, tmp_path)
    # Two candidates in five folds.
    assert times["without"] == times["with"] == [pytest.approx(2 * 5 * 0.5)] * 2
    assert times["resumed"] == [0.0, 0.0]
    assert len(list(tmp_path.glob("*.ckpt"))) == 2


def test_each_pair_is_in_the_other_order(tmp_path, monkeypatch):
    turns = []

    def timed(n_iter, seconds, checkpoint):
        turns.append(checkpoint and checkpoint.name)
        return float(len(turns))

    monkeypatch.setattr(checkpoint_cost, "timed", timed)
    times = checkpoint_cost.measure(2, 0.5, 2, tmp_path)
    first, second = "0.ckpt", "1.ckpt"
    assert turns == [None, first, first, second, None, second]
    assert times == {
        "without": [1.0, 5.0],
        "with": [2.0, 4.0],
        "resumed": [3.0, 6.0],
    }


def test_the_command_prints_medians(capsys, monkeypatch):
    found = {
        "without": [1.0, 2.0, 6.0],
        "with": [1.0, 2.5, 7.0],
        "resumed": [0.25, 0.5, 0.125],
    }
    asked = []

    def measure(*settings):
        asked.append(settings[:3])
        return found

    monkeypatch.setattr(checkpoint_cost, "measure", measure)
    words = ["--n-iter", "2", "--fit-ms", "20", "--repeats", "3"]
    parser = checkpoint_cost.build_parser()
    assert shared.status(parser, checkpoint_cost.main, words) == 0
    assert asked == [(2, 0.02, 3)]
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| without a checkpoint | 2.000 |",
        "| with one | 2.500 (+25.00%) |",
        "| finished, taken up again | 0.250 |",
    ]
