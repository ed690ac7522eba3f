"""Figures and tables for papers: recordings and their findings in, a matplotlib Figure or bytes out. Pure, no files, no clock.

A figure has one width (a paper's column or page), letters of 7 to 8 points, colours that the colour-blind can tell apart, a line style
and a marker beside each colour for prints in grey, and says at its foot what the data do not tell. Quantiles, intervals and maxima are
those of `analysis.judge`; nothing is estimated here. matplotlib is imported at the first figure (0.5 s), and never its pyplot.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from rtassay.model.errors import UsageError

if TYPE_CHECKING:
    from rtassay.figures.data import Options, Shot
    from rtassay.figures.paper import PaperFigure

# name -> (module:function, summary). A function takes (list of Shot, Options) and returns a PaperFigure.
KINDS: Final = {
    "latency": (
        "rtassay.figures.latency:draw",
        "OSADL latency plot: log counts, a step line per CPU, its maximum beside it",
    ),
    "tail": ("rtassay.figures.tail:draw", "bars of average, 99 ... 99.99999 % and maximum with 95 % intervals"),
    "ccdf": (
        "rtassay.figures.curves:draw_ccdf",
        "share of samples at or above a latency, log-log, with the quantiles' intervals",
    ),
    "cdf": ("rtassay.figures.curves:draw_cdf", "share of samples up to a latency"),
    "time": (
        "rtassay.figures.over_time:draw",
        "latency over the time of a run: extremes per second, outliers one by one",
    ),
    "overlay": ("rtassay.figures.overlay:draw", "pooled histograms over each other"),
    "measures": (
        "rtassay.figures.measures:draw",
        "a panel for each measure: share of values at or above a time, several tools side by side",
    ),
    "trend": ("rtassay.figures.trend:draw", "maximum per run over dates"),
}


def draw(kind: str, shots: Sequence[Shot], options: Options) -> PaperFigure:
    """One figure. Raises UsageError for an unknown kind, no recordings, and data that cannot be drawn so."""
    if kind not in KINDS:
        raise UsageError(f"there is no figure '{kind}'", hint=f"known: {', '.join(KINDS)}")
    if not shots:
        raise UsageError("there is no recording to draw")
    module, _, function = KINDS[kind][0].partition(":")
    figure: PaperFigure = getattr(import_module(module), function)(list(shots), options)
    return figure
