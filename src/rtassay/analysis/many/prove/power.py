"""How small an effect a design shows, and how many runs an effect needs: Student's t with its non-central form."""

from __future__ import annotations

import math

from rtassay.model.proving import Stage

_MOST_RUNS = 100_000


def smallest(sd: float, freedom: int, error: float, level: float, power: float) -> float:
    """The effect (difference of ln) that a two-sided test at `level` finds with the chance `power`.

    `error`: standard error of the difference, in units of `sd`. The other tail is left out: its chance is below 1e-4 there.
    """
    from scipy.special import nctdtrinc, stdtrit

    return float(nctdtrinc(freedom, 1 - power, float(stdtrit(freedom, 1 - level / 2)))) * error * sd


def of_stage(stage: Stage, sd: float, power: float) -> float:
    """The effect that a question of the stage shows, at the strictest level of Holm's test."""
    questions = [arm for arm in stage.arms if arm.against]
    freedom = stage.runs - len(stage.arms) - stage.blocks + 1
    if not questions or freedom < 1:
        return math.inf
    arm = questions[0]
    reference = next(other for other in stage.arms if other.name == arm.against)
    error = math.sqrt((1 / arm.runs + 1 / reference.runs) / stage.blocks)
    return smallest(sd, freedom, error, stage.level / len(questions), power)


def sd_limits(sd: float, freedom: int) -> tuple[float, float]:
    """80 % limits of a standard deviation that so many free runs gave."""
    from scipy.special import chdtri

    return tuple(sd * math.sqrt(freedom / float(chdtri(freedom, p))) for p in (0.1, 0.9))  # type: ignore[return-value]


def more_runs(sd: float, effect: float, level: float, power: float, had: int) -> int:
    """Runs of two arms together, beyond the `had`, with which a comparison of both alone shows `effect`."""
    half = 2
    while half < _MOST_RUNS and smallest(sd, 2 * half - 2, math.sqrt(2 / half), level, power) > effect:
        half += max(1, half // 20)
    return max(1, 2 * half - had)
