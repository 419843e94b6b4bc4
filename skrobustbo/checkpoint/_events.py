"""The events of a search, and the rows of JSON that they are in a file.

A search has started, with its splits; a candidate is asked; a fold is measured; a
candidate is over without all of its folds; a call of `fit` has begun or ended. Of
several events about the same fold, or the same call, the last one counts. Each kind has
one writer and one reader.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import platform
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from skrobustbo._forms import Count, has_form
from skrobustbo._trials import COLUMNS, SINGLE, FoldId, FoldResult, Trial

Split = tuple[NDArray[Any], NDArray[Any]]
Event = TypeVar("Event")

#: Characters kept of the traceback of a failed fit, its end.
MAX_ERROR = 100_000
#: Characters that a candidate, or a fold without predictions, may take; and a fold with
#: them, which is nearly what SQLite takes.
MAX_BODY, MAX_PREDICTED = 4_000_000, 999_000_000


class Malformed(ValueError):
    """What a row holds is not what it should."""


def require(condition: bool, what: str) -> None:
    """Raise unless a condition holds; `what` names the part that is wrong."""
    if not condition:
        raise Malformed(what)


def dumps(value: Any) -> str:
    """Return JSON text, the same for the same value; numbers exactly."""
    return json.dumps(value, default=_number, separators=(",", ":"))


def _number(value: Any) -> Any:
    """Return a number of another type than those of Python as one of these."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, bool | int) else float(value)


def write(event: Any) -> str:
    """Return the row of an event that consists of JSON types."""
    return dumps(vars(event))


def loads(body: str) -> dict[str, Any]:
    """Return the JSON object of a text; Malformed if it is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed("not JSON") from error
    require(isinstance(value, dict), "not a JSON object")
    return value


def made(kind: Callable[..., Event], record: Any, what: str) -> Event:
    """Return a record as the dataclass, or the dict, of its parts.

    Malformed unless they are those of the annotations, in names and in forms.
    """
    check_parts(record, _forms_of(kind), what)
    return kind(**record)


def check_parts(record: Any, forms: Mapping[str, Any], what: str) -> None:
    """Raise Malformed unless a record has parts of these names and forms."""
    whole = isinstance(record, dict) and record.keys() == forms.keys()
    require(whole, f"the parts of {what}")
    wrong = [name for name, form in forms.items() if not has_form(record[name], form)]
    require(not wrong, f"{', '.join(wrong)} of {what}")


@cache
def _forms_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


# The start of a search ----------------------------------------------------------------

#: What stands for a choice that is described rather than written.
TEXT = "$text"
_SOME = Annotated[Count, lambda count: count > 0]


class Outline(TypedDict):
    """What readers are shown of a search.

    The names of the estimator and of the policy, the metric searched for (None if that
    is the only one), and for each branch of the space its parameters: None for numbers,
    otherwise the choices.
    """

    estimator: str
    policy: str
    metric: str | None
    branches: Annotated[list[Annotated[dict[str, list[Any] | None], bool]], bool]


@dataclass(frozen=True)
class Started:
    """What a search began with.

    Attributes
    ----------
    search : dict of dict of str
        Descriptions of all that is compared.
    seed : int
        What everything is drawn with.
    horizon : int
        The number of candidates planned by the first call.
    outline : dict
        What readers are shown; nothing without a file.
    versions : dict of str to str
        Those of the packages that began it; nothing without a file.
    n_splits, n_samples : int
        Folds of a candidate, and rows of the data.
    """

    search: dict[str, dict[str, str]] = field(default_factory=dict)
    seed: Annotated[int, lambda seed: 0 <= seed < 2**32] = 0
    horizon: _SOME = 1
    outline: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    n_splits: _SOME = 0
    n_samples: _SOME = 0

    @property
    def settings(self) -> dict[str, str]:
        """Descriptions of the settings that are compared."""
        return self.search.get("settings", {})

    @property
    def form(self) -> FoldForm:
        """What its folds have in common, as far as that is known."""
        predicts = "honest_score" in self.settings
        return FoldForm(None, train=None, n_classes=0 if predicts else None)


def read_started(body: str) -> Started:
    """Return the start in a row; Malformed if it is none."""
    started = made(Started, loads(body), "its header")
    made(Outline, started.outline, "its outline")
    return started


# Folds --------------------------------------------------------------------------------

#: Which fold it is, and its result; None if that could not be written.
Measured = tuple[FoldId, FoldResult | None]
_KEY = ("candidate", "split")


class FoldForm:
    """What the folds of a search have in common.

    The writer checks with it what it writes, so that a file never has a row that is
    refused later.

    Parameters
    ----------
    metrics : list of str or None
        Names of several metrics, empty for a single one; None if only what a callable
        scorer returns will tell.
    train : bool or None
        Whether there are training scores; None if the first fold will tell.
    n_classes : int or None, default=None
        Number of classes where folds have predictions, 0 for a regressor; None where
        they have none.
    n_rows : list of int, default=None
        Number of test rows of each split. None: predictions are not compared with it.
    """

    def __init__(
        self,
        metrics: Collection[str] | None,
        *,
        train: bool | None,
        n_classes: int | None = None,
        n_rows: Sequence[int] | None = None,
    ) -> None:
        self._names = None if metrics is None else set(metrics) or {SINGLE}
        # What fails where names are not known has a single number, of all names.
        self._may_lack_names = metrics is None
        self._train, self._n_classes, self._n_rows = train, n_classes, n_rows
        self.longest = MAX_BODY if n_classes is None else MAX_PREDICTED

    def check(self, event: Measured) -> None:
        """Raise Malformed unless a fold looks as it should, and like those before."""
        (_, split), fold = event
        if fold is None:
            return
        has_train, names = fold.train_scores is not None, self._names
        require(self._train in (None, has_train), "training scores")
        for scores in (fold.test_scores, fold.train_scores):
            if scores is None or (self._may_lack_names and scores.keys() == {SINGLE}):
                continue
            names = names or set(scores)
            require(scores.keys() == names, "metrics")
        if fold.predictions is not None:
            self._check_predictions(fold.predictions, split)
        self._names, self._train = names, has_train

    def _check_predictions(self, values: NDArray[Any], split: int) -> None:
        require(self._n_classes is not None, "predictions")
        require(values.ndim in (1, 2) and values.size > 0, "predictions")
        require(bool(np.isfinite(values).all()), "predictions")
        if self._n_rows is None:
            return
        require(len(values) == self._n_rows[split], "predictions")
        if values.dtype.kind == "u":
            require(bool((values < (self._n_classes or 0)).all()), "predictions")


def write_fold(event: Measured) -> str:
    """Return the row of a fold."""
    key, fold = event
    record: dict[str, Any] = dict(zip(_KEY, key, strict=True))
    if fold is not None:
        error, kept = fold.fit_error, fold.predictions
        record |= vars(fold)
        record["fit_error"] = None if error is None else str(error)[-MAX_ERROR:]
        record["predictions"] = None if kept is None else _write_predictions(kept)
    return dumps(record)


def read_fold(body: str) -> Measured:
    """Return the fold that `write_fold` wrote."""
    record = loads(body)
    candidate, split = (record.pop(name, None) for name in _KEY)
    require(has_form(candidate, Count) and has_form(split, Count), "which fold it is")
    if not record:
        return (candidate, split), None
    if record.get("predictions") is not None:
        record["predictions"] = _read_predictions(record["predictions"])
    return (candidate, split), made(FoldResult, record, "a fold")


# Arrays -------------------------------------------------------------------------------

_ARRAY = {"type": str, "shape": list[Count], "data": str}
#: What rows of the data are, by name: their numbers, or a mask.
_OF_ROWS = {kind.name: kind for kind in map(np.dtype, ("<i8", "?"))}
#: What predictions are: numbers, or places in the list of classes.
_NUMBERS = ("<f4", "<f8", "u1", "<u2", "<u4")
_OF_PREDICTIONS = {kind.name: kind for kind in map(np.dtype, _NUMBERS)}


def _write_array(kind: str, shape: Sequence[int], data: bytes) -> dict[str, Any]:
    text = base64.b64encode(data).decode("ascii")
    return {"type": kind, "shape": list(shape), "data": text}


def _read_array(
    record: Any, types: Mapping[str, np.dtype[Any]], what: str
) -> tuple[np.dtype[Any], list[int], bytes]:
    """Return the type, the shape and the bytes that `_write_array` wrote."""
    check_parts(record, _ARRAY, what)
    require(record["type"] in types and len(record["shape"]) in (1, 2), what)
    try:
        data = base64.b64decode(record["data"], validate=True)
    except ValueError as error:
        raise Malformed(what) from error
    return types[record["type"]], record["shape"], data


def _write_predictions(values: NDArray[Any]) -> dict[str, Any]:
    kind = values.dtype.name
    # Not packed: what is read is never larger than the file.
    data = values.astype(_OF_PREDICTIONS[kind]).tobytes()
    return _write_array(kind, values.shape, data)


def _read_predictions(record: Any) -> NDArray[Any]:
    dtype, shape, data = _read_array(record, _OF_PREDICTIONS, "predictions")
    require(len(data) == math.prod(shape) * dtype.itemsize, "predictions")
    values: NDArray[Any] = np.frombuffer(data, dtype).reshape(shape)
    return values.astype(dtype.newbyteorder("="))


# Splits -------------------------------------------------------------------------------


def write_split(split: tuple[Any, Any]) -> str:
    """Return the row of a split: training and test rows, numbers or a mask."""
    train, test = map(_write_rows, split)
    return dumps({"train": train, "test": test})


def max_split(n_samples: int) -> int:
    """Return how many characters a split may take."""
    # A row number takes eleven at most, and splitters may repeat rows.
    return 22 * _most_rows(n_samples) + 10_000


def _most_rows(n_samples: int) -> int:
    return 100 * n_samples + 10_000


def _write_rows(rows: Any) -> dict[str, Any]:
    array = np.asarray(rows)
    kind = "bool" if array.dtype.kind == "b" else "int64"
    values = array.astype(_OF_ROWS[kind])
    if kind == "int64":  # neighbours differ by little, which packs well
        values[1:] = np.diff(values)
    return _write_array(kind, values.shape, zlib.compress(values.tobytes(), 1))


def read_split(body: str, n_samples: int) -> Split:
    """Return the split that `write_split` wrote, rows of `n_samples`."""
    require(len(body) <= max_split(n_samples), "a long split")
    record = loads(body)
    require(record.keys() == {"train", "test"}, "the parts of a split")
    return _read_rows(record["train"], n_samples), _read_rows(record["test"], n_samples)


def _read_rows(record: Any, n_samples: int) -> NDArray[Any]:
    dtype, shape, packed = _read_array(record, _OF_ROWS, "rows")
    length, size = math.prod(shape), math.prod(shape) * dtype.itemsize
    is_mask = dtype.kind == "b"
    most = n_samples if is_mask else _most_rows(n_samples)
    require(len(shape) == 1 and length <= most, "rows")
    unpacker = zlib.decompressobj()
    try:
        # Never more than announced, whatever a small text would blow up to.
        raw = unpacker.decompress(packed, size + 1)
    except zlib.error as error:
        raise Malformed("rows") from error
    require(len(raw) == size, "rows")
    values: NDArray[Any] = np.frombuffer(raw, dtype)
    if is_mask:
        require(length == n_samples and bool((values.view("u1") < 2).all()), "rows")
        return values.copy()
    rows = np.cumsum(values, dtype="<i8")
    require(bool(((-n_samples <= rows) & (rows < n_samples)).all()), "rows")
    return rows


# Candidates ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A candidate just asked, as a journal keeps it.

    Attributes
    ----------
    branch : int
        Position of the branch of the space that it is a point of; -1 for none.
    params : dict
        The point in JSON types, with choices by their index; described if it is none.
    resource : int or None
        The amount of the resource that it gets; None for the full one.
    said : dict
        What else is known of it: the parts of a trial in `COLUMNS`.
    horizon : int or None
        The number of evaluations to expect in all, as known when it was asked.
    round : int
        The number of the round in which it was asked.
    """

    branch: Annotated[int, lambda branch: branch >= -1]
    params: dict[str, Any]
    resource: float | None
    said: dict[str, Any]
    horizon: _SOME | None = None
    round: Count = 0

    @property
    def point(self) -> str:
        """What is evaluated, as a text in which 1, 1.0 and true differ."""
        return json.dumps([self.branch, self.params, self.resource], sort_keys=True)


_OF_TRIAL = _forms_of(Trial)
_SAID = {part: _OF_TRIAL[part] for part in COLUMNS.values()}


def read_candidate(body: str) -> Asked:
    """Return the candidate in a row; Malformed if it is none."""
    asked = made(Asked, loads(body), "a candidate")
    check_parts(asked.said, _SAID, "a candidate")
    return asked


def in_rounds(asked: Iterable[Asked]) -> list[list[Asked]]:
    """Return candidates, round by round, in the order asked."""
    rounds = [(n, list(each)) for n, each in groupby(asked, attrgetter("round"))]
    require([n for n, _ in rounds] == list(range(len(rounds))), "a round")
    return [each for _, each in rounds]


def write_over(candidate: int) -> str:
    """Return the row of a candidate that is over, although folds are missing."""
    return dumps({"candidate": candidate})


def read_over(body: str) -> int:
    """Return the candidate that `write_over` wrote."""
    record = loads(body)
    check_parts(record, {"candidate": Count}, "a candidate that is over")
    return int(record["candidate"])


# Runs ---------------------------------------------------------------------------------

#: The latest time that a clock may show.
_LAST = 1e11
_Time = Annotated[float, lambda seconds: 0 <= seconds <= _LAST]


@dataclass(frozen=True)
class FitCall:
    """A call of `fit`.

    Attributes
    ----------
    number : int
        Its place among the calls of a search, from 0.
    started, ended : float
        Seconds since the epoch; None if it has not ended, or was killed.
    machine : str
        What tells the machine from others.
    n_iter : int
        Candidates planned.
    settings : dict of str to str
        Descriptions of the settings that may change from call to call.
    reason : str or None
        Why it ended.
    """

    number: Count
    started: _Time
    machine: str
    n_iter: Count
    settings: dict[str, str]
    ended: _Time | None = None
    reason: str | None = None

    @property
    def told(self) -> tuple[Any, ...]:
        """What is written of a call that only read the file, if it differs."""
        return self.n_iter, self.settings, self.reason


def begun(number: int, n_iter: int, settings: Mapping[str, str]) -> FitCall:
    """Return the call of `fit` that begins here and now."""
    return FitCall(number, now(), _machine(), int(n_iter), dict(settings))


def read_call(body: str) -> FitCall:
    """Return the call of a row; Malformed if it is none."""
    call = made(FitCall, loads(body), "a run")
    require((call.reason is None) == (call.ended is None), "the end of a run")
    return call


def is_alive(run: FitCall, is_held: bool | None) -> bool | None:
    """Return whether a search goes on; None if that cannot be told.

    Parameters
    ----------
    run : FitCall
        The last run.
    is_held : bool or None
        Whether the lock of the checkpoint is held; None if that cannot be told.
    """
    if is_held or run.ended is not None:
        return bool(is_held)  # even if it has ended: another one may have begun
    # The locks of other machines need not show here.
    is_here = bool(set(run.machine.split()) & set(_machine().split()))
    return False if is_held is False and is_here else None


def now() -> float:
    """Return the seconds since the epoch, even of a clock that is far off."""
    return min(max(0.0, time.time()), _LAST)


def _machine() -> str:
    """Return what tells this machine from others: digests of its name and its start.

    Each alone may change: the name from one container to the next, the other when the
    machine starts again.
    """
    marks = [platform.node().encode()]
    with suppress(OSError):
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_bytes())
    return " ".join(hashlib.blake2b(m, digest_size=8).hexdigest() for m in marks)
