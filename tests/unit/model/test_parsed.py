"""JSON and TOML of nobody knows whom: every fault is a ValueError."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rtassay.boards.known import boards_file, known_boards
from rtassay.experiments import directory
from rtassay.gate import saved
from rtassay.model import methods
from rtassay.model.errors import BoardError, InputFileError, RtassayError
from rtassay.model.parsed import json_value, toml_table

DEEP = "[" * 100_000


@pytest.mark.parametrize("text", ["a = [", "a = " + "[" * 5000, "a = " + "9" * 5000, "a = 2026-99-99"])
def test_toml_that_cannot_be_read(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        toml_table(text)


@pytest.mark.parametrize("text", ["[", DEEP, b"\xff", "9" * 5000])
def test_json_that_cannot_be_read(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        json_value(text)


def test_what_is_right_is_read() -> None:
    assert toml_table('a = 1\n[b]\nc = "x"') == {"a": 1, "b": {"c": "x"}} and json_value('{"a": [1.5]}') == {"a": [1.5]}


def test_files_that_are_nested_too_deeply_are_told_as_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as a bug of rtassay: of a gate's result, an experiment's plan, the boards, and what a probe says of itself."""
    file = tmp_path / "plan.json"
    file.write_text('{"schema":' + DEEP)
    with pytest.raises(InputFileError, match="no result of a gate"):
        saved.read(file)
    with pytest.raises(RtassayError, match=r"plan\.json"):
        directory.load_plan(tmp_path)
    with pytest.raises(BoardError, match="no description"):
        methods.read(DEEP)
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    boards_file().write_text("a = " + "[" * 5000)
    with pytest.raises(InputFileError, match="cannot be read"):
        known_boards()
