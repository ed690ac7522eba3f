"""Who holds the time of late wake-ups now, and did not before: two traced boots, each with stacks, from the same latency on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from rtassay.causes.attribution import attribute
from rtassay.gate.streams import Series
from rtassay.model.causes import OBSERVER, UNATTRIBUTED, WAKE_UP, Attribution
from rtassay.model.events import Event
from rtassay.model.gate import Holder
from rtassay.store.tracing import trace_in

MOST = 5
NEVER_NS = 1_000_000_000
"""A latency that nothing reaches: such a boot is traced, and keeps nothing."""
_OFFSET = re.compile(r"\+0x[0-9a-f]+")
_NOT_HOLDERS = (WAKE_UP, OBSERVER, UNATTRIBUTED)


@dataclass(slots=True)
class _Held:
    """`largest_ns`: the most in one hit."""

    largest_ns: int = 0
    hits: set[int] = field(default_factory=set)


Held = dict[tuple[str, str, str], _Held]


def level_ns(series: Series) -> int:
    """The largest latency of the traced part of a boot; 0 if nothing of it was traced."""
    if series.traced_from is None:
        return 0
    traced = series.latency_ns[series.k >= series.traced_from]
    return int(np.max(traced, initial=0))


def attributions(events: list[Event], *, realtime: bool) -> tuple[Attribution, ...]:
    """The late wake-ups of a traced boot, each with its owners. Nothing can stall a guest in virtual time."""
    trace = trace_in(events, {0: 0})
    return attribute(trace, virtual=False, realtime=realtime) if trace.hits else ()


def compared(new: Iterable[Attribution], base: Iterable[Attribution]) -> tuple[Holder, ...]:
    """Those that hold more time than before, the largest growth in one wake-up first, at most MOST."""
    now, before = _held(new), _held(base)
    found = []
    for key, held in now.items():
        was = before.get(key, _Held())
        if held.largest_ns > was.largest_ns:
            found.append(Holder(*key, held.largest_ns, was.largest_ns, len(held.hits), len(was.hits)))
    return tuple(sorted(found, key=lambda one: (one.base_ns - one.new_ns, one.kind, one.name, one.function))[:MOST])


def _held(found: Iterable[Attribution]) -> Held:
    held: Held = defaultdict(_Held)
    for number, attribution in enumerate(found):
        mine: dict[tuple[str, str, str], int] = defaultdict(int)
        for part in attribution.parts:
            if part.cause.kind not in _NOT_HOLDERS:
                function = "" if part.place is None else _OFFSET.sub("", part.place.function)
                mine[part.cause.kind, part.cause.name, function] += part.ns
        for key, ns in mine.items():
            held[key].largest_ns = max(held[key].largest_ns, ns)
            held[key].hits.add(number)
    return held
