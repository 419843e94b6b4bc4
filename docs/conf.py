"""Configuration of the documentation."""

from importlib.metadata import version as installed

project = "skrobustbo"
author = "The skrobustbo developers"
copyright = "2026, The skrobustbo developers"
release = version = installed("skrobustbo")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "skrobustbo"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}

autosummary_generate = True
# scikit-learn adds these to every estimator; its documentation explains them.
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_partial_fit_request, "
    "set_predict_request, set_score_request"
}
autodoc_typehints = "none"  # types stand in the docstrings
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
