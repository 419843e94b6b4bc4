"""Events of a search, stored as rows of JSON text.

An event is recorded when a search starts, a candidate is proposed, a fold is evaluated,
a candidate ends with missing folds, or a call to `fit` begins or ends. The splits are
stored when the search starts. If there are several events for the same fold or call,
the last one counts. Each kind of event has one writer and one reader.
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

#: Maximum characters stored from the end of a failed fit's traceback.
MAX_ERROR = 100_000
#: Maximum characters of a candidate, or a fold without predictions; and of a
#: fold with predictions, which is close to SQLite's limit.
MAX_BODY, MAX_PREDICTED = 4_000_000, 999_000_000


class Malformed(ValueError):
    """The content of a row is invalid."""


def require(condition: bool, what: str) -> None:
    """Raise Malformed if a condition is false; `what` names the invalid part."""
    if not condition:
        raise Malformed(what)


def dumps(value: Any) -> str:
    """Return a value as JSON text.

    Numbers are stored exactly, and equal values give equal texts.
    """
    return json.dumps(value, default=_number, separators=(",", ":"))


def _number(value: Any) -> Any:
    """Convert a number from NumPy or another library to a Python number."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, bool | int) else float(value)


def write(event: Any) -> str:
    """Return the row for an event whose values are JSON types."""
    return dumps(vars(event))


def loads(body: str) -> dict[str, Any]:
    """Return the JSON object in a text, or raise Malformed if there is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed("not JSON") from error
    require(isinstance(value, dict), "not a JSON object")
    return value


def made(kind: Callable[..., Event], record: Any, what: str) -> Event:
    """Convert a record to a dataclass or a typed dict.

    Raise Malformed if the names or types do not match the annotations.
    """
    check_parts(record, _forms_of(kind), what)
    return kind(**record)


def check_parts(record: Any, forms: Mapping[str, Any], what: str) -> None:
    """Raise Malformed if a record does not have exactly these names and types."""
    whole = isinstance(record, dict) and record.keys() == forms.keys()
    require(whole, f"the parts of {what}")
    wrong = [name for name, form in forms.items() if not has_form(record[name], form)]
    require(not wrong, f"{', '.join(wrong)} of {what}")


@cache
def _forms_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


# Start of a search --------------------------------------------------------------------

#: Placeholder for a choice that is described rather than stored.
TEXT = "$text"
_SOME = Annotated[Count, lambda count: count > 0]


class Outline(TypedDict):
    """Summary of a search for readers of its checkpoint.

    It contains the names of the estimator and the policy, and the metric to optimise
    (None if there is only one). For each branch of the space, it lists the parameters
    with their choices, or with None if they are numeric.
    """

    estimator: str
    policy: str
    metric: str | None
    branches: Annotated[list[Annotated[dict[str, list[Any] | None], bool]], bool]


@dataclass(frozen=True)
class Started:
    """The start of a search.

    Attributes
    ----------
    search : dict of dict of str
        Descriptions of everything that must be the same in a resumed call.
    seed : int
        Seed for all random numbers.
    horizon : int
        Number of candidates planned in the first call.
    outline : dict
        Summary for readers of the file; empty if there is no file.
    versions : dict of str to str
        Package versions when the search started; empty if there is no file.
    n_splits, n_samples : int
        Number of folds per candidate, and number of rows in the data.
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
        """Descriptions of the settings that must not change between calls."""
        return self.search.get("settings", {})

    @property
    def form(self) -> FoldForm:
        """The common form of the folds, as far as it is known."""
        predicts = "honest_score" in self.settings
        return FoldForm(None, train=None, n_classes=0 if predicts else None)


def read_started(body: str) -> Started:
    """Read the start of a search from a row, or raise Malformed if it is invalid."""
    started = made(Started, loads(body), "its header")
    made(Outline, started.outline, "its outline")
    return started


# Folds --------------------------------------------------------------------------------

#: The key and the result of a fold; None if the result could not be written.
Measured = tuple[FoldId, FoldResult | None]
_KEY = ("candidate", "split")


class FoldForm:
    """The common form of all folds of a search.

    Folds are checked before they are written, so that no row is rejected later.

    Parameters
    ----------
    metrics : list of str or None
        Names of the metrics; empty for a single metric. If None, the names are unknown
        until a callable scorer returns them.
    train : bool or None
        Whether the folds have training scores; None before the first fold.
    n_classes : int or None, default=None
        Number of classes if the folds have predictions (0 for a regressor), or None if
        they have no predictions.
    n_rows : list of int, default=None
        Number of test rows in each split, used to check the predictions. If None, the
        number of rows is not checked.
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
        # A failure before the names are known has one number for all of them.
        self._may_lack_names = metrics is None
        self._train, self._n_classes, self._n_rows = train, n_classes, n_rows
        self.longest = MAX_BODY if n_classes is None else MAX_PREDICTED

    def check(self, event: Measured) -> None:
        """Raise Malformed if a fold is invalid or differs in form from earlier ones."""
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
    key, fold = event
    record: dict[str, Any] = dict(zip(_KEY, key, strict=True))
    if fold is not None:
        error, kept = fold.fit_error, fold.predictions
        record |= vars(fold)
        record["fit_error"] = None if error is None else str(error)[-MAX_ERROR:]
        record["predictions"] = None if kept is None else _write_predictions(kept)
    return dumps(record)


def read_fold(body: str) -> Measured:
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
#: Types of row indices: numbers, or a mask.
_OF_ROWS = {kind.name: kind for kind in map(np.dtype, ("<i8", "?"))}
#: Types of predictions: numbers, or positions in the list of classes.
_NUMBERS = ("<f4", "<f8", "u1", "<u2", "<u4")
_OF_PREDICTIONS = {kind.name: kind for kind in map(np.dtype, _NUMBERS)}


def _write_array(kind: str, shape: Sequence[int], data: bytes) -> dict[str, Any]:
    text = base64.b64encode(data).decode("ascii")
    return {"type": kind, "shape": list(shape), "data": text}


def _read_array(
    record: Any, types: Mapping[str, np.dtype[Any]], what: str
) -> tuple[np.dtype[Any], list[int], bytes]:
    """Return the type, shape and bytes of an array stored by `_write_array`."""
    check_parts(record, _ARRAY, what)
    require(record["type"] in types and len(record["shape"]) in (1, 2), what)
    try:
        data = base64.b64decode(record["data"], validate=True)
    except ValueError as error:
        raise Malformed(what) from error
    return types[record["type"]], record["shape"], data


def _write_predictions(values: NDArray[Any]) -> dict[str, Any]:
    kind = values.dtype.name
    # Not compressed, so the data read are never larger than the file.
    data = values.astype(_OF_PREDICTIONS[kind]).tobytes()
    return _write_array(kind, values.shape, data)


def _read_predictions(record: Any) -> NDArray[Any]:
    dtype, shape, data = _read_array(record, _OF_PREDICTIONS, "predictions")
    require(len(data) == math.prod(shape) * dtype.itemsize, "predictions")
    values: NDArray[Any] = np.frombuffer(data, dtype).reshape(shape)
    return values.astype(dtype.newbyteorder("="))


# Splits -------------------------------------------------------------------------------


def write_split(split: tuple[Any, Any]) -> str:
    """Return a split as JSON text, with row numbers or masks."""
    train, test = map(_write_rows, split)
    return dumps({"train": train, "test": test})


def max_split(n_samples: int) -> int:
    """Return the maximum number of characters in a stored split."""
    # A row number takes at most eleven, and splitters may repeat rows.
    return 22 * _most_rows(n_samples) + 10_000


def _most_rows(n_samples: int) -> int:
    return 100 * n_samples + 10_000


def _write_rows(rows: Any) -> dict[str, Any]:
    array = np.asarray(rows)
    kind = "bool" if array.dtype.kind == "b" else "int64"
    values = array.astype(_OF_ROWS[kind])
    if kind == "int64":  # differences between neighbours are small and compress well
        values[1:] = np.diff(values)
    return _write_array(kind, values.shape, zlib.compress(values.tobytes(), 1))


def read_split(body: str, n_samples: int) -> Split:
    """Read a split of `n_samples` rows that was written by `write_split`."""
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
        # Never read more than announced, however much a small text would expand.
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
    """A proposed candidate, as it is stored in a journal.

    Attributes
    ----------
    branch : int
        Index of the candidate's branch in the space, or -1 if the candidate is outside
        the space.
    params : dict
        The point as JSON types, with choices given by their indices. If the candidate
        is outside the space, this is a description.
    resource : int or None
        Amount of the resource, or None for the full amount.
    said : dict
        Values of the trial's fields that are listed in `COLUMNS`.
    horizon : int or None
        Total number of evaluations expected when the candidate was proposed.
    round : int
        Number of the round in which the candidate was proposed.
    """

    branch: Annotated[int, lambda branch: branch >= -1]
    params: dict[str, Any]
    resource: float | None
    said: dict[str, Any]
    horizon: _SOME | None = None
    round: Count = 0

    @property
    def point(self) -> str:
        """The evaluation as JSON text, in which 1, 1.0 and true differ."""
        return json.dumps([self.branch, self.params, self.resource], sort_keys=True)


_OF_TRIAL = _forms_of(Trial)
_SAID = {part: _OF_TRIAL[part] for part in COLUMNS.values()}


def read_candidate(body: str) -> Asked:
    """Read a candidate from a row, or raise Malformed if it is invalid."""
    asked = made(Asked, loads(body), "a candidate")
    check_parts(asked.said, _SAID, "a candidate")
    return asked


def in_rounds(asked: Iterable[Asked]) -> list[list[Asked]]:
    """Group the candidates by round, in the order in which they were proposed."""
    rounds = [(n, list(each)) for n, each in groupby(asked, attrgetter("round"))]
    require([n for n, _ in rounds] == list(range(len(rounds))), "a round")
    return [each for _, each in rounds]


def write_over(candidate: int) -> str:
    """Return the row for a candidate that ended with missing folds."""
    return dumps({"candidate": candidate})


def read_over(body: str) -> int:
    record = loads(body)
    check_parts(record, {"candidate": Count}, "a candidate that is over")
    return int(record["candidate"])


# Runs ---------------------------------------------------------------------------------

#: Latest valid clock time.
_LAST = 1e11
_Time = Annotated[float, lambda seconds: 0 <= seconds <= _LAST]


@dataclass(frozen=True)
class FitCall:
    """A call to `fit`.

    Attributes
    ----------
    number : int
        Number of the call in its search, starting at 0.
    started, ended : float
        Start and end times in seconds since the epoch. `ended` is None if the call is
        running or was killed.
    machine : str
        Identifier of the machine.
    n_iter : int
        Number of planned candidates.
    settings : dict of str to str
        Descriptions of the settings that may change between calls.
    reason : str or None
        Why the call ended.
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
        """Values that cause a call to be stored if they differ from the last call."""
        return self.n_iter, self.settings, self.reason


def begun(number: int, n_iter: int, settings: Mapping[str, str]) -> FitCall:
    """Return a record of a call to `fit` that begins now on this machine."""
    return FitCall(number, now(), _machine(), int(n_iter), dict(settings))


def read_call(body: str) -> FitCall:
    """Read a call to `fit` from a row, or raise Malformed if it is invalid."""
    call = made(FitCall, loads(body), "a run")
    require((call.reason is None) == (call.ended is None), "the end of a run")
    return call


def is_alive(run: FitCall, is_held: bool | None) -> bool | None:
    """Return whether a search is running, or None if this is unknown."""
    if is_held or run.ended is not None:
        return bool(is_held)  # even if that call has ended: another one may have begun
    # Locks held by other machines may not be visible here.
    is_here = bool(set(run.machine.split()) & set(_machine().split()))
    return False if is_held is False and is_here else None


def now() -> float:
    """Return the seconds since the epoch, limited to a valid range."""
    return min(max(0.0, time.time()), _LAST)


def _machine() -> str:
    """Return an identifier of this machine, based on its name and boot ID.

    Either part may change independently: the name between containers, and the boot ID
    after a restart.
    """
    marks = [platform.node().encode()]
    with suppress(OSError):
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_bytes())
    return " ".join(hashlib.blake2b(m, digest_size=8).hexdigest() for m in marks)
