"""Booting another kernel: every way a board may answer, on a board that is a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rtassay.boot import switch
from rtassay.boot.base import Kernel
from rtassay.model.errors import BoardError, UsageError

STOCK = Kernel("stock", "Debian, with Linux 6.1", "6.1", rt=False, default=True)
RT = Kernel("adv>rt", "Debian, with Linux 6.1-rt", "6.1-rt", rt=True)
AGAIN = Kernel("adv>stock", "Debian, with Linux 6.1 again", "6.1", rt=False)
RECOVERY = Kernel("adv>rec", "Debian, with Linux 6.1-rt (recovery mode)", "6.1-rt", rt=True)
VERSIONS = {"6.1": "#1 SMP PREEMPT_DYNAMIC", "6.1-rt": "#1 SMP PREEMPT_RT"}


class Answer:
    pid = 1

    def __init__(self, text: str) -> None:
        self._text = text

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._text.encode()

    async def errors(self) -> bytes:
        return b""

    async def close_stdin(self) -> None:
        pass

    async def wait(self, timeout_s: float | None = None) -> int:
        return 0


class ScriptedBoard:
    """Answers what runs; `boots` says what comes up at the next contact after a reboot (None: not reachable)."""

    name = "b"
    words: tuple[str, ...] = ()

    def __init__(self, boots: Sequence[str | None]) -> None:
        self.release, self.boot = "6.1", 1
        self._boots = list(boots)
        self.went_down = False
        self.notice: Callable[[str], None] = lambda words: None

    async def open(self) -> None:
        if not self.went_down:
            return
        now = self._boots.pop(0) if self._boots else None
        if now is None:
            raise BoardError("cannot log in to b", "it cannot be reached")
        self.release, self.boot, self.went_down = now, self.boot + 1, False

    async def close(self) -> None:
        pass

    async def read(self, path: str) -> bytes:
        return b"quiet " + " ".join(self.words if self.boot > 1 else ()).encode()

    async def start(self, argv: Sequence[str]) -> Answer:
        return Answer(f"boot-{self.boot}\n{self.release}\n{VERSIONS[self.release]}\n")


class ScriptedLoader:
    name = "scripted"
    keeps_default = True

    def __init__(self, does: Callable[[ScriptedBoard], None]) -> None:
        self.log: list[str] = []
        self._does = does

    async def kernels(self, board: Any) -> list[Kernel]:
        return [STOCK, RT, AGAIN, RECOVERY]

    async def use_once(self, board: Any, kernel: Kernel) -> None:
        self.log.append(f"once {kernel.id}")

    async def with_words(self, board: Any, kernel: Kernel, words: tuple[str, ...]) -> Kernel:
        self.log.append(f"words {' '.join(words)}")
        if kernel.release == "6.1":  # the other one loses them
            board.words = words
        return replace(kernel, words=words)

    async def without_words(self, board: Any) -> None:
        self.log.append("no words")

    async def take_back(self, board: Any) -> None:
        self.log.append("take back")

    async def use_by_default(self, board: Any, kernel: Kernel) -> None:
        self.log.append(f"default {kernel.id}")

    async def reboot(self, board: Any) -> None:
        self._does(board)


def goes_down(board: ScriptedBoard) -> None:
    board.went_down = True


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "_PAUSE_S", 0.001)
    monkeypatch.setattr(switch, "_FIRST_PAUSE_S", 0.0)


def switched(
    monkeypatch: pytest.MonkeyPatch,
    boots: Sequence[str | None],
    name: str | None = "rt",
    does: Callable[[ScriptedBoard], None] = goes_down,
    back_within_s: float = 60,
    **options: Any,
) -> tuple[ScriptedLoader, switch.Running]:
    loader = ScriptedLoader(does)

    async def loader_of(board: Any) -> Any:
        return loader

    monkeypatch.setattr(switch, "loader_of", loader_of)
    monkeypatch.setattr(switch, "_test_loader", loader, raising=False)
    board: Any = ScriptedBoard(boots)
    now = asyncio.run(switch.switch_kernel(board, name, back_within_s=back_within_s, **options))
    return loader, now


def test_a_board_that_is_away_for_a_while_comes_back_with_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    loader, now = switched(monkeypatch, [None, None, "6.1-rt"])
    assert (now.release, now.rt, now.boot_id) == ("6.1-rt", True, "boot-2")
    assert loader.log == ["once adv>rt", "take back"]


def test_a_default_is_set_only_after_the_kernel_came_up(monkeypatch: pytest.MonkeyPatch) -> None:
    loader, _ = switched(monkeypatch, ["6.1-rt"], default=True)
    assert loader.log == ["once adv>rt", "take back", "default adv>rt"]


@pytest.mark.parametrize("boots", [["6.1"], [None, "6.1"]])
def test_another_kernel_than_asked_is_an_error_and_no_default(
    monkeypatch: pytest.MonkeyPatch, boots: list[str | None]
) -> None:
    with pytest.raises(BoardError, match=r"came back with kernel 6\.1, not with 6\.1-rt"):
        switched(monkeypatch, boots, default=True)
    assert "default adv>rt" not in switch._test_loader.log  # type: ignore[attr-defined]


def test_a_board_that_does_not_come_back_is_said_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BoardError, match="not back after") as caught:
        switched(monkeypatch, [], back_within_s=0.5, default=True)
    assert "off and on" in (caught.value.hint or "") and "default was not changed" in (caught.value.hint or "")
    assert switch._test_loader.log == ["once adv>rt"]  # type: ignore[attr-defined]


def test_a_board_that_ignores_the_reboot_is_told_from_one_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BoardError, match="did not go down"):
        switched(monkeypatch, [], does=lambda board: None, back_within_s=0.5)
    assert switch._test_loader.log == ["once adv>rt", "take back"]  # type: ignore[attr-defined]


def test_the_same_kernel_is_booted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    _, now = switched(monkeypatch, ["6.1"], name="stock")
    assert now.boot_id == "boot-2"


def test_the_running_kernel_is_booted_once_with_more_words(monkeypatch: pytest.MonkeyPatch) -> None:
    loader, now = switched(monkeypatch, [None, "6.1"], name=None, words=("isolcpus=1", "nohz_full=1"))
    assert now.boot_id == "boot-2"
    assert loader.log == ["words isolcpus=1 nohz_full=1", "once stock", "no words", "take back"]


def test_a_default_that_tells_no_release_is_taken_for_the_running_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedLoader, "kernels", _of_a_card)
    loader, now = switched(monkeypatch, [None, "6.1"], name=None, words=("isolcpus=1",))
    assert now.release == "6.1" and loader.log[1] == "once kernel8.img"
    with pytest.raises(BoardError, match=r"came back with kernel 6\.1-rt"):
        switched(monkeypatch, ["6.1-rt"], name=None, words=("isolcpus=1",))


async def _of_a_card(loader: ScriptedLoader, board: Any) -> list[Kernel]:
    return [Kernel("kernel8.img", "kernel8.img", default=True), Kernel("kernel-rt.img", "kernel-rt.img")]


def test_a_boot_without_the_words_is_an_error_and_leaves_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BoardError, match="came back without isolcpus=1"):
        switched(monkeypatch, ["6.1-rt"], name="rt", words=("isolcpus=1",))
    assert switch._test_loader.log[-2:] == ["no words", "take back"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("word", ["a b", "x;reboot", "$x", "a{", "", "-x", 'q="1"'])
def test_what_is_no_plain_word_is_refused_before_anything_is_written(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="no plain word"):
        switched(monkeypatch, ["6.1"], name=None, words=(word,))
    assert switch._test_loader.log == []  # type: ignore[attr-defined]


def test_this_machine_is_refused() -> None:
    board: Any = ScriptedBoard([])
    board.name = "local"
    with pytest.raises(UsageError):
        asyncio.run(switch.switch_kernel(board, "rt"))


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("stock", STOCK),
        ("rt", RT),
        ("RT", RT),
        ("adv>rt", RT),
        ("6.1-rt", RT),
        ("6.1", STOCK),
        ("Debian, with Linux 6.1-rt", RT),
    ],
)
def test_words_for_kernels(word: str, meant: Kernel) -> None:
    assert switch.resolve([STOCK, RT, AGAIN, RECOVERY], word) == meant


@pytest.mark.parametrize("word", ["nothing", "preempt_rt"])
def test_unknown_words_are_answered_with_what_there_is(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        switch.resolve([STOCK, AGAIN], word)
    assert "stock" in (caught.value.hint or "")


def test_a_word_for_two_kernels_is_a_question() -> None:
    with pytest.raises(UsageError, match="fits 2"):
        switch.resolve([STOCK, RT], "debian")
