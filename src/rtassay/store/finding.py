"""Find the recording that a person means: by path, id, unique beginning of an id, or name."""

from __future__ import annotations

from pathlib import Path

from rtassay.model.errors import UsageError
from rtassay.store.paths import MANIFEST, SUFFIX, default_directory, recordings

_SHOWN = 6


def find(name: str, home: Path | None = None) -> Path:
    """The recording that a path, an id, a name, or a unique beginning of an id means.

    The name is that of --name, else that of the imported file. Raises UsageError with the possible recordings.
    """
    path = Path(name).expanduser()
    if name and (path / MANIFEST).is_file():
        return path
    if path.name == MANIFEST and path.is_file():
        return path.parent
    if name and path.is_dir():
        raise UsageError(f"{name} is not a recording", f"it has no {MANIFEST}")
    directory = home if home is not None else default_directory()
    ids = {recording.name.removesuffix(SUFFIX): recording for recording in recordings(directory)}
    wanted = name.removesuffix(SUFFIX)
    if wanted in ids:
        return ids[wanted]
    candidates = [known for known in ids if wanted and known.startswith(wanted)]
    candidates = candidates if len(candidates) == 1 else _named(name, directory) or candidates
    if len(candidates) == 1:
        return ids[candidates[0]]
    if candidates:
        raise UsageError(f"'{name}' fits {len(candidates)} recordings", hint=f"which one: {_some(candidates)}")
    newest = f"the newest are {_some(sorted(ids)[-_SHOWN:])}" if ids else "there are none yet; rtassay run makes one"
    raise UsageError(f"there is no recording '{name}'", f"no path, id or name of one in {directory}", newest)


def _named(name: str, directory: Path) -> list[str]:
    """Ids of the recordings of this name; a name that a person gave goes before the name of a file."""
    from rtassay.store.index import entries

    every = entries(directory) if name else []
    return [one.id for one in every if one.name == name] or [one.id for one in every if one.file == name]


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
