"""rtassay causes: an answer with its exit code, one JSON object, files by suffix, and why there is no answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import rtassay
from rtassay import rankings, store
from rtassay.model import causes as kinds
from rtassay.model import measures
from rtassay.model import ranking as codes
from rtassay.model.errors import UsageError
from rtassay.model.events import End, Note, TracePage
from rtassay.model.manifest import TraceEntry
from rtassay.model.ranking import ranking_dict
from rtassay.model.recording import Lane
from rtassay.model.units import format_time
from rtassay.reports.causes import causes_text as text
from rtassay.store import tracing

from ...support.attributions import IRQ, TIMER, UNKNOWN, attribution, ranked, run
from ...support.attributions import WAKE_UP as USUAL
from ...support.command_line import in_process
from ...support.traced_run import US, hit, known, record, traced_run


@pytest.fixture(autouse=True)
def decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_attribute", known)


def recorded(home: Path, **more: object) -> Path:
    path = record(home / "recordings", traced_run(hits=[hit(1_500), hit(1_700)]), **more)
    store.seal(path)
    return path


def test_the_answer_names_causes_shares_predictions_and_steps(tmp_path: Path) -> None:
    done = in_process("causes", recorded(tmp_path), home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("interrupt 40 (eth0) owned 67 % of the late time in one run")
    assert "thread kworker/0:1[77]" in done.stdout and "/proc/irq/N/smp_affinity" in done.stdout
    assert "prediction" in done.stdout and "D* without it (us)" in done.stdout
    assert "p50 20us untraced, 50us traced" in done.stdout, "the observer's cost is told"


def test_hits_beyond_the_limit_of_a_second_are_told(tmp_path: Path) -> None:
    run = traced_run(hits=[hit(1_500), hit(1_700)])
    end = run[-1]
    assert isinstance(end, End)
    end.data["trace"] |= {"hits": 31, "captured": 2, "not_captured": 29, "beyond_limit": 1}
    path = record(tmp_path / "recordings", run)
    store.seal(path)
    said = in_process("causes", path, home=tmp_path).stdout
    assert "29 more were not captured (too many at once)" in said and "1 was captured beyond that limit" in said
    assert json.loads(in_process("causes", path, "--json", home=tmp_path).stdout)["runs"][0]["beyond_limit"] == 1
    assert "beyond that limit" not in in_process("causes", recorded(tmp_path), home=tmp_path).stdout


def test_json_is_one_object(tmp_path: Path) -> None:
    done = in_process("causes", recorded(tmp_path), "--deadline", "800us", "--json", home=tmp_path)
    data = json.loads(done.stdout)
    assert data["schema"] == "rtassay/causes/1" and data["answered"] and data["deadline_ns"] == 800 * US
    irq, thread = data["causes"]
    assert (irq["cause"]["kind"], irq["cause"]["name"], irq["exceedances"]) == ("irq", "eth0", 2)
    assert irq["without"]["exceedances"] == 0 and irq["without"]["max_ns"] == 300 * US
    assert thread["without"]["max_ns"] == 600 * US and thread["next_step"] == codes.THREAD_PRIORITY


def test_python_ranks_what_the_command_ranks(tmp_path: Path) -> None:
    first, second = recorded(tmp_path), recorded(tmp_path)
    for words, given in (
        ((), {}),
        (("--deadline", "800us", "--p", "0.1"), {"deadline": "800us", "p": 0.1}),
        (("--above", "950us", "--confidence", "0.9"), {"above": 950 * US, "confidence": 0.9}),
    ):
        told = in_process("causes", first, second, *words, "--json", home=tmp_path)
        ranked = rtassay.rank_causes([rtassay.open(first), second], **given)
        assert json.loads(json.dumps(ranking_dict(ranked))) == json.loads(told.stdout)
    for wrong in ({"p": 1.0}, {"confidence": "much"}, {"deadline": "3"}, {"above": "late"}):
        with pytest.raises(UsageError):
            rtassay.rank_causes([first], **wrong)
    with pytest.raises(UsageError):
        rtassay.rank_causes([])


def test_d_star_is_that_of_a_p_which_the_traced_part_can_show(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    asked = json.loads(in_process("causes", path, "--p", "1e-6", "--json", home=tmp_path).stdout)
    assert (asked["p"], asked["p_asked"], asked["demonstrated_ns"]) == (1e-6, 1e-6, None), "what is stated stands"
    recording = store.open_recording(path)
    manifest = replace(recording.manifest, plan=replace(recording.manifest.plan, p_target=1e-6))
    ranking = rankings.rank([replace(recording, manifest=manifest)])
    # 1000 traced wake-ups, one late: too few for 1e-3.
    assert (ranking.p, ranking.p_asked) == (0.01, 1e-6)
    assert ranking.demonstrated_ns is not None
    assert all(share.without is not None and share.without.demonstrated_ns is not None for share in ranking.causes)
    assert "(p <= 0.01, 95 % confidence; the part is too short for p <= 1e-6)" in text.now(ranking)
    as_asked = rankings.rank([recording])
    assert as_asked.p == as_asked.p_asked == 0.01 and "too short" not in text.now(as_asked)


def test_lanes_of_another_measure_count_nowhere(tmp_path: Path) -> None:
    """timerlat has two lanes a CPU. The interrupt's is part of the thread's."""
    recording = store.open_recording(recorded(tmp_path))

    def two(lanes: Sequence[Lane]) -> tuple[Lane, ...]:
        (lane,) = lanes
        thread = replace(lane, entry=replace(lane.entry, measure=measures.TIMER_THREAD))
        quick = replace(lane.histogram, lower_ns=lane.histogram.lower_ns // 20)
        irq = replace(lane, histogram=quick, entry=replace(lane.entry, index=1, measure=measures.TIMER_IRQ))
        return thread, irq

    both = replace(recording, lanes=two(recording.lanes), traced=two(recording.traced))
    alone = replace(recording, lanes=both.lanes[:1], traced=both.traced[:1])
    assert rankings.traced_of(both) == rankings.traced_of(alone)
    first, second = (replace(rankings.rank([one]), crosschecks=()) for one in (both, alone))
    assert first == second
    assert rankings.leading(both).traced == alone.traced and rankings.leading(alone) is alone


def test_several_runs_are_ranked_together_and_files_go_by_suffix(tmp_path: Path) -> None:
    first, second = recorded(tmp_path), recorded(tmp_path)
    page = tmp_path / "causes.md"
    done = in_process("causes", first, second, "-o", page, home=tmp_path)
    assert done.returncode == 0 and done.stdout.strip() == str(page)
    written = page.read_text()
    assert "in 2 runs" in written and "smallest to largest of 2 runs" in written
    assert in_process("causes", first, "-o", tmp_path / "causes.xyz", home=tmp_path).returncode == 2


def test_only_late_enough_wake_ups_count(tmp_path: Path) -> None:
    done = in_process("causes", recorded(tmp_path), "--above", "950us", "--json", home=tmp_path)
    assert done.returncode == 4 and json.loads(done.stdout)["attributed"] == 0
    assert in_process("causes", recorded(tmp_path), "--above", "3", home=tmp_path).returncode == 2


def test_a_run_that_was_not_traced_says_what_to_do(tmp_path: Path) -> None:
    events = [event for event in traced_run() if not isinstance(event, Note | TracePage)]
    events[-1] = End({**events[-1].data, "trace": None}) if isinstance(events[-1], End) else events[-1]
    path = record(tmp_path / "recordings", events)
    store.seal(path)
    done = in_process("causes", path, home=tmp_path)
    assert done.returncode == 4 and "--trace-above auto" in done.stdout and "coincidences" in done.stdout


@pytest.mark.parametrize(
    ("rights", "refused"),
    [
        ({"uid": 1000, "lockdown": "confidentiality", "container": True}, codes.NOT_ROOT),
        ({"uid": 0, "lockdown": "confidentiality", "container": True}, codes.LOCKED_DOWN),
        ({"uid": 0, "lockdown": "integrity", "container": True}, codes.IN_CONTAINER),
        ({"uid": 0, "lockdown": "integrity", "container": False}, codes.BOARD_SAYS),
        ({"uid": 0, "lockdown": "none", "container": True}, codes.IN_CONTAINER),
        ({"uid": 0, "lockdown": None, "container": False}, codes.BOARD_SAYS),
        ({}, codes.BOARD_SAYS),
    ],
)
def test_why_a_board_could_not_be_traced(tmp_path: Path, rights: dict[str, object], refused: str) -> None:
    recording = store.open_recording(recorded(tmp_path))
    manifest = replace(recording.manifest, trace=TraceEntry(error="no \x1b[31mway"), inventory={"rights": rights})
    ranking = rankings.rank([replace(recording, manifest=manifest, causes=())])
    (run,) = ranking.runs
    assert (run.state, run.refused) == (codes.NOT_POSSIBLE, refused) and not ranking.answered
    why, do = text.why_not(run)
    assert "\x1b" not in why and do


@pytest.mark.parametrize(("above_ns", "level"), [(5_000 * US, "5ms"), (None, "4 x the running p99.9 (auto)")])
def test_a_level_that_nothing_reached_is_told_with_one_that_is(
    tmp_path: Path, above_ns: int | None, level: str
) -> None:
    recording = store.open_recording(recorded(tmp_path))
    assert recording.manifest.trace is not None
    quiet = replace(recording.manifest.trace, above_ns=above_ns, hits=0, captured=0)
    ranking = rankings.rank([replace(recording, manifest=replace(recording.manifest, trace=quiet), causes=())])
    (run,) = ranking.runs
    assert run.state == codes.NOTHING_LATE and run.above_ns == above_ns
    largest_ns = max(int(lane.histogram.lower_ns.max()) for lane in recording.traced)
    assert run.traced_max_ns == largest_ns > 0
    why, do = text.why_not(run)
    assert level in why and f"the worst was {format_time(largest_ns)}" in why
    assert run.traced_p99_9_ns is not None and f"--trace-above {format_time(run.traced_p99_9_ns)}" in do


def test_perfetto_gets_a_slice_for_each_owner(tmp_path: Path) -> None:
    path, file = recorded(tmp_path), tmp_path / "late.json"
    done = in_process("export", path, "--to", "perfetto", "-o", file, home=tmp_path)
    assert done.returncode == 0, done.stderr
    events = json.loads(file.read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X" and event["ts"] < 1_600_000]
    whole, phase, irq, _, thread = slices
    assert whole["name"] == "late by 900us" and whole["args"]["k"] == 1_500 and whole["ts"] == 1_500_000
    assert (phase["dur"], irq["name"], irq["dur"]) == (600, "interrupt 40 (eth0)", 600)
    assert thread["ts"] + thread["dur"] == whole["ts"] + whole["dur"]
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} == {"CPU 3", "lane 0"}


def test_without_owners_there_is_no_perfetto_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_attribute", lambda *given: [])
    done = in_process("export", recorded(tmp_path), "--to", "perfetto", home=tmp_path)
    assert done.returncode == 2 and "rtassay causes" in done.stderr


def test_reports_of_a_traced_run_have_its_causes(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    for suffix, wanted in ((".md", "interrupt 40 (eth0)"), (".html", 'id="hit-0-1700"'), (".json", '"causes"')):
        file = tmp_path / f"report{suffix}"
        assert in_process("report", path, "-o", file, home=tmp_path).returncode == 0
        assert wanted in file.read_text()
    for _ in range(2):  # judged, then from the cache
        assert "Causes: interrupt 40 (eth0) owned 67 %" in in_process("show", path, home=tmp_path).stdout


def test_every_code_has_its_words() -> None:
    for kind in kinds.KINDS:
        assert text.name(kinds.Cause(kind, "x")) and text.step(rankings_steps()[kind])
        alone = text.name(kinds.Cause(kind))
        assert alone == alone.strip() and "()" not in alone
    for state in (codes.NOT_ASKED, codes.NOTHING_LATE, codes.NOT_CAPTURED, codes.NOT_DECODED, codes.NOT_OURS):
        assert all(text.why_not(codes.Traced("a", state)))


@pytest.mark.parametrize(
    ("owned", "said"),
    [
        (USUAL, "the ordinary path of the wake-up owned 80 % of the late time in one run, interrupt 40 (eth0) 20 %"),
        (UNKNOWN, "unattributed owned 80 % of the late time in one run, interrupt 40 (eth0) 20 %"),
    ],
)
def test_what_owns_most_is_told_first_even_if_it_is_no_cause(owned: kinds.Cause, said: str) -> None:
    assert text.headline(ranked(run(attribution(1, (IRQ, 200 * US), (owned, 800 * US))))) == said
    third = ranked(run(attribution(1, (IRQ, 300 * US), (owned, 400 * US), (TIMER, 200 * US))))
    assert text.headline(third) == "interrupt 40 (eth0) owned 33 % of the late time in one run"


def test_the_guide_has_a_next_step_for_each_cause() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "what-broke-it.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", guide.partition("| cause | next |")[2].partition("\n\n")[0], re.M)
    told = "\n".join(cause for cause, step in rows if len(step) > 10)
    for kind in set(kinds.KINDS) - {kinds.WAKE_UP, kinds.OBSERVER}:
        plain = re.sub(r" (in |of )?a thread$", "", text.name(kinds.Cause(kind)))
        assert re.search(rf"(^|, ){re.escape(plain)}", told, re.M), plain


def rankings_steps() -> dict[str, str]:
    from rtassay.causes.ranking import NEXT_STEP

    return NEXT_STEP


def test_a_confirmation_is_planned(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    done = in_process("causes", path, "--confirm", "irq:eth0", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1. Remove interrupt 40 (eth0): move it" in done.stdout
    assert f"rtassay causes {path.name[:-4]} --confirm irq:eth0 --with cause=out" in done.stdout
    assert "(label the new ones cause=out)" in done.stdout, "it was not run by a command that is known"
    assert "none us" not in done.stdout
    plan = json.loads(in_process("causes", path, "--confirm", "irq", "--json", home=tmp_path).stdout)
    assert plan["schema"] == "rtassay/confirmation-plan/1" and (plan["exceedances"], plan["exceedances_predicted"]) == (
        2,
        0,
    )
    manifest = store.load_manifest(path)
    store.save_manifest(path, replace(manifest, plan=replace(manifest.plan, argv=("rtassay", "run", "pi"))))
    again = in_process("causes", path, "--confirm", "irq:eth0", home=tmp_path)
    assert "as they were: rtassay run pi --label cause=out\n" in again.stdout
    wrong = in_process("causes", path, "--confirm", "irq:eth1", home=tmp_path)
    assert wrong.returncode == 2 and "irq:eth0, thread:kworker/0:1" in wrong.stderr
    assert in_process("causes", path, "--with", path, home=tmp_path).returncode == 2


def test_a_prediction_is_held_against_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = recorded(tmp_path)
    words = ("causes", before, "--deadline", "650us", "--confirm", "irq:eth0", "--with")
    same = in_process(*words, before, home=tmp_path)
    assert same.returncode == 1 and "NOT REMOVED" in same.stdout
    monkeypatch.setattr(tracing, "_attribute", lambda *given: [])
    quiet = recorded(tmp_path)
    done = in_process(*words, quiet, "--json", home=tmp_path)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["state"] == codes.AGREES
    assert (found["exceedances_before"], found["exceedances_predicted"], found["exceedances_after"]) == (2, 0, 0)
    assert (found["share_after"], found["due_before"]) == (0.0, 1_000)
    shown = in_process(*words, quiet, home=tmp_path)
    assert "CONFIRMED" in shown.stdout and "measured without" in shown.stdout
