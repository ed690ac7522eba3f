"""--strict and --waive: what they change in a verdict, what they never change, and that nothing of it is silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rtassay.analysis.judge import findings_dict, judge
from rtassay.model.errors import UsageError
from rtassay.model.findings import WAIVED, Reason
from rtassay.model.manifest import Plan
from rtassay.model.recording import Recording

from ..build import MS, US, block_lane, inventory, recording, spills_of

D = 500 * US
VM = {"VM-STEAL": "it is  deployed\nin this VM"}


def clean(n: int = 3_000_000, late: int = 0, **changes: object) -> Recording:
    """A run of which the 60 latencies below the deadline that are largest are known in order: they come singly."""
    lane = block_lane({100 * US: n - 60 - late, 101 * US: 60} | ({600 * US: late} if late else {}))
    rows = [(k * (n // 61), 101 * US, 0) for k in range(60)]
    made = recording(replace(lane, spills=None if late else spills_of(rows)))
    return replace(made, manifest=replace(made.manifest, **changes))  # type: ignore[arg-type]


def in_a_vm(**changes: object) -> Recording:
    return clean(inventory=inventory(virtualisation="kvm"), **changes)


def state(made: Recording, **more: object) -> str:
    verdict = judge(made, deadline_ns=D, **more).verdict  # type: ignore[arg-type]
    assert verdict is not None
    return verdict.state


def test_a_warning_qualifies_and_if_strict_invalidates() -> None:
    assert state(in_a_vm()) == "HOLDS"
    assert state(in_a_vm(), strict=True) == "INVALID MEASUREMENT"
    assert state(clean(), strict=True) == "HOLDS", "notes and unknown ones are no warnings"
    strict = in_a_vm(plan=Plan(interval_ns=MS, priority=90, policy="fifo", argv=("rtassay", "run"), strict=True))
    assert state(strict) == "INVALID MEASUREMENT" and state(strict, strict=False) == "HOLDS"
    assert judge(strict).strict


def test_a_waived_check_does_not_decide_and_is_named_everywhere() -> None:
    findings = judge(in_a_vm(), deadline_ns=D, strict=True, waivers=VM)
    assert findings.verdict is not None and findings.verdict.state == "HOLDS"
    assert "Waived: VM-STEAL (it is deployed in this VM)." in findings.verdict.sentence
    assert Reason(WAIVED, {"id": "VM-STEAL", "because": "it is deployed in this VM"}) in findings.verdict.reasons
    steal = next(check for check in findings.checks if check.id == "VM-STEAL")
    assert (steal.severity, steal.waived) == ("warning", "it is deployed in this VM")
    shown = findings_dict(findings)
    assert [c["waived"] for c in shown["checks"] if c["waived"]] == ["it is deployed in this VM"] and shown["strict"]


def test_waivers_of_the_run_hold_when_it_is_judged_again() -> None:
    plan = Plan(interval_ns=MS, priority=90, policy="fifo", argv=("rtassay", "run"), strict=True, waivers=dict(VM))
    assert state(in_a_vm(plan=plan)) == "HOLDS"
    unknown = replace(plan, waivers={"FROM-THE-FUTURE": "x", "COUNT-MISMATCH": "x"})
    assert state(in_a_vm(plan=unknown)) == "INVALID MEASUREMENT", "a foreign or forbidden waiver has no effect"


def test_an_optimism_check_caps_unless_waived_and_strict_never_hides_violated() -> None:
    idle = clean(labels={})
    assert state(idle) == "NOT DEMONSTRATED"
    assert state(idle, waivers={"no-load": "an idle board is the product"}) == "HOLDS"
    assert state(idle, strict=True) == "INVALID MEASUREMENT"
    late = clean(late=90, labels={})
    assert state(late) == state(late, strict=True) == "VIOLATED"


def test_too_few_activations_stay_not_demonstrated_if_strict() -> None:
    assert state(clean(n=1000), strict=True) == "NOT DEMONSTRATED"


def test_an_emulated_board_never_holds_whatever_is_waived() -> None:
    made = clean(inventory=inventory(virtualisation="tcg"))
    findings = judge(made, deadline_ns=D, waivers=VM)
    assert findings.verdict is not None and findings.verdict.state == "NOT DEMONSTRATED"
    steal = next(check for check in findings.checks if check.id == "VM-STEAL")
    assert steal.waived is None and "not waived" in steal.message


@pytest.mark.parametrize(
    ("waivers", "words"),
    [
        ({"VM-STEEL": "x"}, "VM-STEAL"),
        ({"COUNT-MISMATCH": "x"}, "cannot be waived"),
        ({"SUMMARY-INCONSISTENT": "x"}, "cannot be waived"),
        ({"VM-STEAL": " \n"}, "no reason"),
    ],
)
def test_what_cannot_be_waived_is_refused(waivers: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        judge(clean(), waivers=waivers)
    assert words in f"{refused.value} {refused.value.hint}"


def test_a_requirement_is_not_needed_to_be_strict() -> None:
    from rtassay.analysis.judge.verdict import unusable

    checks = judge(in_a_vm()).checks
    assert not unusable(checks, strict=False) and unusable(checks, strict=True)
    waived = judge(in_a_vm(), waivers=VM).checks
    assert not unusable(waived, strict=True)
