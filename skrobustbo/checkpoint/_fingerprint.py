"""Describe the parts of a search, to find the differences between two searches.

Equal values have equal descriptions, even in different processes.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import inspect
import pathlib
import re
import types
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from warnings import warn

import numpy as np
from scipy import sparse

from skrobustbo._names import printable, shown

_SIMPLE = (bool, int, float, complex, str, bytes, type(None))
#: Lists with at most this many items are written out.
_FEW, _NUMBERS = 10, {bool, int, float, type(None)}
#: Prefixes of attributes that store a setting.
_PRIVATE = re.compile(r"^_(\w*?__)?")
#: Texts longer than this are cut and end in a digest.
_LONG, _HEAD = 300, 120


@dataclasses.dataclass(frozen=True)
class Inside:
    """Context in which a value is described.

    Attributes
    ----------
    ids : tuple of int
        IDs of the enclosing objects, used to detect circular references.
    of_fit : bool
        Whether the value is an argument of `fit` other than the data. Objects such as
        callbacks may change while they are used, so they are described by their
        settings.
    is_setting : bool
        Whether the value is a setting of an object passed to `fit`.
    quiet : bool
        Whether to suppress warnings about functions.
    """

    ids: tuple[int, ...] = ()
    of_fit: bool = False
    is_setting: bool = False
    quiet: bool = False


#: Maximum depth of objects inside objects.
_DEPTH = 25
#: Number of rows to hash at a time, because hashing may copy them.
_CHUNK = 2**24
_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)


def describe(value: Any, *, quiet: bool = False) -> str:
    """Return a short text that identifies a value.

    Equal values have the same description, and different values almost surely have
    different ones. Possible data (arrays, tables, dicts, and lists other than short
    lists of numbers) are described by type, size and digest. Numbers, names and the
    parameters of objects are written in full. Functions and classes are described by
    name, and random generators by type. Values are not pickled, so no code runs except
    `get_params`.

    Parameters
    ----------
    value : object
    quiet : bool, default=False
        Whether to suppress warnings.

    Warns
    -----
    UserWarning
        If a value is a user-defined function, because its name does not identify its
        code.

    Examples
    --------
    >>> from skrobustbo.checkpoint import describe
    >>> from sklearn.svm import SVC
    >>> describe(SVC(C=2.0))[:42]
    'sklearn.svm._classes.SVC(C=2.0, break_ties'
    >>> describe(["anna", "bert"])
    'list of 2 items, digest 3f825b5988b1bcfd047a240f76557dba'
    """
    return shortened(_text(value, Inside(quiet=quiet)))


def describe_data(value: Any, *, of_fit: bool = False) -> str:
    """Return a description of data that shows no values except None.

    If `of_fit` is true, objects in the data are described by type and by those
    constructor arguments that are numbers, strings, functions or similar objects. Other
    attributes may be left over from an earlier call.
    """
    text = _text(value, Inside(of_fit=of_fit))
    if value is None or _writer(value) in _DIGESTED:
        return text
    return _counted(value, [text])


def shortened(text: str) -> str:
    """Return a text, truncated and followed by its digest if it is long."""
    if len(text) <= _LONG:
        return text
    return f"{text[:_HEAD]}... ({len(text)} characters, digest {_digest([text])})"


def _digest(texts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


def _text(value: Any, inside: Inside) -> str:
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        value = value.item()
    if type(value) in _SIMPLE:
        return repr(value)
    holds = hasattr(type(value), "__len__") and not isinstance(value, tuple)
    holds = holds and not callable(value)
    too_deep = len(inside.ids) > _DEPTH or id(value) in inside.ids
    if too_deep or (holds and inside.is_setting):
        return _name(type(value))
    inside = dataclasses.replace(inside, ids=(*inside.ids, id(value)))
    writer = _writer(value)
    if inside.of_fit and not holds and writer in (_object, _dataclass):
        writer = _settings
    return writer(value, inside)


def _writer(value: Any) -> Writer:
    """Return the function that describes values of this type."""
    return next((write for is_one, write in _KINDS if is_one(value)), _object)


def _name(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "?")
    module = getattr(value, "__module__", None)
    return f"{module}.{name}" if module else str(name)


# Containers ---------------------------------------------------------------------------


def _list(value: Any, inside: Inside) -> str:
    kinds = {type(item) for item in value}
    if len(value) <= _FEW and kinds <= _NUMBERS and type(value) in (list, tuple):
        return repr(value)  # a setting, such as bounds
    if kinds <= set(_SIMPLE):
        return _counted(value, [repr(list(value))])  # at once: there may be millions
    return _counted(value, [_text(item, inside) for item in value])


def _set(value: Any, inside: Inside) -> str:
    return _counted(value, sorted(_text(item, inside) for item in value))


def _mapping(value: Mapping[Any, Any], inside: Inside) -> str:
    items = [f"{_text(k, inside)}: {_text(v, inside)}" for k, v in value.items()]
    return _counted(value, items)


def _counted(value: Any, texts: Iterable[str]) -> str:
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else _name(kind)
    size = f" of {len(value)} items" if hasattr(value, "__len__") else ""
    return f"{name}{size}, digest {_digest(texts)}"


# Data ---------------------------------------------------------------------------------


def _array(value: Any, inside: Inside) -> str:
    value = np.asanyarray(value)
    if isinstance(value, np.ma.MaskedArray):
        mask = _array(np.ma.getmaskarray(value), inside)
        return f"masked {_array(value.filled(), inside)}, {mask}"
    what = f"{value.dtype.name} array of shape {value.shape}"
    if value.dtype.hasobject:
        items = [_text(item, inside) for item in value.ravel().tolist()]
        return f"{what}, digest {_digest([str(value.dtype), *items])}"
    digest = hashlib.blake2b(digest_size=16)
    flat = value if value.ndim else value.reshape(1)
    step = max(1, _CHUNK // max(1, value.itemsize * int(np.prod(flat.shape[1:]))))
    for i in range(0, len(flat), step):
        digest.update(np.ascontiguousarray(flat[i : i + step]).view(np.uint8).data)
    return f"{what}, digest {digest.hexdigest()}"


def _sparse(value: Any, inside: Inside) -> str:
    value = value if value.format in ("csr", "csc", "bsr") else value.tocsr()
    parts = [_array(part, inside) for part in (value.data, value.indices, value.indptr)]
    return f"sparse {value.format} of shape {value.shape}, digest {_digest(parts)}"


def _table(value: Any, inside: Inside) -> str:
    """Describe a data frame from pandas or another library with named columns."""
    by_place = getattr(value, "iloc", None)
    names = list(value.columns)
    columns = [
        value[name] if by_place is None else by_place[:, i]
        for i, name in enumerate(names)
    ]
    parts = [_text(names, inside), *(_column(column, inside) for column in columns)]
    if hasattr(value, "index"):
        parts.append(_array(np.asarray(value.index), inside))
    return f"table of shape {value.shape}, digest {_digest(parts)}"


def _column(value: Any, inside: Inside) -> str:
    """Describe a column of a table."""
    name = _text(getattr(value, "name", None), inside)
    parts = [name, str(value.dtype), _array(value.to_numpy(), inside)]
    return f"column of {len(value)} items, digest {_digest(parts)}"


# Objects ------------------------------------------------------------------------------


def _function(value: Any, inside: Inside) -> str:
    name = _name(value)
    advice = ""
    if "<lambda>" in name or "<locals>" in name:
        advice = "another one of that name: define it at the top of a module"
    elif name.partition(".")[0] not in _VERSIONED:
        advice = "a change of its code: use another path after a change"
    if advice and not inside.quiet:
        warn(
            f"The checkpoint identifies the function {name!r} only by its name, and "
            f"would not notice {advice}.",
            stacklevel=2,
        )
    return name


def _method(value: Any, inside: Inside) -> str:
    return f"{_name(value)} of {_text(value.__self__, inside)}"


def _partial(value: functools.partial[Any], inside: Inside) -> str:
    inside = dataclasses.replace(inside, is_setting=inside.of_fit)
    args = (value.func, *value.args)
    return _called("partial", inside, sorted(value.keywords.items()), args)


def _estimator(value: Any, inside: Inside) -> str:
    params = value.get_params(deep=False)
    return _called(_name(type(value)), inside, sorted(params.items()))


def _dataclass(value: Any, inside: Inside) -> str:
    items = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
    return _called(_name(type(value)), inside, items)


def _frozen_law(value: Any, inside: Inside) -> str:
    return _called(value.dist.name, inside, sorted(value.kwds.items()), value.args)


def _called(name: str, inside: Inside, items: Items, args: Any = ()) -> str:
    """Return the text of a call with positional and keyword arguments."""
    given = [_text(item, inside) for item in args]
    given += [f"{key}={_text(item, inside)}" for key, item in items]
    return f"{name}({', '.join(given)})"


def _settings(value: Any, inside: Inside) -> str:
    """Describe an object by its settings, which may be private attributes."""
    kind: Any = type(value)
    try:
        names = list(inspect.signature(kind).parameters)
    except (TypeError, ValueError):  # it is written in C
        names = []
    held = {_PRIVATE.sub("", name): item for name, item in _state(value).items()}
    items = [(name, held[name]) for name in names if name in held]
    has_text = kind.__repr__ is not object.__repr__
    if not items and has_text and not getattr(value, "__dict__", None):
        return _object(value, inside)  # a date, for example
    inside = dataclasses.replace(inside, is_setting=True)
    return _called(_name(kind), inside, items)


def _state(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, including those in slots."""
    state = object.__getstate__(value)
    parts = state if isinstance(state, tuple) else (state,)
    return {name: item for part in parts for name, item in (part or {}).items()}


def _object(value: Any, inside: Inside) -> str:
    """Describe an object by its content, or by its class if the content is hidden."""
    held = getattr(value, "__dict__", None)
    if held:
        return _called(_name(type(value)), inside, sorted(held.items()))
    if hasattr(value, "__array__"):
        return _array(np.asarray(value), inside)
    text = shown(value)
    # An address changes between processes.
    return _name(type(value)) if re.search(r" at 0x[0-9a-fA-F]+", text) else text


#: Functions in these packages change only with the versions stored in a checkpoint.
_VERSIONED = {"builtins", "joblib", "numpy", "scipy", "sklearn", "skrobustbo"}


Items = Iterable[tuple[str, Any]]
Writer = Callable[[Any, Inside], str]

#: Types of values described by their own names.
_NAMED = (type, types.ModuleType, np.ufunc)
#: Types with a complete text; pandas objects cache computed attributes.
_SHOWN = (pathlib.PurePath, datetime.date, datetime.time, datetime.timedelta)

#: Types described only by digests of their content.
_DIGESTED = (_set, _mapping, _array, _sparse, _table, _column)
#: Tests that recognise a kind of value, and functions that describe it.
_KINDS: list[tuple[Callable[[Any], bool], Writer]] = [
    (lambda v: isinstance(v, np.ndarray), _array),
    (sparse.issparse, _sparse),
    (lambda v: isinstance(v, list | tuple | range), _list),
    (lambda v: isinstance(v, set | frozenset), _set),
    (lambda v: isinstance(v, Mapping), _mapping),
    (lambda v: isinstance(v, _NAMED), lambda v, inside: _name(v)),
    (inspect.ismethod, _method),
    # Functions from Python, C, Cython or NumPy; other objects do not have their own
    # name.
    (lambda v: callable(v) and hasattr(v, "__qualname__"), _function),
    (lambda v: isinstance(v, functools.partial), _partial),
    (lambda v: isinstance(v, _GENERATORS), lambda v, inside: _name(type(v))),
    # Reading an iterator would use it up.
    (lambda v: hasattr(v, "__next__"), lambda v, inside: _name(type(v))),
    (lambda v: isinstance(v, _SHOWN), lambda v, inside: repr(v)),
    (lambda v: hasattr(v, "columns") and hasattr(v, "shape"), _table),
    (lambda v: hasattr(v, "to_numpy") and hasattr(v, "dtype"), _column),
    (lambda v: hasattr(v, "get_params"), _estimator),
    (dataclasses.is_dataclass, _dataclass),
    (lambda v: hasattr(v, "dist") and hasattr(v, "kwds"), _frozen_law),
]


# Comparison of searches ---------------------------------------------------------------

#: Maps each part of a search to its items and their descriptions.
Parts = Mapping[str, Mapping[str, str]]

_CALLED = {
    "data": "the data {}",
    "estimator": "the estimator parameter {}",
    "space": "the space of {}",
    "cv": "cv",
    "scoring": "the scoring",
    "settings": "the setting {}",
}
#: The setting that may be dropped later, because stored predictions do no harm.
_OPTIONAL = ("settings", "honest_score")
#: Name of the item that stands for the whole part.
_ITSELF = ""
_WHOLE = {"estimator": "the estimator", "space": "the space"}
#: Maximum characters of a text in a message.
_QUOTED = 200


def difference(before: Parts, now: Parts, seeds: tuple[int, int] | None) -> str | None:
    """Describe the first difference between two searches, or return None.

    `seeds` contains the seeds of the earlier and the current search. It is None if the
    current seed was drawn at random.
    """
    for part in _CALLED:
        old, new = before.get(part, {}), now.get(part, {})
        names = [
            name
            for name in {**old, **new}
            if old.get(name) != new.get(name)
            and not ((part, name) == _OPTIONAL and name not in new)
        ]
        if names:
            # A pipeline's parameter is more informative than the pipeline.
            name = max(names, key=lambda name: (name == _ITSELF, name.count("__")))
            called = _CALLED[part].format(_quoted(name))
            if name == _ITSELF:
                called = _WHOLE.get(part, called)
            was, now_is = (_quoted(each.get(name, "absent")) for each in (old, new))
            return f"{called} was {was} and is now {now_is}"
    if list(before) != list(now):
        return "its parts differ"
    if seeds is None or seeds[0] == seeds[1]:
        return None
    return f"the setting random_state was {seeds[0]} and is now {seeds[1]}"


def _quoted(text: str) -> str:
    """Return a text in a printable and shortened form for a message."""
    text = printable(text)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Describe the settings that differ between two calls."""
    return [
        f"{_quoted(name)} was {_quoted(before[name])} and is now {_quoted(value)}"
        for name, value in now.items()
        if before.get(name, value) != value
    ]


# Versions -----------------------------------------------------------------------------

_PACKAGES = ("skrobustbo", "scikit-learn", "numpy", "scipy")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # the build has another name
        return "unknown"


def versions_here() -> dict[str, str]:
    """Return the installed versions of the packages that affect the results."""
    return {name: _version(name) for name in _PACKAGES}


def compare_versions(path: str, written: Mapping[str, str]) -> None:
    """Warn if package versions differ from those in the checkpoint."""
    changed = changes(written, versions_here())
    if changed:
        warn(
            f"The checkpoint {path!r} was written with other versions "
            f"({', '.join(changed)}): its contents are used, but the rest of the "
            "search may differ.",
            stacklevel=2,
        )
