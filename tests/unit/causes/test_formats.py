"""Format texts of six kernels, of texts that are none, and of anything."""

from __future__ import annotations

import pytest
from cause_traces import KERNELS, decoder_of, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.causes.formats import Reader, event_format, page_layout
from rtassay.causes.pages import decoder
from rtassay.model.causes import NotATrace

HEADER, FORMATS = texts("debian-6.1-amd64")
SWITCH = FORMATS["sched/sched_switch"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_can_be_decoded(kernel: str) -> None:
    by = decoder_of(kernel)
    names = {name for name, _ in by.readers.values()}
    assert {"sched/sched_switch", "sched/sched_waking", "timer/hrtimer_expire_entry", "irq/irq_handler_entry"} <= names


@pytest.mark.parametrize(
    ("kernel", "commit", "data", "prev_pid"),
    [
        ("debian-6.1-amd64", 8, 16, 24),
        ("debian-6.1-rt-amd64", 8, 16, 28),
        ("debian-6.1-armhf", 4, 12, 24),
        ("cloud-6.18-amd64", 8, 16, 24),
        ("documented-5.10-rt-arm64", 8, 16, 28),
        ("documented-6.12-arm64", 8, 16, 28),
    ],
)
def test_offsets_are_the_kernel_s_own(kernel: str, commit: int, data: int, prev_pid: int) -> None:
    header, formats = texts(kernel)
    layout = page_layout(header)
    assert (layout.commit_size, layout.data_offset, layout.data_offset + layout.data_size) == (commit, data, 4096)
    assert event_format("sched/sched_switch", formats["sched/sched_switch"]).fields["prev_pid"].offset == prev_pid


def test_text_fields_and_located_text_are_told_apart() -> None:
    fields = event_format("x", SWITCH).fields
    assert fields["prev_comm"].text and not fields["prev_pid"].text
    assert event_format("y", FORMATS["irq/irq_handler_entry"]).fields["name"].data_loc


@pytest.mark.parametrize("text", ["", "no such file", "name: x\nID: 1\nformat:\n", SWITCH.replace("ID:", "IF:")])
def test_what_is_no_format_is_refused(text: str) -> None:
    with pytest.raises(NotATrace) as refused:
        event_format("sched/sched_switch", text)
    assert "sched/sched_switch" in refused.value.what


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEADER.replace("commit", "commix"),
        HEADER.replace("offset:16", "offset:4"),
        HEADER.replace("size:8;\tsigned:0", "size:2;\tsigned:0"),
        HEADER.replace("size:4080", "size:999999999"),
    ],
)
def test_what_is_no_header_page_is_refused(text: str) -> None:
    with pytest.raises(NotATrace):
        page_layout(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("prev_prio;", "prev_rank;"),
        ("offset:28;\tsize:4", "offset:26;\tsize:4"),
        ("offset:28;\tsize:4", "offset:28;\tsize:3"),
    ],
)
def test_a_format_with_a_missing_or_damaged_field_is_refused(old: str, new: str) -> None:
    assert old in SWITCH
    with pytest.raises(NotATrace):
        decoder(page_layout(HEADER), {**FORMATS, "sched/sched_switch": SWITCH.replace(old, new)})


def test_a_trace_without_switches_is_refused_by_name() -> None:
    with pytest.raises(NotATrace, match="sched_switch"):
        decoder(page_layout(HEADER), {name: text for name, text in FORMATS.items() if name != "sched/sched_switch"})


LINES = st.lists(st.sampled_from(SWITCH.splitlines() + HEADER.splitlines()) | st.text(max_size=60), max_size=30)


@settings(max_examples=150, deadline=None)
@given(LINES, st.integers(0, 200), st.text(max_size=5))
def test_no_text_is_more_than_refused(lines: list[str], at: int, noise: str) -> None:
    text = "\n".join(lines)
    text = text[:at] + noise + text[at:]
    for parse in (page_layout, lambda t: Reader(event_format("e", t), ("prev_comm", "prev_pid", "next_prio"))):
        try:
            parse(text)
        except NotATrace as refused:
            assert refused.exit_code == 2
