"""The numbers on the axes of charts, as a browser draws them: an axis without labels cannot be read."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

# Remembers what is written on each canvas since it was last cleared. Runs before the scripts of a page.
RECORD = """(() => {
  const drawn = new WeakMap(), context = CanvasRenderingContext2D.prototype, clear = context.clearRect, fill = context.fillText;
  context.clearRect = function (...box) { drawn.set(this.canvas, []); return clear.apply(this, box); };
  context.fillText = function (text, ...rest) {
    drawn.set(this.canvas, [...(drawn.get(this.canvas) || []), [String(text), this.textAlign, this.textBaseline]]);
    return fill.call(this, text, ...rest);
  };
  window.writtenOn = (canvas) => drawn.get(canvas) || [];
})()"""
SIDES = {("center", "top"): "x", ("right", "middle"): "y"}


def labels(page: Any) -> list[tuple[str, str, list[str]]]:
    """(heading of the figure, x or y, its distinct labels) for both axes of every chart. The page was opened with RECORD."""
    found = []
    for canvas in page.query_selector_all(".chart canvas"):
        name = canvas.evaluate(
            "c => c.closest('.strip, [id]').querySelector('h2, h3, h4')?.textContent || c.closest('[id]').id"
        )
        axes: dict[str, set[str]] = {"x": set(), "y": set()}
        for text, align, baseline in canvas.evaluate("c => window.writtenOn(c)"):
            side = SIDES.get((align, baseline))
            if side is not None and text[:1].isdigit():
                axes[side].add(text)
        found += [(name, side, sorted(texts)) for side, texts in axes.items()]
    return found


def assert_every_axis_has_labels(page: Any, charts: int) -> None:
    """At least two numbers on both axes of every chart, and this many charts."""
    found = labels(page)
    assert len(found) == 2 * charts
    assert [axis for axis in found if len(axis[2]) < 2] == []


def until(page: Any, condition: Callable[[], Any]) -> None:
    """Waits for a condition. Without wait_for_function: the page's own policy refuses its eval when the first look does not succeed."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if condition():
            return
        page.wait_for_timeout(50)
    pytest.fail("did not happen within 300 s")
