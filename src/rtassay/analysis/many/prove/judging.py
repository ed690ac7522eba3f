"""Answers of one stage: an effect with its interval for each question, Holm over the questions, and one of the words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rtassay.analysis.many.compare.inference import TTest, holm
from rtassay.analysis.many.prove import power
from rtassay.analysis.many.prove.blocks import Fit, fit
from rtassay.model.proving import (
    CANNOT_TELL,
    HARMS,
    HELPS,
    NO_EFFECT,
    TWO,
    Answer,
    Arm,
    Effect,
    Judged,
    Rules,
    Run,
    Stage,
)


def judge(stage: Stage, runs: Sequence[Run], rules: Rules) -> Judged:
    """The stage as far as it was measured: `runs` of other arms than its own are an error of the caller."""
    questions = [arm for arm in stage.arms if arm.against]
    resolution = max((run.resolution for run in runs), default=0.0)
    model = fit(runs, [run.response for run in runs], resolution) if runs else None
    tests = [_test(model, arm) for arm in questions]
    p_values = [None if test is None else test.p_value(abs(test.difference)) for test in tests]
    adjusted = holm(p_values, len(questions))
    stars = _stars(runs, questions)
    answers = tuple(
        _answer(stage, arm, test, p, p_holm, star, runs, model, rules)
        for arm, test, p, p_holm, star in zip(questions, tests, p_values, adjusted, stars, strict=True)
    )
    if model is None:
        return Judged(stage, answers, len(runs), None, None, None)
    shown = power.of_stage(stage, model.sd, rules.power) if questions else math.inf
    smallest = math.exp(shown) if math.isfinite(shown) else None
    return Judged(stage, answers, len(runs), model.sd, power.sd_limits(model.sd, model.freedom), smallest)


def _test(model: Fit | None, arm: Arm) -> TTest | None:
    """ln of the latency without what is asked about over that with it."""
    if model is None:
        return None
    return model.contrast(arm.against, arm.name) if arm.adds else model.contrast(arm.name, arm.against)


def _stars(runs: Sequence[Run], questions: Sequence[Arm]) -> list[Effect | None]:
    """The same effects on D*, where every run has one."""
    values = [run.star for run in runs]
    if not runs or None in values:
        return [None] * len(questions)
    model = fit(runs, [value for value in values if value is not None], max(run.resolution for run in runs))
    tests = [_test(model, arm) for arm in questions]
    p_values = [None if test is None else test.p_value(abs(test.difference)) for test in tests]
    return [
        None if test is None or p is None else _effect(test, p, p_holm or 1.0)
        for test, p, p_holm in zip(tests, p_values, holm(p_values, len(questions)), strict=True)
    ]


def _effect(test: TTest, p: float, p_holm: float) -> Effect:
    half = test.half_width()
    ends = (test.difference, test.difference - half, test.difference + half)
    ratio, low, high = (math.exp(max(-700.0, min(700.0, end))) for end in ends)
    return Effect(ratio, low, high, p, p_holm, int(test.freedom))


def _answer(
    stage: Stage,
    arm: Arm,
    test: TTest | None,
    p: float | None,
    p_holm: float | None,
    star: Effect | None,
    runs: Sequence[Run],
    model: Fit | None,
    rules: Rules,
) -> Answer:
    ids = tuple(run.recording for name in (arm.name, arm.against) for run in runs if run.arm == name and run.recording)
    had = sum(run.arm in (arm.name, arm.against) for run in runs)
    if test is None or model is None or p is None or p_holm is None:
        return Answer(arm.asks, CANNOT_TELL, None, more_runs=max(1, 4 - had), recordings=ids)
    effect, size = _effect(test, p, p_holm), abs(test.difference)
    outer = size + test.half_width()
    if p_holm <= stage.level and size >= rules.threshold:
        return Answer(arm.asks, HELPS if test.difference > 0 else HARMS, effect, star, recordings=ids)
    each = stage.level / sum(bool(other.against) for other in stage.arms)
    shown = power.smallest(1.0, model.freedom, test.error, each, rules.power)
    if outer <= max(rules.threshold, min(shown, TWO)):
        return Answer(arm.asks, NO_EFFECT, effect, star, at_most=math.expm1(outer), recordings=ids)
    wanted = max(size, rules.threshold)
    more = power.more_runs(model.sd, wanted, each, rules.power, had)
    return Answer(arm.asks, CANNOT_TELL, effect, star, more_runs=more, recordings=ids)
