"""Optuna's own tests of a sampler."""

import pytest

from skrobustbo.integrations.optuna import RobustSampler

cases = pytest.importorskip("optuna.testing.pytest_samplers", reason="needs Optuna 5")


class TestRobustSampler(
    cases.BasicSamplerTestCase,
    cases.RelativeSamplerTestCase,
    cases.SingleOnlySamplerTestCase,
):
    @pytest.fixture
    def sampler(self):
        return lambda: RobustSampler(seed=0)
