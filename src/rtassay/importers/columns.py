"""Shared by the importers of histograms: reading text safely, and a table of columns as events."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Event, Facts, HistogramPart
from rtassay.model.files import open_regular

MAX_LINE = 1 << 20
MAX_DOCUMENT = 256 << 20
MAX_LANES = 4096
COUNT_LIMIT = 2**62
_NUMBER = re.compile(r"[+-]?(\d{1,18})(?:\.(\d{1,18}))?(?:[eE][+-]?\d{1,3})?")


@dataclass
class Column:
    """One lane of a histogram: `measure` is one of `model.measures`, `bins` maps the lower edge in ns to a count. A field is None if
    the file does not tell it."""

    name: str
    measure: str
    cpu: int | None = None
    bins: dict[int, int] = field(default_factory=dict)
    n: int | None = None
    over: int | None = None
    limit_ns: int | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    avg_ns: float | None = None
    median_ns: float | None = None

    @property
    def binned(self) -> int:
        """Samples that are in a bin."""
        return sum(self.bins.values())


def bad(
    path: Path, why: str, *, line: int | None = None, column: int | None = None, hint: str | None = None
) -> InputFileError:
    """`FILE:LINE:COLUMN: why`, ready to raise."""
    where = "".join(f":{place}" for place in (line, column) if place is not None)
    return InputFileError(f"{path}{where}", why, hint)


def unreadable(path: Path, error: OSError) -> InputFileError:
    """The error for a file that cannot be opened or read."""
    return InputFileError(f"cannot read {path}", error.strerror or str(error))


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number from 1, line without its end). Raises InputFileError for a file that is no text: a NUL byte, a line of 1 MiB."""
    try:
        with open_regular(path) as file:
            number = 0
            while raw := file.readline(MAX_LINE):
                number += 1
                if len(raw) == MAX_LINE:
                    raise bad(path, "a line of more than 1 MiB: this is no text", line=number)
                if (nul := raw.find(b"\0")) >= 0:
                    raise bad(path, "a NUL byte: this is no text", line=number, column=nul + 1)
                yield number, raw.decode("utf-8", "replace").rstrip("\r\n")
    except OSError as error:
        raise unreadable(path, error) from error


def document(path: Path) -> bytes:
    """The whole file, for formats that are one document. Raises InputFileError beyond 256 MiB."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_DOCUMENT + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(data) > MAX_DOCUMENT:
        raise bad(path, "the document is larger than 256 MiB")
    return data


def json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file. NaN and infinities, which real tools write, become None."""
    try:
        found = json.loads(document(path).decode("utf-8-sig"), parse_constant=lambda _: None)
    except UnicodeDecodeError as error:
        raise bad(path, f"byte {error.start + 1} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise bad(path, f"not JSON: {error.msg}", line=error.lineno, column=error.colno) from error
    except (ValueError, RecursionError) as error:
        raise bad(path, f"not a JSON document of this format: {str(error)[:100]}") from error
    if not isinstance(found, dict):
        raise bad(path, f"the document is a JSON {type(found).__name__}, not an object", line=1, column=1)
    return found


def words_of(line: str) -> list[tuple[int, str]]:
    """(column from 1, word) of a line."""
    return [(match.start() + 1, match[0]) for match in re.finditer(r"\S+", line)]


def count_of(path: Path, word: str, line: int | None, column: int | None, what: str = "a count") -> int:
    """A whole number from 0 below 2^62, or InputFileError."""
    if not (word.isascii() and word.isdigit() and len(word) < 20) or int(word) >= COUNT_LIMIT:
        raise bad(path, f"'{word[:40]}' is not {what}", line=line, column=column)
    return int(word)


def decimal_of(path: Path, word: str, line: int | None, column: int | None, what: str = "a number") -> float:
    """A finite decimal number, or InputFileError."""
    if _NUMBER.fullmatch(word) is None or not math.isfinite(float(word)):
        raise bad(path, f"'{word[:40]}' is not {what}", line=line, column=column)
    return float(word)


def text_of(value: Any, limit: int = 300) -> str | None:
    """A string of a JSON or XML document, cut; None for anything else."""
    return value.strip()[:limit] if isinstance(value, str) and value.strip() else None


def events_of(
    columns: Sequence[Column],
    width_ns: int,
    facts: dict[str, Any],
    imported: dict[str, Any],
    *,
    duration_ns: int | None = None,
    reason: str | None = None,
    bin_widths: dict[int, int] | None = None,
) -> Iterator[Event]:
    """Facts, one HistogramPart per column, End. `imported` is FACTS' `import` (see base.py) without kind and lanes.

    `width_ns` is the width of a bin, `bin_widths` holds exceptions by lower edge. The source's own summary goes into End, with
    None for what it does not tell.
    """
    entries = [{"lane": i, "name": c.name, "measure": c.measure, "cpu": c.cpu} for i, c in enumerate(columns)]
    span = {} if duration_ns is None else {"origin_ns": 0}
    rows = [row for i, column in enumerate(columns) if (row := _told(i, column)) is not None]
    about = {"kind": "histogram", "trailer": bool(rows), **({"lanes": rows} if rows else {}), **imported}
    yield Facts({"bin_width_ns": width_ns, **span, **facts, "lanes": entries, "import": about})
    for i, column in enumerate(columns):
        yield _part(i, column, width_ns, bin_widths or {})
    end: dict[str, Any] = {"lanes": [_end(i, column) for i, column in enumerate(columns)]}
    if duration_ns is not None:
        end["mono_ns"] = duration_ns
    yield End(end if reason is None else {"reason": reason, **end})


def _told(lane: int, column: Column) -> dict[str, Any] | None:
    """A row of `import.lanes`: the tool's own summary of a lane, None where it has none."""
    told = {"n": column.n, "min_ns": column.min_ns, "avg_ns": column.avg_ns, "max_ns": column.max_ns}
    return None if all(value is None for value in told.values()) else {"lane": lane, **told}


def _part(lane: int, column: Column, width_ns: int, widths: dict[int, int]) -> HistogramPart:
    import numpy as np

    lower = sorted(edge for edge, count in column.bins.items() if count)
    return HistogramPart(
        lane=lane,
        lower_ns=np.array(lower, dtype=np.int64),
        width_ns=np.array([widths.get(edge, width_ns) for edge in lower], dtype=np.int64),
        counts=np.array([column.bins[edge] for edge in lower], dtype=np.int64),
        over=column.over or 0,
        limit_ns=column.limit_ns,
    )


def _end(lane: int, column: Column) -> dict[str, Any]:
    unknown = dict.fromkeys(("due", "missed", "dropped", "truncated", "exceedances", "sum_ns"))
    return {
        "lane": lane,
        "n": column.binned + (column.over or 0) if column.n is None else column.n,
        "over": column.over,
        "min_ns": column.min_ns,
        "max_ns": column.max_ns,
        **unknown,
    }


def contradictions(columns: Iterable[Column], width_ns: int) -> list[str]:
    """Sentences for each summary that contradicts its histogram: a maximum below the last bin, a minimum above the first, an average outside."""
    found = []
    for column in columns:
        used = sorted(edge for edge, count in column.bins.items() if count)
        low, high, name = column.min_ns, column.max_ns, column.name
        if used and high is not None and high < used[-1]:
            found.append(f"{name}: the maximum is {high} ns, but there are samples at {used[-1]} ns")
        if used and low is not None and low >= used[0] + width_ns:
            found.append(f"{name}: the minimum is {low} ns, but there are samples at {used[0]} ns")
        if low is not None and high is not None and low > high:
            found.append(f"{name}: the minimum {low} ns is above the maximum {high} ns")
        average = column.avg_ns
        if (
            average is not None
            and low is not None
            and high is not None
            and not low - width_ns < average < high + width_ns
        ):
            found.append(f"{name}: the average {average:g} ns lies outside {low} to {high} ns")
    return found
