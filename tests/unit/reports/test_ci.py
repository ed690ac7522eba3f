"""JUnit, KTAP and summaries: what a CI job reads says what the verdict says."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import examples
import pytest
from command_line import in_process

from rtassay import reports
from rtassay.analysis.judge import judge
from rtassay.model.comparison import Comparison
from rtassay.reports import ci
from rtassay.reports.base import JudgedRecording
from rtassay.reports.ci import ERROR, FAILED, PASSED, SKIPPED, Case, Suite


def rendered(subject: object, name: str) -> str:
    return reports.load(type(subject), name).render(subject).decode()


def outcomes(xml: str) -> dict[str, str]:
    root = ET.fromstring(xml)
    suite = root.find("testsuite")
    assert suite is not None
    found = {}
    for case in suite.findall("testcase"):
        inside = [child.tag for child in case if child.tag != "system-out"]
        found[str(case.get("name"))] = inside[0] if inside else "passed"
    for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert root.get(count) == suite.get(count) == str(list(found.values()).count(tag))
    assert suite.get("tests") == str(len(found))
    return found


@pytest.mark.parametrize(
    ("name", "tag"),
    [("holds", "passed"), ("violated", "failure"), ("not_demonstrated", "failure"), ("invalid", "error")],
)
def test_the_first_case_is_the_verdict(name: str, tag: str) -> None:
    subject = JudgedRecording(*getattr(examples, name)())
    found = outcomes(rendered(subject, "junit"))
    assert next(iter(found.items())) == (next(key for key in found if key.startswith("deadline ")), tag)
    lines = rendered(subject, "ktap").splitlines()
    assert lines[0] == "KTAP version 1" and any(
        line.startswith(("ok 1 deadline", "not ok 1 deadline")) for line in lines
    )
    assert (tag == "passed") == any(line.startswith("ok 1 ") for line in lines)
    assert rendered(subject, "summary").startswith(f"### {subject.findings.verdict.state}")


def test_lanes_stand_beside_the_verdict() -> None:
    recording = examples.violated()[1]
    found = outcomes(
        rendered(JudgedRecording(judge(recording, deadline_ns=100_000, p_target=1e-6), recording), "junit")
    )
    assert [key for key in found if key.endswith("by its numbers")] == [f"CPU{i} by its numbers" for i in range(4)]


def test_a_run_that_measured_nothing_is_an_error() -> None:
    findings, recording = examples.holds()
    empty = replace(findings, pooled=replace(findings.pooled, n=0))
    assert outcomes(rendered(JudgedRecording(empty, recording), "junit")) == {"measurement": "error"}
    assert "not ok 1 measurement # ERROR NOTHING MEASURED" in rendered(JudgedRecording(empty, recording), "ktap")


def test_text_from_outside_breaks_neither_format() -> None:
    case = Case("a#b\n1..9\nok 2 forged", FAILED, "K", "x]]>\x1b[2J<&\nnot ok 3")
    suite = Suite("s\u202e<", (case, Case("", PASSED), Case("later", SKIPPED), Case("bad", ERROR, "E")))
    assert ET.fromstring(ci.junit(suite)).find("testsuite") is not None
    lines = ci.ktap(suite).decode().splitlines()
    assert [line for line in lines if re.match(r"(not )?ok ", line)] == [
        "not ok 1 ab 1..9 ok 2 forged", "ok 2 unnamed", "ok 3 later # SKIP", "not ok 4 bad # ERROR E",
    ]  # fmt: skip
    assert lines.count("1..4") == 1 and not any(line.startswith("1..9") for line in lines)


def test_a_comparison_fails_where_b_is_shown_to_be_later() -> None:
    from comparison.comparisons import EXAMPLES

    made = {name: make() for name, make in EXAMPLES.items()}
    for one in made.values():
        assert isinstance(one, Comparison)
        found = outcomes(rendered(one, "junit"))
        later = [row for row in one.quantiles if row.shown == "a_better"]
        refused = one.conclusion == "refused"
        assert found.get("comparison") == ("error" if refused else "passed")
        assert refused or list(found.values()).count("failure") == len(later)
        assert rendered(one, "summary").startswith("### ")


def test_show_writes_them_and_keeps_its_exit_code(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "data"
    file = next(iter(sorted(source.rglob("*.hist*"))))
    ident = json.loads(in_process("import", file, "--json", home=tmp_path).stdout)["recordings"][0]["id"]
    kept = [tmp_path / name for name in ("a.xml", "a.ktap", "a.md")]
    line = ("show", ident, "--deadline", "1us", "--p", "1e-6")
    options = ("--junit", kept[0], "--ktap", kept[1], "--summary", kept[2])
    plain, done = in_process(*line, home=tmp_path), in_process(*line, *options, home=tmp_path)
    assert done.returncode == plain.returncode and done.stdout == plain.stdout
    assert "failure" in outcomes(kept[0].read_text()).values() and kept[1].read_text().startswith("KTAP version 1")
    in_process(*line, "--summary", kept[2], home=tmp_path)
    assert kept[2].read_text().count("### ") == 2  # it is appended
    only = in_process(*line, "--ktap", "-", home=tmp_path)
    assert only.stdout.startswith("KTAP version 1") and only.returncode == plain.returncode
    for bad in (("--junit", "-"), ("--junit", tmp_path / "no" / "x.xml"), ("--ktap", "-", "--json")):
        done = in_process(*line, *bad, home=tmp_path)
        assert done.returncode == 2 and done.stdout == ""


@pytest.mark.parametrize(
    "line",
    ["run nosuch --duration 1s", "run --load nosuch", "show nosuch", "compare nosuch --with other", "doctor nosuch"],
)
def test_what_comes_to_no_result_is_an_error_in_them_and_no_file_of_an_earlier_job_stays(
    line: str, tmp_path: Path
) -> None:
    kept = [tmp_path / name for name in ("a.xml", "a.ktap", "a.md")]
    for file in kept:
        file.write_text("of yesterday: passed\n")
    done = in_process(*line.split(), "--junit", kept[0], "--ktap", kept[1], "--summary", kept[2], home=tmp_path)
    assert done.returncode == 2 and "nosuch" in done.stderr
    assert outcomes(kept[0].read_text()) == {"measurement": "error"} and "nosuch" in kept[0].read_text()
    assert "not ok 1 measurement # ERROR NO RESULT" in kept[1].read_text() and "yesterday" not in kept[1].read_text()
    assert "### NO RESULT" in kept[2].read_text() and kept[2].read_text().startswith("of yesterday")
