"""The answer in a few lines: the verdict in two, why in a few more, and one command to run next. Standard library only.

Every format takes these lines from here. The whole sentence of the verdict, with everything it does not cover, stays in the report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rtassay.model import measures, rooms
from rtassay.model.findings import SINGLE_LATE, CheckResult, Findings, LaneFindings, Verdict, condition_words
from rtassay.model.foreign import one_line
from rtassay.model.manifest import Plan
from rtassay.model.recording import Recording
from rtassay.model.settings import default
from rtassay.model.units import format_p, format_rate
from rtassay.reports import severities, wording
from rtassay.reports.recording import recording_text

CONSOLE_TOOL = "rtprobe-lite"
_MOST_BECAUSE = 4
_REQUIREMENT = ("--deadline", "--p", "--at-most", "--confidence")
_TRACED = ("rtprobe", "cyclic", "timerlat")
"""The methods of rtprobe that keep the kernel's trace."""
_ITS_OWN = ("--name",)
"""What belongs to one run alone: a second one with it could not be told from the first by its name."""
_METHOD = ("--probe", "--set", "--interval", "-i")
_ENDS = ("--duration", "-D", "--count", "-l")
_MARGIN = 1.02
"""A run as long as `needed` is a few activations short of it: the duration proposed is 2 % longer."""

_CAPS = {
    ("NO-LOAD", "warning"): "the board was idle",
    ("NO-LOAD", "unknown"): "the load is unknown",
    ("LOAD-WINDOW", "warning"): "the load did not run all the time",
    ("LOAD-WINDOW", "unknown"): "when the load ran is unknown",
    ("LOAD-UNKNOWN", "warning"): "nothing shows what the load did",
    ("ISOLATED-NOT-STRESSED", "warning"): "the isolated CPUs had no load",
    ("HIST-TRUNCATED", "warning"): "samples lie beyond the histogram's last bin",
    ("HIST-TRUNCATED", "unknown"): "samples beyond the histogram's last bin are unknown",
    ("CO-MISSED", "unknown"): "missed activations are unknown",
    ("ENDED-EARLY", "warning"): "the run ended early",
}
"""Short words for the checks that often cap a verdict, in the order in which they are told; others are named by their id."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`state`: the state, and the deadline where it HOLDS. `said`: the numbers of it, one sentence. `scope`: the conditions that it is for. `because`: one line each, most telling first.
    `advice`: what to do now. `command`: the one command for that, None where no command helps. `condition`: of HOLDS; `said` ends with it."""

    state: str
    said: str
    scope: str
    because: tuple[str, ...]
    advice: str
    command: str | None
    condition: str = ""

    @property
    def heading(self) -> str:
        """The state, as a line of its own: with the condition of a HOLDS."""
        return f"{self.state}, {self.condition}" if self.condition else self.state

    @property
    def line(self) -> str:
        """The verdict in one line."""
        return f"{self.state}: {self.said}"


def answer(findings: Findings, recording: Recording) -> Answer:
    """The answer to the requirement; without one, the worst latency and D*."""
    verdict = findings.verdict
    if verdict is None:
        return _no_requirement(findings, recording)
    said = {
        "VIOLATED": _violated,
        "HOLDS": _holds,
        "NOT DEMONSTRATED": _not_demonstrated,
        "INVALID MEASUREMENT": _invalid,
    }[verdict.state]
    return said(findings, verdict, recording)


def _no_requirement(findings: Findings, recording: Recording) -> Answer:
    worst = findings.pooled.max_ns
    if recording_text.of_works(findings):
        told = f"{wording.count(findings.lanes[0].n)} rounds of a work; its time is no latency."
        return Answer(
            wording.NO_REQUIREMENT,
            told,
            "",
            (),
            "set two kernels beside each other",
            "rtassay throughput --of A... --with B...",
        )
    said = "nothing was measured" if worst is None else f"worst {wording.spaced(worst)}"
    windows = any(lane.measure in measures.WINDOWS for lane in findings.lanes)
    of = f"{wording.count(findings.pooled.n)} {'windows' if windows else 'activations'}"
    return Answer(wording.NO_REQUIREMENT, f"{said} in {of}.", "", (), *_state_it(findings, recording))


def _state_it(findings: Findings, recording: Recording) -> tuple[str, str]:
    """Advice and command where nothing was required. What was taken from a busy thread is no latency: a deadline needs another run."""
    plan = recording.manifest.plan
    if any(
        lane.measure == measures.APPLICATION for lane in findings.lanes
    ):  # no latency of the board: it shows no deadline
        return "see what delayed the program's threads", f"rtassay causes {recording.manifest.id}"
    # A job's natural deadline is its period.
    job = plan.interval_ns if any(lane.measure == measures.JOB_RESPONSE for lane in findings.lanes) else None
    words = ["--deadline", "100us" if job is None else wording.exact_time(job), "--p", "1e-6"]
    if not any(lane.measure in measures.TAKEN for lane in findings.lanes):
        advice = "state the deadline and the probability of a miss that you allow"
        return advice, wording.shell_line(["rtassay", "show", one_line(findings.id, 80), *words])
    argv = list(plan.argv)
    ours = argv[1:2] == ["run"] and "import" not in recording.manifest.facts
    again = _without(argv, (*_ITS_OWN, *_METHOD, *_REQUIREMENT)) if ours else ["rtassay", "run"]
    return "a deadline is for wake-ups: measure them under the same conditions", wording.shell_line([*again, *words])


def _violated(findings: Findings, verdict: Verdict, recording: Recording) -> Answer:
    about = _share(verdict)
    shown = f"{about}; {_allowed(verdict)} allowed" if about else f"{_allowed(verdict)} allowed"
    worst = _lane(findings, verdict)
    end = "" if worst is None or worst.max_ns is None else f" Worst {wording.spaced(worst.max_ns)}."
    limit = wording.exact_time(verdict.deadline_ns)
    return Answer(
        "VIOLATED",
        f"{_late(findings, verdict)} later than {wording.spaced(verdict.deadline_ns)} ({shown}).{end}",
        "",
        (_at_least(verdict),),
        *_find_cause(findings, verdict, recording, limit),
    )


def _find_cause(findings: Findings, verdict: Verdict, recording: Recording, limit: str) -> tuple[str, str]:
    """Advice and command after VIOLATED: the causes of a traced run, else a run that is traced."""
    trace = recording.manifest.trace
    if trace is not None:
        advice = "nothing was traced: see why" if trace.from_ns is None else "look at the causes of the late wake-ups"
        return advice, f"rtassay causes {one_line(findings.id, 80)}"
    if recording.manifest.plan.probe == "cyclictest":
        return (
            "find the cause: stop at the first late wake-up, with the kernel's trace of that moment",
            _repeat(verdict, recording, ["--break-above", limit])
            or f"rtassay run --deadline {limit} --break-above {limit}",
        )
    if recording.manifest.source.tool == CONSOLE_TOOL:
        return (
            "find the cause: this system keeps no trace; measure again with a part of what runs beside the lane",
            _repeat(verdict, recording, []) or f"rtassay show {one_line(findings.id, 80)}",
        )
    if _is_ours(recording) and recording.manifest.plan.probe not in _TRACED:
        advice = "find the cause: wake-ups under the same conditions, with the kernel's trace of the late ones"
        line = _repeat(verdict, recording, ["--trace-above", limit], left_out=_METHOD)
        return advice, line or f"rtassay run --deadline {limit} --trace-above {limit}"
    return (
        f"find the cause: {_first_for_a_trace(recording)}repeat it with the kernel's trace of the late wake-ups, then: rtassay causes",
        (_repeat(verdict, recording, ["--trace-above", limit]) if _is_ours(recording) else None)
        or f"rtassay run --deadline {limit} --trace-above {limit}",
    )


def _first_for_a_trace(recording: Recording) -> str:
    """What stands in the way of a trace on that board, as far as the board told: without tracefs a run with --trace-above measures untraced."""
    board = recording.manifest.board_start
    if board.tracing is not None or board.rights.uid is None:
        return ""
    return "as root, " if board.rights.uid else "mount tracefs there (mount -t tracefs nodev /sys/kernel/tracing), "


def _is_ours(recording: Recording) -> bool:
    """Whether rtprobe measured: no other program keeps a trace."""
    probe = recording.manifest.plan.probe
    return probe == "rtprobe" or probe not in rooms.table("probes")


def _holds(findings: Findings, verdict: Verdict, recording: Recording) -> Answer:
    seen = f"{wording.count(verdict.exceedances)} of {wording.count(verdict.due)} late"
    return Answer(
        f"HOLDS at {wording.spaced(verdict.deadline_ns)}",
        f"{seen}; {_at_most(verdict)}{_if_assumed(verdict)}.",
        _scope(findings, recording),
        (),
        "this answer is for these conditions only: measure again after a change of kernel, load, firmware or temperature",
        _repeat(verdict, recording, []),
        condition_words(verdict.assumes, verdict.per_hour),
    )


def _not_demonstrated(findings: Findings, verdict: Verdict, recording: Recording) -> Answer:
    caps = _caps(findings)
    if caps and _numbers_do(verdict):
        return Answer(
            "NOT DEMONSTRATED",
            f"the numbers would do ({_bound(verdict)}), but {_why_capped(caps)}.",
            "",
            _told(caps),
            caps[0].remedy or f"mend {caps[0].id}, then measure again",
            _repeat(verdict, recording, ["--load", "stress-ng"] if caps[0].id == "NO-LOAD" else []),
        )
    return _too_few(findings, verdict, recording)


def _too_few(findings: Findings, verdict: Verdict, recording: Recording) -> Answer:
    seen = f"{_late(findings, verdict)} late" if verdict.exceedances else _none_late(verdict)
    needed = verdict.needed
    if verdict.per_hour is not None and verdict.rate_upper_per_h is None and verdict.due:
        advice, command = "import the file again with --interval: events per hour are not known without it", None
    elif needed is None:
        advice, command = "no measurement can show this: state the probability of a miss that you allow", None
    else:
        time = f", {wording.span(needed.duration_s)} at this interval" if needed.duration_s is not None else ""
        further = "further " if verdict.exceedances else ""
        advice = f"measure longer: {wording.count(needed.n)} activations per lane without a {further}late one would show it{time}"
        command = _repeat(verdict, recording, [], needed.duration_s)
    return Answer(
        "NOT DEMONSTRATED",
        f"{seen}: {_at_most(verdict)}{_if_assumed(verdict)}; {_required(verdict)} is required.",
        "",
        (*_bursts(verdict), *_told([check for check in _caps(findings) if check.id != "N-TOO-SMALL"])),
        advice,
        command,
    )


def _invalid(findings: Findings, verdict: Verdict, recording: Recording) -> Answer:
    grave = _invalidating(findings)
    first = grave[0] if grave else None
    why = "the numbers do not mean what they seem to say" if first is None else _told(grave[:1])[0].rstrip(".")
    return Answer(
        verdict.state,
        f"{why}.",
        "",
        _told(grave[1:]),
        (first.remedy if first is not None else "") or "mend what makes it invalid, then measure again",
        _repeat(verdict, recording, []),
    )


def _late(findings: Findings, verdict: Verdict) -> str:
    where = recording_text.label_of(findings, verdict.lane)
    on = "" if where == "all" else f" on {where}"
    return f"{wording.count(verdict.exceedances)} of {wording.count(verdict.due)} activations{on}"


def _none_late(verdict: Verdict) -> str:
    return f"0 of {wording.count(verdict.due)} late"


def _share(verdict: Verdict) -> str:
    """`about 2 %`, `about 1 in 12,000`; empty where nothing was late."""
    if not verdict.exceedances or not verdict.due:
        return ""
    share = verdict.exceedances / verdict.due
    return (
        f"about {wording.hundredths(share)}" if share >= 0.001 else f"about 1 in {wording.count(_figures(1 / share))}"
    )


def _at_least(verdict: Verdict) -> str:
    sure = f"({wording.percent(verdict.confidence)})"
    events = f", in {_events(verdict.events)}" if verdict.events else ""
    if verdict.per_hour is not None:
        return f"at least {wording.rate(verdict.rate_lower_per_h)} events per hour {sure}{events}"
    return f"p is at least {wording.probability(verdict.p_lower)} {sure}{events}"


def _at_most(verdict: Verdict) -> str:
    sure = f"({wording.percent(verdict.confidence)})"
    if verdict.per_hour is not None:
        known = verdict.rate_upper_per_h is not None
        return (
            f"at most {wording.rate(verdict.rate_upper_per_h)} events per hour {sure}"
            if known
            else "events per hour are not known"
        )
    return f"at most {_one_in(verdict.p_upper)} {sure}"


def _if_assumed(verdict: Verdict) -> str:
    """The assumption of the bound, as short as can be. That late ones come as those seen do is told here only where few were seen."""
    condition = condition_words(verdict.assumes, verdict.per_hour)
    return f", {condition}" if condition else ""


def _bursts(verdict: Verdict) -> tuple[str, ...]:
    """Where late ones do not come singly: how they come, and what is shown all the same."""
    if verdict.lacks != SINGLE_LATE or verdict.per_hour is not None:
        return ()
    rate = (
        ""
        if verdict.rate_upper_per_h is None
        else f"; at most {wording.rate(verdict.rate_upper_per_h)} events per hour"
    )
    if verdict.events and verdict.events < (verdict.exceedances or 0):
        return (f"they came in {_events(verdict.events)}, not singly{rate} ({wording.percent(verdict.confidence)})",)
    return (f"the largest latencies come in bursts{rate} ({wording.percent(verdict.confidence)})",)


def _events(number: int) -> str:
    return f"{wording.count(number)} {'event' if number == 1 else 'events'}"


def _required(verdict: Verdict) -> str:
    if verdict.per_hour is not None:
        return f"{wording.rate(verdict.per_hour)} per hour"
    return _one_in(verdict.p_target) if verdict.p_target else "p = 0"


def _one_in(p: float | None) -> str:
    """`1 in 10,000`, rounded towards the larger p; a share above 1 % in percent."""
    if p is None:
        return "an unknown share"
    return f"{wording.percent(p)}" if p > 0.01 else f"1 in {wording.count(_figures(1 / p))}"


def _figures(value: float) -> int:
    """The value rounded down to two figures, as a whole number; 999,999,999.9999999 is 1,000,000,000."""
    value *= 1 + 1e-9
    unit = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return int(value // unit * unit)


def _allowed(verdict: Verdict) -> str:
    return (
        wording.probability(verdict.p_target)
        if verdict.per_hour is None
        else f"{wording.rate(verdict.per_hour)} per hour"
    )


def _bound(verdict: Verdict) -> str:
    if verdict.per_hour is not None:
        return _at_most(verdict)
    return f"p <= {wording.probability(verdict.p_upper)}{_if_assumed(verdict)}"


def _scope(findings: Findings, recording: Recording) -> str:
    """What the answer is for, as short as can be: `Only this kernel and load, a histogram of 30 s, in a VM.`"""
    load = "this kernel without a load" if findings.load in ("none", "") else "this kernel and load"
    what = "a run" if recording.manifest.source.tool == "rtprobe" or recording.manifest.has_samples else "a histogram"
    length = (
        wording.span(findings.duration_s) if findings.duration_s else f"{wording.count(findings.pooled.n)} activations"
    )
    parts = [f"Only {load}", f"{what} of {length}"]
    if any(
        check.id == "VM-STEAL" and check.severity != "pass" and check.severity != "unknown" for check in findings.checks
    ):
        parts.append("in a VM")
    if findings.verdict is not None and findings.verdict.look is not None:
        parts.append(f"judged at look {findings.verdict.look} of {findings.verdict.looks}")
    return ", ".join(parts) + "."


def _lane(findings: Findings, verdict: Verdict) -> LaneFindings | None:
    return next((lane for lane in findings.lanes if lane.name == verdict.lane), None)


def _numbers_do(verdict: Verdict) -> bool:
    """Every lane would hold if no check stood against it."""
    return bool(verdict.lanes) and all(lane["state"] == "HOLDS" for lane in verdict.lanes)


def _caps(findings: Findings) -> list[CheckResult]:
    """The checks that keep the verdict at NOT DEMONSTRATED, those of the load first."""
    capped_by = findings.verdict.capped_by if findings.verdict else ()
    order = list(_CAPS)

    def rank(check: CheckResult) -> int:
        key = (check.id, check.severity)
        return order.index(key) if key in order else len(order)

    return sorted((check for check in findings.checks if check.id in capped_by), key=rank)


def _why_capped(caps: Sequence[CheckResult]) -> str:
    """`the load is unknown`; of several the first two, and how many more."""
    said = [
        _CAPS.get((check.id, check.severity), f"{check.id} {'is unknown' if check.severity == 'unknown' else 'fired'}")
        for check in caps
    ]
    return (
        said[0]
        if len(said) == 1
        else f"{said[0]} and {said[1]}" + (f" ({len(said) - 2} more)" if len(said) > 2 else "")
    )


def _told(checks: Sequence[CheckResult]) -> tuple[str, ...]:
    return tuple(f"{check.id}: {one_line(check.message)}" for check in checks[:_MOST_BECAUSE])


def _invalidating(findings: Findings) -> list[CheckResult]:
    grave = ("invalid", "warning") if findings.strict else ("invalid",)
    return [
        check
        for check in severities.by_severity(findings.checks)
        if check.severity in grave and check.kind == "integrity" and check.waived is None
    ]


def _repeat(
    verdict: Verdict,
    recording: Recording,
    more: Sequence[str],
    at_least_s: float | None = None,
    left_out: Sequence[str] = (),
) -> str | None:
    """The run's own command, for the requirement that was judged, with `more` options, without some and, if given, with a duration. None for an
    import, which has no command, and for a change to a line that is not `rtassay run`."""
    argv = _without(list(recording.manifest.plan.argv), (*_ITS_OWN, *left_out))
    ours, changes = argv[1:2] == ["run"], at_least_s is not None or bool(more)
    if not argv or "import" in recording.manifest.facts or (changes and not ours):
        return None
    if ours and (asked := _asked(verdict, recording.manifest.plan)):
        argv = [*_without(argv, _REQUIREMENT), *asked]
    if at_least_s is not None:
        argv = [*_without(argv, _ENDS), "--duration", _duration(at_least_s * _MARGIN)]
    return wording.shell_line([*_without(argv, more[:1]), *more])


def _asked(verdict: Verdict, plan: Plan) -> list[str]:
    """The options of a requirement that the run itself was not told; none where it was."""
    sure = plan.confidence if verdict.look is not None else verdict.confidence
    by_p = verdict.per_hour is not None or plan.p_target == verdict.p_target
    if (plan.deadline_ns, plan.per_hour, plan.confidence) == (verdict.deadline_ns, verdict.per_hour, sure) and by_p:
        return []
    words = ["--deadline", wording.exact_time(verdict.deadline_ns)]
    words += (
        ["--p", format_p(verdict.p_target)]
        if verdict.per_hour is None
        else ["--at-most", format_rate(verdict.per_hour)]
    )
    return words if sure == default("confidence") else [*words, "--confidence", f"{sure:.12g}"]


def _duration(seconds: float) -> str:
    """`47s`, `50min`, `8.5h`: rounded up to what a person would type."""
    if seconds < 600:
        return f"{math.ceil(seconds)}s"
    if seconds < 3 * 3600:
        return f"{math.ceil(seconds / 60)}min"
    return f"{math.ceil(seconds / 360) / 10:g}h"


def _without(argv: Sequence[str], options: Sequence[str]) -> list[str]:
    """`argv` without these options and their values."""
    kept, skip = [], False
    for word in argv:
        if skip:
            skip = False
        elif word in options:
            skip = True
        elif not word.startswith(tuple(f"{option}=" for option in options if option.startswith("--"))):
            kept.append(word)
    return kept
