"""The sentence of a comparison, from ladders with numbers set by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rtassay.analysis.many.compare.checks.figures import mean_sd_misleads, not_supported, ratio_of_maxima
from rtassay.analysis.many.compare.checks.recordings import emulated_boards, weak_recordings
from rtassay.analysis.many.compare.words import not_covered, percentile, said, sentence
from rtassay.model.comparison import (
    A_BETTER,
    B_BETTER,
    CROSSES,
    NO_DIFFERENCE,
    REFUSED,
    RUNS_T,
    WITHIN_RUN,
    Comparison,
    Crossover,
    Difference,
    Group,
    QuantileRatio,
    Rarefied,
)
from rtassay.model.findings import CheckResult


def row(q: float, ratio: float | None = 1.0, **changes: Any) -> QuantileRatio:
    blank = QuantileRatio(q, 1, 1, ratio, None, None, "exact", method=RUNS_T)
    return replace(blank, **changes)


def group(name: str, runs: int, title: str | None = None, **changes: Any) -> Group:
    blank = Group(name, title or name, (), 0, None, None, None, None, ())
    return replace(blank, runs=tuple(SimpleNamespace() for _ in range(runs)), **changes)  # type: ignore[misc]


def made(conclusion: str, *rows: QuantileRatio, runs: tuple[int, int] = (3, 3), **changes: Any) -> Comparison:
    a, b = group("A", runs[0], "stock"), group("B", runs[1])
    return replace(Comparison(a, b, rows, None, (), conclusion, "", (), ()), **changes)


@pytest.mark.parametrize(
    ("q", "text"),
    [
        (0.0, "p0"),
        (-1.0, "p0"),
        (0.5, "p50"),
        (0.99, "p99"),
        (0.999, "p99.9"),
        (0.9999, "p99.99"),
        (0.99999, "p99.999"),
        (0.123, "p12.3"),
        (1 - 1e-9, "p99.9999999"),
        (1 - 2.5e-7, "p99.999975"),
    ],
)
def test_percentiles(q: float, text: str) -> None:
    assert percentile(q) == text


def test_the_better_group_is_named_with_the_factor_of_the_worse_one() -> None:
    first = row(0.999, 2.0, shown=A_BETTER)
    assert sentence(made(A_BETTER, row(0.5), first, runs=(3, 1))) == (
        "3 runs of stock (A) against 1 run of B: "
        "stock (A) has the lower latency at p99.9, the step named beforehand; B is 2 times as late there."
    )
    better = made(
        B_BETTER, row(0.99, 0.5, shown=B_BETTER), row(0.999, 0.25, shown=B_BETTER), row(0.9999, 0.2, shown=B_BETTER)
    )
    assert said(better) == (
        "B has the lower latency at p99.9, the step named beforehand; stock (A) is 4 times as late there"
        "; also at p99 to p99.99, up to 5 times (p99.99)."
    )
    bound = made(A_BETTER, row(0.999, None, lo=3.0, shown=A_BETTER), row(0.9999, None, hi=0.1, lo=0.0, shown=A_BETTER))
    assert "3 times as late there; also at p99.99, up to 10 times" in said(bound)
    assert "1 times as late" in said(made(A_BETTER, row(0.999, None, shown=A_BETTER)))


def test_a_single_run_tells_runs_apart_and_not_kinds() -> None:
    alone = row(0.999, 2.0, shown=A_BETTER, method=WITHIN_RUN)
    assert said(made(A_BETTER, alone, runs=(1, 3))).endswith("so it does not yet tell the kinds apart.")
    assert said(made(A_BETTER, alone, runs=(3, 3))).endswith("late there.")
    assert said(made(A_BETTER, row(0.999, 2.0, shown=A_BETTER), runs=(1, 3))).endswith("late there.")


def test_no_difference_names_what_would_have_shown() -> None:
    begin = "no difference shown at p99.9, the step named beforehand"
    assert (
        said(made(NO_DIFFERENCE, row(0.999, detectable=1.25)))
        == f"{begin}; only differences above 25 % would have shown."
    )
    assert said(made(NO_DIFFERENCE, row(0.999, detectable=1.99))).endswith("above 99 % would have shown.")
    assert said(made(NO_DIFFERENCE, row(0.999, detectable=2.0))).endswith("above a factor of 2 would have shown.")
    assert said(made(NO_DIFFERENCE, row(0.999))) == f"{begin}, and the data could not show one."
    beyond = "no difference shown: the samples do not reach p99.9, the step named beforehand (--at)."
    assert said(made(NO_DIFFERENCE, row(0.5))) == said(made(NO_DIFFERENCE, row(0.999, method=None))) == beyond
    two = "no difference shown: two runs do not tell how runs of their kind differ; it takes 3 of each or more."
    assert said(made(NO_DIFFERENCE, row(0.999, detectable=2.0), runs=(2, 5))) == two
    assert said(made(NO_DIFFERENCE, row(0.999, detectable=2.0, method=WITHIN_RUN), runs=(2, 2))).startswith(begin)


def test_what_other_steps_show_is_told_apart() -> None:
    rows = (row(0.5, shown=B_BETTER), row(0.9, shown=A_BETTER), row(0.99, shown=A_BETTER), row(0.999, detectable=2.0))
    assert said(made(NO_DIFFERENCE, *rows)).endswith(
        "would have shown. Elsewhere stock (A) is earlier at p90 to p99 and B is earlier at p50: "
        "to conclude from it, name that step (--at) and compare new runs."
    )


def test_groups_that_cross() -> None:
    rows = (row(0.5, shown=A_BETTER), row(0.9, shown=A_BETTER), row(0.99), row(0.999, shown=B_BETTER))
    early = (row(0.5, shown=B_BETTER), row(0.9, shown=A_BETTER), row(0.99, shown=A_BETTER))
    assert said(made(CROSSES, *early)) == "B has the lower latency at p50, stock (A) at p90 to p99."
    turn = Crossover(0.99, 95_000, "b", "a", True)
    text = "stock (A) has the lower latency at p50 to p90, B at p99.9"
    assert said(made(CROSSES, *rows)) == f"{text}."
    assert said(made(CROSSES, *rows, crossover=replace(turn, shown=False))) == f"{text}."
    assert said(made(CROSSES, *rows, crossover=turn)) == f"{text}; the order changes at p99 (95us, exceeded with 0.01)."


def test_refused_groups_say_why() -> None:
    assert sentence(made(REFUSED, refusals=("one", "other"))) == "Not compared: one; other."


def covered(
    severities: dict[str, str], loads: tuple[tuple[str, ...], tuple[str, ...]], **changes: Any
) -> tuple[str, ...]:
    names = {"ONE-BOOT": "pass"} | severities
    checks = tuple(CheckResult(name, severity, "integrity", "") for name, severity in names.items())
    rows = Difference("os", "os", ("x",), ("x",), "same"), Difference("load", "load", *loads, "same")
    return not_covered(made(NO_DIFFERENCE, checks=checks, conditions=rows, **changes))


def test_what_is_not_covered() -> None:
    always = "other boards, temperatures and settings than these"
    assert covered({}, (("x",), ("x", "y"))) == ("other loads than x, y", always)
    assert covered({}, (("none",), ("none",))) == ("a loaded board: both groups were idle", always)
    assert covered({}, (("none",), ("x",)))[0] == "other loads than none, x"
    unknown = "any load: what ran beside is not known of all recordings"
    assert covered({}, ((), ("x",)))[0] == covered({}, (("x",), ()))[0] == unknown
    assert "other boots" in covered({"ONE-BOOT": "warning"}, (("x",), ("x",)))
    silent = covered({"ONE-BOOT": "unknown", "CO-MISSED": "warning", "VIRTUAL-BOARD": "warning"}, (("x",), ("x",)))
    assert silent[0] == "other boots" and silent[-1] == "what could not be checked (ONE-BOOT)"
    assert silent[-3:-1] == (
        "hardware: the boards were emulated",
        "activations that never ran because the one before was late",
    )
    few = {"FEW-RUNS": "warning"}
    assert covered(few, (("x",), ("x",)), a=group("A", 1))[0] == "how much runs of one kind differ among themselves"
    assert covered(few, (("x",), ("x",)))[0] == "other loads than x"
    ladder = (row(0.99), row(0.999), row(0.9999, bound="lower"))
    assert covered({}, (("x",), ("x",)), quantiles=ladder)[1] == "anything rarer than p99.9"


def weak(a: list[tuple[str, ...]], b: list[tuple[str, ...]]) -> CheckResult:
    sides = [(name, [SimpleNamespace(weak=ids) for ids in runs]) for name, runs in (("A", a), ("B", b))]
    return weak_recordings.run(SimpleNamespace(sides=sides))  # type: ignore[arg-type]


def test_weak_recordings_are_told_by_group() -> None:
    assert weak([()], [(), ()]).severity == "pass"
    both = weak([("X",)], [(), ("X",)])
    assert (both.severity, both.message) == ("note", "the recordings' own checks warn (both: X)")
    one = weak([("X", "Z"), ("Y",)], [("X",)])
    assert (one.severity, one.facts) == ("warning", {"only_a": ["Y", "Z"], "only_b": [], "both": ["X"]})
    assert one.message == "the recordings' own checks warn (only A: Y, Z; both: X)"
    assert weak([()], [("Y",)]).message == "the recordings' own checks warn (only B: Y)"


def test_emulated_boards_are_told_by_group() -> None:
    def board(name: str, *virtual: bool) -> tuple[str, list[Any]]:
        return name, [SimpleNamespace(findings=SimpleNamespace(virtual_board=one)) for one in virtual]

    def looked(*sides: Any) -> CheckResult:
        return emulated_boards.run(SimpleNamespace(sides=sides))  # type: ignore[arg-type]

    assert looked(board("A", False), board("B", False)).severity == "pass"
    assert looked(board("A", False), board("B", False, True)).facts == {"groups": ["B"]}


def misleading(
    a: tuple[float | None, float | None], b: tuple[float | None, float | None], *rows: QuantileRatio
) -> CheckResult:
    groups = [group(name, 3, mean_ns=mean, sd_ns=sd) for name, (mean, sd) in (("A", a), ("B", b))]
    return mean_sd_misleads.run(SimpleNamespace(groups=groups, result=SimpleNamespace(quantiles=rows)))  # type: ignore[arg-type]


def test_mean_and_deviation_that_rank_the_groups_as_the_tail_does_not() -> None:
    tail = (row(0.5, shown=B_BETTER), row(0.999, shown=B_BETTER), row(0.9999, shown=A_BETTER), row(0.99999))
    known = misleading((100.0, 10.0), (200.0, 20.0), *tail)
    assert (known.severity, known.facts["worse_in_the_tail"], known.facts["tail_q"]) == ("pass", "b", 0.9999)
    mean = misleading((200.0, 10.0), (100.0, 20.0), *tail)
    assert mean.severity == "note" and mean.message.startswith("mean ranks B better, at p99.99 it is worse (")
    both = misleading((200.0, 20.0), (100.0, 10.0), *tail)
    assert both.message.startswith("mean and standard deviation rank B better, at p99.99 it is worse (")
    other = misleading((100.0, 10.0), (200.0, 20.0), row(0.999, shown=B_BETTER))
    assert (
        other.message.startswith("mean and standard deviation rank A better")
        and other.facts["worse_in_the_tail"] == "a"
    )
    assert misleading((100.9, 10.0), (100.0, 10.0), *tail).severity == "pass"  # the same to 1 %
    assert misleading((101.1, 10.0), (100.0, 10.0), *tail).severity == "note"
    assert misleading((200.0, None), (100.0, 10.0), *tail).severity == "unknown"
    assert misleading((200.0, 1.0), (None, 10.0), *tail).severity == "unknown"
    assert (
        misleading((200.0, 1.0), (100.0, 10.0), row(0.99, shown=A_BETTER)).message
        == "no difference is shown in the tail"
    )


def maxima(a: tuple[int | None, int], b: tuple[int | None, int], fair: Rarefied | None = None) -> CheckResult:
    groups = [group(name, 3, max_ns=top, n=n) for name, (top, n) in (("A", a), ("B", b))]
    return ratio_of_maxima.run(SimpleNamespace(groups=groups, result=SimpleNamespace(rarefied=fair)))  # type: ignore[arg-type]


def test_maxima_are_told_at_equal_numbers_of_samples() -> None:
    fair = Rarefied(1000, 10, 8, 20, 30, 25, None)
    text = maxima((50, 10_000), (90, 10_000), fair).message
    assert text.endswith(
        "; the maximum of 1,000 samples is 10ns [8ns, 20ns] for A and 30ns [25ns, overflow] for B (median, 95 %)"
    )
    assert "the maximum of" not in maxima((50, 10_000), (90, 10_000)).message


def test_a_step_that_the_samples_do_not_reach_is_named() -> None:
    def reached(*rows: QuantileRatio) -> CheckResult:
        return not_supported.run(SimpleNamespace(result=SimpleNamespace(quantiles=rows)))  # type: ignore[arg-type]

    assert reached(row(0.5), row(0.9)).message == "every step of the ladder has a ratio"
    within = reached(row(0.5, method=WITHIN_RUN), row(0.9, method=WITHIN_RUN))
    assert within.message.endswith("(intervals from within the runs only)")
    assert "only)" not in reached(row(0.5), row(0.9, method=WITHIN_RUN)).message
    assert reached().severity == "unknown"
