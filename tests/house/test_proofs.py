"""What `rtassay checks` says of how a check was proven is what the tests prove: table and markers agree, read from the sources."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from rtassay.analysis.checks import CHECKS
from rtassay.analysis.checks.base import FIRED, PROOFS, Check
from rtassay.analysis.checks.context import Context
from rtassay.analysis.many.compare.checks import PAIR_CHECKS
from rtassay.analysis.many.compare.checks.pair import Pair

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
KNOWN = {check.id for check in CHECKS} | {check.id for check in PAIR_CHECKS}
LIVE = {
    "LOAD-WINDOW",
    "NOT-RT-POLICY",
    "NOT-PINNED",
    "PAGE-FAULTS",
    "PRIO-TIE",
    "RT-THROTTLE-ON",
    "MAIN-ON-MEASURED",
}


def markers(text: str) -> list[tuple[str, str]]:
    """(check, how) of every decorator `@pytest.mark.proves("ID", "how")` of a test."""
    found: list[tuple[str, str]] = []
    if "mark.proves" not in text:
        return found
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.proves":
                check, how = (ast.literal_eval(argument) for argument in call.args)
                found.append((check, how))
    return found


def rows(tree: ast.AST) -> list[tuple[str, str]]:
    """The rows (check, recording, severity, kind, words) of tests/unit/analysis/checks in which a check fires: made up for it."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) == 5:
            check, severity = node.elts[0], node.elts[2]
            if isinstance(check, ast.Constant) and isinstance(severity, ast.Constant) and severity.value in FIRED:
                found.append((check.value, "synthetic"))
    return found


@functools.cache
def proofs(of_pairs: bool) -> dict[str, set[str]]:
    """By check, how it was proven: of recordings, or (tests of compare) of groups. Both have a SINGLE-RUN."""
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        if ("compare" in path.relative_to(TESTS).as_posix()) is not of_pairs:
            continue
        text = path.read_text()
        pairs = markers(text)
        if path.parent == TESTS / "unit" / "analysis" / "checks":
            pairs += rows(ast.parse(text))
        for check, how in pairs:
            assert check in KNOWN, f"{path} proves {check}, which is no check"
            assert how in PROOFS, f"{path} proves {check} by {how}"
            found.setdefault(check, set()).add(how)
    return found


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_the_table_says_of_every_check_how_it_was_proven(check: Check[Context]) -> None:
    found = proofs(of_pairs=False).get(check.id, set())
    assert found, f"no test shows {check.id} firing"
    assert check.proof == next(how for how in PROOFS if how in found)


@pytest.mark.parametrize("check", PAIR_CHECKS, ids=lambda check: check.id)
def test_the_table_of_comparisons_does_too(check: Check[Pair]) -> None:
    found = proofs(of_pairs=True).get(check.id, set())
    assert found, f"no test shows {check.id} firing"
    assert check.proof == next(how for how in PROOFS if how in found)


def test_what_must_be_proven_on_a_running_system_is() -> None:
    assert {name for name, found in proofs(of_pairs=False).items() if "live" in found} >= LIVE
    flow = TESTS / "flow"
    for path in TESTS.rglob("*.py"):
        live = [check for check, how in markers(path.read_text()) if how == "live"]
        assert not live or path.is_relative_to(flow) or path.is_relative_to(TESTS / "lab"), (
            f"{path}: nothing runs there"
        )
