"""Findings as plain JSON values."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rtassay.model.findings import Findings


def plain(value: Any) -> Any:
    """numpy scalars to Python's, tuples to lists, NaN and infinities to None; dictionary keys to text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def findings_dict(findings: Findings) -> dict[str, Any]:
    """The object of `rtassay show --json`, with `schema` first."""
    data: dict[str, Any] = plain(asdict(findings))
    return {"schema": data.pop("schema"), **data}
