"""Look at a built documentation with a browser, as its readers do.

    python docs/check_site.py docs/_build --screenshots shots

Every page is opened in Chromium, on a wide and on a narrow screen: nothing may be wider
than the screen, no script may fail, and the entries of the top bar stand on one line.
Then some words are searched for, which have to lead to the pages that explain them. It
prints what is wrong, and fails if anything is. It needs playwright and Chromium.
"""

import argparse
import asyncio
import functools
import http.server
import shutil
import sys
import threading
from pathlib import Path

from playwright.async_api import async_playwright

WIDE, NARROW, HEIGHT = 1280, 400, 800
#: The entries of the top bar, from the left.
ENTRIES = ["Get started", "FAQ", "Examples", "API", "Results"]
#: What a reader may look for, and the pages of which one has to be among the results
#: that are seen first.
SEARCHES = {
    "progress bar": ["faq.html"],
    "dataframe": ["faq.html"],
    "mlflow": ["faq.html", "integrations.html"],
    "early stopping": ["faq.html", "stopping.html"],
    "timeout": ["faq.html", "stopping.html"],
    "racing": ["racing.html"],
    "multi-fidelity": ["resource.html"],
    "resume after a crash": ["faq.html", "checkpoints.html"],
    "imbalanced": ["faq.html"],
    "FAQ": ["faq.html"],
}
SEEN_FIRST = 3
#: The pages of which there are pictures.
SHOWN = ["index", "get_started", "faq", "benchmarks", "benchmarks_studies", "papers"]
SHOWN += ["conformance", "stuck", "displays", "choosing", "gallery/index"]
SHOWN += ["generated/skrobustbo.RobustBayesSearchCV"]
#: Pages open at a time.
TABS = 4
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The check goes to no network.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

# The page, or a part of it that the theme would let scroll as a whole; and what is to
# blame: elements beyond the right edge, not in something that scrolls by itself.
_TOO_WIDE = """() => {
  const parts = [...document.querySelectorAll(
    '.bd-container, .bd-main, .bd-content, .bd-article-container, .bd-article')];
  const wide = [document.documentElement, ...parts].filter(
    e => e.scrollWidth > e.clientWidth + 1);
  if (!wide.length) return null;
  const edge = document.documentElement.clientWidth;
  const scrolls = e => {
    for (let p = e.parentElement; p && !parts.includes(p); p = p.parentElement)
      if (getComputedStyle(p).overflowX !== 'visible') return true;
    return false;
  };
  const last = [...document.body.querySelectorAll('*')].filter(
    e => e.getBoundingClientRect().right > edge + 1 && !scrolls(e)).pop();
  return `${Math.max(...wide.map(e => e.scrollWidth))} pixels wide` + (last
    ? `, by ${last.tagName.toLowerCase()}.${last.className}: ` +
      last.textContent.trim().slice(0, 60)
    : '');
}"""
_TOP_BAR = """() => [...document.querySelectorAll('.bd-header .bd-navbar-elements li')]
  .map(e => [e.innerText.trim(), Math.round(e.getBoundingClientRect().top),
             Math.round(e.getBoundingClientRect().height)])"""
_RESULTS = """() => [...document.querySelectorAll('#search-results ul.search > li')]
  .map(e => e.querySelector('a').getAttribute('href'))"""
_SEARCHED = """() => /found|did not match/.test(
  document.querySelector('.search-summary')?.innerText)"""


class Silent(http.server.SimpleHTTPRequestHandler):
    """Serve files without a word; what pages share is asked for once."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()


class Site:
    """A built documentation, served to a browser, and what is wrong with it."""

    def __init__(self, folder, root, context, shots):
        self.folder, self.root = folder, root
        self.context, self.shots = context, shots
        self.wrong = []

    async def look(self):
        """Look at all pages and search; a few tabs at a time."""
        todo = [functools.partial(self.look_at, name) for name in pages(self.folder)]
        todo += [functools.partial(self.search, words) for words in SEARCHES]
        await asyncio.gather(*(self.work(todo) for _ in range(TABS)))
        if self.shots:
            for name in SHOWN:
                await self.show(name)

    async def work(self, todo):
        """Do what is to be done in a tab of its own."""
        tab, errors = await self.context.new_page(), []
        tab.on("console", functools.partial(self.heard, errors))
        tab.on("pageerror", lambda error: errors.append(str(error)))
        while todo:
            job = todo.pop(0)
            errors.clear()
            wrong = await job(tab)
            place = tab.url.removeprefix(self.root)
            self.wrong += [*wrong, *(f"{place}: {error}" for error in errors)]
        await tab.close()

    def heard(self, errors, message):
        """Keep the errors of a page, but for what it asks of other sites."""
        if message.type == "error" and message.location["url"].startswith(self.root):
            errors.append(message.text)

    async def look_at(self, name, tab):
        """Return what is wrong with a page."""
        await tab.set_viewport_size({"width": WIDE, "height": HEIGHT})
        await tab.goto(f"{self.root}{name}", wait_until="load")
        wrong = top_bar(await tab.evaluate(_TOP_BAR))
        for width in (WIDE, NARROW):
            await tab.set_viewport_size({"width": width, "height": HEIGHT})
            wider = await tab.evaluate(_TOO_WIDE)
            wrong += [f"on {width} pixels it is {wider}"] if wider else []
        return [f"{name}: {line}" for line in wrong]

    async def search(self, words, tab):
        """Return what is wrong with the results of a search."""
        await tab.set_viewport_size({"width": WIDE, "height": HEIGHT})
        await tab.goto(f"{self.root}search.html?q={words.replace(' ', '+')}")
        await tab.wait_for_function(_SEARCHED)
        found = [
            link.split("#")[0].split("?")[0] for link in await tab.evaluate(_RESULTS)
        ]
        if self.shots:
            path = self.shots / f"search-{words.replace(' ', '-')}.png"
            await tab.screenshot(path=path)
        if set(found[:SEEN_FIRST]) & set(SEARCHES[words]):
            return []
        sought = " or ".join(SEARCHES[words])
        return [f"'{words}' finds {found[:SEEN_FIRST]} first, not {sought}"]

    async def show(self, name):
        """Make pictures of a page: wide, narrow, and wide in dark colours."""
        tab = await self.context.new_page()
        for kind, width, mode in (
            ("wide", WIDE, "light"),
            ("narrow", NARROW, "light"),
            ("dark", WIDE, "dark"),
        ):
            await tab.set_viewport_size({"width": width, "height": HEIGHT})
            await tab.emulate_media(color_scheme=mode)
            await tab.goto(f"{self.root}{name}.html", wait_until="load")
            await tab.wait_for_timeout(500)  # colours change by degrees
            path = self.shots / f"{name.replace('/', '-')}-{kind}.png"
            await tab.screenshot(path=path, full_page=kind != "dark")
        await tab.close()


def pages(folder):
    """Return the pages of a built documentation, as their links go."""
    found = (path.relative_to(folder) for path in folder.rglob("*.html"))
    return sorted(path.as_posix() for path in found if path.parts[0] != "_static")


def top_bar(entries):
    """Return what is wrong with the top bar: name, top and height of each entry."""
    names = [name for name, _, _ in entries]
    if names != ENTRIES:
        return [f"the top bar has {names}, not {ENTRIES}"]
    places = {(top, height) for _, top, height in entries}
    return [] if len(places) == 1 else [f"the top bar is not on one line: {entries}"]


async def look(folder, chromium, shots):
    """Return what is wrong with a built documentation."""
    handler = functools.partial(Silent, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}/"
    try:
        async with async_playwright() as player:
            browser = await player.chromium.launch(
                executable_path=chromium, args=OPTIONS
            )
            context = await browser.new_context(color_scheme="light")
            site = Site(folder, root, context, shots)
            await site.look()
            await browser.close()
    finally:
        server.shutdown()
    return sorted(site.wrong)


def main():
    """Print what is wrong; return whether anything is."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="the built documentation")
    parser.add_argument("--screenshots", type=Path, metavar="DIR", help="pictures")
    parser.add_argument(
        "--chromium", default=shutil.which("chromium"), help="the browser's program"
    )
    args = parser.parse_args()
    folder = args.folder.resolve()
    if not pages(folder):
        parser.error(f"there is no page in {folder}: build the documentation first")
    if args.chromium is None:
        parser.error("Chromium is not installed: install it, or give --chromium")
    if args.screenshots:
        args.screenshots.mkdir(parents=True, exist_ok=True)
    wrong = asyncio.run(look(folder, args.chromium, args.screenshots))
    print("\n".join(wrong) or f"{len(pages(folder))} pages are as they should be")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
