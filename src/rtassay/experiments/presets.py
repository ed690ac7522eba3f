"""Experiment files that come with rtassay: only data in `presets/`."""

from __future__ import annotations

import difflib
from pathlib import Path

from rtassay.experiments.files import Source, read
from rtassay.model.errors import UsageError

_PACKAGE = Path(__file__).resolve().parent.parent
# Packaged with the wheel, else the checkout's.
_PLACES = (_PACKAGE / "_presets", _PACKAGE.parent.parent / "presets")


def names() -> tuple[str, ...]:
    """Every preset, by name."""
    return tuple(sorted(path.stem for path in _directory().glob("*.toml")))


def path_of(name: str) -> Path:
    """The file of a preset. Raises UsageError with the nearest name."""
    path = _directory() / f"{name}.toml"
    if not name or "/" in name or not path.is_file():
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise UsageError(f"there is no preset '{name}'", hint=f"{hint}known: {', '.join(names())}")
    return path


def find(name: str, *, corrected: bool = False) -> Source:
    """An experiment file by path or a preset by name. Raises UsageError, InputFileError."""
    path = Path(name).expanduser()
    if path.is_file():
        return read(path, corrected=corrected)
    if path.suffix or len(path.parts) > 1:
        raise UsageError(f"there is no file {name}", hint=f"or name a preset: {', '.join(names())}")
    return read(path_of(name), corrected=corrected)


def _directory() -> Path:
    return next((place for place in _PLACES if place.is_dir()), _PLACES[-1])
