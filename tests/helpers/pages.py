"""The order of the documentation pages, and the commands on them."""

import re

_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(?:(?P<title>.+) <(?P<named>[\w/.-]+)>|(?P<plain>[\w/.-]+))$")
_FENCE = re.compile(r"^ *```(?:sh|shell|bash|console)\n(.*?)^ *```$", re.M | re.S)
_INLINE = re.compile(r"`((?:python3? -m|python3? [\w/]+\.py|pip install|\.ci/)[^`]*)`")


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


def commands_of(text):
    """Return the commands of a page, in the order in which they stand."""
    found = [(m.start(), m[1].replace("\\\n", " ")) for m in _FENCE.finditer(text)]
    found += [(m.start(), " ".join(m[1].split())) for m in _INLINE.finditer(text)]
    lines = [line for _, block in sorted(found) for line in block.splitlines()]
    return [re.sub(r"^\$ ", "", line.strip()) for line in lines if line.strip()]
