"""The result as JSON and as a page of tables."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cells import MAIN_P, Cell
from compared import Match, Shown
from grade import ERROR, Promise, broken
from simulate import Count

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = "rtassay/coverage/1"


def record(
    found: Sequence[tuple[Cell | Match, dict[str, Count] | Shown]],
    promises: Sequence[Promise],
    seed: int,
    seconds: float,
    extent: str,
    repeat: str,
) -> dict[str, Any]:
    """Everything that was counted, with what is needed to repeat it."""
    return {
        "schema": SCHEMA,
        "extent": extent,
        "repeat": repeat,
        "commit": commit(),
        "seed": seed,
        "seconds": round(seconds),
        "python": platform.python_version(),
        "promises": len(promises),
        "by_promise": by_promise(promises),
        "broken": [
            asdict(promise) | {"share": promise.share, "chance": promise.chance} for promise in broken(promises)
        ],
        "cells": [
            _cell(case, form, count)
            for case, counts in found
            if isinstance(case, Cell) and isinstance(counts, dict)
            for form, count in counts.items()
        ],
        "comparisons": [
            {"shape": case.shape, "a": case.a, "b": case.b, "factor": case.factor, **asdict(shown)}
            for case, shown in found
            if isinstance(case, Match) and isinstance(shown, Shown)
        ],
    }


def by_promise(promises: Sequence[Promise]) -> list[dict[str, Any]]:
    """Each kind of promise: in how many rows it is tested, and the row that is nearest to breaking it."""
    kinds: dict[tuple[str, float | None], list[Promise]] = {}
    for promise in promises:
        kinds.setdefault((promise.what, None if promise.least else promise.limit), []).append(promise)
    found = []
    for mine in kinds.values():
        worst = min(mine, key=lambda promise: (promise.chance, -promise.share))
        row = asdict(worst) | {"share": worst.share, "chance": worst.chance, "rows": len(mine)}
        row |= {"limits": _ends([one.limit for one in mine]), "shares": _ends([one.share for one in mine])}
        found.append(row)
    return found


def _ends(values: Sequence[float]) -> list[float]:
    return [min(values), max(values)]


def _cell(cell: Cell, form: str, count: Count) -> dict[str, Any]:
    return {
        "structure": cell.bursts.name + (f", sd {cell.spread:g} between runs" if cell.spread else ""),
        "trace": cell.trace,
        "form": form,
        "lanes": cell.lanes,
        "runs": cell.runs,
        "length": cell.length,
        "p": cell.p,
        "times": cell.times,
        **asdict(count),
    }


def commit() -> str:
    """The commit of the code that was judged, with a mark if files differ from it."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or "unknown"


HEAD = (
    "| late activations | trace | form | lanes | runs | n | p | true p | p covered | claim | events/h covered | HOLDS | VIOLATED | D* wrong | sets |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)


def tables(data: Mapping[str, Any]) -> list[str]:
    """One line a cell and form, then one line a comparison."""
    lines = [*HEAD, *(_line(row) for row in data["cells"])] if data["cells"] else []
    if data["comparisons"]:
        lines += ["", "| runs scatter as | runs | B / A | a difference is shown | B is shown to be later | sets |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
        lines += [_comparison(row) for row in data["comparisons"]]
    return lines


def _comparison(row: Mapping[str, Any]) -> str:
    sets = row["sets"]
    shares = f"{_share(row['differences'], sets)} | {_share(row['right'], sets)}"
    return f"| {row['shape']} | {row['a']} against {row['b']} | {row['factor']:g} | {shares} | {sets} |"


def _line(row: Mapping[str, Any]) -> str:
    sets = row["sets"]
    cells = [
        row["structure"],
        row["trace"],
        row["form"],
        row["lanes"],
        str(row["runs"]),
        f"{row['length']}/p",
        f"{row['p']:g}",
        f"{row['times']:g}x",
        _share(sets - row["missed"], sets),
        _share(row["claims"], sets),
        _share(sets - row["rate_missed"], sets) if row["rate_claims"] else "no claim",
        _share(row["holds"], sets) + ("" if row["holds_plain"] == row["holds"] else " (assumed)"),
        _share(row["violated"], sets),
        f"{row['stars_wrong']} of {row['stars']}",
        str(sets),
    ]
    return f"| {' | '.join(cells)} |"


SUMMARY_HEAD = (
    "| late activations | trace | form | lanes | runs | p covered | events/h covered | HOLDS at 1x | at 2x | VIOLATED at 1x |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)


def summary(rows: Sequence[Mapping[str, Any]], p: float = MAIN_P) -> list[str]:
    """One line for each way late activations come; its numbers are those of the lengths, shortest first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["p"] == p and row["times"] in (1, 2):
            key = tuple(row[name] for name in ("structure", "trace", "form", "lanes", "runs"))
            groups.setdefault(key, []).append(row)
    return [*SUMMARY_HEAD, *(_summed(key, group) for key, group in groups.items())]


def _summed(key: tuple[Any, ...], rows: Sequence[Mapping[str, Any]]) -> str:
    def of(times: float, name: str, kept: bool = False) -> str:
        chosen = sorted((row for row in rows if row["times"] == times), key=lambda row: row["length"])
        shares = [(row["sets"] - row[name] if kept else row[name]) / row["sets"] for row in chosen]
        return " / ".join(f"{share:.2f}" for share in shares) or "-"

    cells = [
        *map(str, key),
        of(1, "missed", True),
        of(1, "rate_missed", True),
        of(1, "holds"),
        of(2, "holds"),
        of(1, "violated"),
    ]
    return f"| {' | '.join(cells)} |"


PROMISES_HEAD = (
    "| promise | limit | rows | shares | worst row | there | chance of that, if just kept |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)


def _promise(row: Mapping[str, Any]) -> str:
    sign = "at least" if row["least"] else "at most"
    limits = " to ".join(dict.fromkeys(f"{limit:.2f}" for limit in row["limits"]))
    cells = [
        row["what"],
        f"{sign} {limits}" if row["limits"][1] else "none",
        str(row["rows"]),
        " to ".join(f"{share:.3f}" for share in row["shares"]),
        f"{row['cell']}; {row['form']}" if row["seen"] else "all alike",
        f"{row['seen']} of {row['sets']}" + (f", limit {row['limit']:.2f}" if len(set(row["limits"])) > 1 else ""),
        f"{row['chance']:.2g}",
    ]
    return f"| {' | '.join(cells)} |"


def _share(seen: int, sets: int) -> str:
    return f"{seen / sets:.3f}"


def words(promise: Mapping[str, Any]) -> str:
    """A promise and what was seen instead."""
    sign = ">=" if promise["least"] else "<="
    return f"{promise['cell']}; {promise['form']}: {promise['what']} {promise['share']:.3f}, wanted {sign} {promise['limit']:.3f} ({promise['sets']} data sets)"


def page(data: Mapping[str, Any]) -> str:
    """Markdown."""
    lines = [
        "# Does 95 % mean 95 %?",
        "",
        f"Written by `{data['repeat']}` from simulated data and the project's own code. [docs/method/coverage.md](../docs/method/coverage.md) says what the columns mean.",
        "",
        f"Commit {data['commit']}, seed {data['seed']}, {data['seconds']} s, Python {data['python']}.",
        f"{data['promises']} promises, {len(data['broken'])} broken beyond simulation error ({1 - ERROR:.0%} over all of them).",
        "",
    ]
    if data["broken"]:
        lines += ["## Broken", "", *(f"- {words(promise)}" for promise in data["broken"]), ""]
    lines += [
        "## Promise by promise",
        "",
        "*rows*: cases and forms that the promise is tested in. *shares*: the smallest and the largest of them. *worst row*: the least likely one under a promise that is just kept.",
        "",
        *PROMISES_HEAD,
        *map(_promise, data["by_promise"]),
        "",
    ]
    lines += [f"## At p = {MAIN_P:g}, by length (3/p, 10/p, 50/p and so on)", "", *summary(data["cells"]), ""]
    return "\n".join([*lines, "## All cells", "", *tables(data), ""])
