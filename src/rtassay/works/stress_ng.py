"""stress-ng with a fixed number of bogo operations for each stressor, one stressor after the other."""

from __future__ import annotations

import re
import shlex

from rtassay.model.errors import UsageError
from rtassay.works.base import Done, Part, ns_of

# Stressors that end when their operations are done, and about how many take a fifth of a second of a PC with two CPUs.
# (`sem` is none: it goes on until its time is over.)
STRESSORS = {"cpu": 400, "switch": 50_000, "msg": 100_000, "fork": 400, "sock": 100, "fault": 2_000}
_INSTANCES = 2
_LIMIT_S = 60
_ASKED = re.compile(r"(?P<name>[a-z][a-z0-9-]{0,30})(?:=(?P<ops>\d{1,12}))?")
_BLOCK = re.compile(r"^\s*- stressor: '?(?P<name>[a-z0-9-]+)'?\s*$", re.MULTILINE)


class StressNgWork:
    """Two instances of each stressor, all of them SCHED_OTHER; the time of a part is stress-ng's own `wall-clock-time`, its CPU time stress-ng's `user-time` and `system-time`, both for exactly the
    part's amount (a stressor may do a few operations more). `stress-ng:cpu,fork=2000` chooses stressors and operations. A stressor that stops by its limit of 60 s has not done its work: its
    round does not count."""

    name = "stress-ng"
    summary = (
        f"stress-ng, fixed bogo operations of {', '.join(STRESSORS)}; stress-ng:STRESSOR,STRESSOR=OPERATIONS chooses"
    )
    program: str | None = "stress-ng"

    def parts(self, argument: str | None) -> tuple[Part, ...]:
        return tuple(Part(name, operations, "bogo operations") for name, operations in _asked(argument).items())

    def command(self, argument: str | None, rtprobe: str) -> tuple[str, ...]:
        every = ("--timeout", f"{_LIMIT_S}s", "--metrics", "--yaml", "/proc/self/fd/1", "--temp-path", "/tmp")
        lines = [
            shlex.join(["stress-ng", *every, f"--{name}", str(_INSTANCES), f"--{name}-ops", str(operations)])
            for name, operations in _asked(argument).items()
        ]
        return "sh", "-c", " && ".join(lines)

    def read(self, argument: str | None, text: str) -> tuple[Done, ...]:
        blocks = [*_BLOCK.finditer(text)]
        ends = [*(block.start() for block in blocks), len(text)][1:]
        asked = _asked(argument)
        found = (
            _done(block["name"], text[block.end() : end], asked[block["name"]])
            for block, end in zip(blocks, ends, strict=True)
            if block["name"] in asked
        )
        return tuple(done for done in found if done is not None)


def _done(name: str, block: str, amount: int) -> Done | None:
    operations, wall, user, system = (
        _value(block, key) for key in ("bogo-ops", "wall-clock-time", "user-time", "system-time")
    )
    if not operations or wall is None or wall >= _LIMIT_S:
        return None
    share = amount / operations
    cpu = None if user is None or system is None else ns_of((user + system) * share)
    return Done(name, ns_of(wall * share), cpu)


def _value(block: str, key: str) -> float | None:
    found = re.search(rf"^\s*{key}: (\d+(?:\.\d+)?)\s*$", block, re.MULTILINE)
    return None if found is None else float(found[1])


def _asked(argument: str | None) -> dict[str, int]:
    """Operations by stressor, in the order that was asked for."""
    if argument is None:
        return dict(STRESSORS)
    found: dict[str, int] = {}
    for part in argument.split(","):
        asked = _ASKED.fullmatch(part.strip())
        if asked is None or (asked["ops"] is None and asked["name"] not in STRESSORS) or asked["ops"] == "0":
            raise UsageError(
                f"stress-ng: '{part.strip()}' is no stressor with a number of operations",
                hint=f"known: {', '.join(STRESSORS)}; another one as NAME=OPERATIONS",
            )
        found[asked["name"]] = int(asked["ops"] or STRESSORS[asked["name"]])
    return found
