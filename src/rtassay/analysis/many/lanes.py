"""Lanes of several runs that may be taken together: of one name or CPU, and of one measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rtassay.analysis.lane.account import Account, accounts
from rtassay.analysis.lane.measures import pooled_measure
from rtassay.model.findings import lane_words
from rtassay.model.measures import measure_words
from rtassay.model.recording import Recording


def main_measure(recordings: Sequence[Recording]) -> str | None:
    """The one measure over which these runs may be pooled; None without lanes."""
    return pooled_measure([lane.entry.measure for recording in recordings for lane in recording.lanes])


def of_measure(recording: Recording, measure: str | None) -> tuple[Account, ...]:
    """The recording's lanes of that measure, in its order."""
    return tuple(account for account in accounts(recording) if account.entry.measure == measure)


def by_lane(recordings: Sequence[Recording]) -> dict[str, list[Account]]:
    """Accounts over the runs, by the lane's name. Lanes of one name and unlike measures stay apart, and their names say which is which."""
    found: dict[tuple[str, str], list[Account]] = {}
    for recording in recordings:
        for account in accounts(recording):
            name = lane_words(account.entry.name, account.entry.cpu)
            found.setdefault((name, account.entry.measure), []).append(account)
    times = Counter(name for name, _ in found)
    return {
        name if times[name] == 1 else f"{name} ({measure_words(measure)})": parts
        for (name, measure), parts in found.items()
    }


def by_lane_of_one_measure(recordings: Sequence[Recording]) -> dict[str, list[Account]]:
    """As `by_lane`, of the lanes that may be pooled (`main_measure`) only."""
    measure = main_measure(recordings)
    return {name: parts for name, parts in by_lane(recordings).items() if parts[0].entry.measure == measure}
