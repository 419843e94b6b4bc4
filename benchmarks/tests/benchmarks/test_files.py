"""Files that cannot be written or read are refused before any work."""

import json
import os
import subprocess
import sys

import pytest

from made_runs import finals, write_table
from skrobustbo_benchmarks import _args, _run
from skrobustbo_benchmarks._args import CommandError, check_can_write
from skrobustbo_benchmarks._cli import main
from skrobustbo_benchmarks._pool import THREAD_VARIABLES as VARIABLES
from skrobustbo_benchmarks._record import TRACE, Table, VersionNotes, versions

RUN = "run --problems branin --policies sobol --seeds 0 --n-iter 4 --out"
#: Commands that end with a file to be written.
WRITERS = [
    RUN,
    "plot {table} --out",
]
#: Those that read a table from it first.
READERS = [RUN]


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Let no command begin: it would start processes."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    run = subprocess.run

    def refuse(program, *args, **options):
        assert program[0] != sys.executable, "the command went to work"
        return run(program, *args, **options)

    monkeypatch.setattr(subprocess, "run", refuse)


def error_of(words, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("words", WRITERS)
@pytest.mark.parametrize("name", ["", "{folder}"])
def test_folder_in_place_of_a_file(words, name, tmp_path, capsys):
    names = {"folder": tmp_path, "free": tmp_path / "free.csv", "table": "r.csv"}
    *before, option = words.format(**names).split()
    message = error_of([*before, option, name.format(**names)], capsys)
    assert f"{option} should be the name of a file. Got the folder" in message


@pytest.mark.parametrize("words", WRITERS)
def test_folder_that_does_not_exist(words, tmp_path, capsys):
    path, free = tmp_path / "no" / "x.csv", tmp_path / "free.csv"
    words = words.format(free=free, table="r.csv")
    message = error_of([*words.split(), str(path)], capsys)
    assert f"The folder of {path} does not exist: create it, or give" in message
    assert list(tmp_path.iterdir()) == []


def test_file_that_may_not_be_written(tmp_path, monkeypatch):
    check_can_write(tmp_path / "x.csv")
    monkeypatch.setattr(_args.os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(CommandError, match="fix its permissions"):
        check_can_write(tmp_path / "x.csv")


@pytest.mark.parametrize("words", READERS)
def test_table_that_is_no_text(words, tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xff\xfe\x00a,b\n")
    message = error_of([*words.split(), str(path)], capsys)
    assert f"{path} should hold text in UTF-8, but" in message
    assert path.read_bytes() == b"\xff\xfe\x00a,b\n"


def test_table_to_report_that_is_no_text(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_bytes((",".join(TRACE) + "\n").encode() + b"\xe9\n")
    assert "should hold text in UTF-8" in error_of(["report", str(path)], capsys)


@pytest.mark.parametrize("name", ["x.failures.csv", "x.versions.json"])
def test_what_stands_beside_a_table_may_be_no_text(name, tmp_path, capsys):
    (tmp_path / name).write_bytes(b"\xff\n")
    message = error_of([*RUN.split(), str(tmp_path / "x.csv")], capsys)
    assert f"{tmp_path / name} should hold text in UTF-8" in message


def test_notes_that_are_no_json(tmp_path, capsys):
    (tmp_path / "x.versions.json").write_text("{")
    message = error_of([*RUN.split(), str(tmp_path / "x.csv")], capsys)
    assert "x.versions.json should hold notes of versions as JSON" in message


def test_file_in_place_of_a_folder(tmp_path, capsys):
    (tmp_path / "file").touch()
    words = ["reproduce", "boho-fig1", "--out", str(tmp_path / "file" / "x")]
    assert "give another --out" in error_of(words, capsys)


class TestVersionNotes:
    @pytest.mark.parametrize(
        ("other", "words"),
        [
            ({}, ""),
            ({"optuna": "5"}, ""),
            ({"numpy": "1.0"}, "different versions of numpy"),
            ({"processor": "abacus"}, "different processors"),
            (
                {"machine": "a", "numpy": "1.0", "scipy": "1.0"},
                "different versions of numpy, scipy and different machines",
            ),
        ],
    )
    def test_what_differs_is_named(self, other, words, tmp_path):
        notes = VersionNotes(tmp_path / "v.json")
        notes.path.write_text(json.dumps([versions() | other]))
        assert notes.add() == words

    def test_the_command_says_so(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(_run, "execute", lambda *args, **options: 0)
        path = tmp_path / "r.csv"
        write_table(path, finals("random", [1.0]))
        note = versions() | {"processor": "abacus"}
        Table(path).versions.path.write_text(json.dumps([note]))
        main([*RUN.split(), str(path)])
        err = capsys.readouterr().err
        assert f"{path} mixes runs of different processors.\n" in err
