"""Every report and export format, built in or installed: takes any subject of its class, gives bytes, and does nothing else."""

import functools
import io
import pickle
import re
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import gated
import pytest
from knob_readings import seen

from rtassay import reports
from rtassay.model import rooms
from rtassay.model.comparison import Comparison
from rtassay.model.errors import UsageError
from rtassay.model.experiment import ExperimentReport
from rtassay.model.explanation import Explanation, FollowedThread
from rtassay.model.extrapolation import Extrapolation
from rtassay.model.findings import CHECK, Reason
from rtassay.model.gate import Gate, HeldFunction, Holder
from rtassay.model.knobs import Action, Detail, Examination, Goal
from rtassay.model.proving import Proof
from rtassay.model.ranking import Ranking, Traced
from rtassay.model.throughput import Throughput
from rtassay.model.tuning import TuningPlan
from rtassay.reports.base import JudgedRecording
from rtassay.session import examining

from ..support.attributions import IRQ, TIMER, UNKNOWN, US, attribution, ranked, run
from ..unit.analysis.many.experiment.synthetic import make
from ..unit.analysis.many.test_throughput import group, of_wake_ups
from ..unit.reports.comparison.comparisons import EXAMPLES as COMPARISONS
from ..unit.reports.extrapolation.extrapolations import EXAMPLES as EXTRAPOLATIONS
from ..unit.reports.proof.proofs import EXAMPLES as PROOFS

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "reports"))
import examples

CLASSES = {
    "recording": JudgedRecording,
    "comparison": Comparison,
    "experiment": ExperimentReport,
    "extrapolation": Extrapolation,
    "causes": Ranking,
    "examination": Examination,
    "explanation": Explanation,
    "gate": Gate,
    "proof": Proof,
    "throughput": Throughput,
}
NAMES = list(rooms.table("reports"))


def judged_example(name):
    return JudgedRecording(*examples.EXAMPLES[name])


def judged_by_analysis():
    from rtassay.analysis.judge import judge

    recording = examples.violated()[1]
    return JudgedRecording(judge(recording, deadline_ns=100_000, p_target=1e-6), recording)


UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u202e\u2066\ud800-\udfff]")
HOSTILE = "a\x1b[2J\x07\u202e\x9b\ud800b"


def hostile_recording():
    """Control characters in every text that a board, a file or a user can give."""
    findings, recording = examples.violated()
    lanes = tuple(
        replace(lane, entry=replace(lane.entry, name=f"{i}{HOSTILE}")) for i, lane in enumerate(recording.lanes)
    )
    manifest = replace(
        recording.manifest,
        board=HOSTILE,
        labels={HOSTILE: HOSTILE},
        note=HOSTILE,
        lanes=tuple(lane.entry for lane in lanes),
        inventory={**recording.manifest.inventory, HOSTILE: HOSTILE},
        tool_versions={HOSTILE: HOSTILE},
    )
    telemetry = tuple(replace(series, name=HOSTILE) for series in recording.telemetry)
    found = replace(
        findings,
        id=HOSTILE,
        board=HOSTILE,
        kernel=HOSTILE,
        load=HOSTILE,
        labels={HOSTILE: HOSTILE},
        note=HOSTILE,
        lanes=tuple(replace(lane, name=f"{i}{HOSTILE}") for i, lane in enumerate(findings.lanes)),
        checks=tuple(replace(check, message=HOSTILE) for check in findings.checks),
        verdict=replace(
            findings.verdict, sentence=HOSTILE, reasons=(Reason(CHECK, {"id": HOSTILE, "message": HOSTILE}),)
        ),
    )
    return JudgedRecording(found, replace(recording, manifest=manifest, lanes=lanes, telemetry=telemetry))


def hostile_comparison():
    made = COMPARISONS["crossing"]()
    checks = tuple(replace(check, message=HOSTILE) for check in made.checks)
    return replace(made, sentence=HOSTILE, checks=checks, a=replace(made.a, title=HOSTILE), not_covered=(HOSTILE,))


def hostile_experiment():
    report = make().report
    result = {**report.result, "name": HOSTILE, "what": HOSTILE, "notes": [HOSTILE], "repeat": HOSTILE}
    return replace(report, result=result, file=HOSTILE, levels=(("load", HOSTILE, HOSTILE, HOSTILE),))


def hostile_extrapolation():
    made = EXTRAPOLATIONS["both"]()
    lanes = tuple(replace(lane, name=HOSTILE, runs=(HOSTILE,)) for lane in made.lanes)
    return replace(made, ids=(HOSTILE,), board=HOSTILE, kernel=HOSTILE, lanes=lanes)


def ranking_of_two_runs(name="eth0", id="a"):
    irq = replace(IRQ, name=name)
    first = run(*(attribution(30 * (i + 1), (irq, 250 * US), (TIMER, 240 * US)) for i in range(40)), name=id)
    return ranked(first, run(attribution(10, (irq, 400 * US), (UNKNOWN, 50 * US), stall=True), name="b"))


def hostile_ranking():
    made = ranking_of_two_runs(HOSTILE, HOSTILE)
    failed = Traced(HOSTILE, "not-possible", refused="board-says", error=HOSTILE, missing=(HOSTILE,))
    return replace(made, runs=(*made.runs, failed))


def examination_of_a_board():
    return examining.judge(examining.members(), "pi", "board", seen("pi3-rt"), Goal((3,), 1_000_000, 80))


def hostile_examination():
    made = examination_of_a_board()
    action, detail = Action("write", HOSTILE, HOSTILE), Detail(HOSTILE, HOSTILE, HOSTILE, "high", HOSTILE)
    found = tuple(
        replace(one, now=HOSTILE, wanted=HOSTILE, actions=(action,) * 9, details=(detail,) * 9) for one in made.found
    )
    return replace(made, subject=HOSTILE, kernel=HOSTILE, found=found)


def examination_of_nothing():
    return examining.examine_inventory(HOSTILE, "inventory", {}, Goal())


def explained(name="control-12"):
    late = tuple(attribution(i, (replace(IRQ, name=name), 250 * US), (TIMER, 40 * US)) for i in range(12))
    thread = FollowedThread(0, name, 12, "fifo", 80, 5000, 2 * US, 5 * US, 9 * US, 290 * US, 12, True, 7 * US, 5000)
    threads = (thread, *(replace(thread, lane=i, wake_ups=0, max_ns=None, policy=None) for i in range(1, 25)))
    return Explanation(
        name, name, name, name, 10**10, 100 * US, "gone", 1, 2, threads, late, ranked(run(*late, name=name))
    )


def hostile_gate():
    made = gated.regressed()
    kernel = replace(made.kernel, name=HOSTILE, release=HOSTILE, version=HOSTILE, lacks=(HOSTILE,))
    holders = (Holder(HOSTILE, HOSTILE, HOSTILE, 1, 0, 1, 0),)
    functions = (HeldFunction(HOSTILE, (HOSTILE, HOSTILE), True, 1, 0),)
    loads = tuple(replace(load, holders=holders, functions=functions) for load in made.loads)
    return replace(made, kernel=kernel, base=replace(kernel, lacks=None), qemu=HOSTILE, loads=loads)


def hostile_proof():
    made = PROOFS["whole"]()
    action = Action("write", HOSTILE, HOSTILE)
    settings = tuple(replace(one, title=HOSTILE, actions=(action, *one.actions)) for one in made.tuning.settings)
    runs = tuple(replace(run, arm=HOSTILE, recording=HOSTILE, left_out=HOSTILE) for run in made.runs)
    return replace(
        made,
        name=HOSTILE,
        board=HOSTILE,
        kernel=HOSTILE,
        load=HOSTILE,
        path=HOSTILE,
        runs=runs,
        tuning=TuningPlan(settings),
    )


def costs(boots=4):
    from rtassay.analysis.many.throughput import throughput

    a = group("stock", 1, boots, pipe=1e6, fork=3e6) + [of_wake_ups(200_000 + i, f"stock{i}") for i in range(boots)]
    b = group("rt", 1.2, boots, pipe=1e6, fork=3e6) + [of_wake_ups(50_000, f"rt{i}", kernel="rt") for i in range(boots)]
    return throughput(a, b)


def throughput_of_one_kernel():
    from rtassay.analysis.many.throughput import throughput

    return throughput(group("stock", 1, 1, pipe=1e6))


def hostile_throughput():
    made = costs()
    parts = tuple(replace(row, work=HOSTILE, part=HOSTILE, unit=HOSTILE) for row in made.parts)
    works = tuple(replace(row, work=HOSTILE) for row in made.works)
    latency = tuple(replace(row, load=HOSTILE) for row in made.latency)
    return replace(
        made, a=HOSTILE, b=HOSTILE, sentence=HOSTILE, notes=(HOSTILE,), parts=parts, works=works, latency=latency
    )


SUBJECTS = {
    "throughput": {
        "two kernels": costs,
        "one boot of each": lambda: costs(1),
        "one kernel": throughput_of_one_kernel,
        "hostile text": hostile_throughput,
    },
    "recording": {
        **{name: functools.partial(judged_example, name) for name in examples.EXAMPLES},
        "no lanes": lambda: JudgedRecording(*(replace(part, lanes=()) for part in examples.imported())),
        "one lane": lambda: JudgedRecording(*(replace(part, lanes=part.lanes[:1]) for part in examples.violated())),
        "judged by analysis": judged_by_analysis,
        "hostile text": hostile_recording,
    },
    "comparison": {**COMPARISONS, "hostile text": hostile_comparison},
    "experiment": {
        "whole": lambda: make().report,
        "empty": lambda: make(sealed=0).report,
        "hostile text": hostile_experiment,
    },
    "extrapolation": {**EXTRAPOLATIONS, "hostile text": hostile_extrapolation},
    "causes": {
        "two runs": ranking_of_two_runs,
        "nothing known": ranked,
        "hostile text": hostile_ranking,
    },
    "examination": {
        "a board": examination_of_a_board,
        "nothing known": examination_of_nothing,
        "hostile text": hostile_examination,
    },
    "explanation": {
        "known": explained,
        "not traced": lambda: replace(
            explained(),
            ranking=replace(ranked(), runs=(Traced("a", "not-possible", refused="not-root", error=HOSTILE),)),
            late=(),
        ),
        "no threads": lambda: replace(explained(), threads=()),
        "hostile text": lambda: explained(HOSTILE),
    },
    "gate": {
        "regressed": gated.regressed,
        "one kernel": lambda: replace(gated.regressed(), base=None, loads=gated.regressed(base=False).loads),
        "nothing": lambda: replace(gated.regressed(), loads=(), left_out=(("hackbench", "NET"),)),
        "hostile text": hostile_gate,
    },
    "proof": {**PROOFS, "hostile text": hostile_proof},
}
SUBJECT = {
    (word, case): functools.cache(made) for word, cases in SUBJECTS.items() for case, made in cases.items()
}  # made once, however many formats render it
CASES = [(name, case) for name in NAMES for case in SUBJECTS[name.partition(".")[0]]]


@pytest.fixture(params=NAMES)
def report(request):
    return rooms.load("reports", request.param)()


@pytest.fixture
def subject(report):
    word = report.name.partition(".")[0]
    return SUBJECT[word, next(iter(SUBJECTS[word]))]()


def test_it_says_what_it_is(report):
    word, _, format_name = report.name.partition(".")
    assert reports.load(CLASSES[word], format_name).name == report.name
    assert report.suffix.startswith(".") and " " not in report.suffix
    assert report.summary and "\n" not in report.summary


@pytest.mark.parametrize(("name", "case"), CASES)
def test_it_renders_every_subject_to_utf8_and_twice_the_same(name, case):
    made, word = rooms.load("reports", name), name.partition(".")[0]
    content = made().render(SUBJECT[word, case]())
    assert isinstance(content, bytes) and content.endswith(b"\n")
    assert not UNSAFE.search(content.decode("utf-8"))
    assert made().render(SUBJECT[word, case]()) == content


def test_it_reads_no_clock_writes_no_file_and_prints_nothing(report, subject, monkeypatch, capfd, tmp_path):
    import time

    monkeypatch.chdir(tmp_path)
    expected = report.render(subject)

    def refuse(*_args):
        raise AssertionError("a report read the clock")

    with monkeypatch.context() as patch:
        for name in ("time", "time_ns", "localtime", "gmtime"):
            patch.setattr(time, name, refuse)
        assert report.render(subject) == expected
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


class Contents(pickle.Pickler):
    """The fields of all that is in a subject, its arrays whole; without what a cached_property keeps."""

    def reducer_override(self, thing):
        if not is_dataclass(thing) or isinstance(thing, type):
            return NotImplemented
        return type(thing), tuple(getattr(thing, field.name) for field in fields(thing))


def contents(subject):
    written = io.BytesIO()
    Contents(written).dump(subject)
    return written.getvalue()


def test_the_input_is_not_changed(report, subject):
    before = contents(subject)
    report.render(subject)
    assert contents(subject) == before


@pytest.mark.parametrize("word", CLASSES)
def test_an_unknown_format_names_the_known_ones_of_its_subject(word):
    known = reports.formats(CLASSES[word])
    assert known == [name.partition(".")[2] for name in NAMES if name.partition(".")[0] == word]
    with pytest.raises(UsageError, match=f"{word} in the format 'htm'") as caught:
        reports.load(CLASSES[word], "htm")
    meant = "did you mean 'html'? " if "html" in known else ""
    assert caught.value.hint == f"{meant}known: {', '.join(known)}"


@pytest.mark.parametrize("word", CLASSES)
def test_a_suffix_names_a_format_and_an_unknown_one_the_known_suffixes(word):
    for name in reports.formats(CLASSES[word]):
        found = reports.format_of(CLASSES[word], f"x.y{reports.load(CLASSES[word], name).suffix.upper()}")
        assert reports.load(CLASSES[word], found).suffix == reports.load(CLASSES[word], name).suffix
    with pytest.raises(UsageError, match="names no format") as caught:
        reports.format_of(CLASSES[word], "page.doc")
    suffixes = {reports.load(CLASSES[word], name).suffix for name in reports.formats(CLASSES[word])}
    assert all(suffix in caught.value.hint for suffix in suffixes)


def test_an_installed_format_joins_its_subject(monkeypatch):
    table = {**rooms.table("reports"), "comparison.oneline": "outside:OneLine"}
    monkeypatch.setattr(rooms, "table", lambda room: table)
    assert "oneline" in reports.formats(Comparison) and "oneline" not in reports.formats(JudgedRecording)
