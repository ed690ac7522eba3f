#!/usr/bin/env python3
"""The table of bench/PROVING.md: what `prove` finds on simulated boards, and what it finds although it is not there.

    .venv/bin/python tools/coverage/campaigns.py [--campaigns N] [-o FILE]

Exit code 1 if a promise of docs/method/proving.md is broken.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from proving import EXPONENT, Board, Tally, heavy, normal, simulate

from rtassay.analysis.many.prove import power
from rtassay.model.proving import GROUPS, Arm, Rules, Stage, Subject

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGNS = 2_000
SEED = 23
EACH = tuple(Subject(f"s{i}", f"group {i}") for i in range(11))
BY_FOURS = tuple(Subject(f"s{i}", f"group {i // 3}") for i in range(12))
LEAN, USUAL = Rules(references=1), Rules()


@dataclass(frozen=True)
class Case:
    """`promised`: the shares that are promised for it, by the column: at least, of `false` at most."""

    board: Board
    rules: Rules
    promised: dict[str, float]


def masked(name: str, size: float, harm: float, spread: float = 0.08, **more: float) -> Board:
    """Three sources of one size hide each other, and one setting of the set harms."""
    sources = tuple((size, (f"s{i}",)) for i in range(3))
    noise = heavy if more.pop("heavy", 0) else normal
    return Board(name, EACH, sources, {"s3": harm}, spread, noise=noise, **more)


def paired(name: str, size: float, harm: float | None = None, alone: float | None = None) -> Board:
    """Two settings of one group remove the same source; beside them a source of its own, or a setting that harms."""
    sources: list[tuple[float, tuple[str, ...]]] = [(size, ("s0", "s1"))]
    if alone is not None:
        sources.append((alone, ("s3",)))
    return Board(name, BY_FOURS, tuple(sources), {} if harm is None else {"s6": harm})


ALL_OF_IT = {"found": 0.9, "harm": 0.9, "false": 0.05, "no effect": 0.95}


def cases() -> Iterator[Case]:
    """Every row of the table."""
    yield Case(masked("three sources x3, harm x1.6", 3, 1.6), LEAN, ALL_OF_IT)
    yield Case(masked("three sources x3, harm x1.6", 3, 1.6), USUAL, ALL_OF_IT)
    yield Case(masked("the same, the board drifts by 20 %", 3, 1.6, drift=0.2), USUAL, ALL_OF_IT)
    yield Case(masked("the same, heavy tails (Student's t3)", 3, 1.6, heavy=1), USUAL, ALL_OF_IT)
    yield Case(masked("the same, sd 0.20", 3, 1.6, 0.2), USUAL, {"false": 0.05})
    yield Case(masked("three sources x2, harm x1.5", 2, 1.5), USUAL, {"harm": 0.9, "false": 0.05, "no effect": 0.95})
    yield Case(Board("11 settings, nothing matters", EACH), USUAL, {"false": 0.05, "no effect": 0.95})
    yield Case(Board("four settings, nothing matters", EACH[:4]), USUAL, {"false": 0.05, "no effect": 0.95})
    one = Board("one source x2, four settings that do nothing", EACH[:5], ((2, ("s0",)),))
    yield Case(one, USUAL, {"found": 0.9, "false": 0.05, "no effect": 0.95})
    pairs = {"false": 0.05, "no effect": 0.95, "noticed": 0.95}
    yield Case(paired("a redundant pair x2", 2), USUAL, pairs)
    yield Case(paired("a redundant pair x2, a source x2", 2, alone=2), USUAL, {"found": 0.9, **pairs})
    yield Case(paired("a redundant pair x3, harm x1.5", 3, 1.5), USUAL, pairs)


def shares(tally: Tally) -> dict[str, float | None]:
    """The columns of a row."""

    def share(part: int, whole: int) -> float | None:
        return part / whole if whole else None

    return {
        "found": share(tally.found, tally.matter),
        "harm": share(tally.harmful, tally.harms),
        "false": share(tally.false, tally.campaigns),
        "no effect": share(tally.quiet, tally.idle),
        "noticed": share(tally.noticed, tally.with_pair),
        "named": share(tally.redundant, tally.pairs),
    }


def broken(promised: dict[str, float], got: dict[str, float | None]) -> list[str]:
    """Columns that do not keep their promise."""
    found = []
    for column, limit in promised.items():
        value = got[column]
        assert value is not None
        if (value > limit) if column == "false" else (value < limit):
            found.append(f"{column} {value:.3f} instead of {limit:g}")
    return found


def smallest_shown() -> Iterator[tuple[int, int, float, float]]:
    """(settings, runs, sd, the factor found in nine of ten)."""
    for spread in (0.05, 0.08, 0.2):
        for questions, references in ((11, 1), (11, 2), (4, 2), (1, 2)):
            arms = (Arm("all", (), references), *(Arm(f"{i}", (), 1, f"{i}", "all") for i in range(questions)))
            stage = Stage(GROUPS, arms, 2, USUAL.level)
            yield questions, stage.runs, spread, math.exp(power.of_stage(stage, spread, USUAL.power))


HEAD = f"""# What prove finds, by simulation

`.venv/bin/python tools/coverage/campaigns.py`: whole campaigns through rtassay's own planning and judging; only the responses of the runs are invented. A board is a background of 1 and sources of a size,
combined as (1 + a^{EXPONENT} + b^{EXPONENT} ...)^(1/{EXPONENT}), nearly their maximum; a setting removes a source, or adds one (harm). ln of the response scatters between equal runs with sd 0.08 unless another stands there.
"""
COLUMNS = """
- found: settings that matter and get "helps"; harm: settings that harm and get "harms"
- false: campaigns with one false finding or more: a setting without effect called helping, harming or redundant, or a wrong sign
- no effect: settings without effect that get "no effect above x %"
- noticed: campaigns that show, by groups and members alone, that settings are redundant; named: settings of the pair called "redundant with" the other one
- runs: of the stages of groups and members, mean; all: with the unchanged ones, the set against none and the confirming ones
"""


def main() -> int:
    parser = argparse.ArgumentParser(description="What prove finds on simulated boards.")
    parser.add_argument("--campaigns", type=int, default=CAMPAIGNS, help=f"of each row (default: {CAMPAIGNS})")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench" / "PROVING.md", metavar="FILE")
    told = parser.parse_args()
    names = ("found", "harm", "false", "no effect", "noticed", "named")
    lines = [HEAD, f"{told.campaigns} campaigns a row, level {USUAL.level:g}, seed {SEED}.\n"]
    lines += [f"| board | {' | '.join(names)} | runs | all |", f"| --- |{' ---: |' * (len(names) + 2)}"]
    faults = []
    for case in cases():
        tally = simulate(case.board, case.rules, told.campaigns, SEED)
        got = shares(tally)
        name = case.board.name + (", one reference a block" if case.rules is LEAN else "")
        cells = ["" if got[column] is None else f"{got[column]:.3f}" for column in names]
        runs = (tally.runs / tally.campaigns, tally.all_runs / tally.campaigns)
        lines.append(f"| {name} | {' | '.join(cells)} | {runs[0]:.1f} | {runs[1]:.1f} |")
        print(lines[-1], file=sys.stderr, flush=True)
        faults += [f"{name}: {fault}" for fault in broken(case.promised, got)]
    lines += [COLUMNS, "The factor that a setting must have to be found in nine of ten campaigns:\n"]
    lines += ["| settings left out | runs | sd | factor |", "| ---: | ---: | ---: | ---: |"]
    lines += [f"| {a} | {b} | {sd:g} | {factor:.2f} |" for a, b, sd, factor in smallest_shown()]
    told.output.write_text("\n".join(lines) + "\n")
    print("\n".join(f"BROKEN {fault}" for fault in faults) or "every promise kept")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
