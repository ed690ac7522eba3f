"""rtassay compare as a user meets it: files in, the known story out; groups by every kind of name; exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chart_labels import RECORD, assert_every_axis_has_labels, until
from command_line import in_process

DATA = Path(__file__).parents[1] / "data" / "histograms"
OSLAT = DATA.parent / "importers" / "oslat" / "rt-tests-2.40.ok.txt"
CHROMIUM = Path("/usr/bin/chromium")


def as_json(*args: str | Path, home: Path, code: int = 0) -> Any:
    done = in_process(*args, "--json", home=home)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def several(home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two directories of three imported runs each: `slow` is three times as late as `fast`."""
    made = {}
    for name, times in (("fast", 1), ("slow", 3)):
        made[name] = tmp_path_factory.mktemp(name)
        for run in range(3):
            edges = [times * (20 + k + run % 2) for k in range(10)]
            rows = "".join(f"{edge:06d} {10_000 if k < 9 else 50:06d}\n" for k, edge in enumerate(edges))
            ends = (
                f"# Min Latencies: {edges[0]:05d}\n# Avg Latencies: {edges[4]:05d}\n# Max Latencies: {edges[-1]:05d}\n"
            )
            told = f"# Histogram\n{rows}# Total: 000090050\n{ends}# Histogram Overflows: 00000\n"
            file = made[name] / f"{run}.txt"
            file.write_text(told)
            as_json("import", file, "-o", made[name], home=home)
    return made


@pytest.fixture(scope="module")
def ids(home: Path) -> dict[str, str]:
    """The two files of a Raspberry Pi 3B, imported as anybody would."""
    made = {}
    for kernel in ("std", "rt"):
        told = as_json("import", DATA / f"rpi3b-4.14.27-{kernel}.hist.csv", "--label", f"kernel={kernel}", home=home)
        made[kernel] = told["recordings"][0]["id"]
    return made


def test_the_riva_story(home: Path, ids: dict[str, str]) -> None:
    data = as_json("compare", ids["std"], "--with", ids["rt"], home=home)
    assert (data["schema"], data["conclusion"]) == ("rtassay/compare/1", "crosses")
    turn = data["crossover"]
    assert turn["value_ns"] == 95_000 and 1 - turn["q"] == pytest.approx(1.2e-6, rel=0.05)
    assert (turn["worse_below"], turn["worse_above"]) == ("b", "a")
    checks = {c["id"]: c["severity"] for c in data["checks"]}
    assert checks["MEAN-SD-MISLEADS"] == "note" and checks["SINGLE-RUN"] == "warning"


@pytest.mark.parametrize("how", ["label", "prefix", "path", "directory"])
def test_every_way_to_name_a_recording(home: Path, ids: dict[str, str], how: str, tmp_path: Path) -> None:
    def name(kernel: str) -> str:
        where = home / "recordings" / f"{ids[kernel]}.rta"
        if how == "directory":
            (tmp_path / kernel).mkdir()
            (tmp_path / kernel / where.name).symlink_to(where)
        return {
            "label": f"kernel={kernel}",
            "prefix": ids[kernel][:-1],
            "path": str(where),
            "directory": str(tmp_path / kernel),
        }[how]

    data = as_json("compare", name("std"), "--with", name("rt"), home=home)
    assert [r["id"] for r in data["a"]["runs"]] == [ids["std"]]
    assert [r["id"] for r in data["b"]["runs"]] == [ids["rt"]]


def test_a_recording_named_twice_counts_once_and_with_takes_all_that_follows(home: Path, ids: dict[str, str]) -> None:
    data = as_json("compare", ids["std"], "kernel=std", "--with", ids["rt"], "kernel=rt", home=home)
    assert [len(data[side]["runs"]) for side in ("a", "b")] == [1, 1]


@pytest.mark.parametrize(
    ("a", "b", "condition", "code"),
    [
        ("slow", "fast", "regression", 0),
        ("fast", "slow", "regression", 1),
        ("fast", "slow", "regression=150", 1),  # three times as late, give or take a tenth
        ("fast", "slow", "regression=250%", 0),
        ("fast", "fast", "regression", 0),
    ],
)
def test_a_build_server_fails_on_a_regression(
    home: Path, several: dict[str, Path], a: str, b: str, condition: str, code: int
) -> None:
    done = in_process("compare", several[a], "--with", several[b], "--fail-on", condition, home=home)
    assert done.returncode == code, done.stderr
    assert ("regression: B is later" in done.stderr) == (code == 1)


def test_one_run_of_each_is_no_ground_for_a_regression(home: Path, ids: dict[str, str]) -> None:
    """One run against another of the same kernel differs by chance in up to half of all comparisons."""
    done = in_process("compare", ids["std"], "--with", ids["rt"], "--fail-on", "regression", home=home)
    assert done.returncode == 4, done.stderr
    assert "A has 1 run, B 1: a regression takes 3 runs of each" in done.stderr


def test_the_primary_step_is_named(home: Path, several: dict[str, Path]) -> None:
    data = as_json("compare", several["fast"], "--with", several["slow"], "--at", "p99", home=home)
    assert (data["primary_q"], data["conclusion"]) == (0.99, "a_better")
    shown = in_process("compare", several["fast"], "--with", several["slow"], home=home).stdout
    assert "HAS THE LOWER LATENCY AT p99.9" in shown and "p99.9 *" in shown


def test_the_same_recording_on_both_sides_shows_nothing(home: Path, ids: dict[str, str]) -> None:
    data = as_json("compare", ids["rt"], "--with", ids["rt"], home=home)
    assert data["conclusion"] == "no_difference_shown"
    assert {c["id"]: c["severity"] for c in data["checks"]}["DUPLICATE-RESULT"] == "warning"


@pytest.mark.parametrize("suffix", ["html", "md", "json", "txt"])
def test_reports(home: Path, ids: dict[str, str], suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"page.{suffix}"
    done = in_process("compare", ids["std"], "--with", ids["rt"], "-o", out, home=home)
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stdout
    text = out.read_text()
    assert "MEAN-SD-MISLEADS" in text and "95" in text


def test_terminal_has_no_colour_in_a_pipe(home: Path, ids: dict[str, str]) -> None:
    done = in_process("compare", ids["std"], "--with", ids["rt"], home=home)
    assert "\x1b" not in done.stdout and "B better" in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("{std}",), "--with"),
        (("{std}", "--with"), "--with"),
        (("{std}", "--with", "kernel=xyz"), "kernel is one of rt, std"),
        (("{std}", "--with", "colour=red"), "no recording has a label colour"),
        (("{std}", "--with", "nosuch"), "there is no recording 'nosuch'"),
        (("{std}", "--with", "{rt}", "--fail-on", "progress"), "regression=PERCENT"),
        (("{std}", "--with", "{rt}", "--factor", "weather"), "there is no factor 'weather'"),
        (("{std}", "--with", "{rt}", "--at", "p100"), "no quantile"),
        (("{std}", "--with", "{rt}", "-o", "page.pdf"), "names no format"),
        (("{std}", "--with", "{rt}", "--json", "-o", "-"), "both want stdout"),
    ],
)
def test_usage_errors_exit_2_and_say_how_to_mend(
    home: Path, ids: dict[str, str], args: tuple[str, ...], said: str
) -> None:
    done = in_process("compare", *(a.format(**ids) for a in args), home=home)
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_an_empty_directory_is_no_group(home: Path, ids: dict[str, str], tmp_path: Path) -> None:
    done = in_process("compare", ids["std"], "--with", tmp_path, home=home)
    assert done.returncode == 2 and "holds no recordings" in done.stderr


def test_what_cannot_be_compared_is_refused_and_fails_a_build(home: Path, ids: dict[str, str]) -> None:
    """Wake-ups against gaps in a busy loop."""
    gaps = in_process("import", OSLAT, "--name", "gaps", home=home)
    assert gaps.returncode == 0, gaps.stderr
    data = as_json("compare", ids["std"], "--with", "gaps", home=home)
    assert data["conclusion"] == "refused" and data["crossover"] is None
    assert all(step["ratio"] is None for step in data["quantiles"])
    done = in_process("compare", ids["std"], "--with", "gaps", "--fail-on", "regression", home=home)
    assert done.returncode == 5 and "NOT COMPARED" in done.stdout


def test_the_page_draws_in_a_browser_and_asks_nothing_of_anybody(
    home: Path, ids: dict[str, str], tmp_path: Path
) -> None:
    if not CHROMIUM.exists():
        pytest.fail(f"{CHROMIUM} is missing: the page has to be opened in a browser; run: apt-get install -y chromium")
    from playwright.sync_api import sync_playwright

    out = tmp_path / "page.html"
    assert in_process("compare", ids["std"], "--with", ids["rt"], "-o", out, home=home).returncode == 0
    complaints: list[str] = []
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments, timeout=120_000)
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(120_000)
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda r: complaints.append(r.url) if r.url not in (out.as_uri(), "data:,") else None)
            page.add_init_script(RECORD)
            page.goto(out.as_uri())
            page.wait_for_selector("#fig-exceedance canvas")
            assert_every_axis_has_labels(page, 2)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert len(page.query_selector_all(".roomy svg.ladder .dot")) == 8
            page.set_viewport_size({"width": 390, "height": 844})
            # The charts are drawn anew.
            until(page, lambda: page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
            phone = page.locator(".narrow svg.ladder")
            box = phone.bounding_box()
            assert box is not None and box["width"] > 300 and box["x"] + box["width"] <= 390
            assert not page.locator(".roomy svg.ladder").is_visible()
            plain = browser.new_context(java_script_enabled=False).new_page()
            plain.set_default_timeout(120_000)
            plain.goto(out.as_uri())
            assert "95us" in plain.inner_text("body")
            assert (
                plain.query_selector("noscript svg") is not None
                or plain.query_selector("svg.plot:not(.ladder)") is not None
            )
        finally:
            browser.close()
    assert complaints == []
