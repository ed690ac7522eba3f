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
    model = _fit(runs, [run.response for run in runs]) if runs else None
    if model is None:
        return Judged(stage, tuple(_unknown(arm, runs) for arm in questions), len(runs), None, None, None)
    found = _effects(model, questions)
    stars = _stars(runs, questions)
    answers = tuple(
        _unknown(arm, runs) if one is None else _answer(stage, arm, *one, star, runs, model, rules)
        for arm, one, star in zip(questions, found, stars, strict=True)
    )
    shown = power.of_stage(stage, model.sd, rules.power)
    smallest = math.exp(shown) if math.isfinite(shown) else None
    return Judged(stage, answers, len(runs), model.sd, power.sd_limits(model.sd, model.freedom), smallest)


def _fit(runs: Sequence[Run], values: Sequence[float]) -> Fit | None:
    return fit(runs, values, max(run.resolution for run in runs))


def _effects(model: Fit, questions: Sequence[Arm]) -> list[tuple[TTest, Effect] | None]:
    """ln of the latency without what is asked about over that with it, corrected over all questions; None where an arm has no run."""
    tests = [
        model.contrast(arm.against, arm.name) if arm.adds else model.contrast(arm.name, arm.against)
        for arm in questions
    ]
    p_values = [None if test is None else test.p_value(abs(test.difference)) for test in tests]
    return [
        None if test is None else (test, _effect(test, p or 0.0, p_holm or 0.0))
        for test, p, p_holm in zip(tests, p_values, holm(p_values, len(questions)), strict=True)
    ]


def _stars(runs: Sequence[Run], questions: Sequence[Arm]) -> list[Effect | None]:
    """The same effects on D*, where every run has one."""
    values = [run.star for run in runs if run.star is not None]
    model = _fit(runs, values) if len(values) == len(runs) else None
    if model is None:
        return [None] * len(questions)
    return [None if one is None else one[1] for one in _effects(model, questions)]


def _effect(test: TTest, p: float, p_holm: float) -> Effect:
    half = test.half_width()
    ends = (test.difference, test.difference - half, test.difference + half)
    ratio, low, high = (math.exp(max(-700.0, min(700.0, end))) for end in ends)
    return Effect(ratio, low, high, p, p_holm, int(test.freedom))


def _recordings(arm: Arm, runs: Sequence[Run]) -> tuple[str, ...]:
    """Of the arm, then of its reference."""
    return tuple(run.recording for name in (arm.name, arm.against) for run in runs if run.arm == name and run.recording)


def _had(arm: Arm, runs: Sequence[Run]) -> int:
    return sum(run.arm in (arm.name, arm.against) for run in runs)


def _unknown(arm: Arm, runs: Sequence[Run]) -> Answer:
    more = max(1, 4 - _had(arm, runs))
    return Answer(arm.asks, CANNOT_TELL, None, more_runs=more, recordings=_recordings(arm, runs))


def _answer(
    stage: Stage,
    arm: Arm,
    test: TTest,
    effect: Effect,
    star: Effect | None,
    runs: Sequence[Run],
    model: Fit,
    rules: Rules,
) -> Answer:
    ids, size = _recordings(arm, runs), abs(test.difference)
    outer = size + test.half_width()
    if effect.p_holm <= stage.level and size >= rules.threshold:
        return Answer(arm.asks, HELPS if test.difference > 0 else HARMS, effect, star, recordings=ids)
    each = stage.level / sum(bool(other.against) for other in stage.arms)
    shown = power.smallest(1.0, model.freedom, test.error, each, rules.power)
    if outer <= max(rules.threshold, min(shown, TWO)):
        return Answer(arm.asks, NO_EFFECT, effect, star, at_most=math.expm1(outer), recordings=ids)
    wanted = max(size, rules.threshold)
    more = power.more_runs(model.sd, wanted, each, rules.power, _had(arm, runs))
    return Answer(arm.asks, CANNOT_TELL, effect, star, more_runs=more, recordings=ids)
