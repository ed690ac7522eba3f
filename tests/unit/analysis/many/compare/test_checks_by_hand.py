"""Each check of a comparison at its bounds, with the whole text of what it says, from groups made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rtassay.analysis.many.compare.checks import confounds, figures, recordings, replication
from rtassay.model.comparison import (
    A_BETTER,
    B_BETTER,
    RUNS_T,
    WITHIN_RUN,
    BootVariance,
    Difference,
    QuantileRatio,
    Rarefied,
)
from rtassay.model.findings import CheckResult


def pair(a: list[Any], b: list[Any], groups: Any = None, **result: Any) -> Any:
    return SimpleNamespace(
        sides=(("A", a), ("B", b)), a=tuple(a), b=tuple(b), groups=groups, result=SimpleNamespace(**result)
    )


def some(count: int = 1, **of_each: Any) -> list[Any]:
    return [SimpleNamespace(**of_each) for _ in range(count)]


def told(found: CheckResult) -> tuple[str, str]:
    return found.severity, found.message


# confounds


def begun(a: list[str | None], b: list[str | None]) -> CheckResult:
    sides = ([SimpleNamespace(started=at and f"2026-11-{at}T08:00:00Z") for at in side] for side in (a, b))
    return confounds.order_confound.run(pair(*sides))


@pytest.mark.parametrize(
    ("a", "b", "first"),
    [
        (["02", "03"], ["01", "04"], None),
        (["01", "04"], ["02", "03"], None),
        (["02", "01"], ["04", "03"], "A"),
        (["04", "03"], ["02", "01"], "B"),
        (["02", "01"], ["02", "03"], None),
    ],
)
def test_one_group_before_the_other(a: list[str | None], b: list[str | None], first: str | None) -> None:
    found = begun(a, b)
    if first is None:
        assert told(found) == ("pass", "the runs of both groups are interleaved")
    else:
        assert (found.severity, found.facts) == ("warning", {"first": first})
        assert found.message == (
            f"all of {first} was measured before the other group: a drift in the meantime (heat, load, updates) looks like the factor; "
            "interleave the runs"
        )


def test_a_time_that_is_not_known_leaves_the_order_open() -> None:
    for a, b in ((["01", None], ["02"]), (["02"], [None, "01"]), ([None], [None])):
        assert told(begun(a, b)) == ("unknown", "when the recordings were taken is not known")
    assert begun(["01"], ["02", "03"]).severity == begun(["01", "02"], ["03"]).severity == "warning"
    assert begun(["01"], ["02"]).severity == "note"


def row(key: str, a: tuple[str, ...], b: tuple[str, ...], kind: str, detail: str = "", name: str = "") -> Difference:
    return Difference(key, name or key, a, b, kind, detail)


def confounded(*rows: Difference, factor: tuple[str, ...] = ("kernel",)) -> CheckResult:
    return confounds.ab_confound.run(pair([], [], conditions=rows, factor=factor))


KERNEL = row("kernel.release", ("6.1",), ("6.2",), "factor")
OS = row("os", ("a",), ("b",), "confound", name="operating system")


def test_conditions_that_differ_beyond_the_factor() -> None:
    one = confounded(KERNEL, OS)
    assert told(one) == ("warning", "1 condition differs beyond the factor (kernel): operating system: a / b")
    fact = {"key": "os", "name": "operating system", "a": ["a"], "b": ["b"], "detail": ""}
    assert one.facts == {"factor": ["kernel"], "differences": [fact], "varying": [], "not_known": []}
    varying, alike = row("model", ("x", "y"), ("x",), "varies"), row("desktop", ("x", "y"), ("y", "x"), "varies")
    two = confounded(KERNEL, varying, alike, OS)
    assert two.message == "2 conditions differ beyond the factor (kernel): operating system: a / b; model: x, y / x"
    assert [fact["key"] for fact in two.facts["varying"]] == ["model"]
    nameless = confounded(OS, factor=())
    assert nameless.message == "1 condition differs between the groups: operating system: a / b"
    both = confounded(KERNEL, OS, factor=("kernel", "load"))
    assert "beyond the factor (kernel, load): " in both.message


def test_six_differences_are_shown() -> None:
    rows = [row(f"c{i}", ("a",), ("b",), "confound") for i in range(8)]
    shown = "; ".join(f"c{i}: a / b" for i in range(6))
    assert confounded(*rows[:6]).message == f"6 conditions differ beyond the factor (kernel): {shown}"
    assert confounded(*rows[:7]).message == f"7 conditions differ beyond the factor (kernel): {shown} and 1 more"
    assert confounded(*rows).message.endswith(" and 2 more")


def test_where_nothing_differs_beyond_the_factor() -> None:
    blind = row("load", (), ("x",), "unknown")
    none = "nothing that is known of the recordings tells the groups apart: label them (--label kernel=rt)"
    assert told(confounded()) == ("unknown", none)
    assert told(confounded(blind)) == ("unknown", f"{none}; not known: load")
    beyond = "nothing known differs beyond the factor (kernel)"
    assert told(confounded(KERNEL)) == ("pass", beyond)
    assert told(confounded(KERNEL, blind)) == ("unknown", f"{beyond}, but these are not known: load")
    assert confounded(KERNEL, blind).facts["not_known"] == ["load"]
    assert told(confounded(KERNEL, row("os", (), (), "unknown"))) == ("pass", beyond)


def test_a_difference_in_words() -> None:
    words = confounds.difference_words
    assert (
        words(row("cmdline", ("quiet",), ("splash",), "confound", "only A: quiet", "command line"))
        == "command line (only A: quiet)"
    )
    assert words(row("cmdline", ("quiet",), ("splash",), "varies")) == "cmdline: quiet / splash"
    assert words(row("os", ("a", "b"), ("c",), "varies", "so")) == "os: a, b / c (so)"
    same = "stress-ng --cpu 2 --cache 2 --timer 2 --fork 2 --sem 2 --msg 2 "
    apart = words(row("load.command", (f"{same}--vm-bytes 51047k",), (f"{same}--vm-bytes 56523k",), "confound"))
    assert apart == "load.command: ... 51047k / ... 56523k"
    assert words(row("os", ("x" * 60,), ("y" * 61,), "confound")) == f"os: {'x' * 60} / {'y' * 57}..."


def test_of_zones_that_differ_alike_the_first_is_told() -> None:
    a, b = some(zones={"z": 40.126, "a": 30.0, "m": 5.0}), some(zones={"m": 5.0, "a": 40.0, "z": 50.126})
    found = confounds.temp_confound.run(pair(a, b))
    assert found.facts == {"zone": "a", "a_mean_c": 30.0, "b_mean_c": 40.0}
    exact = confounds.temp_confound.run(pair(some(zones={"z": 40.126}), some(zones={"z": 41.0})))
    assert exact.facts == {"zone": "z", "a_mean_c": 40.13, "b_mean_c": 41.0}
    unknown = confounds.temp_confound.run(pair(some(zones={}), some(zones={"a": 1.0})))
    assert told(unknown) == ("unknown", "the temperature of the boards was not recorded in all runs")


def test_lanes_are_told_in_order() -> None:
    names = ("CPU0", "CPU3", "CPU1", "CPU2"), ("CPU7", "CPU5", "CPU6", "CPU8")
    groups = [SimpleNamespace(lanes=side) for side in names]
    found = confounds.lanes_differ.run(pair(some(lane_count=4), some(lane_count=4), groups))
    assert found.facts == {"only_a": sorted(names[0]), "only_b": sorted(names[1])}
    assert told(found) == (
        "warning",
        "A has lanes CPU0, CPU1, CPU2, CPU3; B has CPU5, CPU6, CPU7, CPU8: pooled numbers weigh the CPUs differently",
    )
    alike = [SimpleNamespace(lanes=names[0])] * 2
    part = confounds.lanes_differ.run(pair(some(lane_count=4), some(lane_count=3), alike))
    assert part.message == "the runs do not all have the same lanes: pooled numbers weigh the CPUs differently"


# figures


def test_missed_activations() -> None:
    def looked(a: list[Any], b: list[Any]) -> CheckResult:
        return figures.missed.run(pair(a, b))

    none, some_ = some(missed=0, stalled=False), some(2, missed=600, stalled=True)
    assert told(looked(none, none)) == ("pass", "no activation was missed")
    found = looked(none, some_)
    assert (found.severity, found.facts) == ("warning", {"a_missed": 0, "b_missed": 1200})
    assert found.message == (
        "missed activations: A 0, B 1,200; the ladder is per wake-up, and a wake-up that stands for many understates how often it was late"
    )
    assert looked(some_, none).facts == {"a_missed": 1200, "b_missed": 0}
    blind, late = some(missed=None, stalled=False), some(missed=None, stalled=True)
    silent = "the source does not count missed activations; no latency is known to reach the interval"
    assert told(looked(blind, none)) == told(looked(none, blind)) == ("unknown", silent)
    part = looked([*blind, *late], late)
    assert part.facts == {"late": ["A", "B"]} and part.severity == "warning"
    assert looked(blind, [*late, *blind]).message == (
        "latencies of B reach the interval, and the source does not count what it missed: its tail is understated"
    )


def step(q: float, shown: str | None = None, bound: str = "exact", method: str | None = RUNS_T) -> QuantileRatio:
    return QuantileRatio(q, 1, 1, 1.0, None, None, bound, method=method, shown=shown)


def test_steps_without_a_ratio() -> None:
    def looked(*rows: QuantileRatio) -> CheckResult:
        return figures.not_supported.run(pair([], [], quantiles=rows))

    weak = looked(step(0.5), step(0.99999, bound="at_least"), step(0.9999, bound="at_least"))
    assert (weak.severity, weak.facts) == ("note", {"from_q": 0.9999})
    assert weak.message == "from p99.99 on, a run holds too few samples, or they lie in overflow: no ratio there"
    assert told(looked()) == ("unknown", "no step could be compared")
    assert told(looked(step(0.5))) == ("pass", "every step of the ladder has a ratio")
    within = looked(step(0.5, method=WITHIN_RUN))
    assert told(within) == ("pass", "every step of the ladder has a ratio (intervals from within the runs only)")


def test_what_maxima_say() -> None:
    def looked(a: tuple[int, int | None], b: tuple[int, int | None], fair: Rarefied | None = None) -> CheckResult:
        groups = [SimpleNamespace(n=n, max_ns=top) for n, top in (a, b)]
        return figures.ratio_of_maxima.run(pair([], [], groups, rarefied=fair))

    equal = looked((1000, 5000), (1000, 9000))
    assert told(equal) == (
        "note", "maxima 5us (A, 1,000 samples) and 9us (B, 1,000): two single samples, so without an error bar",
    )  # fmt: skip
    assert equal.facts == {"a_n": 1000, "b_n": 1000, "a_max_ns": 5000, "b_max_ns": 9000}
    fair = looked((1000, 5000), (9000, 9000), Rarefied(100, 10, 8, None, 30, 25, 40))
    assert told(fair) == (
        "warning",
        "maxima 5us (A, 1,000 samples) and 9us (B, 9,000): of unequal numbers of samples, so not comparable; "
        "the maximum of 100 samples is 10ns [8ns, overflow] for A and 30ns [25ns, 40ns] for B (median, 95 %)",
    )
    assert fair.facts["rarefied_n"] == 100
    for a, b in (((1000, None), (1000, 5)), ((1000, 5), (1000, None))):
        assert told(looked(a, b)) == ("unknown", "a maximum is not known: samples lie beyond the last bin")
    assert looked((9900, 1), (10000, 1)).severity == "note" and looked((9899, 1), (10000, 1)).severity == "warning"


def test_what_mean_and_deviation_say() -> None:
    def looked(a: tuple[Any, Any], b: tuple[Any, Any], *rows: QuantileRatio) -> CheckResult:
        groups = [SimpleNamespace(mean_ns=mean, sd_ns=sd) for mean, sd in (a, b)]
        return figures.mean_sd_misleads.run(pair([], [], groups, quantiles=rows))

    later = (step(0.99, B_BETTER), step(0.999, A_BETTER))
    numbers = "(mean 2us and 1us, sd 200ns and 300ns)"
    found = looked((2000.0, 200.0), (1000.0, 300.0), *later)
    assert told(found) == ("note", f"mean ranks B better, at p99.9 it is worse {numbers}")
    assert found.facts == {
        "mean_ns": [2000.0, 1000.0],
        "sd_ns": [200.0, 300.0],
        "tail_q": 0.999,
        "worse_in_the_tail": "b",
    }
    sound = looked((2000.0, 200.0), (1000.0, 300.0), step(0.999, B_BETTER))
    assert told(sound) == ("note", f"standard deviation ranks A better, at p99.9 it is worse {numbers}")
    agreed = looked((1000.0, 200.0), (2000.0, 300.0), *later)
    assert told(agreed) == (
        "pass",
        "mean and sd rank the groups as the tail does (mean 1us and 2us, sd 200ns and 300ns)",
    )
    assert agreed.facts["worse_in_the_tail"] == "b"
    assert looked((1010.0, 1.0), (1000.0, 1.0), *later).severity == "pass", "1 % of the larger one is 10.1"
    assert looked((1010.2, 1.0), (1000.0, 1.0), *later).severity == "note"
    for a, b in (
        ((None, 1.0), (1.0, 1.0)),
        ((1.0, None), (1.0, 1.0)),
        ((1.0, 1.0), (None, 1.0)),
        ((1.0, 1.0), (1.0, None)),
    ):
        assert told(looked(a, b, *later)) == (
            "unknown",
            "mean and standard deviation are not known: samples lie beyond the last bin",
        )
    assert told(looked((1.0, 1.0), (1.0, 1.0), step(0.99, A_BETTER))) == ("pass", "no difference is shown in the tail")


# recordings


def test_recordings_that_are_no_measurement() -> None:
    def looked(*invalid: tuple[str, ...]) -> CheckResult:
        runs = [SimpleNamespace(id=f"r{i}", invalid=ids) for i, ids in enumerate(invalid)]
        return recordings.invalid_recording.run(pair(runs[:1], runs[1:]))

    assert told(looked((), ())) == ("pass", "no recording is an invalid measurement")
    one = looked((), ("X", "Y"))
    assert told(one) == ("invalid", "r1 is no valid measurement (X, Y): nothing is concluded")
    assert one.facts == {"recordings": {"r1": ["X", "Y"]}}
    assert looked(("Z",), ("X",), ("Y",)).message == "r0 and 2 more is no valid measurement (Z): nothing is concluded"


def test_recordings_without_a_sample() -> None:
    def looked(*counts: int) -> CheckResult:
        runs = [SimpleNamespace(id=f"r{i}", pooled=SimpleNamespace(n=n)) for i, n in enumerate(counts)]
        return recordings.no_samples.run(pair(runs[:1], runs[1:]))

    assert told(looked(1, 1)) == ("pass", "every recording holds samples")
    assert told(looked(1, 0, 0)) == ("invalid", "r1, r2 hold no sample")
    five = looked(0, 0, 0, 0, 0)
    assert five.message == "r0, r1, r2, r3 hold no sample" and five.facts["recordings"] == [f"r{i}" for i in range(5)]


class Copy(SimpleNamespace):
    def same_as(self, other: Any) -> bool:
        return bool(self.of == other.of)


def test_copies() -> None:
    def looked(a: list[tuple[str, str, int]], b: list[tuple[str, str, int]]) -> CheckResult:
        return recordings.duplicate_result.run(
            pair(*([Copy(id=name, of=of, pooled=SimpleNamespace(n=n)) for name, of, n in side] for side in (a, b)))
        )

    assert told(looked([("r", "x", 1)], [("s", "y", 1)])) == ("pass", "no two recordings are the same")
    assert looked([("r", "x", 0)], [("s", "x", 0)]).severity == "pass", "empty ones are alike"
    copied = looked([("r", "x", 1)], [("s", "x", 1)])
    assert told(copied) == ("warning", "r and s are identical to the last count: one is a copy of the other")
    assert copied.facts == {"pairs": [["r", "s"]]}
    assert looked([("r", "x", 1)], [("r", "x", 1)]).message == "r is in both groups"
    three = looked([("r", "x", 1), ("s", "x", 1)], [("t", "x", 1)])
    assert three.message == "r and s are identical to the last count (and 2 more pairs): one is a copy of the other"
    many = looked([(f"r{i}", "x", 1) for i in range(7)], [("t", "y", 1)])
    assert len(many.facts["pairs"]) == 20 and "(and 20 more pairs)" in many.message


def test_groups_that_measure_unlike_things(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(unlike: Any) -> CheckResult:
        monkeypatch.setattr(recordings.refusal, "unlike_measures", lambda a, b: unlike)
        return recordings.measure_differs.run(pair([], []))

    assert told(looked(None)) == ("pass", "both groups measure the same thing")
    found = looked((("wake-up",), ("noise", "response:futex")))
    assert found.severity == "invalid" and found.facts == {"a": ["wake-up"], "b": ["noise", "response:futex"]}
    assert found.message.startswith("A holds wake-up") and found.message.endswith(
        "response by futex: unlike measures are not compared"
    )


def test_emulated_boards() -> None:
    def looked(a: list[bool], b: list[bool]) -> CheckResult:
        sides = ([SimpleNamespace(findings=SimpleNamespace(virtual_board=one)) for one in side] for side in (a, b))
        return recordings.emulated_boards.run(pair(*sides))

    assert told(looked([False], [False])) == ("pass", "no recording is of an emulated board")
    both = looked([True], [False, True])
    assert both.facts == {"groups": ["A", "B"]}
    assert both.message.endswith(": A and B ran on emulated CPUs, so a difference says nothing of hardware")


# replication


def test_single_runs() -> None:
    def looked(a: int, b: int) -> CheckResult:
        return replication.single_run.run(pair(some(a), some(b)))

    assert told(looked(2, 2)) == ("pass", "both groups hold several runs")
    for a, b, named, groups in ((1, 2, "A", ["A"]), (2, 1, "B", ["B"]), (1, 1, "A and of B", ["A", "B"])):
        found = looked(a, b)
        assert (found.severity, found.facts) == ("warning", {"groups": groups})
        assert found.message == (
            f"one run of {named}: how much runs of one kind differ among themselves is not known, so the intervals tell "
            "these runs apart, not what they stand for"
        )


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (1, 3, "A has 1 run, B 3 runs: no permutation test: it needs 4 runs of each to reach p = 0.05"),
        (3, 3, "A has 3 runs, B 3 runs: no permutation test: it needs 4 runs of each to reach p = 0.05"),
        (4, 4, "A has 4 runs, B 4 runs: the smallest p an exchange of runs can give is 0.029"),
        (39, 1, "A has 39 runs, B 1 run: the smallest p an exchange of runs can give is 0.05"),
    ],
)
def test_few_runs(a: int, b: int, words: str) -> None:
    found = replication.few_runs.run(pair(some(a), some(b)))
    assert told(found) == ("warning", f"{words}; 5 of each are the least for a sound answer")
    assert (found.facts["a_runs"], found.facts["b_runs"], found.facts["needed_per_group"]) == (a, b, 4)
    enough = replication.few_runs.run(pair(some(5), some(6)))
    assert told(enough) == ("pass", "5 and 6 runs; the smallest p an exchange of runs can give is 0.0043")


def test_boots() -> None:
    def looked(a: list[str | None], b: list[str | None]) -> CheckResult:
        return replication.one_boot.run(pair(*([SimpleNamespace(boot=boot) for boot in side] for side in (a, b))))

    tail = "what a boot decides by chance (addresses, order of drivers) is not averaged out"
    one = looked(["x", "x"], ["y", "z"])
    assert told(one) == ("warning", f"all runs of A are of one boot: {tail}") and one.facts == {
        "a_boots": 1,
        "b_boots": 2,
    }
    both = looked(["x", "x"], ["y"])
    assert told(both) == ("warning", f"all runs of A and B are of one boot each: {tail}")
    assert told(looked(["x"], ["y"])) == ("note", f"all runs of A and B are of one boot each: {tail}")
    assert told(looked(["x"], ["y", "z"])) == ("note", f"all runs of A are of one boot: {tail}")
    assert told(looked([None], [None, "z"])) == ("note", f"all runs of A are of one boot: {tail}")
    blind = looked(["x", None], [None, None])
    assert told(blind) == ("unknown", "which boot the runs of A and B are of is not known")
    assert blind.facts == {"a_boots": None, "b_boots": None}
    assert told(looked(["x", "y"], ["y", "z"])) == ("pass", "each group spans several boots")


def test_boot_lottery() -> None:
    def variance(icc: float, lo: float) -> tuple[BootVariance, ...]:
        return tuple(BootVariance(q, 4, 12, 0.25, 0.125, share, lo, 0.9) for q, share in ((0.5, 0.99), (0.9999, icc)))

    def looked(a: tuple[BootVariance, ...], b: tuple[BootVariance, ...]) -> CheckResult:
        groups = [SimpleNamespace(name=name, boot_variance=rows) for name, rows in (("A", a), ("B", b))]
        return replication.boot_lottery.run(pair([], [], groups))

    assert told(looked((), ())) == ("unknown", "it takes 2 boots with 2 runs each to tell boots from runs")
    text = "at p99.99 {}% [{}%, 90%] of the variance of the runs of {} is that of its 4 boots (sd of ln 0.250 between boots, 0.125 within)"
    assert told(looked(variance(0.3, 0.1), ())) == ("pass", text.format(30, 10, "A"))
    sure = looked(variance(0.31, 0.1), variance(0.5, 0.2))
    assert told(sure) == (
        "warning",
        f"boot lottery: {text.format(50, 20, 'B')}; more boots are needed, not longer runs",
    )
    assert set(sure.facts) == {"a", "b"} and sure.facts["b"][1]["icc"] == 0.5
    perhaps = looked(variance(0.5, 0.0), ())
    assert told(perhaps) == ("note", f"{text.format(50, 0, 'A')}: perhaps a boot lottery; more boots would tell")


# two tools


def step_of(q: float, a_ns: int, b_ns: int | None) -> QuantileRatio:
    ratio = None if b_ns is None else b_ns / a_ns
    return QuantileRatio(q, a_ns, b_ns, ratio, None, None, "exact" if ratio else "at_least")


def tools(a: str, b: str, *steps: QuantileRatio, width_ns: int = 1_000) -> CheckResult:
    made = pair(
        [SimpleNamespace(tool=name) for name in a.split()],
        [SimpleNamespace(tool=name) for name in b.split()],
        quantiles=steps,
        primary_q=0.999,
        bin_width_ns=width_ns,
    )
    return figures.cross_tool.run(made)


def test_two_tools_more_than_a_factor_of_two_apart_are_told() -> None:
    found = tools("rtprobe rtprobe", "cyclictest", step_of(0.5, 5_000, 9_000), step_of(0.999, 30_000, 12_000))
    assert told(found) == (
        "warning",
        "rtprobe (A) and cyclictest (B) differ by a factor of 2.5 at p99.9 (30us and 12us): part of it, or all, may be the tools",
    )
    assert found.facts == {
        "a": ["rtprobe"],
        "b": ["cyclictest"],
        "q": 0.999,
        "factor": 2.5,
        "a_ns": 30_000,
        "b_ns": 12_000,
    }


@pytest.mark.parametrize(
    ("b_ns", "severity"), [(4_000, "pass"), (10_000, "pass"), (10_001, "warning"), (2_500, "pass"), (2_499, "warning")]
)
def test_a_factor_of_two_is_the_bound(b_ns: int, severity: str) -> None:
    found = tools("rtprobe", "cyclictest", step_of(0.5, 5_000, b_ns), width_ns=1)
    assert found.severity == severity
    if severity == "pass":
        assert found.message == "rtprobe (A) and cyclictest (B) differ by no more than a factor of two up to p99.9"


def test_two_bins_are_no_difference_of_tools_and_nor_is_what_lies_beyond_the_primary_step() -> None:
    assert tools("rtprobe", "cyclictest", step_of(0.5, 1_000, 3_000)).severity == "pass"
    assert tools("rtprobe", "cyclictest", step_of(0.5, 1_000, 3_001)).severity == "warning"
    deep = step_of(0.9999, 30_000, 300_000)
    assert tools("rtprobe", "cyclictest", step_of(0.5, 5_000, 6_000), deep).severity == "pass"
    assert told(tools("rtprobe", "cyclictest", deep)) == (
        "unknown",
        "rtprobe (A) and cyclictest (B) measured the groups, and no step up to p99.9 has a ratio",
    )


def test_one_tool_for_both_groups_says_nothing_of_tools() -> None:
    far = step_of(0.5, 5_000, 50_000)
    assert told(tools("rtprobe", "rtprobe", far)) == ("pass", "the same tool measured both groups")
    assert told(tools("rtprobe cyclictest", "rtprobe", far)) == ("pass", "a tool measured runs of both groups")
