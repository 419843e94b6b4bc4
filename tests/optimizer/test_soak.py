"""A few of the steps that `soak.py` takes by the thousand."""

import pytest
import soak


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "steps"), [(p, 400) for p in soak.PLAN])
def test_soak(policy, steps):
    run = soak.soak(policy, steps, seed=1)
    assert run.failures > 0
    assert run.restarts
    assert len(run.seconds) == steps
    flat = soak.PLAN[policy][1]
    assert soak.growth(run, flat) == []  # of memory: these are too few for time
    assert (run.longest < steps / 2) == flat


def test_growth_is_told():
    flat = soak.Run([1.0] * 5000, [1e8 + 1000 * i for i in range(5000)])
    assert soak.growth(flat, flat=True) == []
    slower = [1.0 + i / 2000 for i in range(5000)]
    assert soak.growth(soak.Run(slower, flat.bytes), flat=True) == ["TIME GROWS"]
    assert soak.growth(soak.Run(slower, flat.bytes), flat=False) == []
    leak = [1e8 + 20_000 * i for i in range(5000)]
    assert soak.growth(soak.Run(flat.seconds, leak), flat=True) == ["MEMORY GROWS"]
    assert soak.growth(soak.Run(flat.seconds, leak), flat=False) == []
