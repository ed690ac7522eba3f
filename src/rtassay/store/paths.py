"""Where recordings live."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from rtassay.model.errors import BoardError
from rtassay.model.units import NS_PER_S
from rtassay.store.disk import explain

SUFFIX = ".rta"
MANIFEST = "manifest.json"
MESSAGES = "messages.jsonl"


_PARTS = 1 << 24
_newest = 0
_one_at_a_time = threading.Lock()


def new_id() -> str:
    """`<UTC yyyymmddThhmmss>-<6 hex>`: a list of ids sorts by time. The digits are the part of the second, so that this holds within one too."""
    global _newest
    with _one_at_a_time:
        # Two of one process differ, also where the clock has coarse steps or was set back a little.
        parts = time.time_ns() * _PARTS // NS_PER_S
        if _newest - _PARTS < parts <= _newest:
            parts = _newest + 1
        _newest = parts
    second, part = divmod(parts, _PARTS)
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(second))}-{part:06x}"


def home() -> Path:
    """The directory of recordings, made if it is missing: `recordings` in RTASSAY_HOME or in the XDG data directory.

    Raises BoardError if it cannot be made or written.
    """
    directory = default_directory()
    make_directory(directory)
    return directory


def make_directory(directory: Path) -> None:
    """Make a directory for recordings. Raises BoardError if it cannot be made or is not writable."""
    hint = f"make {directory} writable, or set RTASSAY_HOME to another directory"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BoardError(f"cannot make the directory for recordings {directory}", explain(error), hint) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise BoardError(f"cannot write recordings to {directory}", "it is not writable for this user", hint)


def recordings(directory: Path) -> Iterator[Path]:
    """Every recording in a directory (or in `recordings` below it), oldest first."""
    found: list[Path] = []
    for place in (directory, directory / "recordings"):
        try:
            with os.scandir(place) as entries:
                found += [Path(entry.path) for entry in entries if entry.name.endswith(SUFFIX) and entry.is_dir()]
        except OSError:
            continue
    yield from sorted(found, key=lambda path: path.name)


def default_directory() -> Path:
    """`recordings` in RTASSAY_HOME or in the XDG data directory; it may not exist."""
    base = os.environ.get("RTASSAY_HOME")
    if not base:
        import platformdirs

        base = platformdirs.user_data_dir("rtassay")
    return Path(base).expanduser().absolute() / "recordings"
