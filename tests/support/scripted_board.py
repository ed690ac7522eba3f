"""A board on which everything is scripted, and a clock that waits for nobody: whole runs in milliseconds, with exact times.

For fault injection and known answers beside the real runs of tests/flow.
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from rtassay.boards.base import AtClose, nothing_to_sync
from rtassay.model.errors import RunLost
from rtassay.model.events import End, Event, Facts, FileContent, Note
from rtassay.wire.encode import StreamEncoder
from rtassay.wire.stream import StreamParser

T = TypeVar("T")
S = 10**9
RTPROBE = "/board/rtprobe"
GOLDEN = Path(__file__).parents[2] / "wire" / "golden" / "v1"
WATCH = (GOLDEN / "watch.rtw").read_bytes()


class SkippingLoop(asyncio.SelectorEventLoop):
    """Where nothing is left to do but to wait for a time, that time has come. Where nothing can ever come, it raises."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s, self._jobs = 1000.0, 0
        ready = self._selector.select  # type: ignore[attr-defined]

        def select(timeout: float | None = None) -> Any:
            if self._jobs:
                return ready(5.0 if timeout is None else min(timeout, 5.0))
            if timeout is None:
                raise RuntimeError("all tasks wait for something that never comes")
            self._now_s += max(0.0, timeout)
            return ready(0)

        self._selector.select = select  # type: ignore[attr-defined]

    def time(self) -> float:
        return self._now_s

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        self._jobs += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._job_done)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        self._jobs += 1
        await super().shutdown_default_executor()
        self._jobs -= 1

    def _job_done(self, future: object) -> None:
        self._jobs -= 1


def run_skipping(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on a SkippingLoop."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(main)


def skip_time(patch: pytest.MonkeyPatch, *modules: Any) -> None:
    """`time` in these modules tells the time of the SkippingLoop. Its calendar begins a million seconds after 1970."""

    def now_s() -> float:
        return asyncio.get_running_loop().time()

    clock = SimpleNamespace(
        monotonic=now_s,
        monotonic_ns=lambda: round(now_s() * S),
        time_ns=lambda: round((now_s() + 1_000_000) * S),
    )
    for module in modules:
        patch.setattr(module, "time", clock)


class Step(Enum):
    """TOLD: waits until its stdin is closed or it gets a signal. NEVER: goes on for ever."""

    TOLD = auto()
    NEVER = auto()


@dataclass
class Part:
    """What one process does: bytes it writes, seconds it takes, an error that its connection raises, a Step; then it ends with `code`.

    `ends_when_told`: it ends as soon as its stdin is closed, though nobody reads the rest.
    """

    steps: Sequence[bytes | float | Exception | Step] = ()
    code: int = 0
    errors: bytes = b""
    ends_when_told: bool = False


class ScriptedProcess:
    """A Part that runs from byte `offset` of its output on."""

    pid = 4242

    def __init__(self, name: str, part: Part, tell: Callable[[str], None], offset: int = 0) -> None:
        self._name, self.part, self._tell, self._offset = name, part, tell, offset
        self._told, self.ended = asyncio.Event(), asyncio.Event()
        self.at_end: list[ScriptedProcess] = []

    async def chunks(self) -> AsyncIterator[bytes]:
        left = self._offset
        for step in self.part.steps:
            if isinstance(step, bytes):
                if step[left:]:
                    yield step[left:]
                left = max(0, left - len(step))
            elif isinstance(step, Exception):
                raise step
            elif step is Step.TOLD:
                await self._told.wait()
            elif step is Step.NEVER:
                await asyncio.Event().wait()
            else:
                await asyncio.sleep(step)  # type: ignore[arg-type]
        self.ended.set()
        for other in self.at_end:
            await other.close_stdin()

    async def errors(self) -> bytes:
        return self.part.errors

    async def close_stdin(self) -> None:
        self._tell(f"close {self._name}")
        self._told.set()
        if self.part.ends_when_told:
            self.ended.set()

    async def signal(self, number: int) -> None:
        self._tell(f"signal {int(number)} {self._name}")
        self._told.set()

    async def wait(self, timeout_s: float | None = None) -> int:
        async with asyncio.timeout(timeout_s):
            await self.ended.wait()
        return self.part.code


class ScriptedBoard:
    """`parts`: what is launched, by name. `files`: what `rtprobe watch --count 1` finds. `programs`: what is on PATH, with its --version.

    `answers` replaces the answer to a short command, by its first words (`cat`, `describe`, `watch`, `clock`). `told` is all that was
    asked of the board, in order, with its time in seconds; `argv` the command lines of what was launched.
    """

    name = "scripted"
    connected = True

    def __init__(self, parts: Mapping[str, Part] | None = None, files: Mapping[str, bytes] | None = None) -> None:
        self.parts = dict(parts or {})
        self.files = dict(FILES if files is None else files)
        self.programs: dict[str, Part] = {}
        self.answers: dict[str, Part] = {}
        self.told: list[tuple[float, str]] = []
        self.argv: dict[str, list[str]] = {}
        self.started: list[list[str]] = []
        self.ends: dict[str, list[str]] = {}
        self.offsets: dict[str, int] = {}
        self.closed_with: list[AtClose] = []
        self.notice: Callable[[str], None] = lambda sentence: None
        self.synced: Any = nothing_to_sync
        self.at_close = AtClose.END
        self.detaches = False
        self.slow = False
        self.baud: int | None = None
        self.offline_s = 0.0
        self.resume_data: dict[str, Any] | None = None
        self._running: dict[str, ScriptedProcess] = {}
        self._begun_s: float | None = None

    @property
    def words(self) -> list[str]:
        """All that was asked of the board, without times."""
        return [word for _, word in self.told]

    def at_s(self, word: str) -> float:
        """When it was first asked for this, in seconds since `open`."""
        return next(at_s for at_s, said in self.told if said == word)

    def tell(self, word: str) -> None:
        now_s = asyncio.get_running_loop().time()
        self._begun_s = now_s if self._begun_s is None else self._begun_s
        self.told.append((round(now_s - self._begun_s, 3), word))

    async def open(self) -> None:
        self.tell("open")

    async def close(self) -> None:
        self.tell("end")
        self.closed_with.append(self.at_close)

    async def probe(self) -> str:
        return RTPROBE

    async def which(self, program: str) -> str | None:
        return f"/bin/{program}" if program in self.programs else None

    async def through_cuts(self, work: Callable[[], Awaitable[Any]]) -> Any:
        return await work()

    async def start(self, argv: Sequence[str]) -> Any:
        self.started.append(list(argv))
        name, part = self._short(list(argv))
        self.tell(name)
        process = ScriptedProcess(name, self.answers.get(name, part), self.tell)
        if not process.part.steps:
            process.ended.set()
        return process

    async def launch(self, argv: Sequence[str], name: str, *, ends: Sequence[str] = ()) -> Any:
        self.tell(f"launch {name}")
        self.argv[name], self.ends[name] = list(argv), list(ends)
        process = self._running[name] = ScriptedProcess(name, self.parts[name], self.tell)
        process.at_end = [self._running[other] for other in ends]
        return process

    def resume(self, data: Mapping[str, Any]) -> None:
        assert dict(data) == self.resume_data

    async def reattach(self, name: str, offset: int) -> Any:
        self.tell(f"reattach {name}")
        if name not in self.parts:
            raise RunLost(f"nothing of {name}")
        self.offsets[name] = offset
        return ScriptedProcess(name, self.parts[name], self.tell, offset)

    def _short(self, argv: list[str]) -> tuple[str, Part]:
        if argv[:2] == [RTPROBE, "watch"]:
            paths = argv[argv.index("--max-bytes") + 2 :] if "--max-bytes" in argv else argv[4:]
            return (
                ("clock", Part([facts(mono_ns=7 * S, wall_ns=1_000_107 * S), end()], ends_when_told=True))
                if paths == ["/proc/uptime"]
                else ("watch", Part([watched(self.files, paths)]))
            )
        if argv == [RTPROBE, "describe"]:
            return "describe", Part([json.dumps({"schema": "rtprobe/describe/2", "methods": []}).encode()])
        if argv[1:] == ["--version"]:
            name = argv[0].removeprefix("/bin/")
            return f"version {name}", self.programs[name]
        if argv[0] == "cat":
            return "cat", Part([self.files.get(argv[1], b"")], 0 if argv[1] in self.files else 1)
        return " ".join(argv), Part()


FILES = {
    "/proc/self/status": b"Name:\twatch\nCpus_allowed_list:\t0-3\n",
    "/proc/sys/kernel/osrelease": b"6.12.0\n",
    "/proc/meminfo": b"MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n",
    "/sys/devices/system/cpu/online": b"0-3\n",
    "/sys/devices/system/cpu/isolated": b"2-3\n",
}


def encode(*events: Event) -> bytes:
    return StreamEncoder().encode_all(list(events))


def facts(**fields: Any) -> bytes:
    return encode(Facts({"stream": 1, "probe": "rtprobe", "version": "9.9", **fields}))


def end(**fields: Any) -> bytes:
    encoder = StreamEncoder()
    encoder.encode(Facts({"stream": 1}))
    return encoder.encode(End({"mono_ns": 5, "wall_ns": 6, "reason": "duration", "exit": 0, **fields}))


def watched(files: Mapping[str, bytes], paths: Sequence[str], *, whole: bool = True) -> bytes:
    """What `rtprobe watch --count 1` writes."""
    found = [path for path in files if any(fnmatch.fnmatchcase(path, asked) for asked in paths)]
    missing = [path for path in paths if "*" not in path and path not in files]
    events: list[Event] = [Facts({"stream": 1, "command": "watch", "paths": [*found, *missing]})]
    events += [FileContent(1, path, 0, files[path]) for path in found]
    events += [FileContent(1, path, 2, None) for path in missing]
    return encode(*events, *([End({"mono_ns": 5, "wall_ns": 6, "reason": "count", "exit": 0})] if whole else []))


def measured(**in_end: Any) -> bytes:
    """The golden stream of a measurement, with other words in its END."""
    return encode(*golden(**in_end))


def golden(**in_end: Any) -> list[Event]:
    parser = StreamParser()
    data = (GOLDEN / "cyclic.rtw").read_bytes()
    events: list[Event] = [*parser.feed(data), *parser.finish()]
    in_end = {"reason": "duration", "exit": 0, **in_end}
    return [replace(event, data={**event.data, **in_end}) if isinstance(event, End) else event for event in events]


def note(name: str, at_ns: int, **fields: Any) -> Note:
    return Note(name, None, {"event": name, "mono_ns": at_ns, **fields})


def pieces(*events: Event) -> list[bytes]:
    """One stream, a piece for every event."""
    encoder = StreamEncoder()
    return [encoder.encode(event) for event in events]


def load_part(
    *output: Event, started_ns: int = 1, ended_ns: int = 9 * S, asked_ns: int | None = 8 * S, code: int = 0
) -> Part:
    """A guard's stream of a load that goes on until it is told to end."""
    asked = [] if asked_ns is None else [note("owner_gone", asked_ns)]
    exited = note("child_exited", ended_ns, pid=9, exit_code=code, signal=None, user_ns=S, system_ns=S)
    made = pieces(
        Facts({"stream": 1, "command": "guard"}),
        note("child_started", started_ns, pid=9),
        *output,
        *asked,
        exited,
        End({"mono_ns": ended_ns, "wall_ns": 1, "reason": "owner", "exit": 0, "user_ns": 2 * S, "system_ns": S}),
    )
    first = 2 + len(output)
    return Part([*made[:first], Step.TOLD, *made[first:]])
