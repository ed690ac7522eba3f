"""The paper: sizes, letters, colours, and bytes that are the same for the same data."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from rtassay.figures.data import Options, superscript, us
from rtassay.model.errors import UsageError
from rtassay.model.units import NS_PER_US

WIDTHS_IN: Final = {"column": 3.5, "page": 7.16}
FORMATS: Final = ("png", "svg", "pdf")
_DPI = 300
# Okabe and Ito's colours; in grey some are alike, so neighbours also differ in dash, marker and hatch.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9")
DASHES: Final = ("-", (0, (4.5, 1.4)), (0, (1.2, 1.1)), (0, (6, 1.2, 1.2, 1.2)))
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "p", "<")
HATCHES: Final = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo")
_FIXED = {"png": {"Software": "rtassay"}, "svg": {"Date": None, "Creator": "rtassay"}}
_PDF = {"CreationDate": None, "Creator": "rtassay", "Producer": "matplotlib"}

RC: Final[dict[str, Any]] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.2,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "text.parse_math": False,
    "text.usetex": False,
    "path.simplify": True,
    "svg.hashsalt": "rtassay",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "pdf.compression": 6,
    "figure.dpi": 110.0,
}


class PaperFigure(Figure):
    """A matplotlib Figure that notebooks show as it is, and that renders the same bytes for the same data."""

    def _repr_png_(self) -> bytes:
        return render(self, "png", dpi=144)

    def to_bytes(self, format_name: str) -> bytes:
        """The figure as png (300 dpi), svg or pdf."""
        return render(self, format_name)


@contextmanager
def drawing() -> Iterator[None]:
    """Our settings only: the user's matplotlibrc has no effect."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)  # type: ignore[arg-type]
        yield


def render(figure: Figure, format_name: str, dpi: int = _DPI) -> bytes:
    """PNG, SVG or PDF without date, host or random ids. Raises UsageError for another format."""
    out = io.BytesIO()
    with drawing():
        if format_name == "png":
            FigureCanvasAgg(figure).print_figure(out, format="png", dpi=dpi, metadata=_FIXED["png"])
        elif format_name == "svg":
            FigureCanvasSVG(figure).print_figure(out, format="svg", metadata=_FIXED["svg"])
        elif format_name == "pdf":
            FigureCanvasPdf(figure).print_figure(out, format="pdf", metadata=_PDF)
        else:
            raise UsageError(f"there is no figure format '{format_name}'", hint=f"known: {', '.join(FORMATS)}")
    return out.getvalue()


def sheet(
    options: Options, rows: int = 1, columns: int = 1, height_in: float | None = None, **grid: Any
) -> tuple[Any, Any]:
    """A figure of the paper's width and its axes as a 2-d array. `height_in` without legend and foot, which are added below."""
    if options.width not in WIDTHS_IN:
        raise UsageError(f"there is no width '{options.width}'", hint=f"known: {', '.join(WIDTHS_IN)}")
    wide = WIDTHS_IN[options.width]
    figure = PaperFigure(
        figsize=(wide, height_in or (2.3 if options.width == "column" else 3.1) * rows), layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, hspace=0.04, wspace=0.04)  # type: ignore[union-attr, call-arg]
    axes = figure.subplots(rows, columns, squeeze=False, **grid)
    if options.title:
        figure.suptitle(options.title, fontsize=9)
    return figure, axes


def foot(figure: Any, options: Options, handles: Sequence[Any], names: Sequence[str], notes: Sequence[str]) -> None:
    """The legend and the notes below the axes; the figure grows by what they need, so the axes keep their size."""
    letters = 72 if options.width == "column" else 150
    shown = [*notes[:8], *([f"and {len(notes) - 8} more of this kind"] if len(notes) > 8 else [])]
    lines = textwrap.wrap("; ".join(shown) + ".", letters) if shown else []
    noted = 0.112 * len(lines) + 0.05 if lines else 0.0
    columns, legend = 1, 0.0
    if handles:
        columns = max(1, min(len(names), int(letters * 0.8 // (max(map(len, names)) + 7)), 6))
        legend = 0.152 * -(-len(names) // columns) + 0.06
    height = figure.get_figheight() + noted + legend
    figure.set_figheight(height)
    below = (noted + legend) / height
    figure.get_layout_engine().set(rect=(0, below, 1, 1 - below))
    if lines:
        figure.text(0.012, 0.035 / height, "\n".join(lines), fontsize=6, color="#333333", va="bottom", linespacing=1.3)
    if handles:
        figure.legend(
            handles, [_plain(name) for name in names], loc="lower center", bbox_to_anchor=(0.5, noted / height), ncols=columns,
            columnspacing=1.2, borderaxespad=0.15, borderpad=0.1,
        )  # fmt: skip
    # The layout is settled here once: settled again at every rendering it would creep by fractions of a point.
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")


def _plain(name: str) -> str:
    """matplotlib leaves names that begin with an underscore out of legends."""
    return f"\N{HAIR SPACE}{name}" if name.startswith("_") else name


def look(index: int) -> dict[str, Any]:
    """Colour and dash of the i-th line: 28 lines before two look the same."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def marker(index: int) -> str:
    """The marker of the i-th series."""
    return MARKERS[index % len(MARKERS)]


def latency_axis(
    axis: Any, log: bool, low_ns: float, high_ns: float, options: Options, label: str = "Latency [µs]"
) -> None:
    """An axis of latencies, drawn in us: plain numbers, also where it is logarithmic. The deadline is always on it."""
    if options.deadline_ns is not None:
        low_ns, high_ns = min(low_ns, options.deadline_ns), max(high_ns, options.deadline_ns)
    axis.set_label_text(label)
    setter = axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim
    scaler = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    low, high = low_ns / NS_PER_US, max(high_ns, 1) / NS_PER_US
    if not log:
        setter(0, high * 1.05)
        axis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
        return
    scaler("log")
    low = max(low, high / 1e7, 1e-3)
    low, high = low * 0.85, high * 1.25
    setter(low, high)
    if high / low < 400:
        axis.set_major_locator(FixedLocator([m * 10.0**e for e in range(-3, 8) for m in (1, 2, 5)]))
        axis.set_minor_locator(LogLocator(subs=[3.0, 4.0, 6.0, 7.0, 8.0, 9.0], numticks=12))
    else:
        axis.set_major_locator(LogLocator(numticks=12))
        axis.set_minor_locator(LogLocator(subs=[float(m) for m in range(2, 10)], numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
    axis.set_minor_formatter(NullFormatter())
    axis.axes.grid(False, which="minor")


def power_axis(axis: Any) -> None:
    """A logarithmic axis of counts or shares: 1, 10, 10³ ..., 10⁻⁶."""
    axis.set_major_locator(LogLocator(numticks=12))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))


def deadline_line(axes: Any, options: Options, *, vertical: bool, height: float = 0.99) -> None:
    """The deadline as a dash-dotted line with its value."""
    if options.deadline_ns is None:
        return
    at = options.deadline_ns / NS_PER_US
    style: dict[str, Any] = {"color": "#444444", "linewidth": 0.9, "linestyle": (0, (7, 2, 1, 2)), "zorder": 4}
    text: dict[str, Any] = {"fontsize": 6.5, "color": "#444444", "in_layout": False}
    if vertical:
        axes.axvline(at, **style)
        axes.text(at, height, f" D = {us(options.deadline_ns)}", transform=axes.get_xaxis_transform(), va="top", **text)
    else:
        axes.axhline(at, **style)
        axes.text(
            0.005,
            at,
            f"D = {us(options.deadline_ns)}",
            transform=axes.get_yaxis_transform(),
            ha="left",
            va="bottom",
            **text,
        )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 and float(value).is_integer() else f"{value:g}"


def _power(value: float) -> str:
    if value <= 0:
        return ""
    exponent = round(np.log10(value))
    if not np.isclose(value, 10.0**exponent):
        return f"{value:g}"
    return {0: "1", 1: "10", -1: "0.1"}.get(exponent, f"10{superscript(exponent)}")
