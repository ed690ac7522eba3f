"""Was a cause worth what was predicted? Runs with it and runs without it, side by side. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.causes.removing import key_of
from rtassay.model import ranking as codes
from rtassay.model.causes import Cause
from rtassay.model.errors import UsageError
from rtassay.model.measures import APPLICATION
from rtassay.model.ranking import CauseShare, Confirmation, Ranking
from rtassay.model.recording import Recording

# The cause counts as removed if at most this part of its share is left.
LEFT = 0.1
# A smaller part of the lateness may be gone by chance.
NOTABLE = 0.05
# Rates of late wake-ups differ if chance explains them with less than this probability.
CHANCE = 0.05


def find(ranking: Ranking, text: str) -> CauseShare:
    """The cause that `KIND` or `KIND:NAME` means. Raises UsageError with those there are."""
    kind, _, name = text.partition(":")
    found = [
        one for one in ranking.causes if one.cause.kind == kind and name in ("", one.cause.name, str(one.cause.number))
    ]
    if len(found) == 1 and found[0].without is not None:
        return found[0]
    known = ", ".join(written(one.cause) for one in ranking.causes if one.without is not None)
    if len(found) > 1:
        raise UsageError(f"several causes are of the kind '{text}'", hint=f"known: {known}")
    raise UsageError(f"no cause '{text}' can be removed here", hint=f"known: {known or 'none'}")


def written(cause: Cause) -> str:
    """A cause as `find` reads it."""
    return f"{cause.kind}:{cause.name or cause.number}" if cause.name or cause.number is not None else cause.kind


def confirm(
    before: Ranking, share: CauseShare, after: Ranking, runs: tuple[Sequence[Recording], Sequence[Recording]]
) -> Confirmation:
    """Exceedances, D* and the cause's share in the traced parts of runs with the cause (`before`) and without it."""
    assert share.without is not None
    due_before, due_after = (_due(some) for some in runs)
    left = next((one.share_of_lateness for one in after.causes if key_of(one.cause) == key_of(share.cause)), 0.0)
    # Per due activation: a share of less lateness is no less of the cause.
    owned_before = share.lateness_ns / due_before if due_before else 0.0
    owned_after = left * after.lateness_ns / due_after if due_after else 0.0
    state = codes.TOO_LITTLE
    if due_before and due_after:
        state = _state(share.without.exceedances, due_before, after.exceedances, due_after)
        if owned_after > LEFT * owned_before:
            state = codes.NOT_REMOVED
    return Confirmation(
        cause=share.cause,
        state=state,
        due_before=due_before,
        due_after=due_after,
        exceedances_before=before.exceedances,
        exceedances_predicted=share.without.exceedances,
        exceedances_after=after.exceedances,
        demonstrated_before_ns=before.demonstrated_ns,
        demonstrated_predicted_ns=share.without.demonstrated_ns,
        demonstrated_after_ns=after.demonstrated_ns,
        p=before.p,
        at_most=share.without.at_most,
        share_before=share.share_of_lateness,
        share_after=left,
        followed=before.followed,
    )


def removed(
    before: Ranking, after: Ranking, runs: tuple[Sequence[Recording], Sequence[Recording]]
) -> Confirmation | None:
    """The largest cause of `before` that is gone in `after`, with what was predicted of it; None if each is still there."""
    for share in sorted(before.causes, key=lambda one: -one.lateness_ns):
        if share.without is None or share.share_of_lateness < NOTABLE:
            continue
        found = confirm(before, share, after, runs)
        if found.state not in (codes.NOT_REMOVED, codes.TOO_LITTLE):
            return found
    return None


def _due(recordings: Sequence[Recording]) -> int:
    """Activations that were due in the traced parts; of a followed program, which is traced throughout and has no due times, its wake-ups."""
    return sum(
        lane.entry.n if lane.entry.measure == APPLICATION else lane.entry.due or 0
        for recording in recordings
        for lane in recording.traced or [lane for lane in recording.lanes if lane.entry.measure == APPLICATION]
    )


def _state(predicted: int, due_before: int, measured: int, due_after: int) -> str:
    """Both counts together, split by chance as the exposures are: AGREES unless that is unlikely (two-sided binomial test)."""
    from scipy.stats import binomtest

    both = predicted + measured
    if both == 0:
        return codes.AGREES
    share = due_after / (due_before + due_after)
    if binomtest(measured, both, share).pvalue >= CHANCE:
        return codes.AGREES
    return codes.WORSE if measured > both * share else codes.BETTER
