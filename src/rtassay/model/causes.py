"""Why a wake-up was late: what a trace holds (`Trace`), and who owned each nanosecond of a hit (`Attribution`).

A hit is one late wake-up that was traced. Its time has four phases:

| phase | from | to |
| --- | --- | --- |
| A | the due time | the start of the timer interrupt |
| B | there | the waking of the measured thread |
| C | there | the switch to that thread |
| D | there | the moment at which the thread read the clock |

A phase that a hit did not have is empty: no part names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rtassay.model.errors import InputFileError

INTERRUPTS_OFF: Final = "interrupts-off"
IRQ: Final = "irq"
SOFTIRQ: Final = "softirq"
HRTIMER: Final = "hrtimer"
PREEMPTION_OFF: Final = "preemption-off"
BOTTOM_HALVES_OFF: Final = "bottom-halves-off"
NO_PREEMPTION_POINT: Final = "no-preemption-point"
THREAD: Final = "thread"
IPI: Final = "ipi"
IDLE_EXIT: Final = "idle-exit"
THROTTLING: Final = "throttling"
PAGE_FAULT: Final = "page-fault"
OBSERVER: Final = "observer"
SMI: Final = "smi"
HYPERVISOR: Final = "hypervisor"
WAKE_UP: Final = "wake-up"
UNATTRIBUTED: Final = "unattributed"
KINDS: Final = (
    INTERRUPTS_OFF,
    IRQ,
    SOFTIRQ,
    HRTIMER,
    PREEMPTION_OFF,
    BOTTOM_HALVES_OFF,
    NO_PREEMPTION_POINT,
    THREAD,
    IPI,
    IDLE_EXIT,
    THROTTLING,
    PAGE_FAULT,
    OBSERVER,
    SMI,
    HYPERVISOR,
    WAKE_UP,
    UNATTRIBUTED,
)
"""What can own time. `wake-up` is the ordinary path of the wake-up itself; docs/method/causes.md tells each."""

PHASES: Final = ("A", "B", "C", "D")

NO_EVENT: Final = "no-event"
INSIDE: Final = "inside"
PREEMPT_COUNT: Final = "preempt-count"
AT_END: Final = "at-end"
BH_FLAG: Final = "bottom-halves-flag"
PRIORITY_ABOVE: Final = "priority-above"
PRIORITY_BELOW: Final = "priority-below"
CHOSEN_INSTEAD: Final = "chosen-instead"
NOT_TO_LEAVE: Final = "not-to-leave"
OWN_THREAD: Final = "own-thread"
PAGE_FAULT_EVENT: Final = "page-fault-event"
FROM_IDLE: Final = "from-idle"
HOLE_ON_ALL_CPUS: Final = "hole-on-all-cpus"
SMI_COUNT: Final = "smi-count"
STEAL_TIME: Final = "steal-time"
SWITCHED_MEANWHILE: Final = "switched-meanwhile"
EVENTS_LOST: Final = "events-lost"
NO_PAGES: Final = "no-pages"
BEGINS_LATE: Final = "begins-late"
NO_WAKING: Final = "no-waking"
NO_SWITCH: Final = "no-switch"
WOKEN_ELSEWHERE: Final = "woken-elsewhere"
WOKEN_OUTSIDE_INTERRUPT: Final = "woken-outside-interrupt"
NEVER_SLEPT: Final = "never-slept"
EVIDENCE: Final = (
    NO_EVENT,
    INSIDE,
    PREEMPT_COUNT,
    BH_FLAG,
    PRIORITY_ABOVE,
    PRIORITY_BELOW,
    CHOSEN_INSTEAD,
    NOT_TO_LEAVE,
    OWN_THREAD,
    PAGE_FAULT_EVENT,
    FROM_IDLE,
    HOLE_ON_ALL_CPUS,
    SMI_COUNT,
    STEAL_TIME,
    SWITCHED_MEANWHILE,
    EVENTS_LOST,
    NO_PAGES,
    BEGINS_LATE,
    NO_WAKING,
    NO_SWITCH,
    WOKEN_ELSEWHERE,
    WOKEN_OUTSIDE_INTERRUPT,
    NEVER_SLEPT,
)
"""What an attribution rests on, and what it lacks, as codes. docs/method/causes.md tells each."""


class NotATrace(InputFileError):
    """A text of a trace (`header_page`, a format) that does not say what is needed to decode its pages (exit 2)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A late wake-up: activation `k` of a lane on `cpu`, whose thread is `tid`. Times on CLOCK_MONOTONIC."""

    lane: int
    cpu: int
    tid: int
    k: int
    due_ns: int
    woke_ns: int

    @property
    def latency_ns(self) -> int:
        """What the parts of its attribution sum to."""
        return self.woke_ns - self.due_ns


@dataclass(frozen=True, slots=True)
class Moved:
    """A counter that moved: `counter` is `smi` (by: how many) or `steal` (by: ns), read at start_ns and at end_ns.

    `cpu` None: the counter is of the whole board.
    """

    counter: str
    cpu: int | None
    start_ns: int
    end_ns: int
    by: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What the board sent, unparsed.

    header_page: text of tracefs `events/header_page`. formats: name of an event (`sched/sched_switch`) to the text of its
    format. pages: CPU to ring-buffer pages in the order of time. kallsyms: lines as the kernel prints them, for the
    addresses that occur; may be empty. followed: the hits are wake-ups of a followed thread, from its waking until it ran, by the
    stamps of another ring.
    """

    header_page: str
    formats: Mapping[str, str]
    pages: Mapping[int, tuple[bytes, ...]]
    hits: tuple[Hit, ...]
    kallsyms: str = ""
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Cause:
    """Who owned a time.

    | kind | name | number | pid, priority |
    | --- | --- | --- | --- |
    | `irq` | as in /proc/interrupts, else the name of its trace event | the interrupt's number | |
    | `ipi` | name of its trace event | | |
    | `softirq` | NET_RX, TIMER ... | | |
    | `hrtimer` | the timer's function: symbol, with [module]; else its address | | |
    | `thread`, `interrupts-off`, `preemption-off`, `bottom-halves-off`, `no-preemption-point`, `page-fault`, `observer` | of the thread | | of the thread |
    | others | empty | | |

    `priority` is the kernel's: 0 to 99 is real-time, lower is more urgent (FIFO 90 is 9); 100 to 139 is not; None: not known.
    """

    kind: str
    name: str = ""
    number: int | None = None
    pid: int | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the kernel a cause kept the CPU, by a stack of it.

    function: `name+0xoffset [module]`; locks, clocks and the scheduler itself are passed over. Empty: in user space. at: INSIDE
    (an interrupt found the CPU there) or AT_END (what kept the CPU ended there). chain: the stack from the innermost function on.
    """

    function: str
    at: str
    chain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """`ns` nanoseconds from `start_ns` on, in one phase, with one owner. place: where a stack names one."""

    phase: str
    cause: Cause
    start_ns: int
    ns: int
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Attribution:
    """A hit and its owners.

    parts: contiguous from due_ns, in order; they sum to `hit.latency_ns` exactly. top: the cause that owns most. evidence:
    codes of `EVIDENCE`, in the order of that table. complete: waking and switch were found and no event of the time is
    missing. stall_possible: the board is virtual and most of the top cause's time lies in one stretch without an event, so
    that a stall of the host may be what was seen.
    """

    hit: Hit
    parts: tuple[Part, ...]
    top: Cause
    evidence: tuple[str, ...]
    complete: bool
    events_lost: bool
    stall_possible: bool
