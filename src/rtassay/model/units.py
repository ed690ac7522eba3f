"""Times and durations as people write them. Inside, all time is integer nanoseconds."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from rtassay.model.errors import UsageError

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
NS_PER_H = 3600 * NS_PER_S

_UNITS = {
    "ns": 1,
    "us": NS_PER_US,
    "µs": NS_PER_US,
    "ms": NS_PER_MS,
    "s": NS_PER_S,
    "m": 60 * NS_PER_S,
    "min": 60 * NS_PER_S,
    "h": NS_PER_H,
    "d": 24 * NS_PER_H,
}
_PER_HOURS = {"h": 1, "d": 24, "y": 8766}
_PART = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-zµ]+)")
_MAX_NS = 2**62
# The largest number of CPUs that Linux can be built for.
_CPUS = 8192


def parse_duration_ns(text: str, *, bare: str | None = None) -> int:
    """Nanoseconds of `10s`, `1h30m`, `200us`, `1.5ms`; a number alone is in `bare` (`"us"`, `"s"`), or refused.

    Raises UsageError for anything else, for parts of a nanosecond and for what does not fit 62 bits.
    """
    compact = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", compact):
        if bare is None:
            raise UsageError(f"'{text}' has no unit", hint="write 200us, 10ms, 60s or 1h")
        compact += bare
    total, at = Fraction(0), 0
    for part in _PART.finditer(compact):
        if part.start() != at or part[2] not in _UNITS:
            break
        total += Fraction(part[1]) * _UNITS[part[2]]
        at = part.end()
    if at != len(compact) or not compact:
        raise UsageError(f"'{text}' is not a duration", hint="write 200us, 10ms, 60s or 1h (ns, us, ms, s, m, h, d)")
    if total.denominator != 1:
        raise UsageError(f"'{text}' is finer than a nanosecond")
    if total > _MAX_NS:
        raise UsageError(f"'{text}' is too long")
    return int(total)


def parse_rate_per_h(text: str) -> float:
    """Events per hour of `0.1/h`, `2/d`, `1/y`. Raises UsageError for anything else; a number alone has no unit, and is refused."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?|\.\d+)\s*/\s*([a-z]+)", text.strip().lower())
    if match is None or match[2] not in _PER_HOURS:
        raise UsageError(f"'{text}' is not a number of events a time", hint="write 0.1/h, 2/d or 1/y (hour, day, year)")
    return float(Fraction(match[1]) / _PER_HOURS[match[2]])


def format_rate(per_hour: float) -> str:
    """Events per hour as `parse_rate_per_h` reads them: `0.1/h`."""
    return f"{per_hour:.12g}/h"


def format_p(p: float) -> str:
    """A probability as `--p` takes it: `1e-6`, `0.001`."""
    return f"{p:.12g}".replace("e-0", "e-")


def format_us(ns: int | float | None, digits: int = 1) -> str:
    """Microseconds as text, without the unit (tables carry it in the header); `-` for None."""
    return "-" if ns is None else f"{ns / NS_PER_US:.{digits}f}"


def format_factor(value: float) -> str:
    """A factor of 1 or more in plain digits: `1.4`, `33`, `120`, `12,000`; never with an exponent."""
    if value >= 1e6:
        return "more than 1,000,000"
    size = 10 ** max(math.floor(math.log10(value)) - 1, 0) if value >= 10 else 0
    return f"{round(value / size) * size:,}" if size else f"{value:.2g}"


def format_time(ns: int | float) -> str:
    """One time with the unit a person would pick: 812ns, 97.3us, 1.25ms, 12.5s, 3.4h."""
    size = abs(ns)
    if size < NS_PER_US:
        return f"{ns:.0f}ns"
    for unit, factor, limit in (
        ("us", NS_PER_US, NS_PER_MS),
        ("ms", NS_PER_MS, NS_PER_S),
        ("s", NS_PER_S, 600 * NS_PER_S),
    ):
        if size < limit:
            return f"{ns / factor:.4g}{unit}"
    if size >= 1000 * NS_PER_H:
        return f"{ns / NS_PER_H:.0f}h"
    return f"{ns / NS_PER_H:.3g}h" if size >= NS_PER_H else f"{ns / (60 * NS_PER_S):.3g}min"


def spaced(ns: int) -> str:
    """`97.3 us`: format_time with a space, for headlines."""
    return re.sub(r"(?<=\d)(?=[a-z])", " ", format_time(ns))


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """`0-2,5` (also `0-6:2`) as sorted CPU numbers. Raises UsageError for anything else."""
    cpus: set[int] = set()
    named = 0
    for part in text.strip().split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6})(?::(\d{1,6}))?)?\s*", part)
        if match is None:
            raise UsageError(f"'{text[:60]}' is not a CPU list", hint="write 1, 0-3 or 0,2-3")
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        step = int(match[3]) if match[3] else 1
        if last < first or step == 0:
            raise UsageError(f"'{part}' in CPU list '{text[:60]}' runs backwards")
        named += len(range(first, last + 1, step))
        if last >= _CPUS or named > _CPUS:
            raise UsageError(
                f"CPU list '{text[:60]}' names more CPUs than Linux has", f"they are numbered below {_CPUS}"
            )
        cpus.update(range(first, last + 1, step))
    return tuple(sorted(cpus))


def format_cpu_list(cpus: tuple[int, ...] | list[int]) -> str:
    """The shortest list that `parse_cpu_list` reads back."""
    parts: list[str] = []
    ordered = sorted(cpus)
    i = 0
    while i < len(ordered):
        j = i
        while j + 1 < len(ordered) and ordered[j + 1] == ordered[j] + 1:
            j += 1
        parts.append(str(ordered[i]) if i == j else f"{ordered[i]}-{ordered[j]}")
        i = j + 1
    return ",".join(parts)
