"""`python -m skrobustbo watch`: searches that run, have ended, or are forged."""

import io
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from skrobustbo import load_checkpoint
from skrobustbo.checkpoint._lock import is_locked, locked
from skrobustbo.watching import _command, main
from skrobustbo.watching._views import page, screen, text_curve

sys.path.insert(0, str(Path(__file__).parent))

from test_hostile import change, edited
from test_loading import X, make, y

HERE = Path(__file__)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(HERE.parents[2])}
WATCH = [sys.executable, "-W", "error", "-m", "skrobustbo", "watch"]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "search.ckpt"
    make(path).fit(X, y)
    return path


@pytest.fixture
def written(original, tmp_path):
    return Path(shutil.copy(original, tmp_path / "search.ckpt"))


def begin(words, stdout=subprocess.PIPE):
    pipes = {"stdout": stdout, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, env=ENVIRONMENT, **pipes)


def wait_for(path, seconds=300):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"no {path}"
        time.sleep(0.02)


class Terminal(io.StringIO):
    encoding = "ascii"

    def isatty(self):
        return True


# A running search ---------------------------------------------------------------------


SEARCH = """
import sys, time, warnings
from pathlib import Path
sys.path[:0] = {folders!r}
import test_loading as t
folder = Path({folder!r})

def pause(trial):
    while not ((folder / "page.html").exists() and (folder / "said").stat().st_size):
        time.sleep(0.01)  # until both look
    time.sleep(0.1)

warnings.simplefilter("ignore")
settings = dict(n_iter=12, policy="map-gp-ucb", on_trial=pause)
search = t.make(folder / "search.ckpt", t.Known(fails=True), **settings).fit(t.X, t.y)
print(len(search.cv_results_["params"]))
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A search in its own process, read by two others until its end."""
    folder = tmp_path_factory.mktemp("watched")
    path, html = folder / "search.ckpt", folder / "page.html"
    folders = [str(HERE.parent), str(HERE.parents[1] / "helpers")]
    code = SEARCH.format(folders=folders, folder=str(folder))
    search = begin([sys.executable, "-c", code])
    wait_for(path)
    looks = ["--interval", "0.02"]
    with open(folder / "said", "w") as file:
        watchers = [
            begin([*WATCH, str(path), *looks], stdout=file),
            begin([*WATCH, str(path), *looks, "--html", str(html)]),
        ]
        said = [process.communicate(timeout=600) for process in (search, *watchers)]
    said[1] = (folder / "said").read_text(), said[1][1]
    codes = [process.returncode for process in (search, *watchers)]
    return folder, said, codes


@pytest.mark.slow
def test_neither_side_hears_of_the_other(watched):
    folder, said, codes = watched
    assert codes == [0, 0, 0]
    assert [errors for _, errors in said] == ["", "", ""]
    assert said[0][0] == "12\n"
    names = ["page.html", "said", "search.ckpt", "search.ckpt.skrobustbo-lock"]
    assert sorted(p.name for p in folder.iterdir()) == names


def test_without_a_terminal_candidates_are_told_line_by_line(watched):
    _, said, _ = watched
    lines = said[1][0].splitlines()
    told = [line for line in lines if line.startswith("candidate ") and ":" in line]
    assert [line.split(":")[0] for line in told] == [
        f"candidate {i}" for i in range(12)
    ]
    assert any(": failed  a=" in line for line in told)
    assert "Finished: all candidates are done; the last call took " in said[1][0]
    assert "12 of 12 candidates, 36 folds" in said[1][0]
    assert "x RuntimeError: too large" in said[1][0]
    assert "\x1b" not in said[1][0]


def test_the_last_page_is_not_loaded_again(watched):
    folder, said, _ = watched
    text = (folder / "page.html").read_text()
    tree = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert tree.find("head/meta[@http-equiv]") is None
    assert "Finished: all candidates are done; the last call took " in text
    assert len(tree.findall("body/table/tr")) == 7
    assert tree.find("body/div/{http://www.w3.org/2000/svg}svg") is not None
    assert said[2][0] == f"The search is on the page {folder / 'page.html'}\n"


def test_a_terminal_shows_it_in_place(tmp_path, monkeypatch):
    """A running search is watched until Ctrl-C."""
    path, shown = tmp_path / "search.ckpt", []
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "14")

    def interrupt(seconds):
        raise KeyboardInterrupt

    def look(trial):
        clock = SimpleNamespace(sleep=interrupt, perf_counter=time.perf_counter)
        with monkeypatch.context() as patch:
            patch.setattr(_command, "time", clock)
            patch.setattr(sys, "stdout", terminal := Terminal())
            assert main(["watch", str(path)]) == 0
        shown.append(terminal.getvalue())

    make(path, on_trial=look).fit(X, y)
    for i, text in enumerate(shown, 1):
        assert text.startswith(
            "\x1b[H\x1b[JSearch of Known, policy robust\nRunning for"
        )
        assert f"{i} of 8 candidates, {3 * i} folds" in text
        lines = text.splitlines()
        assert len(lines) <= 13
        assert max(map(len, lines[1:])) <= 60


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_it_cleanly(written):
    change(written, "run", 1, edited(ended=None, reason=None, machine=""))
    watcher = begin([*WATCH, str(written), "--interval", "600"])
    assert watcher.stdout.readline().startswith("candidate 0:")
    watcher.send_signal(signal.SIGINT)
    _, errors = watcher.communicate(timeout=300)
    assert (watcher.returncode, errors) == (0, "")


def test_pauses_grow_with_what_reading_takes(written, monkeypatch):
    change(written, "run", 1, edited(ended=None, reason=None, machine=""))
    pauses, read = [], _command.load_checkpoint

    def slowly(path):
        time.sleep(0.05)
        return read(path)

    def pause(seconds):
        pauses.append(seconds)
        raise KeyboardInterrupt

    clock = SimpleNamespace(sleep=pause, perf_counter=time.perf_counter)
    monkeypatch.setattr(_command, "load_checkpoint", slowly)
    monkeypatch.setattr(_command, "time", clock)
    main(["watch", str(written), "--interval", "100"])
    main(["watch", str(written), "--interval", "0.01"])
    assert pauses[0] == 100
    assert pauses[1] > 50 * 0.05


# Finished searches --------------------------------------------------------------------


def test_once(written, capsys):
    assert main(["watch", str(written), "--once"]) == 0
    said = capsys.readouterr().out
    best = load_checkpoint(written).best
    assert "Finished: all candidates are done; the last call took " in said
    assert f"Best      score {best['score']:.5g}, candidate {best['number']}\n" in said
    assert "the best so far (#)" in said
    assert "fit time  parameters" in said


def test_a_search_whose_process_is_gone(written, capsys):
    """Its number may belong to another process now, as after a container restart."""
    change(written, "run", 1, edited(ended=None, reason=None))
    Path(f"{written}.skrobustbo-lock").write_text(f"skrobustbo {os.getpid()}\n")
    for words in ([], ["--once"]):
        assert main(["watch", str(written), *words]) == 1
        assert "Its process has ended: repeat the call" in capsys.readouterr().out
    change(written, "run", 1, edited(ended=2e9, reason="error"))
    assert main(["watch", str(written)]) == 1
    assert "Ended with an error: repeat the call" in capsys.readouterr().out


def test_a_search_that_is_taken_up_again_is_running(written):
    """The lock is held before anything has been written."""
    with locked(str(written)):
        assert load_checkpoint(written).status == "running"
    assert load_checkpoint(written).status == "finished"
    change(written, "run", 1, edited(ended=None, reason=None, machine="far"))
    assert load_checkpoint(written).status is None
    with locked(str(written)):
        assert load_checkpoint(written).status == "running"


def test_looking_keeps_no_search_from_beginning(written):
    """A reader shares the lock for a moment, and a search waits for that."""
    lock, asked = f"{written}.skrobustbo-lock", threading.Event()
    Path(lock).touch()

    def look():
        while not asked.is_set():
            assert is_locked(str(written)) in (False, True)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    for _ in range(20):
        with locked(str(written)):
            assert is_locked(str(written))
    asked.set()
    for looker in lookers:
        looker.join()
    assert not is_locked(str(written))


# Searches that have not started -------------------------------------------------------


@pytest.mark.parametrize("is_empty", [False, True])
@pytest.mark.parametrize("html", [[], ["--html", "page.html"]], ids=["", "page"])
def test_a_search_that_has_not_begun(is_empty, html, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if is_empty:
        Path("search.ckpt").touch()
    assert main(["watch", "search.ckpt", "--once", *html]) == 3
    assert capsys.readouterr().out == "The search of 'search.ckpt' has not begun\n"
    pauses = []

    def begin_later(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            make("search.ckpt").fit(X, y)

    clock = SimpleNamespace(sleep=begin_later, perf_counter=time.perf_counter)
    monkeypatch.setattr(_command, "time", clock)
    assert main(["watch", "search.ckpt", *html]) == 0
    said = capsys.readouterr().out
    assert said.count("has not begun: waiting for it") == 1
    assert pauses == [2.0] * 3
    shown = Path("page.html").read_text() if html else said
    assert "Finished: all candidates are done" in shown


# Contents -----------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [math.nan, math.inf, 1e308, 0.0, 5e-324])
@pytest.mark.parametrize("scores", [
    [math.nan] * 8,
    [1.7e308, -1.7e308] * 4,
    [5e-324, 0.0] * 4,
    [1e-310, 3e-310] * 4,
    [1e308] * 8,
    [-0.0] * 8,
    [1e16, 1e16 + 2] * 4,
    [math.nan, 1e308, -5e-324, 3.0] * 2,
], ids=str)  # fmt: skip
def test_numbers_of_any_size_are_shown(seconds, scores, written):
    found = load_checkpoint(written)
    trials = [
        {**trial, "score": score, "fit_time": seconds, "model_mean": score,
         "status": "complete" if math.isfinite(score) else "failed"}
        for trial, score in zip(found.trials, scores, strict=True)
    ]  # fmt: skip
    odd = replace(found, trials=trials, running_time=seconds)
    with np.errstate(all="raise", under="ignore"):
        text, html = screen(odd, 80), page(odd, 1.0, last=True)
    assert len(text.splitlines()) >= 10
    ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>\n"))
    assert not re.search(r'"-?(nan|inf|\d{5})', html)


CHOICES = [
    None,
    {0: 1, 1: 2.5},
    {"C": 1.0},
    {},
    {"a": ["mueller"] * 9},
    dict.fromkeys("abcdefghijk", 1),
]


def test_a_dict_among_the_choices_is_shown_as_it_is(tmp_path, capsys):
    path = tmp_path / "search.ckpt"
    space = {"a": [-0.5, 0.5], "b": CHOICES}
    make(path, space=space, n_iter=12, n_initial_points=12).fit(X, y)
    shown = load_checkpoint(path).space[0]["b"]
    assert shown[:4] == [None, "{0: 1, 1: 2.5}", "{'C': 1.0}", "{}"]
    assert shown[4].startswith("dict of 1 items, digest")
    assert shown[5].startswith("dict of 11 items, digest")
    main(["watch", str(path), "--once"])
    assert "b={0: 1, 1: 2.5}" in capsys.readouterr().out


@pytest.mark.parametrize("stdout", [None, "closed"])
def test_without_an_output_there_is_nothing_to_say(stdout, written, monkeypatch):
    place = None if stdout is None else Terminal()
    if place is not None:
        place.close()
    monkeypatch.setattr(sys, "stdout", place)
    page = written.parent / "page.html"
    for words in ([], ["--once"], ["--html", str(page)]):
        assert main(["watch", str(written), *words]) == 0
    assert page.exists()


@pytest.mark.parametrize("words", [[], ["--once"]])
def test_a_reader_that_goes_away(words, written):
    reading, writing = os.pipe()
    os.close(reading)
    watcher = begin([*WATCH, str(written), *words], stdout=writing)
    os.close(writing)
    _, errors = watcher.communicate(timeout=120)
    assert (watcher.returncode, errors) == (0, "")


# The page -----------------------------------------------------------------------------


def test_a_page_is_written_past_whatever_is_beside_it(written, monkeypatch):
    folder = written.parent
    precious, link = folder / "precious", folder / "page.html.new"
    precious.write_text("mine")
    link.symlink_to(precious)
    (folder / "other.html.new").write_text("mine, too")
    for name in ("page.html", "other.html"):
        assert (
            main(["watch", str(written), "--once", "--html", str(folder / name)]) == 0
        )
        assert (folder / name).read_text().startswith("<!DOCTYPE html>")
        assert not (folder / name).is_symlink()
    assert (precious.read_text(), link.is_symlink()) == ("mine", True)
    assert (folder / "other.html.new").read_text() == "mine, too"
    before = sorted(p.name for p in folder.iterdir())
    monkeypatch.setattr(_command.secrets, "token_hex", lambda n: "taken")
    (folder / "page.html.taken").symlink_to(precious)
    assert (
        main(["watch", str(written), "--once", "--html", str(folder / "page.html")])
        == 2
    )
    assert precious.read_text() == "mine"
    (folder / "page.html.taken").unlink()
    monkeypatch.setattr(_command.os, "replace", lambda *names: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        _command.write(str(folder / "page.html"), "half")
    assert sorted(p.name for p in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["no/s.ckpt"], "error: There is no checkpoint at '.*s.ckpt': check the path"),
        ([str(HERE)], r"error: The file '.*' is not a checkpoint: give another path"),
        (["."], "error: The checkpoint '.*' is not a file"),
        (["{path}", "--html", "{path}"], "error: The file .* not a page: give another"),
        (["{path}", "--html", "no/page.html"], "error: .*No such file"),
        (["{path}", "--html", "."], "error: The file .* not a page: give another"),
        (["{path}", "--html", "pipe"], "error: The file .* not a page: give another"),
        (["{path}", "--html", "link"], "error: The file .* not a page: give another"),
    ],
)
def test_errors_are_one_sentence(words, match, written, capsys, monkeypatch):
    monkeypatch.chdir(written.parent)
    os.mkfifo("pipe")
    os.symlink("nowhere", "link")
    before = written.read_bytes()
    assert main(["watch", *[word.format(path=written) for word in words]]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert re.match(match, said.err)
    assert written.read_bytes() == before


@pytest.mark.parametrize("interval", ["0", "-1", "nan", "inf", "soon", "1e9"])
def test_intervals_are_checked(interval, capsys):
    with pytest.raises(SystemExit):
        main(["watch", "search.ckpt", f"--interval={interval}"])
    assert "must be a number of seconds above 0" in capsys.readouterr().err


def test_a_command_is_needed(capsys):
    with pytest.raises(SystemExit):
        main([])
    assert "COMMAND" in capsys.readouterr().err


# Texts, pages and curves -------------------------------------------------------------


def test_a_page_is_loaded_again_until_the_last(written):
    found = load_checkpoint(written)
    for seconds, shown in ((0.2, "1"), (7.4, "7")):
        text = page(found, seconds, last=False).removeprefix("<!DOCTYPE html>\n")
        (meta,) = ElementTree.fromstring(text).findall("head/meta[@http-equiv]")
        assert meta.attrib == {"http-equiv": "refresh", "content": shown}


def test_texts_of_a_file_do_no_harm(written):
    evil = "\x1b[2J<script>alert(1)</script>&\u202e"
    found = load_checkpoint(written)
    trial = {**found.trials[0], "params": {evil: evil}, "failure": evil, "number": 0}
    failed = {**trial, "status": "failed", "score": float("nan")}
    lies = replace(found, trials=[trial, failed], estimator=evil, policy=evil,
                   metric=evil, stop_reason=evil)  # fmt: skip
    text = screen(lies, 500)
    assert "\x1b" not in text
    assert "\u202e" not in text
    html = page(lies, 2, last=True)
    assert "<script" not in html
    assert "\x1b" not in html
    ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>\n"))


def test_nothing_to_show_yet(written):
    found = replace(load_checkpoint(written), trials=[], n_folds=0)
    assert "no candidate has a score yet" in screen(found, 80)
    assert "No candidate has a score yet" in page(found, 2, last=False)
    failed = [{**t, "status": "failed", "score": float("nan"), "failure": "E: no"}
              for t in load_checkpoint(written).trials]  # fmt: skip
    found = replace(found, trials=failed)
    assert "8 x E: no" in screen(found, 80)
    assert "best so far" not in screen(found, 80)
    assert "8 x E: no" in page(found, 2, last=False)


def test_the_curve_is_as_wide_as_it_may_be():
    scores = [i / 1000 for i in range(1000)]
    lines = text_curve(scores, 40)
    assert max(map(len, lines)) == 10 + 40 + 1
    columns = [[line[10 + k : 11 + k] for line in lines[:-1]] for k in range(40)]
    assert all(column.count("#") == 1 for column in columns)
    assert lines[0].endswith("#")
    assert [line[:8].strip() for line in lines] == ["0.999", *[""] * 4, "0", ""]
    short = text_curve([1.0, 2.0], 40)
    assert max(map(len, short)) == 10 + 2 + 1


def test_no_label_of_the_curve_is_beyond_the_scores():
    lines = text_curve([0.96, 0.96], 40)
    assert [line[:8].strip() for line in lines if line[:8].strip()] == ["0.96"]


@pytest.mark.slow
def test_a_browser_shows_the_page_and_loads_it_again(written, tmp_path):
    browsers = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs Chromium")
    place = tmp_path / "page.html"
    loaded = load_checkpoint(written)
    running = replace(loaded, status="running", stop_reason=None)
    place.write_text(page(running, 1.0, last=False), encoding="utf-8")
    with browsers.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        tab, said = browser.new_page(viewport={"width": 400, "height": 800}), []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.goto(place.as_uri())
        assert "Running for " in tab.inner_text("body")
        assert tab.locator("svg").bounding_box()["width"] > 100
        assert tab.locator("table tr").count() == 7
        place.write_text(page(loaded, 1.0, last=True), encoding="utf-8")
        tab.wait_for_selector("text=Finished: all candidates are done")
        browser.close()
    assert said == []
