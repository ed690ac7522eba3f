"""Stacks of a trace to the functions in which causes kept the CPU."""

from __future__ import annotations

import base64
import json
import lzma
import struct
from pathlib import Path

import pytest
from cause_traces import DATA, texts
from hypothesis import given
from hypothesis import strategies as st

from rtassay.causes import pages
from rtassay.causes.attribution import attribute
from rtassay.causes.formats import event_format, page_layout
from rtassay.causes.pages import Event, decode, decoder
from rtassay.causes.places import place
from rtassay.causes.symbols import symbols
from rtassay.causes.timeline import Timeline, timeline
from rtassay.model import causes as kinds
from rtassay.model.causes import AT_END, INSIDE, Cause, Hit, NotATrace, Part, Place, Trace

STACKS = sorted((DATA / "stacks").glob("*.json.xz"))
# Kernel, its other formats, where the number and the addresses lie, and how the array is declared.
LAYOUTS = [
    ("6.1, 64 bit", "debian-6.1-amd64", 8, 16, "caller[8]", 64),
    ("6.1, 32 bit", "debian-6.1-armhf", 8, 12, "caller[8]", 32),
    ("an RT kernel of 5.10", "documented-5.10-rt-arm64", 12, 16, "caller[8]", 64),
    ("newer, without a length", "documented-6.12-arm64", 8, 16, "caller[]", 0),
]


def stack_format(size_at: int, caller_at: int, array: str, bytes_: int) -> str:
    fields = [
        "unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0",
        "unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0",
    ]
    fields += [
        "unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0",
        "int common_pid;\toffset:4;\tsize:4;\tsigned:1",
    ]
    fields += [f"int size;\toffset:{size_at};\tsize:4;\tsigned:1"]
    fields += [f"unsigned long {array};\toffset:{caller_at};\tsize:{bytes_};\tsigned:0"]
    return "name: kernel_stack\nID: 4\nformat:\n" + "".join(f"\tfield:{field};\n" for field in fields)


def page(records: list[bytes], long: int) -> bytes:
    """A page of 4 KiB that holds records, each with its length in the second word."""
    data = b"".join(struct.pack("<II", 0, len(record) + 4) + record for record in records)
    return (1000).to_bytes(8, "little") + len(data).to_bytes(long, "little") + data + bytes(4096)


@pytest.mark.parametrize(
    ("words", "kernel", "size_at", "caller_at", "array", "bytes_"), LAYOUTS, ids=lambda v: str(v)[:24]
)
@given(st.data())
def test_a_stack_is_decoded_by_the_kernels_format(
    words: str, kernel: str, size_at: int, caller_at: int, array: str, bytes_: int, data: st.DataObject
) -> None:
    header, formats = texts(kernel)
    long = page_layout(header).commit_size
    code = "I" if long == 4 else "Q"
    addresses = data.draw(st.lists(st.integers(1, (1 << 8 * long) - 2), max_size=40))
    by = decoder(page_layout(header), formats | {pages.STACK: stack_format(size_at, caller_at, array, bytes_)})
    head = struct.pack("<HBBi", 4, 1, 2, 77).ljust(size_at, b"\0") + struct.pack("<i", len(addresses))
    record = head.ljust(caller_at, b"\0") + struct.pack(f"<{len(addresses)}{code}", *addresses)
    found = decode([page([record], long)], by)
    assert (found.damaged, [event.name for event in found.events]) == (0, [pages.PAGE, pages.STACK])
    stack = found.events[1]
    assert (stack.flags, stack.depth, stack.pid, stack.values) == (1, 2, 77, tuple(addresses))


@given(claimed=st.integers(-(2**31), 2**31 - 1), there=st.integers(0, 8), rest=st.binary(max_size=3))
def test_a_stack_that_claims_more_than_its_record_holds_gives_what_is_there(
    claimed: int, there: int, rest: bytes
) -> None:
    header, formats = texts("debian-6.1-amd64")
    by = decoder(page_layout(header), formats | {pages.STACK: stack_format(8, 16, "caller[8]", 64)})
    addresses = tuple(range(1, there + 1))
    record = struct.pack("<HBBiii", 4, 0, 0, 7, claimed, 0) + struct.pack(f"<{there}Q", *addresses) + rest
    (_, stack, *_) = decode([page([record.ljust(-(-len(record) // 4) * 4, b"\0")], 8)], by).events
    assert stack.values == addresses[: max(claimed, 0)]


def test_the_marker_with_which_older_kernels_end_a_stack_is_no_function() -> None:
    header, formats = texts("debian-6.1-amd64")
    by = decoder(page_layout(header), formats | {pages.STACK: stack_format(8, 16, "caller[8]", 64)})
    record = struct.pack("<HBBiii", 4, 0, 0, 7, 3, 0) + struct.pack("<3Q", 5, (1 << 64) - 1, 9)
    assert decode([page([record], 8)], by).events[1].values == (5,)


@pytest.mark.parametrize(
    "broken",
    [
        stack_format(16, 8, "caller[8]", 64),
        "name: kernel_stack\nID: 4\n\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n",
    ],
)
def test_a_format_that_cannot_be_is_refused(broken: str) -> None:
    header, formats = texts("debian-6.1-amd64")
    event_format(pages.STACK, broken)
    with pytest.raises(NotATrace):
        decoder(page_layout(header), formats | {pages.STACK: broken})


# --- the rules, on lines of a few events ---

NAMES = (
    "hrtimer_interrupt", "asm_sysvec_apic_timer_interrupt", "el1h_64_irq", "__irq_svc", "_raw_spin_unlock_irqrestore", "read_tsc", "__schedule",
    "preempt_schedule_common", "__cond_resched", "schedule", "preempt_schedule_irq", "flush_work", "ret_from_fork", "__x86_indirect_thunk_array",
)  # fmt: skip
AT = {name: 0x1000 * (1 + number) for number, name in enumerate(NAMES)}
SYMBOLS = symbols(
    "".join(f"ffff{AT[name]:012x} t {name}\n" for name in NAMES) + "ffff0000ffff0000 t bad_driver [bad]\n"
)
DRIVER = 0xFFFF0000FFFF0000 + 0x1C
NAMED = "bad_driver+0x1c [bad]"
LANE, OTHER = 50, 60
IRQ, HARD, SOFT = 1, 0x08, 0x10


def stack(*names: str | int) -> tuple[int, ...]:
    return tuple(name if isinstance(name, int) else 0xFFFF000000000000 + AT[name] for name in names)


def interrupt(ns: int, *frames: str | int, flags: int = HARD) -> list[Event]:
    return [
        Event(ns, pages.HRTIMER_ENTRY, flags, 0, OTHER, (1,)),
        *([Event(ns, pages.STACK, flags, 0, OTHER, stack(*frames))] if frames else []),
        Event(ns + 10, pages.HRTIMER_EXIT, flags, 0, OTHER, ()),
    ]


def switched(ns: int, *frames: str | int) -> list[Event]:
    switch = Event(ns, pages.SWITCH, 0, 0, OTHER, ("other", OTHER, 120, 0, "lane", LANE, 9))
    return [switch, *([Event(ns, pages.STACK, 0, 0, OTHER, stack(*frames))] if frames else [])]


def line(*some: list[Event]) -> Timeline:
    begin = Event(10, pages.SWITCH, 0, 0, 0, ("swapper", 0, 120, 0, "other", OTHER, 120))
    return timeline([begin, *(event for events in some for event in events)])


HIT = Hit(0, 0, LANE, 3, 1000, 9000)
TIMER = ("hrtimer_interrupt", "asm_sysvec_apic_timer_interrupt")


def found(of: Timeline, kind: str, start: int = 1000, ns: int = 4000, name: str = "other") -> Place | None:
    return place(of, HIT, Part("C", Cause(kind, name, None, OTHER), start, ns), SYMBOLS)


@pytest.mark.parametrize("entry", ["asm_sysvec_apic_timer_interrupt", "el1h_64_irq", "__irq_svc"])
def test_interrupts_off_are_named_by_the_first_interrupt_after_them(entry: str) -> None:
    of = line(
        interrupt(5000, "hrtimer_interrupt", entry, "_raw_spin_unlock_irqrestore", DRIVER, "ret_from_fork"),
        switched(6000),
    )
    named = found(of, kinds.INTERRUPTS_OFF)
    assert named is not None and (named.function, named.at) == (NAMED, AT_END)
    assert named.chain == ("_raw_spin_unlock_irqrestore", NAMED, "ret_from_fork")


def test_an_interrupt_of_user_space_says_so_and_one_without_known_entry_code_says_nothing() -> None:
    assert found(line(interrupt(5000, *TIMER), switched(6000)), kinds.INTERRUPTS_OFF) == Place("", AT_END, ())
    assert found(line(interrupt(5000, "hrtimer_interrupt", DRIVER), switched(6000)), kinds.INTERRUPTS_OFF) is None
    assert found(line(interrupt(5000), switched(6000)), kinds.INTERRUPTS_OFF) is None


def test_interrupts_off_are_not_named_by_another_threads_stack_nor_after_the_hit() -> None:
    later = line(switched(5000), interrupt(5500, *TIMER, DRIVER))
    assert found(later, kinds.INTERRUPTS_OFF) is None
    assert found(line(interrupt(9500, *TIMER, DRIVER)), kinds.INTERRUPTS_OFF) is None


def test_preemption_off_is_named_where_it_came_back_on() -> None:
    of = line(
        interrupt(2000, *TIMER, "read_tsc", "flush_work"),
        switched(5000, "__schedule", "preempt_schedule_common", "_raw_spin_unlock_irqrestore", DRIVER),
    )
    named = found(of, kinds.PREEMPTION_OFF)
    assert named is not None and (named.function, named.at) == (NAMED, AT_END)


@pytest.mark.parametrize(
    "left",
    [("__schedule", "schedule", DRIVER), ("__schedule", "preempt_schedule_irq", DRIVER), ("__schedule", "preempt_schedule_common", "__cond_resched", DRIVER), ()],
    ids=["it slept", "an interrupt", "a preemption point", "no stack"],
)  # fmt: skip
def test_where_something_else_led_to_the_switch_the_last_interrupt_names_it(left: tuple[str | int, ...]) -> None:
    of = line(interrupt(1500, *TIMER, DRIVER), interrupt(2000, *TIMER, "read_tsc", "flush_work"), switched(5000, *left))
    assert found(of, kinds.PREEMPTION_OFF) == Place("flush_work", INSIDE, ("read_tsc", "flush_work"))


def test_kernel_code_without_a_preemption_point_is_named_by_an_interrupt_else_by_the_point() -> None:
    point = switched(5000, "__schedule", "preempt_schedule_common", "__cond_resched", "flush_work")
    inside = found(line(interrupt(2000, *TIMER, DRIVER), point), kinds.NO_PREEMPTION_POINT)
    assert inside is not None and (inside.function, inside.at) == (NAMED, INSIDE)
    end = found(line(point), kinds.NO_PREEMPTION_POINT)
    assert end is not None and (end.function, end.at) == ("flush_work", AT_END)
    assert found(line(switched(5000, "__schedule", "schedule", DRIVER)), kinds.NO_PREEMPTION_POINT) is None


def test_a_stack_that_breaks_off_gives_way_to_an_earlier_one() -> None:
    of = line(interrupt(1500, *TIMER, DRIVER), interrupt(2000, *TIMER, "__x86_indirect_thunk_array"), switched(5000))
    named = found(of, kinds.PREEMPTION_OFF)
    assert named is not None and named.function == NAMED


def test_an_interrupt_before_the_due_time_tells_nothing() -> None:
    assert found(line(interrupt(900, *TIMER, DRIVER), switched(5000)), kinds.PREEMPTION_OFF) is None


def test_a_softirq_is_named_by_an_interrupt_within_it() -> None:
    vector = 6
    of = line(
        [Event(1500, pages.SOFTIRQ_ENTRY, SOFT, 0, OTHER, (vector,))],
        interrupt(2000, *TIMER, DRIVER, flags=HARD | SOFT),
        [Event(4000, pages.SOFTIRQ_EXIT, SOFT, 0, OTHER, (vector,))],
        switched(5000),
    )
    named = found(of, kinds.SOFTIRQ, 1600, 2000, "TASKLET")
    assert named is not None and named.function == NAMED
    assert found(of, kinds.SOFTIRQ, 1600, 2000, "NET_RX") is None


@pytest.mark.parametrize("kind", sorted(set(kinds.KINDS) - {kinds.INTERRUPTS_OFF, kinds.PREEMPTION_OFF, kinds.BOTTOM_HALVES_OFF, kinds.NO_PREEMPTION_POINT, kinds.SOFTIRQ}))  # fmt: skip
def test_other_causes_have_no_place(kind: str) -> None:
    assert found(line(interrupt(5000, *TIMER, DRIVER), switched(6000)), kind) is None


def test_a_stack_after_an_event_that_has_none_belongs_to_nothing() -> None:
    exit_ = Event(5000, pages.HRTIMER_EXIT, HARD, 0, OTHER, ())
    of = line([exit_, Event(5000, pages.STACK, HARD, 0, OTHER, stack(*TIMER, DRIVER))])
    assert of.stacks == {}
    lost = line(
        interrupt(2000),
        [Event(2000, pages.LOST, 0, 0, -1, ()), Event(2100, pages.STACK, HARD, 0, OTHER, stack(*TIMER, DRIVER))],
    )
    assert lost.stacks == {}


def test_symbols_are_text_from_outside() -> None:
    hostile = symbols("ffff000000001000 t evil\x1b[31m\n".replace("\x1b", "\u202e") + "ffff000000002000 t x\n")
    assert "\u202e" not in "".join(hostile.names)


# --- real traces ---


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.name.split(".")[0])
def test_real_hits_have_their_function(path: Path) -> None:
    """stock, rt: what the module rtfault injected, and kernel code of that moment. arm64, armhf: ordinary kernel code."""
    data = json.loads(lzma.decompress(path.read_bytes()))
    held = {int(cpu): tuple(base64.b64decode(one) for one in some) for cpu, some in data["pages"].items()}
    hits = tuple(Hit(**hit) for hit in data["hits"])
    trace = Trace(data["header_page"], data["formats"], held, hits, data["kallsyms"])
    found = attribute(trace, virtual=False, realtime="-rt-" in data["kernel"])
    longest = [max(one.parts, key=lambda part: part.ns) for one in found]
    told = [[part.cause.kind, part.place and part.place.function, part.place and part.place.at] for part in longest]
    assert told == data["expected"]
    for part in longest:
        assert part.place is not None and part.place.function in part.place.chain
        if part.cause.name.startswith("rtfault_"):
            assert part.place.function.startswith("rtfault_") and part.place.function.endswith(" [rtfault]")
