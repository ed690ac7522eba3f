"""Runs of the real thing on this machine, each a few seconds; what they start is found again by a mark in its environment."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from flow_support import MARK, PLAN, Marked, namespace_mark

from rtassay.boards.local import LocalBoard
from rtassay.session.control import Progress, RunResult, StopRequest
from rtassay.session.run import run


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Marked]:
    with namespace_mark() as namespace:
        mark = Marked(uuid.uuid4().hex, namespace)
        monkeypatch.setenv(MARK, mark.value)
        yield mark
        mark.wait_gone()


@pytest.fixture
def heard() -> list[Progress]:
    """What `measure` has heard of its run so far."""
    return []


@pytest.fixture
def measure(tmp_path: Path, heard: list[Progress]) -> Callable[..., RunResult]:
    """`measure(board=..., during=async function(stop), **plan fields)`: one run in this process. What `during` raises comes out."""

    async def stopping_if_it_fails(during: Awaitable[None], stop: StopRequest) -> None:
        try:
            await during
        except Exception:
            stop.request()  # the run goes on for minutes otherwise
            raise

    def start(
        board: Any = None,
        during: Callable[[StopRequest], Any] | None = None,
        home: Path = tmp_path,
        isolated: bool = False,
        lanes: int | None = None,
        machine: Any = None,
        **fields: Any,
    ) -> RunResult:
        async def main() -> RunResult:
            stop = StopRequest()
            meanwhile = None if during is None else asyncio.create_task(stopping_if_it_fails(during(stop), stop))
            try:
                return await run(
                    board or LocalBoard(),
                    replace(PLAN, **fields),
                    home=home,
                    labels={"ambient": "21C"},
                    note="a note",
                    on_event=heard.append,
                    stop=stop,
                    isolated=isolated,
                    lanes=lanes,
                    machine=machine,
                )
            finally:
                if meanwhile is not None:
                    meanwhile.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await meanwhile

        return asyncio.run(main())

    return start
