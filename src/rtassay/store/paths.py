"""Where recordings live and how a person names one."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from rtassay.model.errors import BoardError, UsageError
from rtassay.store.disk import explain

SUFFIX = ".rta"
MANIFEST = "manifest.json"
MESSAGES = "messages.jsonl"
_SHOWN = 6


def new_id() -> str:
    """`<UTC yyyymmddThhmmss>-<6 hex>`: a list of ids sorts by time."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def home() -> Path:
    """The directory that holds recordings, made if need be: `recordings` in RTASSAY_HOME or in the XDG data directory.

    Raises BoardError where it cannot be made or written.
    """
    directory = _default_directory()
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


def find(name: str, home: Path | None = None) -> Path:
    """The recording a person means: a path, an id, or a prefix of one that only one recording has.

    Raises UsageError that lists what it could have been.
    """
    path = Path(name).expanduser()
    if name and (path / MANIFEST).is_file():
        return path
    if path.name == MANIFEST and path.is_file():
        return path.parent
    if name and path.is_dir():
        raise UsageError(f"{name} is not a recording", f"it has no {MANIFEST}")
    directory = home if home is not None else _default_directory()
    ids = {recording.name.removesuffix(SUFFIX): recording for recording in recordings(directory)}
    wanted = name.removesuffix(SUFFIX)
    if wanted in ids:
        return ids[wanted]
    candidates = [known for known in ids if wanted and known.startswith(wanted)]
    if len(candidates) == 1:
        return ids[candidates[0]]
    if candidates:
        raise UsageError(f"'{name}' fits {len(candidates)} recordings", hint=f"which one: {_some(candidates)}")
    newest = f"the newest are {_some(sorted(ids)[-_SHOWN:])}" if ids else "there are none yet; rtassay run makes one"
    raise UsageError(f"there is no recording '{name}'", f"neither a path nor an id in {directory}", newest)


def _default_directory() -> Path:
    base = os.environ.get("RTASSAY_HOME")
    if not base:
        import platformdirs

        base = platformdirs.user_data_dir("rtassay")
    return Path(base).expanduser().absolute() / "recordings"


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
