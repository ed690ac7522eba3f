"""JSON with one key a line and one list item a line, so that two reports can be compared with diff."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def document(members: Mapping[str, Any]) -> bytes:
    """The object as ASCII text. NaN and infinity are not known, so they are null."""
    lines = [f"{_dump(key)}: {_value(value)}" for key, value in members.items()]
    return ("{\n " + ",\n ".join(lines) + "\n}\n").encode()


def _value(value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"  {_dump(item)}" for item in _finite(value)) + "\n ]"
    return _dump(value)


def _dump(value: Any) -> str:
    # ASCII escapes carry lone surrogates of foreign text, which UTF-8 cannot.
    return json.dumps(_finite(value), ensure_ascii=True, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def bins(lower_ns: Any, width_ns: Any, counts: Any) -> dict[str, list[int]]:
    """Bin i holds `count[i]` samples in [lower_ns[i], lower_ns[i] + width_ns[i])."""
    return {"lower_ns": lower_ns.tolist(), "width_ns": width_ns.tolist(), "count": counts.tolist()}
