"""Labels and notes of a person: text that a recording keeps and every reader shows."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rtassay.model.errors import UsageError
from rtassay.model.foreign import LIMIT, is_sentence, one_line

NAME_LIMIT = 60
_KEY = re.compile(r"[A-Za-z][\w.-]{0,99}")


def check_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels. Raises UsageError for one with a strange key, without a value, or with a value that is no line of text."""
    for key, value in labels.items():
        if not (isinstance(key, str) and _KEY.fullmatch(key) and isinstance(value, str) and value):
            raise UsageError(f"--label '{key}={value}' is not of the form key=value", hint="write --label ambient=21C")
        check_text(f"--label {key}", value)
    return dict(labels)


def check_name(text: str) -> str:
    """The name of a recording. Raises UsageError for one that could be read as a path, a condition or an option, or that is no short line of text."""
    strange = "/" in text or "=" in text or text.startswith("-") or text in (".", "..")
    if not text.strip() or len(text) > NAME_LIMIT or strange:
        raise UsageError(
            f"--name '{one_line(text, NAME_LIMIT)}' is not a name",
            f"a name has at most {NAME_LIMIT} characters, no '/', no '=' and no '-' in front, and is not '.' or '..'",
            "write --name before-isolation",
        )
    check_text("--name", text)
    return text


def check_text(option: str, text: str) -> None:
    """Raises UsageError for a text that is not one line of UTF-8 without control characters."""
    if not is_sentence(text):
        raise UsageError(
            f"{option} is not one line of text",
            f"it has more than {LIMIT} characters, a control character, or bytes that are not UTF-8",
            "write it in UTF-8, on one line",
        )
