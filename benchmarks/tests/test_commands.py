"""Every command that the documentation names runs, those of minutes in a quick form.

The commands of a page run in order in a copy of the project. One that no line of the
tables below makes quicker runs as it is, and fails where that takes too long.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pages import commands_of
from skrobustbo_benchmarks._spelling import method_list
from skrobustbo_benchmarks.problems import available

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="shells")]

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    ROOT / "benchmarks" / "problems.md",
    *sorted(
        page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts
    ),
]
#: Seconds that a command may take.
LIMIT = 300

BENCHMARKS = "python -m skrobustbo_benchmarks"
STUDIES = "python benchmarks/studies"
#: What is put for the documented values of a command's options; None takes an option
#: away. Of the beginnings that a command has, the longest counts.
QUICK: dict[str, dict[str, str | None]] = {
    "python tests/golden/golden.py": {"--cases": "problem/branin/0"},
    "python tests/checkpoint/kill_series.py": {"--n": "1"},
    "python tests/checkpoint/readers_beside.py": {"--fits": "500", "--kills": "1"},
    "python tests/optimizer/soak.py": {"--policy": "robust", "--steps": "30"},
    "python tests/search/killed_dask.py": {"--runs": "1"},
    "python tests/search/timeout_cost.py": {"--seconds": "0.5"},
    "python tests/attack/": {"--n": "4", "--jobs": "1"},
    f"{BENCHMARKS} run": {"--seeds": "0", "--n-iter": "3", "--jobs": None},
    f"{BENCHMARKS} reproduce": {"--quick": "", "--out": "made", "--jobs": "1"},
    f"{STUDIES}/batches.py": {
        "--problems": "branin",
        "--seeds": "0",
        "--n-iter": "6",
        "--batch-sizes": "1 2",
        "--timed-problems": "branin",
        "--timed-seeds": "0",
        "--fold-seconds": "0.01",
    },
    f"{STUDIES}/checkpoint_cost.py": {"--n-iter": "5", "--repeats": "1"},
    f"{STUDIES}/fold_dependence.py": {"--runs": "20"},
    f"{STUDIES}/honest_score.py": {
        "--settings": "tree-accuracy",
        "--policies": "random",
        "--searches": "2",
        "--nested": "1",
        "--n-iter": "4",
    },
    f"{STUDIES}/covering.py": {"--seeds": "1"},
    f"{STUDIES}/keep_default.py": {"--seeds": "1", "--kinds": "svc-quantiles"},
    f"{STUDIES}/joint.py": {"--seeds": "0", "--n-iter": "4", "--n-samples": "100"},
    f"{STUDIES}/many_choices.py": {"--choices": "200"},
    f"{STUDIES}/mnist.py": {
        "--seeds": "0",
        "--n-iter": "3",
        "--n-train": "200",
        "--data": "digits",
    },
    f"{STUDIES}/mnist_resource.py": {
        "--seeds": "0",
        "--n-iter": "4",
        "--data": "digits",
    },
    f"{STUDIES}/ordinary.py": {
        "--families": "sphere",
        "--d": "2",
        "--seeds": "1",
        "--n-iter": "10",
    },
    f"{STUDIES}/optuna_sampler.py": {
        "--problems": "branin",
        "--samplers": "RobustSampler",
        "--seeds": "1",
        "--n-trials": "6",
    },
    f"{STUDIES}/noise_stop.py": {
        "--tunings": "enet-diabetes",
        "--seeds": "0",
        "--n-iter": "8",
        "--cv": "2",
    },
    f"{STUDIES}/overhead.py": {"--n-iter": "4", "--repeats": "1"},
    f"{STUDIES}/priors.py": {"--seeds": "1", "--sizes": "0", "--functions": "bowl"},
    f"{STUDIES}/race_errors.py": {"--effects": "1", "--searches": "2"},
    f"{STUDIES}/racing.py run": {
        "--seeds": "0",
        "--splits": "3",
        "--tunings": "enet-diabetes",
    },
    f"{STUDIES}/removal.py": {
        "--seeds": "1",
        "--variants": "endgame",
        "--problems": "camel",
        "--traps": "1",
    },
    f"{STUDIES}/resources.py run": {
        "--seeds": "0",
        "--problems": "reversed-0",
        "--methods": "random,lowest",
    },
    f"{STUDIES}/schedules.py": {
        "--problems": "branin",
        "--seeds": "0",
        "--n-iter": "16",
    },
    f"{STUDIES}/time_limit.py": {"--problems": "branin", "--seeds": "0"},
    f"{STUDIES}/tunings.py": {
        "--tunings": "svr-friedman",
        "--references": "random",
        "--n-iter": "6",
        "--seeds": "1",
    },
    f"{STUDIES}/draw_sentences.py": {"--n": "3"},
    f"{STUDIES}/watch_cost.py": {"--n-iter": "20", "--pairs": "1"},
    f"{STUDIES}/workers.py": {"--n-iter": "20"},
    f"{BENCHMARKS} step-cost": {"--n": "20", "--dims": "2", "--repeats": "1"},
}
#: What runs instead of commands with these beginnings; nothing for an empty text.
INSTEAD = {
    # A test of its own makes a few of its runs.
    f"{STUDIES}/suggested.py": f"{STUDIES}/suggested.py --help",
    "python -m venv": "",
    # These are steps of .ci/run, which makes them beside the tests.
    **dict.fromkeys(("ruff", "mypy", "deptry", "sphinx-build"), ""),
    **dict.fromkeys(("python docs/check_links.py", "python docs/check_site.py"), ""),
    "python -m pytest": "",
    # There is no search to watch; the tests of checkpoints have some.
    "python -m skrobustbo watch": "python -m skrobustbo watch --help",
    ".ci/run": "bash -n .ci/run",
    ".ci/release": "bash -n .ci/release",
    ".ci/check_release.py": "python .ci/check_release.py",
    ".ci/conda/": "",  # a file that is named
    f"{STUDIES}/conformance.py": (
        f"{STUDIES}/conformance.py --only-page --out docs/conformance.csv "
        "--page docs/conformance.md"
    ),
    "python benchmarks/tests/benchmarks/reproduce_bands.py": (
        "python benchmarks/tests/benchmarks/reproduce_bands.py boho-trap"
    ),
    "python tests/mutate.py": "python tests/mutate.py --help",
}
if importlib.util.find_spec("optuna") is None:  # it compares with Optuna's samplers
    INSTEAD[f"{STUDIES}/optuna_sampler.py"] = ""
#: What stands for a name.
PLACES = {"NAME": "boho-fig1"}
PEERS = {
    "cmaes": "cmaes",
    "optuna": "optuna",
    "optuna-gp": "torch",
    "botorch": "botorch",
    "smac": "smac",
    "skopt": "skopt",
}


def words_of(command, variables):
    """Return the words of a command, as the shell makes them of the variables."""
    script = "\n".join(["set -f", *variables, rf"printf '%s\0' {command}"])
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    words = done.stdout.decode().split("\0")[:-1]
    words = [word.removeprefix(".venv/bin/") for word in words if word != "…"]
    if words and words[0] in ("python3", "pytest"):
        words[:1] = ["python", *(["-m", "pytest"] if words[0] == "pytest" else [])]
    return [PLACES.get(word, word) for word in words]


def changed(words, option, value):
    """Return a command with other values of an option."""
    if option in words:
        start = words.index(option)
        end = start + 1
        while end < len(words) and not words[end].startswith("-"):
            end += 1
        words = words[:start] + words[end:]
    return words if value is None else [*words, option, *value.split()]


def quick(words):
    """Return the quick form of a command, where it has one."""
    given = [word for word in words if re.match(r"[A-Z_]+=", word)]
    if given:
        rest = quick(words[len(given) :])
        return rest and given + rest  # none, if the command needs what is not here
    name = " ".join(words)
    for beginning, other in INSTEAD.items():
        if name.startswith(beginning):
            return other.split()
    beginnings = [beginning for beginning in QUICK if name.startswith(beginning)]
    for option, value in QUICK[max(beginnings, key=len)].items() if beginnings else ():
        words = changed(words, option, value)
    if name.startswith(f"{BENCHMARKS} run") and "--problems" in words:
        listed = method_list([words[words.index("--problems") + 1]])
        # Those that need data may not be there.
        at_hand = [name for name in listed if name.split("(")[0] in available()]
        if not at_hand:
            return []
        words = changed(words, "--problems", at_hand[0])
    words = [word for word in map(without_absent, words) if word]
    if "--policies" in words:  # each costs a process; the first two will do
        start = words.index("--policies") + 1
        end = next((i for i in range(start, len(words)) if words[i][0] == "-"), None)
        few = method_list(words[start:end])[:2]
        words = changed(words, "--policies", " ".join(few))
    peers = words.index("--peers") if "--peers" in words else len(words)
    left = words[peers + 1 : peers + 2]
    return words if left and left[0][0] != "-" else changed(words, "--peers", None)


def without_absent(word):
    """Return a word without the names of peers that are not installed."""
    names = re.split(r",(?![^()]*\))", word)
    return ",".join(
        name
        for name in names
        if (package := PEERS.get(name, PEERS.get(re.split(r"[-(]", name)[0]))) is None
        or importlib.util.find_spec(package)
    )


def program_of(words):
    """Return a command with the whole path of its program, None if it is not there."""
    if words[0] == "python":
        return [sys.executable, *words[1:]]
    beside = Path(sys.executable).with_name(words[0])
    program = str(beside) if beside.exists() else shutil.which(words[0])
    return program and [program, *words[1:]]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project, with a commit of its own to compare with."""
    copy = tmp_path_factory.mktemp("project") / "copy"
    ignored = [
        ".git",
        ".venv*",
        "__pycache__",
        "_build",
        "gallery",
        "generated",
        ".*_*",
    ]
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*ignored))
    if shutil.which("git"):
        git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
        for step in (["init", "-q"], ["add", "."], ["commit", "-qm", "A copy"]):
            subprocess.run([*git, *step], cwd=copy, check=True)
    return copy


def run(words, folder):
    """Run a command; return what it says if it fails, with its words."""
    variables = [word for word in words if re.match(r"[A-Z_]+=", word)]
    program = program_of(words[len(variables) :])
    environment = {
        **os.environ,
        **dict(word.split("=", 1) for word in variables),
        "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "benchmarks")]),
        "MPLBACKEND": "Agg",
    }
    try:
        done = subprocess.run(
            program,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return (
            f"{' '.join(words)}\n  takes over {LIMIT} s: give it a quick form in QUICK"
        )
    if done.returncode == 0:
        return None
    return f"{' '.join(words)}\n  {(done.stderr or done.stdout)[-1500:]}"


def wrong_extras(words):
    """Return the extras that a command would install and the package has not."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = re.findall(r"(?:^\.|skrobustbo)\[(.*?)\]", "\n".join(words), re.M)
    asked = {name for group in names for name in group.split(",")}
    return asked - set(declared["optional-dependencies"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_run(page, project):
    variables, failed, absent, ran = [], [], set(), set()
    for line in commands_of(page.read_text()):
        if re.match(r"\w+=\S*$|\w+=\".*\"$", line):
            variables.append(line)
            continue
        for command in re.split(r" && | \| ", line):
            words = words_of(command, variables)
            if "pip" in words[:3]:
                assert not wrong_extras(words), command
                continue
            words = quick(words)
            if not words or tuple(words) in ran:
                continue
            ran.add(tuple(words))
            if program_of([w for w in words if not re.match(r"[A-Z_]+=", w)]) is None:
                absent.add(words[0])
            elif said := run(words, project):
                failed.append(said)
    assert not failed, "\n\n".join(failed)
    if absent:
        pytest.skip(f"not installed: {', '.join(sorted(absent))}")


def test_commands_are_found_and_made_quick(monkeypatch):
    text = (
        'A `python docs/a.py --n 9`.\n```sh\nO="--n 3 --k"\npython \\\n  b.py $O\n```\n'
    )
    first, assignment, last = commands_of(text)
    assert words_of(first, []) == ["python", "docs/a.py", "--n", "9"]
    assert words_of(last, [assignment]) == ["python", "b.py", "--n", "3", "--k"]
    assert changed(["a", "--n", "3", "4", "--k"], "--n", "1") == [
        "a",
        "--k",
        "--n",
        "1",
    ]
    assert changed(["a", "--n", "3", "--k"], "--n", None) == ["a", "--k"]
    assert quick([".ci/run"]) == ["bash", "-n", ".ci/run"]
    monkeypatch.setitem(INSTEAD, "python needs_a_peer.py", "")
    assert quick(["A=1", "python", "needs_a_peer.py", "--n", "3"]) == []
    several = ["python", "a.py", "--policies", "a,b(c=1,d=2)", "e", "--n", "3"]
    assert quick(several)[2:] == ["--n", "3", "--policies", "a", "b(c=1,d=2)"]
    assert wrong_extras(["pip", "install", ".[plot,nothing]"]) == {"nothing"}
