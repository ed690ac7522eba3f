"""Frozen dataclasses that share their methods.

`dataclasses` compiles six methods for each class: a millisecond for one of twenty fields, at every start of every verb. A `Value` is a
dataclass to `fields`, `replace`, `asdict` and msgspec, and takes a sixth of that (bench: verdict-shown).
"""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, field
from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Value:
    """A subclass lists its fields as a dataclass does, and is used as a frozen one."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False)(cls)

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = type(self).__dataclass_fields__
        given = dict(zip(fields, values, strict=False))
        if len(given) < len(values) or given.keys() & named.keys() or not named.keys() <= fields.keys():
            raise TypeError(f"{type(self).__name__} takes each of {', '.join(fields)} once")
        given |= named
        if len(given) < len(fields):
            given |= {name: _default(self, fields[name]) for name in fields if name not in given}
        vars(self).update(given)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} of {type(self).__name__} is read-only")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} of {type(self).__name__} is read-only")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in zip(self.__dataclass_fields__, self._values(), strict=True))
        return f"{type(self).__qualname__}({', '.join(fields)})"

    def _values(self) -> tuple[Any, ...]:
        """Of the fields: a cached property is none."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


def _default(owner: Value, of: Field[Any]) -> Any:
    if of.default is not MISSING:
        return of.default
    if of.default_factory is MISSING:
        raise TypeError(f"{type(owner).__name__} needs {of.name}")
    return of.default_factory()
