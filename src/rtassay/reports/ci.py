"""What a CI job reads: test cases of a result, as JUnit XML and as KTAP. Standard library only.

JUnit: the elements that GitHub, GitLab and Jenkins read (https://github.com/testmoapp/junitxml). KTAP: version 1, as the kernel's
Documentation/dev-tools/ktap.rst describes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from rtassay.model.foreign import one_line

PASSED, FAILED, ERROR, SKIPPED = "passed", "failed", "error", "skipped"
BY_STATE = {"HOLDS": PASSED, "VIOLATED": FAILED, "NOT DEMONSTRATED": FAILED, "INVALID MEASUREMENT": ERROR}


@dataclass(frozen=True, slots=True)
class Case:
    """One test case. `outcome`: PASSED, FAILED, ERROR or SKIPPED; `kind`: the word for it, such as VIOLATED; `message`: one line."""

    name: str
    outcome: str
    kind: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of one result. `properties`: numbers that a reader wants beside them; `seconds` None: not known."""

    name: str
    cases: tuple[Case, ...]
    seconds: float | None = None
    created: str | None = None
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> tuple[Case, ...]:
        """The cases; a result without any is an error, never absent."""
        return self.cases or (Case("measurement", ERROR, "NOTHING MEASURED", "nothing was measured"),)


def junit(suite: Suite) -> bytes:
    """One `testsuites` element with one suite."""
    cases, name = suite.shown, one_line(suite.name, 200)
    counts = {
        "tests": len(cases),
        "failures": _count(cases, FAILED),
        "errors": _count(cases, ERROR),
        "skipped": _count(cases, SKIPPED),
    }
    told = {key: str(value) for key, value in counts.items()}
    if suite.seconds is not None:
        told["time"] = f"{suite.seconds:.3f}"
    root = ElementTree.Element("testsuites", {"name": "rtassay", **told})
    if suite.created:
        told["timestamp"] = one_line(suite.created, 40)
    element = ElementTree.SubElement(root, "testsuite", {"name": name, **told})
    if suite.properties:
        properties = ElementTree.SubElement(element, "properties")
        for key, value in suite.properties:
            ElementTree.SubElement(properties, "property", {"name": key, "value": one_line(value, 400)})
    for case in cases:
        one = ElementTree.SubElement(element, "testcase", {"classname": name, "name": one_line(case.name, 200)})
        _outcome(one, case)
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode("utf-8", "backslashreplace")


def _count(cases: Sequence[Case], outcome: str) -> int:
    return sum(case.outcome == outcome for case in cases)


def _outcome(element: ElementTree.Element, case: Case) -> None:
    message = one_line(case.message, 1000)
    if case.outcome == PASSED:
        if message:
            ElementTree.SubElement(element, "system-out").text = message
        return
    tag = {FAILED: "failure", ERROR: "error", SKIPPED: "skipped"}[case.outcome]
    about = {"message": message} if case.outcome == SKIPPED else {"type": one_line(case.kind, 60), "message": message}
    ElementTree.SubElement(element, tag, about)


def ktap(suite: Suite) -> bytes:
    """KTAP with one level; the message of a case stands on a diagnostic line above it."""
    cases = suite.shown
    lines = ["KTAP version 1", f"# {one_line(suite.name, 200)}"]
    lines += [f"# {key}: {one_line(value, 400)}" for key, value in suite.properties]
    lines.append(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        if case.message:
            lines.append(f"# {one_line(case.message, 1000)}")
        word = "ok" if case.outcome in (PASSED, SKIPPED) else "not ok"
        directive = {SKIPPED: " # SKIP", ERROR: " # ERROR"}.get(case.outcome, "")
        kind = f" {one_line(case.kind, 60)}" if directive and case.kind else ""
        lines.append(f"{word} {number} {_description(case.name)}{directive}{kind}")
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _description(name: str) -> str:
    """A `#` would begin a directive."""
    return one_line(name, 200).replace("#", "") or "unnamed"
