"""The HTML report in a real browser: it draws, asks nothing of anybody, and its tables stand without JavaScript."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from chart_labels import RECORD, assert_every_axis_has_labels, until

from rtassay.model.findings import Jitter, JitterStep
from rtassay.reports.base import JudgedRecording
from rtassay.reports.recording.html import HtmlRecording

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "reports"))
import examples  # noqa: E402

# Numbers in cells of tables that stand on two lines, as 14,9 | 85.
BROKEN_NUMBERS = """() => [...document.querySelectorAll("td, th")].filter((cell) => /^[≥<>]?[ ]?[0-9][0-9.,]*$/.test(cell.textContent.trim())).filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
}).map((cell) => cell.textContent)"""
# The colours on a canvas, read from a copy made for reading: chromium complains on the console about reading the original.
COLOURS = """c => {
  const copy = document.createElement('canvas'); copy.width = c.width; copy.height = c.height;
  const context = copy.getContext('2d', { willReadFrequently: true }); context.drawImage(c, 0, 0);
  const d = context.getImageData(0, 0, c.width, c.height).data, s = new Set();
  for (let i = 0; i < d.length; i += 4) if (d[i + 3]) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
  return [...s];
}"""


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM.exists():
        pytest.fail(
            f"{CHROMIUM} is missing: the report has to be opened in a browser; run: apt-get install -y chromium",
            pytrace=False,
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS, timeout=120_000)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    made = {}
    shown = {**examples.EXAMPLES, "huge": examples.huge(), "odd minimum": odd_minimum(*examples.violated())}
    for name, pair in shown.items():
        made[name] = folder / f"{name}.html"
        made[name].write_bytes(HtmlRecording().render(JudgedRecording(*pair)))
    return made


def odd_minimum(findings, recording):
    """Every latency 1370 ns later: the log axis begins at no round number. And period jitter with numbers of five digits."""
    steps = tuple(JitterStep(q, int(q * 21_000_500), "exact") for q in (0.5, 0.99, 0.999, 0.9999))
    jitter = Jitter(1_014_985, 30_512.0, 25_316_100, steps)
    findings = replace(findings, lanes=tuple(replace(lane, jitter=jitter) for lane in findings.lanes))
    lanes = tuple(
        replace(lane, histogram=replace(lane.histogram, lower_ns=lane.histogram.lower_ns + 1370))
        for lane in recording.lanes
    )
    return findings, replace(recording, lanes=lanes)


@pytest.fixture
def visit(browser, files):
    """Opens a page and, at the end, insists on no complaint and no request but the file itself."""
    opened, complaints = [], []

    def go(name, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(120_000)
        context.add_init_script(RECORD)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                complaints.append(request.url) if request.url not in (files[name].as_uri(), "data:,") else None
            ),
        )
        opened.append(context)
        page.goto(files[name].as_uri())
        return page

    yield go
    for context in opened:
        context.close()
    assert complaints == []


def canvases(page, figure):
    return page.query_selector_all(f"#{figure} canvas")


def hex_colour(page, name):
    value = page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()").lstrip("#")
    return int("".join(c * 2 for c in value) if len(value) == 3 else value, 16)


@pytest.mark.parametrize(
    "name", ["holds", "violated", "not_demonstrated", "invalid", "imported", "huge", "odd minimum"]
)
def test_every_plot_is_drawn_in_the_colours_of_its_lanes(visit, name):
    page = visit(name)
    lines = {hex_colour(page, f"c{lane}") for lane in range(4)}
    figures = ["fig-histogram", "fig-exceedance"] + ([] if name == "imported" else ["fig-time"])
    for figure in figures:
        drawn = canvases(page, figure)
        assert drawn, figure
        seen = set(drawn[0].evaluate(COLOURS))
        # In "huge" all lanes end alike and cover each other in places: the last drawn is always seen.
        assert (lines if name != "huge" else {hex_colour(page, "c3")}) <= seen, figure
    charts = {"imported": 2, "violated": 7, "huge": 7, "odd minimum": 7}.get(name, 6)
    for folded in page.locator("#fig-time .strips summary").all():
        folded.click()
    until(page, lambda: page.locator(".chart canvas").count() == charts)
    assert_every_axis_has_labels(page, charts)
    for button in page.locator("[data-scale]").all():
        button.click()
    page.wait_for_timeout(100)
    assert_every_axis_has_labels(page, charts)
    page.set_viewport_size({"width": 390, "height": 800})
    until(page, lambda: canvases(page, "fig-histogram")[0].bounding_box()["width"] <= 390)
    page.wait_for_timeout(100)
    assert_every_axis_has_labels(page, charts)
    assert page.evaluate(BROKEN_NUMBERS) == []


def test_the_legend_shows_the_maximum_and_switches_its_line_off(visit):
    page = visit("violated")
    findings = examples.violated()[0]
    button = page.locator("#fig-histogram .legend button")
    texts = button.all_text_contents()
    assert texts == [f"CPU{i} max {lane.max_ns / 1000:.2f} us" for i, lane in enumerate(findings.lanes)]
    canvas = canvases(page, "fig-histogram")[0]
    colour = hex_colour(page, "c2")
    assert colour in canvas.evaluate(COLOURS)
    button.nth(2).focus()
    page.keyboard.press("Enter")
    assert button.nth(2).get_attribute("aria-pressed") == "false"
    until(page, lambda: colour not in canvases(page, "fig-histogram")[0].evaluate(COLOURS))
    assert page.locator("#fig-time .legend button").nth(2).get_attribute("aria-pressed") == "false"


def pixels(page, figure):
    return canvases(page, figure)[0].evaluate("c => c.toDataURL()")


def test_zoom_by_drag_wheel_and_keys_and_reset(visit):
    page = visit("violated")
    over = page.locator("#fig-histogram .u-over")
    over.scroll_into_view_if_needed()
    before = pixels(page, "fig-histogram")
    box = over.bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 250, box["y"] + 100, steps=5)
    page.mouse.up()
    until(page, lambda: pixels(page, "fig-histogram") != before)
    dragged = pixels(page, "fig-histogram")
    page.mouse.wheel(0, -200)
    until(page, lambda: pixels(page, "fig-histogram") not in (dragged, before))
    over.dblclick()
    until(page, lambda: pixels(page, "fig-histogram") == before)
    page.locator("#fig-histogram .chart").focus()
    page.keyboard.press("+")
    until(page, lambda: pixels(page, "fig-histogram") != before)
    page.keyboard.press("0")
    until(page, lambda: pixels(page, "fig-histogram") == before)


def test_a_wheel_over_a_plot_without_focus_scrolls_the_page(visit):
    page = visit("violated")
    box = page.locator("#fig-histogram .u-over").bounding_box()
    page.evaluate("y => window.scrollTo(0, y)", box["y"] - 200)
    start, before = page.evaluate("window.scrollY"), pixels(page, "fig-histogram")
    page.mouse.move(400, 300)
    page.mouse.wheel(0, 120)
    until(page, lambda: page.evaluate("window.scrollY") != start)
    assert pixels(page, "fig-histogram") == before


def test_lin_log_toggle(visit):
    page = visit("violated")
    for figure in ("fig-histogram", "fig-exceedance"):
        button = page.locator(f"#{figure} [data-scale]")
        assert button.text_content() == "x axis: log"
        before = pixels(page, figure)
        button.click()
        assert button.text_content() == "x axis: linear"
        until(page, lambda figure=figure, before=before: pixels(page, figure) != before)


def test_the_time_plots_zoom_together_and_the_readout_speaks(visit):
    page = visit("violated")
    over = page.locator("#fig-time .u-over").first
    over.scroll_into_view_if_needed()
    strip = page.query_selector("#fig-time .strip canvas")
    before = strip.evaluate("c => c.toDataURL()")
    box = over.bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 50)
    assert re.search(r"CPU0 [\d.]+ to [\d.]+ us", page.locator("#fig-time > .bar .readout").text_content())
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 50, steps=5)
    page.mouse.up()
    until(page, lambda: strip.evaluate("c => c.toDataURL()") != before)


def test_monitors_with_nothing_unusual_are_folded_and_drawn_when_opened(visit):
    page = visit("violated")
    folded = page.locator("#fig-time .strips details")
    names = [
        chart["title"]
        for chart in page.evaluate("JSON.parse(document.getElementById('data').textContent).telemetry")
        if not chart["news"]
    ]
    assert names and all(name in folded.locator("summary").text_content() for name in names)
    assert folded.locator(".strip").count() == 0
    folded.locator("summary").click()
    until(page, lambda: folded.locator(".strip canvas").count() == len(names))
    place = page.evaluate(
        "[document.getElementById('worst')?.offsetTop ?? 0, document.getElementById('plots').offsetTop]"
    )
    assert place[0] < place[1]


def test_dark_mode_changes_page_and_plots_while_open(visit):
    page = visit("holds", color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    colour = hex_colour(page, "c0")
    page.emulate_media(color_scheme="dark")
    assert light == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 27)"
    dark = hex_colour(page, "c0")
    assert dark != colour
    until(page, lambda: dark in canvases(page, "fig-histogram")[0].evaluate(COLOURS))
    assert colour not in canvases(page, "fig-histogram")[0].evaluate(COLOURS)


@pytest.mark.parametrize("name", ["violated", "imported", "huge"])
def test_without_javascript_everything_but_the_plots_is_there(visit, name):
    page = visit(name, java_script_enabled=False)
    assert page.locator("noscript p").is_visible()
    assert "The interactive plots need JavaScript" in page.locator("noscript p").text_content()
    assert page.locator("svg.plot").is_visible()
    for heading in ("Wake-up latency per lane (us)", "Conditions", "Repeat it"):
        assert page.get_by_role("heading", name=heading, exact=True).is_visible()
    assert page.locator("table.num").first.locator("tbody tr").count() == 5
    assert not page.locator("#charts").is_visible()


@pytest.mark.parametrize("name", ["violated", "imported", "invalid"])
@pytest.mark.parametrize("scripts", [True, False])
def test_400_pixels_wide_without_sideways_scrolling(visit, name, scripts):
    page = visit(name, viewport={"width": 400, "height": 800}, java_script_enabled=scripts)
    width = page.locator("html").bounding_box()["width"]
    assert width <= 400
    if scripts:
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
    for box in page.locator(".scroll").all():
        assert box.bounding_box()["x"] + box.bounding_box()["width"] <= 400


def test_a_narrower_window_redraws_the_plots(visit):
    page = visit("holds")
    page.set_viewport_size({"width": 400, "height": 800})
    until(page, lambda: canvases(page, "fig-histogram")[0].bounding_box()["width"] <= 400)
    until(page, lambda: page.evaluate("document.documentElement.scrollWidth") <= 400)


def test_it_prints(visit, tmp_path):
    page = visit("violated")
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF") and len(paper) > 20_000
