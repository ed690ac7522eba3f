"""A gate as test cases, one a load: later or too late fails, what could not be compared is an error."""

from __future__ import annotations

from rtassay.model.gate import MEASURED, NOT_COMPARED, NOT_REGRESSED, REGRESSED, TOO_LATE, Gate, Load
from rtassay.reports import ci
from rtassay.reports.ci import ERROR, FAILED, PASSED, Case, Suite
from rtassay.reports.gate import gate_text as text

_OUTCOMES = {REGRESSED: FAILED, TOO_LATE: FAILED, NOT_COMPARED: ERROR, NOT_REGRESSED: PASSED, MEASURED: PASSED}


class JunitGate:
    """JUnit XML."""

    name = "gate.junit"
    suffix = ".xml"
    summary = "JUnit XML for CI"

    def render(self, subject: Gate) -> bytes:
        return ci.junit(suite(subject))


class KtapGate:
    """KTAP version 1."""

    name = "gate.ktap"
    suffix = ".ktap"
    summary = "KTAP for CI of kernels"

    def render(self, subject: Gate) -> bytes:
        return ci.ktap(suite(subject))


def suite(gate: Gate) -> Suite:
    """Loads that a kernel cannot run are errors: a job that asks for them has not passed."""
    cases = [_case(load) for load in gate.loads]
    cases += [Case(load, ERROR, "NOT COMPARED", f"needs CONFIG_{option}") for load, option in gate.left_out]
    told = [(f"condition {number}", words) for number, words in enumerate(text.conditions(gate), 1)]
    return Suite(text.headline(gate), tuple(cases), properties=tuple(told))


def _case(load: Load) -> Case:
    outcome = _OUTCOMES[load.state]
    said = [
        f"seed {seed.seed}: {text.result(load, seed)}, largest {seed.new.tail_ns / 1000:.1f} us" for seed in load.seeds
    ]
    holds = text.holds_now(load)
    said += [f"now in {holds}"] if holds else []
    return Case(load.load, outcome, "" if outcome == PASSED else text.WORDS[load.state], "; ".join(said))
