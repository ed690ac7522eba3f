"""Recordings of followed threads: real streams of `rtprobe follow` with faults of known kind, time and length (tests/data/followed)."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path

import known_causes
import pytest
from command_line import in_process

from rtassay import explaining, rankings, store
from rtassay.causes import confirming
from rtassay.model.causes import Attribution, Cause
from rtassay.model.errors import UsageError
from rtassay.model.explanation import explanation_dict
from rtassay.model.measures import APPLICATION
from rtassay.model.recording import Recording
from rtassay.reports.explanation.terminal import TerminalExplanation

DATA = Path(__file__).parents[1] / "data" / "followed"
EXPECTED = {
    "p": ("preemption-off", "rtfault_p"),
    "f": ("thread", "rtfault_f"),
    "s": ("no-preemption-point", "rtfault_s"),
}


@pytest.fixture(scope="module", params=["rt", "stock"])
def kernel(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def home(kernel: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the recording `app`."""
    place = tmp_path_factory.mktemp(kernel)
    (place / "app.rtw").write_bytes(lzma.decompress((DATA / f"{kernel}.rtw.xz").read_bytes()))
    done = in_process("import", place / "app.rtw", "--name", "app", home=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def recording(home: Path) -> Recording:
    (path,) = (home / "recordings").glob("*.rta")
    return store.open_recording(path)


def of_control(recording: Recording) -> list[Attribution]:
    lane = next(lane.entry.index for lane in recording.lanes if lane.entry.name.startswith("control-"))
    return [one for one in recording.causes if one.hit.lane == lane]


def test_each_late_wake_up_of_a_known_fault_gets_its_cause_and_size(kernel: str, recording: Recording) -> None:
    faults = json.loads((DATA / f"{kernel}.faults.json").read_text())
    late = of_control(recording)
    assert len(late) == len(faults) == 6
    for one, (letter, *_) in zip(sorted(late, key=lambda one: one.hit.due_ns), faults, strict=True):
        assert (one.top.kind, one.top.name) == EXPECTED[letter]
        assert one.complete and not one.events_lost
        assert sum(part.ns for part in one.parts) == one.hit.latency_ns
        assert {part.phase for part in one.parts} <= {"B", "C"}
    stream = lzma.decompress((DATA / f"{kernel}.rtw.xz").read_bytes())
    kinds = [fault for fault in known_causes.FAULTS if fault.letter in {letter for letter, *_ in faults}]
    answer = known_causes.judge(kinds, [known_causes.Truth(*fault) for fault in faults], stream)
    assert answer.invented == ()
    assert [cell.hits for cell in answer.cells if cell.length_us == 1000] == [3, 3]
    assert [word for cell in answer.cells for word in cell.wrong] == []  # sizes within 5 % or 10 us


def test_a_delay_begins_with_the_interrupt_that_woke_the_thread(recording: Recording) -> None:
    """The second ring stamps a waking after the first one: both are the same event."""
    told_by_k = {(row.lane, row.fields["k"]): row.fields for row in recording.events if row.kind == "trace_hit"}
    for one in of_control(recording):
        told = told_by_k[one.hit.lane, one.hit.k]
        assert 0 < told["due_ns"] - one.hit.due_ns < 50_000 and abs(told["woke_ns"] - one.hit.woke_ns) < 50_000
        assert one.parts[0].phase == "B" and one.parts[0].start_ns == one.hit.due_ns


def test_each_thread_is_a_lane_with_exact_delays(recording: Recording) -> None:
    found = explaining.explain(recording)
    assert found.target == "periodic" and found.above_ns == 500_000 and found.end == "duration"
    threads = {thread.name.rpartition("-")[0]: thread for thread in found.threads}
    assert set(threads) == {"periodic", "logger", "control"}
    control = threads["control"]
    assert (control.policy, control.priority) == ("fifo", 80) and control.wake_ups > 1000
    assert control.min_ns is not None and control.p50_ns is not None and control.max_ns is not None
    assert 20_000 < control.min_ns <= control.p50_ns < 100_000 < 900_000 < control.max_ns < 1_200_000
    assert control.turns is not None and control.turns >= control.wake_ups
    assert threads["periodic"].wake_ups == 0 and threads["periodic"].p50_ns is None
    assert found.wake_ups == sum(thread.wake_ups for thread in found.threads) == found.wake_ups
    assert found.losses == found.left_out == 0
    assert [one.hit.latency_ns for one in found.late] == sorted(
        (o.hit.latency_ns for o in recording.causes), reverse=True
    )
    data = explanation_dict(found)
    assert data["schema"] == "rtassay/explanation/1" and data["answered"] and len(data["late"]) == len(found.late)
    assert data["late"][0]["delay_ns"] == found.late[0].hit.latency_ns
    text = TerminalExplanation(120).render(found).decode()
    assert "control-" in text and "fifo 80" in text and "Next, " in text
    assert "zoom" not in text, "a followed program is not started again"
    for letter in ("p", "f") if "-rt-" in str(found.kernel) else ("p", "s"):
        assert EXPECTED[letter][1] in text


def test_an_ordinary_thread_s_delays_do_not_hide_those_of_a_real_time_thread(recording: Recording) -> None:
    """An ordinary thread waits for its fair share, which is no fault of what runs meanwhile."""
    (real,) = {one.hit.lane for one in of_control(recording)}
    other = next(lane.entry.index for lane in recording.lanes if lane.entry.index != real)
    six = [replace(one, hit=replace(one.hit, lane=real)) for one in of_control(recording)]
    many = [replace(one, hit=replace(one.hit, lane=other, k=9000 + at)) for at, one in enumerate(six * 3)]
    alone, beside, without = (
        explaining.explain(replace(recording, causes=tuple(causes))) for causes in (six, [*six, *many], many)
    )
    assert beside.ranking == alone.ranking and beside.ranking.attributed == 6
    assert (beside.ordinary_late, len(beside.late), len(beside.real_time_late)) == (18, 24, 6)
    told = TerminalExplanation(None).render(beside).decode()
    assert "Of the 6 late wake-ups of real-time threads. The other 18 are of threads without a real-time policy" in told
    assert beside.name_of(other) not in told.partition("The longest delays")[2].partition("Next, ")[0]
    assert explanation_dict(beside)["ordinary_late"] == 18
    told = TerminalExplanation(None).render(without).decode()
    assert (
        without.ranking.attributed == 18 and "No real-time thread was late: the causes are those of the other" in told
    )
    told = TerminalExplanation(None).render(alone).decode()
    assert "real-time thread was late" not in told and "late wake-ups of real-time threads" not in told


def test_its_length_is_that_of_its_wake_ups_and_a_trace_without_its_end_is_told(recording: Recording) -> None:
    """The end of the recording comes after the last pages and the kernel's symbols, seconds later on a busy board."""
    manifest = recording.manifest
    asked, trace, end = manifest.probe_facts.requested.duration_ns, manifest.trace, manifest.ended_ns
    assert asked is not None and trace is not None and end is not None
    later = replace(recording, manifest=replace(manifest, ended_ns=end + 2 * asked))
    assert explaining.explain(later).duration_ns == asked
    assert trace.from_ns is not None
    sooner = replace(recording, manifest=replace(manifest, ended_ns=trace.from_ns + asked // 2))
    assert explaining.explain(sooner).duration_ns == asked // 2
    words = "the thread that keeps the trace did not end in time"
    cut = replace(recording, manifest=replace(manifest, trace=replace(trace, error=words)))
    told = [TerminalExplanation(None).render(explaining.explain(one)).decode() for one in (recording, cut)]
    assert [f"{words}: functions may show as addresses." in one for one in told] == [False, True]


def test_page_faults_of_real_time_threads_are_told_and_no_others(recording: Recording) -> None:
    found = explaining.explain(recording)

    def told(real_time: bool, minor: int | None, major: int | None) -> str:
        threads = tuple(
            replace(one, minor_faults=minor, major_faults=major) if (one.policy == "fifo") == real_time else one
            for one in found.threads
        )
        return TerminalExplanation(None).render(replace(found, threads=threads)).decode()

    assert "Page faults" not in told(True, None, None) + told(True, 0, 0) + told(False, 12, 3)
    both = told(True, 12, 3)
    assert "Page faults of real-time threads: control-" in both and " 15 (3 waited for a disk). They stop" in both
    assert "waited for a disk" not in told(True, 12, 0)


def test_the_house_reads_it_as_any_recording(home: Path, recording: Recording) -> None:
    assert {lane.entry.measure for lane in recording.lanes} == {APPLICATION}
    shown = json.loads(in_process("show", "app", "--json", home=home).stdout)
    told = in_process("show", "app", home=home).stdout
    assert "state the deadline" not in told and f"rtassay causes {recording.manifest.id}" in told.partition("Next: ")[2]
    assert {lane["measure"] for lane in shown["lanes"]} == {APPLICATION}
    checks = {check["id"]: check["severity"] for check in shown["checks"]}
    assert (checks["NOT-RT-POLICY"], checks["NOT-PINNED"], checks["SELF-INTERFERENCE"]) == ("pass", "pass", "pass")
    assert checks["TRACED"] == "warning" and checks["COUNT-MISMATCH"] in ("pass", "unknown")
    judged = in_process("show", "app", "--deadline", "10ms", "--p", "0.1", "--json", home=home)
    assert json.loads(judged.stdout)["verdict"]["state"] == "NOT DEMONSTRATED"  # of another quantity than a deadline's
    ranked = json.loads(in_process("causes", "app", "--json", home=home).stdout)
    assert ranked["answered"] and ranked["attributed"] == len(recording.causes)
    page = home / "page.html"
    assert (
        in_process("report", "app", "-o", page, home=home).returncode in (0, 4, 5) and "rtfault_p" in page.read_text()
    )
    assert "app" in in_process("list", home=home).stdout


@pytest.mark.parametrize("suffix", ["txt", "md", "html"])
def test_its_causes_have_no_d_star_and_no_zoom(home: Path, suffix: str) -> None:
    """The whole of it is traced, and a delay is no wake-up latency; a followed program cannot be started again."""
    done = in_process("causes", "app", "-o", home / f"causes.{suffix}", home=home)
    assert done.returncode == 0, done.stderr
    told = (home / f"causes.{suffix}").read_text()
    assert "rtfault_p" in told.replace("\\", "") and "without it" in told and "prediction" in told
    assert "D* without" not in told.replace("\\", "") and "D* of the traced part" not in told.replace("\\", "")
    assert "rtassay zoom" not in told


def test_a_removed_cause_is_confirmed_by_wake_ups(home: Path, recording: Recording) -> None:
    found = json.loads(in_process("causes", "app", "--json", home=home).stdout)
    assert found["followed"] and found["demonstrated_ns"] is None
    cause = confirming.written(Cause(**found["causes"][0]["cause"]))
    planned = in_process("causes", "app", "--confirm", cause, home=home)
    assert planned.returncode == 0 and "D*" not in planned.stdout and "zoom" not in planned.stdout
    same = in_process("causes", "app", "--confirm", cause, "--with", "app", home=home)
    wake_ups = sum(lane.entry.n for lane in recording.lanes)
    assert same.returncode == 1 and "NOT REMOVED" in same.stdout
    assert f"of {wake_ups:,}" in same.stdout and "late of all wake-ups" in same.stdout and "D*" not in same.stdout


def test_wake_ups_of_a_program_are_not_ranked_with_those_of_a_probe(recording: Recording) -> None:
    lanes = tuple(replace(lane, entry=replace(lane.entry, measure="wake-up")) for lane in recording.lanes)
    with pytest.raises(UsageError, match="unlike measures") as error:
        rankings.rank([recording, replace(recording, lanes=lanes)])
    assert error.value.hint == "rank them apart"


def test_a_recording_of_another_measure_is_refused(recording: Recording) -> None:
    lanes = tuple(replace(lane, entry=replace(lane.entry, measure="wake-up")) for lane in recording.lanes)
    with pytest.raises(UsageError, match="no recording of followed threads"):
        explaining.explain(replace(recording, lanes=lanes))


def test_a_stream_that_was_cut_still_tells_causes(kernel: str, tmp_path: Path) -> None:
    stream = lzma.decompress((DATA / f"{kernel}.rtw.xz").read_bytes())
    (tmp_path / "cut.rtw").write_bytes(stream[: len(stream) - 3000])
    done = in_process("import", tmp_path / "cut.rtw", "--name", "cut", home=tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "recordings").glob("*.rta")
    found = explaining.explain(store.open_recording(path))
    assert found.end == "cut" and found.late and found.threads[0].turns is None
