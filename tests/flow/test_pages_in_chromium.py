"""The pages of many runs in a real browser, wide and on a phone, light and dark: nothing is cut off or overlaps, all text can be read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import traced_run
from test_causes_in_chromium import HITS, attributions
from test_html_in_chromium import browser as browser

import rtassay
from rtassay import rankings, reports, store
from rtassay.model.ranking import Ranking
from rtassay.reports.base import JudgedRecording

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "reports"))
import examples

sys.path.append(str(Path(__file__).parents[2]))  # by their whole names: other modules are called the same
from tests.unit.analysis.many.experiment import synthetic
from tests.unit.reports.comparison import comparisons
from tests.unit.reports.extrapolation import extrapolations
from tests.unit.reports.proof import proofs

# What lies wrong: text outside of its drawing, text on other text, cells of tables with words beyond the edge, words of a condition that are
# broken, and text whose contrast to what lies behind it is below 4.5 (WCAG AA).
WRONG = """() => {
  const found = [], shown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility === "visible";
  for (const svg of [...document.querySelectorAll("svg.plot")].filter(shown)) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim()).map((t) => [t.textContent, t.getBoundingClientRect()]);
    for (const [said, b] of texts)
      if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1) found.push(`outside: ${said}`);
    texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([two, b]) => {
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (x > 1 && y > 0.4 * Math.min(a.height, b.height)) found.push(`overlap: ${one} | ${two}`);
    }));
  }
  const phone = innerWidth < 600;
  for (const cell of document.querySelectorAll(".stack th, .stack td, .beside th, .beside td, .same td, .words td"))
    if (phone && shown(cell) && cell.closest("tbody") && cell.getBoundingClientRect().right > innerWidth) found.push(`cut off: ${cell.textContent}`);
  for (const cell of document.querySelectorAll(".same td, .same th, .kv th, .beside td, .beside th")) {
    const node = cell.firstChild;
    if (!node || node.nodeType !== 3 || !shown(cell)) continue;
    for (const word of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
      // a line may end after a hyphen
      if (!word[0].includes("-") && range.getClientRects().length > 1) found.push(`broken: ${word[0]}`);
    }
  }
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const holder = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(holder) || ["SCRIPT", "STYLE", "TITLE"].includes(holder.tagName.toUpperCase())) continue;
    const own = getComputedStyle(holder), ink = rgb(holder.closest("svg") ? own.fill : own.color);
    let behind = holder, ground = [0, 0, 0, 0];
    while (behind && ground[3] === 0) { ground = rgb(getComputedStyle(behind).backgroundColor); behind = behind.parentElement; }
    const pair = [light(ink.slice(0, 3)), light(ground.slice(0, 3))].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    const what = `contrast ${contrast.toFixed(1)}: ${holder.className.baseVal ?? holder.className} ${own.color}`;
    if (contrast < 4.5 && !seen.has(what)) { seen.add(what); found.push(`${what} ${walker.currentNode.data.trim().slice(0, 30)}`); }
  }
  return found;
}"""


def causes(folder: Path) -> Ranking:
    """Of a traced run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rtassay.store.tracing._attribute", attributions)
        path = traced_run.record(folder, traced_run.traced_run(hits=[traced_run.hit(k) for k in HITS]))
        store.seal(path)
    return rankings.rank([rtassay.open(path).recording])


PAGES: dict[str, Callable[[Path], Any]] = {
    "recording": lambda folder: JudgedRecording(*examples.violated()),
    "comparison": lambda folder: comparisons.crossing(),
    "comparison refused": lambda folder: comparisons.refused(),
    "experiment": lambda folder: synthetic.make(sealed=9).report,
    "extrapolation": lambda folder: extrapolations.EXAMPLES["both"](),
    "proof": lambda folder: proofs.whole(),
    "proof that cannot tell": lambda folder: proofs.noisy(),
    "causes": causes,
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_readable_on_each_screen(name: str, browser: Any, tmp_path: Path) -> None:
    subject, file = PAGES[name](tmp_path), tmp_path / "page.html"
    file.write_bytes(reports.load(type(subject), "html").render(subject))
    for width in (1280, 390):
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            context.set_default_timeout(120_000)
            page = context.new_page()
            page.goto(file.as_uri())
            assert page.evaluate(WRONG) == [], (width, scheme)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, (width, scheme)
            context.close()
