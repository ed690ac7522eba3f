"""The functions of one cause over many hits, by the places of its parts. Pure functions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from rtassay.causes.removing import Key, key_of
from rtassay.model.causes import Attribution, Part
from rtassay.model.ranking import FunctionShare

_OFFSET = re.compile(r"\+0x[0-9a-f]+")


def functions(key: Key, attributions: Iterable[Attribution]) -> tuple[FunctionShare, ...]:
    """Those of the cause `key`, the largest share of its lateness first. A function counts once, whatever the offset; what is shown is
    the offset that was seen most often, and the longest part's stack. Parts without a place are in no function."""
    found: dict[tuple[str, str], list[tuple[int, Part]]] = defaultdict(list)
    total = 0
    for number, attribution in enumerate(attributions):
        for part in attribution.parts:
            if key_of(part.cause) != key:
                continue
            total += part.ns
            if part.place is not None:
                found[_OFFSET.sub("", part.place.function), part.place.at].append((number, part))
    shares = [_share(parts, total) for parts in found.values()]
    return tuple(sorted(shares, key=lambda share: (-share.lateness_ns, share.function)))


def _share(parts: list[tuple[int, Part]], total: int) -> FunctionShare:
    longest = max((part for _, part in parts), key=lambda part: part.ns).place
    assert longest is not None
    seen = Counter(part.place.function for _, part in parts if part.place is not None)
    lateness = sum(part.ns for _, part in parts)
    return FunctionShare(
        function=seen.most_common(1)[0][0],
        at=longest.at,
        hits=len({number for number, _ in parts}),
        lateness_ns=lateness,
        share_of_cause=lateness / total if total else 0.0,
        chain=longest.chain,
    )
