"""The order of the documentation pages."""

import re

_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(?:(?P<title>.+) <(?P<named>[\w/.-]+)>|(?P<plain>[\w/.-]+))$")


def contents(page):
    """Return the entries of a page's toctrees, as pairs of a title and a document.

    The title is None if the document's own title is used.
    """
    found = []
    for block in _TOCTREE.findall(page.read_text(encoding="utf-8")):
        lines = [line for line in block.splitlines() if line and line[0] != ":"]
        for line in lines:
            entry = _ENTRY.match(line)
            found.append((entry["title"], entry["named"] or entry["plain"]))
    return found
