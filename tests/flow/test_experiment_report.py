"""The page of an experiment that was really run: written at its end, made again on request, whole in a browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chart_labels import RECORD, assert_every_axis_has_labels
from experiment_kills import rtassay
from flow_support import Marked
from playwright.sync_api import sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
FILE = """
name = "page"
what = "idle & <loaded>"
repeats = 2
[[loads]]
name = "idle"
[[loads]]
name = "cpu"
what = "one busy process a CPU"
run = ["builtin:cpu"]
[[scenarios]]
name = "all"
[[scenarios]]
name = "nowhere"
cpus = "4000"
[settings]
interval = "1ms"
duration = "1s"
[acceptance]
deadline = "1us"
p = 0.5
per = "combination"
"""
QUESTIONS = [
    "Does it hold?",
    "Which load is worst?",
    "Is A better than B, and where?",
    "What was not covered?",
    "How do I repeat it?",
]


def call(*words: str) -> tuple[int, str, str]:
    process = rtassay(*words)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def look(file: Path, **context: object) -> tuple[dict[str, object], list[str]]:
    """What a browser makes of the page, and what it complains of or asks for."""
    if not CHROMIUM.exists():
        pytest.fail(f"{CHROMIUM} is missing: run: apt-get install -y chromium", pytrace=False)
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            timeout=120_000,
        )
        page = browser.new_context(viewport={"width": 1280, "height": 900}, **context).new_page()  # type: ignore[arg-type]
        page.set_default_timeout(120_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda asked: complaints.append(asked.url) if asked.url not in (file.as_uri(), "data:,") else None,
        )
        page.add_init_script(RECORD)
        page.goto(file.as_uri())
        seen: dict[str, object] = {
            "questions": page.locator(".answers dt").all_text_contents(),
            "answers": page.locator(".answers dd").all_text_contents(),
            "state": page.locator(".verdict .state").text_content(),
            "canvases": len(page.query_selector_all(".chart canvas")),
            "bars": page.locator(".roomy svg.bars").count(),
            "text": page.locator("body").inner_text(),
            "wide": page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
            "cells": [row.split("\t")[4] for row in page.locator("#matrix ~ details table tbody tr").all_inner_texts()],
        }
        if context.get("java_script_enabled", True):
            assert_every_axis_has_labels(page, 2)
        browser.close()
    return seen, complaints


@pytest.mark.full
def test_the_page_of_a_real_experiment(tmp_path: Path, marked: Marked) -> None:
    file, path = tmp_path / "page.toml", tmp_path / "out"
    file.write_text(FILE)
    code, _, err = call("run", str(file), "-o", str(path))
    assert code == 4, err  # the scenario without CPUs fails, the others are measured
    html = path / "report.html"
    assert f"report in {html}" in err and (path / "report.md").exists()

    seen, complaints = look(html)
    assert complaints == []
    assert seen["questions"] == QUESTIONS
    answers = seen["answers"]
    assert isinstance(answers, list)
    result = json.loads((path / "experiment.json").read_text())
    # every wake-up takes longer than 1 us: that half of them may not is violated, unless this machine broke a measurement
    state = result["acceptance"]["state"]
    assert state == "VIOLATED" or result["evidence_grade"] == "X"
    assert state in str(seen["state"]) and answers[0].startswith(("No (VIOLATED)", "Not answered: "))
    assert "4 of 8 planned cells" in answers[3]
    assert f"rtassay experiment run {path}/experiment.toml" in answers[4]
    assert seen["canvases"] == 2
    assert "idle & <loaded>" in str(seen["text"])
    cells = seen["cells"]
    assert isinstance(cells, list) and sorted(cells) == ["failed"] * 4 + ["sealed"] * 4
    narrow, complaints = look(html, java_script_enabled=False)
    assert complaints == [] and narrow["canvases"] == 0 and narrow["questions"] == QUESTIONS

    assert result["evidence_grade"] in ("C", "X")
    kpis = {kpi["id"]: kpi for kpi in result["scorecard"]["kpis"]}
    assert state in {row["words"] for row in kpis["A1"]["rows"]}
    assert kpis["C1"]["why"]
    # a run that was late in few bursts only has no D*: then there is nothing to draw for D1, and the scorecard says why
    ratios = kpis["D1"]["rows"]
    assert len(ratios) == 1 or (ratios == [] and kpis["D1"]["why"])
    assert seen["bars"] == 1 + len(ratios)

    again = tmp_path / "again.html"
    code, out, err = call("report", str(path), "-o", str(again))
    assert (code, out.strip()) == (0, str(again)), err
    assert again.read_bytes() == html.read_bytes()
    code, out, err = call("report", str(path), "-o", str(tmp_path / "again.json"), "--json")
    assert code == 0 and json.loads(out)["path"] == str(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == result
    code, _, err = call("report", str(path), "-o", str(tmp_path / "again.txt"))
    assert code == 2 and ".html" in err
