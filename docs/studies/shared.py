"""What all studies share: one thread, and errors that end a command."""

import subprocess
import sys

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._pool import is_one_thread, one_thread_environment


def run(parser, main):
    """Run a study as a script, again with one thread unless it has one, and exit.

    Small matrices lose time to threads, and libraries read the limit when loaded.
    """
    if is_one_thread():
        sys.exit(status(parser, main))
    again = subprocess.run([sys.executable, *sys.argv], env=one_thread_environment())
    sys.exit(again.returncode)


def status(parser, main, words=None):
    """Return the exit status of a command line; what the user should fix ends it."""
    args = parser.parse_args(words)
    try:
        return main(args) or 0
    except (CommandError, FileNotFoundError) as error:
        return parser.exit(2, f"error: {error}\n")
