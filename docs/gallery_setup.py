"""How sphinx-gallery runs the examples: quickly, offline, warnings being errors."""

import warnings
from pathlib import Path

#: The examples in the order of the gallery; those not named here follow.
ORDER = [
    "plot_data_frame.py",
    "plot_text.py",
    "plot_choice_of_models.py",
    "plot_mnist_logistic_regression.py",
    "plot_compare_searches.py",
    "plot_several_metrics.py",
    "plot_racing.py",
    "plot_resource.py",
    "plot_honest_score.py",
    "plot_stop_when_sure.py",
    "plot_resume_after_kill.py",
    "plot_dask_cluster.py",
    "plot_trap.py",
    "plot_unknown_period.py",
    "plot_additive_decomposition.py",
    "plot_knife_edge.py",
    "plot_streaming_objective.py",
    "plot_own_policy.py",
    "plot_own_kernel.py",
    "*",
]

#: Arguments of those examples that have some.
ARGUMENTS = {
    "plot_mnist_logistic_regression.py": ["--quick", "--data", "digits"],
    "plot_dask_cluster.py": ["--quick"],
}

_strict: list[warnings.catch_warnings] = []


def arguments(gallery_conf, script_vars):
    """Return the arguments that an example is run with."""
    return ARGUMENTS.get(Path(script_vars["src_file"]).name, [])


def warnings_are_errors(gallery_conf, fname, when):
    """Raise the warnings of an example, which would only be printed on its page."""
    if when == "before":
        _strict.append(warnings.catch_warnings(action="error"))
        _strict[-1].__enter__()
        # Where a display was there until sphinx-gallery chose to draw without.
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
    else:
        _strict.pop().__exit__(None, None, None)
