"""Settings as test cases: wrong fails, an important one that is unknown is an error, any other that is unknown or not there is skipped."""

from __future__ import annotations

from rtassay.model.foreign import markdown
from rtassay.model.knobs import HIGH, OK, UNKNOWN, WRONG, Examination, Found
from rtassay.reports import ci
from rtassay.reports.ci import ERROR, FAILED, PASSED, SKIPPED, Case, Suite
from rtassay.reports.examination import examination_text as text
from rtassay.reports.markdown_text import document, text_table


class JunitExamination:
    """JUnit XML."""

    name = "examination.junit"
    suffix = ".xml"
    summary = "JUnit XML for CI"

    def render(self, subject: Examination) -> bytes:
        return ci.junit(suite(subject))


class KtapExamination:
    """KTAP version 1."""

    name = "examination.ktap"
    suffix = ".ktap"
    summary = "KTAP for CI of kernels"

    def render(self, subject: Examination) -> bytes:
        return ci.ktap(suite(subject))


class SummaryExamination:
    """A few lines of Markdown for a pull request or a job's summary page."""

    name = "examination.summary"
    suffix = ".md"
    summary = "a few lines of Markdown for a pull request"

    def render(self, subject: Examination) -> bytes:
        rows = [(one.id, one.severity, one.now, one.wanted or "") for one in subject.of(WRONG)]
        blocks = [f"### {markdown(text.headline(subject))}", markdown(text.conditions(subject))]
        if rows:
            blocks.append(text_table(("Setting", "Severity", "Now", "Wanted"), rows))
        return document(blocks)


def suite(subject: Examination) -> Suite:
    """One case for each setting."""
    properties = (("kernel", subject.kernel or "not known"), ("settings", text.conditions(subject)))
    return Suite(f"settings of {subject.subject}", tuple(map(_case, subject.found)), None, None, properties)


def _case(found: Found) -> Case:
    if found.state == OK:
        return Case(found.id, PASSED, message=found.now)
    wanted = "" if found.wanted is None else f"; wanted {found.wanted}"
    outcome = (
        FAILED if found.state == WRONG else ERROR if found.state == UNKNOWN and found.severity == HIGH else SKIPPED
    )
    return Case(found.id, outcome, found.state.upper(), f"{found.now}{wanted}")
