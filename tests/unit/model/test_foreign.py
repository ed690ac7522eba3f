"""The filter for text from outside: nothing that moves a cursor, turns a line round or leaves a directory passes it."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from rtassay.model.foreign import clean, file_name, one_line, printable

TEXTS = st.text(st.characters(), max_size=200)


@given(TEXTS)
def test_nothing_unsafe_passes_and_plain_text_is_kept(text: str) -> None:
    shown = printable(text)
    for letter in shown:
        assert letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs")
        assert letter not in "\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069"
    if text.isascii() and text.isprintable():
        assert shown == text
    assert "\n" not in one_line(text)
    shown.encode()


@given(TEXTS)
def test_a_file_name_stays_in_its_directory(text: str) -> None:
    name = file_name(text)
    assert PurePosixPath(name).name == name and not name.startswith(".") and len(name) <= 100
    assert name not in ("", "..")


def test_a_cut_is_stated() -> None:
    assert clean("x" * 50, 20) == "x" * 20 + " … (30 more characters)"
    assert file_name("../../etc/passwd") == "_.._etc_passwd"
