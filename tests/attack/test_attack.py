"""Some cases of each attack, and those that failed once; the programs run thousands.

Run a failing case again with the program of the same name and ``--case``.
"""

import command
import damage_checkpoint
import fault_folds
import fuzz_optimizer
import mutate_state
import pytest
from cases import policy_cases

#: Cases that failed once, whatever was corrected then.
FUZZED = [
    *("a-gp-ucb:1069", "sw-gp-ucb:1157", "robust:1224", "lnb-gp-ucb:1333"),
    *("w-gp-ucb:1344", "w-gp-ucb:1459", "he-stableopt:1652", "lnb-gp-ucb:1471"),
    *("br-gp-ucb:3048", "a-gp-ucb:3253", "random:1499", "mcmc-gp-ucb:1749"),
]
MUTATED = [
    *("tv-gp-ucb:6147", "lb-gp-ucb:5194", "mcmc-gp-ucb:5450"),
    *("he-stableopt:5491", "lb-gp-ucb:5585", "expected-ucb:5740", "boho:5070"),
    *("a-gp-ucb:5483", "r-gp-ucb:5820", "igp-ucb:6619", "robust:5224"),
    *("lnb-gp-ucb:5701", "lb-gp-ucb:5746", "stableopt:6260", "mle-gp-ucb:6532"),
    *(
        "he-stableopt:6549",
        "he-gp-ucb:6594",
        "boho:7071",
        "sw-gp-ucb:7250",
        "gp-ucb:6822",
        "lnb-gp-ucb:6138",
    ),
]
DAMAGED = ["foreign_rows:5", "foreign_rows:14", "foreign_journal:6", "gone:8"]
FAULTS = ["0", "5", "11", "16", "25", "41", "50"]

ATTACKS = {
    "optimizer": (fuzz_optimizer.check, policy_cases, FUZZED, 92),
    "state": (mutate_state.check, policy_cases, MUTATED, 276),
    "checkpoint": (damage_checkpoint.check, damage_checkpoint.cases, DAMAGED, 180),
    "folds": (fault_folds.check, fault_folds.cases, FAULTS, 80),
}


def attacked(name, cases):
    """Run cases; say how to run the failing ones again."""
    check, *_ = ATTACKS[name]
    found = [command.outcome(check, case) for case in cases]
    return [f"{one.case}: {one.failure}" for one in found if one.failure]


ONCE = [(name, case) for name, (_, _, failed, _) in ATTACKS.items() for case in failed]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), ONCE)
def test_a_case_that_failed_once(name, case):
    assert attacked(name, [case]) == []


@pytest.mark.parametrize("name", ATTACKS)
def test_a_few_cases(name):
    _, cases, *_ = ATTACKS[name]
    assert attacked(name, cases(9, seed=0)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", ATTACKS)
def test_many_cases(name, part):
    _, cases, _, n = ATTACKS[name]
    assert attacked(name, cases(n, seed=10_000)[part::4]) == []
