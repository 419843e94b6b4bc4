"""Links from docstrings to the documentation of other projects.

A table of fixed addresses, as the build goes to no network. It is an extension of
Sphinx: a name that this documentation does not have is looked up here.
"""

import importlib

from docutils import nodes

_PYTHON = "https://docs.python.org/3/library"
_NUMPY = "https://numpy.org/doc/stable/reference"
_SCIPY = "https://docs.scipy.org/doc/scipy/reference"
_SKLEARN = "https://scikit-learn.org/stable/modules/generated"
_MATPLOTLIB = "https://matplotlib.org/stable/api"

#: The address of each name that docstrings link to.
LINKS = {
    **{
        name: f"{_PYTHON}/stdtypes.html#{name}"
        for name in ("dict", "list", "tuple", "str", "set", "bytes")
    },
    "bool": f"{_PYTHON}/functions.html#bool",
    "int": f"{_PYTHON}/functions.html#int",
    "float": f"{_PYTHON}/functions.html#float",
    "object": f"{_PYTHON}/functions.html#object",
    "callable": f"{_PYTHON}/functions.html#callable",
    "os.PathLike": f"{_PYTHON}/os.html#os.PathLike",
    "numpy.ndarray": f"{_NUMPY}/generated/numpy.ndarray.html",
    "numpy.random.Generator": f"{_NUMPY}/random/generator.html",
    "numpy.random.RandomState": f"{_NUMPY}/random/legacy.html",
    "scipy.stats": f"{_SCIPY}/stats.html",
    "scipy.optimize.OptimizeResult": (
        f"{_SCIPY}/generated/scipy.optimize.OptimizeResult.html"
    ),
    **{
        name: f"{_SKLEARN}/{name}.html"
        for name in (
            "sklearn.base.BaseEstimator",
            "sklearn.gaussian_process.GaussianProcessRegressor",
            "sklearn.gaussian_process.kernels.Kernel",
            "sklearn.metrics.make_scorer",
            "sklearn.model_selection.GridSearchCV",
            "sklearn.model_selection.RandomizedSearchCV",
            "sklearn.utils.Bunch",
        )
    },
    "matplotlib.axes.Axes": f"{_MATPLOTLIB}/_as_gen/matplotlib.axes.Axes.html",
    "matplotlib.figure.Figure": (
        f"{_MATPLOTLIB}/_as_gen/matplotlib.figure.Figure.html"
    ),
}
#: What docstrings call some of these, in types and in texts.
_SHORT = {
    "array": "numpy.ndarray",
    "ndarray": "numpy.ndarray",
    "array-like": "numpy.ndarray",
    "path-like": "os.PathLike",
    "RandomState": "numpy.random.RandomState",
    "estimator": "sklearn.base.BaseEstimator",
    "BaseEstimator": "sklearn.base.BaseEstimator",
    "GaussianProcessRegressor": "sklearn.gaussian_process.GaussianProcessRegressor",
    "Kernel": "sklearn.gaussian_process.kernels.Kernel",
    "make_scorer": "sklearn.metrics.make_scorer",
    "GridSearchCV": "sklearn.model_selection.GridSearchCV",
    "RandomizedSearchCV": "sklearn.model_selection.RandomizedSearchCV",
    "Bunch": "sklearn.utils.Bunch",
    "OptimizeResult": "scipy.optimize.OptimizeResult",
    "matplotlib axes": "matplotlib.axes.Axes",
    "matplotlib figure": "matplotlib.figure.Figure",
}
#: Words of types that numpydoc would look for in the documentation of others.
_PLAIN = {"None", "True", "False", "sequence", "iterable", "generator", "scalar"}
#: The modules whose public classes docstrings name without their module.
_OURS = ("", ".policies", ".surrogate", ".acquisition", ".kernels")


def aliases():
    """Return what each word of a type stands for, in numpydoc's form."""
    plain = {word: f"``{word}``" for word in _PLAIN}
    builtin = {name: f":obj:`{name}`" for name in LINKS if "." not in name}
    return {**plain, **builtin, **_SHORT, **_own_classes()}


def _own_classes():
    found = {}
    for end in reversed(_OURS):
        module = importlib.import_module(f"skrobustbo{end}")
        for name in module.__all__:
            if isinstance(getattr(module, name), type):
                found[name] = f"skrobustbo{end}.{name}"
    return found


def address(target):
    """Return the address of a name, None if the table does not have it."""
    return LINKS.get(_SHORT.get(target, target))


def resolve(app, env, node, contnode):
    """Return a link for a name that this documentation lacks, None for others."""
    found = address(node.get("reftarget"))
    if found is None or node.get("refdomain") != "py":
        return None
    return nodes.reference("", "", contnode, internal=False, refuri=found)


def setup(app):
    """Have names looked up here that Sphinx does not find."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
