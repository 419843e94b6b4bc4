"""What a probe found out, and the exceptions by which it says so."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skrobustbo.benchmarks._conformance._peers import Peer

#: Parts of a reason that differ from run to run.
_CHANGING = re.compile(r" at 0x[0-9a-f]+| ?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(,\d+)?")
#: Characters of a reason that are kept.
MAX_REASON = 160


class UnmetError(Exception):
    """The search does not do what the row says; the message is the reason."""


class NotApplicableError(Exception):
    """The row cannot be asked of this search or in this environment."""


@dataclass(frozen=True)
class Outcome:
    """The answer of one search to one probe.

    Parameters
    ----------
    verdict : {"yes", "no", "n/a"}
        Whether it does what the row says.
    count : str
        Such as "48/50", where the probe counts; empty otherwise.
    reason : str
        One line, empty for a plain yes.
    """

    verdict: str
    count: str = ""
    reason: str = ""


#: Asks one search. It raises, or returns None, or a count such as "48/50" with what is
#: to be said of it behind a blank.
Probe = Callable[["Peer"], "str | None"]


def require(condition: object, reason: str) -> None:
    """Raise UnmetError for the reason unless the condition holds."""
    if not condition:
        raise UnmetError(reason)


def run_probe(probe: Probe, peer: Peer) -> Outcome:
    """Return what a probe finds; whatever a search raises is an answer, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = probe(peer)
        except NotApplicableError as error:
            return Outcome("n/a", reason=str(error))
        except UnmetError as error:
            return Outcome("no", reason=one_line(str(error)))
        except Exception as error:
            return Outcome("no", reason=one_line(f"{type(error).__name__}: {error}"))
    if found is None:
        return Outcome("yes")
    count, _, reason = found.partition(" ")
    passed, _, asked = count.partition("/")
    return Outcome("yes" if passed == asked else "no", count, one_line(reason))


def one_line(text: str) -> str:
    r"""Return a text without line breaks, addresses and times, shortened if long.

    >>> one_line("first\n   second")
    'first second'
    """
    line = _CHANGING.sub("", " ".join(text.split()))
    return line if len(line) <= MAX_REASON else line[: MAX_REASON - 3] + "..."
