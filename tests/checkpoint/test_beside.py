"""Files at and beside the path of a checkpoint: ours are used, others are kept."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo.checkpoint import CheckpointError
from skrobustbo.checkpoint._lock import LOCK, NEW

X, y = np.zeros((30, 1)), np.arange(30) % 2


class Level(BaseEstimator):
    """Its scores depend on the data, so other data have other scores."""

    n_fits = 0
    kill_at = None

    def __init__(self, a=0.0):
        self.a = a

    def fit(self, X, y=None):
        Level.n_fits += 1
        if Level.n_fits == Level.kill_at:
            os.kill(os.getpid(), 9)
        self.level_ = float(np.mean(X))
        return self

    def score(self, X, y=None):
        return self.level_ - self.a**2


def make(path, n_iter=5):
    space = {"a": Real(-1, 1)}
    return RobustBayesSearchCV(
        Level(), space, n_iter=n_iter, cv=5, random_state=0, checkpoint=path
    )


@pytest.fixture(autouse=True)
def fresh():
    Level.n_fits = 0


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.ckpt"


KILLED = """
import sys
sys.path.insert(0, {folder!r})
import test_beside as t
t.Level.kill_at = {kill_at}
t.make({path!r}).fit(t.X - 1, t.y)
"""


def killed(path, kill_at=17):
    """Start a search at `path`, on its own data, and kill it."""
    here = Path(__file__)
    code = KILLED.format(folder=str(here.parent), path=str(path), kill_at=kill_at)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(here.parents[2])},
    )
    assert done.returncode == -9
    assert Path(f"{path}-wal").stat().st_size > 1000


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
@pytest.mark.parametrize(
    "left",
    [
        pytest.param([], marks=pytest.mark.slow),
        pytest.param([""], marks=pytest.mark.slow),
        ["-wal"],
        pytest.param(["-wal", "-shm"], marks=pytest.mark.slow),
    ],
)
def test_a_log_of_a_deleted_checkpoint_is_none_of_the_next_search(left, path):
    killed(path)
    path.unlink()
    if "-shm" in left:
        Path(f"{path}-shm").write_bytes(bytes(32768))
    if not left or left == [""]:
        Path(f"{path}-wal").unlink()
    if left == [""]:
        path.touch()  # an empty file in its place
    search = make(path).fit(X, y)
    assert Level.n_fits == 26
    assert search.best_score_ > -0.2
    Level.n_fits = 0
    np.testing.assert_array_equal(
        make(path).fit(X, y).cv_results_["mean_test_score"],
        search.cv_results_["mean_test_score"],
    )
    assert Level.n_fits == 1  # the refit


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
def test_a_log_of_another_checkpoint_is_never_believed(path, tmp_path):
    """Replacing a file that has a log by a copy must raise an error."""
    other = tmp_path / "other.ckpt"
    make(other, n_iter=2).fit(X, y)
    killed(path)
    shutil.copy(other, path)
    with pytest.raises(CheckpointError, match=r"damaged|another search"):
        make(path).fit(X, y)


@pytest.mark.parametrize("table", ["fold", "candidate", "split"])
def test_rows_of_another_checkpoint_are_refused(table, path, tmp_path):
    """They are valid, with their digests, except for the file that they come from."""
    other = tmp_path / "other.ckpt"
    make(path).fit(X, y)
    make(other).fit(X, y)
    with closing(sqlite3.connect(path)) as db:
        db.execute("ATTACH ? AS other", [str(other)])
        db.execute(f"DELETE FROM {table} WHERE number = 1")
        db.execute(f"INSERT INTO {table} SELECT * FROM other.{table} WHERE number = 1")
        db.commit()
    with pytest.raises(CheckpointError, match=f"row 1 of its table {table}"):
        make(path).fit(X, y)


# Files of other programs --------------------------------------------------------------


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


@pytest.mark.parametrize("ending", ["-wal", "-journal", "-shm", NEW, LOCK])
@pytest.mark.parametrize("begun", [False, True])
def test_files_of_others_are_left_alone(ending, begun, path):
    if begun and ending != NEW:  # which only prevents a new checkpoint
        make(path).fit(X, y)
    Path(f"{path}{ending}").write_text("a diary, by the look of it\n" * 99)
    before, Level.n_fits = contents(path.parent), 0
    with pytest.raises(CheckpointError, match=f"{ending}' is not ours.*move it"):
        make(path).fit(X, y)
    after = contents(path.parent)
    if ending != LOCK:  # ours, and signed
        after.pop(f"{path.name}{LOCK}"), before.pop(f"{path.name}{LOCK}", None)
    assert after == before
    assert Level.n_fits == 0


@pytest.mark.parametrize("ending", ["-wal", NEW, LOCK])
def test_links_and_folders_beside_are_left_alone(ending, path):
    target = path.with_name("target")
    target.write_text("precious")
    Path(f"{path}{ending}").symlink_to(target)
    with pytest.raises(CheckpointError, match="not ours"):
        make(path).fit(X, y)
    Path(f"{path}{ending}").unlink()
    Path(f"{path}{ending}").mkdir()
    with pytest.raises(CheckpointError, match="not ours"):
        make(path).fit(X, y)
    assert target.read_text() == "precious"


def test_nothing_is_put_beside_what_is_no_checkpoint(tmp_path):
    """Other programs use names such as `Pipfile.lock` and `c.new`."""
    for name in ("Pipfile", "Pipfile.lock", "c.new"):
        (tmp_path / name).write_text("of others")
    before = contents(tmp_path)
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        make(tmp_path / "Pipfile").fit(X, y)
    assert contents(tmp_path) == before
    make(tmp_path / "c").fit(X, y)
    assert before.items() < contents(tmp_path).items()


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices")
def test_nothing_is_put_beside_a_device():
    before = set(os.listdir("/dev"))
    with pytest.raises(CheckpointError, match="is not a file"):
        make("/dev/null").fit(X, y)
    assert set(os.listdir("/dev")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="no modes")
def test_a_checkpoint_is_its_owners(path):
    seen = set()

    class Looking(Level):
        def fit(self, X, y=None):
            files = path.parent.iterdir()
            seen.update((p.name, stat.S_IMODE(p.stat().st_mode)) for p in files)
            return super().fit(X, y)

    before = os.umask(0)
    try:
        make(path).set_params(estimator=Looking()).fit(X, y)
    finally:
        os.umask(before)
    names = [path.name, f"{path.name}-wal", f"{path.name}{LOCK}"]
    assert seen == {(name, 0o600) for name in names}
