"""The sampler in studies: the points it asks, and how it uses all kinds of trials."""

import itertools
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from skrobustbo import Integer, Optimizer, Real
from skrobustbo.integrations._optuna import PREFIX, joined, split, values_of
from skrobustbo.integrations.optuna import RobustSampler

optuna = pytest.importorskip("optuna")

HERE = Path(__file__).parent
SPACE = {"k": Integer(1, 30, log=True), "x": Real(0, 1)}  # sorted, as in a study
DISTRIBUTIONS = {
    "x": optuna.distributions.FloatDistribution(0, 1),
    "k": optuna.distributions.IntDistribution(1, 30, log=True),
}
TrialState = optuna.trial.TrialState
create_trial = optuna.trial.create_trial


@pytest.fixture(autouse=True)
def _quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def loss(params):
    return (params["x"] - 0.3) ** 2 + (math.log(params["k"]) - 2) ** 2


def objective(trial):
    return loss(
        {
            "x": trial.suggest_float("x", 0, 1),
            "k": trial.suggest_int("k", 1, 30, log=True),
        }
    )


def study_of(sampler, **settings):
    return optuna.create_study(sampler=sampler, **settings)


def params_of(study):
    return [trial.params for trial in study.trials]


# What is asked ------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["robust", "lb-gp-ucb", "he-gp-ucb", "boho"])
def test_a_study_asks_what_an_optimizer_would(policy):
    study = study_of(RobustSampler(policy=policy, seed=3, horizon=16))
    study.optimize(objective, n_trials=16)

    optimizer = Optimizer(SPACE, policy, horizon=16, random_state=3)
    first, *rest = study.trials
    optimizer.tell(first.params, -first.value)
    for trial in rest:
        params = optimizer.ask()
        assert params == trial.params
        optimizer.tell(params, -loss(params))
    assert any("metadata" in p["note"] for t in rest for p in joined(t.system_attrs))


def test_pending_points_count_as_the_optimizers():
    study = study_of(RobustSampler(seed=0, n_startup_trials=4), direction="maximize")
    study.add_trial(
        create_trial(params={"x": 0.5, "k": 4}, distributions=DISTRIBUTIONS, value=1.0)
    )
    optimizer = Optimizer(SPACE, n_initial_points=4, random_state=0)
    optimizer.tell({"x": 0.5, "k": 4}, 1.0)
    asked = []
    for i in range(12):
        asked.append(study.ask(DISTRIBUTIONS))
        assert asked[-1].params == optimizer.ask()
        if i % 3 == 2:
            trial = asked.pop(0)
            study.tell(trial, -loss(trial.params))
            optimizer.tell(trial.params, -loss(trial.params))


def test_nothing_is_kept_that_the_storage_does_not_have():
    settings = {"seed": 1, "n_startup_trials": 3}
    study = study_of(RobustSampler(**settings))
    study.optimize(objective, n_trials=9)

    storage = optuna.storages.InMemoryStorage()
    other = study_of(RobustSampler(**settings), storage=storage)
    for _ in range(9):
        again = optuna.load_study(
            study_name=other.study_name,
            storage=storage,
            sampler=RobustSampler(**settings),
        )
        again.optimize(objective, n_trials=1)
    assert params_of(other) == params_of(study)


def test_seeds_and_pickles():
    studies = [study_of(RobustSampler(seed=seed)) for seed in (5, 5, 6)]
    for study in studies:
        study.optimize(objective, n_trials=8)
    studies[1].sampler = pickle.loads(pickle.dumps(studies[1].sampler))
    for study in studies:
        study.optimize(objective, n_trials=4)
    assert params_of(studies[0]) == params_of(studies[1])
    assert params_of(studies[0]) != params_of(studies[2])
    for study in studies[:2]:
        study.sampler.reseed_rng()
        study.optimize(objective, n_trials=2)
    assert params_of(studies[0]) != params_of(studies[1])


def test_both_directions_are_mirror_images():
    down = study_of(RobustSampler(seed=0))
    up = study_of(RobustSampler(seed=0), direction="maximize")
    down.optimize(objective, n_trials=14)
    up.optimize(lambda trial: -objective(trial), n_trials=14)
    assert params_of(down) == params_of(up)
    assert down.best_value < 0.1


def test_threads():
    study = study_of(RobustSampler(seed=0))
    study.optimize(objective, n_trials=16, n_jobs=4)
    points = {(trial.params["x"], trial.params["k"]) for trial in study.trials}
    assert len(points) == 16


# Parameters ---------------------------------------------------------------------------


def test_values_are_those_of_the_distributions():
    choices = (None, "a", True, 2.5)

    def mixed(trial):
        steps = trial.suggest_float("steps", 0.1, 0.9, step=0.1)
        whole = trial.suggest_int("whole", 3, 30, step=9)
        choice = trial.suggest_categorical("choice", choices)
        fine = trial.suggest_float("fine", 0, 1, step=1e-6)
        huge = trial.suggest_int("huge", 0, 2**60)
        trial.suggest_float("single", 2, 2)
        assert whole in (3, 12, 21, 30)
        assert any(choice is each for each in choices)
        assert 0 <= huge <= 2**60
        return abs(steps - 0.4) + abs(whole - 21) + (choice != "a") + abs(fine - 0.25)

    study = study_of(RobustSampler(seed=0))
    study.optimize(mixed, n_trials=30)
    assert {t.params["single"] for t in study.trials} == {2.0}
    assert study.best_value < 0.3
    assert study.best_params["choice"] == "a"
    asked = joined(study.trials[-1].system_attrs)[0]["point"]
    assert set(asked) == {"steps", "whole", "choice", "fine", "huge"}


@pytest.mark.parametrize("choices", [[0, 0.0, 2], [True, 1, 3, 1.0], [2, "a", 2.0]])
def test_equal_choices_are_one(choices):
    """Optuna does not distinguish them and stores the first one."""
    study = study_of(RobustSampler(seed=0), direction="maximize")
    others = [c for i, c in enumerate(choices) if choices.index(c) == i]

    def kind(trial):
        return float(trial.suggest_categorical("c", choices) == others[-1])

    study.optimize(lambda t: kind(t) + t.suggest_float("x", 0, 1), n_trials=30)
    tried = [trial.params["c"] == others[-1] for trial in study.trials]
    assert sum(tried) >= 10
    assert study.best_value > 1.9


@pytest.mark.parametrize(
    ("suggest", "n"),
    [
        (lambda t: t.suggest_int("p", 0, 2**50), 2**50),
        (lambda t: t.suggest_int("p", -(2**62), 2**62) + 2**62, 2**63),
        (lambda t: t.suggest_int("p", 2**52, 2**52 + 1000) - 2**52, 1000),
        (lambda t: t.suggest_int("p", 0, 3 * 2**45, step=3), 3 * 2**45),
        (lambda t: math.log2(t.suggest_int("p", 1, 2**50, log=True)), 50),
        (lambda t: t.suggest_float("p", 0, 1, step=1e-15), 1),
        (lambda t: t.suggest_float("p", -1, 1, step=1e-9) + 1, 2),
        (lambda t: t.suggest_float("p", 0, 1e-9, step=1e-22), 1e-9),
    ],
)
def test_large_and_fine_ranges_are_searched(suggest, n):
    study = study_of(RobustSampler(seed=0))
    study.optimize(lambda t: (suggest(t) / n - 0.3) ** 2, n_trials=25)
    assert study.best_value < 1e-3
    points = [p for t in study.trials[1:] for p in joined(t.system_attrs)]
    assert len(points) == 24
    for trial in study.trials:
        distribution = trial.distributions["p"]
        assert distribution._contains(distribution.to_internal_repr(trial.params["p"]))


@pytest.mark.parametrize(
    "suggest",
    [
        lambda t: t.suggest_float("p", 1, 1 + 1e-15),
        lambda t: t.suggest_float("p", 1e6, 1e6 + 1, step=1e-8),
        lambda t: t.suggest_int("p", 2**60, 2**60 + 9, log=True),
    ],
)
def test_what_cannot_be_searched_is_said_once(suggest):
    study = study_of(RobustSampler(seed=0))
    with pytest.warns(UserWarning, match="no model for the parameter 'p'") as caught:
        study.optimize(suggest, n_trials=5)
    assert len(caught) == 1


def test_conditional_parameters_have_models_of_their_own():
    def branches(trial):
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return 1 + (trial.suggest_float("x", 0, 1) - 0.25) ** 2
        y, z = trial.suggest_float("y", 0, 1), trial.suggest_float("z", 0, 1)
        return abs(y - 0.75) + z

    study = study_of(RobustSampler(seed=0))
    study.optimize(branches, n_trials=30)
    found = {tuple(p["point"]) for p in joined(study.trials[-1].system_attrs)}
    assert found == {("kind",), ("x",), ("y", "z")}
    assert study.best_params["kind"] == "b"
    assert study.best_value < 0.1


def test_a_range_that_changes_keeps_the_points_inside():
    study = study_of(RobustSampler(seed=0))
    for high in (10, 5):
        study.optimize(lambda t, high=high: t.suggest_float("x", 0, high), n_trials=8)
    narrow = [trial.params["x"] for trial in study.trials[9:]]
    assert max(narrow) <= 5
    assert study.best_value < 0.01


def test_a_finite_space_that_is_used_up_goes_on():
    study = study_of(RobustSampler(seed=0))
    study.optimize(lambda t: t.suggest_int("k", 0, 4), n_trials=9)
    assert sorted(t.params["k"] for t in study.trials[:5]) == [0, 1, 2, 3, 4]
    waiting = [
        study.ask({"k": optuna.distributions.IntDistribution(0, 4)}) for _ in range(3)
    ]
    assert all(0 <= trial.params["k"] <= 4 for trial in waiting)


# Trials of all kinds ------------------------------------------------------------------


def finished(state, value=None, intermediate=None, **attributes):
    return create_trial(
        state=state,
        value=value,
        params={"c": 0},
        distributions={"c": optuna.distributions.CategoricalDistribution([0, 1])},
        intermediate_values=intermediate or {},
        system_attrs=attributes,
    )


def test_values_of_all_kinds_of_trials():
    trials = [
        (finished(TrialState.PRUNED, intermediate={0: 3.0}), math.nan),
        (finished(TrialState.COMPLETE, 2.0), -2.0),
        (finished(TrialState.COMPLETE, 4.0), -4.0),
        (finished(TrialState.COMPLETE, 9.0), -9.0),
        (finished(TrialState.FAIL), math.nan),
        (finished(TrialState.PRUNED, intermediate={0: 6.0, 5: 5.0}), -5.0),
        (finished(TrialState.PRUNED, intermediate={3: 1.0}), -4.0),
        (finished(TrialState.PRUNED), math.nan),
        (finished(TrialState.COMPLETE, 0.0, constraints=[-1.0, 0.5]), math.nan),
        (finished(TrialState.COMPLETE, 0.0, **{"constraints:a": 1e-9}), math.nan),
        (finished(TrialState.COMPLETE, 1.0, constraints=[0.0]), -1.0),
    ]
    found = list(values_of([trial for trial, _ in trials], -1))
    assert found == pytest.approx([value for _, value in trials], nan_ok=True)


def test_infeasible_and_failed_trials_are_avoided():
    def uneven(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_user_attr("too_much", x + y - 1)
        if x < 0.2:
            raise ArithmeticError
        return x + y

    sampler = RobustSampler(
        seed=0, constraints_func=lambda trial: [trial.user_attrs["too_much"]]
    )
    study = study_of(sampler, direction="maximize")
    study.optimize(uneven, n_trials=40, catch=ArithmeticError)
    last = study.trials[20:]
    assert sum(trial.state == TrialState.FAIL for trial in last) <= 6
    complete = [t for t in study.trials if t.state == TrialState.COMPLETE]
    feasible = [t.value for t in complete if t.user_attrs["too_much"] <= 0]
    assert max(feasible) > 0.97
    assert complete[-1].system_attrs["constraints"]


def test_enqueued_trials_and_fixed_parameters_are_used():
    study = study_of(RobustSampler(seed=0))
    study.enqueue_trial({"x": 0.3, "k": 7})
    study.optimize(objective, n_trials=6)
    assert study.trials[0].params == {"x": 0.3, "k": 7}
    study.enqueue_trial({"x": 0.9})
    study.optimize(objective, n_trials=2)
    assert study.trials[6].params["x"] == 0.9
    assert study.best_value < 0.02


def test_damaged_notes_do_no_harm():
    study = study_of(RobustSampler(seed=0))
    study.optimize(objective, n_trials=12)
    good = joined(study.trials[-1].system_attrs)
    bad = [
        *("", "1", "1 {", "2 []", "1 [1]", '1 [{"settings": 1}]', "x []", 7),
        *(split([{**good[0], "note": note}])[f"{PREFIX}0"] for note in (
            {"start": {}}, {"start": 3}, {"metadata": {"level": 99}}, {"metadata": [1]},
        )),
    ]  # fmt: skip
    for i, text in enumerate(bad):
        trial = study.trials[i]
        study._storage.get_trial(trial._trial_id)
        attributes = {**trial.system_attrs, f"{PREFIX}0": text}
        other = study_of(RobustSampler(seed=0))
        for each in study.trials:
            given = attributes if each.number == i else each.system_attrs
            other.add_trial(
                create_trial(
                    params=each.params,
                    distributions=each.distributions,
                    value=each.value,
                    system_attrs=given,
                )
            )
        assert set(other.ask(DISTRIBUTIONS).params) == {"x", "k"}


def test_long_notes_are_split_and_joined():
    point = {"x" * 5000: 1.5}
    proposals = [{"space": 1, "settings": 1, "point": point, "note": {}}]
    pieces = split(proposals)
    assert len(pieces) == 3
    assert joined(pieces) == proposals
    del pieces[f"{PREFIX}1"]
    assert joined(pieces) == []


# Errors -------------------------------------------------------------------------------


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RobustSampler())
    with pytest.raises(ValueError, match="one objective, got one with 2"):
        study.ask(DISTRIBUTIONS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": "none"}, "policy"),
        ({"seed": -1}, "'seed' of RobustSampler"),
        ({"seed": 2**32}, "'seed' of RobustSampler"),
        ({"seed": 1.5}, "'seed' of RobustSampler"),
        ({"n_startup_trials": 0}, "'n_startup_trials' of RobustSampler"),
        ({"horizon": "5"}, "'horizon' of RobustSampler"),
        ({"constraints_func": 3}, "'constraints_func' of RobustSampler"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        RobustSampler(**settings)


@pytest.mark.parametrize("result", [[float("nan")], 3, ["a"], None])
def test_bad_constraints_are_refused(result):
    study = study_of(RobustSampler(constraints_func=lambda trial: result))
    with pytest.raises(ValueError, match="must return a sequence of numbers"):
        study.optimize(objective, n_trials=1)


# Workers ------------------------------------------------------------------------------


def shared_points(folder, n_trials):
    """Return the points of a study on which two processes worked."""
    url = f"sqlite:///{folder / 'shared.db'}"
    study = study_of(None, study_name="shared", storage=url, direction="maximize")
    command = [sys.executable, str(HERE / "share_study.py"), url]
    workers = [
        subprocess.Popen([*command, seed, str(n_trials)], env=os.environ)
        for seed in ("1", "2")
    ]
    assert [worker.wait() for worker in workers] == [0, 0]
    return [
        (trial.params["x"], trial.params["y"])
        for trial in study.trials
        if len(trial.params) == 2
    ]


def imitated(study, n_times):
    """Ask for a trial while another worker makes the same proposals `n_times`."""
    other = study.ask()
    write, written = study._storage.set_trial_system_attr, []

    def both(trial_id, key, value):
        write(trial_id, key, value)
        if len(written) < n_times:
            written.append(joined({key: value})[0]["point"])
            write(other._trial_id, key, value)

    study._storage.set_trial_system_attr = both
    return study.ask(DISTRIBUTIONS), written


@pytest.mark.parametrize("policy", ["robust", "lb-gp-ucb"])
@pytest.mark.parametrize("n_startup", [2, 20])
def test_a_proposal_that_another_worker_has_made_is_given_up(policy, n_startup):
    study = study_of(RobustSampler(seed=0, policy=policy, n_startup_trials=n_startup))
    study.optimize(objective, n_trials=6)
    trial, written = imitated(study, 3)
    # The other worker has only the last of these now: earlier ones may be asked again.
    proposed = [*written, trial.params]
    assert len(proposed) == 4
    assert all(a != b for a, b in itertools.pairwise(proposed))


def test_a_worker_that_is_always_imitated_takes_a_random_point():
    study = study_of(RobustSampler(seed=0))
    study.optimize(objective, n_trials=6)
    trial, written = imitated(study, 99)
    assert len(written) == 9
    assert all(a != b for a, b in itertools.pairwise(written))
    assert trial.params == written[-1]


def test_workers_of_other_policies_are_seen():
    study = study_of(RobustSampler(seed=0))
    study.optimize(objective, n_trials=8)
    study.sampler = RobustSampler(seed=0, policy="random")
    asked = [study.ask(DISTRIBUTIONS)]
    study.sampler = RobustSampler(seed=0, policy="lb-gp-ucb")
    asked += [study.ask(DISTRIBUTIONS) for _ in range(2)]
    for trial in asked:
        study.tell(trial, loss(trial.params))
    study.optimize(objective, n_trials=3)
    assert len({str(params) for params in params_of(study)}) == 14


@pytest.mark.process
def test_two_processes_never_ask_the_same_point(tmp_path):
    points = shared_points(tmp_path, 16)
    assert len(set(points)) == len(points) >= 16


@pytest.mark.slow
def test_two_processes_never_ask_the_same_point_in_200_trials(tmp_path):
    points = shared_points(tmp_path, 200)
    assert len(set(points)) == len(points) >= 200
