"""The recipe of docs/integrations.md: three processes on a study, one is killed."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

optuna = pytest.importorskip("optuna")
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals"),
    pytest.mark.filterwarnings("ignore"),  # Optuna's, of what is experimental there
]

GUIDE = Path(__file__).parents[2] / "docs" / "integrations.md"
N_TRIALS, SECONDS = 15, 120
STORAGES = {
    "sqlite": lambda: optuna.storages.RDBStorage("sqlite:///search.db"),
    "journal": lambda: optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend("search.journal")
    ),
}
#: Of the process that is killed: it is not done with its third trial for long.
STALLS = "    trial.number < 2 or __import__('time').sleep(600)\n"


def replaced(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


def script_of(kind):
    """Return the script of the guide, with fewer data and trials, quick heartbeats."""
    blocks = re.findall(r"^```py\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
    (text,) = [block for block in blocks if "N_TRIALS" in block]
    text = replaced(text, "heartbeat_interval=60", "heartbeat_interval=1")
    if kind == "journal":
        (journal,) = [block for block in blocks if "JournalStorage" in block]
        (line,) = re.findall(r"^storage = .*\n", text, re.M)
        text = replaced(text, line, journal)
    text = replaced(text, "N_TRIALS = 60", f"N_TRIALS = {N_TRIALS}")
    return replaced(text, "load_digits(", "load_digits(n_class=3, ")


def start(name, *words):
    with open(f"{name}.log", "a") as log:
        command = [sys.executable, "-W", "ignore", name, *words]
        return subprocess.Popen(command, stdout=log, stderr=log)


def wait_for(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("journal", marks=pytest.mark.slow)]
)
def test_the_others_go_on_if_a_process_is_killed(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    text = script_of(kind)
    Path("worker.py").write_text(text)
    Path("stalling.py").write_text(replaced(text, "    C =", f"{STALLS}    C ="))
    assert start("worker.py", "create").wait(SECONDS) == 0
    study = optuna.load_study(study_name="svm", storage=STORAGES[kind]())

    victim = start("stalling.py")
    processes = [victim]
    try:
        wait_for(lambda: len(study.trials) == 3)
        others = [start("worker.py"), start("worker.py")]
        processes += others
        wait_for(lambda: len(study.trials) > 5)
        victim.send_signal(signal.SIGKILL)
        assert victim.wait(SECONDS) == -signal.SIGKILL
        assert [other.wait(SECONDS) for other in others] == [0, 0]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    trials = study.trials
    assert [trial.number for trial in trials] == list(range(len(trials)))
    states = [trial.state.name for trial in trials]
    assert states.pop(2) in ("RUNNING", "FAIL")
    assert set(states) == {"COMPLETE"}
    assert N_TRIALS <= len(states) <= N_TRIALS + 1

    # A process that comes later goes on with the same study.
    time.sleep(3.5 if kind == "sqlite" else 0)  # longer than a heartbeat counts
    more = f"= {N_TRIALS + 3}"
    Path("worker.py").write_text(replaced(text, f"= {N_TRIALS}", more))
    assert start("worker.py").wait(SECONDS) == 0
    trials = study.trials
    lost = trials.pop(2)
    # Without heartbeats, nobody knows that the process is dead.
    assert lost.state.name == {"sqlite": "FAIL", "journal": "RUNNING"}[kind]
    assert [trial.state.name for trial in trials] == ["COMPLETE"] * (N_TRIALS + 3)
    points = {tuple(trial.params.values()) for trial in trials}
    assert len(points) == N_TRIALS + 3
    if kind == "journal":  # it can be given up by hand
        study.tell(lost.number, state=optuna.trial.TrialState.FAIL)
        assert study.trials[2].state.name == "FAIL"
