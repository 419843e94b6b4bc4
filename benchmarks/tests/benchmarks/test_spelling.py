"""Policies with settings as words of a command."""

import pytest

from skrobustbo import Real, Space
from skrobustbo.policies import available
from skrobustbo.surrogate import LogNormalPrior
from skrobustbo_benchmarks._args import CommandError
from skrobustbo_benchmarks._methods import Setup, make_method
from skrobustbo_benchmarks._spelling import checked_methods, method_list, split_method


def test_names_and_settings_are_told_apart():
    assert split_method("lb-gp-ucb") == ("lb-gp-ucb", {})
    name, settings = split_method("robust(weights=(1, 0.5), prior=None)")
    assert name == "robust"
    assert settings == {"weights": (1, 0.5), "prior": None}
    prior = split_method("robust(prior=LogNormalPrior(0.5, sigma=0.75))")[1]["prior"]
    assert prior == LogNormalPrior(0.5, 0.75)
    growth = split_method("a-gp-ucb(growth=Growth(2.0, 0.5))")[1]["growth"]
    assert [growth(t) for t in (0, 1, 9)] == [1.0, 2.0, 3.0]


def test_commas_within_brackets_belong_to_the_settings():
    words = ["robust,robust(weights=(1, 0.5), beta=2)", "LB_GP_UCB"]
    assert method_list(words) == [
        "robust",
        "robust(weights=(1, 0.5), beta=2)",
        "lb-gp-ucb",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "robust()",
        "robust(1)",
        "robust(beta=)",
        "robust(beta=2",
        "robust(beta=2))",
        "robust(**{'beta': 2})",
        "robust(beta=__import__('os').getcwd())",
        "robust(beta=open('x'))",
        "robust(beta=2).fit",
    ],
)
def test_anything_else_is_refused_and_not_executed(text):
    with pytest.raises(CommandError, match="Expected a name such as"):
        split_method(text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["robast(beta=2)"], "robast"),
        (["robust(betta=2)"], "betta"),
        (["sobol(seed=1)"], "takes no settings"),
        (["robust(beta=-1)"], r"^robust\(beta=-1\): .*must be a finite number >= 0"),
        (["lb-gp-ucb(noise='a')"], "'noise' of LBGPUCB must be a number"),
        (["robust(weights=())"], "'weights' of RobustUCB must be four"),
        (["robust(n_initial=0)"], "integer >= 1. Got 0"),
        (["robust(n_initial=2.5)"], "integer >= 1. Got 2.5"),
        ([], "Got none"),
    ],
)
def test_methods_are_checked_before_any_run(words, message):
    with pytest.raises(CommandError, match=message):
        checked_methods(words, [*available(), "sobol"])


def test_methods_that_are_known_come_back_tidy():
    words = ["robust( beta = 2.0 )", "sobol"]
    known = [*available(), "sobol"]
    assert checked_methods(words, known) == ["robust( beta = 2.0 )", "sobol"]


def test_less_of_the_initial_design_is_a_setting_of_the_run():
    space = Space({"x": Real(0, 1)})
    initial = [{"x": x} for x in (0.125, 0.5, 0.75)]

    def labels(policy):
        method = make_method(policy, Setup(space, initial, 5, 0))
        for _ in range(4):
            params = method.ask()
            method.tell(params, params["x"])
        return [entry["model_label"] for entry in method.history]

    checked_methods(["robust(n_initial=2)"], ["robust"])
    assert labels("robust(beta=2)")[:3] == ["initial"] * 3
    fewer = labels("robust(n_initial=2, beta=2)")
    assert fewer[:2] == ["initial"] * 2
    assert "initial" not in fewer[2:]
