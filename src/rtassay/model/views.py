"""Typed views of JSON that another program wrote: what is absent or of another type is None, and nothing raises.

A view is a frozen dataclass. The annotation of a field says how its value is read:

| annotation | read from | else |
| --- | --- | --- |
| `int`, `float`, `str` or `bool`, `| None` | an integer of 64 bits; a finite number; a string; true or false | None |
| a view `| None` | an object | None |
| a view | an object | the view of an empty object |
| `tuple[T, ...] | None` | a list of T | None if one element is no T |
| `tuple[T, ...]` | a list of T | without the elements that are no T |
| `dict[str, T] | None`, `dict[str, T]` | an object, without the entries that are no T | None; empty |

A field `told: frozenset[str]` takes the names that the object has: it tells null from absent.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections.abc import Callable
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

View = TypeVar("View")
Reader = Callable[[Any], Any]

_TOLD = "told"


def view_of(kind: type[View], data: Any) -> View:
    """`data` (any JSON value) as the view `kind`."""
    found = data if isinstance(data, dict) else {}
    values = {name: read(found.get(name)) for name, read in _readers(kind).items()}  # type: ignore[arg-type]
    if _TOLD in kind.__dataclass_fields__:  # type: ignore[attr-defined]
        values[_TOLD] = frozenset(found)
    return kind(**values)


def integer(value: Any) -> int | None:
    """A 64-bit integer, None for anything else (true and false are none)."""
    fits = isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    return value if fits else None


@functools.cache
def _readers(kind: type) -> dict[str, Reader]:
    hints = get_type_hints(kind)
    return {field.name: _reader(hints[field.name]) for field in dataclasses.fields(kind) if field.name != _TOLD}


def _reader(hint: Any) -> Reader:
    if get_origin(hint) in (Union, types.UnionType):
        (inner,) = (part for part in get_args(hint) if part is not type(None))
        return _optional(inner)
    if get_origin(hint) is tuple:
        element = _optional(get_args(hint)[0])
        return lambda value: tuple(x for x in map(element, _list(value)) if x is not None)
    if get_origin(hint) is dict:
        entry = _optional(get_args(hint)[1])
        return lambda value: _entries(entry, value if isinstance(value, dict) else {})
    assert dataclasses.is_dataclass(hint), f"no reader for {hint}: write `| None`"
    return lambda value: view_of(hint, value)  # type: ignore[arg-type]


def _optional(kind: Any) -> Reader:
    """Reads a value of `kind`, None for one of another type."""
    if get_origin(kind) is tuple:
        element = _optional(get_args(kind)[0])
        return lambda value: _all(element, value) if isinstance(value, list | tuple) else None
    if get_origin(kind) is dict:
        entry = _optional(get_args(kind)[1])
        return lambda value: _entries(entry, value) if isinstance(value, dict) else None
    if dataclasses.is_dataclass(kind):
        return lambda value: view_of(kind, value) if isinstance(value, dict) else None  # type: ignore[arg-type]
    return _SCALARS[kind]


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _all(element: Reader, values: Any) -> tuple[Any, ...] | None:
    found = tuple(map(element, values))
    return None if None in found else found


def _entries(entry: Reader, data: dict[Any, Any]) -> dict[str, Any]:
    read = {str(key): entry(value) for key, value in data.items()}
    return {key: value for key, value in read.items() if value is not None}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e300 < value < 1e300 and math.isfinite(value) else None


_SCALARS: dict[Any, Reader] = {
    int: integer,
    float: _number,
    str: lambda value: value if isinstance(value, str) else None,
    bool: lambda value: value if isinstance(value, bool) else None,
}
