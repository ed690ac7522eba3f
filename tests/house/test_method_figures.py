"""The figures of docs/method are those of bench: what was simulated, with the error that so many data sets leave."""

from __future__ import annotations

import json
import math
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom, poisson

from rtassay.analysis.lane.bounds import most_exceedances

ROOT = Path(__file__).parents[2]
METHOD, BENCH = ROOT / "docs" / "method", ROOT / "bench"
PAGE = (METHOD / "coverage.md").read_text()
RESULTS = PAGE.partition("## Results")[2].partition("## The first rule")[0]


def result(name: str) -> Any:
    return json.loads((BENCH / name).read_text())


def rows(text: str) -> list[str]:
    """Rows of tables, without heads and lines."""
    lines = text.splitlines()
    return [
        line
        for at, line in enumerate(lines)
        if line.startswith("| ") and "---" not in line and not (at + 1 < len(lines) and "---" in lines[at + 1])
    ]


def short(share: float) -> str:
    """`.965`, as text writes a share."""
    return f"{share:.3f}".removeprefix("0")


def test_every_row_of_results_stands_on_the_page_of_the_simulation() -> None:
    simulated = set((BENCH / "COVERAGE.md").read_text().splitlines())
    told = [row for row in rows(RESULTS) if not POWER.match(row)]
    assert len(told) > 50 and [row for row in told if row not in simulated] == []


POWER = re.compile(r"\| (0\.0+1|1e-0\d) \| ")


def test_the_table_of_power_is_that_of_the_simulation() -> None:
    """HOLDS at half the allowed p, by Clopper and Pearson's limit and as samples without and with a trace."""
    cells = [row for row in result("coverage.json")["cells"] if row["form"] == "samples" and row["times"] == 0.5]
    told = [row for row in rows(RESULTS) if POWER.match(row)]
    assert len(told) == 4
    for row in told:
        p, *lengths = (cell.strip() for cell in row.strip("| ").split(" | "))
        for length, text in zip((3, 10, 50), lengths, strict=True):
            most = most_exceedances(round(length / float(p)), float(p), 0.95)
            shares = [0.0 if most is None else float(poisson.cdf(most, length / 2))]
            for trace in ("none", "below D"):
                one = next(c for c in cells if (c["p"], c["length"], c["trace"]) == (float(p), length, trace))
                shares.append(one["holds"] / one["sets"])
            found = [float(share) for share in text.split(", ")]
            assert found == pytest.approx(shares, abs=0.0051), (p, length)


def test_the_numbers_around_them_are_those_of_the_simulation() -> None:
    found = result("coverage.json")
    assert f"commit {found['commit']}, seed {found['seed']}" in RESULTS
    assert f"{found['promises']:,} promises were tested, none was broken" in RESULTS and not found["broken"]
    stars = sum(row["stars"] for row in found["cells"])
    assert not any(row["stars_wrong"] for row in found["cells"])
    assert f"in {stars:,} data sets and contradicted it in 0" in RESULTS
    whole = result("coverage-full.json")
    assert f"of {whole['promises']:,} promises none is broken" in RESULTS and not whole["broken"]
    alike = [one for one in whole["comparisons"] if one["factor"] == 1]
    shares = [one["differences"] / one["sets"] for one in alike]
    assert f"differ in {short(min(shares))} to {short(max(shares))}" in RESULTS
    other = next(one for one in whole["comparisons"] if one["factor"] == 2)
    assert f"a factor of two is shown in {short(other['right'] / other['sets'])}" in RESULTS
    comparisons = (METHOD / "comparisons.md").read_text()
    assert f"{short(min(shares))} to {short(max(shares))}" in comparisons
    assert f"a factor of two in {short(other['right'] / other['sets'])} of comparisons" in comparisons


def half_up(count: int, of: int) -> str:
    """`.13` for 50 of 400."""
    return str((Decimal(count) / of).quantize(Decimal("0.01"), ROUND_HALF_UP)).removeprefix("0")


LIMITS = (0.06, 0.05, 0.01)


@pytest.mark.parametrize("sets", [50, 200, 400, 10_000])
def test_what_so_many_data_sets_can_show_is_computed(sets: int) -> None:
    """A promise is broken from the count on whose chance, if it is just kept, is 1 % over all promises (Holm: the least likely one)."""
    promises = result("coverage-full.json")["promises"]
    row = next(line for line in rows(PAGE) if line.startswith(f"| {sets:,} | ."))
    _, _, error, broken, found, _ = (cell.strip() for cell in row.split("|"))
    for i, limit in enumerate(LIMITS):
        assert error.split(" / ")[i] == short(math.sqrt(limit * (1 - limit) / sets))
        least = int(binom.isf(0.01 / promises, sets, limit)) + 1
        assert broken.split(" / ")[i] == half_up(least, sets)
        truth = next(share / 1000 for share in range(1, 1000) if binom.sf(least - 1, sets, share / 1000) >= 0.9)
        assert float(found.split(" / ")[i]) == pytest.approx(truth, abs=0.0101)


def test_the_figures_of_extrapolation_are_those_of_its_simulation() -> None:
    text = (METHOD / "extrapolation.md").read_text()
    found = result("coverage_tail.json")["rows"]
    held = [row for row in found if row["goal"]["coverage"] is not None]
    mean = sum(sum(row["coverage"]) / 2 * row["answered"] for row in held if row["answered"]) / sum(
        row["answered"] for row in held if row["answered"]
    )
    bursty = [row for row in held if row["family"].endswith("theta 0.2")]
    assert all(row["sets"] == 1000 and not row["misses"] for row in found)
    assert f"cover {short(mean)} over all families" in text
    assert f"({short(sum(sum(row['coverage']) / 2 for row in bursty) / len(bursty))} where theta is .2)" in text
    assert f"{short(min(min(row['coverage']) for row in held if row['answered']))} in the worst" in text
    enough = [row["answered"] for row in held if row["few_values"] < 0.1]
    assert (
        f"{enough and f'{min(enough):.2f}'.removeprefix('0')} to {f'{max(enough):.2f}'.removeprefix('0')} of the data sets"
        in text
    )
    near, far = (next(row for row in found if row["family"] == f"mode at 10/n, {x} x") for x in ("1.5", "2"))
    assert (
        f"{100 * near['answered']:.1f} % are not seen" in text
        and f"twice as far, {100 * far['answered']:.1f} %".replace(" 0.", " .") in text
    )
    refused = [
        1 - row["answered"] for row in found if row["goal"]["refused"] is not None and "mode" not in row["family"]
    ]
    assert f"refused in {100 * min(refused):.1f} % or more" in text


def test_the_smaller_simulations_are_those_of_their_page() -> None:
    page = (BENCH / "COVERAGE_SMALL.md").read_text()
    looks = {
        tuple(row.split(" | ")[0][2:].split(", ")): row.strip("| ").split(" | ")[1:3]
        for row in rows(page)
        if ", " in row.split(" | ")[0]
    }
    planning, events, limits = ((METHOD / f"{name}.md").read_text() for name in ("planning", "events", "limits"))
    for runs in ("5", "8", "10"):
        row = next(line for line in rows(page) if re.match(rf"\| {runs}, \d+ \|", line))
        assert row.rsplit(" | ", 1)[0] + " |" in planning
    three, five = looks["one run", "3"], looks["one run", "5"]
    assert (
        f"HOLDS at any of 3 looks in {three[0][1:]}, of 5 looks in {five[0][1:]}; with 95 % at each look in {three[1][1:]} and {five[1][1:]}"
        in planning
    )
    cases = {
        tuple(cell.strip() for cell in row.strip("| ").split(" | ")[:2]): [
            float(cell) for cell in row.strip("| ").split(" | ")[2:]
        ]
        for row in rows(page)
        if "the " in row
    }
    largest = {name: max(shares) for (name, rule), shares in cases.items() if rule == "the rule's M"}
    assert (
        all(largest[name] <= 0.05 for name in ("all 1", "all 5", "geometric, mean 5", "geometric, mean 20"))
        and "Then at most 5 % are missed" in events
    )
    assert f"{100 * largest['lognormal, sigma 1']:.0f} % of lognormal sizes with sigma 1" in events
    geometric = [
        shares for (name, rule), shares in cases.items() if rule == "the largest" and name.startswith("geometric")
    ]
    assert (
        f"of geometric sizes {100 * max(map(max, geometric)):.0f} % of data sets are missed with two to four events expected"
        in events
    )
    assert f"up to {100 * largest['a tenth ten times as large']:.0f} % of bounds are too low" in limits


def test_every_rate_of_the_pages_on_the_bound_names_where_it_was_simulated() -> None:
    """A page that says what was simulated links to bench, to the script or to a decision that has the table."""
    for page in sorted(METHOD.glob("*.md")):
        text = page.read_text()
        if re.search(r"[Ss]imulated (with|through|by)|data sets each", text):
            assert re.search(r"bench/|tools/|decisions/", text), page.name
