"""What a comparison says of its groups: lanes, order, heat, maxima, and redraws by boot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.many.compare import compare, ratios
from rtassay.analysis.many.compare.checks.confounds import lanes_differ, order_confound, temp_confound
from rtassay.analysis.many.compare.run import prepare
from rtassay.model.findings import CheckResult
from rtassay.model.recording import Recording

from ...build import block_lane, cyclictest, recording, skip_lane
from .groups import run
from .test_known import sample


def sides(a: list[Any], b: list[Any], **of_pair: Any) -> Any:
    return SimpleNamespace(sides=(("A", a), ("B", b)), **of_pair)


def lanes(a: tuple[tuple[str, ...], ...], b: tuple[tuple[str, ...], ...]) -> CheckResult:
    """Groups of runs by the names of their lanes."""
    runs = [[SimpleNamespace(lane_count=len(names)) for names in side] for side in (a, b)]
    groups = [SimpleNamespace(lanes=tuple(dict.fromkeys(name for names in side for name in names))) for side in (a, b)]
    return lanes_differ.run(sides(*runs, groups=groups))


def test_lanes_of_the_groups() -> None:
    same = lanes((("CPU0", "CPU1"),), (("CPU0", "CPU1"), ("CPU0", "CPU1")))
    assert (same.severity, same.message) == ("pass", "the same 2 lanes in every run")
    assert lanes((("CPU0",),), (("CPU0",),)).message == "the same 1 lane in every run"
    part = lanes((("CPU0", "CPU1"), ("CPU0",)), (("CPU0", "CPU1"),))
    assert part.severity == "warning" and part.message.startswith("the runs do not all have the same lanes")
    other = lanes((("CPU0", "CPU1"),), (("CPU1", "CPU2"),))
    assert other.message == "A has lanes CPU0, CPU1; B has CPU1, CPU2: pooled numbers weigh the CPUs differently"
    assert other.facts == {"only_a": ["CPU0"], "only_b": ["CPU2"]}
    assert lanes(((),), (("CPU0",),)).message.startswith("A has lanes none; B has CPU0")


def order(a: list[str | None], b: list[str | None]) -> CheckResult:
    def of(stamps: list[str | None]) -> list[Any]:
        return [SimpleNamespace(started=None if text is None else f"2026-11-{text}T08:00:00Z") for text in stamps]

    return order_confound.run(sides(of(a), of(b)))


def test_the_order_of_runs() -> None:
    assert order(["01", "04"], ["02", "03"]).severity == "pass"
    assert order(["01", "03"], ["03", "05"]).severity == "pass"  # one began when the other did
    first = order(["01", "02"], ["03"])
    assert (first.severity, first.facts) == ("warning", {"first": "A"})
    assert first.message.startswith("all of A was measured before the other group")
    assert order(["03"], ["01", "02"]).facts == {"first": "B"}
    assert order(["01"], ["02"]).severity == "note"
    assert order(["01"], [None]).severity == order(["01"], ["xx"]).severity == "unknown"


def heat(a: list[dict[str, float]], b: list[dict[str, float]]) -> CheckResult:
    return temp_confound.run(sides(*([SimpleNamespace(zones=zones) for zones in side] for side in (a, b))))


def test_the_zone_with_the_largest_difference_is_told() -> None:
    found = heat([{"cpu": 50.0, "gpu": 40.0, "x": 1.0}, {"cpu": 52.0, "gpu": 40.0}], [{"cpu": 52.0, "gpu": 43.5}])
    assert found.facts == {"zone": "gpu", "a_mean_c": 40.0, "b_mean_c": 43.5} and found.severity == "warning"
    assert found.message == "mean temperature of gpu: A 40.0 degC, B 43.5 degC"
    assert heat([{"cpu": 50.0}], [{"cpu": 53.0}]).severity == "pass"
    assert heat([{"cpu": 50.0}], [{}]).severity == heat([{"cpu": 50.0}], [{"gpu": 50.0}]).severity == "unknown"


def test_the_maximum_of_a_group_is_the_largest_of_its_runs() -> None:
    found = compare([run("a", {10: 50}), run("c", {10: 50, 99: 1})], [run("b", {20: 50})])
    assert (found.a.max_ns, found.b.max_ns) == (99, 20)


@pytest.mark.parametrize(
    ("made", "names"),
    [
        (recording(block_lane({5: 9}), block_lane({5: 9}, index=1)), [("CPU0", 0), ("CPU1", 1)]),
        (cyclictest(skip_lane({5: 9})), [("lane 0", None)]),
        (cyclictest(skip_lane({5: 9}, name="core  1")), [("core 1", None)]),
        (
            cyclictest(skip_lane({5: 9}, cpu=3, name="a"), skip_lane({5: 9}, cpu=3, name="b", index=1)),
            [("a", None), ("b", None)],
        ),
    ],
)
def test_lanes_are_called_by_their_cpu_or_their_name(made: Recording, names: list[tuple[str, int | None]]) -> None:
    assert list(prepare(made, None).by_lane) == names


@pytest.mark.parametrize(
    ("boots", "shown"), [(("x", "x"), ("x", "x")), (("x", None), ("0", "1")), ((None, None), ("0", "1"))]
)
def test_redraws_know_the_boots_only_if_all_are_known(boots: tuple[str | None, ...], shown: tuple[str, ...]) -> None:
    both = ratios.Side((sample({k: 10 for k in range(1, 101)}), sample({k: 20 for k in range(1, 101)})), boots)
    logs = ratios.logs_of(both, 0.5)
    assert logs is not None
    arm = ratios._arm(both, logs, 0.5)
    assert arm.boots == shown and arm.redrawn.shape[0] == 2
    # the rank of the median of 1000 samples has a standard deviation of 16, that is 1.6 of these values of ten samples each
    assert np.exp(arm.redrawn[0]).std() == pytest.approx(1.6, rel=0.3) and abs(np.exp(arm.redrawn[0]).mean() - 50) < 1
