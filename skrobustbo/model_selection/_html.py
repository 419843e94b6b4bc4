"""What notebooks show below scikit-learn's diagram of a fitted search."""

from __future__ import annotations

import html

from skrobustbo.model_selection._curve import curve
from skrobustbo.model_selection._findings import Findings
from skrobustbo.model_selection._report import report


def account(found: Findings) -> str:
    """Return the report and the curve of a fitted search as HTML.

    It has no style sheet and no script: text keeps the colour of the page, light or
    dark.

    Parameters
    ----------
    found : Findings
        What there is to say.

    Returns
    -------
    html : str
    """
    picture = curve(found.scores, found.n_initial, found.metric_name)
    text = html.escape(report(found))
    return (
        '<details open="" class="skrobustbo-report"><summary>Report</summary>'
        '<pre style="color: inherit; background: none; white-space: pre-wrap; '
        f'line-height: 1.35">{text}</pre>{picture}</details>'
    )
