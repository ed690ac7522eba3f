"""One bin width for both groups: what a source of nanoseconds tells is rounded down to the bins of the coarser one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.distribution import ints
from rtassay.model.recording import Recording


def common_width_ns(recordings: Sequence[Recording]) -> int | None:
    """The bin width that all values can be rounded down to: the widest one, if the others divide it; else None."""
    widths = {recording.manifest.bin_width_ns for recording in recordings}
    widest = max(widths)
    return widest if all(widest % width == 0 for width in widths) else None


def rounded(account: Account, width_ns: int) -> Account:
    """The lane as a source with bins of `width_ns` would tell it: each lower edge rounded down, equal ones added up. Sums of exact values are
    gone. A lane that is as coarse comes back as it is."""
    if account.bin_width_ns >= width_ns:
        return account
    lower, place = np.unique(account.lower // width_ns * width_ns, return_inverse=True)
    counts = np.zeros(lower.shape, dtype=np.int64)
    np.add.at(counts, place, account.counts)
    top = np.full(lower.shape, 0, dtype=np.int64)
    np.maximum.at(top, place, -(-(account.lower + account.width) // width_ns) * width_ns)
    told = account.entry
    entry = replace(told, min_ns=_down(told.min_ns, width_ns), max_ns=_down(told.max_ns, width_ns), sum_ns=None)
    return replace(
        account,
        lane=replace(account.lane, entry=entry),
        bin_width_ns=width_ns,
        lower=ints(lower),
        width=ints(top - lower),
        counts=ints(counts),
        top=ints(top),
        top_sorted=bool(np.all(np.diff(top) >= 0)),
    )


def _down(value_ns: int | None, width_ns: int) -> int | None:
    return None if value_ns is None else value_ns // width_ns * width_ns
