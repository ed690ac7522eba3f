"""Building blocks of static drawings: positions on an axis and the ticks of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable


def scale(low: float, high: float, begin: float, end: float, *, logarithmic: bool = True) -> Callable[[float], float]:
    """Position between `begin` and `end` of a value, which is clamped to [low, high]."""
    place: Callable[[float], float] = math.log if logarithmic else float
    factor = (end - begin) / ((place(high) - place(low)) or 1)
    return lambda value: begin + (place(min(max(value, low), high)) - place(low)) * factor


def decade_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten from 100 on, as far as they lie in [low, high]; even steps where fewer than two do."""
    ticks = [m * 10.0**e for e in range(2, 12) for m in (1, 2, 5) if low <= m * 10.0**e <= high]
    return ticks if len(ticks) > 1 else even_ticks(low, high)


def even_ticks(low: float, high: float) -> list[float]:
    """About ten multiples of 1, 2 or 5 times a power of ten in [low, high]."""
    rough = (high - low) / 10
    size = 10.0 ** math.floor(math.log10(rough))
    size *= next(m for m in (1, 2, 5, 10) if m * size >= rough)
    return [i * size for i in range(math.ceil(low / size), int(high / size) + 1)]


def ratio_ticks(ticks: Iterable[float], low: float, high: float, *, most: int = 14) -> list[float]:
    """Of these ticks, 1 and the ones inside [low, high] that keep a readable distance on a logarithmic axis on which about `most` have room."""
    room = math.log(high / low) / most
    kept = [1.0]
    for tick in sorted((t for t in ticks if low <= t <= high), key=lambda t: abs(math.log(t))):
        if all(abs(math.log(tick / other)) >= room for other in kept):
            kept.append(tick)
    return sorted(kept)
