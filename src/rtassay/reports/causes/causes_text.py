"""Causes, their shares and what to do about them, in words; every report takes them from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rtassay.model import causes as kinds
from rtassay.model import ranking as codes
from rtassay.model.causes import Cause
from rtassay.model.foreign import one_line
from rtassay.model.ranking import CauseShare, Confirmation, Masked, Ranking, Spread, Traced
from rtassay.model.units import NS_PER_S, format_time
from rtassay.reports import wording

COLUMNS = (
    "Cause", "Share of lateness", "Main cause of", "Stall possible", "Largest (us)", "Exceedances", "without it", "D* without it (us)",
)  # fmt: skip
MOST_CAUSES = 12
PREDICTION = (
    "A prediction, until a run without the cause confirms it: each late wake-up less the time that the cause owned."
)
PHASES: Final = {
    "A": "until the timer interrupt",
    "B": "until the measured thread was woken",
    "C": "until the measured thread was switched in",
    "D": "until the measured thread read the clock",
}
_MOST_NAME = 60
_TOP_STEPS = 3

_RT_PRIORITIES = 100
_TOP_FIFO = 99


def _thread(cause: Cause) -> str:
    """`stress-ng[123] (FIFO 95)`."""
    name = one_line(cause.name, _MOST_NAME) or "a thread"
    pid = "" if cause.pid is None else f"[{cause.pid}]"
    if cause.priority is None or cause.priority < 0:
        return f"{name}{pid}"
    if cause.priority < _RT_PRIORITIES:
        return f"{name}{pid} (real-time priority {_TOP_FIFO - cause.priority})"
    return f"{name}{pid}"


def _numbered(what: str, cause: Cause) -> str:
    name = one_line(cause.name, _MOST_NAME)
    if cause.number is None:
        return f"{what} {name}".rstrip()
    return f"{what} {cause.number} ({name})" if name else f"{what} {cause.number}"


_NAMES: Final[Mapping[str, Callable[[Cause], str]]] = {
    kinds.INTERRUPTS_OFF: lambda cause: f"interrupts off in {_thread(cause)}",
    kinds.IRQ: lambda cause: _numbered("interrupt", cause),
    kinds.SOFTIRQ: lambda cause: _numbered("softirq", cause),
    kinds.HRTIMER: lambda cause: _numbered("timer function", cause),
    kinds.PREEMPTION_OFF: lambda cause: f"preemption off in {_thread(cause)}",
    kinds.BOTTOM_HALVES_OFF: lambda cause: f"bottom halves off in {_thread(cause)}",
    kinds.NO_PREEMPTION_POINT: lambda cause: f"kernel code without a preemption point in {_thread(cause)}",
    kinds.THREAD: lambda cause: f"thread {_thread(cause)}",
    kinds.IPI: lambda cause: (
        "interrupt from another CPU" + (f" ({one_line(cause.name, _MOST_NAME)})" if cause.name else "")
    ),
    kinds.IDLE_EXIT: lambda cause: "leaving an idle state",
    kinds.THROTTLING: lambda cause: "real-time throttling or the fair server",
    kinds.PAGE_FAULT: lambda cause: f"page fault of {_thread(cause)}",
    kinds.OBSERVER: lambda cause: f"the measurement itself, {_thread(cause)}",
    kinds.SMI: lambda cause: "firmware (SMI)",
    kinds.HYPERVISOR: lambda cause: "the hypervisor",
    kinds.WAKE_UP: lambda cause: "the ordinary path of the wake-up",
    kinds.UNATTRIBUTED: lambda cause: "unattributed",
}

_STEPS: Final[Mapping[str, str]] = {
    codes.MOVE_INTERRUPT: "move it to another CPU (/proc/irq/N/smp_affinity); on PREEMPT_RT its thread may also get a lower priority than yours",
    codes.THREAD_PRIORITY: "give it a lower priority than yours (chrt -p), or another CPU (taskset -p)",
    codes.SOFTIRQ_LOAD: "less of that work on this CPU: move the interrupt that raises it; on PREEMPT_RT it runs in a thread with a priority",
    codes.CPU_INTERRUPT: "an interrupt of the CPU itself, which cannot be moved: fewer timers there (nohz_full=, cyclic timers of drivers)",
    codes.MEASUREMENT: "it belongs to the measurement: fewer lanes, a longer interval or a higher level of the trace make it smaller",
    codes.TIMER_OWNER: "find who starts this timer; a driver often has an option for its period, and nohz_full= takes the tick away",
    codes.THROTTLING_OFF: "sysctl kernel.sched_rt_runtime_us=-1 (from Linux 6.12 on also /sys/kernel/debug/sched/fair_server/cpuN/runtime), if no real-time thread can run for ever",
    codes.LOCK_MEMORY: "lock the memory (mlockall) and touch it before the real-time part begins; no --no-mlock in a measurement",
    codes.NAME_THE_FUNCTION: "name the function (rtassay zoom RECORDING), then look for a newer kernel or an option of its driver",
    codes.FUNCTION_KNOWN: "look for a newer kernel, or for an option of the driver or the program that calls the function named above",
    codes.RT_KERNEL: "a PREEMPT_RT kernel can interrupt it; else less of that work on this CPU",
    codes.IPI_SENDER: "find who sends it: memory that is unmapped, code that is patched, a CPU that goes on or off; isolcpus= keeps many away",
    codes.IDLE_STATES: "forbid deep idle states: hold /dev/cpu_dma_latency at 0 (rtassay does by default), or idle=poll",
    codes.FIRMWARE: "settings of the BIOS or the firmware (power management, USB legacy, fan control), or another board",
    codes.REAL_HARDWARE: "measure on real hardware, or give the guest CPUs of its own",
    codes.ORDINARY: "nothing: each wake-up takes this path; a faster clock or fewer idle states shorten it",
    codes.MORE_EVENTS: "look at the single wake-ups: a lost page or an event that this kernel does not have hides the owner",
}

_NAME_WHILE_IT_RUNS: Final = (
    "name the function: while your program runs, rtassay run BOARD --load none --trace-above auto --trace-stacks; "
    "then look for a newer kernel or an option of its driver"
)

_WHY_NOT: Final[Mapping[str, tuple[str, str]]] = {
    codes.NOT_ASKED: ("the kernel was not traced", "measure again with --trace-above auto"),
    codes.NOTHING_LATE: (
        "no wake-up was late enough while the kernel was traced",
        "measure longer, or with a lower --trace-above",
    ),
    codes.NOT_CAPTURED: (
        "late wake-ups were seen, but none was captured",
        "measure with a higher --trace-above, so that fewer are kept",
    ),
    codes.NOT_DECODED: (
        "the trace of this kernel cannot be decoded",
        "send trace.rtw of the recording with a report of the bug",
    ),
    codes.NOT_OURS: ("another tool measured, and keeps no trace", "measure with rtassay run --trace-above auto"),
}
_NOT_POSSIBLE: Final[Mapping[str | None, tuple[str, str]]] = {
    codes.CUT: ("the stream was cut before it told of a trace", "measure again"),
    codes.NOT_ROOT: (
        "tracing needs root, and the probe did not run as root",
        "run as root: rtassay run root@BOARD, or sudo",
    ),
    codes.LOCKED_DOWN: (
        "the kernel is locked down (confidentiality), which empties tracefs",
        "boot with lockdown=integrity, as Secure Boot does by itself, or with lockdown=none",
    ),
    codes.IN_CONTAINER: (
        "there is no tracefs in this container",
        "mount -t tracefs nodev /sys/kernel/tracing; if the container may not, measure on its host",
    ),
    codes.BOARD_SAYS: (
        "the board could not be traced",
        "measure longer if time was short; without tracefs: mount -t tracefs nodev /sys/kernel/tracing (the kernel needs CONFIG_FTRACE and CONFIG_EVENT_TRACING)",
    ),
}
LEFT = (
    "What is left are coincidences: what was unusual at the worst wake-ups stands in rtassay show and rtassay report."
)


def name(cause: Cause) -> str:
    """A cause as a reader calls it."""
    return _NAMES[cause.kind](cause) if cause.kind in _NAMES else one_line(f"{cause.kind} {cause.name}", _MOST_NAME)


def step(code: str, *, followed: bool = False) -> str:
    """What to do about it. followed: a program that cannot be repeated, so there is no zoom."""
    return _NAME_WHILE_IT_RUNS if followed and code == codes.NAME_THE_FUNCTION else _STEPS[code]


def why_not(run: Traced) -> tuple[str, str]:
    """Why a run has no causes, and the one thing to do."""
    if run.state == codes.NOTHING_LATE and run.traced_max_ns is not None:
        return _nothing_late(run, run.traced_max_ns)
    if run.state != codes.NOT_POSSIBLE:
        return _WHY_NOT[run.state]
    why, do = _NOT_POSSIBLE[run.refused]
    return (f"{why} ({one_line(run.error, 200)})" if run.error else why), do


def _nothing_late(run: Traced, largest_ns: int) -> tuple[str, str]:
    """What the level was, how late wake-ups were, and a level that they reach."""
    level = "4 x the running p99.9 (auto)" if run.above_ns is None else format_time(run.above_ns)
    reached_ns = largest_ns if run.traced_p99_9_ns is None else min(run.traced_p99_9_ns, largest_ns)
    why = f"no wake-up reached {level} while the kernel was traced: the worst was {format_time(largest_ns)}"
    if reached_ns <= 0:
        return why, "measure longer"
    return (
        why,
        f"measure longer, or with --trace-above {format_time(reached_ns)}, which about one in a thousand reached",
    )


def headline(ranking: Ranking) -> str:
    """How many late wake-ups of how many runs have an owner."""
    runs = len(ranking.runs)
    where = "one run" if runs == 1 else f"{runs} runs"
    if not ranking.answered:
        return f"No cause is known for the late wake-ups of {where}"
    main = ranking.causes[0]
    whose = next((one for one in ranking.causes if one.cause.kind not in (kinds.WAKE_UP, kinds.UNATTRIBUTED)), main)
    if (
        whose is not main and main.share_of_lateness >= 0.5
    ):  # what nothing can be done about comes first: there is most of it
        least = f", {name(whose.cause)} {share_of(whose.share_of_lateness)}"
        return f"{name(main.cause)} owned {share_of(main.share_of_lateness)} of the late time in {where}{least}"
    return f"{name(whose.cause)} owned {share_of(whose.share_of_lateness)} of the late time in {where}"


def counts(ranking: Ranking) -> list[str]:
    """What the ranking counts, and what it does not."""
    caught = ranking.attributed
    what = "the deadline" if ranking.deadline_ns is not None else "that level"
    told = [
        f"{wording.count(caught)} late wake-ups from {format_time(ranking.above_ns)} on have an attribution; {wording.count(ranking.exceedances)} of them reach {what}"
        + (f" of {format_time(ranking.deadline_ns)}." if ranking.deadline_ns is not None else ".")
    ]
    lost = sum(run.not_captured or 0 for run in ranking.runs)
    if lost:
        told.append(f"{wording.count(lost)} more were not captured (too many at once): the shares leave them out.")
        told += beyond_limit(ranking)
    if ranking.incomplete:
        told.append(f"Of {wording.count(ranking.incomplete)} the trace is incomplete.")
    if ranking.stall_possible:
        told.append(
            f"Of {wording.count(ranking.stall_possible)} most of the time lies without an event on a virtual board: a stall of its host may be what was seen."
        )
    if (watching := ranking.observer) is not None:
        told.append(
            f"rtprobe's own threads took {share_of(watching.share_of_lateness)} of the late time, and most of {wording.count(watching.owned)} wake-ups: the measurement's doing, no cause of the board."
        )
    if ranking.share_unattributed is not None:
        told.append(f"Unattributed: {share_of(ranking.share_unattributed)} of the late time.")
    return told


def beyond_limit(ranking: Ranking) -> list[str]:
    """How many hits were captured although there were too many at once."""
    beyond = sum(run.beyond_limit or 0 for run in ranking.runs)
    if not beyond:
        return []
    many = f"{wording.count(beyond)} {'was' if beyond == 1 else 'were'}"
    return [f"{many} captured beyond that limit: none of the lane was as late before."]


def observer(run: Traced) -> str | None:
    """What tracing itself cost, and which part the verdict is from; None if nothing was traced."""
    if run.untraced_ns is None or run.traced_ns is None:
        return None
    parts = [f"the verdict is from the untraced {wording.span(run.untraced_ns / NS_PER_S)} of the run"]
    for label, before, after in (
        ("p50", run.untraced_p50_ns, run.traced_p50_ns),
        ("p99", run.untraced_p99_ns, run.traced_p99_ns),
    ):
        if before is not None and after is not None:
            parts.append(f"{label} {format_time(before)} untraced, {format_time(after)} traced")
    return f"Tracing: {'; '.join(parts)}."


def share_of(fraction: float) -> str:
    """`35 %`, `4.2 %`, `< 0.1 %`, `0 %`: shares of a ranking are no more exact than that."""
    value = 100 * fraction
    if 0 < value < 0.1:
        return "< 0.1 %"
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"


def columns(ranking: Ranking) -> tuple[str, ...]:
    """COLUMNS; a user's program has no D*, the last one."""
    return COLUMNS[:-1] if ranking.followed else COLUMNS


def rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """A row a cause, at most MOST_CAUSES: what `columns` names."""
    return [_row(share)[: len(columns(ranking))] for share in ranking.causes[:MOST_CAUSES]]


def left_out(ranking: Ranking) -> str | None:
    """How many smaller causes the tables leave out."""
    more = ranking.causes[MOST_CAUSES:]
    if not more:
        return None
    return f"{len(more)} smaller causes, {share_of(sum(one.share_of_lateness for one in more))} of the late time together, are left out; --json has them."


def _row(share: CauseShare) -> tuple[str, ...]:
    return (
        name(share.cause),
        share_of(share.share_of_lateness) + between(share.spread, share_of),
        wording.count(share.owned),
        wording.count(share.stall_possible),
        wording.us(share.largest_ns, 1),
        wording.count(share.exceedances),
        "-" if share.without is None else wording.count(share.without.exceedances),
        prediction(share),
    )


def prediction(share: CauseShare) -> str:
    """D* without the cause, in us; `none` where the data demonstrate none, `-` where it cannot be removed."""
    without = share.without
    if without is None:
        return "-"
    if without.demonstrated_ns is None:
        return "none"
    sign = "≤ " if without.at_most else ""
    return f"{sign}{wording.us(without.demonstrated_ns, 1)}" + between(without.spread, lambda ns: wording.us(ns, 1))


def prediction_with_unit(share: CauseShare) -> str:
    """The same for a sentence."""
    told = prediction(share)
    return told if share.without is None or share.without.demonstrated_ns is None else f"{told} us"


def between(spread: Spread | None, words: Callable[[float], str]) -> str:
    """` (10 % to 40 %)`: the smallest and the largest of the runs."""
    return "" if spread is None else f" ({words(spread.low)} to {words(spread.high)})"


def spread_note(ranking: Ranking) -> str | None:
    """What the numbers in brackets are."""
    spread = next((share.spread for share in ranking.causes if share.spread is not None), None)
    if spread is None:
        return None
    return f"In brackets: smallest to largest of {spread.runs} runs; the median of such runs lies there with {wording.percent(spread.confidence)} confidence."


def now(ranking: Ranking) -> str:
    """D* of the traced part, with which the predictions compare."""
    if ranking.followed:
        return f"Without it: {PREDICTION[0].lower()}{PREDICTION[1:]}"
    star = "none" if ranking.demonstrated_ns is None else format_time(ranking.demonstrated_ns)
    short = (
        ""
        if ranking.p_asked is None or ranking.p <= ranking.p_asked
        else f"; the part is too short for p <= {wording.probability(ranking.p_asked)}"
    )
    return (
        f"D* of the traced part as it is: {star} (p <= {wording.probability(ranking.p)}, {wording.percent(ranking.confidence)} confidence{short}). "
        f"D* without a cause: {PREDICTION[0].lower()}{PREDICTION[1:]}"
    )


def steps(ranking: Ranking) -> list[tuple[str, str]]:
    """What to do about the largest causes that can be removed: (cause, step)."""
    worth = [one for one in ranking.causes if one.next_step != codes.ORDINARY][:_TOP_STEPS]
    return [(name(one.cause), step(one.next_step, followed=ranking.followed)) for one in worth]


def masked(pair: Masked) -> str:
    """Two causes that hide each other."""
    both = pair.without_both
    return (
        f"{name(pair.first)} and {name(pair.second)} hide each other: without the first alone {wording.count(pair.without_first)} exceedances are left, "
        f"without the second alone {wording.count(pair.without_second)}, without both {wording.count(both.exceedances)}."
    )


_CONFIRMED: Final[Mapping[str, str]] = {
    codes.AGREES: "CONFIRMED: as many wake-ups were late as predicted, within chance",
    codes.BETTER: "BETTER than predicted: fewer wake-ups were late, beyond chance",
    codes.WORSE: "WORSE than predicted: more wake-ups were late, beyond chance; another cause took its place, or the board differs in more than this",
    codes.NOT_REMOVED: "NOT REMOVED: the cause still owns late time in the runs that should be without it",
    codes.TOO_LITTLE: "NOT COMPARED: one side has no traced part",
}
CONFIRMATION_COLUMNS = ("", "with it", "predicted without", "measured without")


def confirmed(found: Confirmation) -> str:
    """Whether the prediction came true."""
    return f"{name(found.cause)}: {_CONFIRMED[found.state]}."


def confirmation_rows(found: Confirmation) -> list[tuple[str, ...]]:
    """What was, was predicted, and was measured: CONFIRMATION_COLUMNS."""

    def star(ns: int | None) -> str:
        return "none" if ns is None else wording.us(ns, 1)

    sign = "≤ " if found.at_most and found.demonstrated_predicted_ns is not None else ""
    rows: list[tuple[str, ...]] = [
        (
            "late of all wake-ups" if found.followed else "exceedances of activations",
            f"{wording.count(found.exceedances_before)} of {wording.count(found.due_before)}",
            f"{wording.count(found.exceedances_predicted)} of {wording.count(found.due_before)}",
            f"{wording.count(found.exceedances_after)} of {wording.count(found.due_after)}",
        ),
        (
            f"D* of the traced part (us), p <= {wording.probability(found.p)}",
            star(found.demonstrated_before_ns),
            sign + star(found.demonstrated_predicted_ns),
            star(found.demonstrated_after_ns),
        ),
        ("its share of lateness", share_of(found.share_before), "0 %", share_of(found.share_after)),
    ]
    return [rows[0], rows[2]] if found.followed else rows


def quantile_table(ranking: Ranking) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Shares of the lateness at or above each percentile; no rows where no percentile was traced."""
    if not ranking.quantiles:
        return (), []
    columns = (
        "Cause",
        *(f"from {wording.quantile_name(one.q)} ({format_time(one.value_ns)})" for one in ranking.quantiles),
    )
    counted = ("late wake-ups with an attribution", *(f"{one.hits} of {one.late}" for one in ranking.quantiles))
    shares = [
        (name(share.cause), *("-" if one is None else share_of(one) for one in share.share_of_quantiles))
        for share in ranking.causes[:MOST_CAUSES]
    ]
    return columns, [*shares, counted]


def group_table(ranking: Ranking) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Shares of the lateness by CPU, kernel and load, of those that have several; no rows where nothing differs."""
    names = sorted({group for share in ranking.causes for group in share.groups})
    sorts = [group.split(" ", 1)[0] for group in names]
    several = [group for group, sort in zip(names, sorts, strict=True) if sorts.count(sort) > 1]
    if not several:
        return (), []
    columns = ("Cause", *(one_line(group, 40) for group in several))
    return columns, [
        (name(share.cause), *(share_of(share.groups.get(group, 0.0)) for group in several))
        for share in ranking.causes[:MOST_CAUSES]
    ]
