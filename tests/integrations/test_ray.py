"""The searcher with Ray Tune itself."""

import json
import math
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from skrobustbo import Integer, Optimizer, Real
from skrobustbo.integrations.ray import RobustSearcher

tune = pytest.importorskip("ray.tune")

HERE = Path(__file__).parent

SPACE = {
    "lr": tune.loguniform(1e-4, 1.0),
    "net": {"width": tune.randint(8, 65), "act": tune.choice(["relu", "tanh"])},
    "steps": 7,
}


def loss(config):
    net = config["net"]
    worse = 0.5 if net["act"] == "tanh" else 0.0
    return abs(math.log10(config["lr"]) + 2) + abs(net["width"] - 40) / 40 + worse


def searched(searcher, n, offset=0):
    configs = []
    for i in range(n):
        configs.append(searcher.suggest(f"t{offset + i}"))
        searcher.on_trial_complete(f"t{offset + i}", {"loss": loss(configs[-1])})
    return configs


def searcher_of(space=SPACE, **settings):
    return RobustSearcher(space, metric="loss", mode="min", seed=0, **settings)


# Without a cluster --------------------------------------------------------------------


def test_configs_are_nested_and_of_the_domains():
    configs = searched(searcher_of(horizon=30), 30)
    for config in configs:
        assert set(config) == {"lr", "net", "steps"}
        assert 1e-4 <= config["lr"] <= 1.0
        assert config["net"]["width"] in range(8, 65)
        assert config["steps"] == 7
    assert min(map(loss, configs)) < 0.1


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (tune.quniform(0.1, 0.5, 0.1), {0.1, 0.2, 0.3, 0.4, 0.5}),
        (tune.randint(0, 3), {0, 1, 2}),
        (tune.qrandint(2, 8, 2), {2, 4, 6, 8}),
        (tune.qlograndint(2, 8, 2), {2, 4, 6, 8}),
        (tune.choice(["a", None]), {"a", None}),
        (tune.qloguniform(0.25, 1.0, 0.25), {0.25, 0.5, 0.75, 1.0}),
    ],
)
def test_finite_spaces_are_used_up(domain, values):
    searcher = searcher_of({"a": domain})
    found = {searcher.suggest(str(i))["a"] for i in range(len(values))}
    assert found == values
    assert all(domain.is_valid(value) for value in found)
    assert searcher.suggest("last") == searcher.FINISHED


def test_it_asks_what_an_optimizer_would():
    space = {"x": tune.uniform(0, 1), "k": tune.lograndint(1, 31)}
    searcher = RobustSearcher(space, metric="up", mode="max", seed=4, horizon=14)
    optimizer = Optimizer(
        {"x": Real(0, 1), "k": Integer(1, 30, log=True)}, horizon=14, random_state=4
    )
    waiting = []
    for i in range(14):
        params = optimizer.ask()
        assert searcher.suggest(f"t{i}") == params
        waiting.append((f"t{i}", params))
        if i % 2:
            for name, each in waiting:
                value = math.nan if each["k"] == 1 else each["x"] - each["k"]
                result = {} if each["k"] == 1 else {"up": value}
                searcher.on_trial_result(name, {"up": 1e9})
                searcher.on_trial_complete(name, result)
                optimizer.tell(each, value)
            waiting.clear()


def test_modes_are_mirror_images():
    down = searcher_of()
    up = RobustSearcher(SPACE, metric="gain", mode="max", seed=0)
    for i in range(12):
        config = down.suggest(str(i))
        assert up.suggest(str(i)) == config
        down.on_trial_complete(str(i), {"loss": loss(config)})
        up.on_trial_complete(str(i), {"gain": -loss(config)})


@pytest.mark.parametrize(
    ("result", "error"),
    [(None, True), ({"loss": 1.0}, True), ({}, False), ({"loss": "a"}, False)],
)
def test_failures_are_failures(result, error):
    searcher = searcher_of()
    config = searcher.suggest("a")
    searcher.on_trial_complete("a", result, error=error)
    searcher.on_trial_complete("unknown", {"loss": 1.0})
    (record,) = searcher._optimizer.history_
    assert record["failed_reason"]
    assert searcher.suggest("b") != config


def test_first_points_and_points_from_elsewhere():
    first = {"lr": 0.5, "net": {"width": 12, "act": "tanh"}}
    searcher = searcher_of(points_to_evaluate=[first])
    searcher.add_evaluated_point(
        {"lr": 0.02, "net": {"width": 30, "act": "relu"}, "steps": 7}, 0.1
    )
    searcher.add_evaluated_point(first | {"lr": 0.1}, 0.1, error=True)
    config = searcher.suggest("a")
    assert config == first | {"steps": 7}
    values = [record["value"] for record in searcher._optimizer.history_]
    assert values[0] == -0.1
    assert math.isnan(values[1])


def test_a_saved_state_goes_on_and_is_json(tmp_path):
    searcher = searcher_of()
    searched(searcher, 11)
    running = searcher.suggest("running")
    path = tmp_path / "state"
    searcher.save(str(path))
    assert set(json.loads(path.read_text())["running"]) == {"running"}

    again, late = searcher_of(), RobustSearcher()
    again.restore(str(path))
    late.restore(str(path))
    assert late.set_search_properties(None, None, SPACE)
    copy = pickle.loads(pickle.dumps(searcher))
    all_of_them = (searcher, again, late, copy)
    for each in all_of_them:
        each.on_trial_complete("running", {"loss": loss(running)})
    assert len({str(searched(each, 4, offset=20)) for each in all_of_them}) == 1


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1}', '{"format": 2}', "\x80\x04."]
)
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "state"
    path.write_text(text, encoding="latin1")
    with pytest.raises(ValueError, match=r"Expected a state that RobustSearcher\.save"):
        searcher_of().restore(str(path))


def test_a_state_of_another_space_is_refused(tmp_path):
    path = str(tmp_path / "state")
    searcher_of().save(path)
    with pytest.raises(ValueError, match="restore it with the space"):
        searcher_of({"x": tune.uniform(0, 1)}).restore(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": ["a", "b"]}, "'metric' of RobustSearcher"),
        ({"mode": "largest"}, "'mode' of RobustSearcher"),
        ({"seed": -1}, "'seed' of RobustSearcher"),
        ({"horizon": 0}, "'horizon' of RobustSearcher"),
        ({"n_initial_points": 0.5}, "'n_initial_points' of RobustSearcher"),
        ({"policy": "none"}, "policy"),
        ({"space": {"a": 1}}, "at least one domain"),
        ({"space": SPACE, "points_to_evaluate": [{}]}, "In 'points_to_evaluate'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        RobustSearcher(**settings)


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="needs a search space"):
        RobustSearcher(metric="loss", mode="min").suggest("a")
    with pytest.raises(ValueError, match="needs a metric and a mode"):
        RobustSearcher(SPACE).suggest("a")


def test_a_second_space_is_not_taken():
    searcher = RobustSearcher(SPACE)
    assert not searcher.set_search_properties("loss", "min", {"x": tune.uniform(0, 1)})
    assert searcher.set_search_properties("loss", "min", {})
    assert searcher.suggest("a")["steps"] == 7


# With a cluster -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_local_ray(tmp_path):
    command = [sys.executable, str(HERE / "tune_locally.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["errors"] >= 1
    assert found["best"] < 1.0
    configs = found["configs"]
    assert len(configs) == found["known"] == found["restored"] == 14
    assert len({str(config) for config in configs}) == 14
    assert found["next"] not in configs
