"""The study of the errors of races, where the truth is known."""

import numpy as np
import pytest

import race_errors as study
import shared


def test_scores_are_the_truth_with_effects_of_folds_and_noise():
    points = np.random.default_rng(0).random((400, 2))
    deviations = []
    for spread in (1.0, 4.0):
        truth = study.Truth([3], 5, 10.0, spread)
        rest = np.array([truth.scores(p) - truth.mean(p) for p in points])
        noise = rest - truth._effects
        assert (noise**2).mean() == pytest.approx(1, rel=0.15)
        assert np.array_equal(truth.scores(points[0]), truth.scores(points[0]))
        assert truth._effects.std() > 3
        deviations.append(noise.std(axis=1).std())
    assert deviations[1] > 1.3 * deviations[0]


def test_the_race_knows_the_folds_by_their_rows():
    truth = study.Truth([0], 4, 30.0, 1.0)
    scores = [truth(study.Point(0.2, 0.7), np.array([[k]])) for k in range(4)]
    assert scores == truth.scores([0.2, 0.7]).tolist()


def test_fold_effects_change_nothing(monkeypatch):
    monkeypatch.setattr(study, "N_ITER", 12)
    small, large = (
        study.one_search([0, 0], "random", 5, effects, 1.0) for effects in (0.1, 30.0)
    )
    assert small == pytest.approx(large)
    assert small[0] < 1


def test_the_table_has_a_line_for_each_setting(monkeypatch, capsys):
    monkeypatch.setattr(study, "N_ITER", 8)
    words = ["--policies", "random", "--effects", "1", "30", "--searches", "2"]
    shared.status(study.build_parser(), study.main, words)
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split(" | ")[3] for line in lines] == ["1", "30", "all"] * 2


def test_what_is_shown_above_the_limit():
    assert study.share(np.arange(100) < 5) == "5.0%"
    assert study.share(np.arange(100) < 10) == "10.0% (above)"
