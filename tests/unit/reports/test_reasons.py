"""The reasons of a verdict are values; their words follow from the code and the facts alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rtassay.model import findings
from rtassay.model.findings import Assumption, Reason
from rtassay.reports.recording import reasons
from rtassay.reports.recording.reasons import words

SEEN = {
    "lane": "cpu1", "cpu": 1, "exceedances": 3, "possible": 0, "due": 1000, "deadline_ns": 100_000, "bound": 0.0077, "bound_is": "upper",
    "allowed": 1e-6, "of": "p", "confidence": 0.95,
}  # fmt: skip
NEEDED = {"n": 4000, "duration_s": 7200.0, "exceedances": 0, "lacks": "activations", "events": 0, "theta_lower": None}


def test_every_code_has_words() -> None:
    tree = ast.parse(Path(findings.__file__).read_text())
    targets = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    first, last = names.index("NO_ACTIVATION"), names.index("SAFETY_FACTOR")
    codes = {getattr(findings, name) for name in names[first : last + 1]}
    assert codes == set(reasons._WORDS) and len(codes) == 10


@pytest.mark.parametrize(
    ("code", "facts", "said"),
    [
        ("late_seen", SEEN, "CPU1: 3 of 1000 activations reached 100us; p is at most 0.0077 at confidence 0.95, 1e-6 is allowed"),
        ("late_seen", SEEN | {"possible": 2, "bound_is": "lower"}, "reached 100us, and 2 more may have; p is at least 0.0077"),
        ("late_seen", SEEN | {"of": "events_per_h", "allowed": 0.1}, "at most 0.0077 events per hour at confidence 0.95, 0.1 are allowed"),
        ("late_seen", SEEN | {"of": "events_per_h", "bound": None}, "events per hour are not known without an interval"),
        ("more_needed", NEEDED, "4000 activations without an exceedance would show it, 2 h in all at this interval"),
        ("more_needed", NEEDED | {"exceedances": 9, "lacks": "single_late", "events": 1}, "came in 1 event, not singly: 4000 activations without a further"),
        ("more_needed", NEEDED | {"lacks": "single_late", "theta_lower": 0.2}, "come in bursts (extremal index at least 0.2): 4000"),
        ("never_shown", {"of": "p"}, "no measurement can show that p is 0"),
        ("assumed", {"assumption": "as_above", "above_ns": 50_000}, "the bound assumes that late activations come as singly as those above 50us"),
        ("runs_differ", {"basis": "unlike_runs"}, "is widened for that"),
        ("waived", {"id": "VM-STEAL", "because": "deployed so"}, "VM-STEAL: waived because deployed so"),
    ],
)  # fmt: skip
def test_words(code: str, facts: dict[str, object], said: str) -> None:
    assert said in words(Reason(code, facts))


def test_an_assumption_is_worded_by_its_code() -> None:
    assert findings.assumption_words(Assumption(findings.SINGLY)) == "late activations come singly"
    assert findings.assumption_words(Assumption(findings.AS_FEW)) == "late activations come as those seen"
