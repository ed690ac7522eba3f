"""Where recordings live."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from rtassay.model.errors import BoardError
from rtassay.store.disk import explain

SUFFIX = ".rta"
MANIFEST = "manifest.json"
MESSAGES = "messages.jsonl"


def new_id() -> str:
    """`<UTC yyyymmddThhmmss>-<6 hex>`: a list of ids sorts by time."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


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
