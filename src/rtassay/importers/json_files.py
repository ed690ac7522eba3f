"""Shared by the JSON importers: they read JSON that C programs print without a library, and take fields from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from rtassay.importers.base import contents
from rtassay.model.errors import InputFileError

# printf("%f") of 0/0 and 1/0 is no JSON.
_BARE = re.compile(r'(":\s*)[-+]?(?:nan|inf|infinity)(?=\s*[,}\]\n])', re.IGNORECASE)
# Strings that are printed without escaping: a quote or backslash of a command line ends them early.
_UNESCAPED = re.compile(
    r'^(\s*"(?:cmdline|rt_test_version|nodename|version|release):?"\s*:\s*)"(.*)"(,?\s*)$', re.MULTILINE
)
_COUNT_MOST = 2**53


def load(path: Path) -> tuple[dict[str, Any], int]:
    """The object in a file, and the number of bare nan and inf in it (they become null). Raises InputFileError with line and column."""
    try:
        text = contents(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputFileError(f"{path}, byte {error.start}: not UTF-8", hint="nothing was imported") from error
    text, bare = _BARE.subn(r"\1null", text)
    try:
        data = _decode(text)
    except json.JSONDecodeError as first:
        try:
            data = _decode(_UNESCAPED.sub(lambda m: m[1] + json.dumps(m[2]) + m[3], text))
        except (ValueError, RecursionError):
            where = f"{path}, line {first.lineno}, column {first.colno}"
            raise InputFileError(
                f"{where}: {first.msg}", "the JSON is cut or damaged", "nothing was imported"
            ) from first
    except (ValueError, RecursionError) as error:
        raise InputFileError(f"{path}: {error}", hint="nothing was imported") from error
    if not isinstance(data, dict):
        raise InputFileError(f"{path}, line 1: not a JSON object", hint="nothing was imported")
    return data, bare


def _decode(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that comes twice would hide the first one's counts."""
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f'the key "{twice}" comes twice in one object')
    return made


def member(data: dict[str, Any], key: str) -> Any:
    """`key`, or `key:` as rt-tests spells two of its own."""
    return data.get(key, data.get(f"{key}:"))


def table(path: Path, data: dict[str, Any], key: str, where: str = "") -> dict[str, Any]:
    """An object that must be there."""
    value = data.get(key)
    if not isinstance(value, dict):
        raise InputFileError(f'{path}: {where}"{key}" is not an object', hint="nothing was imported")
    return value


def count(path: Path, value: Any, where: str) -> int:
    """A count: an integer of 0 .. 2^53."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _COUNT_MOST:
        raise InputFileError(f"{path}: {where} is {json.dumps(value)[:40]}, not a count", hint="nothing was imported")
    return value


def optional_count(path: Path, value: Any, where: str) -> int | None:
    """A count, or None where it is null or absent."""
    return None if value is None else count(path, value, where)


def average_ns(path: Path, value: Any, scale_ns: int, where: str) -> float | None:
    """An average in ns, or None for null and NaN."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _COUNT_MOST:
        raise InputFileError(f"{path}: {where} is not a number", hint="nothing was imported")
    return float(value) * scale_ns


def bins(path: Path, data: Any, where: str) -> dict[int, int]:
    """`{"12": 5}` as bin -> count, in order, without empty bins; an absent histogram is an empty one."""
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InputFileError(f"{path}: {where} is not an object", hint="nothing was imported")
    found = {}
    for key, value in data.items():
        if not re.fullmatch(r"\d{1,13}", key):
            raise InputFileError(f'{path}: {where}: "{key[:40]}" is not a bin', hint="nothing was imported")
        found[int(key)] = count(path, value, f'{where}, bin "{key}"')
    if len(found) != len(data):
        raise InputFileError(f"{path}: {where}: one bin is written in two ways", hint="nothing was imported")
    return {bucket: found[bucket] for bucket in sorted(found) if found[bucket]}


def lanes(path: Path, data: dict[str, Any], key: str, most: int = 4096) -> list[tuple[int, dict[str, Any]]]:
    """Rows of `{"0": {...}, "1": {...}}` by number. Raises InputFileError if there is none, or a key is no number."""
    rows = table(path, data, key)
    if not rows:
        raise InputFileError(f'{path} holds no measurement: "{key}" is empty', hint="nothing was imported")
    found: dict[int, dict[str, Any]] = {}
    for name in rows:
        if not re.fullmatch(r"\d{1,4}", name) or int(name) >= most or int(name) in found:
            raise InputFileError(f'{path}: {key} "{name[:40]}" is not a number of its own', hint="nothing was imported")
        found[int(name)] = table(path, rows, name, f"{key} ")
    return sorted(found.items())
