"""Texts of tracefs, `events/header_page` and `events/GROUP/NAME/format`, to the layout of pages and records.

No offset is assumed: kernels differ (PREEMPT_RT 6.1 adds `common_preempt_lazy_count`, 32-bit kernels have a commit of four
bytes). Fields nobody asks for are ignored, so that a newer kernel's formats stay readable.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rtassay.model.causes import NotATrace
from rtassay.model.foreign import number, one_line

_FIELD = re.compile(
    r"^[ \t]*field:(?P<type>[^;\n]*?)(?P<name>\w+)(?P<array>\[[^\]\n]*\])?;"
    r"[ \t]*offset:(?P<offset>[0-9]{1,9});[ \t]*size:(?P<size>[0-9]{1,9});(?:[ \t]*signed:(?P<signed>[01]);)?",
    re.MULTILINE,
)
_ID = re.compile(r"^ID: ([0-9]{1,9})[ \t]*$", re.MULTILINE)
_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}
_STACK_SIZE, _STACK_CALLERS = "size", "caller"
_NARROW = 4
_LARGEST_RECORD = 1 << 16
"""Bytes. The kernel's own limit is below a page; pages of 64 KiB exist."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record: bytes `offset` to `offset + size`."""

    name: str
    offset: int
    size: int
    signed: bool
    text: bool
    data_loc: bool


@dataclass(frozen=True, slots=True)
class PageLayout:
    """Where a page holds what: the time stamp is a u64 at 0; `commit_size` is 8 on 64-bit kernels and 4 on 32-bit ones."""

    commit_offset: int
    commit_size: int
    data_offset: int
    data_size: int


@dataclass(frozen=True, slots=True)
class Format:
    """An event's number in pages, and its fields."""

    name: str
    id: int
    fields: Mapping[str, Field]


class Reader:
    """Reads some fields of one event's records in one call, in the order asked for: integers, and str for text."""

    __slots__ = ("_order", "_struct", "_texts", "need")

    def __init__(self, form: Format, names: Sequence[str]) -> None:
        """Raises NotATrace if a field is missing, overlaps another one or has a size no number has."""
        fields = [_field(form, name) for name in names]
        code, at = "<", 0
        by_offset = sorted(fields, key=lambda field: field.offset)
        for field in by_offset:
            if field.offset < at or field.offset + field.size > _LARGEST_RECORD:
                raise NotATrace(f"the format of {form.name} is damaged", f"field {field.name} lies where it cannot lie")
            code += "x" * (field.offset - at) + _code(form, field)
            at = field.offset + field.size
        self._struct = struct.Struct(code)
        self.need = at
        """Bytes a record must have at least."""
        self._order = tuple(by_offset.index(field) for field in fields)
        self._texts = tuple((i, field.data_loc) for i, field in enumerate(fields) if field.text or field.data_loc)

    def read(self, page: bytes, offset: int, size: int) -> list[int | str]:
        """The fields of the record in `page[offset:offset + size]`; `size` is at least `need`."""
        raw = self._struct.unpack_from(page, offset)
        values = [raw[i] for i in self._order]
        for i, data_loc in self._texts:
            values[i] = _located(page, offset, size, values[i]) if data_loc else text_of(values[i])
        return values


class StackReader:
    """Reads the records of `ftrace/kernel_stack`: some fields, then the addresses. The format tells their place, the record
    their number; each is a `long` of the kernel, as wide as the commit of its pages."""

    __slots__ = ("_at", "_fields", "_word", "need")

    def __init__(self, form: Format, names: Sequence[str], word: int) -> None:
        """Raises NotATrace as `Reader` does."""
        self._fields = Reader(form, (*names, _STACK_SIZE))
        self._at = _field(form, _STACK_CALLERS).offset
        self._word = "I" if word == _NARROW else "Q"
        if not self._fields.need <= self._at <= _LARGEST_RECORD:
            raise NotATrace(f"the format of {form.name} is damaged", f"field {_STACK_CALLERS} lies where it cannot lie")
        self.need = self._at
        """Bytes a record must have at least."""

    def read(self, page: bytes, offset: int, size: int) -> list[int | str]:
        """The fields and then the addresses, innermost first. A record that is shorter than it says gives those that it has."""
        *values, count = self._fields.read(page, offset, size)
        width = struct.calcsize(self._word)
        room = (size - self._at) // width
        found = struct.unpack_from(f"<{max(0, min(int(count), room))}{self._word}", page, offset + self._at)
        end = (1 << 8 * width) - 1  # older kernels end a stack with it
        return [*values, *(found[: found.index(end)] if end in found else found)]


@lru_cache(maxsize=65536)
def text_of(raw: bytes) -> str:
    """The text before the first zero byte, on one line and fit to be shown."""
    return one_line(raw.split(b"\0", 1)[0].decode(errors="replace"), 200)


def page_layout(text: str) -> PageLayout:
    """`header_page` to the layout. Raises NotATrace."""
    fields = _fields("header_page", text)
    missing = [name for name in ("timestamp", "commit", "data") if name not in fields]
    if missing:
        raise NotATrace("header_page of the trace is not one", f"it has no field {missing[0]}")
    stamp, commit, data = fields["timestamp"], fields["commit"], fields["data"]
    sound = (
        (stamp.offset, stamp.size) == (0, 8)
        and commit.size in (4, 8)
        and commit.offset >= 8
        and commit.offset + commit.size <= data.offset
        and data.size > 0
        and data.offset + data.size <= 1 << 24
    )
    if not sound:
        raise NotATrace("header_page of the trace is not one", "its fields lie where no kernel puts them")
    return PageLayout(commit.offset, commit.size, data.offset, data.size)


def event_format(name: str, text: str) -> Format:
    """The format of the event `name`. Raises NotATrace."""
    found = _ID.search(text)
    if found is None:
        raise NotATrace(f"the format of {one_line(name, 200)} is not one", "it has no line `ID: number`")
    return Format(name, int(found[1]), _fields(name, text))


def _fields(name: str, text: str) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for found in _FIELD.finditer(text):
        offset, size = number(found["offset"]), number(found["size"])
        assert offset is not None and size is not None
        data_loc = found["type"].lstrip().startswith("__data_loc")
        text_field = not data_loc and found["array"] is not None and "char" in found["type"].split()
        fields[found["name"]] = Field(found["name"], offset, size, found["signed"] == "1", text_field, data_loc)
    if not fields:
        raise NotATrace(
            f"the format of {one_line(name, 200)} is not one", "it has no line `field:... offset:... size:...`"
        )
    return fields


def _field(form: Format, name: str) -> Field:
    if name not in form.fields:
        raise NotATrace(
            f"the format of {one_line(form.name, 200)} has no field {name}", None, "report the kernel's version"
        )
    return form.fields[name]


def _code(form: Format, field: Field) -> str:
    if field.text:
        return f"{field.size}s"
    if field.data_loc and field.size == 4:
        return "I"
    if field.data_loc or field.size not in _CODES:
        raise NotATrace(f"the format of {form.name} is damaged", f"field {field.name} has {field.size} bytes")
    return _CODES[field.size] if field.signed else _CODES[field.size].upper()


def _located(page: bytes, offset: int, size: int, where: int) -> str:
    """Text that lies elsewhere in the record: 16 bits of offset, 16 of length."""
    start, length = where & 0xFFFF, where >> 16
    return text_of(page[offset + start : offset + start + length]) if start + length <= size else ""
