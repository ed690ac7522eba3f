"""The late policy of each version of a tool (docs/method/activations.md)."""

from __future__ import annotations

import re

_CYCLICTEST_SKIPS_SINCE = (0, 92)


def late_policy(tool: str, version: str | None) -> str:
    """`skip`, `catch_up` or `unknown` (model.manifest.Source)."""
    if tool == "jitterdebugger":
        return "catch_up"
    number = re.match(r"v?(\d{1,4})\.(\d{1,4})", version or "")
    if tool != "cyclictest" or number is None:
        return "unknown"
    # 0.84 and 0.92, then 1.0 and 2.40: the second part is a number, not a fraction.
    return "skip" if (int(number[1]), int(number[2])) >= _CYCLICTEST_SKIPS_SINCE else "catch_up"
