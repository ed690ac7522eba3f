"""An explanation in words and rows; every report takes them from here."""

from __future__ import annotations

from rtassay.model import ranking as codes
from rtassay.model.explanation import Explanation, FollowedThread
from rtassay.model.foreign import one_line
from rtassay.model.units import NS_PER_S, format_time
from rtassay.reports import wording
from rtassay.reports.causes import causes_text

THREAD_COLUMNS = ("Thread", "Policy", "Wake-ups", "Min (us)", "p50 (us)", "p99 (us)", "Max (us)", "Late")
WAITED_COLUMNS = ("Thread", "Policy", "Turns", "Waited in all (us)", "Mean (us)")
CAUSE_COLUMNS = ("Cause", "Share of late time", "Main cause of", "Stall possible", "Largest (us)", "Late without it")
LATE_COLUMNS = ("Thread", "CPU", "At (s)", "Delay (us)", "Main cause", "Its part (us)")
MOST_LATE = 10
_MOST_FAULTED = 3
MOST_THREADS = 20
_MOST_NAME = 60
_DO = {
    codes.NOT_ROOT: "follow as root: rtassay explain root@BOARD ..., or sudo",
    codes.IN_CONTAINER: "mount -t tracefs nodev /sys/kernel/tracing; if the container may not, follow from its host",
    codes.CUT: "follow again",
}
_COST = (
    "The trace itself lengthens each wake-up, by microseconds on a fast board and by tens of them on a slow one: "
    "compare delays with the level, not with untraced runs."
)


def headline(found: Explanation) -> str:
    """Who was followed, for how long, and how much of it was late."""
    threads = len(found.threads)
    what = f"{one_line(found.target, _MOST_NAME)}, {wording.count(threads)} {'thread' if threads == 1 else 'threads'}"
    where = one_line(found.board, _MOST_NAME) + (f", {one_line(found.kernel, _MOST_NAME)}" if found.kernel else "")
    if untraced(found):
        return f"{what} on {where}: not traced"
    length = "" if found.duration_ns is None else f" in {wording.span(found.duration_ns / NS_PER_S)}"
    return f"{what} on {where}: {wording.count(found.wake_ups)} wake-ups{length}, {wording.count(found.seen_late)} of them late"


def level(found: Explanation) -> str:
    """What counts as late."""
    if found.above_ns is not None:
        return f"Late: {format_time(found.above_ns)} or more from waking to running."
    return (
        "Late: from waking to running 4 x the running p99.9 of the thread or more; "
        "with fewer than 1000 wake-ups 8 x its median."
    )


def thread_rows(found: Explanation) -> list[tuple[str, ...]]:
    """THREAD_COLUMNS, the threads with the longest delays first."""
    worst = sorted(found.threads, key=lambda thread: (-(thread.max_ns or -1), thread.lane))
    return [_thread(thread) for thread in worst[:MOST_THREADS]]


def threads_left_out(found: Explanation) -> str | None:
    """That the table does not have all threads."""
    more = len(found.threads) - MOST_THREADS
    return None if more <= 0 else f"{wording.count(more)} more threads with shorter delays; --json has them."


def waited_rows(found: Explanation) -> list[tuple[str, ...]]:
    """WAITED_COLUMNS: what /proc tells without any trace."""
    known = [(one, one.waited_ns, one.turns) for one in found.threads if one.waited_ns is not None and one.turns]
    known.sort(key=lambda row: -(row[1] or 0))
    return [
        (_name(one), _policy(one), wording.count(turns), wording.us(waited, 1), wording.us((waited or 0) / turns, 1))
        for one, waited, turns in known[:MOST_THREADS]
        if turns
    ]


def whose(found: Explanation) -> str | None:
    """Which late wake-ups the causes are of; None if there is only one sort of threads."""
    real, ordinary = len(found.real_time_late), found.ordinary_late
    if real and ordinary:
        return (
            f"Of the {wording.count(real)} late wake-ups of real-time threads. The other {wording.count(ordinary)} are of threads without a real-time "
            "policy, which share the CPU with all others: --json has their causes."
        )
    if ordinary and any(thread.real_time for thread in found.threads):
        return "No real-time thread was late: the causes are those of the other threads, which share the CPU with all."
    return None


def cause_rows(found: Explanation) -> list[tuple[str, ...]]:
    """CAUSE_COLUMNS, the largest share first."""
    return [
        (
            causes_text.name(share.cause),
            causes_text.share_of(share.share_of_lateness),
            wording.count(share.owned),
            wording.count(share.stall_possible),
            wording.us(share.largest_ns, 1),
            "-" if share.without is None else wording.count(share.without.exceedances),
        )
        for share in found.ranking.causes[: causes_text.MOST_CAUSES]
    ]


def late_rows(found: Explanation) -> list[tuple[str, ...]]:
    """LATE_COLUMNS: the longest delays, of real-time threads if any of them was late."""
    began = min((one.hit.due_ns for one in found.late), default=0)
    rows: list[tuple[str, ...]] = []
    for one in (found.real_time_late or found.late)[:MOST_LATE]:
        part = sum(part.ns for part in one.parts if part.cause == one.top)
        rows.append(
            (
                one_line(found.name_of(one.hit.lane), _MOST_NAME),
                str(one.hit.cpu),
                f"{(one.hit.due_ns - began) / NS_PER_S:.3f}",
                wording.us(one.hit.latency_ns, 1),
                causes_text.name(one.top) + (" (stall possible)" if one.stall_possible else ""),
                wording.us(part, 1),
            )
        )
    return rows


def notes(found: Explanation) -> list[str]:
    """What the reader must know of this result."""
    ranking, told = found.ranking, []
    lost = sum(run.not_captured or 0 for run in ranking.runs)
    if lost:
        told.append(f"{wording.count(lost)} late wake-ups were not captured (too many at once): no share counts them.")
        told += causes_text.beyond_limit(ranking)
    if found.losses:
        told.append(
            f"Events of the followed threads were lost {wording.count(found.losses)} times: some wake-ups are missing."
        )
    if found.left_out:
        told.append(f"{wording.count(found.left_out)} threads were not followed: there were too many.")
    if ranking.incomplete:
        told.append(f"Of {wording.count(ranking.incomplete)} late wake-ups the trace is incomplete.")
    told += [
        f"{one_line(run.error, 200)}: functions may show as addresses."
        for run in ranking.runs
        if run.error and found.late
    ]
    if (faults := _faults(found)) is not None:
        told.append(faults)
    if found.end == "gone":
        told.append("The process ended before the time was over.")
    if ranking.answered:
        told.append(_COST)
    return told


def _faults(found: Explanation) -> str | None:
    """Page faults of real-time threads: they delay a thread that runs, so no delay above has them."""
    had = [one for one in found.threads if one.real_time and (one.minor_faults or one.major_faults)]
    if not had:
        return None
    worst = sorted(had, key=lambda one: (-(one.major_faults or 0), -(one.minor_faults or 0)))
    each = ", ".join(
        f"{_name(one)} {wording.count((one.minor_faults or 0) + (one.major_faults or 0))}"
        + (f" ({wording.count(one.major_faults)} waited for a disk)" if one.major_faults else "")
        for one in worst[:_MOST_FAULTED]
    )
    more = f", and {wording.count(len(worst) - _MOST_FAULTED)} more threads" if len(worst) > _MOST_FAULTED else ""
    return (
        f"Page faults of real-time threads: {each}{more}. They stop a thread that runs already, so they are in no delay above: "
        "mlockall, and touch the memory before the real-time part begins."
    )


def why_not(found: Explanation) -> tuple[str, str]:
    """Why no late wake-up has a cause, and the one thing to do."""
    run = found.ranking.runs[0]
    if run.state == codes.NOTHING_LATE:
        return "no wake-up was late", "follow longer, or with a lower --above"
    if run.state == codes.NOT_CAPTURED:
        return "late wake-ups were seen, but none was captured", "use a higher --above, so that fewer are kept"
    why, do = causes_text.why_not(run)
    return why, _DO.get(run.refused or "", do)


def untraced(found: Explanation) -> bool:
    """Whether the board gave no trace at all."""
    return found.ranking.runs[0].state in (codes.NOT_POSSIBLE, codes.NOT_ASKED)


def _thread(thread: FollowedThread) -> tuple[str, ...]:
    times = (thread.min_ns, thread.p50_ns, thread.p99_ns, thread.max_ns)
    cells = ("-" if ns is None else wording.us(ns, 1) for ns in times)
    name = _name(thread) + (" (ended)" if thread.gone else "")
    return (name, _policy(thread), wording.count(thread.wake_ups), *cells, wording.count(thread.late))


def _name(thread: FollowedThread) -> str:
    return one_line(thread.name, _MOST_NAME)


def _policy(thread: FollowedThread) -> str:
    if thread.policy is None:
        return "-"
    return f"{thread.policy} {thread.priority}" if thread.priority else one_line(thread.policy, 20)
