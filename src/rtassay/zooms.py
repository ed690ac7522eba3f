"""A recorded run once more, with stacks of the kernel: the recording becomes a request, the two runs a comparison.

The command `rtassay zoom` uses this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rtassay import rankings
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.inventory import Inventory
from rtassay.model.manifest import Manifest
from rtassay.model.recording import Lane, Recording
from rtassay.model.units import NS_PER_S, format_time
from rtassay.model.zoom import RECORDED, RECORDED_TRACED, ZOOM, ZOOM_STACKS, RunPart, Zoomed

if TYPE_CHECKING:
    from rtassay.runs import RunRequest

LONGEST_NS: Final = 600 * NS_PER_S
"""A zoom run is no longer, unless a length is asked for."""
LABEL: Final = "zoom"
"""The label of a zoom run; its value is the recording that it repeats."""
# Stacks make each wake-up longer; below this many times the median they would be what is late.
_TIMES_TRACED, _TIMES_UNTRACED = 4, 8
_MOST_NS = 4 * NS_PER_S
_P999_TIMES = 4
# Numbers of late wake-ups differ if chance explains them with less than this probability.
_CHANCE = 0.05


def request(
    recording: Recording,
    *,
    board: str | None = None,
    above_ns: int | None = None,
    duration_ns: int | None = None,
    output: str | None = None,
    argv: Sequence[str] = (),
) -> RunRequest:
    """A run with the plan of `recording`, stacks, and a level. `board`: where, if not where it was recorded.

    Raises UsageError for a recording that cannot be repeated.
    """
    from rtassay import store
    from rtassay.boards.known import resolve
    from rtassay.runs import RunRequest

    manifest = recording.manifest
    _check(manifest)
    level = level_ns(recording) if above_ns is None else above_ns
    plan = replace(
        manifest.plan,
        duration_ns=_duration(manifest, duration_ns),
        count=None,
        looks=1,
        break_above_ns=None,
        trace_above_ns=level,
        trace_stacks=True,
        argv=tuple(argv),
        configured=(),
        command=(),
        priority=manifest.plan.priority or None,
    )
    return RunRequest(
        board=resolve(manifest.board if board is None else board),
        plan=plan,
        home=Path(output) if output else store.home(),
        labels={LABEL: manifest.id},
        note=None,
        name=None,
        isolated=False,
        lanes=None,
        accept=accept(manifest),
    )


def _check(manifest: Manifest) -> None:
    """Raises UsageError where nobody knows how to repeat it."""
    id, hint = manifest.id, "rtassay run BOARD --trace-above auto --trace-stacks measures anew, with functions"
    if manifest.board_start.virtual_time is not None:
        hint = "rtassay lab start --deterministic --kernel KERNEL -- cyclic ... --trace-above 300us --trace-stacks"
        raise UsageError(f"{id} is of a script board, which boots anew for each run", hint=hint)
    if manifest.source.file is not None:
        raise UsageError(f"{id} was imported", "its board and its load are not known well enough to repeat them", hint)
    if manifest.source.tool != "rtprobe" or manifest.plan.probe != "rtprobe":
        if manifest.plan.probe == "follow":
            hint = "while it runs: rtassay run BOARD --load none --trace-above auto --trace-stacks"
            raise UsageError(f"{id} followed a running program, which zoom cannot start again", hint=hint)
        raise UsageError(
            f"{id} was measured by {manifest.plan.probe}: zoom repeats what rtprobe's own threads measured", hint=hint
        )
    if not manifest.sealed:
        raise UsageError(f"{id} is not sealed", hint=f"rtassay seal {id}")


def level_ns(recording: Recording) -> int:
    """From which latency on stacks are kept: the level that was traced, else the deadline, else 4 x p99.9; but not less than stacks
    themselves make of an ordinary wake-up. Raises UsageError if nothing in the recording was as late."""
    traced, plan = rankings.traced_of(recording), recording.manifest.plan
    wanted = traced.above_ns or plan.deadline_ns or _P999_TIMES * (_quantile(recording.lanes, 999, 1000) or 0)
    untraced_p50 = _quantile(recording.lanes, 1, 2) or 0
    least = _TIMES_TRACED * traced.traced_p50_ns if traced.traced_p50_ns else _TIMES_UNTRACED * untraced_p50
    level = max(wanted, least, 1)
    latest = max((lane.entry.max_ns or 0 for lane in (*recording.lanes, *recording.traced)), default=0)
    if latest < level:
        raise UsageError(
            f"no wake-up of {recording.manifest.id} is late enough for stacks: the latest took {format_time(latest)}, the level is {format_time(level)}",
            "stacks make each wake-up longer, so the level is not below four times the median of a traced one",
            "--above TIME takes another level",
        )
    return min(level, _MOST_NS)


def _duration(manifest: Manifest, asked_ns: int | None) -> int:
    """As long as it was, at most LONGEST_NS; a run by count as long as it took."""
    if asked_ns is not None:
        return asked_ns
    plan, took_ns = manifest.plan, None
    if manifest.started_ns is not None and manifest.ended_ns is not None:
        took_ns = manifest.ended_ns - manifest.started_ns
    return min(plan.duration_ns or took_ns or LONGEST_NS, LONGEST_NS)


def accept(recorded: Manifest) -> Callable[[Inventory], None]:
    """Refuses a board on which no function, or that of another kernel, would be found. Raises BoardError."""

    def check(now: Inventory) -> None:
        then = recorded.board_start
        if (then.kernel.release, then.kernel.version) != (now.kernel.release, now.kernel.version):
            raise BoardError(
                f"the board runs another kernel than in {recorded.id}: {_kernel(now)}",
                f"the recording is of {_kernel(then)}; its functions are not those of another kernel",
                "boot that kernel (rtassay kernel), or measure this one: rtassay run BOARD --trace-above auto --trace-stacks",
            )
        _check_rights(now)

    return check


def _kernel(inventory: Inventory) -> str:
    from rtassay.model.foreign import one_line

    kernel = inventory.kernel
    return one_line(f"{kernel.release or '?'} {kernel.version or ''}".strip(), 120)


def _check_rights(now: Inventory) -> None:
    if now.rights.uid not in (None, 0):
        raise BoardError("stacks of the kernel need root", hint="run as root: rtassay zoom REC root@BOARD, or sudo")
    if now.rights.hides_tracefs:
        raise BoardError(
            "the kernel is locked down (confidentiality), which empties tracefs",
            hint="boot with lockdown=integrity or none",
        )
    if now.tracing is None:
        container = " of a container" if now.rights.container else ""
        raise BoardError(
            f"there is no tracefs{container}, so there are no stacks",
            hint="mount -t tracefs nodev /sys/kernel/tracing; the kernel needs CONFIG_FTRACE and CONFIG_EVENT_TRACING",
        )


def compare(recorded: Recording, zoom: Recording) -> Zoomed:
    """The zoom run beside the recording that it repeats."""
    above_ns = zoom.manifest.plan.trace_above_ns
    assert isinstance(above_ns, int)
    names = (
        (RECORDED, recorded.lanes),
        (RECORDED_TRACED, recorded.traced),
        (ZOOM, zoom.lanes),
        (ZOOM_STACKS, zoom.traced),
    )
    parts = tuple(_part(name, lanes, above_ns) for name, lanes in names if lanes)
    by_name = {part.name: part for part in parts}
    return Zoomed(
        of=recorded.manifest.id,
        id=zoom.manifest.id,
        above_ns=above_ns,
        parts=parts,
        differs=_differs(recorded.manifest, zoom.manifest),
        alike=_alike(by_name.get(RECORDED), by_name.get(ZOOM)),
        causes=rankings.rank([zoom]),
    )


def _part(name: str, lanes: Sequence[Lane], above_ns: int) -> RunPart:
    late = sum(int(lane.histogram.counts[lane.histogram.lower_ns >= above_ns].sum()) for lane in lanes)
    known = [lane.entry.max_ns for lane in lanes if lane.entry.max_ns is not None]
    return RunPart(
        name=name,
        n=sum(lane.entry.n for lane in lanes),
        late=late,
        p50_ns=_quantile(lanes, 1, 2),
        p99_ns=_quantile(lanes, 99, 100),
        max_ns=max(known, default=None),
    )


def _quantile(lanes: Sequence[Lane], above: int, of: int) -> int | None:
    """Of all lanes together: nearest rank, lower edge of the bin."""
    import numpy as np

    bins = [lane.histogram for lane in lanes if len(lane.histogram.lower_ns)]
    if not bins:
        return None
    lower, counts = (np.concatenate(some) for some in zip(*((b.lower_ns, b.counts) for b in bins), strict=True))
    order = np.argsort(lower, kind="stable")
    upto = np.cumsum(counts[order])
    return int(lower[order][np.searchsorted(upto, -(-int(upto[-1]) * above // of))])


def _alike(recorded: RunPart | None, zoom: RunPart | None) -> bool | None:
    """Both counts together, split between the two as their samples are (two-sided binomial test)."""
    from scipy.stats import binomtest

    if recorded is None or zoom is None or not recorded.n or not zoom.n:
        return None
    both = recorded.late + zoom.late
    return not both or bool(binomtest(zoom.late, both, zoom.n / (recorded.n + zoom.n)).pvalue >= _CHANCE)


def _differs(recorded: Manifest, zoom: Manifest) -> dict[str, tuple[str, str]]:
    """Conditions that bear on latency and are not the same, in words."""
    then, now = recorded.board_start, zoom.board_start
    pairs: dict[str, tuple[object, object]] = {
        "board": (recorded.board, zoom.board),
        "command line of the kernel": (then.cmdline, now.cmdline),
        "clock source": (then.clocksource, now.clocksource),
        "frequency governors": (then.governors, now.governors),
        "RT throttling (us)": (then.rt_runtime_us, now.rt_runtime_us),
        "CPU": (then.cpu_model, now.cpu_model),
        "policy": (_obtained(recorded), _obtained(zoom)),
    }
    return {name: (_text(a), _text(b)) for name, (a, b) in pairs.items() if a != b}


def _obtained(manifest: Manifest) -> list[tuple[str | None, int | None]]:
    """Policy and priority that the lanes really had."""
    got = {(one.policy, one.priority) for lane in manifest.lanes if (one := lane.obtained_start) is not None}
    return sorted(got, key=str)


def _text(value: object) -> str:
    from rtassay.model.foreign import one_line

    return "not known" if value is None else one_line(str(value), 120)
