"""Ask the installed searches what scikit-learn's promise; keep the answers in a file.

    python benchmarks/studies/conformance.py --out answers.csv --page answers.md

Every row is asked in a process of its own. Answers of searches that are not installed
here stay. The exit status is 1 if RobustBayesSearchCV does not meet a row.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
from dataclasses import astuple
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import shared
from conformance_page import page
from promises import PROBES, title
from promises.tools import Outcome, run_probe
from searches import PEERS
from skrobustbo_benchmarks._args import CommandError, check_can_write, positive_int
from skrobustbo_benchmarks._pool import say


class Answer(NamedTuple):
    """One row of the file."""

    probe: str
    estimator: str
    version: str
    outcome: str
    count: str
    reason: str


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--estimators",
        nargs="+",
        choices=list(PEERS),
        help="default: all searches that are installed",
    )
    parser.add_argument("--probes", nargs="+", choices=list(PROBES), help="default all")
    parser.add_argument("--out", type=Path, metavar="CSV", help="file of the answers")
    parser.add_argument("--page", type=Path, metavar="MD", help="page to be written")
    parser.add_argument(
        "--only-page", action="store_true", help="ask nothing, write the page again"
    )
    parser.add_argument(
        "--timeout",
        type=positive_int,
        default=120,
        metavar="SECONDS",
        help="for one answer, past which it is a no (default: 120)",
    )
    return parser


def main(args):
    """Ask, keep and write; return 1 if a row of ours is not met, 0 otherwise."""
    for path, option in ((args.out, "--out"), (args.page, "--page")):
        if path is not None:
            check_can_write(path, option)
    if args.only_page and not (args.out and args.page):
        raise CommandError("--only-page needs --out, to read, and --page, to write.")
    new = [] if args.only_page else ask(args)
    answers = keyed([*(read(args.out) if args.out else {}).values(), *new])
    if args.out and new:
        write(args.out, answers)
    if args.page:
        args.page.write_text(page(answers), encoding="utf-8")
    ours = next(iter(PEERS))
    return int(any(a.estimator == ours and a.outcome == "no" for a in new))


def write(path, answers):
    """Write the answers, with what each row asks in words."""
    rows = pd.DataFrame(answers.values())
    rows.insert(1, "promise", [title(PROBES[name]) for name in rows["probe"]])
    rows.to_csv(path, index=False)


def read(path):
    """Return the answers of a file, if there is one; rows and searches of today."""
    if not path.exists():
        return {}
    try:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
        rows = rows.drop(columns="promise", errors="ignore")
        return keyed(Answer(**row) for row in rows.to_dict("records"))
    except (TypeError, ValueError) as error:
        raise CommandError(
            f"{path} should be a table of answers, but {error}: give another file."
        ) from error


def keyed(answers):
    """Return answers by row and search, in the order of the page; the last counts."""
    found = {(answer.probe, answer.estimator): answer for answer in answers}
    order = ((probe, peer) for probe in PROBES for peer in PEERS)
    return {key: found[key] for key in order if key in found}


def ask(args):
    """Return the answers of searches to rows, each from a process of its own."""
    peers = _installed(args.estimators)
    context = _context([peer.module for peer in peers])
    answers = []
    for peer in peers:
        for name in args.probes or PROBES:
            outcome = astuple(ask_in_child(context, name, peer.name, args.timeout))
            answers.append(Answer(name, peer.name, peer.version, *outcome))
            say(f"{peer.name} {name}: {' '.join(outcome)}")
    return answers


def _installed(names):
    if names is None:
        return [peer for peer in PEERS.values() if peer.is_installed]
    for name in names:
        if not PEERS[name].is_installed:
            raise CommandError(
                f"{name} is not installed here: run 'pip install "
                f"{PEERS[name].package}' or leave it out of --estimators."
            )
    return [PEERS[name] for name in names]


def _context(modules):
    """Return how processes start: forked from one that has imported all."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # One that cannot be imported would end the server; its rows will say why.
    importable = [
        module
        for module in modules
        if not subprocess.run(
            [sys.executable, "-c", f"import {module}"], capture_output=True
        ).returncode
    ]
    context.set_forkserver_preload([_answer.__module__, *importable])
    return context


def ask_in_child(context, probe, estimator, timeout):
    """Return an answer; a crash or a silence of more than `timeout` seconds is a no."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(probe, estimator, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(timeout):
            return Outcome("no", reason=f"no answer within {timeout:g} seconds")
        outcome = ours.recv()
        process.join(timeout=5)
        return outcome
    except EOFError:
        process.join()
        return Outcome("no", reason=f"the process died (exit code {process.exitcode})")
    finally:
        process.kill()
        process.join()
        ours.close()


def _answer(probe, estimator, connection):
    """Run in the child: what a search prints is not wanted."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    connection.send(run_probe(PROBES[probe], PEERS[estimator]))


if __name__ == "__main__":
    shared.run(build_parser(), main)
