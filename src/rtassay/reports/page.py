"""Shared parts of all HTML pages: the style sheets and scripts in assets/, the content policy, tiles, and the data of the plots."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rtassay.model.foreign import one_line, printable


class Tile(NamedTuple):
    """One headline number with the words that qualify it."""

    name: str
    value: str
    why: str = ""


class Rows(NamedTuple):
    """Column headings and rows of text."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def render(template: str, style_sheets: Sequence[str], given: dict[str, Any]) -> bytes:
    """A template of templates/ with `given`, the style sheets and the plot scripts of assets/, as UTF-8."""
    style = "".join(asset(name) for name in ("uPlot.min.css", *style_sheets))
    uplot, script = asset("uPlot.iife.min.js"), asset("report.js")
    page = _environment().get_template(template)
    text = page.render(
        style=Markup(style),
        uplot=Markup(uplot),
        script=Markup(script),
        csp=content_policy(style, uplot, script),
        **given,
    )
    return f"{text}\n".encode("utf-8", "backslashreplace")


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rtassay.reports"), autoescape=True, undefined=StrictUndefined, finalize=_printable
    )
    environment.globals["line"] = one_line
    return environment


def _printable(value: Any) -> Any:
    """Every text that a template writes, but not markup that we made, passes the filter."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@functools.cache
def asset(name: str) -> str:
    """The text of a file in assets/."""
    return resources.files("rtassay.reports").joinpath("assets", name).read_text(encoding="utf-8").strip()


def content_policy(style: str, *scripts: str) -> str:
    """A Content-Security-Policy that lets exactly these texts run and nothing be loaded."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    allowed = " ".join(digest(script) for script in scripts)
    return f"default-src 'none'; script-src {allowed}; style-src {digest(style)}; img-src data:; base-uri 'none'; form-action 'none'"


def embed(data: Any) -> Markup:
    """JSON that cannot end its script element, open a comment or break a line, for any strings in it."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def drawn(draw: Callable[[bool], str]) -> Markup:
    """A static drawing for screens of any width, and one for those as narrow as a phone's; the style shows one of them.

    `draw` gets whether it is the narrow one, and escapes what came from elsewhere; '' stays ''.
    """
    roomy = draw(False)
    return Markup(f'<div class="roomy">{roomy}</div><div class="narrow">{draw(True)}</div>' if roomy else "")


def plot_data(given: dict[str, Any]) -> Markup:
    """The object that assets/report.js draws, all times in ns; keys without data are empty."""
    return embed({"time": None, "marks": [], "telemetry": [], "worst": [], "rules": [], "hits": [], **given})
