"""Are the recordings of both groups fit to be compared, and of the same thing?"""

from __future__ import annotations

from rtassay.analysis.checks.base import INTEGRITY, INVALID, NOTE, SYNTHETIC, WARNING, Outcome, check, passed
from rtassay.analysis.many.compare import refusal
from rtassay.analysis.many.compare.checks.pair import Pair
from rtassay.model.findings import VIRTUAL_BOARD
from rtassay.model.measures import measure_words


@check(
    id="INVALID-RECORDING",
    condition="a recording has an integrity check that is invalid",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="Numbers of which nobody knows what they measured are not compared.",
    remedy="rtassay show the recording; mend what it names, or leave it out.",
    proof=SYNTHETIC,
)
def invalid_recording(pair: Pair) -> Outcome:
    """A recording that is no measurement."""
    bad = {run.id: list(run.invalid) for _, runs in pair.sides for run in runs if run.invalid}
    if not bad:
        return passed("no recording is an invalid measurement")
    first, ids = next(iter(bad.items()))
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return Outcome(
        INVALID, f"{first}{more} is no valid measurement ({', '.join(ids)}): nothing is concluded", {"recordings": bad}
    )


@check(
    id="NOT-COMPARABLE",
    condition="bin widths differ and none is a multiple of the others, or latencies reach the interval under different late policies; a note where the finer values are rounded down to the wider bins",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="Bins of 1.5 us and of 1 us have no edges in common, and a tool that skips late activations shows one sample where another shows hundreds.",
    remedy="Measure both groups with the same tool, version and settings.",
    proof=SYNTHETIC,
)
def not_comparable(pair: Pair) -> Outcome:
    """Numbers that do not mean the same."""
    reasons = refusal.incomparable(pair.a, pair.b)
    if reasons:
        return Outcome(INVALID, "; ".join(reasons), {"reasons": list(reasons)})
    rounded = refusal.rounding(pair.a, pair.b)
    return Outcome(NOTE, rounded, {}) if rounded else passed("both groups measure in the same way")


@check(
    id="MEASURE-DIFFERS",
    condition="the recordings have no measure in common (wake-up, timer-irq, response:futex, noise ...)",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="A round trip holds two wake-ups, an interrupt's latency is a part of one: their difference says nothing of kernels or boards.",
    remedy="Compare recordings of the same measure; say with `rtassay import --measure` what a file holds if it does not tell.",
    proof=SYNTHETIC,
)
def measure_differs(pair: Pair) -> Outcome:
    """Groups whose numbers are not of the same quantity."""
    unlike = refusal.unlike_measures(pair.a, pair.b)
    if unlike is None:
        return passed("both groups measure the same thing")
    a, b = (", ".join(measure_words(measure) for measure in side) for side in unlike)
    facts = {"a": list(unlike[0]), "b": list(unlike[1])}
    return Outcome(INVALID, f"A holds {a}, B holds {b}: unlike measures are not compared", facts)


@check(
    id="NO-SAMPLES",
    condition="a recording holds no sample",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="There is nothing to compare.",
    remedy="Leave it out.",
    proof=SYNTHETIC,
)
def no_samples(pair: Pair) -> Outcome:
    """A recording without one sample."""
    empty = [run.id for _, runs in pair.sides for run in runs if run.pooled.n == 0]
    if empty:
        return Outcome(INVALID, f"{', '.join(empty[:4])} hold no sample", {"recordings": empty})
    return passed("every recording holds samples")


@check(
    id="DUPLICATE-RESULT",
    condition="two recordings have the same counts in every bin",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Real runs never repeat to the last count; published tables have held such copies.",
    remedy="Find out which of the two was measured.",
    proof=SYNTHETIC,
)
def duplicate_result(pair: Pair) -> Outcome:
    """Two recordings that are the same to the last count."""
    every = [(name, run) for name, runs in pair.sides for run in runs]
    twins = [
        (one, other)
        for i, (side, one) in enumerate(every)
        for other_side, other in every[i + 1 :]
        if one.pooled.n and one.same_as(other)
    ]
    if not twins:
        return passed("no two recordings are the same")
    one, other = twins[0]
    more = f" (and {len(twins) - 1} more pairs)" if len(twins) > 1 else ""
    text = (
        f"{one.id} is in both groups{more}"
        if one.id == other.id
        else f"{one.id} and {other.id} are identical to the last count{more}: one is a copy of the other"
    )
    return Outcome(WARNING, text, {"pairs": [[x.id, y.id] for x, y in twins[:20]]})


@check(
    id="RECORDING-CHECKS",
    condition="checks of the recordings warn",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A weakness that only one group has can be the whole difference.",
    remedy="rtassay show the recordings.",
    proof=SYNTHETIC,
)
def weak_recordings(pair: Pair) -> Outcome:
    """Checks of the recordings themselves that did not pass, and not equally in both groups."""
    fired = [{check for run in runs for check in run.weak} for _, runs in pair.sides]
    only = [sorted(fired[0] - fired[1]), sorted(fired[1] - fired[0])]
    both = sorted(fired[0] & fired[1])
    facts = {"only_a": only[0], "only_b": only[1], "both": both}
    words = [f"only {name}: {', '.join(ids)}" for name, ids in zip("AB", only, strict=True) if ids]
    if both:
        words.append(f"both: {', '.join(both)}")
    if not words:
        return passed("no recording has a warning of its own")
    return Outcome(
        WARNING if only[0] or only[1] else NOTE, f"the recordings' own checks warn ({'; '.join(words)})", facts
    )


@check(
    id="VIRTUAL-BOARD",
    condition="a recording is of an emulated board",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="An emulator translates every instruction and runs CPUs as threads of the host: which kernel is later there depends on the emulator.",
    remedy="Measure on the hardware that is meant.",
    proof=SYNTHETIC,
)
def emulated_boards(pair: Pair) -> Outcome:
    """Boards of the lab: emulated, so that their times compare emulations."""
    virtual = [name for name, runs in pair.sides if any(run.findings.virtual_board for run in runs)]
    if not virtual:
        return passed("no recording is of an emulated board")
    text = f"{VIRTUAL_BOARD}: {' and '.join(virtual)} ran on emulated CPUs, so a difference says nothing of hardware"
    return Outcome(WARNING, text, {"groups": virtual})
