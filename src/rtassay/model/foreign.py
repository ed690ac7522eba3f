"""The one filter for text from outside (a board, a file, a user) before it reaches a terminal, a path or a page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

LIMIT = 4000
# C0 and C1 control characters, zero-width and bidirectional marks, line separators, lone surrogates.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.+-]+")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
# Characters that GitHub would read as markup, a mention or a table border.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&@])")
_FORMULA = ("=", "+", "-", "@", "\t")
# A counter of the kernel fits 64 bits. Python refuses thousands of digits, and a float does not hold hundreds.
_NUMBER = re.compile(r"-?[0-9]{1,20}")


def printable(text: str) -> str:
    """The text with each unsafe character replaced by U+FFFD; newlines and tabs stay."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))


def clean(text: str, limit: int = LIMIT) -> str:
    """`printable`, cut at `limit` characters, and the cut is stated."""
    plain = printable(text)
    return plain if len(plain) <= limit else f"{plain[:limit]} … ({len(plain) - limit:,} more characters)"


def one_line(text: str, limit: int = LIMIT) -> str:
    """`clean` on a single line: every run of white space is one space."""
    return clean(" ".join(text.split()), limit)


def command_words(argv: Iterable[str]) -> str:
    """A command line for people to read: a script in it, a word of several lines, is '…'."""
    return shlex.join("…" if "\n" in word else word for word in argv)


def markdown(text: str) -> str:
    """The text as plain words on one line of GitHub's Markdown: no markup, no HTML, no mention, no table border."""
    return _MARKDOWN.sub(r"\\\1", one_line(text)).replace("\\@", "@\u2060")


def csv_cell(text: str) -> str:
    """The text for a cell of CSV: a spreadsheet does not take it for a formula. Numbers are no text and stay as they are."""
    plain = one_line(text)
    return f"'{plain}" if plain.startswith(_FORMULA) else plain


def number(text: str | None) -> int | None:
    """The integer that the text is, if it has at most 20 digits; None for anything else."""
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None


def is_name(text: str) -> bool:
    """Whether the text may become part of a path or a command as it is: letters, digits and `_.+-`, at most 64 characters."""
    return _NAME.fullmatch(text) is not None


def is_path(text: str) -> bool:
    """Whether the text is an absolute path of printable characters without `..`, at most 1000 long."""
    plain = text.isprintable() and "\N{REPLACEMENT CHARACTER}" not in text
    return text.startswith("/") and plain and len(text) <= 1000 and ".." not in text.split("/")


def is_utf8(text: str) -> bool:
    """Whether the text can be written as UTF-8. A word of the command line with other bytes has lone surrogates for them."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def is_sentence(text: str) -> bool:
    """Whether a person may have written the text as a label or a note: one line without control characters, at most 4000 long."""
    return len(text) <= LIMIT and "\n" not in text and printable(text) == text


def file_name(text: str) -> str:
    """A name that stays in its directory and is not hidden: letters, digits and `_.+-`; at most 100 characters."""
    return _NOT_IN_A_NAME.sub("_", text).lstrip(".")[:100] or "unnamed"
