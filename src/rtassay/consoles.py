"""A run over a console as a person asks for it: values become the plan of rtprobe-lite, and its end a sealed recording.

`rtassay run serial:...` uses it, beside `runs`, which does the same for boards that run Linux.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rtassay.boards.consoles import Address, is_console, parse
from rtassay.boards.known import KnownBoard, known_boards
from rtassay.boards.links import open_link
from rtassay.lab import rtos
from rtassay.model.errors import UsageError
from rtassay.model.labels import check_labels, check_name, check_text
from rtassay.model.manifest import Plan
from rtassay.model.settings import DEFAULT_DURATION_NS
from rtassay.model.units import NS_PER_MS, parse_duration_ns
from rtassay.session.console import ConsoleRun, check_speed

if TYPE_CHECKING:
    from rtassay.session.control import Progress, RunResult, StopRequest

LOADS: Final = ("none", "below", "above", "critical", "storm")
DEFAULT_LOAD: Final = "below"
PRIORITY: Final = 90
_MOST_PRIORITY = 98  # the load `above` has 99
_INTERVAL_NS = NS_PER_MS
_WEEK_NS = 7 * 86_400 * 10**9
# Options that rtprobe-lite has no answer to, by the name of their value, with the value that they have when nobody gives them.
_LINUX_ONLY: Final[dict[str, tuple[str, tuple[Any, ...]]]] = {
    "cpus": ("--cpus", (None,)),
    "load_cpus": ("--load-cpus", (None,)),
    "policy": ("--policy", (None, "fifo")),
    "warm_up_ns": ("--warm-up", (None, 0)),
    "probe": ("--probe", ("rtprobe",)),
    "cyclictest_line": ("--cyclictest-line", (None,)),
    "break_above_ns": ("--break-above", (None,)),
    "trace_above_ns": ("--trace-above", (None,)),
    "looks": ("--looks", (None, 0, 1)),
    "settings": ("--set", ({},)),
}


@dataclass(frozen=True, slots=True)
class Request:
    """One run over a console. `inventory`: what is known of the board beside what it tells."""

    address: Address
    board: str
    run: ConsoleRun
    plan: Plan
    home: Path
    labels: Mapping[str, str]
    note: str | None
    name: str | None
    inventory: dict[str, Any]


def takes(board: str) -> bool:
    """Whether the word names a console with rtprobe-lite: an address, a board that a person named, or one of the lab."""
    address = _address(board)
    return address is not None and not address.linux


def _address(board: str) -> Address | None:
    known = known_boards().get(board)
    if known is not None:
        return parse(known.address) if known.transport in ("console", "serial") else None
    virtual = rtos.find(board)
    if virtual is not None:
        return parse(f"unix:{virtual.console}")
    return parse(board) if is_console(board) else None


def make_request(board: str, values: Mapping[str, Any]) -> Request:
    """A request from the values of `runs.make_request`, and `send` and `wait`. Raises UsageError."""
    from rtassay import store

    for key, (option, usual) in _LINUX_ONLY.items():
        if values[key] not in usual:
            raise UsageError(
                f"{option} does not go with {board}", "rtprobe-lite on a console knows nothing like it", "leave it out"
            )
    labels = dict(check_labels(values["labels"]))
    if values["note"] is not None:
        check_text("--note", values["note"])
    if values["name"] is not None:
        check_name(values["name"])
    known = known_boards().get(board) or rtos.find(board)
    address = _address(board)
    assert address is not None
    run = run_of(values if known is None else {**values, **_of_board(known, values)})
    check_speed(run, address.baud)
    return Request(
        address=address,
        board=address.name if is_console(board) else board,
        run=run,
        plan=_plan_of(values, run),
        home=Path(values["output"]) if values["output"] else store.default_directory(),
        labels=labels,
        note=values["note"],
        name=values["name"],
        inventory={"virtualisation": "tcg"} if address.kind == "unix" else {},
    )


def run_of(values: Mapping[str, Any]) -> ConsoleRun:
    """What to ask of rtprobe-lite. Raises UsageError for a value that it cannot have."""
    if len(values["load"]) > 1:
        raise UsageError("rtprobe-lite runs one load at a time", hint="name one --load")
    text = DEFAULT_LOAD if values["load"] == ("auto",) else values["load"][0]
    load, load_ns, load_every_ns = parse_load(text)
    interval_ns = values["interval_ns"] or _INTERVAL_NS
    count = values["count"] or max(1, (values["duration_ns"] or DEFAULT_DURATION_NS) // interval_ns)
    if count * interval_ns > _WEEK_NS:
        raise UsageError("a run over a console lasts at most a week", hint="a smaller --duration or --count")
    priority = values["priority"] or PRIORITY
    if priority > _MOST_PRIORITY:
        raise UsageError(
            f"--priority {priority}: at most {_MOST_PRIORITY} on a console", hint="the load `above` has 99"
        )
    return ConsoleRun(
        count=count,
        interval_ns=interval_ns,
        deadline_ns=values["deadline_ns"],
        priority=priority,
        lanes=values["lanes"] or 1,
        load=load,
        load_ns=load_ns,
        load_every_ns=load_every_ns,
        send=values["send"],
        wait=values["wait"],
        reset=values["reset"],
    )


def _of_board(known: KnownBoard | rtos.RtosBoard, values: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of the board where the person says nothing."""
    keys = ("send", "wait", "reset")
    return {key: getattr(known, key, None) if values[key] is None else values[key] for key in keys}


def parse_load(text: str) -> tuple[str, int | None, int | None]:
    """`critical:371us/5ms`: the load, how long it is busy, and every so often; both None where they are not said. Raises UsageError."""
    name, colon, rest = text.partition(":")
    if name not in LOADS:
        raise UsageError(f"rtprobe-lite has no load '{name}'", hint=f"known: {', '.join(LOADS)}; as critical:371us/5ms")
    busy, slash, every = rest.partition("/")
    if (colon and not busy) or (slash and not every):
        raise UsageError(f"--load {text}: a time is missing", hint="as critical:371us/5ms: busy for 371 us every 5 ms")
    return name, parse_duration_ns(busy) if busy else None, parse_duration_ns(every) if every else None


def _plan_of(values: Mapping[str, Any], run: ConsoleRun) -> Plan:
    from rtassay.analysis.judge.waivers import check_waivers
    from rtassay.model.foreign import printable

    return replace(
        Plan(),
        probe="rtprobe-lite",
        interval_ns=run.interval_ns,
        count=run.count,
        deadline_ns=run.deadline_ns,
        p_target=values["p_target"],
        per_hour=values["per_hour"],
        confidence=values["confidence"],
        keep_samples=False,
        command=(run.command.decode().strip(),),
        argv=tuple(printable(word) for word in values["argv"]),
        configured=tuple(printable(word) for word in values["configured"]),
        strict=values["strict"],
        waivers=check_waivers(values["waivers"]) if values["waivers"] else {},
    )


async def measure(request: Request, on_event: Callable[[Progress], None], stop: StopRequest) -> RunResult:
    """Measure and seal. Raises what `session.console.measure` raises."""
    from rtassay.session.console import measure as heard

    link = await asyncio.to_thread(open_link, request.address)
    return await heard(
        link,
        request.run,
        board=request.board,
        home=request.home,
        plan=request.plan,
        labels=request.labels,
        note=request.note,
        name=request.name,
        inventory=request.inventory,
        on_event=on_event,
        stop=stop,
    )
