"""Every report and export format, built in or installed: takes any findings, gives bytes, keeps its hands off everything else."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rtassay.model import rooms

_FILE = Path(__file__).parents[1] / "unit" / "reports" / "examples.py"
sys.path.insert(0, str(_FILE.parent))  # for its building blocks
_SPEC = importlib.util.spec_from_file_location("report_examples", _FILE)
examples = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = examples
_SPEC.loader.exec_module(examples)

NAMES = list(rooms.table("reports"))
CASES = {
    **examples.all_examples(),
    "no labels, no lanes": tuple(replace(part, lanes=()) for part in examples.imported()),
    "one lane": tuple(replace(part, lanes=part.lanes[:1]) for part in examples.violated()),
    "judged by analysis": None,
}


def case_of(name):
    if CASES[name] is not None:
        return CASES[name]
    from rtassay.analysis.judge import judge

    recording = examples.violated()[1]
    return judge(recording, deadline_ns=100_000, p_target=1e-6), recording


@pytest.fixture(params=NAMES)
def report(request):
    return rooms.load("reports", request.param)()


def test_it_says_what_it_is(report):
    assert rooms.table("reports")[report.name]
    assert report.suffix.startswith(".") and " " not in report.suffix
    assert report.summary and "\n" not in report.summary


@pytest.mark.parametrize("case", CASES)
def test_it_renders_every_kind_of_findings_to_utf8(report, case):
    content = report.render(*case_of(case))
    assert isinstance(content, bytes) and content.endswith(b"\n")
    content.decode("utf-8")


def test_same_input_same_bytes_whatever_was_rendered_before(report):
    first = report.render(*examples.holds())
    report.render(*examples.violated())
    assert report.render(*examples.holds()) == first
    assert type(report)().render(*examples.holds()) == first


def test_it_reads_no_clock_writes_no_file_and_prints_nothing(report, monkeypatch, capfd, tmp_path):
    import time

    monkeypatch.chdir(tmp_path)
    expected = report.render(*examples.holds())

    def refuse(*_args):
        raise AssertionError("a report read the clock")

    with monkeypatch.context() as patch:
        for name in ("time", "time_ns", "localtime", "gmtime"):
            patch.setattr(time, name, refuse)
        assert report.render(*examples.holds()) == expected
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_the_input_is_not_changed(report):
    findings, recording = examples.violated()
    before = [lane.histogram.counts.copy() for lane in recording.lanes]
    checks = list(findings.checks)
    report.render(findings, recording)
    assert all((lane.histogram.counts == old).all() for lane, old in zip(recording.lanes, before, strict=True))
    assert list(findings.checks) == checks
