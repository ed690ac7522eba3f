"""JSON and TOML whose author is not known: whatever is wrong with it is a ValueError."""

from __future__ import annotations

import json
from typing import Any

_TOO_DEEP = "it is nested too deeply"


def json_value(text: str | bytes) -> Any:
    """What the JSON says. Raises ValueError, also where it is nested deeper than Python can follow."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


def toml_table(text: str) -> dict[str, Any]:
    """What the TOML says. Raises TOMLDecodeError, also for what tomllib gives up at in another way: depth, numbers of thousands of digits."""
    import tomllib  # here, since most verbs read no TOML

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError as error:
        raise tomllib.TOMLDecodeError(_TOO_DEEP) from error
    except ValueError as error:
        raise tomllib.TOMLDecodeError("a number has too many digits") from error


def why(error: OSError | ValueError) -> str:
    """Why a file of text could not be read, in words."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"byte {error.start} is no UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
