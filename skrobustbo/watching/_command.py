"""Command-line interface of `python -m skrobustbo`."""

from __future__ import annotations

import argparse
import math
import os
import secrets
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from skrobustbo.checkpoint import CheckpointError, NotBegun
from skrobustbo.model_selection import LoadedSearch, load_checkpoint
from skrobustbo.watching._views import BEGINS, line, page, screen

_HOME = "\x1b[H\x1b[J"
#: The pause is at least this many times the reading time, so that watching takes little
#: time from the search, even with a large file.
_PAUSES = 50
_LONGEST = 86_400.0
#: Exit status if there is no search yet.
_NOT_BEGUN = 3


def seconds(text: str) -> float:
    """Convert a command-line argument to a number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= _LONGEST:
        raise argparse.ArgumentTypeError(
            f"must be a number of seconds above 0 and up to {_LONGEST:.0f}, got "
            f"{text!r}"
        )
    return value


def build_parser() -> argparse.ArgumentParser:
    """Return the parser for the command line."""
    parser = argparse.ArgumentParser(prog="python -m skrobustbo")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    watch = commands.add_parser(
        "watch",
        help="show a running search from its checkpoint",
        description="Show a running search from its checkpoint, until it has "
        "finished. Waits for a search that has not begun, and does not "
        "disturb it. Ctrl-C ends only the watching.",
    )
    watch.add_argument("path", metavar="PATH", help="the checkpoint of the search")
    watch.add_argument(
        "--interval",
        type=seconds,
        default=2.0,
        metavar="S",
        help="seconds between updates (default: 2)",
    )
    watch.add_argument(
        "--once", action="store_true", help="show the search once, and exit"
    )
    watch.add_argument(
        "--html",
        metavar="FILE",
        help="write a page that a browser reloads, instead of text",
    )
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    args = build_parser().parse_args(words)
    try:
        return _watch(args)
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:  # as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (CheckpointError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _watch(args: argparse.Namespace) -> int:
    view = _Page(args) if args.html else _Screen(args)
    is_waiting = False
    while True:
        start = time.perf_counter()
        try:
            found = load_checkpoint(args.path)
        except NotBegun:
            if not is_waiting:
                is_waiting = True
                then = "" if args.once else ": waiting for it; Ctrl-C ends this"
                _say(f"The search of {args.path!r} has not begun{then}\n")
            if args.once:
                return _NOT_BEGUN
            time.sleep(args.interval)
            continue
        last = args.once or found.status in ("finished", "unfinished")
        view.show(found, last=last)
        if last:
            return 1 if found.status == "unfinished" else 0
        took = time.perf_counter() - start
        time.sleep(max(args.interval, _PAUSES * took))


class _Screen:
    """Shows a search as text, which is updated in place on a terminal."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._is_once = args.once
        self._in_place = _is_open() and sys.stdout.isatty() and not args.once
        self._n_told = 0

    def show(self, found: LoadedSearch, *, last: bool) -> None:
        """Show the current state of the search."""
        width, height = shutil.get_terminal_size((100, 24))
        most = max(1, height - 1) if self._in_place else None
        text = screen(found, max(20, width), most)
        if self._in_place:
            text = _HOME + text
        elif not self._is_once:
            new = list(found.trials)[self._n_told :]
            self._n_told += len(new)
            lines = "".join(f"{line(trial)}\n" for trial in new)
            text = f"{lines}\n{text}" if last else lines
        _say(text)


class _Page:
    """Shows a search as a page in a file."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._path, self._interval = args.html, args.interval
        _check_place(self._path)
        self._is_said = False

    def show(self, found: LoadedSearch, *, last: bool) -> None:
        """Write the current page."""
        write(self._path, page(found, self._interval, last=last))
        if not self._is_said:
            self._is_said = True
            _say(f"The search is on the page {self._path}\n")


def _check_place(path: str) -> None:
    """Raise a CheckpointError if the path exists and is another kind of file."""
    if not os.path.lexists(path):
        return
    head = None
    if os.path.isfile(path):  # reading from a pipe would block
        with open(path, "rb") as file:
            head = file.read(len(BEGINS))
    if head not in (b"", BEGINS.encode()):
        raise CheckpointError(
            f"The file {path!r} exists and is not a page: give another path for --html."
        )


def write(path: str, text: str) -> None:
    """Write a page atomically, so that a browser never loads an incomplete page."""
    new = f"{path}.{secrets.token_hex(8)}"
    try:
        # Exclusive: nothing is written if the name exists, even as a link.
        with open(new, "x", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(new, path)
    except FileExistsError:
        raise
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(new)
        raise


def _is_open() -> bool:
    """Return whether standard output is open."""
    return sys.stdout is not None and not sys.stdout.closed


def _say(text: str) -> None:
    """Print a text, replacing characters that the terminal cannot display."""
    if not _is_open():
        return
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), end="", flush=True)
