"""A stream of rtprobe to what the gate compares: every activation with its latency."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtassay.model.errors import BoardError
from rtassay.model.events import Event, Facts, Note, Samples
from rtassay.model.gate import Boot, Difference
from rtassay.model.manifest import Damage
from rtassay.wire.stream import StreamParser

_TRACE_BEGIN = "trace_begin"


@dataclass(frozen=True, slots=True)
class Series:
    """The only lane of a stream. `k`, `latency_ns`: int64, by rising k. `missed`: activations that never ran because the one before them was late.

    `traced_from`: the first activation of the traced part, if there is one. `realtime`: the kernel says that it is PREEMPT_RT.
    """

    k: Any
    latency_ns: Any
    missed: int
    interval_ns: int
    realtime: bool
    traced_from: int | None


def events_of(stream: bytes) -> list[Event]:
    """Raises BoardError for a stream that is damaged: nothing may be lost on the way out of the guest."""
    parser = StreamParser()
    events = [*parser.feed(stream), *parser.finish()]
    if parser.damage != Damage():
        raise BoardError("the stream of the script board is damaged", str(parser.damage))
    return events


def series_of(events: list[Event]) -> Series:
    """Raises BoardError for a stream without samples, or one that dropped some."""
    k: list[Any] = []
    latency: list[Any] = []
    missed = interval_ns = 0
    first_due_ns = traced_from_ns = None
    realtime = False
    for event in events:
        match event:
            case Facts(data=data):
                realtime = "PREEMPT_RT" in data["kernel"]["version"]
                interval_ns, first_due_ns = data["interval_ns"], data["lanes"][0]["first_due_ns"]
            case Note(name, _, data) if name == _TRACE_BEGIN:
                traced_from_ns = data.get("mono_ns")
            case Samples() as block:
                if block.gap_dropped or block.dropped.any():
                    raise BoardError("rtprobe dropped samples on the script board", hint="this is a bug: report it")
                before = np.concatenate(([0], np.cumsum(block.missed)[:-1])) if len(block.missed) else block.missed
                k.append(block.first_k + np.arange(len(block.latency_ns)) + before)
                latency.append(block.latency_ns)
                missed += block.gap_missed + int(block.missed.sum())
    if not k or not interval_ns or first_due_ns is None:
        raise BoardError("the stream of the script board holds no samples")
    traced = None if traced_from_ns is None else -((first_due_ns - traced_from_ns) // interval_ns)
    return Series(np.concatenate(k), np.concatenate(latency), missed, interval_ns, realtime, traced)


def boot_of(stream: bytes, series: Series, *, deadline_ns: int | None, ran: bool, virtual_ns: int, initrd: str) -> Boot:
    """The figures of one boot."""
    rising = np.sort(series.latency_ns)
    return Boot(
        n=len(rising),
        missed=series.missed,
        p50_ns=_quantile(rising, 500),
        p99_ns=_quantile(rising, 990),
        p999_ns=_quantile(rising, 999),
        tail_ns=int(rising[-1]),
        exceedances=None if deadline_ns is None else exceedances(series, deadline_ns),
        load_ran=ran,
        virtual_ns=virtual_ns,
        initrd_sha256=initrd,
        stream_sha256=hashlib.sha256(stream).hexdigest(),
    )


def _quantile(rising: Any, per_mille: int) -> int:
    """Nearest rank: the ceil(n q)-th smallest."""
    return int(rising[-(-len(rising) * per_mille // 1000) - 1])


def exceedances(series: Series, deadline_ns: int) -> int:
    """Activations that were not done before the deadline, with those missed behind a late one (docs/method/exceedances.md)."""
    late = series.latency_ns >= deadline_ns
    following = np.diff(series.k, append=series.k[-1:] + 1) - 1
    behind = np.minimum((series.latency_ns[late] - deadline_ns) // series.interval_ns, following[late])
    return int(late.sum() + behind.sum())


def first_difference(base: Series, new: Series) -> Difference | None:
    """The first activation whose latency differs, or which one of both missed. Activations that only the longer one has do not count."""
    last = int(min(base.k[-1], new.k[-1]))
    found = np.flatnonzero(_dense(base, last) != _dense(new, last))
    if not len(found):
        return None
    k = int(found[0])
    return Difference(k, _at(base, k), _at(new, k))


def first_beyond(base: Series, new: Series, limit_ns: int) -> Difference | None:
    """The first activation of `new` that is later than `limit_ns`, beside the same one of `base`."""
    late = np.flatnonzero(new.latency_ns > limit_ns)
    if not len(late):
        return None
    k = int(new.k[late[0]])
    return Difference(k, _at(base, k), int(new.latency_ns[late[0]]))


_ABSENT = np.iinfo(np.int64).min


def _dense(series: Series, last: int) -> Any:
    """Latency by activation from 0 to `last`; missed ones are _ABSENT."""
    dense = np.full(last + 1, _ABSENT)
    inside = series.k <= last
    dense[series.k[inside]] = series.latency_ns[inside]
    return dense


def _at(series: Series, k: int) -> int | None:
    place = int(np.searchsorted(series.k, k))
    found = place < len(series.k) and series.k[place] == k
    return int(series.latency_ns[place]) if found else None
