"""hackbench of rt-tests: many tasks send each other small messages, which is hard work for the scheduler."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rtassay.loads.base import LoadCommand, LoadResult, LoadSpec, Meter, Rate
from rtassay.loads.tools import RepeatMeter, repeated, split
from rtassay.model.manifest import WorkPart

_GROUPS = re.compile(
    r"with (?P<groups>\d+) groups using (?P<fds>\d+) file descriptors each \(== (?P<tasks>\d+) tasks\)"
)
_LOOPS = re.compile(r"Each sender will pass (?P<loops>\d+) messages")
_TIME = re.compile(r"^Time: (?P<seconds>\d+\.\d+)")
_CUT = re.compile(r"^(?:Signal \d+ caught|signaling \d+ worker threads|sending SIGTERM)")


class HackbenchLoad:
    """One group of 40 tasks per load CPU, 200 messages from each sender to each receiver: a round of about a second, started again
    by `rtprobe repeat` until the run is over. `hackbench:ARGS` gives it other arguments.

    A round of g groups with n senders each and l loops passes g * n * n * l messages (counted in /proc/PID/io): that is the work
    done, of complete rounds only; a round cut short counts nothing.
    """

    name = "hackbench"
    summary = "hackbench (rt-tests) in a loop: scheduler and context switches; hackbench:ARGS for your own"

    def needs(self, argument: str | None) -> str | None:
        if argument is not None:
            split(self.name, argument)
        return "hackbench"

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        standard = ["-g", str(len(spec.cpus)), "-l", "200"]
        arguments = standard if spec.argument is None else split(self.name, spec.argument)
        inet = any(word == "--inet" or re.fullmatch(r"-[a-zA-Z]*i", word) for word in arguments)
        classes = ("network", "scheduler") if inet else ("scheduler",)
        return [LoadCommand(repeated(spec, [spec.program or "hackbench", *arguments]), classes)]

    def meter(self, argv: Sequence[str]) -> Meter:
        return _Meter()


class _Meter(RepeatMeter):
    def __init__(self) -> None:
        super().__init__()
        self._shape: tuple[int, int, int] | None = None
        self._loops: int | None = None
        self._cut = False
        self._messages = 0
        self._seconds = 0.0
        self._rounds = 0

    def counts_rounds(self) -> bool:
        return False

    def line(self, mono_ns: int, text: str) -> list[Rate]:
        if found := _GROUPS.search(text):
            self._shape = int(found["groups"]), int(found["fds"]), int(found["tasks"])
        elif found := _LOOPS.search(text):
            self._loops = int(found["loops"])
        elif _CUT.match(text):
            self._cut = True
        elif (found := _TIME.match(text)) and not self._cut:
            return self._round(mono_ns, float(found["seconds"]))
        return []

    def _round(self, mono_ns: int, seconds: float) -> list[Rate]:
        if self._shape is None or self._loops is None:
            return []
        groups, fds, _ = self._shape
        # hackbench prints both ends of every pair: 40 descriptors are 20 senders and 20 receivers.
        messages = groups * (fds // 2) ** 2 * self._loops
        self._messages += messages
        self._seconds += seconds
        self._rounds += 1
        return [Rate(mono_ns, messages / seconds, "messages/s")] if seconds > 0 else []

    def summary(self) -> LoadResult:
        error = self.failure()
        if not self._rounds:
            return LoadResult(None, None, error)
        tasks = None if self._shape is None else self._shape[2]
        done = float(self._messages)
        parts = (WorkPart(f"{self._rounds} rounds", done, "messages", self._seconds, tasks),)
        return LoadResult(done, "messages", error, parts)
