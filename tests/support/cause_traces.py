"""Traces of known cause in tests/data/causes, and the texts of kernels."""

from __future__ import annotations

import base64
import json
import lzma
import re
from dataclasses import dataclass
from pathlib import Path

from rtassay.causes.formats import page_layout
from rtassay.causes.pages import Decoder, decoder
from rtassay.model.causes import Hit, Trace

DATA = Path(__file__).parents[1] / "data" / "causes"
KERNELS = sorted(path.stem for path in (DATA / "formats").glob("*.txt"))
SEEN = sorted(path.stem for path in (DATA / "pages").glob("*.txt"))
FAULTS = sorted((DATA / "faults").glob("*.json.xz"))


def texts(kernel: str) -> tuple[str, dict[str, str]]:
    """header_page and the formats by name."""
    pieces = re.split(r"^== (.*)\n", (DATA / "formats" / f"{kernel}.txt").read_text(), flags=re.MULTILINE)[1:]
    named = dict(zip(pieces[::2], pieces[1::2], strict=True))
    return named["header_page"], {n.removeprefix("format/"): t for n, t in named.items() if n.startswith("format/")}


def decoder_of(kernel: str) -> Decoder:
    """What decodes pages of that kernel."""
    header, formats = texts(kernel)
    return decoder(page_layout(header), formats)


def real_pages(kernel: str) -> list[bytes]:
    """The first pages of a real trace of CPU 0."""
    raw = lzma.decompress((DATA / "pages" / f"{kernel}.bin.xz").read_bytes())
    return [raw[at : at + 4096] for at in range(0, len(raw), 4096)]


@dataclass(frozen=True)
class Known:
    """A real trace whose cause was injected: when the fault began and ended, for each hit."""

    trace: Trace
    realtime: bool
    faults: list[tuple[int, int]]
    expected: tuple[str, str]


def known(path: Path) -> Known:
    """One file of `faults/`."""
    data = json.loads(lzma.decompress(path.read_bytes()))
    pages = tuple(base64.b64decode(page) for page in data["pages"])
    hits = tuple(Hit(**hit) for hit in data["hits"])
    trace = Trace(data["header_page"], data["formats"], {0: pages}, hits, data["kallsyms"])
    return Known(trace, "-rt-" in data["kernel"], [(s, e) for s, e in data["faults"]], tuple(data["expected"]))
