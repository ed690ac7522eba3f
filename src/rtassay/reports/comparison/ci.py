"""A comparison as test cases: the conclusion, and each step of the ladder at which B is shown to be later."""

from __future__ import annotations

from rtassay.model.comparison import A_BETTER, REFUSED, Comparison
from rtassay.model.foreign import markdown
from rtassay.reports import ci, wording
from rtassay.reports.ci import ERROR, FAILED, PASSED, Case, Suite
from rtassay.reports.comparison import comparison_text
from rtassay.reports.markdown_text import document, text_table


class JunitComparison:
    """JUnit XML."""

    name = "comparison.junit"
    suffix = ".xml"
    summary = "JUnit XML for CI"

    def render(self, subject: Comparison) -> bytes:
        return ci.junit(suite(subject))


class KtapComparison:
    """KTAP version 1."""

    name = "comparison.ktap"
    suffix = ".ktap"
    summary = "KTAP for CI of kernels"

    def render(self, subject: Comparison) -> bytes:
        return ci.ktap(suite(subject))


class SummaryComparison:
    """A few lines of Markdown for a pull request or a job's summary page."""

    name = "comparison.summary"
    suffix = ".md"
    summary = "a few lines of Markdown for a pull request"

    def render(self, subject: Comparison) -> bytes:
        return document(_summary(subject))


def suite(comparison: Comparison) -> Suite:
    """B later than A is a failure at each step that shows it; a refused comparison is an error."""
    name = f"{comparison_text.called(comparison.a)} against {comparison_text.called(comparison.b)}"
    if comparison.conclusion == REFUSED:
        return Suite(
            name, (Case("comparison", ERROR, "NOT COMPARED", comparison.sentence),), properties=_warnings(comparison)
        )
    cases = [Case("comparison", PASSED, message=comparison.sentence)]
    for row in comparison.quantiles:
        later = row.shown == A_BETTER
        said = f"B / A {wording.ratio(row.ratio)} {comparison_text.interval(row)}".strip()
        cases.append(
            Case(
                f"B not later at {wording.quantile_name(row.q)}",
                FAILED if later else PASSED,
                "LATER" if later else "",
                said,
            )
        )
    return Suite(name, tuple(cases), properties=_warnings(comparison))


def _warnings(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """What limits the answer: the checks that warn or invalidate."""
    return tuple((f"{c.severity} {c.id}", c.message) for c in comparison.checks if c.severity in ("warning", "invalid"))


def _summary(comparison: Comparison) -> list[str]:
    columns = comparison_text.LADDER_COLUMNS[:6]
    rows = [row[:6] for row in comparison_text.ladder_rows(comparison)] if comparison.conclusion != REFUSED else []
    return [
        f"### {markdown(comparison_text.headline(comparison))}",
        markdown(comparison.sentence),
        text_table(columns, rows, numbers=True) if rows else "",
        "\n".join(f"- {markdown(name)}: {markdown(message)}" for name, message in _warnings(comparison)),
        f"Next: {markdown(comparison_text.next_step(comparison))}",
    ]
