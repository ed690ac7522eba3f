"""Every kind of figure, in every format, from recordings with and without order, overflow and maximum."""

from __future__ import annotations

import functools
import re
import struct
from xml.etree import ElementTree

import pytest
from figure_examples import overflowing, own, published, relabelled, shots

from rtassay.figures import KINDS, draw
from rtassay.figures.data import Options, Shot
from rtassay.figures.paper import COLOURS, FORMATS, WIDTHS_IN, PaperFigure
from rtassay.model.errors import UsageError

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}
NO_ORDER = [kind for kind in KINDS if kind != "time"]


@functools.cache
def both_kernels() -> list[Shot]:
    return shots([published("std"), published("rt")])


@functools.cache
def own_runs(count: int = 2, **of_each: int) -> list[Shot]:
    return shots([own(seed, **of_each, run=str(seed)) for seed in range(1, count + 1)], time=True)  # type: ignore[arg-type]


@functools.cache
def drawn_of_both_kernels(kind: str) -> PaperFigure:
    return draw(kind, both_kernels(), Options())


@functools.cache
def own_lanes() -> list[Shot]:
    return shots([own(1, lanes=4)], time=True)


def texts(figure: PaperFigure) -> list[str]:
    """All text of the figure as SVG."""
    root = ElementTree.fromstring(figure.to_bytes("svg"))
    return ["".join(node.itertext()).strip() for node in root.iter() if node.tag.endswith("}text")]


def told(figure: PaperFigure) -> str:
    return "\n".join(texts(figure))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_renders_in_every_format_and_the_same_data_give_the_same_bytes(kind: str) -> None:
    figure, again = (draw(kind, own_runs(), Options(width="column")) for _ in range(2))
    made = {}
    for format_name in FORMATS:
        made[format_name] = once = figure.to_bytes(format_name)
        assert once.startswith(MAGIC[format_name]) and len(once) > 4000
        assert once == again.to_bytes(format_name)
        for trace in (b"CreationDate", b"<dc:date>", b"20261121T"):
            assert trace not in once
    wide, _ = struct.unpack(">II", made["png"][16:24])
    assert wide == int(WIDTHS_IN["column"] * 300)


@pytest.mark.parametrize("kind", KINDS)
def test_every_width_scale_title_and_deadline_can_be_drawn(kind: str) -> None:
    for width, scale in zip((*WIDTHS_IN, "page"), ("auto", "linear", "log"), strict=True):
        figure = draw(kind, own_runs(), Options(width=width, scale=scale, title="a title", deadline_ns=100_000))
        assert figure.get_size_inches()[0] == WIDTHS_IN[width]
        words = told(figure)
        assert "a title" in words and ("D = 100 µs" in words)


@pytest.mark.parametrize("kind", ["ccdf", "tail"])  # all kinds are drawn with the settings of one place
def test_a_matplotlibrc_of_the_user_changes_nothing(kind: str) -> None:
    import matplotlib

    plain = drawn_of_both_kernels(kind).to_bytes("svg")
    with matplotlib.rc_context({"font.size": 30, "svg.hashsalt": "other", "axes.grid": False, "text.parse_math": True}):
        assert draw(kind, both_kernels(), Options()).to_bytes("svg") == plain
        assert matplotlib.rcParams["font.size"] == 30, "the user's settings are his again"


@pytest.mark.parametrize("kind", NO_ORDER)
def test_every_maximum_is_in_the_legend(kind: str) -> None:
    words = told(drawn_of_both_kernels(kind))
    assert "382 µs" in words
    assert "136 µs" in words
    assert "overflow unknown" in words


def test_the_latency_plot_names_every_core_and_its_maximum() -> None:
    words = told(draw("latency", shots([published("std")]), Options()))
    for core, top in ((1, 382), (2, 156), (3, 125), (4, 375)):
        assert re.search(rf"core{core}\s+max {top} µs", words)
    assert "Samples per 1 µs" in words
    assert "Latency [µs]" in words


@pytest.mark.parametrize("kind", NO_ORDER)
def test_overflow_is_marked_and_counted(kind: str) -> None:
    figure = draw(kind, shots([overflowing()]), Options())
    words = told(figure)
    assert "7 samples above 40 µs (overflow)" in words
    assert "544 µs" in words
    if kind not in ("tail", "trend"):
        markers = [line.get_marker() for axes in figure.axes for line in axes.get_lines()]
        assert ">" in markers, "an arrow head where the histogram ends"
        assert max(axes.get_xlim()[1] for axes in figure.axes) > 544, "the maximum lies on the paper"


def test_the_curve_of_a_histogram_with_overflow_does_not_fall_to_zero_at_its_end() -> None:
    found = shots([overflowing()])
    figure = draw("ccdf", found, Options())
    n = found[0].findings.pooled.n
    curve = max(figure.axes[0].get_lines(), key=lambda line: len(line.get_xdata()))
    assert curve.get_xdata()[-1] == 40
    assert curve.get_ydata()[-1] == pytest.approx(7 / n)
    assert curve.get_ydata()[0] == pytest.approx(1)


def test_ccdf_heights_are_exact_shares() -> None:
    figure = drawn_of_both_kernels("ccdf")
    curves = sorted(figure.axes[0].get_lines(), key=lambda line: -len(line.get_xdata()))[:2]
    shares = sorted(dict(zip(c.get_xdata(), c.get_ydata(), strict=True))[95.0] for c in curves)
    assert shares == pytest.approx([202 / 199_999_704, 244 / 199_999_440], rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_missed_activations_are_said(kind: str) -> None:
    assert "16 activations missed" in told(draw(kind, own_lanes(), Options()))


def test_time_shows_the_outlier_where_it_happened_and_the_judged_maximum() -> None:
    figure = draw("time", shots([own(1)], time=True), Options())
    assert "CPU0: max 4,250 µs" in told(figure)
    diamonds = [line for axes in figure.axes for line in axes.get_lines() if line.get_marker() == "D"]
    assert len(diamonds) == 2
    assert [d.get_xdata()[0] for d in diamonds] == [pytest.approx(3.0), pytest.approx(3.001)]
    assert all(d.get_ydata()[0] == 4250 for d in diamonds)


def test_time_says_why_a_histogram_has_no_order() -> None:
    with pytest.raises(UsageError, match="no latency over time") as error:
        draw("time", both_kernels(), Options())
    assert "not when" in str(error.value)
    assert "ccdf" in str(error.value.hint)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.full) if kind in ("latency", "time") else kind for kind in KINDS]
)
def test_twenty_recordings(kind: str) -> None:
    figure = draw(kind, own_runs(20, seconds=2, lanes=1), Options())
    width, height = figure.get_size_inches()
    assert width == WIDTHS_IN["page"]
    assert height < 30
    assert "4,250 µs" in told(figure)


def test_sixteen_lanes_share_one_legend() -> None:
    words = texts(draw("latency", shots([own(1, lanes=16, seconds=3)]), Options(width="column")))
    assert sum("max 4,250 µs" in text for text in words) == 16


def test_bars_carry_the_intervals_of_the_findings() -> None:
    from rtassay.figures.tail import NAMES, bars

    (shot,) = shots([published("rt")])
    by_q = {q.q: q for q in shot.findings.pooled.quantiles}
    made = dict(zip(NAMES, bars([shot]), strict=True))
    assert list(made) == ["avg", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %", "99.99999 %", "max"]
    assert made["avg"].value_ns == shot.findings.pooled.mean_ns
    assert made["max"].value_ns == 136_000
    for name, q in (("99.9999 %", 0.999999), ("99.99999 %", 0.9999999)):
        assert (made[name].value_ns, made[name].lo_ns, made[name].hi_ns) == (
            by_q[q].value_ns,
            by_q[q].lo_ns,
            by_q[q].hi_ns,
        )
    assert not any(bar.at_least for bar in made.values())


def test_a_quantile_beyond_the_data_is_outlined_and_open_above() -> None:
    from rtassay.figures.tail import bars

    found = shots([own(1)])
    assert bars(found)[-2].at_least
    assert bars(found)[-2].open_above
    assert "the data do not reach this quantile" in told(draw("tail", found, Options()))


def test_a_group_of_runs_is_its_median_run_with_all_runs_as_points() -> None:
    from rtassay.figures.tail import bars

    runs = shots([own(seed, kernel="rt") for seed in (1, 2, 3)])
    bar = bars(runs)[1]
    values = sorted(next(q.value_ns for q in s.findings.pooled.quantiles if q.q == 0.99) for s in runs)
    assert (bar.value_ns, bar.lo_ns, bar.hi_ns) == (values[1], values[0], values[2])
    assert sorted(bar.runs) == values
    grouped = shots([own(seed, kernel="rt", run=str(seed)) for seed in (1, 2, 3)], by="kernel")
    assert "rt: max 4,250 µs in 3 runs" in told(draw("tail", grouped, Options()))


def test_scenarios_become_panels_and_kernels_colours() -> None:
    recordings = [
        own(i, kernel=k, scenario=s)
        for i, (k, s) in enumerate([(k, s) for k in ("std", "rt") for s in ("1:1", "M:N")], 1)
    ]
    figure = draw("tail", shots(recordings, by="kernel", panels="scenario"), Options())
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["1:1", "M:N"]
    words = told(figure)
    assert "std: max" in words
    assert "rt: max" in words


def test_trend_is_in_order_of_dates_and_marks_imports_without_one() -> None:
    dated = shots([own(seed, kernel="rt", run=str(seed)) for seed in (9, 3, 6)], by="kernel")
    figure = draw("trend", dated, Options())
    line = max(figure.axes[0].get_lines(), key=lambda one: len(one.get_xdata()))
    assert list(line.get_xdata()) == sorted(line.get_xdata())
    assert "hollow" not in told(figure)
    assert "hollow: 2 imported" in told(drawn_of_both_kernels("trend"))


@functools.cache
def strangely_named() -> list[Shot]:
    strange = ["_hidden", "$x^2$ 100%", "<b>&amp;", "linie\n\x1b[31m", "x" * 300, "核心"]
    return shots(
        [
            relabelled(own(1, lanes=1, seconds=2), f"20261121T10000{i}-00000{i}", kernel=name)
            for i, name in enumerate(strange)
        ],
        time=True,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_foreign_names_are_drawn_as_they_are(kind: str) -> None:
    words = told(draw(kind, strangely_named(), Options(width="column")))
    for name in ("_hidden", "$x^2$ 100%", "<b>&amp;"):
        assert name in words
    assert "x" * 61 not in words and "\x1b" not in words


def test_a_name_in_another_script_can_be_rendered_as_pdf() -> None:
    assert draw("cdf", strangely_named()[-1:], Options()).to_bytes("pdf").startswith(MAGIC["pdf"])


def test_lines_are_told_apart_without_colour() -> None:
    """In grey the palette is not enough: neighbours have another dash and another marker, and 20 lines have 20 looks."""
    from rtassay.figures.paper import look, marker

    assert len(set(COLOURS)) == len(COLOURS)
    styles = [(look(i)["color"], str(look(i)["linestyle"])) for i in range(20)]
    assert len(set(styles)) == 20
    for i in range(19):
        assert look(i)["linestyle"] != look(i + 1)["linestyle"]
        assert marker(i) != marker(i + 1)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(UsageError, match="no figure 'pie'"):
        draw("pie", both_kernels(), Options())
    with pytest.raises(UsageError, match="no recording"):
        draw("ccdf", [], Options())
    with pytest.raises(UsageError, match="no width"):
        draw("ccdf", both_kernels(), Options(width="poster"))
    with pytest.raises(UsageError, match="no figure format"):
        drawn_of_both_kernels("ccdf").to_bytes("gif")


def test_notebooks_show_the_figure_without_pyplot() -> None:
    import sys

    assert drawn_of_both_kernels("ccdf")._repr_png_().startswith(MAGIC["png"])
    assert "matplotlib.pyplot" not in sys.modules
