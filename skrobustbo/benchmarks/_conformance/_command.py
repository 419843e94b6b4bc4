"""The sub-command: asks what is installed, keeps the answers, writes the page."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import astuple
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path

from skrobustbo.benchmarks._args import CommandError, Subparsers, positive_int
from skrobustbo.benchmarks._conformance._outcome import Outcome, run_probe
from skrobustbo.benchmarks._conformance._page import page
from skrobustbo.benchmarks._conformance._peers import PEERS, Peer
from skrobustbo.benchmarks._conformance._probes import PROBES
from skrobustbo.benchmarks._conformance._table import Answer, keyed, read, write
from skrobustbo.benchmarks._files import check_can_write
from skrobustbo.benchmarks._pool import say
from skrobustbo.benchmarks._threads import is_one_thread, rerun_with_one_thread


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "conformance",
        help="ask the installed searches what scikit-learn's promise",
        description="Run small programs on the searches that are installed, each in a "
        "process of its own, and keep the answers in a csv file. Answers of searches "
        "that are not installed here stay. The exit status is 1 if RobustBayesSearchCV "
        "does not meet a row.",
    )
    for name, of, known in (("estimators", "searches", PEERS), ("probes", "", PROBES)):
        parser.add_argument(
            f"--{name}",
            nargs="+",
            metavar="NAME",
            choices=list(known),
            help=f"default: all {f'{of} that are installed' if of else ''}".strip(),
        )
    parser.add_argument("--out", type=Path, metavar="CSV", help="file of the answers")
    parser.add_argument("--page", type=Path, metavar="MD", help="page to be written")
    parser.add_argument(
        "--only-page", action="store_true", help="ask nothing, write the page anew"
    )
    parser.add_argument(
        "--timeout",
        type=positive_int,
        default=120,
        metavar="SECONDS",
        help="for one answer, past which it is a no (default: 120)",
    )
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Ask, keep and write; return 1 if a row of ours is not met, 0 otherwise."""
    for path, option in ((args.out, "--out"), (args.page, "--page")):
        if path is not None:
            check_can_write(path, option)
    if args.only_page:
        return _only_page(args)
    if not is_one_thread():
        return rerun_with_one_thread(args.argv)
    answers = read(args.out) if args.out else {}
    probes = args.probes or list(PROBES)
    new = ask(_installed(args.estimators), probes, args.timeout)
    answers = keyed([*answers.values(), *new])
    if args.out:
        write(args.out, answers)
    if args.page:
        args.page.write_text(page(answers), encoding="utf-8")
    ours = next(iter(PEERS))
    return int(any(a.estimator == ours and a.outcome == "no" for a in new))


def _only_page(args: argparse.Namespace) -> int:
    if not (args.out and args.page):
        raise CommandError("--only-page needs --out, to read, and --page, to write.")
    args.page.write_text(page(read(args.out)), encoding="utf-8")
    return 0


def _installed(names: Sequence[str] | None) -> list[Peer]:
    if names is None:
        return [peer for peer in PEERS.values() if peer.is_installed]
    for name in names:
        if not PEERS[name].is_installed:
            raise CommandError(
                f"{name} is not installed here: run 'pip install "
                f"{PEERS[name].package}' or leave it out of --estimators."
            )
    return [PEERS[name] for name in names]


def ask(peers: Sequence[Peer], probes: Sequence[str], timeout: float) -> list[Answer]:
    """Return the answers of searches to probes, each from a process of its own."""
    context = _context([peer.module for peer in peers])
    answers = []
    for peer in peers:
        for name in probes:
            outcome = ask_in_child(context, name, peer.name, timeout)
            answers.append(Answer(name, peer.name, peer.version, *astuple(outcome)))
            say(f"{peer.name} {name}: {' '.join(astuple(outcome))}")
    return answers


def _context(modules: Sequence[str]) -> BaseContext:
    """Return how processes start: forked from one that has imported all."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # One that cannot be imported would end the server; its probes will say why.
    importable = [
        module
        for module in modules
        if not subprocess.run(
            [sys.executable, "-c", f"import {module}"], capture_output=True
        ).returncode
    ]
    context.set_forkserver_preload([_answer.__module__, *importable])
    return context


def ask_in_child(
    context: BaseContext, probe: str, estimator: str, timeout: float
) -> Outcome:
    """Return an answer; a crash or a silence of more than `timeout` seconds is a no."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(probe, estimator, theirs))  # type: ignore[attr-defined]
    process.start()
    theirs.close()
    try:
        if not ours.poll(timeout):
            return Outcome("no", reason=f"no answer within {timeout:g} seconds")
        outcome: Outcome = ours.recv()
        process.join(timeout=5)
        return outcome
    except EOFError:
        process.join()
        return Outcome("no", reason=f"the process died (exit code {process.exitcode})")
    finally:
        process.kill()
        process.join()
        ours.close()


def _answer(probe: str, estimator: str, connection: Connection) -> None:
    """Run in the child: what a search prints is not wanted."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    connection.send(run_probe(PROBES[probe], PEERS[estimator]))
