"""A saved result as the base of a later gate."""

from __future__ import annotations

from pathlib import Path

from rtassay.model.errors import InputFileError
from rtassay.model.files import read_regular
from rtassay.model.gate import Gate

_MOST_BYTES = 64 * 1024 * 1024
_SCHEMA = "rtassay/gate/1"


def read(path: Path) -> Gate:
    """Raises InputFileError for a file that no gate wrote."""
    import msgspec

    hint = "rtassay gate KERNEL --output FILE.json makes such a file"
    try:
        content = read_regular(path)[:_MOST_BYTES]
    except OSError as error:
        raise InputFileError(f"cannot read {path}", error.strerror) from error
    try:
        data = msgspec.json.decode(content)
        if not isinstance(data, dict) or data.get("schema") != _SCHEMA:
            raise InputFileError(f"{path} is no result of a gate", f'its "schema" is not "{_SCHEMA}"', hint)
        return msgspec.convert(data, Gate)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise InputFileError(f"{path} is no result of a gate", str(error), hint) from error
