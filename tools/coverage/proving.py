"""Campaigns of `prove` on simulated boards: the real planning and judging, with invented responses."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from structures import Floats

from rtassay.analysis.many.prove.campaign import decide
from rtassay.analysis.many.prove.judging import judge
from rtassay.model.proving import (
    GROUPS,
    HARMS,
    HELPS,
    MEMBERS,
    NO_EFFECT,
    REDUNDANT,
    TOGETHER,
    UNCHANGED,
    Campaign,
    Judged,
    Rules,
    Run,
    Stage,
    Subject,
)

EXPONENT = 6
"""Sources combine close to a maximum: the response is (background^6 + ...)^(1/6)."""
Noise = Callable[[np.random.Generator, int], Floats]


def normal(random: np.random.Generator, runs: int) -> Floats:
    return random.standard_normal(runs)


def heavy(random: np.random.Generator, runs: int) -> Floats:
    """Student's t with three degrees of freedom, of variance 1."""
    return np.asarray(random.standard_t(3, runs) / np.sqrt(3))


@dataclass(frozen=True)
class Board:
    """`sources`: size of each source (background 1) and the settings of which any one removes it; `harm`: setting -> what it adds.

    `drift`: by how much ln of the response moves over a stage. `spread`: sd of ln of the response between equal runs.
    """

    name: str
    subjects: tuple[Subject, ...]
    sources: tuple[tuple[float, tuple[str, ...]], ...] = ()
    harm: dict[str, float] = field(default_factory=dict)
    spread: float = 0.08
    drift: float = 0.0
    noise: Noise = normal

    def truth(self, applied: tuple[str, ...]) -> float:
        """ln of the response with these settings, without scatter."""
        parts = [1.0, *(size for size, by in self.sources if not set(by) & set(applied))]
        parts += [size for id_, size in self.harm.items() if id_ in applied]
        return float(np.log(np.sum(np.array(parts) ** EXPONENT)) / EXPONENT)

    def measure(self, stage: Stage, random: np.random.Generator) -> list[Run]:
        """Every block in an order of its own."""
        scatter = iter(self.spread * self.noise(random, stage.runs))
        found = []
        for block in range(stage.blocks):
            arms = [arm for arm in stage.arms for _ in range(arm.runs)]
            random.shuffle(arms)  # type: ignore[arg-type]
            for arm in arms:
                moved = self.drift * len(found) / stage.runs
                found.append(Run(arm.name, block, self.truth(arm.applied) + moved + next(scatter)))
        return found


def campaign(board: Board, rules: Rules, random: np.random.Generator) -> tuple[Campaign, list[Judged]]:
    """One campaign from its first run to its end."""
    done: list[Judged] = []
    while True:
        found = decide(board.subjects, rules, done)
        if found.next is None:
            return found, done
        done.append(judge(found.next, board.measure(found.next, random), rules))


@dataclass
class Tally:
    """Over all campaigns. `found`: settings that matter and were found, of `matter`; `harmful` of `harms`: the same of those that harm.

    `false`: campaigns that say of a setting without effect that it helps, harms or is redundant, or the wrong sign; `quiet` of `idle`:
    settings without effect that get "no effect"; `redundant` of `pairs`: settings of a redundant pair that are called so, each naming
    the other; `noticed`: campaigns whose groups and members alone show that there is redundancy. `runs`: of the stages of groups and members.
    """

    campaigns: int = 0
    matter: int = 0
    found: int = 0
    harms: int = 0
    harmful: int = 0
    false: int = 0
    idle: int = 0
    quiet: int = 0
    pairs: int = 0
    redundant: int = 0
    with_pair: int = 0
    noticed: int = 0
    runs: int = 0
    all_runs: int = 0
    largest_at_most: float = 0.0


def simulate(board: Board, rules: Rules, campaigns: int, seed: int) -> Tally:
    """So many campaigns. Their seeds are their own: the same whichever board is simulated before."""
    random = np.random.default_rng([seed, zlib.crc32(board.name.encode())])
    tally = Tally()
    for _ in range(campaigns):
        found, done = campaign(board, rules, random)
        _count(tally, board, found, done)
    return tally


def _count(tally: Tally, board: Board, found: Campaign, done: list[Judged]) -> None:
    paired = {id_: set(by) - {id_} for _, by in board.sources if len(by) > 1 for id_ in by}
    single = {by[0] for _, by in board.sources if len(by) == 1}
    tally.campaigns += 1
    tally.runs += sum(judged.runs for judged in done if judged.stage.name in (GROUPS, MEMBERS))
    tally.all_runs += sum(judged.runs for judged in done)
    wrong = False
    for worth in found.worths:
        if worth.id in single:
            tally.matter += 1
            tally.found += worth.word == HELPS
            wrong |= worth.word == HARMS
        elif worth.id in board.harm:
            tally.harms += 1
            tally.harmful += worth.word == HARMS
            wrong |= worth.word in (HELPS, REDUNDANT)
        elif worth.id in paired:
            tally.pairs += 1
            tally.redundant += worth.word == REDUNDANT and set(worth.partners) == paired[worth.id]
            wrong |= worth.word == HARMS
        else:
            tally.idle += 1
            tally.quiet += worth.word == NO_EFFECT
            wrong |= worth.word in (HELPS, HARMS, REDUNDANT)
    tally.false += wrong
    if paired:
        tally.with_pair += 1
        tally.noticed += any(
            judged.stage.name not in (UNCHANGED, TOGETHER, GROUPS, MEMBERS) and judged.stage.what for judged in done
        )
