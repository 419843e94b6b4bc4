"""See that every link inside a built documentation leads somewhere.

    python docs/check_links.py docs/_build

Pages, anchors, pictures and files; links to other sites are left alone. It prints those
that lead nowhere, and fails if there are any.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places of a page that can be linked to, and its links."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = {"", "top"}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        self.links += [given[key] for key in ("href", "src") if given.get(key)]


def broken_links(folder):
    """Return the pairs of a page and a link of it that leads nowhere."""
    folder = Path(folder).resolve()
    found = [p for p in folder.rglob("*.html") if "_static" not in p.parts]
    pages = {path: Page(path.read_text("utf-8")) for path in found}
    if not pages:
        raise FileNotFoundError(f"There is no page in {folder}; build them first.")
    return [
        (str(path.relative_to(folder)), link)
        for path, page in sorted(pages.items())
        for link in page.links
        if not _leads_somewhere(link, path, pages)
    ]


def _leads_somewhere(link, path, pages):
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = path
    if parts.path:
        target = (path.parent / unquote(parts.path)).resolve()
    if target.is_dir():
        target /= "index.html"
    if target in pages:
        return unquote(parts.fragment) in pages[target].anchors
    return target.exists()


def main():
    """Print broken links; return their number."""
    broken = broken_links(sys.argv[1])
    for page, link in broken:
        print(f"{page}: {link} leads nowhere")
    return min(len(broken), 1)


if __name__ == "__main__":
    sys.exit(main())
