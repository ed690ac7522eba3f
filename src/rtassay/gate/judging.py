"""Two kernels, load by load and seed by seed, to states. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.gate.streams import Series, first_beyond, first_difference
from rtassay.model.gate import (
    MEASURED,
    NOT_COMPARED,
    NOT_REGRESSED,
    REGRESSED,
    TOO_LATE,
    Boot,
    Load,
    Seed,
)

ALLOWED_NS = 15_000
ALLOWED_SHARE = 0.25
"""A tail may grow by the larger of the two, the share of the base's tail. bench/GATE.md has the rebuilds without a change that these come from."""


def allowed_ns(base_tail_ns: int) -> int:
    """The growth of a tail that a change without effect may show."""
    return max(ALLOWED_NS, round(ALLOWED_SHARE * base_tail_ns))


def seed_of(seed: int, new: Boot, base: Boot | None, series: tuple[Series, Series] | None = None) -> Seed:
    """One seed. `series`: of the base and of the new kernel; None where the base is a saved result."""
    if base is None:
        return Seed(seed, new)
    growth_ns, may_ns = new.tail_ns - base.tail_ns, allowed_ns(base.tail_ns)
    stated = new.exceedances is not None and base.exceedances is not None
    return Seed(
        seed=seed,
        new=new,
        base=base,
        growth_ns=growth_ns,
        allowed_ns=may_ns,
        grown=growth_ns > may_ns,
        newly_exceeded=bool(new.exceedances) and not base.exceedances if stated else None,
        first=None if series is None else first_difference(*series),
        first_beyond=None if series is None else first_beyond(*series, base.tail_ns + may_ns),
    )


def load_of(load: str, seeds: Sequence[Seed]) -> Load:
    """One load over all its seeds."""
    return Load(load, _state(seeds), tuple(seeds))


def _state(seeds: Sequence[Seed]) -> str:
    if not all(boot.load_ran for seed in seeds for boot in (seed.new, seed.base) if boot is not None):
        return NOT_COMPARED
    if all(seed.base is not None for seed in seeds):
        if all(seed.grown for seed in seeds):
            return REGRESSED
        return TOO_LATE if any(seed.newly_exceeded for seed in seeds) else NOT_REGRESSED
    return TOO_LATE if any(seed.new.exceedances for seed in seeds) else MEASURED
