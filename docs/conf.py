"""Configuration of the documentation."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

sys.path.insert(0, str(Path(__file__).parent))
import elsewhere
import gallery_setup

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
    "sphinx_gallery.gen_gallery",
    "elsewhere",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "optunahub"]
html_theme = "pydata_sphinx_theme"
html_title = "skrobustbo"
html_show_sourcelink = False
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
#: The entries of the top bar: a title and a page.
TOP_BAR = [
    ("Get started", "get_started"),
    ("FAQ", "faq"),
    ("Examples", "gallery/index"),
    ("API", "api"),
    ("Results", "benchmarks"),
]
html_context = {"default_mode": "auto", "top_bar": TOP_BAR}
html_sidebars = {"**": ["sections.html"]}
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "navbar_center": ["top-bar.html"],
    "navigation_with_keys": False,
    # The pages that begin with a wide table have the width for it.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **dict.fromkeys(("index", "benchmarks", "papers", "conformance"), ()),
    },
    "footer_start": ["copyright"],
    "footer_end": [],
}

autosummary_generate = True
# scikit-learn adds these to every estimator; its documentation explains them.
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_partial_fit_request, "
    "set_predict_request, set_score_request"
}
autodoc_typehints = "none"  # types stand in the docstrings
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
# Types in docstrings, and names in single backticks, are links where they can be.
numpydoc_xref_param_type = True
numpydoc_xref_aliases = elsewhere.aliases()
numpydoc_xref_ignore = "all"
default_role = "py:obj"
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("skrobustbo",),
    "reference_url": {"skrobustbo": None},
    "within_subsection_order": ExplicitOrder(gallery_setup.ORDER),
    "reset_argv": "gallery_setup.arguments",
    "reset_modules": ("matplotlib", "gallery_setup.warnings_are_errors"),
    "reset_modules_order": "both",
    "abort_on_example_error": True,
    "capture_repr": (),
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_signature": False,
    # How long this machine took is nobody else's concern.
    "min_reported_time": 1e6,
    "write_computation_times": False,
}
