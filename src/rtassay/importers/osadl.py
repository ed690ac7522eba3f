"""OSADL's "RT Dataset" 1.0 and "RT Cyclictest" 1.0 (Latencyplot): one JSON document with a histogram per core, and maxima apart from it.

The description and the files differ: OSADL's scripts write `"granularity": "microseconds"`, and `cores` begins with a column of class
numbers. "RT Cyclictest" has no maxima, its head is `format-test`, and another file names the board.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers.base import Importer
from rtassay.importers.columns import MAX_LANES, Column, bad, contradictions, events_of, json_object, text_of
from rtassay.model.events import Event
from rtassay.model.manifest import Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_US

_MAX_BINS = 1 << 22
_NAMES = ("RT Dataset", "RT Cyclictest")
_UNIT_NS = {"nanoseconds": 1, "microseconds": NS_PER_US}


class OsadlImporter(Importer):
    """Lanes `core0` ...: cores in the order of the file. Load, kernel and processor go into the facts."""

    name = "osadl"
    summary = "OSADL RT Dataset 1.0 and RT Cyclictest 1.0 (JSON of Latencyplot)"

    def recognises(self, head: bytes) -> bool:
        return (
            head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
            and re.search(rb'"name"\s*:\s*"RT (Dataset|Cyclictest|Configuration)"', head) is not None
        )

    def source(self, path: Path) -> Source:
        """cyclictest measured; its version is not in the file."""
        _checked(path)
        return Source("cyclictest", None, self.name, "skip")

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with the line for what is no JSON, else with the name of the field."""
        data = _checked(path)
        latency, condition = _object(data, "latency"), _object(data, "condition")
        width_ns = _granularity(path, latency.get("granularity"))
        cores, numbered = _cores(path, latency)
        columns = _columns(path, cores, latency.get("maxima"), width_ns)
        imported = _imported(data, condition, columns, width_ns) | ({"index_column": True} if numbered else {})
        yield from events_of(columns, width_ns, _facts(data, condition), imported)


def _checked(path: Path) -> dict[str, Any]:
    data = json_object(path)
    if "format-conf" in data:
        raise bad(
            path,
            "this file describes the board, and holds no histogram",
            hint="import the file beside it, `RT Cyclictest`",
        )
    form = _object(data, "format") or _object(data, "format-test")
    if form.get("name") not in _NAMES:
        raise bad(path, f"its format is none of {', '.join(_NAMES)}", hint="the file with the histograms is wanted")
    version = str(form.get("version"))[:20]
    if version.split(".")[0] != "1":
        raise bad(path, f"{form['name']} version {version} is not known here", hint="known: 1.0")
    return data


def _object(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _whole(value: Any, limit: int = 2**62) -> int | None:
    """A count, written as a number, or as a string by OSADL's scripts."""
    if isinstance(value, str) and value.isascii() and value.strip().isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit
    return value if good else None


def _granularity(path: Path, value: Any) -> int:
    """ns of one latency class. The field is a number of us, a text such as `1 us`, or the word `microseconds` (meaning 1)."""
    if isinstance(value, str) and value.strip().lower() in _UNIT_NS:
        return _UNIT_NS[value.strip().lower()]
    if isinstance(value, str) and (match := re.fullmatch(r"\s*(\d{1,6}) ?(ns|us|µs|microseconds?)?\s*", value)):
        return max(1, int(match[1]) * (1 if match[2] == "ns" else NS_PER_US))
    number = _whole(value, 10**6)
    if number is None or number == 0:
        raise bad(path, f"latency.granularity {str(value)[:40]!r} is not a number of microseconds")
    return number * NS_PER_US


def _cores(path: Path, latency: dict[str, Any]) -> tuple[list[Any], bool]:
    """The histograms, and whether a column of class numbers preceded them."""
    cores, maxima = latency.get("cores"), latency.get("maxima")
    if not isinstance(cores, list) or not 0 < len(cores) <= MAX_LANES:
        raise bad(path, "latency.cores is not a list with one histogram per core")
    one_more = len(maxima) + 1 == len(cores) if isinstance(maxima, list) else len(cores) > 1
    first = cores[0]
    if (
        one_more
        and isinstance(first, list)
        and len(first) > 1
        and [_whole(value) for value in first] == [*range(len(first))]
    ):
        return cores[1:], True
    return cores, False


def _columns(path: Path, cores: list[Any], maxima: Any, width_ns: int) -> list[Column]:
    if maxima is not None and (not isinstance(maxima, list) or len(maxima) != len(cores)):
        raise bad(path, f"latency.maxima does not have one value for each of {len(cores)} cores")
    return [_column(path, i, core, maxima[i] if maxima else None, width_ns) for i, core in enumerate(cores)]


def _column(path: Path, i: int, core: Any, maximum: Any, width_ns: int) -> Column:
    if not isinstance(core, list) or not 0 < len(core) <= _MAX_BINS:
        raise bad(path, f"latency.cores[{i}] is not a list of counts")
    column = Column(name=f"core{i}", measure=WAKE_UP, cpu=i, limit_ns=len(core) * width_ns)
    for k, value in enumerate(core):
        count = _whole(value)
        if count is None:
            raise bad(path, f"latency.cores[{i}][{k}] is not a count: {str(value)[:40]!r}")
        if count:
            column.bins[k * width_ns] = count
    top = _whole(maximum, 2**40)
    if maximum is not None and top is None:
        raise bad(path, f"latency.maxima[{i}] is not a number of microseconds: {str(maximum)[:40]!r}")
    if top is not None:
        column.max_ns = top * NS_PER_US
        # No overflow count in the format: a maximum beyond the last class proves one sample, and only that.
        column.over = 1 if column.max_ns >= len(core) * width_ns else 0
    return column


def _imported(data: dict[str, Any], condition: dict[str, Any], columns: list[Column], width_ns: int) -> dict[str, Any]:
    caveats = [
        "cores are taken for CPUs in the order of the file",
        "the format has neither minimum nor average, nor a count of overflows",
    ]
    found: dict[str, Any] = {"format": "osadl", "caveats": caveats}
    beyond = [column.name for column in columns if column.over]
    if beyond:
        found["over_at_least"] = True
        caveats.append(
            f"{', '.join(beyond[:4])}: the maximum lies beyond the last class: at least one sample is in no class, and the file does not count them"
        )
    if any(column.max_ns is None for column in columns):
        caveats.append("without latency.maxima the file does not show whether samples lay beyond the last class")
    load = text_of(condition.get("load"))
    if load:
        found["load"] = load
        caveats.append(f"the load is one word of the author: {load}")
    inconsistent = contradictions(columns, width_ns)
    cycles = _whole(condition.get("cycles"))
    if cycles is not None:
        found["cycles"] = cycles
        inconsistent += [f"{c.name} holds {c.binned} samples of {cycles} cycles" for c in columns if c.binned > cycles]
    if inconsistent:
        found["inconsistent"] = inconsistent
    stamps = {key: text for key, value in _object(data, "timestamps").items() if (text := text_of(value, 60))}
    processor = {key: text for key, value in _object(data, "processor").items() if (text := text_of(value, 200))}
    kernel = _object(data, "kernel")
    config = kernel.get("config")
    if isinstance(config, list) and config:
        lines = sorted(str(line) for line in config)
        found["kernel_config_sha256"] = hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()
        found["preempt_rt"] = "CONFIG_PREEMPT_RT=y" in lines or "CONFIG_PREEMPT_RT_FULL=y" in lines
    more = {
        "timestamps": stamps,
        "processor": processor,
        "hostname": text_of(_object(data, "system").get("hostname"), 100),
        "kernel_command_line": text_of(kernel.get("cmdline"), 4096),
    }
    return found | {key: value for key, value in more.items() if value}


def _facts(data: dict[str, Any], condition: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    release = text_of(_object(data, "kernel").get("version"), 200)
    if release:
        facts["kernel"] = {"release": release}
    interval = _whole(condition.get("interval"), 10**9)
    if interval:
        facts["interval_ns"] = interval * NS_PER_US
    command = text_of(condition.get("cyclictest"), 2000)
    if command:
        facts["argv"] = command.split()
    return facts
