"""A gate from its plan to its result, with boots that are answered at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gated
import pytest

from rtassay.gate import gating, judging, saved
from rtassay.gate.boots import Cell, Measured
from rtassay.gate.gating import Plan
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.gate import (
    MEASURED,
    NO_TRACE,
    NOT_COMPARED,
    NOT_LOOKED_FOR,
    NOT_REGRESSED,
    NOTHING_LATER,
    REGRESSED,
    TOO_LATE,
    Gate,
)
from rtassay.reports.gate.json import JsonGate

US = 1_000
NEW, BASE = gated.kernel("new"), gated.kernel("base")
PLAN = Plan(("idle", "dd"), (1, 2), count=4, interval_ns=1_000_000)


def tails(**tail_us: dict[tuple[str, int], int]) -> gated.Callable[[Cell], Measured]:
    """Boots whose largest latency is by kernel name, (load, seed); 40 us if it is not said. Traced boots are traced from activation 1 on."""

    def answer(cell: Cell) -> Measured:
        largest = tail_us.get(cell.kernel.kernel.name, {}).get((cell.load, cell.seed), 40)
        traced_from = None if cell.traced_above_ns is None else 1
        return gated.measured(gated.stream([20 * US, largest * US, 30 * US], traced_from=traced_from))

    return answer


def gate(answer: gated.Callable[[Cell], Measured], plan: Plan = PLAN, base: object = BASE, new: object = NEW) -> Gate:
    return gating.gate(new, base, plan, gated.TOOLS, gated.maker(answer))


def states(found: Gate) -> dict[str, str]:
    return {load.load: load.state for load in found.loads}


def test_a_tail_that_grows_in_every_seed_is_a_regression_and_one_seed_is_none() -> None:
    found = gate(tails(new={("idle", 1): 200, ("dd", 1): 200, ("dd", 2): 90}))
    assert states(found) == {"idle": NOT_REGRESSED, "dd": REGRESSED}
    assert found.state == REGRESSED
    one = found.loads[1].seeds[0]
    assert (one.growth_ns, one.allowed_ns, one.grown) == (160 * US, judging.allowed_ns(40 * US), True)
    assert one.first is not None and (one.first.k, one.first.base_ns, one.first.new_ns) == (1, 40 * US, 200 * US)
    assert one.first_beyond == one.first
    assert found.loads[0].seeds[0].grown and not found.loads[0].seeds[1].grown


def test_growth_up_to_the_threshold_is_none() -> None:
    base_ns = 40 * US
    just = 40 + judging.allowed_ns(base_ns) // US
    assert gate(tails(new={(load, seed): just for load in PLAN.loads for seed in PLAN.seeds})).state == NOT_REGRESSED
    over = {(load, seed): just + 1 for load in PLAN.loads for seed in PLAN.seeds}
    assert gate(tails(new=over)).state == REGRESSED
    assert judging.allowed_ns(4_000 * US) == round(4_000 * US * judging.ALLOWED_SHARE)


def test_a_deadline_counts_where_it_is_newly_exceeded() -> None:
    plan = replace(PLAN, deadline_ns=45 * US)
    found = gate(tails(new={("idle", 1): 45}), plan)
    assert states(found) == {"idle": TOO_LATE, "dd": NOT_REGRESSED}
    assert gate(tails(new={("idle", 1): 45}, base={("idle", 1): 46}), plan).state == NOT_REGRESSED
    assert gate(tails(new={("idle", 1): 45}), plan, base=None).state == TOO_LATE
    assert gate(tails(), plan, base=None).state == MEASURED


def test_a_load_that_ended_early_is_not_compared_and_one_that_cannot_run_is_left_out() -> None:
    def answer(cell: Cell) -> Measured:
        return gated.measured(gated.stream([20 * US]), ended=cell.load == "dd" and cell.kernel is BASE)

    found = gate(answer)
    assert states(found) == {"idle": NOT_REGRESSED, "dd": NOT_COMPARED}
    assert found.state == NOT_COMPARED
    plan = replace(PLAN, loads=("idle", "hackbench"))
    no_net = gated.kernel("small", {"UNIX": "y", "EVENT_TRACING": "y"})
    found = gate(tails(), plan, new=no_net)
    assert (found.left_out, states(found), found.state) == (
        (("hackbench", "NET"),),
        {"idle": NOT_REGRESSED},
        NOT_COMPARED,
    )
    with pytest.raises(UsageError, match="CONFIG_NET"):
        gate(tails(), replace(PLAN, loads=("hackbench",)), new=no_net)


def test_who_holds_the_time_is_looked_for_from_the_latest_traced_wake_up_of_the_base_on() -> None:
    asked: list[Cell] = []
    later = {("dd", seed): 200 for seed in PLAN.seeds}
    found = gating.gate(NEW, BASE, PLAN, gated.TOOLS, gated.maker(tails(new=later), asked))
    traced = [cell for cell in asked if cell.traced_above_ns is not None]
    assert [(cell.kernel, cell.load, cell.seed) for cell in traced] == [
        (BASE, "dd", 1),
        (NEW, "dd", 1),
        (BASE, "dd", 1),
    ]
    assert [cell.traced_above_ns for cell in traced[1:]] == [40 * US, 40 * US]
    assert [load.search for load in found.loads] == [NOT_LOOKED_FOR, NOTHING_LATER]
    untraceable = gated.kernel("new", {"NET": "y"})
    found = gate(tails(new=later), new=untraceable)
    assert found.loads[1].search == NO_TRACE


def test_a_saved_result_is_a_base_and_one_of_another_qemu_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    measured = gate(tails(), base=None, new=BASE)
    file.write_bytes(JsonGate().render(measured))
    assert saved.read(file) == measured
    asked: list[Cell] = []
    later = {("dd", seed): 200 for seed in PLAN.seeds}
    found = gating.gate(NEW, saved.read(file), PLAN, gated.TOOLS, gated.maker(tails(new=later), asked))
    assert {cell.kernel for cell in asked} == {NEW}
    assert states(found) == {"idle": NOT_REGRESSED, "dd": REGRESSED}
    assert found.base == BASE.kernel
    for changed, what in (
        ({"qemu": "QEMU 9"}, "version of QEMU"),
        ({"programs": b"other"}, "userland"),
        ({"probe": b"x"}, "rtprobe"),
    ):
        with pytest.raises(InputFileError, match=what):
            gating.gate(NEW, saved.read(file), PLAN, replace(gated.TOOLS, **changed), gated.maker(tails()))
    with pytest.raises(InputFileError, match="interval"):
        gating.gate(NEW, saved.read(file), replace(PLAN, count=5), gated.TOOLS, gated.maker(tails()))
    for content in (b"{}", b"no json", b'{"schema": "rtassay/gate/1"}'):
        file.write_bytes(content)
        with pytest.raises(InputFileError, match="no result of a gate"):
            saved.read(file)


def test_a_load_that_the_saved_base_lacks_is_only_measured() -> None:
    measured = gate(tails(), replace(PLAN, loads=("idle",)), base=None, new=BASE)
    assert states(gate(tails(), base=measured)) == {"idle": NOT_REGRESSED, "dd": MEASURED}


def test_the_same_inputs_twice_part_where_they_part() -> None:
    calls: list[Cell] = []

    def answer(cell: Cell) -> Measured:
        calls.append(cell)
        odd = cell.load == "dd" and calls.count(cell) == 2
        return gated.measured(gated.stream([20 * US, 40 * US + odd, 30 * US]))

    plan = replace(PLAN, seeds=(1,))
    found = gating.verify(NEW, plan, gated.TOOLS, gated.maker(answer))
    assert [cell.same for cell in found.cells] == [True, False]
    parted = found.cells[1]
    assert not found.same and parted.first is not None
    assert (parted.first.k, parted.first.base_ns, parted.first.new_ns) == (1, 40 * US, 40 * US + 1)
    first, second = (gated.stream([20 * US, 40 * US + odd, 30 * US]) for odd in (0, 1))
    at = parted.first_byte or 0
    assert first[:at] == second[:at] and first[at] != second[at]
