"""Effects of a stage, by hand, and its words at their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rtassay.analysis.many.prove import power
from rtassay.analysis.many.prove.judging import judge
from rtassay.model.proving import CANNOT_TELL, GROUPS, HARMS, HELPS, NO_EFFECT, ONE, Arm, Rules, Run, Stage

PAIR = Stage(ONE, (Arm("stock", (), 2), Arm("on", ("a",), 2, "a", "stock", adds=True)), 2, 0.03)


def runs(stock: list[float], on: list[float], **more: float) -> list[Run]:
    """Two of each in a block, as PAIR has them; values are ln of the response."""
    return [
        Run(arm, place // 2, value, recording=f"{arm}{place}", **more)  # type: ignore[arg-type]
        for arm, values in (("stock", stock), ("on", on))
        for place, value in enumerate(values)
    ]


def test_effect_and_interval_are_those_of_the_two_way_analysis() -> None:
    stock, on = [1.00, 1.10, 1.30, 1.20], [0.40, 0.50, 0.62, 0.68]
    answer = judge(PAIR, runs(stock, on), Rules()).of("a")
    assert answer is not None and answer.effect is not None
    means = [np.mean(values) for values in (stock[:2] + on[:2], stock[2:] + on[2:])]
    grand, effects = np.mean(stock + on), {"s": np.mean(stock), "o": np.mean(on)}
    left = [
        value - means[i // 2] - effects[arm] + grand
        for arm, vs in (("s", stock), ("o", on))
        for i, value in enumerate(vs)
    ]
    error = math.sqrt(sum(x * x for x in left) / 5 * (1 / 4 + 1 / 4))
    gap = effects["s"] - effects["o"]
    half = stats.t.ppf(0.975, 5) * error
    assert answer.effect.freedom == 5
    assert answer.effect.ratio == pytest.approx(math.exp(gap))
    assert (answer.effect.lo, answer.effect.hi) == pytest.approx((math.exp(gap - half), math.exp(gap + half)))
    assert answer.effect.p == pytest.approx(2 * stats.t.sf(gap / error, 5))
    assert answer.word == HELPS
    assert answer.recordings == tuple(f"{arm}{i}" for arm in ("on", "stock") for i in range(4))


def test_a_setting_that_makes_it_later_harms() -> None:
    answer = judge(PAIR, runs([1.0, 1.05, 1.0, 1.02], [1.5, 1.55, 1.6, 1.52]), Rules()).of("a")
    assert answer is not None and answer.word == HARMS and answer.effect is not None and answer.effect.hi < 1


def test_no_effect_says_above_what_and_too_much_scatter_says_how_many_more_runs() -> None:
    quiet = judge(PAIR, runs([1.00, 1.05, 1.02, 0.98], [1.01, 1.03, 0.99, 1.04]), Rules()).of("a")
    assert quiet is not None and quiet.word == NO_EFFECT and quiet.effect is not None and quiet.at_most is not None
    assert quiet.at_most == pytest.approx(max(quiet.effect.hi, 1 / quiet.effect.lo) - 1)
    wild = judge(PAIR, runs([0.0, 3.0, 1.0, 2.0], [0.5, 2.5, 3.0, 0.2]), Rules()).of("a")
    assert wild is not None and wild.word == CANNOT_TELL and wild.at_most is None and (wild.more_runs or 0) > 8


def test_an_effect_that_is_sure_but_of_no_use_does_not_help() -> None:
    answer = judge(PAIR, runs([1.000, 1.001, 1.000, 1.001], [0.980, 0.981, 0.980, 0.981]), Rules()).of("a")
    assert answer is not None and answer.effect is not None and answer.effect.p < 1e-6
    assert answer.word == NO_EFFECT and answer.at_most is not None and answer.at_most < 0.05


def test_equal_values_of_a_coarse_clock_are_no_certainty() -> None:
    found = judge(PAIR, runs([1.0] * 4, [0.9] * 4, resolution=0.2), Rules())
    answer = found.of("a")
    assert found.sd == pytest.approx(0.2 / math.sqrt(12))
    assert answer is not None and answer.effect is not None and answer.effect.lo < 1 < answer.effect.hi


def test_an_arm_without_runs_cannot_be_told() -> None:
    answer = judge(PAIR, runs([1.0, 1.1, 1.0, 1.1], []), Rules()).of("a")
    assert answer is not None and (answer.word, answer.effect) == (CANNOT_TELL, None)
    answer = judge(PAIR, [], Rules()).of("a")
    assert answer is not None and answer.word == CANNOT_TELL and answer.more_runs == 4


def test_a_run_that_is_missing_costs_certainty_and_nothing_else() -> None:
    stock, on = [1.00, 1.10, 1.30, 1.20], [0.40, 0.50, 0.62, 0.68]
    whole = judge(PAIR, runs(stock, on), Rules()).of("a")
    less = judge(PAIR, runs(stock, on)[:-1], Rules()).of("a")
    assert whole is not None and less is not None and whole.effect is not None and less.effect is not None
    assert less.word == HELPS and less.effect.freedom == 4
    assert less.effect.hi / less.effect.lo > whole.effect.hi / whole.effect.lo


def test_holm_over_the_questions_of_a_stage() -> None:
    arms = (Arm("all", (), 2), *(Arm(f"without {name}", (), 1, name, "all") for name in "abc"))
    random = np.random.default_rng(3)
    values = {"all": 0.0, "without a": 0.5, "without b": 0.0, "without c": -0.8}
    made = [
        Run(arm.name, block, values[arm.name] + 0.03 * random.standard_normal())
        for block in range(2)
        for arm in arms
        for _ in range(arm.runs)
    ]
    found = judge(Stage(GROUPS, arms, 2, 0.03), made, Rules())
    effects = {answer.asks: answer.effect for answer in found.answers}
    assert [answer.word for answer in found.answers] == [HELPS, NO_EFFECT, HARMS]
    ranked = sorted((effect for effect in effects.values() if effect is not None), key=lambda effect: effect.p)
    assert ranked[0].p_holm == pytest.approx(3 * ranked[0].p)
    assert ranked[1].p_holm == pytest.approx(max(3 * ranked[0].p, 2 * ranked[1].p))


def test_d_star_is_shown_only_where_every_run_has_one() -> None:
    stock, on = [1.00, 1.10, 1.30, 1.20], [0.40, 0.50, 0.62, 0.68]
    made = runs(stock, on)
    assert judge(PAIR, made, Rules()).answers[0].star is None
    with_star = [Run(run.arm, run.block, run.response, star=2 * run.response) for run in made]
    star = judge(PAIR, with_star, Rules()).answers[0].star
    assert star is not None and star.ratio == pytest.approx(math.exp(2 * (np.mean(stock) - np.mean(on))))


@pytest.mark.parametrize("freedom", [5, 11, 40])
def test_the_smallest_effect_is_found_with_the_power_it_says(freedom: int) -> None:
    effect = power.smallest(0.1, freedom, 0.7, 0.01, 0.9)
    limit = stats.t.ppf(1 - 0.01 / 2, freedom)
    assert stats.nct.sf(limit, freedom, effect / 0.07) == pytest.approx(0.9, abs=1e-3)


def test_so_many_more_runs_are_enough() -> None:
    more = power.more_runs(0.2, math.log(1.2), 0.03, 0.9, had=8)
    half = (more + 8) // 2
    assert power.smallest(0.2, 2 * half - 2, math.sqrt(2 / half), 0.03, 0.9) <= math.log(1.2)
    assert power.smallest(0.2, 2 * (half // 2) - 2, math.sqrt(2 / (half // 2)), 0.03, 0.9) > math.log(1.2)


def test_limits_of_a_scatter_are_those_of_chi_squared() -> None:
    low, high = power.sd_limits(0.1, 3)
    assert (low, high) == pytest.approx([0.1 * math.sqrt(3 / stats.chi2.ppf(q, 3)) for q in (0.9, 0.1)])


def test_three_runs_leave_one_to_tell_the_scatter_and_two_leave_none() -> None:
    stage = Stage(ONE, PAIR.arms, 1, 0.03)
    made = [Run("stock", 0, 1.0), Run("on", 0, 0.5)]
    none = judge(stage, made, Rules())
    assert (none.sd, none.sd_limits, none.smallest, none.runs) == (None, None, None, 2)
    assert none.answers[0].word == CANNOT_TELL and none.answers[0].more_runs == 2
    three = judge(stage, [*made, Run("stock", 0, 1.2)], Rules())
    # 1.0 and 1.2 lie 0.1 from their mean: sqrt(0.02 / 1)
    assert three.sd == pytest.approx(math.sqrt(0.02)) and three.runs == 3
    assert three.sd_limits == pytest.approx(power.sd_limits(math.sqrt(0.02), 1))


@pytest.mark.parametrize(("stock", "other", "more"), [(1, 0, 3), (2, 5, 2), (3, 0, 1), (4, 0, 1), (9, 0, 1)])
def test_an_answer_takes_four_runs_of_both_arms(stock: int, other: int, more: int) -> None:
    made = [Run("stock", 0, 1.0 + 0.1 * i, recording=f"r{i}") for i in range(stock)]
    made += [Run("another", 0, 2.0, recording="no")] * other
    (answer,) = judge(PAIR, made, Rules()).answers
    assert (answer.word, answer.more_runs) == (CANNOT_TELL, more)
    assert answer.recordings == tuple(f"r{i}" for i in range(stock))


def test_a_stage_without_a_question_shows_the_scatter_alone() -> None:
    stage = Stage("unchanged", (Arm("stock", (), 4),), 1, 0.03)
    found = judge(stage, [Run("stock", 0, value) for value in (1.0, 1.1, 1.2, 1.3)], Rules())
    assert (
        found.answers == () and found.smallest is None and found.sd == pytest.approx(np.std([1, 1.1, 1.2, 1.3], ddof=1))
    )


FOUR = (Arm("without a", (), 1, "a", "all"), Arm("all", (), 2), Arm("without b", (), 1, "b", "all"))


@pytest.mark.parametrize(
    ("stage", "freedom", "error", "questions"),
    [
        (PAIR, 5, math.sqrt((1 / 2 + 1 / 2) / 2), 1),  # 8 runs, 2 arms, 2 blocks
        (Stage(GROUPS, FOUR, 3, 0.03), 12 - 3 - 3 + 1, math.sqrt((1 + 1 / 2) / 3), 2),
        (Stage(ONE, (Arm("on", (), 2, "a", "stock"), Arm("stock", (), 1)), 1, 0.03), 1, math.sqrt(1.5), 1),
    ],
)
def test_the_effect_that_a_stage_shows(stage: Stage, freedom: int, error: float, questions: int) -> None:
    """A two-sided test at the level over the questions finds it with the chance 0.9 (non-central t)."""
    effect = power.of_stage(stage, 0.1, 0.9)
    limit = stats.t.ppf(1 - stage.level / questions / 2, freedom)
    assert stats.nct.sf(limit, freedom, effect / (0.1 * error)) == pytest.approx(0.9, abs=1e-3)


def test_a_stage_without_a_free_run_shows_nothing() -> None:
    arms = (Arm("stock", ()), Arm("on", (), 1, "a", "stock"))
    assert power.of_stage(Stage(ONE, arms, 1, 0.03), 0.1, 0.9) == math.inf
    assert power.of_stage(Stage(ONE, arms[:1], 9, 0.03), 0.1, 0.9) == math.inf


@pytest.mark.parametrize(("sd", "effect", "had"), [(0.2, 0.4, 0), (0.2, 0.4, 8), (0.1, 0.5, 0), (0.1, 0.3, 100)])
def test_how_many_more_runs_an_effect_needs(sd: float, effect: float, had: int) -> None:
    def chance(half: int) -> float:
        limit = stats.t.ppf(1 - 0.03 / 2, 2 * half - 2)
        return float(stats.nct.sf(limit, 2 * half - 2, effect / (sd * math.sqrt(2 / half))))

    enough = next(half for half in range(2, 20) if chance(half) >= 0.9)
    assert power.more_runs(sd, effect, 0.03, 0.9, had) == max(1, 2 * enough - had)


def test_runs_are_counted_for_the_effect_that_was_seen_or_for_the_least_that_is_of_use() -> None:
    wild = runs([0.0, 3.0, 1.0, 2.0], [0.5, 2.5, 3.0, 0.2])
    for threshold in (math.log(1.05), 1.0):
        found = judge(PAIR, wild, Rules(threshold=threshold))
        (answer,) = found.answers
        assert answer.word == CANNOT_TELL and found.sd is not None and answer.effect is not None
        wanted = max(abs(math.log(answer.effect.ratio)), threshold)
        assert answer.more_runs == power.more_runs(found.sd, wanted, 0.03, 0.9, 8)


def test_d_star_of_coarse_values_scatters_as_the_coarsest() -> None:
    made = [Run(run.arm, run.block, run.response, resolution=r, star=run.response) for run, r in zip(runs([1.0] * 4, [0.9] * 4), (0.2, *[0.0] * 7), strict=True)]  # fmt: skip
    (answer,) = judge(PAIR, made, Rules()).answers
    assert answer.star == answer.effect and answer.star is not None and answer.star.lo < 1 < answer.star.hi
    lone = [Run(run.arm, run.block, run.response, star=1.0 if run.arm == "on" else None) for run in made]
    assert judge(PAIR, lone, Rules()).answers[0].star is None


def test_an_arm_that_has_no_run_leaves_the_others_their_answers() -> None:
    stage = Stage(GROUPS, FOUR, 2, 0.03)
    values = {"all": (0.0, 0.02, 0.01, 0.03), "without a": (0.5, 0.52)}
    made = [Run(arm, i % 2, value, star=value) for arm, each in values.items() for i, value in enumerate(each)]
    first, second = judge(stage, made, Rules()).answers
    assert first.word == HELPS and first.effect is not None and first.star is not None
    assert first.effect.p_holm == pytest.approx(2 * first.effect.p), "two questions were asked"
    assert (second.word, second.effect, second.star, second.more_runs) == (CANNOT_TELL, None, None, 1)


def test_a_sure_effect_has_a_p_near_nothing() -> None:
    made = [Run(f"{arm}", i // 2, value, star=value) for arm, centre in (("stock", 300.0), ("on", 0.0)) for i, value in enumerate((centre, centre, centre, centre + 1e-9))]  # fmt: skip
    (answer,) = judge(PAIR, made, Rules()).answers
    assert answer.word == HELPS and answer.star is not None and answer.star.p_holm == answer.star.p < 1e-30


def test_effects_beyond_what_a_float_holds_are_cut() -> None:
    made = runs([2000.0, 2000.5, 2000.2, 2000.1], [0.0, 0.5, 0.2, 0.1])
    (answer,) = judge(PAIR, made, Rules()).answers
    assert answer.effect is not None and answer.effect.ratio == math.exp(700) and answer.word == HELPS
    (harm,) = judge(PAIR, runs([0.0, 0.5, 0.2, 0.1], [2000.0, 2000.5, 2000.2, 2000.1]), Rules()).answers
    assert harm.effect is not None and harm.effect.ratio == math.exp(-700) and harm.word == HARMS
