"""Numbers, durations, names and JSON values as every report writes them, made once so that formats cannot disagree.

Standard library only: the terminal report stands on it and has to start fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rtassay.model.findings import Quantile, part_of_cpu
from rtassay.model.foreign import clean, one_line
from rtassay.model.units import NS_PER_S, NS_PER_US, format_cpu_list
from rtassay.model.units import spaced as spaced

TONES = {"VIOLATED": "bad", "HOLDS": "good", "NOT DEMONSTRATED": "open", "INVALID MEASUREMENT": "void"}
ICONS = {"VIOLATED": "✗", "HOLDS": "✓", "NOT DEMONSTRATED": "?", "INVALID MEASUREMENT": "!"}
NO_REQUIREMENT = "NO REQUIREMENT STATED"


@dataclass(frozen=True, slots=True)
class Cell:
    """One table cell: the value and, for quantiles, the interval below it."""

    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Column headings and rows of equal length. The last row is the pooled one where `pooled` says so."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    pooled: bool = False


def us(ns: float | None, places: int) -> str:
    """Microseconds without the unit; `-` where the source cannot tell."""
    return "-" if ns is None else f"{ns / NS_PER_US:.{places}f}"


def count(value: int | None) -> str:
    """A count with thousands separators; `-` where the source cannot tell."""
    return "-" if value is None else f"{value:,}"


def probability(p: float | None) -> str:
    """`1e-6`, `0.05`, `2.9e-6`, `0`; `-` for None."""
    if p is None:
        return "-"
    if p == 0:
        return "0"
    text = f"{p:.2g}" if p >= 0.001 else f"{p:.1e}"
    return re.sub(r"(?:\.0)?e([+-])0*(\d)", lambda m: f"e{m[1].replace('+', '')}{m[2]}", text)


def percent(fraction: float) -> str:
    """`91 %`, `0.4 %`; never rounded to 0 or 100 unless it is."""
    value = 100 * fraction
    if 0 < value < 0.1 or 99.9 < value < 100:
        return "< 0.1 %" if value < 1 else "> 99.9 %"
    return f"{value:.3g} %"


def span(seconds: float | None) -> str:
    """A duration a person would say: `60 s`, `16.6 min`, `24 h`, `31 d`."""
    if seconds is None:
        return "-"
    for unit, size, limit in (("s", 1.0, 600.0), ("min", 60.0, 3600.0), ("h", 3600.0, 3 * 86400.0)):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86400:.3g} d" if seconds < 1000 * 86400 else f"{seconds / 86400:,.0f} d"


def quantile_name(q: float) -> str:
    """`p50`, `p99.99`."""
    return f"p{(Decimal(str(q)) * 100).normalize():f}"


def lane_label(name: str | None, cpu: int | None) -> str:
    """What a reader calls the lane: `CPU3`, else the source's own name; pooled lanes are `all`."""
    if cpu is not None:
        return one_line(f"CPU{cpu}{part_of_cpu(name, cpu)}", 40)
    if name is None:
        return "all"
    return f"lane {name}" if name.isdigit() else one_line(name, 40)


def quantile_cell(quantile: Quantile | None, places: int) -> Cell:
    """`34.2` with `[34.1, 34.4]`, or `≥ 81.3` where the data hold only a lower bound; `∞`: no upper limit from this n."""
    if quantile is None:
        return Cell("-")
    if quantile.bound != "exact":
        return Cell(f"≥ {us(quantile.value_ns, places)}")
    high = "∞)" if quantile.hi_ns is None else f"{us(quantile.hi_ns, places)}]"
    return Cell(us(quantile.value_ns, places), f"[{us(quantile.lo_ns, places)}, {high}")


def factor(value: float) -> str:
    """A safety factor: two decimals, or two figures where it is tiny."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def hundredths(share: float, sign: str = "") -> str:
    """`0.86 %`, `12 %`, `140 %`: two figures, never `1e+02`. `sign`: `+` shows it always."""
    value = 100 * share
    return f"{value:{sign},.0f} %" if abs(value) >= 99.5 else f"{value:{sign}.2g} %"


def rate(per_hour: float | None) -> str:
    """Events per hour: three figures, whole from 100 on."""
    if per_hour is None:
        return "-"
    return f"{per_hour:,.0f}" if per_hour >= 100 else f"{per_hour:.3g}"


def bytes_of(size: int) -> str:
    """`1.2 GB`, `35 MB`, `14 kB`, `0 kB`: decimal, as disks are sold."""
    for unit, one in (("GB", 1e9), ("MB", 1e6)):
        if size >= one:
            return f"{size / one:.3g} {unit}" if size < 999.5 * one else f"{size / one:,.0f} {unit}"
    return f"{-(-size // 1000)} kB"


def exact_time(ns: int) -> str:
    """A duration option that means exactly `ns`."""
    for unit, factor in (("s", NS_PER_S), ("ms", 1_000_000), ("us", NS_PER_US)):
        if ns and ns % factor == 0:
            return f"{ns // factor}{unit}"
    return f"{ns}ns"


def describe(value: Any, limit: int = 400) -> str:
    """A JSON value as one line: lists with commas, objects as `key=value`, None as `not known`.

    Rising numbers, which are CPUs, are written as the kernel writes them (`0-3,6`). Objects within a list or an object end with `;`.
    """
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        text = _members(value, limit)
    elif isinstance(value, list | tuple):
        text = _items(value, limit)
    else:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return one_line(text, limit)


def _members(value: dict[str, Any], limit: int) -> str:
    nested = any(_holds_objects(item) for item in value.values())
    mark, between = (": ", "; ") if nested else ("=", ", ")
    return between.join(f"{key}{mark}{describe(item, limit)}" for key, item in value.items()) or "none"


def _items(value: Sequence[Any], limit: int) -> str:
    if value and all(type(item) is int for item in value) and list(value) == sorted(set(value)):
        return format_cpu_list(list(value))
    between = "; " if _holds_objects(value) else ", "
    return between.join(describe(item, limit) for item in value) or "none"


def _holds_objects(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value)
    )


def pairs(items: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """(name, value) rows as text."""
    return [(one_line(str(name), 80), describe(value)) for name, value in items]


def shell_line(argv: Iterable[str]) -> str:
    """A command line that a shell splits into the same words."""
    import shlex

    return clean(shlex.join(list(argv)), 2000)


def ratio(value: float | None) -> str:
    """`1.36`, `0.0712`, `23.4`: three figures."""
    if value is None:
        return "-"
    if 0.9995 <= value < 10:
        return f"{value:.2f}" if value >= 1.995 else f"{value:.3f}"
    if value < 1:
        return f"{value:#.3g}"
    if value < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value < 100_000 else f"{value:.1e}"
