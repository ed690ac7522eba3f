"""The forest plot: a line for each setting, its effect with the interval, on a logarithmic axis around 1."""

from __future__ import annotations

from html import escape

from rtassay.model.foreign import one_line
from rtassay.model.proving import HARMS, HELPS, REDUNDANT, Effect, Proof
from rtassay.reports import svg
from rtassay.reports.proof import proof_text as text

_WIDTH, _NARROW, _ROW, _TOP, _BOTTOM = 960, 380, 26, 26, 44
_MOST = 20.0
_TICKS = (0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20)
_TONES = {HELPS: "helps", REDUNDANT: "helps", HARMS: "harms"}


def forest(proof: Proof, *, narrow: bool = False) -> str:
    """'' where no setting has an effect. The last row is the set that is left, from the runs that are quoted."""
    rows: list[tuple[str, str, Effect, str]] = [
        (worth.id, text.finding(worth), worth.answer.effect, _TONES.get(worth.word, "unsure"))
        for worth in proof.campaign.worths
        if worth.answer is not None and worth.answer.effect is not None
    ]
    confirmed = proof.campaign.confirmed
    if confirmed is not None and confirmed.effect is not None and len(proof.campaign.worths) > 1:
        tone = _TONES.get(confirmed.word, "unsure")
        rows.append(("together, confirmed", text.words(confirmed.word, confirmed), confirmed.effect, f"{tone} quoted"))
    if not rows:
        return ""
    ends = [end for _, _, effect, _ in rows for end in (effect.lo, effect.hi)]
    low, high = max(1 / _MOST, min(0.8, *ends) * 0.95), min(_MOST, max(1.25, *ends) * 1.05)
    width, left, right = (_NARROW, 8, 8) if narrow else (_WIDTH, 230, 230)
    row_height = 2 * _ROW if narrow else _ROW
    height = _TOP + row_height * len(rows) + _BOTTOM
    x_of = svg.scale(low, high, left, width - right)
    bottom = height - _BOTTOM
    parts = [
        f'<svg class="plot forest" viewBox="0 0 {width} {height}" role="img" aria-label="Effect of each setting with its 95 % interval">'
    ]
    for tick in svg.ratio_ticks(_TICKS, low, high, most=6 if narrow else 12):
        kind = "one" if tick == 1 else "grid"
        parts.append(f'<path class="{kind}" d="M{x_of(tick):.1f} {_TOP - 8}V{bottom}"/>')
        parts.append(f'<text class="mid" x="{x_of(tick):.1f}" y="{bottom + 18}">{tick:g}</text>')
    for at, (name, finding, effect, tone) in enumerate(rows):
        y = _TOP + row_height * at + row_height / 2 + (9 if narrow else 0)
        begin, middle, end = x_of(effect.lo), x_of(effect.ratio), x_of(effect.hi)
        title = f"{one_line(name)}: {finding}; {text.factor(effect.ratio)} ({text.interval(effect)})"
        parts.append(f'<g class="{tone}"><title>{escape(title)}</title>')
        ends_at = _end(begin, y, 6 if effect.lo < low else 0) + _end(end, y, -6 if effect.hi > high else 0)
        parts.append(f'<path d="M{begin:.1f} {y:.1f}H{end:.1f}{ends_at}"/>')
        if low <= effect.ratio <= high:
            size = 6 if "quoted" in tone else 4.5
            parts.append(f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="{size}"/>')
        parts.append("</g>")
        if narrow:
            parts.append(f'<text x="{left}" y="{y - 12:.1f}">{escape(one_line(f"{name}: {finding}", 56))}</text>')
        else:
            parts.append(f'<text class="end" x="{left - 14}" y="{y + 4:.1f}">{escape(one_line(name, 34))}</text>')
            parts.append(f'<text x="{width - right + 14}" y="{y + 4:.1f}">{escape(one_line(finding, 38))}</text>')
    parts.append(
        f'<text class="mid" x="{(left + width - right) / 2:.0f}" y="{height - 6}">&#8592; harms &#160; {text.quantile(proof)} without / with &#160; helps &#8594;</text>'
    )
    return "".join(parts) + "</svg>"


def _end(x: float, y: float, arrow: float) -> str:
    """The end of an interval: a bar, or the head of an arrow where it goes on beyond the axis."""
    return f"M{x + arrow:.1f} {y - 4:.1f}L{x:.1f} {y:.1f}L{x + arrow:.1f} {y + 4:.1f}"
