"""Begin and end of a measurement, as its file states them. The time of the file itself says nothing: files are copied."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any


def span(started: Any, ended: Any) -> dict[str, str]:
    """`started` and `ended` for FACTS' `import` (see base.py), from two stamps as tools write them. Leaves out a value that is no stamp."""
    found = {"started": iso(started), "ended": iso(ended)}
    return {key: text for key, text in found.items() if text is not None}


def iso(stamp: Any) -> str | None:
    """ISO 8601 of `Sat, 21 Nov 2026 21:34:33 +0000` or of ISO 8601: in UTC with Z, or unchanged and without Z if the stamp has no zone."""
    if not isinstance(stamp, str) or len(stamp) > 60:
        return None
    for reads in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            when = reads(stamp.strip())
            if when.tzinfo is not None:
                when = when.astimezone(UTC)
            break
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    else:
        return None
    return when.replace(tzinfo=None).isoformat(timespec="seconds") + ("Z" if when.tzinfo is not None else "")
