"""The study of what folds with common rows do to an interval."""

import numpy as np
import pytest

import fold_dependence as study
import shared


def test_a_run_measures_the_folds_against_the_truth():
    errors, shown = np.transpose(
        [study.one_run(np.random.default_rng(i), 60, 2, 3) for i in range(200)]
    )
    assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(200)
    assert shown.mean() == pytest.approx(np.sqrt(2 / 60), rel=0.25)


def test_the_table_has_a_line_for_each_number_of_features(capsys):
    words = ["--features", "1", "12", "--rows", "60", "--runs", "60"]
    shared.status(study.build_parser(), study.main, words)
    lines = capsys.readouterr().out.splitlines()[2:]
    few, many = (float(line.split("|")[2].split()[0]) for line in lines)
    assert many > few
