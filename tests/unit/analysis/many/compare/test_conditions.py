"""What a difference may be due to: the factor, confounds, order, boots, heat; and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rtassay import reports
from rtassay.analysis.many.compare import compare
from rtassay.analysis.many.compare.checks import PAIR_CHECKS, reference_markdown
from rtassay.model.comparison import Comparison
from rtassay.model.findings import SEVERITIES
from rtassay.model.manifest import Obtained, Source

from ...build import MS, US, cyclictest, skip_lane
from .groups import group, run, scaled, tail_counts

BASE = tail_counts(20_000)
LATER = scaled(BASE, 1.5)
STOCK = {
    "release": "6.1.0-stock",
    "version": "#1 SMP PREEMPT_DYNAMIC",
    "preempt_model": "PREEMPT_DYNAMIC",
    "config_sha256": "aa",
}
RT = {"release": "6.1.0-rt", "version": "#1 SMP PREEMPT_RT", "preempt_model": "PREEMPT_RT", "config_sha256": "bb"}


def check(result, name):
    (found,) = [c for c in result.checks if c.id == name]
    return found


def board(kernel, cmdline="quiet", **more):
    return {"kernel": kernel, "cmdline": f"BOOT_IMAGE=/vmlinuz-{kernel['release']} {cmdline}", **more}


def test_every_check_always_has_a_result_and_a_page():
    result = compare([run("a", BASE)], [run("b", LATER)])
    assert [c.id for c in result.checks] == [c.id for c in PAIR_CHECKS]
    assert all(c.severity in SEVERITIES and "\n" not in c.message for c in result.checks)
    page = reference_markdown()
    assert all(f"## {c.id}" in page and c.remedy in page for c in PAIR_CHECKS)


def test_a_change_of_kernel_alone_is_no_confound():
    result = compare([run("a", BASE, board=board(STOCK))], [run("b", LATER, board=board(RT))])
    assert result.factor == ("kernel",)
    assert check(result, "AB-CONFOUND").severity == "pass"
    assert (result.a.title, result.b.title) == ("6.1.0-stock", "6.1.0-rt")


@pytest.mark.proves("AB-CONFOUND", "synthetic")
def test_confounds_are_named_exactly():
    a = run("a", BASE, board=board(STOCK, "quiet isolcpus=3", governors={"cpu0": "performance"}, microcode="0x1"))
    b = run("b", LATER, board=board(RT, "quiet nohz=off", governors={"cpu0": "powersave"}, microcode="0x2"))
    found = check(compare([a], [b]), "AB-CONFOUND")
    assert found.severity == "warning"
    rows = {row["key"]: row for row in found.facts["differences"]}
    assert set(rows) == {"cmdline", "governor", "microcode"}
    assert rows["cmdline"]["detail"] == "only A: isolcpus=3; only B: nohz=off"
    assert (rows["governor"]["a"], rows["governor"]["b"]) == (["performance"], ["powersave"])
    assert "microcode: 0x1 / 0x2" in found.message


def test_settings_load_and_tool_beyond_the_factor_are_confounds():
    a = run("a", BASE, board=board(STOCK), told={"dma_latency_us": 0})
    b = run("b", LATER, board=board(RT), told={"dma_latency_us": None}, labels={"load": "compiling"})
    b = replace(b, manifest=replace(b.manifest, source=replace(b.manifest.source, version="9.9")))
    lanes = tuple(
        replace(lane, entry=replace(lane.entry, interval_ns=2 * MS, obtained_start=Obtained("fifo", 50, (0,), True)))
        for lane in b.lanes
    )
    b = replace(b, lanes=lanes, manifest=replace(b.manifest, lanes=tuple(lane.entry for lane in lanes)))
    found = {row["key"] for row in check(compare([a], [b], factor=["kernel"]), "AB-CONFOUND").facts["differences"]}
    assert {"dma_latency", "load", "tool", "interval", "priority"} <= found
    assert "kernel.release" not in found


def test_another_base_version_confounds_a_change_of_preemption():
    """Balci 2017: 4.9.41 against 4.9.47-rt37, and the difference was put down to PREEMPT_RT alone."""
    stock, rt = STOCK | {"release": "4.9.41"}, RT | {"release": "4.9.47-rt37"}
    found = check(compare([run("a", BASE, board=board(stock))], [run("b", LATER, board=board(rt))]), "AB-CONFOUND")
    assert [row["key"] for row in found.facts["differences"]] == ["kernel.base"]
    newer = STOCK | {"release": "4.9.47"}
    same_kind = compare([run("a", BASE, board=board(stock))], [run("b", LATER, board=board(newer))])
    assert check(same_kind, "AB-CONFOUND").severity == "pass", "the version is the factor there"


def test_labels_say_what_the_factor_is():
    a = [run(f"a{i}", scaled(BASE, 1 + i / 50), labels={"tuning": "none", "day": str(i)}) for i in range(3)]
    b = [run(f"b{i}", scaled(LATER, 1 + i / 50), labels={"tuning": "isolated", "day": str(i)}) for i in range(3)]
    result = compare(a, b)
    assert result.factor == ("tuning",)
    assert (result.a.title, result.b.title) == ("none", "isolated")
    assert not any(row.key == "label.day" for row in result.conditions)


def test_of_several_labels_one_is_the_factor_and_the_others_are_confounds():
    a = run("a", BASE, labels={"kernel": "stock", "supply": "usb"}, board=board(STOCK))
    b = run("b", LATER, labels={"kernel": "rt", "supply": "bench"}, board=board(RT))
    assert [r["key"] for r in check(compare([a], [b]), "AB-CONFOUND").facts["differences"]] == ["label.supply"]
    both = compare([a], [b], factor=["kernel", "supply"])
    assert check(both, "AB-CONFOUND").severity == "pass"


def test_nothing_that_tells_the_groups_apart_is_unknown_not_a_pass():
    found = check(compare([run("a", BASE)], [run("b", LATER)]), "AB-CONFOUND")
    assert found.severity == "unknown" and "label them" in found.message


def test_a_factor_that_varies_inside_a_group_is_told():
    a = [
        run("a1", BASE, board=board(STOCK)),
        run("a2", scaled(BASE, 1.1), board=board(STOCK | {"release": "6.1.9-stock"})),
    ]
    b = [run("b1", LATER, board=board(RT))]
    found = check(compare(a, b, factor=["kernel"]), "AB-CONFOUND")
    assert found.severity == "warning"
    assert "varies inside a group" in found.message


@pytest.mark.parametrize(("warmer", "severity"), [(2.9, "pass"), (3.5, "warning")])
@pytest.mark.proves("TEMP-CONFOUND", "synthetic")
def test_temperature(warmer, severity):
    result = compare([run("a", BASE, celsius=50.0)], [run("b", LATER, celsius=50.0 + warmer)])
    found = check(result, "TEMP-CONFOUND")
    assert found.severity == severity
    assert found.facts["b_mean_c"] == pytest.approx(50 + warmer)
    assert result.b.runs[0].temperature_c == pytest.approx(50 + warmer)


def test_temperature_of_one_group_only_is_unknown():
    assert check(compare([run("a", BASE, celsius=50.0)], [run("b", LATER)]), "TEMP-CONFOUND").severity == "unknown"


@pytest.mark.proves("ORDER-CONFOUND", "synthetic")
def test_order():
    apart = compare(group("a", [1.0, 1.1], BASE), group("b", [1.5, 1.6], BASE, hour=20))
    assert check(apart, "ORDER-CONFOUND").severity == "warning"
    assert check(apart, "ORDER-CONFOUND").facts == {"first": "A"}
    mixed = compare(group("a", [1.0, 1.1], BASE), group("b", [1.5, 1.6], BASE, hour=9))
    assert check(mixed, "ORDER-CONFOUND").severity == "pass"
    single = compare(group("a", [1.0], BASE), group("b", [1.5], BASE, hour=9))
    assert check(single, "ORDER-CONFOUND").severity == "note"
    assert check(compare([run("a", BASE)], [run("b", LATER)]), "ORDER-CONFOUND").severity == "unknown"


@pytest.mark.proves("ONE-BOOT", "synthetic")
def test_boots():
    one = [run("a1", BASE, boot="x"), run("a2", scaled(BASE, 1.1), boot="x")]
    two = [run("b1", LATER, boot="y"), run("b2", scaled(LATER, 1.1), boot="z")]
    result = compare(one, two)
    assert check(result, "ONE-BOOT").severity == "warning" and check(result, "ONE-BOOT").facts == {
        "a_boots": 1,
        "b_boots": 2,
    }
    assert (result.a.boots, result.b.boots) == (1, 2)
    assert check(compare(group("a", [1, 1.1], BASE), two), "ONE-BOOT").severity == "pass"
    dark = [run("c1", BASE), run("c2", scaled(BASE, 1.1))]
    assert check(compare(dark, two), "ONE-BOOT").severity == "unknown"


def refused(result, name):
    assert result.conclusion == "refused"
    assert check(result, name).severity == "invalid"
    assert all((row.ratio, row.lo, row.hi, row.shown) == (None,) * 4 for row in result.quantiles)
    assert result.crossover is None and result.rarefied is None
    assert result.sentence.startswith("Not compared") and result.refusals
    return check(result, name)


@pytest.mark.proves("INVALID-RECORDING", "synthetic")
def test_an_invalid_recording_is_refused_and_named():
    bad = run("bad", LATER)
    lanes = tuple(
        replace(lane, entry=replace(lane.entry, obtained_start=Obtained("other", 0, (0,), False))) for lane in bad.lanes
    )
    bad = replace(bad, lanes=lanes, manifest=replace(bad.manifest, lanes=tuple(lane.entry for lane in lanes)))
    found = refused(compare([run("a", BASE)], [bad]), "INVALID-RECORDING")
    assert found.facts["recordings"] == {"bad": ["NOT-RT-POLICY"]}


@pytest.mark.proves("NOT-COMPARABLE", "synthetic")
def test_bins_without_common_edges_are_refused():
    odd = cyclictest(skip_lane({10: 1000}))
    odd = replace(odd, manifest=replace(odd.manifest, bin_width_ns=1500))
    found = refused(compare([cyclictest(skip_lane({10: 1000}))], [odd]), "NOT-COMPARABLE")
    assert "1us" in found.message and "1.5us" in found.message


def test_finer_values_are_rounded_down_to_the_wider_bins():
    """A tool of nanoseconds and one of microseconds that saw the same wake-ups agree to the last count."""
    fine = [10_000, 10_999, 11_000, 57_499] * 300
    a = [run("a", {value: fine.count(value) for value in set(fine)})]
    b = [cyclictest(skip_lane({10: 600, 11: 300, 57: 300}))]
    result = compare(a, b)
    found = check(result, "NOT-COMPARABLE")
    assert result.conclusion != "refused" and (found.severity, result.bin_width_ns) == ("note", 1000)
    assert "rounded down to 1us" in found.message
    assert all(row.a_ns == row.b_ns for row in result.quantiles)
    for histogram in (result.a.histogram, result.b.histogram):
        assert (histogram.lower_ns.tolist(), histogram.counts.tolist()) == ([10_000, 11_000, 57_000], [600, 300, 300])


def _policy(policy, counts):
    return cyclictest(skip_lane(counts, interval=100 * US), source=Source("t", "1", "text", policy))


def test_other_late_policies_are_refused_only_where_they_matter():
    stalled, calm = {10: 1000, 300: 1}, {10: 1000, 30: 1}
    assert (
        "catch_up"
        in refused(compare([_policy("skip", stalled)], [_policy("catch_up", calm)]), "NOT-COMPARABLE").message
    )
    result = compare([_policy("skip", calm)], [_policy("catch_up", {10: 900, 20: 100})])
    assert result.conclusion != "refused"
    assert "late_policy" in {row["key"] for row in check(result, "AB-CONFOUND").facts["differences"]}
    assert compare([_policy("skip", stalled)], [_policy("skip", calm)]).conclusion != "refused"


@pytest.mark.proves("NO-SAMPLES", "synthetic")
def test_recordings_without_samples_are_refused():
    refused(compare([run("a", BASE)], [cyclictest()]), "NO-SAMPLES")


def _measuring(name, measure="wake-up"):
    return cyclictest(skip_lane({10: 1000, 20: 10}, name="cpu0", cpu=0, measure=measure), id=name)


@pytest.mark.proves("MEASURE-DIFFERS", "synthetic")
@pytest.mark.parametrize("other", ["noise", "response:futex", "timer-irq", "unknown"])
def test_other_measures_are_refused(other):
    result = compare([_measuring("a")], [_measuring("b", other)])
    found = refused(result, "MEASURE-DIFFERS")
    assert found.facts == {"a": ["wake-up"], "b": [other]}
    assert all(row.ratio is None for row in result.quantiles)


def test_two_round_trips_are_compared():
    result = compare([_measuring("a", "response:futex")], [_measuring("b", "response:futex")])
    assert not result.refusals and result.extra["measure"] == "response:futex"


def test_of_several_measures_only_the_thread_is_compared():
    """rtla's IRQ, thread and user columns are three readings of one activation, never one distribution."""

    def timerlat(name, late):
        lanes = [
            skip_lane({value: 1000}, name=f"cpu0 {kind}", cpu=0, measure=f"timer-{kind}")
            for kind, value in (("irq", 2), ("thread", late), ("user", 50))
        ]
        return cyclictest(*lanes, id=name)

    result = compare([timerlat("a", 10)], [timerlat("b", 20)])
    assert result.extra["measure"] == "timer-thread"
    assert (result.a.n, result.quantiles[0].a_ns, result.quantiles[0].b_ns) == (1000, 10 * US, 20 * US)


def _chain(name, by, late):
    parts = (("sent", "wake-up", 2), ("received", f"response:{by}", late), ("answered", f"response:{by}-answer", 50))
    return cyclictest(
        *(skip_lane({value: 1000}, name=part, cpu=0, measure=kind) for part, kind, value in parts), id=name
    )


def test_responses_are_compared_by_their_requests_and_only_by_one_carrier():
    result = compare([_chain("a", "pipe", 10)], [_chain("b", "pipe", 20)])
    assert result.extra["measure"] == "response:pipe" and result.quantiles[0].b_ns == 20 * US
    for other in (_chain("b", "futex", 20), _measuring("b")):
        refused(compare([_chain("a", "pipe", 10)], [other]), "MEASURE-DIFFERS")


@pytest.mark.proves("CO-MISSED", "synthetic")
def test_missed_activations_are_told():
    stalled = run("b", {**BASE, 5 * MS: 3}, told={})
    entry = replace(stalled.lanes[0].entry, missed=15, due=stalled.lanes[0].entry.n + 15)
    stalled = replace(
        stalled, lanes=(replace(stalled.lanes[0], entry=entry),), manifest=replace(stalled.manifest, lanes=(entry,))
    )
    found = check(compare([run("a", BASE)], [stalled]), "CO-MISSED")
    assert found.severity == "warning" and found.facts == {"a_missed": 0, "b_missed": 15}
    skipping = check(compare([_policy("skip", {10: 1000})], [_policy("skip", {10: 990, 300: 1})]), "CO-MISSED")
    assert skipping.severity == "warning" and skipping.facts == {"late": ["B"]}


@pytest.mark.proves("RECORDING-CHECKS", "synthetic")
def test_warnings_that_only_one_group_has_are_told():
    a, b = run("a", BASE), run("b", LATER, board={"governors": {"cpu0": "powersave"}})
    found = check(compare([a], [b]), "RECORDING-CHECKS")
    assert found.severity == "warning" and "GOVERNOR" in found.facts["only_b"]


@pytest.mark.proves("VIRTUAL-BOARD", "synthetic")
def test_an_emulated_board_is_named_in_every_format():
    lab = {"virtualisation": "tcg"}
    result = compare([run("a", BASE, board=lab)], [run("b", LATER)])
    found = check(result, "VIRTUAL-BOARD")
    assert found.severity == "warning" and found.facts == {"groups": ["A"]}
    for name in reports.formats(Comparison):
        assert "virtual board: function only" in reports.load(Comparison, name).render(result).decode(), name
    assert check(compare([run("a", BASE)], [run("b", LATER)]), "VIRTUAL-BOARD").severity == "pass"


def test_kernels_that_keep_another_part_of_the_memory_are_no_difference_of_boards():
    def fitted(total: int) -> dict[str, object]:
        return {"memory": {"total_bytes": total}}

    def differs(one: int, other: int) -> bool:
        result = compare([run("a", BASE, board=fitted(one))], [run("b", LATER, board=fitted(other))])
        row = next(row for row in result.conditions if row.key == "memory")
        return row.a != row.b

    assert not differs(740_773_888, 740_806_656)
    assert not differs(3_970 * 2**20, 4_010 * 2**20)
    assert differs(3_970 * 2**20, 7_900 * 2**20)


@pytest.mark.parametrize(("told", "loads"), [({}, ("none",)), ({"import": {"kind": "histogram"}}, ())])
def test_a_file_that_names_its_kernel_does_not_tell_that_it_ran_without_load(told, loads):
    """Own runs know what load they started; an imported file does not, whatever else stands in it."""
    made = cyclictest(skip_lane({10: 1000, 20: 10}), inventory={"kernel": {"release": "6.1"}}, facts=told)
    result = compare([made], [made])
    assert next(row.a for row in result.conditions if row.key == "load") == loads
