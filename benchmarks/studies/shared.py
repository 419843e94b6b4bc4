"""What all studies share: one thread, and errors that end a command."""

import sys

from skrobustbo_benchmarks._args import CommandError
from skrobustbo_benchmarks._pool import is_one_thread, rerun_with_one_thread


def run(parser, main):
    """Run a study as a script, again with one thread unless it has one, and exit."""
    if is_one_thread():
        sys.exit(status(parser, main))
    sys.exit(rerun_with_one_thread(sys.argv))


def status(parser, main, words=None):
    """Return the exit status of a command line; what the user should fix ends it."""
    args = parser.parse_args(words)
    try:
        return main(args) or 0
    except (CommandError, FileNotFoundError) as error:
        return parser.exit(2, f"error: {error}\n")
