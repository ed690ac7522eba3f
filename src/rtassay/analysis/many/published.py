"""Published results: choosing them, checking them against themselves and each other (docs/method/checks.md), putting a recording beside them.

Their latencies are text as printed (`<50`, `~90`, `75-100`, `5/5/4/4` for four CPUs). A check fires only on what that says for certain.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rtassay.model.published import Published, PublishedCheck
from rtassay.model.units import NS_PER_S, NS_PER_US

INVALID = "invalid"
WARNING = "warning"

_STOCK = ("stock", "mainline", "preempt", "non-rt")
_COUNT_SHARE = 1e-3
_ABOUT_SHARE = 0.1
_OWN_DATA = "recomputed from published raw histogram"


@dataclass(frozen=True, slots=True)
class Number:
    """A printed latency in us: it lies in [low, high]; `exact` without `<`, `>`, `~` or a range. `each`: one value per CPU."""

    low: float
    high: float
    exact: bool
    each: tuple[float, ...]


def number(text: str) -> Number | None:
    """What a printed latency says; None where it says nothing that could be computed with."""
    clean = text.strip()
    if re.fullmatch(r"-?\d+(\.\d+)?(/-?\d+(\.\d+)?)*", clean):
        each = tuple(float(word) for word in clean.split("/"))
        return Number(min(each), max(each), True, each)
    if match := re.fullmatch(r"([<>~]?)(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?", clean):
        low = float(match[2])
        high = float(match[3] or low)
        bounds = {"<": (0.0, low), ">": (low, math.inf), "~": (0.8 * low, 1.2 * high), "": (low, high)}
        return Number(*bounds[match[1]], False, ())
    return None


def choose(
    rows: Iterable[Published],
    *,
    board: str | None = None,
    kernel: str | None = None,
    load: str | None = None,
    tool: str | None = None,
    text: Sequence[str] = (),
) -> tuple[Published, ...]:
    """Rows that fit all that is given: `board` as people name it (`pi5`, `rk3588`), `kernel` `rt`, `stock` or a part of its name,
    `load` (`none`: idle ones) and `tool` a part; each of `text` a part of any field."""
    return tuple(
        row
        for row in rows
        if (board is None or _plain(board) in _plain(row.system))
        and (kernel is None or _kernel_fits(row, kernel.lower()))
        and (load is None or _load_fits(row, load.lower()))
        and (tool is None or tool.lower() in row.tool.lower())
        and all(
            any(word.lower() in value.lower() for value in _values(row)) or _plain(word) in _plain(row.system)
            for word in text
        )
    )


def _values(row: Published) -> list[str]:
    return [str(getattr(row, name)) for name in Published.__slots__]


def _plain(name: str) -> str:
    """`Raspberry Pi 3 Model B+` and `rpi3b+` as `pi3b+`."""
    text = name.lower().replace("raspberry pi", "pi").replace("rpi", "pi").replace("model", "")
    return re.sub(r"[^a-z0-9+]", "", text)


def _kernel_fits(row: Published, wanted: str) -> bool:
    kind = row.preempt.lower()
    if wanted in ("rt", "preempt_rt"):
        return kind == "preempt_rt"
    if wanted == "stock":
        return kind in _STOCK
    return wanted in kind or wanted in row.kernel.lower()


def _load_fits(row: Published, wanted: str) -> bool:
    return row.idle is True if wanted in ("none", "idle") else wanted in row.load.lower()


def check(rows: Sequence[Published]) -> tuple[PublishedCheck, ...]:
    """All checks over the rows, in the order of the checks; an empty result means that none fires."""
    of_one: tuple[Callable[[Published], PublishedCheck | None], ...] = (
        _summary,
        _per_cpu,
        _text_against_table,
        _truncated,
        _policy,
        _intervals,
        _quantised,
        _zero,
    )
    found = [*_counts(rows), *_two_sources(rows), *_duplicates(rows)]
    for function in of_one:
        found += [result for row in rows if (result := function(row)) is not None]
    return tuple(found)


# --- COUNT-MISMATCH


def _counts(rows: Sequence[Published]) -> list[PublishedCheck]:
    """n against T / I per lane; lanes of one run that are off by the same factor are one finding."""
    groups: dict[tuple[str, str, str, float], list[tuple[Published, int, float]]] = defaultdict(list)
    for row in rows:
        due = _due(row)
        if row.counted is None or due is None:
            continue
        if abs(row.counted - due) > (_ABOUT_SHARE if row.duration_about else _COUNT_SHARE) * due:
            groups[(row.system, row.kernel, row.source, round(row.counted / due, 3))].append((row, row.counted, due))
    return [_count_words(group) for group in groups.values()]


def _count_words(group: list[tuple[Published, int, float]]) -> PublishedCheck:
    row, counted, due = group[0]
    time_s = row.duration_s or 0.0
    text = (
        f"{row.system}: {counted} samples cannot come from {_span(time_s)} at {intervals(row)} us (expected {due:.0f}); "
        f"{'more' if counted > due else 'fewer'} by {abs(counted / due - 1):.1%}"
    )
    if counted > due:
        text += f", they imply {_span(time_s * counted / due)}"
    return PublishedCheck("COUNT-MISMATCH", INVALID, tuple(r.id for r, _, _ in group), text)


def _due(row: Published) -> float | None:
    """Activations in the stated time, over the threads that were counted."""
    if row.duration_s is None or not row.intervals_us or not all(row.intervals_us):
        return None
    return sum(row.duration_s * (NS_PER_S / NS_PER_US) / interval for interval in row.intervals_us[: row.counted_lanes])


def intervals(row: Published) -> str:
    """`200`, or `100/600/1100/1600` where the threads differ."""
    each = row.intervals_us[:1] if len(set(row.intervals_us)) == 1 else row.intervals_us
    return "/".join(str(interval) for interval in each)


def _span(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


# --- SUMMARY-INCONSISTENT


def _inconsistent(row: Published, text: str) -> PublishedCheck:
    return PublishedCheck("SUMMARY-INCONSISTENT", INVALID, (row.id,), f"{row.system}, {row.kernel}: {text}")


def _summary(row: Published) -> PublishedCheck | None:
    """min <= avg <= max, and the bounds that every sample obeys: Bhatia-Davis and Samuelson."""
    low, mean, high = number(row.min_us), number(row.avg_us), number(row.max_us)
    if low and mean and low.low > mean.high:
        return _inconsistent(row, f"the minimum {row.min_us} us is above the average {row.avg_us} us")
    if mean and high and mean.low > high.high:
        return _inconsistent(row, f"the average {row.avg_us} us is above the maximum {row.max_us} us")
    sd = number(row.stdev_us)
    if not (low and mean and high and sd and low.exact and mean.exact and high.exact and sd.exact):
        return None
    most = (high.high + 1 - mean.low) * (mean.high + 1 - low.low)
    if sd.low**2 > most:
        return _inconsistent(
            row, f"a deviation of {row.stdev_us} us is impossible between {row.min_us} and {row.max_us} us"
        )
    n = row.counted
    if n and high.low > mean.high + sd.high * math.sqrt(n - 1) + 1:
        return _inconsistent(row, f"a maximum of {row.max_us} us is impossible with that deviation and {n} samples")
    return None


def _per_cpu(row: Published) -> PublishedCheck | None:
    each, top = row.cpu_max_us, number(row.max_us)
    if each and top and top.exact and max(each) != top.high:
        return _inconsistent(row, f"the maximum is {row.max_us} us, of the CPUs the largest is {max(each):g} us")
    if each and row.cores.isdigit() and len(each) != int(row.cores):
        return _inconsistent(row, f"{len(each)} values per line for a part with {row.cores} cores")
    return None


def _text_against_table(row: Published) -> PublishedCheck | None:
    """A source that gives one quantity twice with two values."""
    if row.text_max_us is None:
        return None
    text = f"{row.source}: the text says {row.text_max_us:g} us, the table {row.max_us} us"
    return PublishedCheck("SUMMARY-INCONSISTENT", INVALID, (row.id,), text)


def _two_sources(rows: Sequence[Published]) -> list[PublishedCheck]:
    """A table that cites a result, against the same result recomputed from its raw data."""
    raw = {(_plain(row.system), _release(row)): row for row in rows if row.verification == _OWN_DATA}
    found = []
    for row in rows:
        own = raw.get((_plain(row.system), _release(row)))
        if own is None:
            continue
        for name, cited, known in (("average", row.avg_us, own.avg_us), ("maximum", row.max_us, own.max_us)):
            said, real = number(cited), number(known)
            if said and real and (said.low > real.high + 1 or said.high < real.low - 1):
                text = f"{row.system}, {row.kernel}: cited with an {name} of {cited} us, the raw data hold {known} us"
                text = text.replace("an maximum", "a maximum")
                found.append(PublishedCheck("SUMMARY-INCONSISTENT", INVALID, (row.id, own.id), text))
    return found


def _release(row: Published) -> str:
    return row.kernel.split(" (")[0].strip().lower()


# --- DUPLICATE-RESULT


def _duplicates(rows: Sequence[Published]) -> list[PublishedCheck]:
    """The same vector for different boards or kernels. Only vectors with one value per CPU: three single numbers may agree by chance."""
    groups: dict[tuple[str, ...], list[Published]] = defaultdict(list)
    for row in rows:
        each = row.cpu_max_us
        if len(each) > 1:
            groups[(row.min_us, row.avg_us, "/".join(f"{value:g}" for value in each))].append(row)
    found = []
    for (low, mean, high), group in groups.items():
        if len({(row.system, row.kernel) for row in group}) > 1:
            names = "; ".join(f"{row.system}, {row.kernel}" for row in group)
            text = f"min {low}, avg {mean}, max {high} us stands for {len(group)} results: {names}"
            found.append(PublishedCheck("DUPLICATE-RESULT", WARNING, tuple(row.id for row in group), text))
    return found


# --- what a command line or a single number gives away


def _truncated(row: Published) -> PublishedCheck | None:
    limit = re.search(r"\bcyclictest\b.*\s-h\s*(\d+)", row.command)
    top = number(row.max_us)
    if limit is None or top is None or (top.high if top.exact else (top.low + top.high) / 2) < int(limit[1]):
        return None
    text = f"{row.system}, {row.kernel}: a maximum of {row.max_us} us lies beyond the histogram (-h {limit[1]}); its tail was not seen"
    return PublishedCheck("HIST-TRUNCATED", WARNING, (row.id,), text)


def _policy(row: Published) -> PublishedCheck | None:
    words = row.command.split()
    if "cyclictest" not in words:
        return None
    options = [word for word in words[words.index("cyclictest") + 1 :] if word.startswith("-")]
    if not options or any(
        word.startswith(("--prio", "--policy")) or re.match(r"-[A-Za-z]*p\d*$", word) for word in options
    ):
        return None
    text = f"{row.system}, {row.kernel}: no -p on the command line, so the threads ran as SCHED_OTHER"
    return PublishedCheck("NOT-RT-POLICY", INVALID, (row.id,), text)


def _intervals(row: Published) -> PublishedCheck | None:
    if len(set(row.intervals_us)) < 2:
        return None
    text = f"{row.system}, {row.kernel}: the threads have different intervals ({intervals(row)} us); pooled figures are mostly the first thread's"
    return PublishedCheck("INTERVAL-SPREAD", WARNING, (row.id,), text)


def _quantised(row: Published) -> PublishedCheck | None:
    low, top = number(row.min_us), number(row.max_us)
    if not (low and top and low.exact and top.exact and top.high.is_integer() and top.high - low.low < 4):
        return None
    text = f"{row.system}, {row.kernel}: {row.min_us} to {row.max_us} us is fewer than five steps of the 1 us histogram"
    return PublishedCheck("QUANTISED", WARNING, (row.id,), text)


def _zero(row: Published) -> PublishedCheck | None:
    low = number(row.min_us)
    if low is None or not low.exact or low.low > 0:
        return None
    text = f"{row.system}, {row.kernel}: a minimum of {row.min_us} us"
    return PublishedCheck("NEGATIVE-OR-ZERO", WARNING, (row.id,), text)
