"""Faults of known kind, time and length on the script board, and what rtassay says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rtassay import causes as _  # noqa: F401 - the room
from rtassay.causes.attribution import attribute
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import STREAM, ScriptBoard
from rtassay.model.causes import NO_PREEMPTION_POINT, Attribution, Hit, Moved, Trace
from rtassay.model.events import End, Facts, Note, TracePage, TraceText
from rtassay.wire.stream import StreamParser

HITS = 20
SURE_US = 1000
"""A shorter fault may add less than the level of a hit, where its thread was late itself."""
SHORT_HITS = 15
ABOVE_NS = 100_000
"""Above an undisturbed traced wake-up, which takes 67 us here."""
SHARE, SLACK_NS = 0.05, 10_000
OWN_NS = 50_000
"""What the thread of a fault takes for itself at a time, to wake up and to sleep again."""
SHORT_PERIOD_NS = 40_000_000
LENGTHS_US = (100, 1000, 3000)
_INTERVAL_NS = 1_000_000
_TICK_NS = 4 * _INTERVAL_NS
_AFTER_TICK_NS = 100_000, 700_000


@dataclass(frozen=True, slots=True)
class Fault:
    """`letter`: as rtfault takes it. `causes`: the kinds that are right. `delays_rt`: whether it keeps a FIFO thread of PREEMPT_RT waiting.
    `lead_ns`: how long before a due time its thread is woken (or its timer is due); the thread begins some 65 us later.
    `lead_rt_ns` on PREEMPT_RT, where a thread of its own wakes sleepers that are not real-time. `around_ns`: what the thread runs beside its spin.
    `period_ns`: from one to the next. `set_up`: a shell line before them, which knows $us, the length.
    """

    name: str
    letter: str
    causes: tuple[str, ...]
    owner: str
    delays_rt: bool
    lead_ns: int = 80_000
    lead_rt_ns: int = 140_000
    around_ns: int = 0
    period_ns: int = SHORT_PERIOD_NS
    lengths_us: tuple[int, ...] = LENGTHS_US
    set_up: str = ":"


# On PREEMPT_RT bottom halves, tasklets and kernel code are preempted, and a thread of its own writes to the console.
FAULTS = (
    Fault("interrupts off", "i", ("interrupts-off",), "rtfault_i", delays_rt=True),
    Fault("preemption off", "p", ("preemption-off",), "rtfault_p", delays_rt=True),
    Fault("bottom halves off", "b", ("bottom-halves-off",), "rtfault_b", delays_rt=False),
    Fault("tasklet", "t", ("softirq",), "TASKLET", delays_rt=False),
    # The softirq also takes each of its tasklets from a list.
    Fault("softirq flood", "l", ("softirq",), "HI", delays_rt=False, around_ns=10_000),
    Fault("kernel spin", "s", ("no-preemption-point",), "rtfault_s", delays_rt=False),
    Fault(
        "hrtimer callback",
        "h",
        ("hrtimer",),
        "rtfault_hrtimer [rtfault]",
        delays_rt=True,
        lead_ns=20_000,
        lead_rt_ns=20_000,
    ),
    Fault("FIFO 99 thread", "f", ("thread",), "rtfault_f", delays_rt=True, lead_rt_ns=80_000, around_ns=90_000),
    # Printing turns preemption off and, while it writes, interrupts; the wake-up may come just before.
    Fault(
        "printk, slow console",
        "k",
        ("interrupts-off", "preemption-off", "no-preemption-point"),
        "rtfault_k",
        delays_rt=False,
    ),
    # A period of 20 ms, which ends with the length. The scheduler looks when a thread wakes: each millisecond.
    Fault(
        "RT throttling",
        "r",
        ("throttling",),
        "",
        delays_rt=True,
        period_ns=120_000_000,
        lengths_us=(2000, 3000, 5000),
        set_up="cd /proc/sys/kernel; echo -1 > sched_rt_runtime_us; echo 20000 > sched_rt_period_us; echo $((19500 - us)) > sched_rt_runtime_us; cd /",
    ),
    # The lane also maps the page and takes it away again.
    Fault("page fault, from disk", "g", ("page-fault",), "rtprobe-lane", delays_rt=True, around_ns=150_000),
    Fault("page fault, in memory", "o", ("page-fault",), "rtprobe-lane", delays_rt=True, around_ns=150_000),
    Fault("SMI", "m", ("smi",), "", delays_rt=True),
)
GROUPS = (FAULTS[:3], FAULTS[3:6], FAULTS[6:9], FAULTS[9:12], FAULTS[12:])
_INTERRUPTS = ("irq", "hrtimer", "softirq", "ipi")
_WITHIN = ("wake-up", *_INTERRUPTS)
_SWITCH_NS = 25_000
"""The ordinary path from an interrupt to the thread that it woke takes 21 us here. Only what is longer than twice that is a cause (`ordinary`)."""


def expected_hits(fault: Fault, kernel: str, length_us: int) -> tuple[int, int]:
    """Least and most hits of `HITS` faults."""
    if kernel == "rt" and not fault.delays_rt:
        return 0, 0
    return (HITS if length_us >= SURE_US else SHORT_HITS), HITS


@dataclass(frozen=True, slots=True)
class Truth:
    """One fault as the module logged it."""

    letter: str
    length_us: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind and length on one kernel: faults injected, hits among them, and what was wrong of any hit, in words."""

    fault: Fault
    length_us: int
    injected: int
    hits: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One boot: a cell for each kind and length, hits without a fault that name rtfault all the same, and hits beyond the caps of a trace."""

    cells: tuple[Cell, ...]
    invented: tuple[str, ...]
    others: int
    not_captured: int
    stream: bytes


def run(
    kernel: str,
    module: bytes,
    probe: Path,
    faults: Sequence[Fault],
    seed: int = 1,
    method: str = "cyclic",
    above_ns: int = ABOVE_NS,
) -> Answer:
    """All lengths of some kinds in one boot, by a method of rtprobe."""
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    files = {"bin/rtprobe": probe.read_bytes(), "rtfault.ko": module}
    board = ScriptBoard(
        image.kernels[kernel], image.initramfs.read_bytes(), files, _script(kernel, faults, method, above_ns), seed
    )
    result = board.run(900)
    assert result.exit_code == 0, result.console[-2000:]
    truths = [Truth(row[0], *map(int, row[1:])) for row in map(str.split, result.files["faults"].decode().splitlines())]
    return judge(faults, truths, result.stream)


def _script(kernel: str, faults: Sequence[Fault], method: str, above_ns: int) -> str:
    """rtprobe, and when its events are on one plan after the other, at the phase of the lane's due times."""
    traced_ms = sum(len(f.lengths_us) * (HITS * f.period_ns // 1_000_000 + 300) for f in faults) + 3000
    lines = ["set -e; insmod /rtfault.ko", *begun(traced_ms, method, above_ns)]
    for fault in faults:
        for length_us in fault.lengths_us:
            lines += [
                f"us={length_us}; {fault.set_up}",
                SOON,
                planned(fault, kernel, length_us, "rtfault"),
                f"sleep {(HITS * fault.period_ns / 1e9 + 0.2):.2f}",
            ]
    return "\n".join([*lines, "wait $probe", "cat /proc/rtfault > /out/faults", ""])


def begun(traced_ms: int, method: str = "cyclic", above_ns: int = ABOVE_NS) -> list[str]:
    """Shell lines: rtprobe, until it traces; $first is its first due time.

    It is begun anew until no tick of the kernel falls into the path of its wake-ups: else every fourth would be late, and more than a
    second may have.
    """
    first = f"first=$(grep -a -o '\"first_due_ns\": *[0-9]*' /out/{STREAM} 2>/dev/null | head -n 1 | grep -o '[0-9]*$')"
    tick = "tick=$(sed -n '/tick_sched_timer/{n;s/.*at \\([0-9]*\\)-.*/\\1/p;q}' /proc/timer_list)"
    return [
        # Before the kernel has gone over to high resolution, soon after its boot, its tick is no such timer, and a lane would be late by ticks.
        "until grep -q tick_sched_timer /proc/timer_list; do sleep 0.1; done",
        "while :; do",
        f"rtprobe {method} --cpus 0 --interval 1ms --duration {2 * traced_ms}ms --trace-above {above_ns}ns --no-samples -o /out/{STREAM} &",
        "probe=$!",
        f'until {first}; [ -n "$first" ]; do sleep 0.1; done',
        tick,
        f"after=$(( ((first - tick) % {_INTERVAL_NS} + {_INTERVAL_NS}) % {_INTERVAL_NS} ))",
        f"[ $after -gt {_AFTER_TICK_NS[0]} ] && [ $after -lt {_AFTER_TICK_NS[1]} ] && break",
        f"kill $probe; wait $probe || :; rm /out/{STREAM}",
        "done",
        f"until grep -q -a trace_begin /out/{STREAM}; do sleep 0.2; done",
    ]


SOON = f"now=$(( $(cut -d' ' -f1 /proc/uptime | tr -d .) * 10000000 )); k=$(( (now - first) / {_INTERVAL_NS} + 150 ))"

AFTER_A_TICK = f"k=$(( k + (5 - ((first + k * {_INTERVAL_NS} - tick) % {_TICK_NS} + {_TICK_NS}) % {_TICK_NS} / {_INTERVAL_NS}) % 4 ))"
"""A shell line after SOON: $k in the second millisecond after a tick, in every boot. The period of the faults is a whole number of ticks, so each would meet a
tick at the same place, and boots differ in it."""


def planned(fault: Fault, kernel: str, length_us: int, module: str) -> str:
    """A shell line: HITS faults, the first at activation $k of the lane."""
    lead_ns = fault.lead_rt_ns if kernel == "rt" else fault.lead_ns
    at = f"$((first + k * {_INTERVAL_NS} - {lead_ns}))"
    return f'echo "{fault.letter} {length_us} {HITS} {at} {fault.period_ns}" > /proc/{module}'


def judge(faults: Sequence[Fault], truths: Sequence[Truth], stream: bytes) -> Answer:
    """What rtassay says of every hit, beside the truth."""
    trace, realtime = trace_of(stream)
    smis = [Moved("smi", 0, t.start_ns - 3_000_000, t.end_ns + 3_000_000, 1) for t in truths if t.letter == "m"]
    found = attribute(trace, virtual=False, realtime=realtime, moved=smis)
    by_fault: dict[tuple[str, int], list[tuple[Attribution, Truth]]] = {}
    invented, others = [], 0
    told: set[Truth] = set()
    # On PREEMPT_RT these keep no FIFO thread waiting: what is late in their time is late by something else (rtprobe's reader of pages).
    harmless = {fault.letter for fault in faults if realtime and not fault.delays_rt}
    owners = {fault.owner for fault in faults}
    for one in found:
        # The first hit of a fault is its doing. The module sees the end of a fault late, when the lane has run again.
        met = [t for t in truths if t not in told and t.start_ns < one.hit.woke_ns and t.end_ns > one.hit.due_ns]
        if not any(part.ns > OWN_NS and part.cause.name in owners for part in one.parts):
            met = [t for t in met if t.letter not in harmless]
        told.update(met)
        if met:
            by_fault.setdefault((met[0].letter, met[0].length_us), []).append((one, met[0]))
            continue
        others += 1
        invented += [
            f"k {one.hit.k}: {part.cause}" for part in one.parts if "rtfault" in part.cause.name and part.ns > OWN_NS
        ]
    cells = []
    for fault in faults:
        for length_us in fault.lengths_us:
            pairs = by_fault.get((fault.letter, length_us), [])
            wrong = [
                f"k {one.hit.k}: {word}" for one, truth in pairs if (word := _wrong(fault, one, truth)) is not None
            ]
            injected = sum((t.letter, t.length_us) == (fault.letter, length_us) for t in truths)
            cells.append(Cell(fault, length_us, injected, len(pairs), tuple(wrong)))
    return Answer(tuple(cells), tuple(invented), others, _not_captured(stream), stream)


def _wrong(fault: Fault, one: Attribution, truth: Truth) -> str | None:
    """What is wrong of a hit that a fault caused. The time of the fault may also belong to what interrupted it (the wake-up, a tick)."""
    start, end = max(truth.start_ns, one.hit.due_ns), min(truth.end_ns, one.hit.woke_ns)
    inside: Counter[str] = Counter()
    right_ns = outside_ns = 0
    interrupted_until = start
    for part in one.parts:
        ns = max(0, min(part.start_ns + part.ns, end) - max(part.start_ns, start))
        # The interrupt before the fault found nothing off, and the next one comes a tick later: the thread did not leave meanwhile.
        before = part.cause.kind == NO_PREEMPTION_POINT and part.start_ns < truth.start_ns < one.hit.woke_ns
        if (part.cause.kind in fault.causes or before) and part.cause.name == fault.owner:
            right_ns, outside_ns = right_ns + ns, outside_ns + part.ns - ns
        else:
            inside[part.cause.kind] += ns
        if ns and part.cause.kind in _INTERRUPTS:
            interrupted_until = part.start_ns + part.ns
    if right_ns == 0 and interrupted_until > start and end - interrupted_until <= _SWITCH_NS:
        return None  # An interrupt ran for nearly all of its time: it was over when the thread could have run.
    slack = max(SHARE * (end - start), SLACK_NS)
    astray = sum(ns for kind, ns in inside.items() if kind not in _WITHIN)
    if astray > slack or right_ns == 0:
        return f"{(end - start) / 1e3:.0f} us were the fault's, {right_ns / 1e3:.0f} found, others: {dict(inside)} {one.evidence}"
    return f"{outside_ns / 1e3:.0f} us too many" if outside_ns > slack + fault.around_ns else None


def _not_captured(stream: bytes) -> int:
    ends = [event.data["trace"] for event in StreamParser().feed(stream) if isinstance(event, End)]
    return sum(int(trace["not_captured"]) for trace in ends)


def trace_of(stream: bytes) -> tuple[Trace, bool]:
    """The trace of a stream of one lane on CPU 0, and whether the kernel is PREEMPT_RT."""
    texts: dict[str, str] = {}
    pages: dict[int, list[bytes]] = {}
    hits = []
    realtime = followed = False
    others: set[int] = set()
    for event in StreamParser().feed(stream):
        match event:
            case Facts(data=data):
                realtime, followed = "PREEMPT_RT" in data["kernel"]["version"], data["command"] == "follow"
                # Of a followed program only its real-time thread: a fault's own thread delays an ordinary one by more than the fault.
                others = {row["tid"] for row in data["lanes"] if followed and not row["name"].startswith("control-")}
            case TraceText(name=name, content=content):
                texts[name] = content.decode()
            case TracePage(cpu=cpu, page=page):
                pages.setdefault(cpu, []).append(page)
            case Note(name="trace_hit", data=d) if d["captured"] and d["tid"] not in others:
                hits.append(Hit(0, 0, d["tid"], d["k"], d["due_ns"], d["woke_ns"]))
    formats = {name.removeprefix("format/"): text for name, text in texts.items() if name.startswith("format/")}
    held = {cpu: tuple(found) for cpu, found in pages.items()}
    kallsyms = texts.get("kallsyms", "")
    return Trace(texts["header_page"], formats, held, tuple(hits), kallsyms, followed), realtime
