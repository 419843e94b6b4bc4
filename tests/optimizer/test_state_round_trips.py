"""An optimizer restored from JSON anywhere in a run continues unchanged."""

import json
import math
from dataclasses import dataclass

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import inside
from runs import run
from skrobustbo import Categorical, Integer, Optimizer, Real, SpaceExhausted, policies

NAMES = sorted(policies.available())
#: An example is a whole run: it may take long, and shrinking takes minutes.
RUNS = {"deadline": None, "derandomize": True, "phases": [Phase.generate]}


@st.composite
def reals(draw):
    low = draw(st.floats(1e-4, 10.0))
    high = low * draw(st.floats(1.5, 1e4))
    log = draw(st.booleans())
    return Real(low, high, log=True) if log else Real(-low, high)


@st.composite
def integers(draw):
    low = draw(st.integers(1, 20))
    return Integer(low, low + draw(st.integers(1, 200)), log=draw(st.booleans()))


@st.composite
def choices(draw):
    pool = st.sampled_from([None, True, 0.5, 3, "a", "b", (1, 2)])
    values = draw(st.lists(pool, min_size=1, max_size=5, unique=True))
    return Categorical(values, ordered=draw(st.booleans()))


NUMBERS = st.lists(st.integers(-50, 50), min_size=2, max_size=4, unique=True)
DIMENSIONS = reals() | integers() | choices() | NUMBERS
BRANCHES = st.dictionaries(
    st.sampled_from("uvwxyz"), DIMENSIONS, min_size=1, max_size=3
)


@st.composite
def spaces(draw):
    """Return one branch, or two with a name or shared parameters."""
    first = draw(BRANCHES)
    if draw(st.booleans()):
        return first
    second = draw(BRANCHES)
    if draw(st.booleans()):
        first, second = {**first, "kind": ["p"]}, {**second, "kind": ["q"]}
    return [first, second]


FAILED = st.sampled_from([math.nan, math.inf, -math.inf])
VALUES = (
    st.floats(-5, 5) | st.floats(-5, 5) | st.sampled_from([0, -1e9, 1e200]) | FAILED
)
INDICES = st.integers(0, 20)
ASK = st.just(("ask",))
TELL = st.tuples(st.just("tell"), INDICES, VALUES)
#: A point that was not asked, often a known one.
STRANGER = st.tuples(st.just("stranger"), st.integers(0, 3), VALUES)
STEPS = ASK | TELL | TELL | STRANGER


@st.composite
def scripts(draw):
    """Return steps that reach the model, and whether to restore after each."""
    steps = [("ask",)] * draw(st.integers(1, 4))
    steps += draw(st.lists(TELL, min_size=len(steps), max_size=len(steps)))
    steps += draw(st.lists(STEPS, max_size=8))
    n = len(steps)
    later = draw(st.lists(st.tuples(ASK, TELL | STRANGER), min_size=1, max_size=3))
    steps += [step for pair in later for step in pair] + [("ask",)]
    reads = draw(st.sets(st.integers(0, n - 1), max_size=2)) | {n - 1}
    return [(step, i in reads) for i, step in enumerate(steps)]


@st.composite
def arguments(draw):
    return {
        "n_initial_points": draw(st.none() | st.integers(1, 4)),
        "horizon": draw(st.none() | st.integers(8, 30)),
        "random_state": draw(st.integers(0, 2**31)),
    }


class Player:
    """Plays the steps of a script, and keeps the points that are not told yet."""

    def __init__(self, optimizer):
        self.optimizer, self.waiting = optimizer, []

    def play(self, kind, *details):
        """Return what is visible of a step."""
        return getattr(self, kind)(*details)

    def ask(self):
        try:
            self.waiting.append(self.optimizer.ask())
        except SpaceExhausted as error:
            return str(error)
        return self.waiting[-1]

    def tell(self, index, value):
        if self.waiting:  # in any order
            point = self.waiting.pop(index % len(self.waiting))
            self.optimizer.tell(point, value)

    def stranger(self, seed, value):
        self.optimizer.tell(self.optimizer.space.sample(1, seed)[0], value)

    def read_back(self):
        text = json.dumps(self.optimizer.to_dict(), allow_nan=False)
        self.optimizer = Optimizer.from_dict(json.loads(text))


def state(optimizer):
    """Return the whole state as text, without times of day."""
    written = optimizer.to_dict()
    for trial in written["trials"]:
        del trial["time"]
    return json.dumps(written, sort_keys=True)


def check(space, policy, kwargs, script):
    whole, broken = (Player(Optimizer(space, policy, **kwargs)) for _ in range(2))
    for step, read in script:
        assert broken.play(*step) == whole.play(*step)
        if read:
            broken.read_back()
            assert state(broken.optimizer) == state(whole.optimizer)
    assert state(broken.optimizer) == state(whole.optimizer)
    if any(math.isfinite(v) for v in inside.log(whole.optimizer).values):
        assert broken.optimizer.recommend() == whole.optimizer.recommend()


@settings(max_examples=25, **RUNS)
@given(spaces(), st.sampled_from(NAMES), arguments(), scripts())
def test_a_state_read_back_goes_on_identically(space, policy, kwargs, script):
    check(space, policy, kwargs, script)


@pytest.mark.slow
@pytest.mark.parametrize("policy", NAMES)
@settings(max_examples=10, **RUNS)  # of each policy, 230 in all
@given(spaces(), arguments(), scripts())
def test_every_policy_goes_on_identically(policy, space, kwargs, script):
    check(space, policy, kwargs, script)


# Policies of users --------------------------------------------------------------------


@dataclass
class Count:
    n: int = 0


class Counting(policies.RandomPolicy):
    state_type = Count

    def learn(self, state, metadata, history):
        state.n += 1


class Undeclared(policies.RandomPolicy):
    def start(self, setup, models):
        return Count()


def run_of(policy):
    optimizer = Optimizer({"x": Real(0, 1)}, policy, random_state=0)
    run(optimizer, 6, lambda params: params["x"])
    return optimizer


def test_a_policy_of_ones_own_goes_on_from_its_state_type():
    optimizer = run_of(Counting())
    state = json.loads(json.dumps(optimizer.to_dict()))
    again = Optimizer.from_dict(state, policy=Counting())
    assert (
        inside.state(again)
        == inside.state(optimizer)
        == Count(n=6 - optimizer.n_initial_points)
    )
    assert again.ask() == optimizer.ask()


def test_a_state_of_no_declared_type_is_refused_when_written():
    optimizer = run_of(Undeclared())
    with pytest.raises(TypeError, match=r"'state_type'.* Got a Count instead"):
        optimizer.to_dict()
