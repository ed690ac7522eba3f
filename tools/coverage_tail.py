#!/usr/bin/env python3
"""Does `rtassay extrapolate` cover what it claims to, and refuse where it must? By simulation, through the code itself.

Data sets of 1e6 wake-ups in three runs. Only late ones are drawn (the exact order statistics of the upper 0.5 %, with their places).
Goals: issue 12, section 3. Results: bench/COVERAGE_TAIL.md and bench/coverage_tail.json. A finished family stands in both: started again
with the same code, number of data sets and seed, it does only the others.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import time
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from rtassay.analysis.tail import Run, extrapolate

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"
N, RUNS, KEPT = 1_000_000, 3, 0.005
LEVELS = (1 / (10 * N), 1 / (100 * N))
SHARE = 500 / N
BASE_NS = 20_000
Floats = np.ndarray
Quantile = Callable[[Floats], Floats]


def pareto(xi: float) -> Quantile:
    return lambda p: np.expm1(-xi * np.log(p)) / xi


MARGINS: dict[str, Quantile] = {
    "exponential": lambda p: -np.log(p),
    **{f"GPD {xi:g}": pareto(xi) for xi in (-0.3, -0.2, 0.1, 0.2)},
    "uniform": lambda p: 1 - p,
    "Weibull .7": lambda p: (-np.log(p)) ** (1 / 0.7),
    "Weibull 1.5": lambda p: (-np.log(p)) ** (1 / 1.5),
    "lognormal .5": lambda p: np.exp(-0.5 * ndtri(p)),
    "normal": lambda p: -ndtri(p),
}
"""Families as the value that a share p lies above. "GPD 0" is the exponential."""
HARD = ("lognormal .5", "normal")


@dataclass(frozen=True)
class Family:
    """`cover`: goal of coverage, and `answer`: of the share answered; `refuse`: goal of refusals where an answer would be wrong.

    `scale_ns`: sigma of the excesses over the value that 500 of 1e6 lie above. `theta`: of the max-AR process.
    """

    name: str
    margin: Quantile
    cover: float | None = None
    answer: float | None = None
    refuse: float | None = None
    scale_ns: int = 10_000
    tick_ns: int = 1
    theta: float = 1.0
    spoil: str = ""


def families() -> list[Family]:
    found = []
    for name, margin in MARGINS.items():
        goals = {"cover": 0.9} if name in HARD else {"cover": 0.93, "answer": 0.8}
        found.append(Family(name, margin, **goals))
        if name in HARD:
            continue
        found += [
            Family(f"{name}, ticks, sigma {s / 1000:g} us", margin, **goals, scale_ns=s, tick_ns=1000)
            for s in (1500, 5000)
        ]
        found += [Family(f"{name}, theta {theta:g}", margin, **goals, theta=theta) for theta in (0.2, 0.5, 0.8)]
    exponential = MARGINS["exponential"]
    found.append(Family("GPD .6", pareto(0.6), refuse=0.95))
    for spoil in (
        "mode at 10/n, 1.5 x",
        "mode at 10/n, 2 x",
        "drift 30 %",
        "drift 30 %, each run",
        "boots sd .5 of ln p",
        "boots sd .5 of ln x",
        "overflow",
    ):
        found.append(Family(spoil, exponential, refuse=0.95, spoil=spoil))
    return found


def independent(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(positions, shares): a value at a position has `share` of all values above it."""
    late = rng.binomial(N, KEPT)
    return np.sort(rng.choice(N, late, replace=False)), KEPT * rng.random(late)


def max_ar(rng: np.random.Generator, theta: float) -> tuple[Floats, Floats]:
    """X_i = max((1 - theta) X_(i-1), theta Z_i), Z unit Frechet, so X is too: only the Z that reach the kept level matter."""
    a, level = 1 - theta, -1 / math.log1p(-KEPT)
    lead = math.ceil(math.log(1e-9) / math.log(a))
    chance = -math.expm1(-theta / level)
    late = rng.binomial(N + lead, chance)
    begin = np.sort(rng.choice(N + lead, late, replace=False)) - lead
    peak = -theta / np.log1p(-chance * rng.random(late))
    length = 1 + np.floor(np.log(level / peak) / math.log(a)).astype(int)
    step = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    at, value = np.repeat(begin, length) + step, np.repeat(peak, length) * a**step
    inside = (at >= 0) & (at < N)
    at, value = at[inside], value[inside]
    order = np.lexsort((value, at))
    at, value = at[order], value[order]
    last = np.append(at[1:] != at[:-1], True)
    return at[last], -np.expm1(-1 / value[last])


def drawn(family: Family, rng: np.random.Generator) -> tuple[tuple[Run, ...], tuple[float, ...]]:
    """(runs, true levels in ns) of one data set."""
    sigma = (family.margin(np.array(SHARE * 0.99)) - family.margin(np.array(SHARE * 1.01))) / math.log(1.01 / 0.99)
    scale = family.scale_ns / float(sigma)
    base = BASE_NS + rng.uniform(0, 1000) - scale * float(family.margin(np.array(KEPT)))
    at, share = independent(rng) if family.theta == 1 else max_ar(rng, family.theta)
    value = base + scale * family.margin(share)
    ends = np.array([0, N // 3, 2 * N // 3, N])
    run = np.searchsorted(ends, at, side="right") - 1
    if family.spoil.startswith("drift"):
        place = at / N if family.spoil == "drift 30 %" else (at - ends[run]) / (N / 3)
        value = base + (value - base) * (1 + 0.3 * place)
    elif family.spoil.endswith("of ln x"):
        value = base + (value - base) * np.exp(0.5 * rng.standard_normal(RUNS))[run]
    elif family.spoil.endswith("of ln p"):
        # the share above any level is `weight` times as large: keep as many, and draw the surplus again
        weight = np.exp(0.5 * rng.standard_normal(RUNS))
        parts = []
        for i in range(RUNS):
            late = rng.poisson(KEPT * weight[i] * N / RUNS)
            parts.append(
                (
                    np.sort(rng.integers(ends[i], ends[i + 1], late)),
                    base + scale * family.margin(KEPT * rng.random(late)),
                )
            )
        at, value = (np.concatenate([part[j] for part in parts]) for j in range(2))
    elif family.spoil.startswith("mode"):
        late = rng.poisson(10)
        centre = scale * float(family.margin(np.array(1 / N))) * float(family.spoil.split()[-2])
        at = np.append(at, rng.integers(0, N, late))
        value = np.append(value, base + centre * np.exp(0.05 * rng.standard_normal(late)))
        order = np.argsort(at, kind="stable")
        at, value = at[order], value[order]
    floor = base + scale * float(family.margin(np.array(KEPT))) * (1.3 if family.spoil.startswith("drift") else 1)
    if family.spoil.endswith("of ln x"):
        floor = np.quantile(value, 0.5)
    tick = family.tick_ns
    ticks = (np.floor(value / tick) * tick).astype(np.int64)
    run = np.searchsorted(ends, at, side="right") - 1
    lowest = int(-(-floor // tick) * tick)
    runs = []
    for i in range(RUNS):
        mine = run == i
        over = int(rng.poisson(3)) + 1 if family.spoil == "overflow" and i == 0 else 0
        runs.append(
            Run(f"run {i}", int(ends[i + 1] - ends[i]), at[mine] - ends[i], ticks[mine], lowest, tick, 1_000_000, over)
        )
    return tuple(runs), tuple(base + scale * float(family.margin(np.array(p))) for p in LEVELS)


def code_hash() -> str:
    """Of the sources that decide what a row says."""
    found = hashlib.sha256()
    for file in (*sorted((ROOT / "src/rtassay/analysis/tail").rglob("*.py")), Path(__file__)):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def simulated(family: Family, sets: int, seed: int) -> dict[str, object]:
    """One row of the table."""
    inside, below, above = ([0] * len(LEVELS) for _ in range(3))
    widths: list[list[float]] = [[] for _ in LEVELS]
    answered, few_values, reasons = 0, 0, Counter[str]()
    begin = time.process_time()
    for i in range(sets):
        runs, truth = drawn(family, np.random.default_rng([seed, zlib.crc32(family.name.encode()), i]))
        found = extrapolate("lane", runs, LEVELS, 0.95, figure=False)
        reasons.update({refusal.code for refusal in found.refusals})
        few_values += any(refusal.code == "FEW-VALUES" for refusal in found.refusals)
        if not found.answered:
            continue
        answered += 1
        for j, (level, true_ns) in enumerate(zip(found.levels, truth, strict=True)):
            assert level.lo_ns is not None and level.hi_ns is not None and level.level_ns is not None
            low, high = true_ns < level.lo_ns - 0.5, true_ns > level.hi_ns + 0.5
            below[j], above[j], inside[j] = below[j] + low, above[j] + high, inside[j] + (not low and not high)
            widths[j].append((level.hi_ns - level.lo_ns) / true_ns)
    coverage = [round(hit / answered, 4) if answered else None for hit in inside]
    row: dict[str, object] = {
        "family": family.name,
        "sets": sets,
        "answered": answered / sets,
        "few_values": few_values / sets,
        "coverage": coverage,
        "too_low": [round(each / answered, 4) if answered else None for each in above],
        "too_high": [round(each / answered, 4) if answered else None for each in below],
        "width": [round(float(np.median(each)), 3) if each else None for each in widths],
        "refusals": {code: round(count / sets, 4) for code, count in reasons.most_common()},
        "ms": round(1000 * (time.process_time() - begin) / sets, 1),
        "goal": {"coverage": family.cover, "answered": family.answer, "refused": family.refuse},
    }
    return {**row, "misses": misses(row)}


def misses(row: dict[str, object]) -> list[str]:
    """Goals that a row misses, beyond the error of the simulation (99 %)."""
    goal, sets = row["goal"], int(str(row["sets"]))
    assert isinstance(goal, dict)
    found = []

    def short(share: float, wanted: float, of: float) -> bool:
        return share < wanted - 2.58 * math.sqrt(wanted * (1 - wanted) / max(of, 1))

    answered = float(str(row["answered"]))
    covered = row["coverage"]
    assert isinstance(covered, list)
    if (
        goal["coverage"] is not None
        and answered > 0
        and any(short(each, goal["coverage"], answered * sets) for each in covered)
    ):
        found.append("coverage")
    with_values = 1 - float(str(row["few_values"]))
    if (
        goal["answered"] is not None
        and with_values > 0.05
        and short(answered / with_values, goal["answered"], with_values * sets)
    ):
        found.append("answered")
    if goal["refused"] is not None and short(1 - answered, goal["refused"], sets):
        found.append("refused")
    return found


def table(rows: list[dict[str, object]]) -> str:
    head = (
        "| family | sets | answered | coverage 1/(10 n) | 1/(100 n) | width 1/(10 n) | 1/(100 n) | refusals | goal missed |\n"
        + "| --- " * 9
        + "|\n"
    )
    lines = []
    for row in rows:
        cover, width, refusals = row["coverage"], row["width"], row["refusals"]
        assert isinstance(cover, list) and isinstance(width, list) and isinstance(refusals, dict)
        cells = [
            row["family"], row["sets"], f"{row['answered']:.3f}", *("-" if each is None else f"{each:.3f}" for each in cover),
            *("-" if each is None else f"{each:.2f}" for each in width),
            ", ".join(f"{code} {share:.3f}" for code, share in list(refusals.items())[:4]), ", ".join(map(str, row["misses"])) or "none",
        ]  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return head + "\n".join(lines) + "\n"


PAGE = """# Coverage of `rtassay extrapolate`

{n:,} wake-ups in three runs a data set, levels exceeded with 1/(10 n) and 1/(100 n), intervals of 95 %. Families: the value that a share p lies above, scaled to
sigma = 10 us over the value that 500 of 1e6 lie above (in ticks of 1 us: 1.5 and 5 us); `theta`: max-AR process of this extremal index.
*answered*: share of data sets with an answer. *coverage*: share of the answers that hold the true level. *width*: median width of the interval / true level.
Goals: coverage .93 and answered .8 (.9 and any for lognormal and normal; answered counts data sets with five distinct values); refusals .95 in the last rows. A goal is missed if it is beyond the
error of the simulation (99 %).

Repeat: `nice .venv/bin/python tools/coverage_tail.py --sets {sets}` (seed {seed}; one process; a data set takes 30 to 60 ms).

{table}"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sets", type=int, default=100, help="data sets a family")
    options.add_argument(
        "--family", action="append", default=[], help="only families whose name contains this; repeat it for several"
    )
    options.add_argument("--seed", type=int, default=12)
    options.add_argument(
        "--json",
        type=Path,
        default=BENCH / "coverage_tail.json",
        help="rows, kept after each family; others in it stay",
    )
    options.add_argument("--page", type=Path, default=BENCH / "COVERAGE_TAIL.md")
    given = options.parse_args()
    every, made = families(), {"code": code_hash(), "sets": given.sets, "seed": given.seed}
    rows = {row["family"]: row for row in json.loads(given.json.read_text())["rows"]} if given.json.is_file() else {}
    for family in every:
        if given.family and not any(part.lower() in family.name.lower() for part in given.family):
            continue
        if made.items() <= rows.get(family.name, {}).items():
            continue
        rows[family.name] = row = {**simulated(family, given.sets, given.seed), **made}
        print(json.dumps(row), flush=True)
        ordered = [rows[each.name] for each in every if each.name in rows]
        given.json.write_text(
            json.dumps({"schema": "rtassay/coverage-tail/1", "seed": given.seed, "rows": ordered}, indent=1) + "\n"
        )
        given.page.write_text(PAGE.format(n=N, sets=given.sets, seed=given.seed, table=table(ordered)))


if __name__ == "__main__":
    main()
