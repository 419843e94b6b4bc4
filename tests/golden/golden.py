"""Golden traces: whether searches ask exactly the same points as before.

``python tests/golden/golden.py compare [REF]`` makes all traces with the present
package and with that of a commit (default: the last one) on this machine, and prints
the differences. ``python tests/golden/golden.py store`` updates the hashes in
``hashes.json`` for this machine and its libraries, and prints which changed. The tests
compare with these hashes if the machine is known, because bits depend on both.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Where the problems of some cases are, which need not be installed.
LABORATORY = HERE.parents[1] / "benchmarks"
HASHES = HERE / "hashes.json"
Traces = dict[str, list[str]]


def machine() -> str:
    """Return what the bits of a trace depend on besides the code."""
    import numpy
    import scipy
    import sklearn
    from threadpoolctl import threadpool_info

    cores = {i["architecture"] for i in threadpool_info() if "architecture" in i}
    if uses_avx512():
        cores.add("AVX-512")
    versions = [f"{m.__name__} {m.__version__}" for m in (numpy, scipy, sklearn)]
    return ", ".join([platform.system(), platform.machine(), *sorted(cores), *versions])


def uses_avx512() -> bool:
    """Return whether NumPy uses AVX-512, whose exp and log round differently."""
    try:
        from numpy._core._multiarray_umath import __cpu_features__ as features
    except ImportError:  # NumPy 1
        from numpy.core._multiarray_umath import __cpu_features__ as features
    # NumPy 2.4 renamed AVX512_SKX to X86_V4.
    return bool(features.get("X86_V4") or features.get("AVX512_SKX"))


def trace(name: str) -> list[str] | None:
    """Return the trace of a case, None if its data are unavailable."""
    from golden_cases import cases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cases()[name]()
        except FileNotFoundError:
            return None


def hashed(lines: list[str]) -> str:
    """Return the hash of a trace."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def traces(names: Iterable[str], jobs: int) -> Traces:
    """Return the traces of cases with available data, by name."""
    names = list(names)
    with ProcessPoolExecutor(jobs) as pool:
        found = dict(zip(names, pool.map(trace, names), strict=True))
    return {name: lines for name, lines in found.items() if lines is not None}


def traces_of(package: Path, names: list[str], jobs: int) -> Traces:
    """Return the traces made by the package in another folder."""
    folders = os.pathsep.join([str(package), str(LABORATORY)])
    environment = {**os.environ, "PYTHONPATH": folders}
    words = [sys.executable, __file__, "make", str(package), "--jobs", str(jobs)]
    words += ["--cases", *names]
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True)
    made: Traces = json.loads(done.stdout)
    return made


def make(package: str, names: list[str], jobs: int) -> int:
    """Print the traces made by the package in a folder, as JSON."""
    import skrobustbo

    if not Path(skrobustbo.__file__).is_relative_to(Path(package).resolve()):
        print(f"{skrobustbo.__file__} was imported, not {package}", file=sys.stderr)
        return 1
    print(json.dumps(traces(names, jobs)))
    return 0


def compare(ref: str, names: list[str], jobs: int) -> int:
    """Print the differences between traces and those of a commit; count them."""
    here = HERE.parents[1]
    with tempfile.TemporaryDirectory() as folder:
        words = ["git", "-C", str(here), "archive", ref, "skrobustbo"]
        archive = subprocess.run(words, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        before = traces_of(Path(folder), names, jobs)
    after = traces_of(here, names, jobs)
    changed = [name for name in names if before.get(name) != after.get(name)]
    for name in changed:
        show(name, before.get(name, []), after.get(name, []))
    absent = (
        f", {len(names) - len(after)} without data" if len(after) < len(names) else ""
    )
    print(f"{len(after)} traces compared with {ref}, {len(changed)} differ{absent}.")
    return len(changed)


def show(name: str, before: list[str], after: list[str]) -> None:
    """Print where two traces diverge."""
    for i, (old, new) in enumerate(zip(before, after, strict=False)):
        if old != new:
            print(f"{name}, line {i + 1} of {len(before)}:")
            print("\n".join(difflib.ndiff([old], [new])))
            return
    print(f"{name}: {len(before)} lines before, {len(after)} now")


def stored() -> dict[str, str]:
    """Return the hashes for this machine, empty for an unknown one."""
    return kept_hashes().get(machine(), {})


def kept_hashes() -> dict[str, dict[str, str]]:
    """Return the hashes of all machines."""
    kept: dict[str, dict[str, str]] = {}
    if HASHES.exists():
        kept = json.loads(HASHES.read_text())
    return kept


def store(names: list[str], jobs: int) -> int:
    """Update the hashes of this machine, and print which changed."""
    kept = kept_hashes()
    old = kept.get(machine(), {})
    new = {name: hashed(lines) for name, lines in traces(names, jobs).items()}
    for name in sorted(old.keys() | new.keys()):
        if name in names and old.get(name) != new.get(name):
            print(f"{name}: {old.get(name, 'none')} -> {new.get(name, 'none')}")
    kept[machine()] = {n: h for n, h in (old | new).items() if n in all_names()}
    HASHES.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    print(f"{len(new)} traces stored for {machine()}.")
    return 0


def all_names() -> list[str]:
    """Return the names of all cases."""
    from golden_cases import cases

    return list(cases())


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["compare", "store", "make"])
    parser.add_argument("words", nargs="*", help="the commit to compare with")
    parser.add_argument("--cases", nargs="*", help="their names (default: all)")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    names = args.cases or all_names()
    if args.command == "make":
        return make(*args.words, names, args.jobs)
    if args.command == "store":
        return store(names, args.jobs)
    return int(compare(*(args.words or ["HEAD"]), names, args.jobs) > 0)


if __name__ == "__main__":
    sys.path.append(str(LABORATORY))
    sys.exit(main())
