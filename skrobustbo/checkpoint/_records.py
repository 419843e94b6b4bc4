"""What is in a row: folds, splits and candidates as JSON, and back, checked."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._trials import FoldResult

Split = tuple[NDArray[Any], NDArray[Any]]

#: Characters kept of the traceback of a failed fit, its end.
MAX_ERROR = 100_000
#: Characters that a candidate, or a fold without predictions, may take; and a fold with
#: them, which is nearly what SQLite takes.
MAX_BODY, MAX_PREDICTED = 4_000_000, 999_000_000
_COUNT = 2**53


class Malformed(ValueError):
    """What a row holds is not what it should."""


def require(condition: bool, what: str) -> None:
    """Raise unless a condition holds; `what` names the part that is wrong."""
    if not condition:
        raise Malformed(what)


def dumps(value: Any) -> str:
    """Return JSON text, the same for the same value."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def loads(body: str) -> dict[str, Any]:
    """Return the JSON object of a text; Malformed if it is none."""
    try:
        value = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Malformed("not JSON") from error
    require(isinstance(value, dict), "not a JSON object")
    return value


def _refuse(constant: str) -> Any:
    raise Malformed(f"{constant} is not JSON")


def is_count(value: Any, most: int = _COUNT) -> bool:
    """Return whether a value is a whole number from 0 to `most`."""
    return type(value) is int and 0 <= value <= most


# Numbers ------------------------------------------------------------------------------

_NAMED = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def write_number(value: Any) -> Any:
    """Return a real number in JSON types, exactly; those not finite by name."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool | int):
        return value
    number = float(value)
    return number if math.isfinite(number) else str(number)


def read_number(value: Any) -> Any:
    """Return the number that `write_number` wrote."""
    if isinstance(value, str):
        require(value in _NAMED, "a number")
        return _NAMED[value]
    require(isinstance(value, bool | int | float), "a number")
    try:
        float(value)
    except OverflowError:
        raise Malformed("a number") from None
    return value


def _write_scores(scores: Any) -> Any:
    if isinstance(scores, Mapping):
        return {str(name): write_number(score) for name, score in scores.items()}
    return write_number(scores)


def _read_scores(scores: Any) -> Any:
    if isinstance(scores, dict):
        require(bool(scores), "scores")
        return {name: read_number(score) for name, score in scores.items()}
    return read_number(scores)


# Folds --------------------------------------------------------------------------------


#: The row of a fold whose result could not be written: it is fitted again.
LOST = '{"lost":true}'


class FoldReader:
    """Reads the rows of folds, which look alike within a search.

    The writer reads each row with it before it is written, so that a file never has a
    row that is refused later.

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
        self._names = None if metrics is None else frozenset(metrics)
        # What fails where names are not known has a single number, of all names.
        self._may_lack_names = metrics is None
        self._train, self._n_classes, self._n_rows = train, n_classes, n_rows
        self.longest = MAX_BODY if n_classes is None else MAX_PREDICTED

    def read(self, body: str, split: int) -> FoldResult | None:
        """Return the result in a row, None for one that was lost.

        Raises
        ------
        Malformed
            If it does not look as it should, or not like those before.
        """
        if body == LOST:
            return None
        require(len(body) <= self.longest, "the length of a fold")
        fold = read_fold(body)
        has_train = "train_scores" in fold
        require(self._train in (None, has_train), "training scores")
        found = [_names(fold[kind]) for kind in _SCORES if kind in fold]
        names = self._names
        if names is None:
            names = next(filter(None, found), None)
        for each in found:
            is_alone = not each and self._may_lack_names
            require(each == names or is_alone, "metrics")
        if "predictions" in fold:
            self._check_predictions(fold["predictions"], split)
        self._names, self._train = names, has_train
        return fold

    def _check_predictions(self, values: NDArray[Any], split: int) -> None:
        require(self._n_classes is not None, "predictions")
        if self._n_rows is None:
            return
        require(len(values) == self._n_rows[split], "predictions")
        if values.dtype.kind == "u":
            require(bool((values < (self._n_classes or 0)).all()), "predictions")


_SCORES = ("test_scores", "train_scores")


def _names(scores: Any) -> frozenset[str]:
    return frozenset(scores) if isinstance(scores, dict) else frozenset()


def write_fold(result: FoldResult, turn: int | None = None) -> str:
    """Return the row of a fold's result, with its turn where that matters."""
    error = result.get("fit_error")
    record = {
        "test_scores": _write_scores(result["test_scores"]),
        "n_test_samples": int(result["n_test_samples"]),
        "fit_time": write_number(result["fit_time"]),
        "score_time": write_number(result["score_time"]),
        "fit_error": None if error is None else str(error)[-MAX_ERROR:],
    }
    if "train_scores" in result:
        record["train_scores"] = _write_scores(result["train_scores"])
    if "predictions" in result:
        record["predictions"] = _write_predictions(result["predictions"])
    if turn is not None:
        record["turn"] = turn
    return dumps(record)


_FOLD = {"test_scores", "n_test_samples", "fit_time", "score_time", "fit_error"}
_MORE = {"train_scores", "predictions", "turn"}


def read_fold(body: str) -> FoldResult:
    """Return the result that `write_fold` wrote, with its turn if it has one."""
    record = loads(body)
    require(record.keys() - _MORE == _FOLD, "the parts of a fold")
    require(is_count(record.get("turn", 0)), "a turn")
    for kind in record.keys() & {"test_scores", "train_scores"}:
        record[kind] = _read_scores(record[kind])
    for kind in ("fit_time", "score_time"):
        seconds = record[kind] = float(read_number(record[kind]))
        require(not seconds < 0 and seconds != math.inf, "seconds")
    require(is_count(record["n_test_samples"]), "a number of samples")
    error = record["fit_error"]
    require(error is None or isinstance(error, str), "an error")
    if "predictions" in record:
        record["predictions"] = _read_predictions(record["predictions"])
    return record


# Predictions --------------------------------------------------------------------------

#: Numbers, or places in the list of classes.
_PREDICTED: dict[str, np.dtype[Any]] = {
    "float32": np.dtype("<f4"),
    "float64": np.dtype("<f8"),
    "uint8": np.dtype("u1"),
    "uint16": np.dtype("<u2"),
    "uint32": np.dtype("<u4"),
}


def _write_predictions(values: NDArray[Any]) -> dict[str, Any]:
    kind = values.dtype.name
    # Not packed: what is read is never larger than the file.
    data = base64.b64encode(values.astype(_PREDICTED[kind]).tobytes())
    return {"type": kind, "shape": list(values.shape), "data": data.decode("ascii")}


def _read_predictions(record: Any) -> NDArray[Any]:
    parts = {"type", "shape", "data"}
    require(isinstance(record, dict) and record.keys() == parts, "predictions")
    kind, shape, data = record["type"], record["shape"], record["data"]
    require(isinstance(kind, str) and kind in _PREDICTED, "predictions")
    require(isinstance(shape, list) and len(shape) in (1, 2), "predictions")
    require(all(is_count(n) and n > 0 for n in shape), "predictions")
    require(isinstance(data, str), "predictions")
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError as error:
        raise Malformed("predictions") from error
    dtype = _PREDICTED[kind]
    require(len(raw) == math.prod(shape) * dtype.itemsize, "predictions")
    values: NDArray[Any] = np.frombuffer(raw, dtype).reshape(shape)
    require(bool(np.isfinite(values).all()), "predictions")
    return values.astype(dtype.newbyteorder("="))


# Splits -------------------------------------------------------------------------------


def write_split(split: tuple[Any, Any]) -> str:
    """Return the row of a split: training and test rows, numbers or a mask."""
    return dumps(
        {name: _write_rows(rows) for name, rows in zip(_PARTS, split, strict=True)}
    )


def max_split(n_samples: int) -> int:
    """Return how many characters a split may take."""
    # A row number takes eleven at most, and splitters may repeat rows.
    return 22 * _most_rows(n_samples) + 10_000


def _most_rows(n_samples: int) -> int:
    return 100 * n_samples + 10_000


_PARTS = ("train", "test")
_TYPES = {"int64": np.dtype("<i8"), "bool": np.dtype("?")}


def _write_rows(rows: Any) -> dict[str, Any]:
    array = np.asarray(rows)
    kind = "bool" if array.dtype.kind == "b" else "int64"
    # Neighbours differ by little, which packs well.
    values = array if kind == "bool" else np.diff(array.astype("<i8"), prepend=0)
    data = base64.b64encode(zlib.compress(values.tobytes(), 1)).decode("ascii")
    return {"type": kind, "length": len(array), "data": data}


def read_split(body: str, n_samples: int) -> Split:
    """Return the split that `write_split` wrote, rows of `n_samples`."""
    record = loads(body)
    require(record.keys() == set(_PARTS), "the parts of a split")
    train, test = (_read_rows(record[name], n_samples) for name in _PARTS)
    return train, test


def _read_rows(record: Any, n_samples: int) -> NDArray[Any]:
    parts = {"type", "length", "data"}
    require(isinstance(record, dict) and record.keys() == parts, "rows")
    kind, length, data = record["type"], record["length"], record["data"]
    most = n_samples if kind == "bool" else _most_rows(n_samples)
    require(kind in ("int64", "bool") and is_count(length, most), "rows")
    require(isinstance(data, str), "rows")
    dtype = _TYPES[kind]
    size = length * dtype.itemsize
    unpacker = zlib.decompressobj()
    try:
        # Never more than announced, whatever a small text would blow up to.
        raw = unpacker.decompress(base64.b64decode(data, validate=True), size + 1)
    except (ValueError, zlib.error) as error:
        raise Malformed("rows") from error
    require(len(raw) == size, "rows")
    values: NDArray[Any] = np.frombuffer(raw, dtype)
    if kind == "bool":
        require(length == n_samples and bool((values.view("u1") < 2).all()), "rows")
        return values.copy()
    rows = np.cumsum(values, dtype="<i8")
    require(bool(((-n_samples <= rows) & (rows < n_samples)).all()), "rows")
    return rows


# Candidates ---------------------------------------------------------------------------


def write_candidate(number_of_round: int, record: Mapping[str, Any]) -> str:
    """Return the row of a candidate asked in a round."""
    return dumps({"round": number_of_round, **record})


def read_candidate(body: str) -> tuple[int, dict[str, Any]]:
    """Return the round and the record that `write_candidate` wrote."""
    require(len(body) <= MAX_BODY, "the length of a candidate")
    record = loads(body)
    number = record.pop("round", None)
    require(is_count(number), "a round")
    return number, record


def read_rounds(bodies: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return the records of candidates, round by round, in the order asked."""
    rounds: list[list[dict[str, Any]]] = []
    for body in bodies:
        number, record = read_candidate(body)
        require(len(rounds) - 1 <= number <= len(rounds), "a round")
        require(bool(rounds) or number == 0, "a round")
        if number == len(rounds):
            rounds.append([])
        rounds[-1].append(record)
    return rounds


def has_failed(fold: FoldResult) -> bool:
    """Return whether a fold has raised, or has a score that is no number."""
    scores = fold["test_scores"]
    each = scores.values() if isinstance(scores, dict) else [scores]
    return bool(fold["fit_error"]) or not all(map(math.isfinite, each))
