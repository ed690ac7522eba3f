"""The causes of a traced run in a real browser: a bar for each late wake-up, zoom, the way from the time line, phones, light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import traced_run
from test_html_in_chromium import browser as browser
from test_html_in_chromium import hex_colour, until
from traced_run import IRQ, SWITCH, US

import rtassay
from rtassay import rankings, store
from rtassay.model import causes as kinds
from rtassay.model.causes import Attribution, Cause, Part, Trace
from rtassay.model.events import Second
from rtassay.reports.base import JudgedRecording
from rtassay.reports.recording.html import HtmlRecording

HITS = (1_300, 1_500, 1_700)
OFF = Cause(kinds.INTERRUPTS_OFF, "rtfault", None, 55, 120)
USUAL = Cause(kinds.WAKE_UP)


def attributions(trace: Trace, *_: object) -> list[Attribution]:
    """Four phases and four owners; the shortest owns 4 of 900 us."""
    found = []
    for hit in trace.hits:
        parts, at = [], hit.due_ns
        for phase, cause, ns in (("A", OFF, 200), ("B", IRQ, 400), ("C", SWITCH, 296), ("D", USUAL, 4)):
            parts.append(Part(phase, cause, at, ns * US))
            at += ns * US
        found.append(Attribution(hit, tuple(parts), IRQ, (kinds.INSIDE,), True, False, False))
    return found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("causes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rtassay.store.tracing._attribute", attributions)
        events = traced_run.traced_run(hits=[traced_run.hit(k) for k in HITS])
        seconds = [
            Second(0, at, 1000, 0, 0, late, 20 * US, most * US, 50_000 * US, 1000 * (at + 1), most * US)
            for at, late, most in ((0, 0, 300), (1, 1, 900), (2, 0, 900))
        ]
        path = traced_run.record(folder, [*events[:-1], *seconds, events[-1]])
        store.seal(path)
    opened = rtassay.open(path)
    subject = JudgedRecording(opened.findings(), opened.recording, causes=rankings.of_report(opened.recording))
    page = folder / "traced.html"
    page.write_bytes(HtmlRecording().render(subject))
    return page


@pytest.fixture
def visit(browser: Any, file: Path) -> Iterator[Any]:
    opened, complaints = [], []

    def go(**options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(120_000)
        opened.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield go
    for context in opened:
        context.close()
    assert complaints == []


def fills(page: Any, where: str) -> list[int]:
    """The colours of the rectangles there, in their order."""
    drawn = page.locator(f"{where} rect").evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
    parts = [[int(part) for part in colour.strip("rgb()").split(",")] for colour in drawn]
    return [red << 16 | green << 8 | blue for red, green, blue in parts]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_late_wake_up_has_a_bar_in_the_colours_of_its_owners(visit: Any, scheme: str) -> None:
    page = visit(color_scheme=scheme)
    owners = [hex_colour(page, name) for name in ("c2", "c0", "c1", "line")]  # the largest owner has the first colour
    assert page.locator(".hit").count() == len(HITS)
    for k in HITS:
        assert fills(page, f"#hit-0-{k} summary") == owners and len(set(owners)) == 4
        widths = page.locator(f"#hit-0-{k} summary rect").evaluate_all(
            "all => all.map(one => +one.getAttribute('width'))"
        )
        assert widths == pytest.approx([ns / 900 * 960 for ns in (200, 400, 296, 4)], abs=0.2)
    assert page.evaluate("document.getElementById('hit-0-1500').offsetTop < document.getElementById('plots').offsetTop")


def box(page: Any, selector: str) -> tuple[float, float]:
    found = page.locator(selector).bounding_box()
    return round(found["x"], 1), round(found["width"], 1)


def test_a_wake_up_zooms_by_keys_and_by_drag(visit: Any) -> None:
    page = visit()
    page.locator("#hit-0-1500 summary").click()
    region, last = page.locator("#hit-0-1500 .wide-scroll"), "#hit-0-1500 .parts rect:last-child"
    ticks = page.locator("#hit-0-1500 .ticks text")
    whole, first = box(page, last), ticks.all_text_contents()
    assert (
        first[0] == "0"
        and len(first) >= 4
        and page.locator("#hit-0-1500 .phases text").all_text_contents() == list("ABCD")
    )
    region.focus()
    for key, wider in (("+", True), ("-", False)):
        before = box(page, last)[1]
        page.keyboard.press(key)
        assert (box(page, last)[1] > before) == wider
    page.keyboard.press("0")
    assert box(page, last) == whole and ticks.all_text_contents() == first

    # The last 4 us: of 10 us behind the 890th.
    drawn = page.locator("#hit-0-1500 .owners.wide").bounding_box()
    scale = drawn["width"] / 1020
    place = [drawn["x"] + (8 + us / 900 * 960) * scale for us in (850, 899.9)]
    page.mouse.move(place[0], drawn["y"] + 40)
    page.mouse.down()
    page.mouse.move(place[1], drawn["y"] + 40, steps=5)
    page.mouse.up()
    assert box(page, last)[1] == pytest.approx(4 / 50 * 960 * scale, rel=0.05)
    shown = [float(text) for text in ticks.all_text_contents()]
    assert len(shown) >= 4 and min(shown) >= 849 and max(shown) <= 901
    phases = page.locator("#hit-0-1500 .phases > g").evaluate_all("all => all.map(one => one.style.display !== 'none')")
    assert phases == [False, False, False, True]
    page.locator("#hit-0-1500 .owners.wide").dblclick()
    assert box(page, last) == whole


def test_a_click_in_the_time_line_goes_to_the_wake_up(visit: Any) -> None:
    page = visit()
    over = page.locator("#fig-time .u-over").first
    over.scroll_into_view_if_needed()
    area = over.bounding_box()
    # The axes: 3 s, and latencies from 20 us / 1.3 to 900 us * 1.6 on a log scale.
    up = math.log(900 / (20 / 1.3)) / math.log(900 * 1.6 / (20 / 1.3))
    x, y = area["x"] + area["width"] * (HITS[2] / 1000) / 3, area["y"] + area["height"] * (1 - up)
    page.mouse.click(x, y + 60)
    assert not page.locator(".hit[open]").count(), "that is near no late wake-up"
    page.mouse.click(x + 6, y + 4)
    found = page.locator(".hit[open]").get_attribute("id")
    assert found == f"hit-0-{HITS[2]}" == page.locator(".hit.found").get_attribute("id")
    until(page, lambda: 0 <= page.locator(".hit.found summary").bounding_box()["y"] < 900)


@pytest.mark.parametrize("scheme", ["dark"])
def test_nothing_runs_off_a_phone(visit: Any, scheme: str) -> None:
    page = visit(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    for k in HITS:
        page.locator(f"#hit-0-{k} summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for found in page.locator(".hits .hit summary .owners, .wide-scroll, .owners-legend, .num.causes").all():
        around = found.locator("xpath=ancestor-or-self::*[contains(@class, 'scroll')]")
        edge = (around.first if around.count() else found).bounding_box()
        assert edge["x"] >= 0 and edge["x"] + edge["width"] <= 390
    height = page.locator("#hit-0-1500 .ticks text").first.bounding_box()["height"]
    assert height >= 9, "readable"


def test_without_javascript_each_wake_up_is_drawn(visit: Any) -> None:
    page = visit(java_script_enabled=False)
    page.locator("#hit-0-1500 summary").click()
    assert page.locator("#hit-0-1500 .parts rect").count() == 4 and page.locator("#hit-0-1500 .ticks text").count() >= 4
    assert page.locator("#hit-0-1500 tbody tr").count() == 4
