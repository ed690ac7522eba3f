"""The answer in a few lines, from findings as analysis makes them."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import examples
import pytest

from rtassay import reports
from rtassay.analysis.judge import judge
from rtassay.model.findings import (
    AS_ABOVE,
    AS_FEW,
    AS_SEEN,
    SINGLE_LATE,
    SINGLY,
    THESE_RUNS,
    Assumption,
    CheckResult,
    Findings,
    state_words,
    weakest,
)
from rtassay.model.manifest import TraceEntry
from rtassay.model.recording import Recording
from rtassay.reports import wording
from rtassay.reports.base import JudgedRecording
from rtassay.reports.recording.answer import Answer, answer


def judged(recording: Recording, **requirement: object) -> tuple[Findings, Answer]:
    findings = judge(recording, **requirement)  # type: ignore[arg-type]
    return findings, answer(findings, recording)


def with_verdict(name: str, **changes: object) -> tuple[Findings, Recording]:
    findings, recording = getattr(examples, name)()
    return replace(findings, verdict=replace(findings.verdict, **changes)), recording


def test_a_violated_deadline_tells_how_many_how_bad_and_how_to_find_the_cause() -> None:
    findings, said = judged(examples.violated()[1], deadline_ns=100_000, p_target=1e-7)
    late, due = findings.verdict.exceedances, findings.verdict.due
    assert said.line.startswith(f"VIOLATED: {late:,} of {due:,} activations on CPU3 later than 100 us (about 1 in ")
    assert said.line.endswith("1e-7 allowed). Worst 11.3 ms.")
    assert said.command is not None and shlex.split(said.command)[-2:] == ["--trace-above", "100us"]
    for trace, advice in (
        (TraceEntry(from_ns=1), "look at the causes"),
        (TraceEntry(error="no tracefs"), "nothing was traced"),
    ):
        manifest = replace(examples.violated()[1].manifest, trace=trace)
        _, said = judged(replace(examples.violated()[1], manifest=manifest), deadline_ns=100_000, p_target=1e-7)
        assert said.advice.startswith(advice) and said.command == f"rtassay causes {findings.id}"


@pytest.mark.parametrize(("uid", "first"), [(0, "mount tracefs there"), (1000, "as root, "), (None, "repeat it")])
def test_where_there_is_no_tracefs_a_traced_run_alone_is_no_advice(uid: int | None, first: str) -> None:
    recording = examples.violated()[1]
    told = replace(recording.manifest, inventory={"rights": {"uid": uid}, "tracing": None})
    _, said = judged(replace(recording, manifest=told), deadline_ns=100_000, p_target=1e-7)
    assert said.advice.removeprefix("find the cause: ").startswith(first)


@pytest.mark.parametrize(("tool", "probe"), [("rtprobe-lite", "rtprobe"), ("jitterdebugger", "jitterdebugger")])
def test_what_keeps_no_trace_is_not_repeated_with_one(tool: str, probe: str) -> None:
    """Another program on Linux: rtprobe traces there. A system without Linux: nothing does."""
    recording = examples.violated()[1]
    told = recording.manifest
    told = replace(told, source=replace(told.source, tool=tool), plan=replace(told.plan, probe=probe, command=()))
    _, said = judged(replace(recording, manifest=told), deadline_ns=100_000, p_target=1e-7)
    assert said.command is not None
    assert ("--trace-above" in said.command) is (tool == "jitterdebugger") and "--probe" not in said.command


def test_a_method_without_a_trace_proposes_wake_ups_with_one() -> None:
    recording = examples.violated()[1]
    argv = ("rtassay", "run", "pi", "--probe", "exec", "--set", "command=a job", "--interval=20ms", "--load", "x")
    told = replace(recording.manifest, plan=replace(recording.manifest.plan, probe="exec", argv=argv))
    _, said = judged(replace(recording, manifest=told), deadline_ns=100_000, p_target=1e-7)
    assert said.command == "rtassay run pi --load x --deadline 100us --p 1e-7 --trace-above 100us"
    assert said.advice.startswith("find the cause: wake-ups under the same conditions")


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.0086, "0.86 %"), (0.5, "50 %"), (0.994, "99 %"), (0.9951, "100 %"), (1.0, "100 %"), (12.345, "1,234 %")],
)
def test_a_share_has_no_exponent(share: float, told: str) -> None:
    """`about 1e+02 %` was said where every activation was late."""
    assert wording.hundredths(share) == told and wording.hundredths(share, "+") == f"+{told}"


@pytest.mark.parametrize("required", [True, False])
def test_the_run_to_repeat_has_not_the_name_of_this_one(required: bool) -> None:
    """Two runs of one name would be told apart by their ids alone."""
    findings, recording = examples.violated()
    argv = ("rtassay", "run", "--deadline=100us", "--name", "first", "--load", "x")
    plan = replace(recording.manifest.plan, argv=argv)
    recording = replace(recording, manifest=replace(recording.manifest, plan=plan))
    if required:
        said = judged(recording, deadline_ns=100_000, p_target=1e-7)[1]
    else:
        noise = [replace(lane, measure="noise") for lane in findings.lanes]
        said = answer(replace(findings, verdict=None, lanes=noise), recording)
    assert said.command is not None and "--load x" in said.command and "first" not in said.command


def test_too_few_activations_tell_what_they_show_and_the_run_that_would_do() -> None:
    findings, said = judged(examples.holds()[1], deadline_ns=120_000, p_target=1e-9)
    assert said.said.endswith("1 in 1,000,000,000 is required.") and ": at most 1 in " in said.said
    words = shlex.split(said.command or "")
    assert words[:2] == ["rtassay", "run"] and words.count("--duration") == 1
    assert f"{findings.verdict.needed.n:,} activations" in said.advice


def test_a_cap_is_named_although_the_numbers_would_do() -> None:
    findings, recording = with_verdict(
        "holds", state="NOT DEMONSTRATED", lanes=({"state": "HOLDS"},), capped_by=("NO-LOAD", "CO-MISSED")
    )
    caps = (
        CheckResult("CO-MISSED", "unknown", "integrity", "not known", remedy="Measure with rtprobe."),
        CheckResult("NO-LOAD", "unknown", "optimism", "the load is not known", remedy="Say it."),
    )
    said = answer(replace(findings, checks=caps), recording)
    assert said.line == (
        "NOT DEMONSTRATED: the numbers would do (p <= 3e-6), but the load is unknown and missed activations are unknown."
    )
    assert said.because == ("NO-LOAD: the load is not known", "CO-MISSED: not known")
    assert said.advice == "Say it."


def test_an_invalid_measurement_names_the_check_once() -> None:
    findings, recording = examples.invalid()
    said = answer(findings, recording)
    assert said.state == "INVALID MEASUREMENT" and said.said.startswith("NOT-RT-POLICY: ")
    assert not any("NOT-RT-POLICY" in reason for reason in said.because)


@pytest.mark.parametrize(
    ("p", "said"),
    [(3e-6, "at most 1 in 330,000 (95 %)"), (9.955e-5, "at most 1 in 10,000 (95 %)"), (1e-6, "at most 1 in 1,000,000 (95 %)"),
     (0.25, "at most 25 % (95 %)"), (1.0, "at most 1e+02 % (95 %)")],
)  # fmt: skip
def test_a_bound_is_rounded_towards_the_larger_probability(p: float, said: str) -> None:
    findings, recording = with_verdict("holds", p_upper=p)
    assert said.replace("1e+02", "100") in answer(findings, recording).said


def test_p_of_zero_and_no_requirement_have_words() -> None:
    findings, recording = with_verdict("not_demonstrated", p_target=0.0, needed=None)
    said = answer(findings, recording)
    assert "p = 0 is required" in said.said and said.command is None
    free = answer(replace(findings, verdict=None), recording)
    assert free.state == "NO REQUIREMENT STATED" and "--deadline" in (free.command or "")


def test_a_job_without_a_requirement_is_asked_for_its_period() -> None:
    findings, recording = examples.holds()
    lanes = tuple(replace(lane, measure="job-response") for lane in findings.lanes)
    manifest = replace(recording.manifest, plan=replace(recording.manifest.plan, interval_ns=100_000_000))
    said = answer(replace(findings, verdict=None, lanes=lanes), replace(recording, manifest=manifest))
    assert said.command == f"rtassay show {findings.id} --deadline 100ms --p 1e-6"


@pytest.mark.parametrize("measure", ["noise-total", "hardware-gap", "stall"])
def test_what_was_taken_from_a_busy_thread_has_no_deadline(measure: str) -> None:
    """Time that was taken is no latency; the deadline is for a run of wake-ups like this one."""
    findings, recording = examples.holds()
    lanes = tuple(replace(lane, measure=measure) for lane in findings.lanes)
    argv = ("rtassay", "run", "pi@board", "--probe", "noise", "--set=threshold=5us", "--load", "x", "--interval", "1s")
    manifest = replace(recording.manifest, plan=replace(recording.manifest.plan, argv=argv))
    said = answer(replace(findings, verdict=None, lanes=lanes), replace(recording, manifest=manifest))
    assert said.command == "rtassay run pi@board --load x --deadline 100us --p 1e-6"
    assert said.advice.startswith("a deadline is for wake-ups: ")
    assert (" windows." in said.said) is (measure != "stall")
    manifest = replace(manifest, facts={**manifest.facts, "import": {}})
    said = answer(replace(findings, verdict=None, lanes=lanes), replace(recording, manifest=manifest))
    assert said.command == "rtassay run --deadline 100us --p 1e-6"


@pytest.mark.parametrize("format_name", ["terminal", "markdown"])
def test_the_time_of_a_work_has_no_demonstrated_deadline_and_no_new_maximum(format_name: str) -> None:
    findings, recording = examples.holds()
    asked = reports.load(JudgedRecording, format_name)

    def told(findings: Findings) -> str:
        return str(asked.render(JudgedRecording(findings, recording)).decode())

    findings = replace(findings, verdict=None)
    works = replace(findings, lanes=tuple(replace(lane, measure="work:builtin-cpu") for lane in findings.lanes))
    star = {"terminal": "D* ", "markdown": "Demonstrated deadline"}[format_name]
    for words in (star, "new maximum"):
        assert words.lower() in told(findings).lower() and words.lower() not in told(works).lower()


@pytest.mark.parametrize(
    ("asked", "told"),
    [({"deadline_ns": 130_000, "p_target": 1e-9}, "--deadline 130us --p 1e-9"),
     ({"deadline_ns": 130_000, "per_hour": 0.1}, "--deadline 130us --at-most 0.1/h"),
     ({"deadline_ns": 130_000, "p_target": 1e-9, "confidence": 0.99}, "--deadline 130us --p 1e-9 --confidence 0.99")],
)  # fmt: skip
def test_the_run_to_repeat_is_for_the_requirement_that_was_judged(asked: dict[str, float], told: str) -> None:
    """The recording was measured for another one."""
    recording = examples.holds()[1]
    argv = ("rtassay", "run", "--deadline=100us", "--p", "1e-6", "--load", "x", "--duration", "9s")
    plan = replace(recording.manifest.plan, argv=argv, deadline_ns=100_000, p_target=1e-6)
    _, said = judged(replace(recording, manifest=replace(recording.manifest, plan=plan)), **asked)
    assert (said.command or "").startswith(f"rtassay run --load x {told} --duration ")
    _, same = judged(replace(recording, manifest=replace(recording.manifest, plan=plan)))
    assert "--deadline=100us --p 1e-6" in (same.command or "")


def test_d_star_names_the_events_an_hour_that_it_is_for() -> None:
    recording = examples.holds()[1]
    for format_, words in (
        ("terminal", "(at most 5 events per hour, 95 %"),
        ("markdown", "(at most 5 events per hour, "),
    ):
        judgement = JudgedRecording(judge(recording, deadline_ns=130_000, per_hour=5.0), recording)
        page = reports.load(JudgedRecording, format_).render(judgement).decode()
        assert words in page and "p <= 1e-6" not in page


def test_a_pasted_cyclictest_line_is_not_edited() -> None:
    findings, recording = examples.violated()
    plan = replace(recording.manifest.plan, argv=("rtassay", "cyclictest", "-m", "-S"))
    other = replace(recording, manifest=replace(recording.manifest, plan=plan))
    assert "cyclictest -m" not in (answer(findings, other).command or "")


def test_the_assumption_of_a_bound_stands_in_the_first_line() -> None:
    findings, recording = with_verdict("holds", assumes=(Assumption(SINGLY),))
    assert answer(findings, recording).said.endswith("(95 %), if late ones come singly.")
    findings, recording = with_verdict("holds", assumes=(Assumption(AS_ABOVE, {"above_ns": 76_000}),))
    assert answer(findings, recording).said.endswith(", if late ones come as singly as those above 76 us.")
    findings, recording = with_verdict("holds", assumes=(Assumption(AS_SEEN),), events=5)
    assert "if late ones" not in answer(findings, recording).said
    findings, recording = with_verdict("holds", assumes=(Assumption(AS_FEW),), events=1)
    assert answer(findings, recording).said.endswith(", if late ones come as those seen did.")


@pytest.mark.parametrize(
    ("assumes", "per_hour", "condition"),
    [
        ((Assumption(SINGLY),), None, "if late ones come singly"),
        ((Assumption(AS_ABOVE, {"above_ns": 76_000}),), None, "if late ones come as singly as those above 76 us"),
        ((Assumption(AS_FEW),), None, "if late ones come as those seen did"),
        ((Assumption(AS_SEEN),), None, ""),
        ((Assumption(SINGLY),), 20.0, ""),
    ],
)
def test_no_format_tells_holds_without_its_condition(
    assumes: tuple[Assumption, ...], per_hour: float | None, condition: str
) -> None:
    """Where HOLDS stands, on the same line; a bound of events per hour needs none."""
    subject = JudgedRecording(*with_verdict("holds", assumes=assumes, per_hour=per_hour))
    for name in ("terminal", "markdown", "summary", "junit", "ktap", "html"):
        text = reports.load(JudgedRecording, name).render(subject).decode()
        lines = [line for line in text.splitlines() if re.search(r"HOLDS at", line)]
        assert lines
        if name == "terminal":  # it wraps
            lines = [" ".join(text.split("\n\n")[0].split())]
        assert all((condition or "if late ones") in line for line in lines) is bool(condition), (name, lines)


@pytest.mark.parametrize(
    ("of_lanes", "codes"),
    [
        ([], []),
        ([[AS_SEEN], [AS_ABOVE], [AS_SEEN]], [AS_ABOVE]),
        ([[AS_ABOVE, THESE_RUNS], [AS_FEW, THESE_RUNS]], [AS_FEW, THESE_RUNS]),
        ([[AS_FEW], [SINGLY]], [SINGLY]),
    ],
)
def test_of_several_assumptions_the_one_that_data_show_least_is_told(
    of_lanes: list[list[str]], codes: list[str]
) -> None:
    assert [one.code for one in weakest([Assumption(code) for code in codes] for codes in of_lanes)] == codes
    first = Assumption(AS_ABOVE, {"above_ns": 1})
    assert weakest([[first], [Assumption(AS_ABOVE, {"above_ns": 2})]]) == (first,)


def test_only_holds_has_a_condition_and_two_to_four_runs_speak_of_themselves() -> None:
    assumes = (Assumption(SINGLY), Assumption(THESE_RUNS, {"runs": 3}))
    assert state_words("HOLDS", assumes) == "HOLDS of these 3 runs, if late ones come singly"
    assert state_words("HOLDS", assumes, 0.1) == "HOLDS of these 3 runs" and state_words("HOLDS", ()) == "HOLDS"
    assert state_words("VIOLATED", assumes) == "VIOLATED"


def test_bursts_say_what_they_show_in_events() -> None:
    findings, recording = with_verdict("not_demonstrated", lacks=SINGLE_LATE, events=3, exceedances=30)
    assert (
        answer(findings, recording).because[0]
        == "they came in 3 events, not singly; at most 10.8 events per hour (95 %)"
    )
    findings, recording = with_verdict("not_demonstrated", lacks=SINGLE_LATE, events=1, exceedances=1)
    assert answer(findings, recording).because[0].startswith("the largest latencies come in bursts; at most")


def test_a_requirement_in_events_per_hour_is_answered_in_them() -> None:
    findings, recording = with_verdict("holds", per_hour=20.0)
    assert "at most 10.8 events per hour (95 %)." in answer(findings, recording).said
    findings, recording = with_verdict("violated", per_hour=0.1, rate_lower_per_h=2.5)
    said = answer(findings, recording)
    assert "0.1 per hour allowed" in said.said and said.because == ("at least 2.5 events per hour (95 %), in 3 events",)


def test_a_histogram_says_what_it_takes_for_granted() -> None:
    findings, said = judged(examples.imported()[1], deadline_ns=50_000, p_target=0.5)
    assert any(one.code == SINGLY for one in findings.verdict.assumes)
    assert "if late ones come singly" in said.said


def test_a_run_with_looks_says_at_which_one_it_is_judged() -> None:
    findings, recording = with_verdict("holds", look=1, looks=3)
    assert answer(findings, recording).scope.endswith(", judged at look 1 of 3.")
    findings, recording = with_verdict("holds")
    assert "look" not in answer(findings, recording).scope


def test_events_per_hour_of_a_file_without_an_interval_need_it() -> None:
    findings, recording = with_verdict("not_demonstrated", per_hour=10.0, rate_upper_per_h=None, needed=None)
    said = answer(findings, recording)
    assert (said.advice, said.command) == (
        "import the file again with --interval: events per hour are not known without it", None,
    )  # fmt: skip
    findings, recording = with_verdict("not_demonstrated", per_hour=0.0, rate_upper_per_h=2.0, needed=None)
    assert answer(findings, recording).advice.startswith("no measurement can show this")
