"""Which function holds the time: stacks from the order of the code alone, on paths whose answer is known."""

from __future__ import annotations

import gzip
from dataclasses import replace

import gated
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.boards.binaries import probe_path
from rtassay.gate import functions, gating
from rtassay.gate.boots import Cell, Measured
from rtassay.gate.functions import USER
from rtassay.gate.gating import Plan
from rtassay.lab import following, measured
from rtassay.lab.script import SHIFT
from rtassay.model.errors import BoardError
from rtassay.model.gate import NAMED, NO_TRACE, NOTHING_LATER
from rtassay.reports.gate.gate_text import why_nobody

NAMES = ("do_syscall_64", "sys_call", "section", "delay", "sysvec_timer", "hrtimer_interrupt", "__schedule", "__switch_to_asm", "nanosleep", "do_syscall_other", "asm_sysvec_timer")  # fmt: skip
BASE, SIZE = 0xFFFFFFFF81000000, 0x1000
START = {name: BASE + at * SIZE for at, name in enumerate(NAMES)}
KALLSYMS = gzip.compress(
    "".join(f"{at:016x} {'t' if name != 'delay' else 'T'} {name}\n" for name, at in START.items()).encode()
    + b"ffffffff90000000 D data_of_the_kernel\n"
)
SYMBOLS = functions.symbols_of(KALLSYMS)
AT_USER = 0x401000


def path(*steps: tuple[str, int]) -> bytes:
    """Blocks: "name" is the function's first instruction, "name+" one inside it; "user" is user space. The number is of instructions."""
    found = []
    for name, count in steps:
        address = AT_USER if name == "user" else START[name.removesuffix("+")] + (0x40 if name.endswith("+") else 0)
        found.append((address, count))
    return np.array(found, dtype="<u8").tobytes()


def ns(instructions: int) -> int:
    return instructions << SHIFT


def test_a_section_in_a_system_call_is_found_with_those_that_called_it() -> None:
    steps = path(("user", 9), ("do_syscall_64", 5), ("sys_call", 4), ("section", 3), ("delay", 1000), ("delay+", 500), ("section+", 2), ("sys_call+", 1), ("do_syscall_64+", 1), ("user", 2))  # fmt: skip
    found = functions.spent(steps, SYMBOLS, ns(1518))
    assert found.alone_ns["delay"] == ns(1500)
    assert found.with_callees_ns["section"] == ns(1505)
    assert found.chains["delay"] == ("section", "sys_call", "do_syscall_64")
    assert sum(found.alone_ns.values()) == ns(1518)
    calm = functions.spent(path(("user", 1518)), SYMBOLS, ns(1518))
    first, *rest = functions.compared(found, calm, ns(1500))
    assert (first.function, first.with_callees, first.new_ns, first.base_ns) == ("delay", True, ns(1500), 0)
    assert rest[0].function == "delay" and not rest[0].with_callees


def test_callers_that_began_before_the_path_are_known_when_they_are_returned_to() -> None:
    steps = path(("delay+", 100), ("section+", 5), ("sys_call+", 5))
    found = functions.spent(steps, SYMBOLS, ns(110))
    assert found.chains["delay"] == ("section", "sys_call")
    assert found.with_callees_ns["sys_call"] == ns(110)


def test_a_switch_of_threads_ends_what_is_known_of_callers() -> None:
    steps = path(("delay+", 100), ("__schedule", 5), ("__switch_to_asm", 5), ("__schedule+", 7), ("nanosleep+", 3), ("do_syscall_other+", 2))  # fmt: skip
    found = functions.spent(steps, SYMBOLS, ns(122))
    assert found.chains["__schedule"] in (("delay",), ("nanosleep", "do_syscall_other"))
    assert found.with_callees_ns["nanosleep"] == ns(10)
    assert found.with_callees_ns["delay"] == ns(110)
    assert found.with_callees_ns["do_syscall_other"] == ns(12)


def test_an_interrupt_is_below_what_it_interrupted_and_its_steps_are_not_told() -> None:
    steps = path(("user", 1), ("do_syscall_64", 5), ("section", 5), ("asm_sysvec_timer", 2), ("sysvec_timer", 3), ("hrtimer_interrupt", 50), ("sysvec_timer+", 1), ("asm_sysvec_timer+", 1), ("section+", 5))  # fmt: skip
    found = functions.spent(steps, SYMBOLS, ns(72))
    assert found.chains["hrtimer_interrupt"] == ("sysvec_timer", "section", "do_syscall_64")
    assert "asm_sysvec_timer" not in found.alone_ns and found.alone_ns["section"] == ns(13)


def test_only_the_time_since_it_was_due_counts() -> None:
    steps = path(("delay", 1000), ("section", 10), ("user", 10))
    assert functions.spent(steps, SYMBOLS, ns(20)).alone_ns == {"section": ns(10), USER: ns(10)}


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*NAMES, *(f"{name}+" for name in NAMES), "user"]), st.integers(min_value=1, max_value=50)
        ),
        min_size=1,
        max_size=60,
    )
)
def test_every_instruction_is_counted_once_whatever_ran(steps: list[tuple[str, int]]) -> None:
    whole_ns = ns(sum(count for _, count in steps))
    found = functions.spent(path(*steps), SYMBOLS, whole_ns)
    assert sum(found.alone_ns.values()) == whole_ns
    assert all(found.alone_ns[name] <= found.with_callees_ns[name] <= whole_ns for name in found.alone_ns)
    assert set(found.chains) == set(found.with_callees_ns)


def test_a_kernel_without_names_is_said() -> None:
    with pytest.raises(BoardError, match="names no function"):
        functions.symbols_of(gzip.compress(b"0000000000000000 T _text\n"))


def test_the_marker_is_read_from_the_probe_itself() -> None:
    content = probe_path("x86_64").read_bytes()
    marker = following.marker_of(content)
    assert marker is not None
    # Of an executable at fixed addresses: the segment of code holds a nop there.
    assert content[16] == 2
    table, size, count = (int.from_bytes(content[at : at + width], "little") for at, width in ((32, 8), (54, 2), (56, 2)))  # fmt: skip
    for number in range(count):
        head = content[table + number * size :][:size]
        offset, address, length = (int.from_bytes(head[at : at + 8], "little") for at in (8, 16, 32))
        if int.from_bytes(head[:4], "little") == 1 and address <= marker < address + length:
            assert content[offset + marker - address] == 0x90
            break
    else:
        pytest.fail("the marker is in no segment")
    assert following.marker_of(b"stapsdt\0") is None and following.marker_of(b"") is None


NOTE = (
    (8).to_bytes(4, "little") + (24 + 19).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"stapsdt\0"
    + (0x401000).to_bytes(8, "little") + bytes(16) + b"rtprobe\0activation\0"
)  # fmt: skip
TOOLS = replace(gated.TOOLS, probe=NOTE)
US = 1000


def followed_gate(path_of: bytes | None, *, same: bool = True) -> tuple[gating.Gate, list[Cell]]:
    """dd is later by 100 us; its followed boots bring this path, the base's one in user space."""
    asked: list[Cell] = []

    def answer(cell: Cell) -> Measured:
        new = cell.kernel.kernel.name == "new" and cell.load == "dd"
        latencies = [20 * US, (140 if new else 40) * US, 30 * US]
        if cell.follow is not None and not same:
            latencies[1] += 2 * US
        made = gated.measured(gated.stream(latencies))
        if not cell.symbols:
            return made
        walked = None if cell.follow is None else path_of if new else path(("user", 10_000))
        files = {**made.result.files, measured.SYMBOLS: KALLSYMS}
        return replace(made, result=replace(made.result, files=files, path=walked))

    plan = Plan(("idle", "dd"), (1,), count=3, interval_ns=1_000_000)
    new, base = gated.kernel("new"), gated.kernel("base")
    return gating.gate(new, base, plan, TOOLS, gated.maker(answer, asked)), asked


def test_the_latest_wake_up_of_each_kernel_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gating.shutil, "which", lambda name: f"/usr/bin/{name}")
    section = path(("user", 9_000), ("do_syscall_64", 50), ("section", 20), ("delay", 13_000), ("section+", 10), ("do_syscall_64+", 5), ("user", 20))  # fmt: skip
    found, asked = followed_gate(section)
    (load,) = [one for one in found.loads if one.load == "dd"]
    assert load.search == NAMED and not load.holders
    assert (load.functions[0].function, load.functions[0].callers) == ("delay", ("section", "do_syscall_64"))
    assert (load.functions[0].new_ns, load.functions[0].base_ns) == (ns(13_000), 0)
    follow = [cell.follow for cell in asked if cell.follow is not None]
    assert follow == [following.Follow(0x401000, 1)] * 2
    assert not any(cell.traced_above_ns for cell in asked)


@pytest.mark.parametrize("case", ["nothing followed", "another wake-up", "no compiler"])
def test_where_it_cannot_be_followed_it_is_traced(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gating.shutil, "which", lambda name: None if case == "no compiler" else name)
    found, asked = followed_gate(None if case == "nothing followed" else path(("delay", 20_000)), same=case != "another wake-up")  # fmt: skip
    (load,) = [one for one in found.loads if one.load == "dd"]
    assert load.functions == ()
    assert {"nothing followed": "followed nothing", "another wake-up": "not as the one before", "no compiler": "no gcc"}[case] in load.unfollowed  # fmt: skip
    assert any("was not followed" in words for words in why_nobody(found))
    assert any(cell.traced_above_ns for cell in asked)
    assert load.search in (NO_TRACE, NOTHING_LATER)
